// SPDX-License-Identifier: MIT
#include "host/kernel/send_store.h"

#include <algorithm>

namespace rnicsim {

bool SendStore::reserve() {
  if (!ring_) ring_ = frames_.allocate_kernel(capacity_);
  return ring_.has_value();
}

void SendStore::release() {
  acknowledge(~std::uint64_t{0});
  if (ring_) frames_.release_kernel(*ring_, capacity_);
  ring_.reset();
}

SendStore::Run SendStore::place(std::uint64_t position, std::uint64_t bytes) const {
  const std::uint64_t offset = position % capacity_.count();
  return {PhysicalAddress(ring_->value() + offset), std::min(bytes, capacity_.count() - offset)};
}

bool SendStore::pin(std::uint64_t position, std::uint64_t bytes, PageTable& pages,
                    VirtualAddress from) {
  if (pages.pin(from, Bytes(bytes)) == nullptr) return false;
  pinned_.push({position, bytes, &pages, from});
  return true;
}

SendStore::Run SendStore::find(std::uint64_t position, std::uint64_t bytes) const {
  for (std::size_t i = 0; i < pinned_.size(); ++i) {
    const Pinned& range = pinned_.at(i);
    if (position < range.position) {
      bytes = std::min(bytes, range.position - position);
      break;
    }
    const std::uint64_t offset = position - range.position;
    if (offset >= range.bytes) continue;
    const VirtualAddress at(range.from.value() + offset);
    const PageTable::Mapping* const mapping = range.pages->find(at, Bytes(1));
    const std::uint64_t page = bytes_of(mapping->page_size).count();
    const std::uint64_t contiguous = page - at.value() % page;
    return {*range.pages->translate(at), std::min({bytes, range.bytes - offset, contiguous})};
  }
  return place(position, bytes);
}

unsigned SendStore::acknowledge(std::uint64_t position) {
  unsigned done = 0;
  while (!pinned_.empty() && pinned_.front().position + pinned_.front().bytes <= position) {
    pinned_.front().pages->unpin(pinned_.front().from);
    pinned_.pop();
    ++done;
  }
  return done;
}

}  // namespace rnicsim

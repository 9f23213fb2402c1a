// SPDX-License-Identifier: MIT
#include "host/kernel/send_store.h"

#include <algorithm>

namespace rnicsim {

bool SendStore::reserve() {
  if (!ring_) ring_ = frames_.allocate_kernel(capacity_);
  return ring_.has_value();
}

/// Pages that are pinned to the end of a run stay so: their process may be gone.
SendStore::~SendStore() {
  if (ring_) frames_.release_kernel(*ring_, capacity_);
}

void SendStore::release() {
  released_ = true;
  acknowledge(~std::uint64_t{0});
}

SendStore::Run SendStore::place(std::uint64_t position, std::uint64_t bytes) const {
  const std::uint64_t offset = position % capacity_.count();
  return {PhysicalAddress(ring_->value() + offset), std::min(bytes, capacity_.count() - offset)};
}

bool SendStore::pin(std::uint64_t position, std::uint64_t bytes, PageTable& pages,
                    VirtualAddress from) {
  if (pages.pin(from, Bytes(bytes)) == nullptr) return false;
  pinned_.push({position, bytes, &pages, from, 0});
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

template <class Change>
void SendStore::for_each_pinned(std::uint64_t position, std::uint64_t bytes, Change change) {
  for (std::size_t i = 0; i < pinned_.size(); ++i) {
    Pinned& range = pinned_.at(i);
    if (range.position >= position + bytes) break;
    if (range.behind() > position) change(range);
  }
}

void SendStore::frame_made(std::uint64_t position, std::uint64_t bytes) {
  ++frames_out_;
  for_each_pinned(position, bytes, [](Pinned& range) { ++range.frames; });
}

unsigned SendStore::frame_left(std::uint64_t position, std::uint64_t bytes) {
  --frames_out_;
  for_each_pinned(position, bytes, [](Pinned& range) { --range.frames; });
  return settle();
}

unsigned SendStore::acknowledge(std::uint64_t position) {
  acknowledged_ = std::max(acknowledged_, position);
  return settle();
}

/// Gives back what nobody needs any more; returns how many zero-copy sends are done by that.
unsigned SendStore::settle() {
  unsigned done = 0;
  for (; !pinned_.empty(); ++done) {
    const Pinned& first = pinned_.front();
    if (first.behind() > acknowledged_ || first.frames != 0) break;
    first.pages->unpin(first.from);
    pinned_.pop();
  }
  if (released_ && ring_ && frames_out_ == 0 && users_ == 0) {
    frames_.release_kernel(*ring_, capacity_);
    ring_.reset();
  }
  return done;
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "nic/ethernet/descriptor_ring.h"

#include <algorithm>

namespace rnicsim {

void DescriptorRing::open(PhysicalAddress ring, std::uint8_t log_entries) {
  ring_ = ring;
  entries_ = 1U << log_entries;
  taken_ = here_ = asked_ = producer_ = 0;
  held_.resize(std::size_t{kHeld} * bytes_);
}

bool DescriptorRing::produced(std::uint32_t producer) {
  const std::uint32_t ahead = producer - producer_;
  if (ahead > entries_ || producer - taken_ > entries_) return false;
  producer_ = producer;
  fetch(per_fetch_);
  return true;
}

void DescriptorRing::take(std::uint32_t count) {
  taken_ += count;
  fetch(per_fetch_);
}

void DescriptorRing::fetch(std::uint32_t least_room) {
  const std::uint32_t room = kHeld - (asked_ - taken_);
  if (fetching_ || (room < least_room && asked_ != taken_)) return;
  const std::uint32_t count = std::min(
      {producer_ - asked_, per_fetch_, room, entries_ - asked_ % entries_, kHeld - asked_ % kHeld});
  if (count == 0) return;
  fetching_ = true;
  ++fetches_;
  DmaRequest request;
  request.engine = DmaEngineId::kQueueRead;
  request.purpose = DmaPurpose::kFrameQueue;
  request.address = PhysicalAddress(ring_.value() + std::uint64_t{asked_ % entries_} * bytes_);
  request.bytes = count * bytes_;
  request.data = held_.data() + std::size_t{asked_ % kHeld} * bytes_;
  request.done = call<&DescriptorRing::arrived>(this, count);
  asked_ += count;
  pcie_.submit(std::move(request));
}

void DescriptorRing::arrived(std::uint64_t count) {
  fetching_ = false;
  // What was closed meanwhile has nothing asked for.
  if (here_ != asked_) here_ += static_cast<std::uint32_t>(count);
  fetch(per_fetch_);
  fetched_();
}

}  // namespace rnicsim

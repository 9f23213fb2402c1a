// SPDX-License-Identifier: MIT
// The NIC's end of one ring of descriptors in host RAM (model/ethernet_abi): learns from the
// doorbell how many there are, brings them ahead of need and gives them out in order.
//
// One DMA read is under way at a time, of so many descriptors as `per_fetch`, the ring's end and
// the room here allow; the next when a whole read has room, none is here, or more than are here are
// needed at once.
// Ignores: a doorbell that goes back, or ahead by more than the ring.
#pragma once

#include <cstdint>
#include <vector>

#include "model/callback.h"
#include "model/ethernet_abi.h"
#include "nic/pcie_endpoint.h"

namespace rnicsim {

class DescriptorRing {
 public:
  /// Descriptors that are kept here.
  static constexpr std::uint32_t kHeld = 64;

  /// `fetched` runs whenever some have come. REQUIRES: per_fetch <= kHeld, and no
  /// read longer than a DMA request.
  DescriptorRing(PcieEndpoint& pcie, std::uint32_t descriptor_bytes, std::uint32_t per_fetch,
                 Callback fetched)
      : pcie_(pcie), bytes_(descriptor_bytes), per_fetch_(per_fetch), fetched_(fetched) {}

  /// REQUIRES: no read is under way.
  void open(PhysicalAddress ring, std::uint8_t log_entries);
  /// Gives out nothing more.
  void close() { producer_ = asked_ = here_ = taken_; }
  /// Descriptors before this index are there. False: it makes no sense.
  bool produced(std::uint32_t producer);

  /// Index of the next to be taken, how many of them are here, and in the ring or here.
  std::uint32_t next() const { return taken_; }
  std::uint32_t here() const { return here_ - taken_; }
  std::uint32_t posted() const { return producer_ - taken_; }
  /// REQUIRES: i < here().
  const std::uint8_t* at(std::uint32_t i) const { return place(taken_ + i); }
  void take(std::uint32_t count);
  /// More than are here are needed. False: no more will come before some are taken, or posted.
  bool bring_more() {
    fetch(1);
    return fetching_;
  }
  bool is_fetching() const { return fetching_; }
  std::uint64_t fetches() const { return fetches_; }

 private:
  const std::uint8_t* place(std::uint32_t index) const {
    return held_.data() + std::size_t{index % kHeld} * bytes_;
  }
  void fetch(std::uint32_t least_room);
  void arrived(std::uint64_t count);

  PcieEndpoint& pcie_;
  std::uint32_t bytes_;
  std::uint32_t per_fetch_;
  Callback fetched_;
  PhysicalAddress ring_;
  std::uint32_t entries_ = 1;
  std::vector<std::uint8_t> held_;
  // Indices that only grow, in this order: taken, here, asked for, posted.
  std::uint32_t taken_ = 0;
  std::uint32_t here_ = 0;
  std::uint32_t asked_ = 0;
  std::uint32_t producer_ = 0;
  bool fetching_ = false;
  std::uint64_t fetches_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// What one PCIe link is: generation, width, how it splits, how long it takes, how much it buffers.
//
// Default latencies: a store reaches the device 150 ns after it left the CPU (RAMCloud's notes give
// 147 to 150 ns), and with MemoryConfig's defaults a 64 B read takes 520 ns on Gen3 x8 (pcie-bench,
// E5-2637v3, data in DRAM): 3.6 + 125 + 25 + 205 + 25 + 125 + 11.6 ns. Only the sums are published;
// the split between link and root complex is an assumption. Credits are an assumption too: enough
// for the bandwidth-delay product of Gen3 x16.
//
// A link that was trained down runs at what `trained` says; the run says so in a note. Ordering:
// the root complex makes writes visible in the order of sending, except those that carry relaxed
// ordering (nic.pcie.relaxed_ordering). `ordered_writes`, if given, is what it may have under way
// to memory of writes that must stay in order: the next one waits until earlier ones are visible,
// each after the latency of where it goes (cache, DRAM, another node), which is what makes ordered
// writes to a slow memory slow (assumption, off by default).
#pragma once

#include <cstdint>
#include <optional>

#include "host/pcie_arithmetic.h"
#include "host/pcie_direction.h"
#include "model/config_reader.h"
#include "model/units.h"

namespace rnicsim {

enum class PcieAccounting : std::uint8_t { kFull, kAtc16 };

/// What a link came to when it is less than it could be.
struct PcieTraining {
  std::uint32_t generation = 3;
  std::uint32_t lanes = 8;
  void describe(Fields& fields);
};

struct PcieConfig {
  std::uint32_t generation = 3;
  std::uint32_t lanes = 8;
  Bytes max_payload{256};
  Bytes max_read_request{512};
  Bytes read_completion_boundary{64};
  Bytes max_completion{4096};
  bool address_64 = true;
  bool ecrc = false;
  PcieAccounting accounting = PcieAccounting::kFull;
  Time latency_up = Time::ns(125);
  Time latency_down = Time::ns(125);
  Time root_complex_latency = Time::ns(25);
  Time credit_return_latency = Time::ns(150);
  std::uint32_t posted_headers = 128;
  Bytes posted_data{16384};
  std::uint32_t nonposted_headers = 64;
  std::uint32_t tag_bits = 10;
  std::optional<PcieTraining> trained;
  PcieReplayConfig replay;
  std::optional<Bytes> ordered_writes;

  void describe(Fields& fields);

  std::uint32_t active_generation() const { return trained ? trained->generation : generation; }
  std::uint32_t active_lanes() const { return trained ? trained->lanes : lanes; }
  bool is_trained_down() const {
    return active_generation() != generation || active_lanes() != lanes;
  }
  /// Read requests that one requester may have outstanding.
  std::uint32_t max_tags() const;
  PcieFormat format() const;
  /// Bits per second for TLPs.
  BitRate rate() const;
  /// `delivery_delay` of each stream is the caller's.
  PcieDirectionConfig direction(Time latency) const;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// What kind of random program a seed stands for: how much of what it does, on what NICs and hosts,
// over what cable.
//
// A seed is a program and, for reliable connections, a way of retransmission: seed n *
// kProgramSeeds
// + i is program i under kRetransmissions[n].
#pragma once

#include <cstdint>

#include "scenarios/engine/scenario.h"
#include "tests/scenarios/stress/operation.h"

namespace rnicsim::stress {

/// The ways of retransmission that reliable connections are tried with.
inline constexpr Retransmission kRetransmissions[] = {
    Retransmission::kGoBackN, Retransmission::kGoBack0, Retransmission::kSelectiveRepeat};
inline constexpr std::uint64_t kProgramSeeds = 100000;

struct Settings {
  std::uint64_t seed = 1;
  Transport transport = Transport::kRc;
  bool may_fail = false;
  unsigned kinds = (1U << kKinds) - 1;
  unsigned queue_pairs = 1;
  unsigned operations = 200;  ///< of each queue pair, each way
  std::uint32_t mtu = 1024;
  std::uint32_t max_length = 4096;
  std::uint32_t depth = 16;
  std::uint32_t receives = 16;
  std::uint32_t pieces = 1;
  bool shared_receives = false;
  bool inline_receive = false;
  bool late_receives = false;
  bool wrong_keys = false;
  bool on_demand = false;  ///< all regions are paged on demand
  bool plain = false;      ///< all signaled, no inline data, no fences
  std::uint8_t ack_timeout = 5;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t rnr_timer = 1;
  std::uint8_t max_reads = 16;
  Scenario scenario;

  /// The cable has a fault of this kind.
  bool has_fault(FaultKind kind) const;
};

/// One kind of operation in each program, over a cable without faults.
Settings without_faults(std::uint64_t seed);
/// All kinds, over a cable that loses, damages, repeats, reorders and delays packets.
Settings with_faults(std::uint64_t seed);
/// The same over InfiniBand, whose lanes have room for a few packets only.
Settings over_infiniband(std::uint64_t seed);
/// The same as with faults, with few retries, wrong keys or a cable that is down: queue pairs fail.
Settings failing(std::uint64_t seed);
/// All kinds, every other program over a cable with faults, on memory that is paged on demand.
Settings paged(std::uint64_t seed);
/// As `failing`, on memory that is paged on demand.
Settings paged_failing(std::uint64_t seed);
/// UC and UD over a cable that loses, damages and delays packets.
Settings unreliable(std::uint64_t seed);
/// The same where packets also come twice and out of order.
Settings unreliable_repeated(std::uint64_t seed);

}  // namespace rnicsim::stress

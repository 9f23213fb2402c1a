// SPDX-License-Identifier: MIT
// The settings of a switch.
#pragma once

#include <optional>
#include <vector>

#include "fabric/arp_table.h"
#include "fabric/egress.h"
#include "fabric/mac_table.h"
#include "fabric/path_choice.h"
#include "fabric/shared_buffer.h"
#include "fabric/storm_watchdog.h"
#include "model/config_reader.h"
#include "model/priority_arbiter.h"
#include "model/priority_map.h"
#include "model/units.h"

namespace rnicsim {

enum class Forwarding : std::uint8_t {
  kRouted,   ///< by IP address: TTL and Ethernet addresses are rewritten
  kBridged,  ///< by Ethernet address: nothing is rewritten
};

/// Room behind XOFF as a vendor's driver computes it (fabric/headroom).
struct HeadroomFormulaConfig {
  enum class Rule : std::uint8_t { kSpectrum1, kSpectrum2, kMlx5 };
  Rule rule = Rule::kSpectrum2;
  Bytes lossless_mtu{1024};
  double small_packets = 1.;
  void describe(Fields& fields);
};

/// The cable at a port, as far as buffer and wire must know it. Where nothing is plugged in nothing
/// ever leaves, at any rate.
struct SwitchPortSetup {
  BitRate rate = BitRate::gbps(1);
  Time propagation;
  Bytes largest_frame;
  Time peer_response_time;  ///< how soon the other end obeys a pause, for the headroom
  Length length = Length(0);
};

struct SwitchConfig {
  Frequency clock = Frequency::mhz(1000);
  Cycles latency{250};
  bool cut_through = false;
  Forwarding forwarding = Forwarding::kRouted;
  PathChoice path_choice = PathChoice::kEcmp;
  PriorityMapConfig priorities;
  std::vector<std::uint8_t> lossless{3};
  SharedBufferConfig buffer;
  std::optional<Bytes> headroom;
  std::optional<HeadroomFormulaConfig> headroom_formula;
  EgressConfig egress;
  StormWatchdogConfig watchdog;
  std::optional<MacTableConfig> mac_table;
  std::optional<ArpTableConfig> arp_table;
  void describe(Fields& fields);
  /// None is lossless while nobody can be paused.
  PrioritySet lossless_set() const {
    return egress.pause.mode == PauseMode::kNone ? PrioritySet{0} : set_of(lossless);
  }
  /// The room behind XOFF at each port: as set, by a vendor's formula, or what the cable needs.
  std::vector<Bytes> headrooms(const std::vector<SwitchPortSetup>& ports) const;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// What a NIC's port makes of priorities, the same for sending and receiving: which priority a
// packet has, which are lossless, how they share the wire, how the port pauses and is paused.
#pragma once

#include <optional>
#include <vector>

#include "model/config_reader.h"
#include "model/pause.h"
#include "model/priority_arbiter.h"
#include "model/priority_map.h"
#include "model/units.h"

namespace rnicsim {

/// See nic/pause_watchdog.
struct PauseWatchdogConfig {
  enum class Action : std::uint8_t { kAlert, kStopPausing };
  Time interval = Time::ms(100);
  Action action = Action::kAlert;
  void describe(Fields& fields);
};

struct PortConfig {
  PriorityMapConfig priorities;
  std::vector<std::uint8_t> lossless{3};
  std::vector<PriorityWeight> weights;
  PauseConfig pause;
  PauseWatchdogConfig watchdog;
  std::optional<Bytes> headroom;
  std::optional<std::uint16_t> vlan;  ///< its frames carry a tag with this VLAN's number
  void describe(Fields& fields);
  /// None is lossless while nobody can be paused.
  PrioritySet lossless_set() const {
    return pause.mode == PauseMode::kNone ? PrioritySet{0} : set_of(lossless);
  }
};

}  // namespace rnicsim

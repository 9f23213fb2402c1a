// SPDX-License-Identifier: MIT
// Which congestion control a NIC has, and the parameters of each.
#pragma once

#include <optional>
#include <string>

#include "model/config_reader.h"
#include "nic/congestion/dcqcn.h"
#include "nic/congestion/hpcc.h"
#include "nic/congestion/notification_point.h"
#include "nic/congestion/swift.h"
#include "nic/congestion/timely.h"

namespace rnicsim {

enum class CongestionAlgorithm : std::uint8_t { kNone, kDcqcn, kTimely, kSwift, kHpcc };

struct CongestionControlConfig {
  CongestionAlgorithm algorithm = CongestionAlgorithm::kNone;
  NotificationConfig notification;
  DcqcnConfig dcqcn;
  TimelyConfig timely;
  SwiftConfig swift;
  HpccConfig hpcc;
  void describe(Fields& fields);
};

/// As a NIC's settings name it.
struct CongestionControlSetting {
  std::optional<std::string> preset;
  CongestionControlConfig config;  ///< its keys stand beside "preset"
  void describe(Fields& fields);
};

}  // namespace rnicsim

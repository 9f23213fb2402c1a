// SPDX-License-Identifier: MIT
// The notification point of DCQCN (IBTA annex A17.9): answers a packet that a switch has marked
// (congestion experienced) with a congestion notification packet to the queue pair that sent it, at
// most one for each queue pair in an interval. A CNP has a DSCP of its own and is not ECN capable.
// It leaves among the port's responses and waits for no room there.
//
// Connects to: responder and completer, which show it what is marked; nic_port, mac_tx.
// Ignores: datagrams, whose sender has no rate of its own for each peer; intervals by port or by
// destination address, which some NICs have.
#pragma once

#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/scheduler.h"
#include "nic/congestion/congestion_control.h"
#include "nic/mac_tx.h"
#include "nic/nic_port.h"

namespace rnicsim {

struct NotificationConfig {
  Time interval{Time::us(50)};
  std::uint8_t dscp = 48;
  void describe(Fields& fields);
};

class NotificationPoint {
 public:
  NotificationPoint(Scheduler& scheduler, NicPort& port, MacTx& mac_tx,
                    const NotificationConfig& config)
      : scheduler_(scheduler), port_(port), mac_tx_(mac_tx), config_(config) {}

  /// A marked packet of the queue pair was taken; a CNP may leave from `ready` on.
  void marked(CongestionFlow& flow, const abi::QpContext& context, const Packet& packet,
              Time ready);
  void report(const MetricScope& scope) const;

 private:
  Scheduler& scheduler_;
  NicPort& port_;
  MacTx& mac_tx_;
  NotificationConfig config_;
  std::uint64_t marked_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace rnicsim

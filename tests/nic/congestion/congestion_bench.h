// SPDX-License-Identifier: MIT
// A congestion control alone: a queue pair's record, and actions at times.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "model/scheduler.h"
#include "nic/congestion/congestion_control.h"
#include "nic/queue_pair.h"

namespace rnicsim::test {

struct CongestionBench {
  /// Timers are daemons; the bench waits for what they do.
  CongestionBench() { scheduler.hold(); }
  void at(Time time, std::function<void()> function) {
    actions.push_back(std::move(function));
    scheduler.at(time, call<&CongestionBench::act>(this, actions.size() - 1));
  }
  void act(std::uint64_t index) { actions[index](); }
  CongestionFlow& begin(CongestionControl& control) {
    NicQueuePair& qp = qps.at(Qpn(1));
    qp.flow = control.make(qp.qpn);
    return *qp.flow;
  }

  Scheduler scheduler{"scheduler"};
  QueuePairTable qps;
  std::vector<std::function<void()>> actions;
};

/// An acknowledgement that took `rtt`.
inline CongestionControl::Acknowledged after(Time rtt, Time now, std::uint64_t bytes = 4096) {
  CongestionControl::Acknowledged news;
  news.now = now;
  news.rtt = rtt;
  news.bytes = bytes;
  return news;
}

}  // namespace rnicsim::test

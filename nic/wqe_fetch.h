// SPDX-License-Identifier: MIT
// Brings WQEs from the send queue in host RAM: after a doorbell, and as long as the ring holds
// more, reads up to `blocks_per_fetch` basic blocks by one DMA read (never past the ring's end),
// takes WQEs apart and hands them to the requester; those of a queue pair in error go to the
// completer to be flushed. A send queue that drains has fetched only what is to be sent again. One
// fetch a queue pair at a time, at most NicQueuePair::kPrefetchBlocks ahead; `outstanding` fetches
// at once, beyond which queue pairs wait their turn.
#pragma once

#include <deque>

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "nic/pcie_endpoint.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class Requester;
class Completer;

struct WqeFetchConfig {
  std::uint32_t blocks_per_fetch = 8;
  std::uint32_t outstanding = 32;
  PipelineConfig pipeline;
  void describe(Fields& fields);
};

class WqeFetch {
 public:
  WqeFetch(Scheduler& scheduler, const Clock& clock, PcieEndpoint& pcie, QpContextCache& contexts,
           QueuePairTable& qps, const WqeFetchConfig& config, std::uint16_t nic_index)
      : scheduler_(scheduler),
        pipeline_(clock, config.pipeline),
        pcie_(pcie),
        contexts_(contexts),
        context_port_(contexts.add_port(clock)),
        qps_(qps),
        config_(config),
        nic_index_(nic_index) {}
  void connect(Requester& requester, Completer& completer) {
    requester_ = &requester;
    completer_ = &completer;
  }

  /// A doorbell leaves its pipeline at `at`: when its queue pair's context has been looked up.
  Time look_up(Time at) { return context_port_.enter(at); }
  bool knows(Qpn qpn) const { return contexts_.in_range(qpn.value()); }
  /// The send queue's producer index (next free basic block) moved.
  void produced(Qpn qpn, std::uint16_t producer);
  /// BlueFlame: takes a whole WQE from the register, if it is the next of its queue and everything
  /// needed is at hand; else it will be fetched. Tell produced() afterwards.
  bool take_wqe(const abi::ControlSegment& control, const std::uint8_t* wqe);
  /// Some doorbells of this queue pair were lost: reads its doorbell record in host RAM.
  void recover(Qpn qpn);
  /// Prefetched blocks were used up, or the state changed: goes on if there is reason to.
  void resume(Qpn qpn) { try_fetch(qpn.value()); }
  /// The state may permit sending again: so do WQEs that are here already.
  void restart(Qpn qpn);

  Probe probe;
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  void apply(std::uint64_t qpn_and_producer);
  void try_fetch(std::uint64_t qpn);
  void fetched(std::uint64_t qpn_and_blocks);
  void hand_over(NicQueuePair& qp, abi::QpContext& context);
  void decode(NicQueuePair& qp, abi::QpContext& context);
  void recovered(std::uint64_t qpn);
  void read_record(std::uint64_t qpn);
  bool may_fetch(NicQueuePair& qp);
  void fetch_ended();

  Scheduler& scheduler_;
  Pipeline pipeline_;  ///< takes WQEs apart
  PcieEndpoint& pcie_;
  QpContextCache& contexts_;
  Pipeline& context_port_;
  QueuePairTable& qps_;
  WqeFetchConfig config_;
  std::uint16_t nic_index_;
  Requester* requester_ = nullptr;
  Completer* completer_ = nullptr;
  struct Recovery {
    std::uint32_t qpn = 0;
    std::uint8_t record[abi::DoorbellRecord::kBytes] = {};
  };
  std::deque<Recovery> recoveries_;
  std::uint32_t in_flight_ = 0;
  std::uint32_t most_in_flight_ = 0;
  Ring<std::uint64_t> waiting_;  ///< queue pairs that may fetch when another fetch has ended
  Time stalled_outstanding_;
  Time waiting_since_;
  Time busy_;
  Time busy_since_;
  std::uint64_t fetches_ = 0;
  std::uint64_t wqes_ = 0;
  std::uint64_t ignored_ = 0;
  std::uint64_t recovered_ = 0;
};

}  // namespace rnicsim

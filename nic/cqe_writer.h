// SPDX-License-Identifier: MIT
// Writes completion entries into the completion queues in host RAM: one posted DMA write of 64 B
// each, in order, without relaxed ordering and through the same engine as the payload, so an entry
// never passes data that were handed to PCIe before it. At most `queue` entries wait for their
// context; who has another one waits until `room` is called.
#pragma once

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/host_table_cache.h"
#include "nic/pcie_endpoint.h"

namespace rnicsim {

using CqContextCache = HostTableCache<abi::CqContext>;

struct CqeWriterConfig {
  PipelineConfig pipeline{Cycles(6), Cycles(2)};
  std::uint32_t queue = 16;
  void describe(Fields& fields);
};

class CqeWriter {
 public:
  CqeWriter(Scheduler& scheduler, const Clock& clock, PcieEndpoint& pcie, CqContextCache& contexts,
            const CqeWriterConfig& config)
      : scheduler_(scheduler),
        pcie_(pcie),
        contexts_(contexts),
        context_port_(contexts.add_port(clock)),
        config_(config),
        pipeline_(clock, config.pipeline) {}
  /// `room` runs when a full queue has room again.
  void connect(Callback room) { room_ = room; }

  bool has_room() const { return queue_.size() < config_.queue; }
  /// Queues an entry that is known at `ready` (>= now). REQUIRES: has_room().
  void write(Cqn cqn, const abi::Cqe& cqe, WorkRequestId work_request, Time ready);
  bool idle() const { return queue_.empty(); }

  Probe probe;
  void report(const MetricScope& scope) const;

 private:
  struct Waiting {
    Cqn cqn;
    abi::Cqe cqe;
    WorkRequestId work_request;
    Time ready;
  };
  void arm();
  void write_front();
  void drop_front();
  void pop_front();

  Scheduler& scheduler_;
  PcieEndpoint& pcie_;
  CqContextCache& contexts_;
  Pipeline& context_port_;
  CqeWriterConfig config_;
  Pipeline pipeline_;
  Callback room_;
  Ring<Waiting> queue_;
  bool armed_ = false;
  std::uint64_t written_ = 0;
  std::uint64_t errors_ = 0;
  std::uint64_t dropped_ = 0;
  Time stalled_context_;
  Time context_since_ = Time::never();
  std::size_t most_queued_ = 0;
};

}  // namespace rnicsim

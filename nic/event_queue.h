// SPDX-License-Identifier: MIT
// The event queues: tells software what happened. An event takes the next place of its queue in
// host RAM (64 B, posted write) and, if the queue is armed, is followed by the queue's MSI-X
// message (4 B, posted write). Both go through the engine of all writes, so that neither passes
// completion entries or payload handed to PCIe before them.
//
// Connects to: commands (create, destroy), the doorbell (arm), completion_events and cqe_writer
// (completions, overruns), whoever has an asynchronous event to tell, pcie_endpoint.
// Models: a few queues kept inside the NIC, one pipeline for all of them. One message for each
// arming: at once if entries are there that software did not know, else with the next entry.
// At most `queue` events wait here; cqe_writer then holds back entries whose queues have events.
// All others have a place of their own (a completion queue is armed once, a queue pair fails once,
// page faults are limited), wait in their object's context and enter in order.
// Approximates: an entry is written even if software has not said that it has taken the one in its
// place, which is counted as an overrun: software says so only when it arms, so a handler that
// keeps up while thousands come in one go loses none of them.
// Ignores: the MSI-X table in BAR space (the message is part of the queue's context), masking.
#pragma once

#include <vector>

#include "model/callback.h"
#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/nic_abi.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/pcie_endpoint.h"

namespace rnicsim {

struct EventQueueConfig {
  std::uint32_t queues = 32;
  std::uint32_t queue = 16;
  PipelineConfig pipeline{Cycles(6), Cycles(2)};
  void describe(Fields& fields);
};

class EventQueue {
 public:
  /// Where events go whose object names no queue.
  static constexpr std::uint32_t kAsyncEqn = 1;

  EventQueue(Scheduler& scheduler, const Clock& clock, PcieEndpoint& pcie,
             const EventQueueConfig& config)
      : scheduler_(scheduler),
        pcie_(pcie),
        config_(config),
        pipeline_(clock, config.pipeline),
        queues_(config.queues) {}
  /// `room` runs when a full block has room again.
  void connect(Callback room) { room_ = room; }

  /// False: there is no such number, it is taken, or the NIC could not work with the context.
  bool create(std::uint32_t eqn, const abi::EqContext& context);
  /// False: there is no such queue. Its waiting events are lost.
  bool destroy(std::uint32_t eqn);
  void reset();
  /// Software has taken the entries before `consumer` and wants a message for the next one.
  void arm(std::uint32_t eqn, std::uint32_t consumer);

  bool has_room() const { return waiting_.size() < config_.queue; }
  /// Writes an event into queue `eqn`. `cause`: for observers.
  void post(std::uint32_t eqn, abi::EventType type, std::uint32_t object,
            WorkRequestId cause = {}) {
    post(eqn, type, object, cause, {});
  }
  /// Of a queue pair or a shared receive queue.
  void async(abi::EventType type, std::uint32_t object) { post(kAsyncEqn, type, object); }
  void page_fault(std::uint32_t number, const abi::PageFault& fault, WorkRequestId cause) {
    post(kAsyncEqn, abi::EventType::kPageFault, number, cause, fault);
  }
  bool idle() const { return waiting_.empty(); }

  Probe probe;
  void report(const MetricScope& scope) const;

 private:
  struct Queue {
    abi::EqContext context;
    bool valid = false;
    bool armed = false;
    std::uint32_t producer = 0;
    std::uint32_t consumer = 0;  ///< when software armed it last
  };
  /// kInvalid: no entry, the message alone.
  struct Waiting {
    std::uint32_t eqn;
    abi::EventType type;
    std::uint32_t object;
    Time ready;
    WorkRequestId cause;
    abi::PageFault fault;
  };
  void post(std::uint32_t eqn, abi::EventType type, std::uint32_t object, WorkRequestId cause,
            const abi::PageFault& fault);
  /// Null if there is none. Number 0 means "no events" in a completion queue's context.
  Queue* find(std::uint32_t eqn);
  void start();
  void serve();
  void deliver(Queue& queue, const Waiting& event);
  void write_entry(Queue& queue, const Waiting& event);
  void send_message(const Queue& queue, const Waiting& event);

  Scheduler& scheduler_;
  PcieEndpoint& pcie_;
  EventQueueConfig config_;
  Pipeline pipeline_;
  Callback room_;
  std::vector<Queue> queues_;  ///< number n at n - 1
  Ring<Waiting> waiting_;
  bool started_ = false;  ///< the oldest event is in the pipeline
  std::uint64_t events_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t overruns_ = 0;
  std::uint64_t lost_ = 0;
  std::size_t most_waiting_ = 0;
};

}  // namespace rnicsim

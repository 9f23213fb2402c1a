// SPDX-License-Identifier: MIT
// Writes completion entries into the completion queues in host RAM: one posted DMA write of 64 B
// each, in order, without relaxed ordering and through the same engine as the payload, so an entry
// never passes data that were handed to PCIe before it. At most `queue` entries wait for their
// context; who has another one waits until `room` is called. An entry of a queue with events waits
// for room in the event queue's block.
//
// Overrun: the writer knows how far software had come when it last read the queue's doorbell
// record. It reads the record ahead whenever half of the room that it knew of is used, and, if an
// entry finds no room at all, once more, holding the entry. Still full: the queue is in error for
// good, its entries are lost, software gets an event, and the queue pairs that write to it are told
// through `overrun`.
// Approximates: what it knows of the room stands in a table with a place for every queue; one
// record is read at a time.
#pragma once

#include <array>
#include <vector>

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "nic/completion_events.h"
#include "nic/event_queue.h"
#include "nic/host_table_cache.h"
#include "nic/pcie_endpoint.h"

namespace rnicsim {

struct CqeWriterConfig {
  PipelineConfig pipeline{Cycles(6), Cycles(2)};
  std::uint32_t queue = 16;
  void describe(Fields& fields);
};

class CqeWriter {
 public:
  CqeWriter(Scheduler& scheduler, const Clock& clock, PcieEndpoint& pcie, CqContextCache& contexts,
            CompletionEvents& completion_events, EventQueue& event_queue,
            const CqeWriterConfig& config)
      : scheduler_(scheduler),
        pcie_(pcie),
        contexts_(contexts),
        context_port_(contexts.add_port(clock)),
        completion_events_(completion_events),
        event_queue_(event_queue),
        config_(config),
        pipeline_(clock, config.pipeline) {}
  /// `room` runs when a full queue has room again.
  void connect(Callback room) { room_ = room; }
  /// `overrun` runs, with the queue's number for its argument, when a completion queue has lost an
  /// entry: the queue pairs that use it cannot go on.
  void connect_overrun(Callback overrun) { overrun_ = overrun; }

  bool has_room() const { return queue_.size() < config_.queue; }
  /// Queues an entry that is known at `ready` (>= now). `solicited`: its sender asked for an event;
  /// errors count as solicited without saying so. REQUIRES: has_room().
  void write(Cqn cqn, const abi::Cqe& cqe, WorkRequestId work_request, Time ready,
             bool solicited = false);
  /// Tells software, behind the entries that wait here now, that a send queue has drained.
  void tell_drained(Qpn qpn);
  /// The event queue's block has room again.
  void go_on();
  /// The queue is made or destroyed.
  void forget(Cqn cqn);
  void reset() { rooms_.clear(); }
  bool idle() const { return queue_.empty(); }

  Probe probe;
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  enum class Stall : std::uint8_t { kNone, kContext, kDoorbellRecord, kEventQueue };
  static constexpr unsigned kStalls = 4;
  struct Waiting {
    Cqn cqn;
    abi::Cqe cqe;
    WorkRequestId work_request;
    Time ready;
    bool solicited;
  };
  /// An event that follows the entry that is `behind`th to leave.
  struct Drained {
    std::uint64_t behind;
    Qpn qpn;
  };
  /// What the NIC knows of the room in a queue.
  struct Room {
    std::uint32_t consumer = 0;  ///< as the doorbell record had it
    std::uint32_t look_at = 0;   ///< producer index at which the record is read again
    bool look_known = false;     ///< look_at follows from `consumer`
  };
  void arm();
  void write_front();
  void wait(Stall cause);
  void end_wait();
  Room& room_of(Cqn cqn);
  bool has_place(const abi::CqContext& context);
  void read_record(Cqn cqn, const abi::CqContext& context);
  void record_read();
  void look_ahead(Cqn cqn, const abi::CqContext& context);
  void overrun(Cqn cqn, abi::CqContext& context);
  void submit(abi::CqContext& context);
  void drop_front(std::uint64_t& count);
  void pop_front();

  Scheduler& scheduler_;
  PcieEndpoint& pcie_;
  CqContextCache& contexts_;
  Pipeline& context_port_;
  CompletionEvents& completion_events_;
  EventQueue& event_queue_;
  CqeWriterConfig config_;
  Pipeline pipeline_;
  Callback room_;
  Callback overrun_;
  Ring<Waiting> queue_;
  Ring<Drained> drained_;
  std::uint64_t left_ = 0;   ///< entries that were written or dropped
  std::vector<Room> rooms_;  ///< by number of the queue
  std::array<std::uint8_t, 4> record_{};
  Cqn record_cqn_;
  bool reading_ = false;         ///< a doorbell record
  bool read_for_front_ = false;  ///< since the oldest entry found its queue full
  bool armed_ = false;
  std::uint64_t written_ = 0;
  std::uint64_t errors_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t overruns_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t records_read_ = 0;
  Stall stalled_by_ = Stall::kNone;
  Time stalled_since_;
  std::array<Time, kStalls> stalled_{};
  std::size_t most_queued_ = 0;
};

}  // namespace rnicsim

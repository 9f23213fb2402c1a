// SPDX-License-Identifier: MIT
// Where the time of messages went: follows work requests from the begin of their post to the poll
// of their completion, through the records of all blocks on their way, and gives every picosecond
// to one stage (latency_result). What happens at the same time counts once, on the path of what the
// message waited for last (message_path).
//
// Which stage takes what:
//   CPU      posting until the doorbell's write begins, then doorbell until the NIC acts on it
//   NIC      wqe_fetch; turn until a packet is cut; own_key, dma_read, tx_pipeline, port_queue
//   wire     serialisation at each port, propagation, switch, switch_queue; pause while stopped
//   far NIC  rx_queue, rx_pipeline, key_check, dma_write until the data are handed to PCIe
//   back     ack until the requester has taken it, cqe, polling; of a READ the answers' way, whose
//            data come by dma_read at the far NIC and go by dma_write at home
// A miss of the queue pair's context is taken out of doorbell, turn, ack and cqe, and out of
// rx_queue, rx_pipeline and ack that of any, as what comes to a NIC is taken in order; a miss of a
// translation is all of that packet's translation, but who waits behind it waits for its turn.
// What a packet waits at the far NIC beyond what its pipelines take is rx_queue: the NIC, its PCIe
// link or memory cannot keep up with those before it.
// Where a queue before the requester (turn) is long because its port is stopped, that is pause.
//
// Follows at most kMostMessages, every second, fourth, ... if there are more (latency_samples).
// Of operations on keys all in the NIC is turn or cqe; an atomic's execution is dma_write.
//
// Approximates: the time in which the port was stopped stands at the begin of a turn, wherever it
// was in it. rx_queue stands before rx_pipeline, wherever in the NIC the packet waited; some cycles
// of it count as rx_pipeline, as not every packet crosses a page. An acknowledgement counts as ack
// all of its way but for queues of switches and pauses; if it answers for several messages, the
// others have ack from the arrival of their own last packet until their completion entry. A
// doorbell that is rung while another of its queue pair is on its way counts as arrived with it.
// Misses of keys and of completion queues' contexts are in key_check and cqe. Behind a switch or
// NIC that cuts through, what is before the last bit comes is serialisation and propagation.
// Ignores: messages over TCP and what ends in error, which are left out. Of work requests without a
// completion entry of their own, polling lasts until the entry of a later one is polled.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/priority_arbiter.h"
#include "model/probe.h"
#include "scenarios/engine/latency_samples.h"
#include "scenarios/engine/message_path.h"
#include "scenarios/engine/probe_component.h"

namespace rnicsim {

class LatencyBreakdown : public ProbeSink {
 public:
  static constexpr std::size_t kMostMessages = 20000;

  struct Wiring {
    ProbeComponents components;
    std::vector<std::string> workloads;
    /// How long the port of a NIC has been stopped in a priority.
    std::function<Time(std::uint16_t, std::uint8_t)> stopped;
    /// What a packet that nothing holds up takes from its arrival at a NIC until such a record.
    std::function<Time(std::uint16_t, ProbeKind)> receive_time;
    /// Whether the timeline shows a message.
    std::function<bool(WorkRequestId)> is_shown;
  };
  explicit LatencyBreakdown(Wiring wiring);

  /// A program of this workload posts. REQUIRES: called before record() with the same.
  void posted(const ProbeRecord& record, std::size_t workload);
  void record(const ProbeRecord& record) override;
  /// Of workloads with messages.
  std::vector<WorkloadLatency> take() const;

 private:
  struct Message {
    MessagePath path;
    std::size_t workload = 0;
    std::uint64_t nth = 0;
    bool rung = false;
    bool arrived = false;
    bool behind = false;  ///< others were before it when its doorbell arrived
    bool fetched = false;
    bool again = false;   ///< its queue pair goes back
    bool writes = false;  ///< an answer is being written
    unsigned acks = 0;    ///< acknowledgements of other packets than the last that will be sent
    std::array<Time, kPriorities> stopped{};  ///< its port, since its last packet
    ProbeRecord start{};                      ///< of the packet that takes the wire
  };
  /// One at home, while it has messages or had.
  struct QueuePair {
    std::vector<std::uint64_t> messages;  ///< under way, in order
    bool fetching = false;
    Time fetch_begin;
    Time fetch_end = Time::never();
    std::uint32_t last_fetched = ~std::uint32_t{0};
    bool is_acknowledged = false;  ///< a reliable one
  };

  Message* find(WorkRequestId id);
  QueuePair* queue_pair(std::uint16_t nic, std::uint32_t qpn);
  QueuePair* queue_pair(const ProbeRecord& r);
  bool at_home(const ProbeRecord& r) const;
  bool of_home_host(const ProbeRecord& r) const;
  template <class Function>
  void for_each_message(QueuePair* qp, Function function);
  void note_stopped(Message& message);

  void of_queue_pair(const ProbeRecord& r);
  void rung(const ProbeRecord& r);
  void doorbell_arrived(const ProbeRecord& r);
  void context_fetched(const ProbeRecord& r);
  void wait_in_order(const ProbeRecord& r, MessagePath& path, Stage stage, Time until,
                     Time queued = Time()) const;
  void received(const ProbeRecord& r, MessagePath& path, Time until) const;
  void of_sender(const ProbeRecord& r, Message& message);
  void fetched(const ProbeRecord& r, Message& message);
  void cut(const ProbeRecord& r, Message& message);
  void of_wire(const ProbeRecord& r, Message& message);
  void sent(const ProbeRecord& r, Message& message);
  void forwarded(const ProbeRecord& r, Message& message);
  void of_receiver(const ProbeRecord& r, Message& message);
  void completed(const ProbeRecord& r, Message& message);
  bool waits_for_answer(const ProbeRecord& r, const Message& message);
  void polled(const ProbeRecord& r);
  void finish(Message& message, Time now);
  void forget(WorkRequestId id);

  Wiring w_;
  std::vector<std::uint32_t> host_of_nic_;        ///< numbers of hosts' names
  std::vector<std::uint32_t> host_of_component_;  ///< likewise
  std::unordered_map<std::uint64_t, Message> messages_;
  std::unordered_map<std::uint64_t, QueuePair> queue_pairs_;
  /// By NIC, of requests and of what answers them: when the oldest waited for its context.
  struct ContextMiss {
    Time since;
    Time until;
  };
  struct InOrder {
    std::deque<ContextMiss> requests;
    std::deque<ContextMiss> answers;
  };
  const std::deque<ContextMiss>& misses_before(const ProbeRecord& r) const;

  std::vector<InOrder> in_order_;
  std::vector<LatencySamples> samples_;
  std::vector<std::vector<MessageTimes>> shown_;
};

/// Between the programs of a workload and all observers: tells the breakdown who posts.
class PostingObserver : public ProbeSink {
 public:
  PostingObserver(LatencyBreakdown& breakdown, std::size_t workload, ProbeSink& observers)
      : breakdown_(breakdown), workload_(workload), observers_(observers) {}
  void record(const ProbeRecord& record) override {
    if (record.kind == ProbeKind::kPostSend) breakdown_.posted(record, workload_);
    observers_.record(record);
  }

 private:
  LatencyBreakdown& breakdown_;
  std::size_t workload_;
  ProbeSink& observers_;
};

}  // namespace rnicsim

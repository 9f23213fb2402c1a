// SPDX-License-Identifier: MIT
// What a host runs for a workload of flows, through the verbs library only: it registers a region
// with a slot for each pair that it is part of, makes one RC queue pair for each, exchanges
// introductions with the other ends, and when all hosts are connected posts its flows as WRITEs,
// READs or SENDs at their times. One for each NIC that has flows.
//
// Three threads on one core at most: one sets up and then posts, one takes completions, and of
// SENDs one takes what comes and posts its receive again. A flow is posted as far as its send queue
// has room, in batches with one doorbell; queue pairs with something to post take turns by batches.
// Of a flow only the last message asks for a completion, and every half send queue one more, so
// that there is room again.
//
// A flow begins at its time, or when what it waits for has ended: at its own host at once, at
// another one `control_latency` later, as if told over a control channel. It ends when its sender
// polls its last completion.
// Approximates: flows between the same two NICs in one priority share a queue pair and go in order.
// Messages walk through a slot as large as one message (or `region`), over and over; SENDs all
// begin at its begin. Ignores: a receiving application that looks at what has come.
#pragma once

#include <cstdint>
#include <queue>
#include <string>
#include <vector>

#include "host/control_channel.h"
#include "model/ring.h"
#include "scenarios/engine/endpoint.h"
#include "scenarios/engine/flows/flow_run.h"
#include "scenarios/engine/system.h"
#include "scenarios/engine/timeline.h"

namespace rnicsim {

/// What programs tell the workload, and ask.
class FlowCoordinator : public FlowStarter {
 public:
  /// This end point's queue pairs are all connected.
  virtual void connected(CpuTask& task) = 0;
  /// When flows begin; never() until all are connected.
  virtual Time origin() const = 0;
  virtual ControlChannel& mailbox(std::uint32_t end_point) = 0;
  /// Which messages the timeline is to show; asked once a message.
  virtual void posting(const FlowPair& pair, const QueuePair& qp) = 0;
  virtual void flow_ended() = 0;
};

class FlowProgram {
 public:
  struct Setting {
    System& system;
    const WorkloadSpec& spec;
    FlowRun& run;
    FlowCoordinator& coordinator;
    bool elided;
    std::uint64_t seed;  ///< of what its region is filled with
  };
  /// Where it runs: the `nic`-th of a host, which is that end point.
  struct Place {
    std::string host;
    unsigned nic;
    std::uint32_t end_point;
    unsigned core;
  };
  FlowProgram(const Setting& setting, const Place& place, ProbeSink* observer);

  /// Which pairs it sends for and receives for, and its flows. Before it starts.
  void add_outgoing(std::uint32_t pair) { outgoing_.push_back(pair); }
  void add_incoming(std::uint32_t pair) { incoming_.push_back(pair); }
  void add_flow(std::uint32_t flow);
  void start();

  /// A flow of this end point begins at `time`.
  void begin_at(std::uint32_t flow, Time time);
  /// All are connected.
  void wake(Time time) {
    if (poster_ != nullptr) poster_->wake(time);
  }

  /// Nothing more comes from senders that have failed: who waits for them only has finished.
  bool finished() const;
  const std::string& host() const { return end_.host; }
  const char* doing() const { return end_.doing; }
  std::uint32_t flows() const { return flows_; }
  std::uint64_t seed() const { return seed_; }
  RegionImage image() { return end_.image(); }
  /// Payload of finished flows that this end point's NIC has written.
  Bytes received() const;

 private:
  void set_up(CpuTask& task);
  void lay_out();
  void create_queue_pairs(CpuTask& task);
  std::uint32_t receives_of(std::uint32_t pair) const;
  void post_receives(CpuTask& task);
  void post_receives(CpuTask& task, std::size_t incoming, std::uint64_t count);
  void take_messages(CpuTask& task);
  bool has_all_messages() const;
  void introduce(CpuTask& task, std::uint32_t to, std::uint32_t pair, const QueuePair& qp);
  void connect_all(CpuTask& task);
  void meet(CpuTask& task, const ControlMessage& message);
  void post_flows(CpuTask& task);
  void begin_due(Time now);
  void begin(std::uint32_t flow, Time time);
  void post_batch(CpuTask& task, std::uint32_t pair);
  void take_completions(CpuTask& task);
  void complete(CpuTask& task, const WorkCompletion& completion);
  void fail(CpuTask& task, FlowPair& pair);

  struct Due {
    Time time;
    std::uint64_t order = 0;  ///< of those due at the same time
    std::uint32_t flow = 0;
    bool operator>(const Due& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  FlowRun& run_;
  FlowCoordinator& coordinator_;
  bool elided_;
  std::uint64_t seed_;
  std::uint32_t end_point_;
  std::string role_;  ///< its threads' names begin with it
  Endpoint end_;
  std::vector<std::uint32_t> outgoing_;
  std::vector<std::uint32_t> incoming_;
  std::vector<QueuePair*> incoming_qps_;
  /// Of an incoming pair, of SENDs.
  struct Receives {
    std::uint64_t posted = 0;
    std::uint64_t taken = 0;
    bool failed = false;
  };
  std::vector<Receives> receives_;
  std::vector<std::uint32_t> timed_;  ///< flows without a trigger, by start
  std::size_t next_timed_ = 0;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> triggered_;
  std::uint64_t orders_ = 0;
  Ring<std::uint32_t> ready_;  ///< pairs with something to post and room for it
  std::uint32_t flows_ = 0;    ///< all of this end point
  std::uint32_t unposted_ = 0;
  std::uint32_t unsettled_ = 0;
  bool takes_messages_ = false;
  Bytes region_;
  CpuTask* poster_ = nullptr;
};

}  // namespace rnicsim

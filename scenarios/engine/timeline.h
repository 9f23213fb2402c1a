// SPDX-License-Identifier: MIT
// Turns probe records into the eight steps of a WRITE, and those of other operations alike: the
// answers of READs are packets (6) as well, an operation on keys is of step 7, a receive has its
// completion (9), and with completion channels so has what follows, from the event entry to the
// program that wakes. For each tracked work request, what began when and ended when, on which lane.
// Steps of many packets show their first begin and last end; those of messages over TCP are others
// (tcp_timeline). Faults of any work request become
// records of their own (step 0), the first kMaxFaults of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/probe.h"
#include "scenarios/engine/probe_component.h"
#include "scenarios/engine/run_result.h"
#include "scenarios/engine/tcp_timeline.h"
#include "scenarios/engine/timeline_parts.h"
#include "scenarios/engine/workload_spec.h"

namespace rnicsim {

class Workload;

class Timeline : public ProbeSink {
 public:
  static constexpr std::size_t kMaxFaults = 64;

  explicit Timeline(ProbeComponents components) : components_(std::move(components)) {}

  void add_workload(Workload& workload) { workloads_.push_back(&workload); }
  /// Shows the steps of this work request, posted on host `from` for host `to`.
  void track(WorkRequestId work_request, Operation operation, const std::string& from,
             const std::string& to) {
    Tracked& tracked = tracked_[work_request.value()];
    tracked.operation = operation;
    tracked.wire = from + '-' + to;
    tracked.way_back = to + '-' + from;
  }

  bool tracks(WorkRequestId work_request) const {
    return tracked_.count(work_request.value()) != 0;
  }

  /// The same of a message over TCP, which `from` is about to send.
  void track_tcp(const TcpMark& mark, const std::string& from, const std::string& to) {
    tcp_.track(mark, from, to, false);
  }
  /// It hands over addresses and keys.
  void track_control(const TcpMark& mark, const std::string& from, const std::string& to) {
    tcp_.track(mark, from, to, true);
  }

  void record(const ProbeRecord& record) override;
  /// In order of begin within each step.
  std::vector<TimelineRecord> take();

 private:
  using Row = TimelineRow;
  struct Tracked {
    Operation operation = Operation::kWrite;
    std::string wire;
    std::string way_back;
    TimelineParts parts;
  };

  void control_plane(const ProbeRecord& r);
  void data_plane(const ProbeRecord& r, Tracked& tracked);
  void on_wire(const ProbeRecord& r, Tracked& tracked);
  void fault(const ProbeRecord& r);
  void fault_of_tcp(const ProbeRecord& r);
  void fault_on_link(const ProbeRecord& r);
  void add_fault(const ProbeRecord& r, const std::string& where, const char* lane,
                 const char* block, const std::string& text, RecordDetail detail);
  const std::string& host(const ProbeRecord& r) const { return components_[r.component].host; }
  bool at_home(const ProbeRecord& r) const;
  bool of_home_host(const ProbeRecord& r) const;
  void events(const ProbeRecord& r, Tracked& tracked);
  WorkRequestId work_request_of(const ProbeRecord& r);
  /// The way of this packet.
  std::string sent_on(const ProbeRecord& r) const;

  ProbeComponents components_;
  std::vector<Workload*> workloads_;
  std::map<std::uint64_t, Tracked> tracked_;
  /// By NIC and completion queue: what its last event was for.
  std::map<std::uint64_t, WorkRequestId> events_for_;
  TcpTimeline tcp_;
  std::vector<TimelineRecord> once_;
  std::vector<TimelineRecord> faults_;
  std::size_t faults_seen_ = 0;
};

}  // namespace rnicsim

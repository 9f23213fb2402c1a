// SPDX-License-Identifier: MIT
// The text trace: one line an event of the blocks whose path matches a glob, in simulated time.
//
//   64189.146 ns  host.A.cpu.verbs          doorbell rung         A.nic0 qp 1 #0   48 cycles
//
// Sees what probes report and nothing else; a block's path is "host.<name>.cpu.<block>" or
// "host.<name>.nic<n>.<block>", as in metrics. An event has a level: what went wrong is a fault,
// what happens about once a message (or less often) a message, what happens with every packet a
// packet. An event that may be refused (a key check, an acknowledgement, a completion) is a fault
// when it was.
//
// Lines come sorted by time, those of one instant in the order of their reports. A record may be
// dated later than its report (the end of a pipeline, a packet's last bit): it is held back until
// simulated time is there, so memory is bounded by what lies ahead; what is left is printed at the
// end. One dated before its report (a refusal that had to wait for the key's table entry) stands at
// the time of the report and names its own in brackets.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "model/probe.h"
#include "model/units.h"
#include "scenarios/engine/probe_component.h"

namespace rnicsim {

enum class LogLevel : std::uint8_t { kFault, kMessage, kPacket };
/// fault, message, packet
std::optional<LogLevel> log_level_of_name(std::string_view name);
LogLevel log_level_of(const ProbeRecord& record);

struct EventLogOptions {
  std::string glob = "*";
  LogLevel level = LogLevel::kPacket;  ///< shows this one and those before it
  Time from;
  Time until = Time::never();
};

class EventLog : public ProbeSink {
 public:
  /// `now` is asked at every record that the glob and the level show.
  EventLog(const EventLogOptions& options, const ProbeComponents& components,
           std::function<Time()> now, std::ostream& out);
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  /// Prints what is left.
  ~EventLog() override;

  void record(const ProbeRecord& record) override;

 private:
  struct Pending {
    Time time;  ///< of the line
    std::uint64_t number = 0;
    ProbeRecord record;
    bool operator>(const Pending& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };

  void print_until(Time time);
  void print(const Pending& pending);

  EventLogOptions options_;
  ProbeComponents components_;
  std::vector<std::string> nics_;                     ///< by run-wide number: "A.nic0"
  std::vector<std::array<bool, kProbeKinds>> shown_;  ///< by component: the glob says so
  std::function<Time()> now_;
  std::ostream& out_;
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
  std::uint64_t records_ = 0;
};

/// Passes every record to several sinks, in order.
class ProbeFanOut : public ProbeSink {
 public:
  void add(ProbeSink& sink) { sinks_.push_back(&sink); }
  void record(const ProbeRecord& record) override {
    for (ProbeSink* sink : sinks_) sink->record(record);
  }

 private:
  std::vector<ProbeSink*> sinks_;
};

}  // namespace rnicsim

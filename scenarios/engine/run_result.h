// SPDX-License-Identifier: MIT
// What one simulation gives back: timeline, metrics, violations. Times are simulated; nothing here
// depends on the wall clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/metrics.h"
#include "model/units.h"
#include "scenarios/engine/latency_result.h"
#include "scenarios/engine/time_series.h"

namespace rnicsim {

/// What a record's text says beside the other fields, for those who say it in another language.
struct RecordDetail {
  enum class Kind : std::uint8_t {
    kNone,
    // Of a fault, what it is.
    kPacketLost,
    kPacketDamaged,
    kPacketDuplicated,
    kPacketDelayed,
    kPacketHeldBack,
    kSegmentAgain,
    kConnectionFailed,
    kResetSent,
    kAccessRefused,
    kNakSent,
    kPageAbsent,
    kPagesBrought,
    kKeyOperationRefused,
    kQueuePairFailed,
    kErrorPolled,
    kMoreFaults,
  };
  Kind kind = Kind::kNone;
  std::string what = {};     ///< the packet, the connection, the state; of packets the operation
  std::string why = {};      ///< status, refusal, ...
  std::uint64_t number = 0;  ///< pages, a queue pair, faults that are not shown
  std::uint64_t misses = 0;  ///< of many, those that waited for a table
};

/// One thing that happened, or the first to the last of many alike.
struct TimelineRecord {
  int step = 0;      ///< 1 to 8 of a one-sided WRITE; 9: completion; 0: a fault
  std::string part;  ///< which sub-event of the step, e.g. "pin", "table", "key"
  Time begin;        ///< of the first
  Time end;          ///< of the last
  std::uint64_t count = 1;
  Time first_end;     ///< of the first; of a single one `end`
  Time last_begin;    ///< of the last; of a single one `begin`
  std::string host;   ///< "A"; of the wire: "A-B"
  std::string lane;   ///< app, cpu, nic, wire
  std::string block;  ///< e.g. "driver", "requester", "key_checker"
  std::string plane;  ///< control, data
  std::uint64_t bytes = 0;
  std::uint64_t work_request = 0;  ///< 0: none
  std::string text;                ///< one line for people
  RecordDetail detail = {};        ///< no part of the document
};

struct Metric {
  bool exact = true;
  std::uint64_t value = 0;  ///< of exact ones
  double real = 0;          ///< of derived ones
  Unit unit = Unit::kCount;
  std::string description;
  double as_real() const { return exact ? static_cast<double>(value) : real; }
};

/// A guarantee that did not hold.
struct Violation {
  std::string kind;  ///< lossless_drop, unfinished_flow, deadlock, data_mismatch, conservation, ...
  std::string where;  ///< module or flow
  Time when;
  std::string text;
};

/// One flow of a workload that consists of flows.
struct FlowRecord {
  std::string workload;
  std::string from;  ///< host
  std::string to;
  std::uint64_t bytes = 0;
  Time start;                   ///< it was due, or what it waited for had ended
  Time finish = Time::never();  ///< its sender polled the last completion; never: it did not end
  Time ideal;                   ///< what it would have taken alone on its path
  // As HPCC's scripts know it.
  std::uint32_t from_node = 0;
  std::uint32_t to_node = 0;
  std::uint32_t source_port = 0;
  std::uint32_t destination_port = 0;
};

/// A class of a port was stopped by a pause, or goes on.
struct PauseRecord {
  Time when;
  std::uint32_t node = 0;  ///< as HPCC's scripts know it
  bool is_switch = false;
  std::uint32_t port = 0;
  std::uint8_t priority = 0;
  bool paused = false;
  std::string where{};  ///< "host.A.nic0", "fabric.leaf0.port3"
};

/// What limited a workload (scenarios/engine/bottleneck).
struct Bottleneck {
  std::string workload;
  /// busy, full, stopped (by pauses): `resource` was so for the share `part` of the time;
  /// one_at_a_time: round trips of it; latency, window, max_rd_atomic, congestion_control, none:
  /// nothing was used up, and `part` is the largest share that anything was busy.
  std::string kind;
  std::string resource;  ///< path of the metric that says so
  double part = 0;
  std::string text;  ///< one sentence for people
  // What it says beside that, for those who say it in another language; no part of the document.
  Time span = {};           ///< of which `part` is a share
  bool over_sizes = false;  ///< it is of all sizes of a perftest together
  std::string next =
      {};  ///< path of the resource that comes next; of `latency` to `none`: the first
  double next_part = 0;
  std::uint64_t limit = 0;  ///< messages that may be under way at once
  std::uint64_t count = 0;  ///< messages that were; turns that waited; notifications
  Time each = {};           ///< a message's latency
};

struct RunResult {
  std::vector<TimelineRecord> timeline;
  std::map<std::string, Metric> metrics;  ///< by path
  std::vector<Violation> violations;
  std::vector<FlowRecord> flows;
  std::vector<Bottleneck> bottlenecks;  ///< one a workload that has come to its end
  /// Where the time of messages went, if it was asked for; no part of the document.
  std::vector<WorkloadLatency> latency;
  std::vector<std::string> notes;   ///< what to know of the network: places left empty, failures
  std::vector<PauseRecord> pauses;  ///< if it was asked for; no part of the document
  TimeSeries series;                ///< likewise
  Time end;                         ///< simulated time at which the run ended
  std::uint64_t callbacks = 0;      ///< of the scheduler, for the benches; no part of the document
  std::uint64_t data_packets = 0;   ///< likewise
  std::uint64_t packet_hops = 0;    ///< likewise
};

}  // namespace rnicsim

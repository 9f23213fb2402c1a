// SPDX-License-Identifier: MIT
// The text trace: one line an event of the blocks whose path matches a glob, in simulated time.
//
//   64189.146 ns  host.A.cpu.verbs          doorbell rung         wr A.nic0 qp 1 #0   48 cycles
//
// Sees what probes report and nothing else; a block path is "host.<name>.cpu.<block>",
// "host.<name>.nic0.<block>", "host.<name>.pcie" or, for faults injected on the cable that the host
// sends on, "host.<name>.link".
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "model/probe.h"
#include "model/units.h"

namespace rnicsim {

struct EventLogOptions {
  std::string glob = "*";
  Time from;
  Time until = Time::never();
};

class EventLog : public ProbeSink {
 public:
  /// `hosts`: names by probe component / 2.
  EventLog(const EventLogOptions& options, std::vector<std::string> hosts, std::ostream& out)
      : options_(options), hosts_(std::move(hosts)), out_(out) {}
  void record(const ProbeRecord& record) override;

 private:
  EventLogOptions options_;
  std::vector<std::string> hosts_;
  std::ostream& out_;
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

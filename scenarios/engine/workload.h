// SPDX-License-Identifier: MIT
// What a simulation asks of a workload, whatever its pattern is.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "model/metrics.h"
#include "model/units.h"
#include "model/verbs_types.h"
#include "scenarios/engine/run_result.h"

namespace rnicsim {

/// From the first post to the last completion.
struct WorkSpan {
  Time begin = Time::never();
  Time end;
  void include(Time from, Time to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
  }
  bool is_known() const { return begin < end; }
};

class Workload {
 public:
  virtual ~Workload() = default;

  virtual bool finished() const = 0;
  /// One line a program that has not finished: what it waits for.
  virtual std::vector<std::string> waiting_for() const = 0;
  /// A payload byte of this work request's NIC became visible at its target.
  virtual void landed(WorkRequestId work_request, Time time) = 0;
  /// Every posted message has exactly one fate; violations if not.
  virtual void check_completions(std::vector<Violation>& violations) const = 0;
  /// Payload that a NIC must have written into a host's memory.
  struct Landed {
    Bytes least;
    bool exact = true;  ///< false: messages that failed or got lost may have written more
  };
  virtual Landed landed_at(const std::string& host) const = 0;
  /// Compares memories with what they must hold; violations on difference.
  virtual void verify(std::vector<Violation>& violations) = 0;
  virtual void report(MetricSink& sink) const = 0;
  /// `sample` is called when its messages begin and when they have ended.
  void on_activity(std::function<void()> sample) { sample_ = std::move(sample); }
  /// Not known: it measures nothing that has a speed.
  virtual WorkSpan span() const { return {}; }
  /// Its flows, if it consists of such.
  virtual void add_flows(std::vector<FlowRecord>& /*flows*/) const {}

 protected:
  void note_activity() const {
    if (sample_) sample_();
  }

 private:
  std::function<void()> sample_;
};

}  // namespace rnicsim

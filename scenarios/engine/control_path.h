// SPDX-License-Identifier: MIT
// The control channels between the two programs of a workload, both ways: of a fixed latency, or
// over a TCP connection (tcp_control), as the workload's `control` says.
//
//   program on `from`: connect, send forth, receive back, ..., leave
//   program on `to`:   accept, receive forth, send back, ..., leave
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/control_channel.h"
#include "model/metrics.h"
#include "model/probe.h"
#include "scenarios/engine/scenario.h"
#include "scenarios/engine/system.h"
#include "scenarios/engine/timeline.h"
#include "scenarios/engine/workload_spec.h"

namespace rnicsim {

class ControlPath {
 public:
  struct Setting {
    unsigned from_core = 0;  ///< of the programs
    unsigned to_core = 0;
    bool elided = false;
    ProbeSink* observer = nullptr;
    Timeline* timeline = nullptr;  ///< is told what to show
  };
  /// The workload must outlive it.
  static std::unique_ptr<ControlPath> make(System& system, const WorkloadSpec& spec,
                                           const Setting& setting);
  virtual ~ControlPath() = default;

  virtual ControlChannel& forth() = 0;
  virtual ControlChannel& back() = 0;
  /// Returns when the other program has done its part, or cannot be reached.
  virtual void connect(CpuTask& /*task*/) {}
  virtual void accept(CpuTask& /*task*/) {}
  /// The program on `host` sends and receives no more.
  virtual void leave(CpuTask& /*task*/, const std::string& /*host*/) {}
  /// Why nothing more can be said, "timed out"; empty: it can.
  virtual std::string trouble() const { return {}; }
  /// Adds that to what programs say that they wait for.
  void explain(std::vector<std::string>& lines) const {
    const std::string why = trouble();
    if (why.empty()) return;
    for (std::string& line : lines) line += "; the control connection " + why;
  }

  void report(const MetricScope& forth_scope, const MetricScope& back_scope) {
    forth().report(forth_scope);
    back().report(back_scope);
  }
};

}  // namespace rnicsim

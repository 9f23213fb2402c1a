// SPDX-License-Identifier: MIT
// A workload of flows among many hosts: makes the flows, gives each host its program, brings the
// programs together, and draws the sums.
//
// When the last host has connected its queue pairs, all hear of it `control_latency` later; flows'
// start times count from then.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/control_channel.h"
#include "scenarios/engine/flows/flow_program.h"
#include "scenarios/engine/flows/flow_results.h"
#include "scenarios/engine/flows/flow_run.h"
#include "scenarios/engine/scenario.h"
#include "scenarios/engine/system.h"
#include "scenarios/engine/timeline.h"
#include "scenarios/engine/workload.h"

namespace rnicsim {

class FlowWorkload : public Workload, private FlowCoordinator {
 public:
  /// `core`: which core of a host its program takes. `observer` and `timeline` may be null.
  FlowWorkload(System& system, const WorkloadSpec& spec, const Scenario& scenario,
               const std::function<unsigned(const std::string&)>& core, ProbeSink* observer,
               Timeline* timeline);

  bool finished() const override;
  std::vector<std::string> waiting_for() const override;
  void landed(WorkRequestId /*work_request*/, Time /*time*/) override {}
  void check_completions(std::vector<Violation>& violations) const override;
  Landed landed_at(const std::string& host) const override;
  void verify(std::vector<Violation>& violations) override;
  void report(MetricSink& sink) const override;
  WorkSpan span() const override;
  void add_flows(std::vector<FlowRecord>& flows) const override;

 private:
  void start(std::uint32_t flow, std::uint32_t by, Time time) override;
  void connected(CpuTask& task) override;
  Time origin() const override { return origin_; }
  ControlChannel& mailbox(std::uint32_t end_point) override;
  void posting(const FlowPair& pair, const QueuePair& qp) override;
  void flow_ended() override;

  void make_programs(const std::function<unsigned(const std::string&)>& core, std::uint64_t seed,
                     ProbeSink* observer);
  FlowProgram& program_at(std::uint32_t end_point) { return *programs_[program_of_[end_point]]; }
  /// "A", or "A.nic1" of a host with several.
  const std::string& name_of(std::uint32_t end_point) const { return names_[end_point]; }
  std::string unfinished_flow(std::uint32_t flow) const;
  std::string not_begun(std::uint32_t flow) const;
  std::string obstacle(const FlowPair& pair) const;
  const Nic& nic_of(std::uint32_t end_point) const;

  System& system_;
  WorkloadSpec spec_;
  bool elided_;
  Timeline* timeline_;
  std::uint64_t tracked_;
  FlowRun run_;
  FlowPackets packets_;
  std::vector<FlowSizes::Point> bins_;
  std::vector<std::uint32_t> node_ids_;  ///< by end point
  std::vector<std::string> hosts_;       ///< likewise
  std::vector<std::string> names_;       ///< likewise
  std::vector<std::uint32_t> program_of_;
  std::vector<std::unique_ptr<FlowProgram>> programs_;
  std::vector<std::unique_ptr<ControlChannel>> mailboxes_;  ///< by program
  std::size_t connected_ = 0;
  std::size_t ended_ = 0;
  Time origin_ = Time::never();
  std::uint64_t mismatched_ = 0;
};

}  // namespace rnicsim

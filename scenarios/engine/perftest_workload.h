// SPDX-License-Identifier: MIT
// The workload pattern "perftest": client and server of ib_write_bw and its siblings, one size
// after the other over the same queue pairs and the same memory.
//
//   server (B)                                client (A)
//   registers, creates queue pairs            registers, creates queue pairs
//       <---- who I am ----------------------
//       ----- the same ---------------------->
//   for each size:
//   posts receives, if it takes any
//       ----- ready ------------------------->
//       <---- go, if both measure bandwidth --
//   receives, answers, or sleeps              measures
//       <---- done --------------------------
//   checks, outside of simulated time, that memories hold what was sent
//
// Results are those that perftest prints (perftest_statistics), as metrics
// workload.NAME.size_BYTES.bandwidth.average and so on. Memory is compared unless payload is
// elided: the measured bytes differ from size to size.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/engine/control_path.h"
#include "scenarios/engine/endpoint.h"
#include "scenarios/engine/perftest_buffer.h"
#include "scenarios/engine/perftest_plan.h"
#include "scenarios/engine/perftest_program.h"
#include "scenarios/engine/perftest_statistics.h"
#include "scenarios/engine/scenario.h"
#include "scenarios/engine/system.h"
#include "scenarios/engine/timeline.h"
#include "scenarios/engine/workload.h"

namespace rnicsim {

class PerftestWorkload : public Workload {
 public:
  /// As PairWorkload.
  PerftestWorkload(System& system, const WorkloadSpec& spec, const Scenario& scenario,
                   unsigned client_core, unsigned server_core, ProbeSink* observer,
                   Timeline* timeline);

  bool finished() const override;
  std::vector<std::string> waiting_for() const override;
  void landed(WorkRequestId /*work_request*/, Time /*time*/) override {}
  void check_completions(std::vector<Violation>& /*violations*/) const override {}
  Landed landed_at(const std::string& host) const override;
  void verify(std::vector<Violation>& violations) override;
  void report(MetricSink& sink) const override;
  WorkSpan span() const override { return span_; }

 private:
  struct Side {
    Endpoint endpoint;
    std::uint64_t seed;
    std::unique_ptr<PerftestRun> run;
    Bytes landed;  ///< payload of the sizes that are done
    std::string failure;
  };
  struct Result {
    Bytes size;
    std::optional<BandwidthResult> bandwidth;
    std::optional<LatencyResult> latency;
  };

  void client(CpuTask& task);
  void server(CpuTask& task);
  void program(Side& side, CpuTask& task, void (PerftestWorkload::*body)(CpuTask&));
  void set_up(Side& side, CpuTask& task);
  void start_size(Side& side, CpuTask& task, const Introduction& peer, Bytes size);
  void record(Bytes size);
  void fill_memory(Bytes size);
  void finish_size(Bytes size);
  void check_received(Side& sender, Side& receiver, Bytes size);
  void check_atomics(Side& target, Bytes size);
  /// What the areas of a side are filled with for a size.
  static std::uint64_t seed_of(const Side& side, Bytes size) {
    return side.seed ^ size.count() * 0x9e3779b97f4a7c15ULL;
  }
  Introduction introduce(const Side& side) const;

  System& system_;
  WorkloadSpec spec_;
  PerftestPlan plan_;
  PerftestBuffer buffer_;
  bool elided_;
  Timeline* timeline_;
  std::uint64_t to_track_;
  std::unique_ptr<ControlPath> control_;
  ControlChannel& to_server_;
  ControlChannel& to_client_;
  Side client_;
  Side server_;
  std::vector<Result> results_;
  WorkSpan span_;
  std::uint64_t mismatched_ = 0;
  std::string mismatch_;
};

}  // namespace rnicsim

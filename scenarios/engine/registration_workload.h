// SPDX-License-Identifier: MIT
// The workload pattern "registration": a program of `from` that registers `size` of its memory as
// one region and deregisters it again, `count` times, and takes the time of either call.
//
// The memory is mapped and its pages are present before (as after a first touch by the program), so
// what is measured is the call: system call, pinning, translation table, key, the command to the
// NIC. The NIC carries no traffic.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/endpoint.h"
#include "scenarios/engine/system.h"
#include "scenarios/engine/workload.h"

namespace rnicsim {

class RegistrationWorkload : public Workload {
 public:
  RegistrationWorkload(System& system, const WorkloadSpec& spec, unsigned core,
                       ProbeSink* observer);

  bool finished() const override { return program_.finished(); }
  std::vector<std::string> waiting_for() const override;
  void landed(WorkRequestId /*work_request*/, Time /*time*/) override {}
  void check_completions(std::vector<Violation>& /*violations*/) const override {}
  Landed landed_at(const std::string& /*host*/) const override { return {}; }
  void verify(std::vector<Violation>& /*violations*/) override {}
  void report(MetricSink& sink) const override;

 private:
  struct Calls {
    Time sum;
    Time longest;
    std::uint64_t count = 0;
    void add(Time time);
  };
  void work(CpuTask& task);
  void report(MetricSink& sink, const std::string& path, const Calls& calls) const;

  WorkloadSpec spec_;
  std::uint64_t pages_;
  Endpoint program_;
  Calls registrations_;
  Calls deregistrations_;
  Calls rounds_;  ///< of both
};

}  // namespace rnicsim

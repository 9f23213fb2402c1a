// SPDX-License-Identifier: MIT
#include "scenarios/engine/registration_workload.h"

#include <algorithm>

namespace rnicsim {

void RegistrationWorkload::Calls::add(Time time) {
  sum += time;
  longest = std::max(longest, time);
  ++count;
}

RegistrationWorkload::RegistrationWorkload(System& system, const WorkloadSpec& spec, unsigned core,
                                           ProbeSink* observer)
    : spec_(spec),
      pages_(divide_up(spec.size.count(),
                       std::uint64_t{1} << log_of(
                           system.server(spec.from).host->config().memory.buffer_pages()))),
      program_(system, spec_, spec.from, core, observer) {
  program_.start("registrar", [this](CpuTask& task) { work(task); });
}

void RegistrationWorkload::work(CpuTask& task) {
  const AccessFlags access(AccessFlags::kLocalWrite | AccessFlags::kRemoteRead |
                           AccessFlags::kRemoteWrite);
  program_.prepare(task, spec_.size, access);
  program_.doing = "registering and deregistering";
  Verbs& verbs = program_.process.verbs;
  for (std::uint64_t i = 0; i < spec_.count; ++i) {
    const Time begin = task.now();
    const auto region =
        verbs.reg_mr(task, program_.pd, program_.region.address, program_.region.length, access);
    require(region.error, "reg_mr");
    const Time registered = task.now();
    require(verbs.dereg_mr(task, region.value), "dereg_mr");
    registrations_.add(registered - begin);
    deregistrations_.add(task.now() - registered);
    rounds_.add(task.now() - begin);
  }
}

std::vector<std::string> RegistrationWorkload::waiting_for() const {
  if (finished()) return {};
  return {"workload " + spec_.name + " on host " + program_.host + ": " + program_.doing + ", " +
          std::to_string(deregistrations_.count) + " of " + std::to_string(spec_.count) + " done"};
}

void RegistrationWorkload::report(MetricSink& sink, const std::string& path,
                                  const Calls& calls) const {
  if (calls.count == 0) return;
  const MetricScope scope(sink, path);
  scope.time("mean", calls.sum / static_cast<std::int64_t>(calls.count), "time of a call");
  scope.time("max", calls.longest, "time of the longest call");
  sink.add_real(path + ".per_page",
                static_cast<double>(calls.sum.ps()) / static_cast<double>(calls.count * pages_),
                Unit::kPicoseconds, "mean time of a call over the pages of the region");
}

void RegistrationWorkload::report(MetricSink& sink) const {
  const std::string path = "workload." + spec_.name;
  const MetricScope scope(sink, path);
  scope.count("messages", spec_.count, "registrations that the workload has to make");
  scope.count("completed", deregistrations_.count, "regions registered and deregistered");
  scope.count("pages", pages_, "pages of the region");
  report(sink, path + ".registration", registrations_);
  report(sink, path + ".deregistration", deregistrations_);
  report(sink, path + ".round", rounds_);
}

}  // namespace rnicsim

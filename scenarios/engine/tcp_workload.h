// SPDX-License-Identifier: MIT
// The patterns "pairs" and "perftest" over TCP: as many connections as the workload has queue
// pairs, each with programs of its own on either side (tcp_exchange).
//
// pairs: messages go round robin over the connections, as over queue pairs. Without a response they
// form streams, and a message's latency is from the call to send until the receiving program has
// its last byte; with one, until the sender has the response.
// perftest: tcp_bw is a stream of each size, tcp_lat sends each message and waits for as many bytes
// to come back; its latency is half of that, and results are named as those of verbs
// (perftest_statistics).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/engine/perftest_plan.h"
#include "scenarios/engine/perftest_statistics.h"
#include "scenarios/engine/scenario.h"
#include "scenarios/engine/system.h"
#include "scenarios/engine/tcp_exchange.h"
#include "scenarios/engine/workload.h"

namespace rnicsim {

class TcpWorkload : public Workload {
 public:
  /// `core`: which core of a host its next program takes. `timeline` is told which messages to
  /// show; it may be null.
  TcpWorkload(System& system, const WorkloadSpec& spec, const Scenario& scenario,
              const std::function<unsigned(const std::string&)>& core, Timeline* timeline);

  bool finished() const override;
  std::vector<std::string> waiting_for() const override;
  void landed(WorkRequestId /*work_request*/, Time /*time*/) override {}
  void check_completions(std::vector<Violation>& violations) const override;
  /// What frames bring is no RDMA payload.
  Landed landed_at(const std::string& /*host*/) const override { return {}; }
  void verify(std::vector<Violation>& violations) override;
  void report(MetricSink& sink) const override;
  WorkSpan span() const override;

 private:
  bool is_perftest() const { return spec_.pattern == WorkloadPattern::kPerftest; }
  std::vector<TcpExchange::Round> rounds_of(std::uint32_t connection) const;
  std::uint64_t least_places(Bytes size) const;
  void report_pairs(MetricSink& sink, const std::string& path) const;
  void report_perftest(MetricSink& sink, const std::string& path) const;
  PerftestTimes times_of(std::size_t round) const;
  std::uint64_t sum_of(std::uint64_t (TcpExchange::*count)() const) const;
  std::uint64_t messages() const;

  System& system_;
  WorkloadSpec spec_;
  PerftestPlan plan_;
  std::vector<std::unique_ptr<TcpExchange>> exchanges_;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The workload pattern "rkey_guessing": a program on A (the attacker) that is connected to a
// service on B, and knows where B keeps something, tries keys until it reads 8 B there.
//
//   service (B)                               attacker (A)
//   registers `target_regions` regions,
//   the last of them holds the secret
//       <---- who I am ----------------------
//       ----- the same, and the address ----->
//                                             READs with the next key; a wrong one is a NAK, which
//                                             puts the queue pairs of both ends in error
//       <---- again, please -----------------
//   RESET, INIT, RTR, RTS                     RESET, INIT
//       ----- the same ---------------------->
//                                             RTR, RTS, next key
//       <---- done --------------------------
//
// Keys are tried in the order in which a sequential driver issues them: index 1, 2, 3 and so on,
// all of variant 1, then of variant 2. Against random keys this order is as good as any. How B's
// driver chooses its keys is hosts.B.driver.key_allocation.
//
// What a hit is to be expected after, with the measured time of a try that missed: of N keys issued
// in sequence the one that is wanted is found after (N + 1) / 2 tries; of a space of S keys
// (2^log_keys - 1 indices of 256 variants each) that a random driver draws from, after (S + 1) / 2.
//
// Approximates: the attacker has the address from B itself; its victim is in its own protection
// domain, as that of another client of one service. A tells B that it wants to connect again over
// the control channel; a service that waits, refuses or raises an alarm would be slower.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/engine/control_path.h"
#include "scenarios/engine/endpoint.h"
#include "scenarios/engine/scenario.h"
#include "scenarios/engine/system.h"
#include "scenarios/engine/timeline.h"
#include "scenarios/engine/workload.h"

namespace rnicsim {

class RkeyGuessing : public Workload {
 public:
  static constexpr Bytes kRead{8};

  /// As PairWorkload.
  RkeyGuessing(System& system, const WorkloadSpec& spec, const Scenario& scenario,
               unsigned attacker_core, unsigned service_core, ProbeSink* observer,
               Timeline* timeline);

  bool finished() const override;
  std::vector<std::string> waiting_for() const override;
  void landed(WorkRequestId /*work_request*/, Time /*time*/) override {}
  void check_completions(std::vector<Violation>& violations) const override;
  Landed landed_at(const std::string& host) const override;
  void verify(std::vector<Violation>& violations) override;
  void report(MetricSink& sink) const override;

 private:
  void attack(CpuTask& task);
  void serve(CpuTask& task);
  void set_up(Endpoint& endpoint, CpuTask& task);
  void register_secret(CpuTask& task);
  Introduction reconnect(CpuTask& task);
  CompletionStatus attempt(CpuTask& task, const Introduction& service);
  MemoryKey guess(std::uint64_t nth) const;
  std::uint64_t indices() const { return (std::uint64_t{1} << log_keys_) - 1; }
  void report_expectations(MetricSink& sink, const std::string& path) const;

  System& system_;
  WorkloadSpec spec_;
  bool elided_;
  std::uint8_t log_keys_;
  std::uint64_t seed_;
  Timeline* timeline_;
  std::uint64_t to_track_;
  std::unique_ptr<ControlPath> control_;
  ControlChannel& to_service_;
  ControlChannel& to_attacker_;
  Endpoint attacker_;
  Endpoint service_;
  MemoryRegion secret_;
  std::uint64_t tries_ = 0;
  std::uint64_t naks_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t others_ = 0;  ///< tries that failed for another reason than a refused access
  std::optional<MemoryKey> found_;
  Time missing_;       ///< spent on tries that missed, from the READ to the next one
  Time reconnecting_;  ///< of that, from the failure on
};

}  // namespace rnicsim

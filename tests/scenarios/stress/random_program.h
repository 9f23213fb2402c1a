// SPDX-License-Identifier: MIT
// One random program: threads on two servers that post, receive, poll and now and then give a queue
// pair up, until everything has ended; then the reference model judges.
#pragma once

#include "tests/scenarios/stress/random_requests.h"
#include "tests/scenarios/stress/reference_model.h"
#include "tests/scenarios/stress/two_servers.h"

namespace rnicsim::stress {

class RandomProgram {
 public:
  explicit RandomProgram(const Settings& settings)
      : s_(settings),
        draws_(settings.seed),
        servers_(s_, draws_),
        requests_(s_, draws_),
        model_(s_) {}
  /// Throws if something else happens than verbs promise.
  void run();

 private:
  void work(CpuTask& task, Side& side);
  void post_some(CpuTask& task, Side& side);
  void post(CpuTask& task, End& end, std::uint32_t count);
  SendRequest request_of(const End& end, std::uint32_t number) const;
  void receive_some(CpuTask& task, Side& side);
  void post_receives(CpuTask& task, Receives& queue, std::uint32_t count);
  std::vector<ScatterGather> receive_list(const Receives& queue, std::uint32_t slot);
  void poll_some(CpuTask& task, Side& side);
  void take_receive(End& end, const WorkCompletion& done);
  void fail_some(CpuTask& task, Side& side);
  bool all_done() const;
  bool done(const End& end) const;
  bool drained(const End& end) const;
  static std::string describe(const Side& side);

  Settings s_;
  Draws draws_;
  TwoServers servers_;
  RandomRequests requests_;
  ReferenceModel model_;
};

}  // namespace rnicsim::stress

// SPDX-License-Identifier: MIT
// The operation "send_invalidate" on two whole hosts: windows are bound, their keys handed over,
// taken away by SENDs, and bound again.
#include <catch2/catch.hpp>
#include <string>

#include "tests/support/simulated_run.h"

using namespace rnicsim;

namespace {

struct Run : test::SimulatedRun {
  explicit Run(const std::string& members, const std::string& faults = "")
      : SimulatedRun(R"({"hosts": [{"name": "A"}, {"name": "B"}],
          "fabric": {"link": {"mtu": "4200 B", "faults": [)" +
                     faults + R"(]}}, "workload": [{"name": "w0", "from": "A", "to": "B",
          "pattern": "pairs", "operation": "send_invalidate", )" +
                     members + "}]}") {}
};

}  // namespace

TEST_CASE("Each SEND takes one key away, and each queue pair's last key is refused afterwards") {
  const Run run(R"("size": "3000 B", "count": 10, "queue_pairs": 3, "queue_depth": 2,
                   "path_mtu": "1024 B", "region": "64 KiB", "local_offset": "sequential")");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.completed") == 10);
  CHECK(run.value("workload.w0.received.succeeded") == 10);
  CHECK(run.value("workload.w0.mismatched_bytes") == 0);
  CHECK(run.value("workload.w0.windows.bound") == 10);
  CHECK(run.value("workload.w0.windows.taken") == 10);
  CHECK(run.value("workload.w0.windows.refused") == 3);
  CHECK(run.value("host.B.nic0.key_operations.binds") == 10);
  CHECK(run.value("host.B.nic0.key_operations.remote_invalidations") == 10);
  CHECK(run.value("host.B.nic0.key_checker.refused.stale_key") == 3);
  CHECK(run.value("host.B.nic0.responder.naks") == 3);
}

TEST_CASE("A queue pair without messages has no windows") {
  const Run run(R"("size": "0 B", "count": 1, "queue_pairs": 3)");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.windows.bound") == 1);
  CHECK(run.value("workload.w0.windows.taken") == 1);
  CHECK(run.value("workload.w0.windows.refused") == 1);
}

TEST_CASE("A SEND that is sent again takes its key away once") {
  const Run run(R"("size": "3000 B", "count": 8, "queue_depth": 1, "path_mtu": "1024 B",
                   "ack_timeout": 5)",
                R"({"kind": "drop", "direction": "both", "every": 7})");
  CHECK(run.result.violations.empty());
  CHECK(run.value("host.A.nic0.retransmitter.packets_again") > 0);
  CHECK(run.value("workload.w0.completed") == 8);
  CHECK(run.value("workload.w0.windows.bound") == 8);
  CHECK(run.value("host.B.nic0.key_operations.remote_invalidations") == 8);
}

TEST_CASE("When queue pairs fail, messages are flushed and no key is tried afterwards") {
  const Run run(R"("size": "100 B", "count": 12, "queue_pairs": 2, "queue_depth": 2,
                   "receive_fault": "short", "local_offset": "sequential")");
  CHECK(run.value("workload.w0.completed") == 0);
  CHECK(run.value("workload.w0.windows.taken") == 0);
  CHECK(run.value("workload.w0.windows.refused") == 0);
  for (const Violation& violation : run.result.violations)
    CHECK(violation.kind == "unsuccessful_completion");
}

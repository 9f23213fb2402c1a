// SPDX-License-Identifier: MIT
// An attacker that guesses keys, on two whole hosts.
#include "scenarios/engine/rkey_guessing.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/simulated_run.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

struct Run : test::SimulatedRun {
  explicit Run(const std::string& members, const std::string& driver = "")
      : SimulatedRun(R"({"hosts": [{"name": "A"}, {"name": "B", "driver": {)" + driver +
                     R"(}}], "workload": [{"name": "w0", "from": "A", "to": "B",
                        "pattern": "rkey_guessing", )" +
                     members + "}]}") {}
};

}  // namespace

TEST_CASE(
    "Of keys issued in sequence the last is found at its number's try, after a NAK for each") {
  const Run run(R"("tries": 20, "target_regions": 5)");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.tries") == 5);
  CHECK(run.value("workload.w0.hits") == 1);
  CHECK(run.value("workload.w0.naks") == 4);
  CHECK(run.value("host.B.nic0.responder.naks") == 4);
  // The keys were right for other regions, which lie elsewhere.
  CHECK(run.value("host.B.nic0.key_checker.refused.bounds") == 4);
  CHECK(run.value("host.A.memory.written.payload") == 8);
}

TEST_CASE("Random keys are missed, at the price of connecting again each time") {
  const Run run(R"("tries": 10, "target_regions": 5)", R"("key_allocation": "random")");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.tries") == 10);
  CHECK(run.value("workload.w0.hits") == 0);
  CHECK(run.value("workload.w0.naks") == 10);
  const double per_try = run.value("workload.w0.time_per_try");
  const double reconnecting = run.value("workload.w0.reconnecting");
  // Two messages of 10 us and the commands of both drivers, one after the other.
  CHECK(reconnecting / 10 > 20e6);
  CHECK(per_try > reconnecting / 10);
  CHECK(per_try < reconnecting / 10 + 10e6);
  const double space = 256.0 * ((1 << 18) - 1);
  CHECK(run.value("workload.w0.key_space") == space);
  CHECK(run.value("workload.w0.expected_tries.random") == (space + 1) / 2);
  CHECK(run.value("workload.w0.expected_time.random") == Approx(per_try * (space + 1) / 2));
  CHECK(run.value("workload.w0.expected_tries.sequential") == 3);
  CHECK(run.value("workload.w0.expected_time.sequential") == Approx(per_try * 3));
}

TEST_CASE("With one region the first guess is right, and no time of a miss is known") {
  const Run run(R"("target_regions": 1)");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.tries") == 1);
  CHECK(run.value("workload.w0.hits") == 1);
  CHECK(run.result.metrics.count("workload.w0.time_per_try") == 0);
}

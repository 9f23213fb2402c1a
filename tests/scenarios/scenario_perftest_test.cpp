// SPDX-License-Identifier: MIT
// The fields of the patterns "perftest" and "rkey_guessing", and what they refuse.
#include <catch2/catch.hpp>

#include "scenarios/engine/perftest_plan.h"
#include "tests/support/scenario_text.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

TEST_CASE("a perftest takes its program's defaults") {
  const auto plan = [](const std::string& members) {
    return PerftestPlan(
        read(text_of(kHosts, R"([{"name": "w0", "from": "A", "to": "B", "pattern": "perftest", )" +
                                 members + "}]"))
            .workload[0]);
  };
  const PerftestPlan write_bw = plan(R"("test": "ib_write_bw")");
  CHECK(write_bw.sizes == std::vector<Bytes>{64_KiB});
  CHECK(write_bw.iterations == 5000);
  CHECK(write_bw.tx_depth == 128);
  CHECK(write_bw.cq_moderation == 1);  // one size beyond 8 KiB
  CHECK(write_bw.inline_size == 0_B);
  CHECK_FALSE(write_bw.both_send());
  const PerftestPlan all = plan(R"("test": "ib_write_bw", "sizes": "all")");
  CHECK(all.sizes.size() == 23);
  CHECK(all.sizes.front() == 2_B);
  CHECK(all.sizes.back() == 8_MiB);
  CHECK(all.cq_moderation == 100);
  const PerftestPlan write_lat = plan(R"("test": "ib_write_lat")");
  CHECK(write_lat.sizes == std::vector<Bytes>{2_B});
  CHECK(write_lat.iterations == 1000);
  CHECK(write_lat.tx_depth == 1);
  CHECK(write_lat.cq_moderation == 1);
  CHECK(write_lat.inline_size == 220_B);
  CHECK(write_lat.both_send());
  CHECK(write_lat.trips() == 2);
  CHECK(plan(R"("test": "ib_read_lat")").trips() == 1);
  CHECK_FALSE(plan(R"("test": "ib_read_lat")").both_send());
  CHECK(plan(R"("test": "ib_send_bw")").rx_depth == 512);
  CHECK(plan(R"("test": "ib_send_bw", "iterations": 100)").tx_depth == 100);
  CHECK(plan(R"("test": "ib_send_lat", "transport": "ud")").inline_size == 188_B);
  CHECK(plan(R"("test": "ib_send_bw", "transport": "ud", "sizes": "all")").sizes.back() == 4_KiB);
  CHECK(plan(R"("test": "ib_atomic_bw", "sizes": "all")").sizes == std::vector<Bytes>{8_B});
  CHECK(plan(R"("test": "ib_write_bw", "sizes": "16 KiB", "cq_moderation": 50)").cq_moderation ==
        50);
}

TEST_CASE("the guessing of keys refuses what belongs to other patterns, and they what is its own") {
  const auto guessing_failure = [](const std::string& members) {
    return workload_failure(R"("pattern": "rkey_guessing", )" + members);
  };
  CHECK(guessing_failure(R"("count": 5)") ==
        "x.json:1: workload.0.count: belongs to the pattern \"pairs\"");
  CHECK(guessing_failure(R"("iterations": 5)") ==
        "x.json:1: workload.0.iterations: belongs to the pattern \"perftest\"");
  CHECK(guessing_failure(R"("transport": "uc")") ==
        "x.json:1: workload.0.transport: READs need \"rc\"");
  CHECK(guessing_failure(R"("queue_pairs": 2)") ==
        "x.json:1: workload.0.queue_pairs: the attacker has one queue pair");
  CHECK(workload_failure(R"("tries": 5)") ==
        "x.json:1: workload.0.tries: belongs to the pattern \"rkey_guessing\"");
  CHECK(workload_failure(R"("pattern": "perftest", "test": "ib_write_bw", "target_regions": 5)") ==
        "x.json:1: workload.0.target_regions: belongs to the pattern \"rkey_guessing\"");
}

TEST_CASE("a perftest refuses what its program does not have") {
  const auto perftest_failure = [](const std::string& members) {
    return workload_failure(R"("pattern": "perftest", )" + members);
  };
  CHECK(perftest_failure(R"("tx_depth": 1)") ==
        "x.json:1: workload.0.test: the pattern \"perftest\" needs the name of a program, such as "
        "\"ib_write_bw\"");
  CHECK(perftest_failure(R"("test": "ib_write_bw", "size": "8 B")") ==
        "x.json:1: workload.0.size: belongs to the pattern \"pairs\"");
  CHECK(workload_failure(R"("test": "ib_write_bw")") ==
        "x.json:1: workload.0.test: belongs to the pattern \"perftest\"");
  CHECK(workload_failure(R"("sizes": "all")") ==
        "x.json:1: workload.0.sizes: belongs to the pattern \"perftest\"");
  CHECK(perftest_failure(R"("test": "ib_read_bw", "transport": "uc")") ==
        "x.json:1: workload.0.transport: ib_read_bw does not run over \"uc\"");
  CHECK(perftest_failure(R"("test": "ib_write_lat", "queue_pairs": 2)") ==
        "x.json:1: workload.0.queue_pairs: a program that measures latency has one queue pair");
  CHECK(perftest_failure(R"("test": "ib_write_lat", "tx_depth": 2)") ==
        "x.json:1: workload.0.tx_depth: belongs to programs that measure bandwidth");
  CHECK(perftest_failure(R"("test": "ib_read_bw", "inline_size": "64 B")") ==
        "x.json:1: workload.0.inline_size: READs and atomics have no data to send");
  CHECK(perftest_failure(R"("test": "ib_write_bw", "sizes": ["8 B", "8 B"])") ==
        "x.json:1: workload.0.sizes.1: 8 B stands in the list twice");
  CHECK(perftest_failure(R"("test": "ib_write_bw", "sizes": [])") ==
        "x.json:1: workload.0.sizes: an empty list");
  CHECK(perftest_failure(R"("test": "ib_write_bw", "sizes": "8")").find("workload.0.sizes") !=
        std::string::npos);
  CHECK(perftest_failure(R"("test": "ib_atomic_bw", "sizes": "16 B")") ==
        "x.json:1: workload.0.sizes: an atomic operates on 8 B");
}

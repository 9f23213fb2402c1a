// SPDX-License-Identifier: MIT
// Lists of requests, memory in several regions, spaced messages and registration as workloads.
#include <catch2/catch.hpp>
#include <string>

#include "model/json_document.h"
#include "scenarios/engine/runner.h"
#include "scenarios/engine/scenario_reader.h"
#include "tests/support/scenario_text.h"

using namespace rnicsim;
using namespace rnicsim::test;

namespace {

RunResult run(const std::string& fields) {
  PresetDirectories presets({"scenarios/presets"});
  const std::string text =
      R"({"hosts": [{"name": "A"}, {"name": "B"}], "fabric": {"link": {"mtu": "4200 B"}},
      "workload": [{"name": "w0", "from": "A", )" +
      fields + "}]}";
  const Scenario scenario = read_scenario(parse_json(text, "x.json"), {}, presets);
  RunnerOptions options;
  options.simulate = [](const Scenario& one, const SimulationHooks& hooks) {
    return simulate(one, hooks);
  };
  return run_simulations({{"one", &scenario}}, options).front();
}

std::uint64_t value(const RunResult& result, const std::string& path) {
  return static_cast<std::uint64_t>(result.metrics.at(path).value);
}

}  // namespace

TEST_CASE("messages go round robin over the queue pairs, a list at a time") {
  WorkloadSpec spec;
  spec.queue_pairs = 3;
  spec.post_list = 4;
  spec.count = 30;
  for (std::uint64_t number = 0; number < spec.count; ++number)
    CHECK(spec.number_of(spec.queue_pair_of(number), spec.nth_of(number)) == number);
  CHECK(spec.queue_pair_of(3) == 0);
  CHECK(spec.queue_pair_of(4) == 1);
  CHECK(spec.nth_of(12) == 4);
  CHECK(spec.count_of(0) == 12);
  CHECK(spec.count_of(1) == 10);
  CHECK(spec.count_of(2) == 8);
}

TEST_CASE("a list of requests rings once, and all of it arrives where it should") {
  const RunResult result = run(
      R"("to": "B", "pattern": "pairs", "operation": "write", "size": "64 B", "count": 22,
      "queue_pairs": 2, "queue_depth": 8, "post_list": 4, "signal_every": 2, "region": "8 KiB",
      "remote_offset": "sequential", "local_offset": "sequential")");
  CHECK(result.violations.empty());
  CHECK(value(result, "workload.w0.completed") == 22);
  CHECK(value(result, "workload.w0.mismatched_bytes") == 0);
  // Lists of 4, 4, 4, 4, 4 and 2.
  CHECK(value(result, "host.A.nic0.doorbell.rung") == 6);
}

TEST_CASE("receives of lists get the messages of their own queue pair") {
  const RunResult result = run(
      R"("to": "B", "pattern": "pairs", "operation": "send_imm", "size": "64 B", "count": 22,
      "queue_pairs": 2, "queue_depth": 8, "post_list": 4, "region": "8 KiB",
      "remote_offset": "sequential", "local_offset": "sequential")");
  CHECK(result.violations.empty());
  CHECK(value(result, "workload.w0.received.succeeded") == 22);
  CHECK(value(result, "workload.w0.mismatched_bytes") == 0);
}

TEST_CASE("memory in several regions is reached by the key of each") {
  const RunResult result = run(
      R"("to": "B", "pattern": "pairs", "operation": "write", "size": "64 B", "count": 64,
      "region": "4 KiB", "regions": 7, "remote_offset": "sequential",
      "local_offset": "sequential")");
  CHECK(result.violations.empty());
  CHECK(value(result, "workload.w0.completed") == 64);
  CHECK(value(result, "workload.w0.mismatched_bytes") == 0);
  CHECK(value(result, "host.B.nic0.driver.regions") == 7);
  CHECK(value(result, "host.B.nic0.key_cache.fetches") == 7);
}

TEST_CASE("spaced messages touch a page each") {
  const RunResult result = run(
      R"("to": "B", "pattern": "pairs", "operation": "read", "size": "64 B", "count": 16,
      "region": "64 KiB", "spacing": "4 KiB", "remote_offset": "sequential",
      "local_offset": "sequential")");
  CHECK(result.violations.empty());
  CHECK(value(result, "workload.w0.mismatched_bytes") == 0);
  CHECK(value(result, "host.B.nic0.translation_cache.walks") == 2);  // 16 pages, 8 a line
}

TEST_CASE("a message of up to 32 B is received in its completion entry") {
  const std::string fields =
      R"("to": "B", "pattern": "pairs", "operation": "send", "size": "32 B", "count": 4)";
  const RunResult plain = run(fields);
  const RunResult inlined = run(fields + R"(, "inline_receive": true)");
  CHECK(inlined.violations.empty());
  CHECK(value(inlined, "workload.w0.mismatched_bytes") == 0);
  CHECK(value(plain, "host.B.nic0.pcie.upstream.tlps_posted") ==
        value(inlined, "host.B.nic0.pcie.upstream.tlps_posted") + 4);
}

TEST_CASE("a datagram that fits a completion entry only without its GRH is received in memory") {
  const RunResult result = run(
      R"("to": "B", "pattern": "pairs", "operation": "send", "transport": "ud", "size": "16 B",
      "count": 9, "path_mtu": "1024 B", "inline_receive": true)");
  CHECK(result.violations.empty());
  CHECK(value(result, "workload.w0.received.succeeded") == 9);
}

TEST_CASE("registration costs its fixed part and so much for each page") {
  const auto time = [](const char* size) {
    return value(
        run(R"("pattern": "registration", "count": 3, "size": ")" + std::string(size) + '"'),
        "workload.w0.registration.mean");
  };
  // 860 cycles at 3.5 GHz for each further page; the CPU looks every 70 cycles whether the command
  // is done.
  const std::uint64_t more = time("404 KiB") - time("4 KiB");
  CHECK(more > (100 * 860 - 70) * 2000 / 7);
  CHECK(more < (100 * 860 + 70) * 2000 / 7);
}

TEST_CASE("what lists, regions and registrations cannot be is said") {
  CHECK(workload_failure(R"("post_list": 200)").find("post_list") != std::string::npos);
  CHECK(workload_failure(R"("spacing": "1 KiB", "size": "2 KiB")").find("spacing") !=
        std::string::npos);
  CHECK(workload_failure(R"("regions": 3, "size": "64 B", "region": "128 B")")
            .find("each must hold at least one message") != std::string::npos);
  CHECK(workload_failure(R"("regions": 2, "region": "1 MiB", "fault": "beyond")")
            .find("falsified accesses are to one region") != std::string::npos);
  CHECK(workload_failure(R"("pattern": "registration")").find("has no other end") !=
        std::string::npos);
}

TEST_CASE("a registration has no keys of traffic") {
  for (const char* key : {R"("from_memory": "gpu0")", R"("transport": "ud")", R"("dscp": 1)",
                          R"("queue_depth": 5)", R"("operation": "write")"}) {
    const std::string members =
        R"({"hosts": [{"name": "A", "nic": {}}], "fabric": {"topology": "star"},
        "workload": [{"name": "w0", "pattern": "registration", "from": "A", )" +
        std::string(key) + "}]}";
    CHECK(failure(members).find("does not belong to the pattern \"registration\"") !=
          std::string::npos);
  }
}

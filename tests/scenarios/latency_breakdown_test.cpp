// SPDX-License-Identifier: MIT
#include "scenarios/engine/latency_breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "scenarios/engine/latency_json.h"
#include "scenarios/engine/run_json.h"
#include "tests/support/own_process.h"
#include "tests/support/simulated_run.h"

using namespace rnicsim;

namespace {

SimulationHooks with_latency() {
  SimulationHooks hooks;
  hooks.latency = true;
  return hooks;
}

std::string text_of_scenario(const char* name) {
  std::ifstream file(fmt::format("scenarios/{}.json", name));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Two hosts, cable between them; members of the workload and of both NICs beside the preset.
std::string two_hosts(const std::string& workload, const std::string& nic = "") {
  const auto host = [&](const char* name) {
    return fmt::format(
        R"({{"name": "{}", "preset": "xeon_2015", "nic": {{"preset": "rnic_100g"{}}}}})", name,
        nic.empty() ? "" : ", " + nic);
  };
  return fmt::format(
      R"({{"hosts": [{}, {}], "workload": [{{"name": "w0", "from": "A", "to": "B", {}}}]}})",
      host("A"), host("B"), workload);
}

/// The breakdown of the only workload.
struct Broken : test::SimulatedRun {
  explicit Broken(const std::string& text) : SimulatedRun(text, with_latency()) {
    REQUIRE(result.violations.empty());
    REQUIRE(result.latency.size() == 1);
    latency = result.latency.front();
    for (const std::vector<MessageTimes>* list : {&latency.ranked, &latency.shown})
      for (const MessageTimes& message : *list) adds_up(message);
  }
  static void adds_up(const MessageTimes& message) {
    Time sum;
    for (const Time time : message.stages) sum += time;
    CHECK(sum == message.whole());
    Time end = message.begin;
    for (const StagePiece& piece : message.pieces) {
      CHECK(piece.begin == end);
      end = piece.end;
    }
    if (!message.pieces.empty()) CHECK(end == message.end);
  }
  const StageSpread& stage(Stage which) const {
    return latency.stages[static_cast<std::size_t>(which)];
  }
  /// Where most of the time went.
  std::string most() const {
    const auto* const most = std::max_element(
        latency.stages.begin(), latency.stages.end(),
        [](const StageSpread& a, const StageSpread& b) { return a.share < b.share; });
    return name_of(static_cast<Stage>(most - latency.stages.begin()));
  }
  WorkloadLatency latency;
};

/// A line a stage, in picoseconds.
std::vector<std::string> stages(const MessageTimes& message) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < kStages; ++i)
    if (message.stages[i] != Time())
      all.push_back(fmt::format("{} {}", name_of(static_cast<Stage>(i)), message.stages[i].ps()));
  return all;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("every picosecond of a WRITE of 64 KiB goes to one stage, from its post to its poll") {
  const Broken run(text_of_scenario("write_8step"));
  REQUIRE(run.latency.shown.size() == 1);
  const MessageTimes& message = run.latency.shown.front();
  CHECK(stages(message) == Lines{"posting 32000", "doorbell 219239", "wqe_fetch 512600",
                                 "turn 189900", "translation_miss 1057500", "dma_read 817402",
                                 "tx_pipeline 20098", "serialisation 5348160", "propagation 15000",
                                 "rx_pipeline 206840", "key_check 10000", "dma_write 850134",
                                 "ack 94866", "cqe 532600", "polling 295661"});
  CHECK(message.bytes == 65536);
  Time begin;
  Time end;
  for (const TimelineRecord& r : run.result.timeline) {
    if (r.part == "descriptor") begin = r.begin;
    if (r.part == "polled") end = r.end;
  }
  CHECK(message.begin == begin);
  CHECK(message.end == end);
  CHECK(run.latency.whole.p50 == message.whole());
  CHECK(run.latency.left_out == 0);
}

TEST_CASE("a result brings its breakdown along from the simulation's process") {
  const Broken run(two_hosts(R"("size": "4 KiB", "count": 20)"));
  const RunResult copy = run_from_text(run_to_text(run.result));
  CHECK(run.latency.messages == 20);
  CHECK(run.latency.shown.size() == 1);
  CHECK(latency_to_json(copy.latency) == latency_to_json(run.result.latency));
}

TEST_CASE("who looks where the time goes changes no time") {
  const std::string scenario =
      two_hosts(R"("size": "4 KiB", "count": 200, "queue_depth": 16, "queue_pairs": 4)");
  const auto result_of = [&](const SimulationHooks& hooks) {
    const test::SimulatedRun run(scenario, hooks);
    return fmt::format("{} {}", run.result.end.ps(), metrics_to_json(run.result.metrics).dump());
  };
  const std::string without = test::in_own_process([&] { return result_of({}); });
  CHECK(result_of(with_latency()) == without);
}

TEST_CASE("where translations miss, that is where most of the time goes") {
  const Broken run(text_of_scenario("translation_misses"));
  CHECK(run.most() == "translation_miss");
  CHECK(run.stage(Stage::kTranslationMiss).share > 0.5);
  CHECK(run.latency.messages == 20000);
}

TEST_CASE("where contexts miss, that is where most of the time goes") {
  const Broken run(two_hosts(R"("size": "64 B", "count": 400, "queue_pairs": 64, "queue_depth": 1)",
                             R"("qp_context_cache": {"entries": 8})"));
  CHECK(run.most() == "context_miss");
  CHECK(run.stage(Stage::kContextMiss).messages == run.latency.messages);
}

TEST_CASE("where contexts are in the cache, none is missed but the first ones") {
  const Broken run(
      two_hosts(R"("size": "64 B", "count": 400, "queue_pairs": 4, "queue_depth": 1)"));
  CHECK(run.stage(Stage::kContextMiss).messages <= 4);
}

TEST_CASE("where a switch's port is shared by eight and nobody is paused, its queue takes most") {
  const Broken run(R"({
    "hosts": [{"name": "h", "count": 9, "preset": "xeon_2015", "nic": {"preset": "rnic_100g"}}],
    "fabric": {"topology": "star"},
    "workload": [{"name": "w0", "pattern": "incast", "to": "h0", "size": "32 KiB"}]})");
  CHECK(run.most() == "switch_queue");
  CHECK(run.stage(Stage::kPause).messages == 0);
}

TEST_CASE("where that port has much more to send, its senders are paused, and that takes most") {
  const Broken run(text_of_scenario("incast"));
  CHECK(run.most() == "pause");
  CHECK(run.stage(Stage::kPause).share > 0.4);
  CHECK(run.stage(Stage::kSwitchQueue).messages == run.latency.messages);
  CHECK(run.latency.messages == 32);
}

TEST_CASE(
    "where the receiver's PCIe cannot keep up, packets wait in its NIC, which is not at fault") {
  const Broken run(text_of_scenario("pcie_bottleneck"));
  CHECK(run.most() == "rx_queue");
  CHECK(run.stage(Stage::kRxQueue).share > 0.5);
  CHECK(run.stage(Stage::kRxPipeline).max < Time::us(1));
}

TEST_CASE("of a READ the answers' way follows the request's, and there is no acknowledgement") {
  const Broken run(two_hosts(R"("size": "4 KiB", "count": 1, "operation": "read")"));
  CHECK(stages(run.latency.shown.front()) ==
        Lines{"posting 32000", "doorbell 219068", "wqe_fetch 512600", "turn 244900",
              "translation_miss 1530000", "dma_read 817402", "tx_pipeline 20000",
              "serialisation 340480", "propagation 30000", "rx_pipeline 257118", "key_check 327500",
              "dma_write 315216", "cqe 534884", "polling 290832"});
}

TEST_CASE("of an atomic the answer is what comes back") {
  const Broken run(two_hosts(R"("size": "8 B", "count": 1, "operation": "fetch_add")"));
  CHECK(stages(run.latency.shown.front()) ==
        Lines{"posting 32000", "doorbell 219068", "wqe_fetch 512600", "turn 189900",
              "tx_pipeline 20000", "serialisation 7840", "propagation 15000", "rx_pipeline 207160",
              "key_check 1332500", "dma_write 1092252", "ack 72500", "cqe 532848",
              "polling 288332"});
}

TEST_CASE("who writes unreliably waits for nothing beyond its port") {
  const Broken run(two_hosts(R"("size": "4 KiB", "count": 1, "transport": "uc")"));
  CHECK(stages(run.latency.shown.front()) ==
        Lines{"posting 32000", "doorbell 219068", "wqe_fetch 512600", "turn 189900",
              "translation_miss 1057500", "dma_read 817402", "tx_pipeline 20098", "cqe 532600",
              "polling 290832"});
}

TEST_CASE("a work request without an entry of its own ends with that of a later one") {
  const Broken run(two_hosts(R"("size": "4 KiB", "count": 32, "signal_every": 8,
                                "queue_depth": 16)"));
  CHECK(run.latency.messages == 32);
  CHECK(run.latency.left_out == 0);
  CHECK(run.stage(Stage::kPolling).messages == 32);
  CHECK(run.stage(Stage::kCqe).messages == 4);
}

TEST_CASE("of a message that is lost, the time until it is sent again is a stage") {
  const Broken run(
      two_hosts(R"("size": "4 KiB", "count": 8, "path_mtu": "4096 B", "queue_depth": 1)")
          .insert(1, R"("fabric": {"link": {"mtu": "4200 B", "faults": [
              {"kind": "drop", "direction": "forward", "every": 8}]}}, )"));
  CHECK(run.most() == "sent_again");
  CHECK(run.stage(Stage::kSentAgain).messages == 1);
  CHECK(run.stage(Stage::kSentAgain).max > Time::ms(60));  // ack_timeout
}

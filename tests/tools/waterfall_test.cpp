// SPDX-License-Identifier: MIT
#include "tools/export/waterfall.h"

#include <catch2/catch.hpp>

using namespace rnicsim;

namespace {

constexpr Time ns(std::int64_t n) { return Time::ns(n); }

TimelineRecord record(std::uint64_t message, int step, const char* part, Time begin, Time end) {
  TimelineRecord r;
  r.step = step;
  r.part = part;
  r.begin = r.last_begin = begin;
  r.end = r.first_end = end;
  r.plane = "data";
  r.work_request = message;
  return r;
}

TimelineRecord many(TimelineRecord r, Time first_end) {
  r.count = 4;
  r.first_end = first_end;
  return r;
}

/// A message that begins at `start` and waits that much longer for its first packet.
std::vector<TimelineRecord> a_message(std::uint64_t id, Time start, Time wait) {
  const Time s = start + wait;
  return {record(id, 4, "descriptor", start, start + ns(100)),
          many(record(id, 6, "packets", s + ns(300), s + ns(900)), s + ns(400)),
          many(record(id, 8, "DMA write", s + ns(500), s + ns(1000)), s + ns(600)),
          record(id, 9, "ACK", s + ns(950), s + ns(980)),
          record(id, 9, "polled", s + ns(1050), s + ns(1050))};
}

std::vector<Waterfall> of_timeline(const std::vector<TimelineRecord>& timeline) {
  RunResult result;
  result.timeline = timeline;
  return waterfalls(result, Language::kEnglish);
}

std::vector<std::string> keys(const Waterfall& message) {
  std::vector<std::string> all;
  for (const WaterfallStage& stage : message.stages) all.push_back(stage.key);
  return all;
}

std::vector<std::int64_t> takes(const Waterfall& message) {
  std::vector<std::int64_t> all;
  for (const WaterfallStage& stage : message.stages) all.push_back(stage.takes().ps() / 1000);
  return all;
}

}  // namespace

TEST_CASE("stages follow each other without a gap, of many packets the first and then the rest") {
  const std::vector<Waterfall> all = of_timeline(a_message(7, ns(50), ns(0)));
  REQUIRE(all.size() == 1);
  CHECK(all[0].work_request == 7);
  CHECK(keys(all[0]) == std::vector<std::string>{"4 descriptor", "to 6 packets", "6 packets",
                                                 "to 8 DMA write", "8 DMA write", "stream", "9 ACK",
                                                 "to 9 polled"});
  CHECK(takes(all[0]) == std::vector<std::int64_t>{100, 200, 100, 100, 100, 350, 30, 70});
  for (std::size_t i = 1; i < all[0].stages.size(); ++i)
    CHECK(all[0].stages[i].begin == all[0].stages[i - 1].end);
  CHECK(all[0].stages.front().begin == ns(50));
  CHECK(all[0].stages.back().end == ns(1100));
}

TEST_CASE("a stage ends where the next one begins") {
  std::vector<TimelineRecord> message = a_message(7, ns(0), ns(0));
  message.push_back(record(7, 7, "translation", ns(350), ns(700)));
  const Waterfall only = of_timeline(message).at(0);
  CHECK(only.stages[2].key == "6 packets");
  CHECK(only.stages[2].takes() == ns(50));
  CHECK(only.stages[3].key == "7 translation");
  CHECK(only.stages[3].takes() == ns(150));
  CHECK(only.stages[4].key == "8 DMA write");
}

TEST_CASE(
    "of a last record that stands for many the first and the last count, not what lies between") {
  TimelineRecord copy = many(record(7, 9, "copy", ns(100), ns(900)), ns(150));
  copy.last_begin = ns(860);
  TimelineRecord back = many(record(7, 9, "return", ns(150), ns(1000)), ns(180));
  back.last_begin = ns(920);
  const Waterfall only = of_timeline({record(7, 4, "copy", ns(0), ns(100)), copy, back}).at(0);
  CHECK(keys(only) ==
        std::vector<std::string>{"4 copy", "9 copy", "9 return", "stream", "9 return"});
  CHECK(takes(only) == std::vector<std::int64_t>{100, 50, 30, 740, 80});

  back.last_begin = ns(170);  // they overlap
  CHECK(takes(of_timeline({copy, back}).at(0)) == std::vector<std::int64_t>{50, 850});

  copy.end = ns(1100);  // of all it ends last
  const Waterfall other = of_timeline({copy, back}).at(0);
  CHECK(keys(other) == std::vector<std::string>{"9 copy", "9 return", "stream", "9 copy"});
  CHECK(takes(other) == std::vector<std::int64_t>{50, 30, 680, 240});
}

TEST_CASE("percentiles of a stage are over all messages") {
  std::vector<TimelineRecord> timeline;
  for (int i = 0; i < 10; ++i)
    for (TimelineRecord& r : a_message(i + 1, Time::us(10 * i), ns(10 * i)))
      timeline.push_back(std::move(r));
  RunResult result;
  result.timeline = timeline;
  const std::vector<Spread> all = spreads(result, Language::kEnglish);
  REQUIRE(all.size() == 1);
  CHECK(all[0].workload.empty());
  CHECK(all[0].messages == 10);
  CHECK(all[0].ranked.empty());
  const std::vector<StageRow>& times = all[0].rows;
  REQUIRE(times.size() == 8);
  CHECK(times[1].name == "on its way to: request packets");
  CHECK(times[1].messages == 10);
  CHECK(times[1].p50 == ns(240));
  CHECK(times[1].p90 == ns(280));
  CHECK(times[1].p99 == ns(290));
  CHECK(times[1].max == ns(290));
  CHECK(times[1].mean == ns(245));
  CHECK(times[1].share == Approx(2450.0 / 10950));
  CHECK(times[2].max == ns(100));
  CHECK(all[0].whole.name == "the whole message");
  CHECK(all[0].whole.p50 == ns(1090));
}

TEST_CASE("faults and the control plane are no part of a message's time") {
  std::vector<TimelineRecord> timeline = a_message(7, ns(50), ns(0));
  timeline.push_back(record(0, 0, "fault", ns(2000), ns(2000)));
  timeline.push_back(record(0, 2, "pin", ns(0), ns(10)));
  timeline.back().plane = "control";
  const std::vector<Waterfall> all = of_timeline(timeline);
  REQUIRE(all.size() == 1);
  CHECK(all[0].stages.size() == 8);
  CHECK(waterfalls({}, Language::kEnglish).empty());
  CHECK(spreads({}, Language::kEnglish).empty());
}

TEST_CASE("a message that was followed has the stages that were found, others their records") {
  RunResult result;
  result.timeline = a_message(8, ns(50), ns(0));
  for (TimelineRecord& r : a_message(7, ns(10), ns(0))) result.timeline.push_back(std::move(r));
  WorkloadLatency& latency = result.latency.emplace_back();
  latency.workload = "w0";
  latency.messages = 1;
  MessageTimes& message = latency.shown.emplace_back();
  message.work_request = 7;
  message.begin = ns(10);
  message.end = ns(110);
  message.pieces = {{Stage::kPosting, ns(10), ns(30)}, {Stage::kDoorbell, ns(30), ns(110)}};
  latency.whole = {1, ns(100), ns(100), ns(100), ns(100), ns(100), 1};
  latency.stages[static_cast<std::size_t>(Stage::kDoorbell)] = {1,      ns(80), ns(80), ns(80),
                                                                ns(80), ns(80), 0.8};
  message.stages[static_cast<std::size_t>(Stage::kPosting)] = ns(20);
  message.stages[static_cast<std::size_t>(Stage::kDoorbell)] = ns(80);
  latency.ranked.push_back(message);

  const std::vector<Waterfall> all = waterfalls(result, Language::kEnglish);
  REQUIRE(all.size() == 2);
  CHECK(all[0].workload == "w0");
  CHECK(keys(all[0]) == std::vector<std::string>{"posting", "doorbell"});
  CHECK(takes(all[0]) == std::vector<std::int64_t>{20, 80});
  CHECK(all[1].work_request == 8);
  CHECK(all[1].stages.size() == 8);
  const std::vector<Spread> over = spreads(result, Language::kJapanese);
  REQUIRE(over.size() == 2);
  REQUIRE(over[0].rows.size() == 1);
  CHECK(over[0].rows[0].name == "ドアベル");
  CHECK(over[0].rows[0].share == 0.8);
  REQUIRE(over[0].ranked.size() == 1);
  CHECK(takes(over[0].ranked[0]) == std::vector<std::int64_t>{20, 80});
  CHECK(over[1].messages == 1);
}

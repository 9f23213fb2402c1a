// SPDX-License-Identifier: MIT
#include "tools/export/perfetto.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace rnicsim;
using Json = nlohmann::json;

namespace {

constexpr Time ns(std::int64_t n) { return Time::ns(n); }

TimelineRecord record(int step, const char* part, const char* host, const char* lane,
                      const char* block, Time begin, Time end) {
  TimelineRecord r;
  r.step = step;
  r.part = part;
  r.host = host;
  r.lane = lane;
  r.block = block;
  r.begin = begin;
  r.end = end;
  r.plane = "data";
  r.work_request = 7;
  return r;
}

JudgedRun a_run() {
  JudgedRun run;
  run.setup.hosts.resize(2);
  run.setup.hosts[0].name = "A";
  run.setup.hosts[1].name = "B";
  run.result.timeline = {
      record(8, "DMA write", "B", "nic", "responder", ns(300), ns(400)),
      record(4, "descriptor", "A", "cpu", "verbs", ns(100), ns(150)),
      record(6, "packets", "A-B", "wire", "port", ns(200), Time::ps(350'500)),
  };
  return run;
}

Json events(const JudgedRun& run, const std::string& kind) {
  Json chosen = Json::array();
  const Json trace = Json::parse(perfetto_trace(run));
  for (const Json& event : trace.at("traceEvents"))
    if (event.at("ph") == kind) chosen.push_back(event);
  return chosen;
}

std::vector<std::string> names_of(const JudgedRun& run, const std::string& what) {
  std::vector<std::string> names;
  for (const Json& event : events(run, "M"))
    if (event.at("name") == what) names.push_back(event.at("args").at("name"));
  return names;
}

}  // namespace

TEST_CASE("a record is a slice on the track of its block, in the process of its host") {
  const Json slices = events(a_run(), "X");
  REQUIRE(slices.size() == 3);
  CHECK(slices[0].at("name") == "writes the descriptor (WQE)");
  CHECK(slices[1].at("ts") == 0.2);
  CHECK(slices[1].at("dur") == 0.1505);
  CHECK(slices[1].at("args").at("way") == "A-B");
  CHECK(names_of(a_run(), "process_name") == std::vector<std::string>{"wire", "A", "B"});
  CHECK(names_of(a_run(), "thread_name") ==
        std::vector<std::string>{"cpu verbs", "wire port", "nic responder"});
  CHECK(slices[0].at("pid") == 2);
  CHECK(slices[1].at("pid") == 1);
  CHECK(slices[2].at("pid") == 3);
}

TEST_CASE("a flow links the slices of one message in the order of their begin") {
  const JudgedRun run = a_run();
  const Json slices = events(run, "X");
  const Json first = events(run, "s");
  const Json between = events(run, "t");
  const Json last = events(run, "f");
  REQUIRE(first.size() == 1);
  REQUIRE(between.size() == 1);
  REQUIRE(last.size() == 1);
  CHECK(first[0].at("id") == last[0].at("id"));
  CHECK(first[0].at("tid") == slices[0].at("tid"));
  CHECK(between[0].at("ts") == slices[1].at("ts"));
  CHECK(last[0].at("tid") == slices[2].at("tid"));
}

TEST_CASE("what overlaps in a block stands on a second track of it") {
  JudgedRun run = a_run();
  run.result.timeline.push_back(record(8, "DMA write", "B", "nic", "responder", ns(350), ns(450)));
  run.result.timeline.push_back(record(8, "DMA write", "B", "nic", "responder", ns(400), ns(500)));
  const Json slices = events(run, "X");
  REQUIRE(slices.size() == 5);
  CHECK(slices[3].at("tid") != slices[2].at("tid"));
  CHECK(slices[4].at("tid") == slices[2].at("tid"));
  CHECK(names_of(run, "thread_name").back() == "nic responder (2)");
}

TEST_CASE("ports that were stopped are counted over time") {
  JudgedRun run = a_run();
  CHECK(events(run, "C").empty());
  PauseRecord pause;
  pause.when = ns(10);
  pause.paused = true;
  run.result.pauses = {pause, pause, pause};
  run.result.pauses[2].when = ns(30);
  run.result.pauses[2].paused = false;
  const Json counters = events(run, "C");
  REQUIRE(counters.size() == 3);
  CHECK(counters[1].at("args").at("stopped") == 2);
  CHECK(counters[2].at("ts") == 0.03);
  CHECK(counters[2].at("args").at("stopped") == 1);
}

TEST_CASE("a signal is a counter of its host or of the wire, told when it changes") {
  JudgedRun run = a_run();
  TimeSeries& series = run.result.series;
  series.interval = ns(10);
  series.end = ns(35);
  series.columns = {
      {"host.B.nic0.port.receive_buffer", SignalKind::kLevel, Unit::kBytes, 0, "", {5, 5, 0, 7}},
      {"fabric.switch0.port1.tx_bytes", SignalKind::kTotal, Unit::kBytes, 0, "", {0, 10, 10, 10}},
      {"host.A.nic0.port.tx_queued", SignalKind::kLevel, Unit::kCount, 0, "", {}}};
  std::vector<std::string> lines;
  for (const Json& event : events(run, "C"))
    lines.push_back(event.at("name").get<std::string>() + " " + event.at("pid").dump() + " " +
                    event.at("ts").dump() + " " +
                    fmt::format("{:g}", event.at("args").at("value").get<double>()));
  CHECK(lines == std::vector<std::string>{"nic0.port.receive_buffer [B] 3 0.0 5",
                                          "nic0.port.receive_buffer [B] 3 0.02 0",
                                          "nic0.port.receive_buffer [B] 3 0.03 7",
                                          "fabric.switch0.port1.tx_bytes [b/s] 1 0.0 0",
                                          "fabric.switch0.port1.tx_bytes [b/s] 1 0.01 8e+09",
                                          "fabric.switch0.port1.tx_bytes [b/s] 1 0.03 1.6e+10"});
}

// SPDX-License-Identifier: MIT
#include "tools/export/swim_lanes.h"

#include <catch2/catch.hpp>

using namespace rnicsim;

namespace {

constexpr Time ns(std::int64_t n) { return Time::ns(n); }

TimelineRecord record(int step, const char* part, const char* host, const char* lane, Time begin,
                      Time end) {
  TimelineRecord r;
  r.step = step;
  r.part = part;
  r.host = host;
  r.lane = lane;
  r.begin = r.last_begin = begin;
  r.end = r.first_end = end;
  r.plane = step >= 1 && step <= 3 ? "control" : "data";
  r.work_request = step >= 4 ? 7 : 0;
  r.text = "in full";
  return r;
}

/// Its phases take as many nanoseconds as their time axes have pixels.
JudgedRun a_run() {
  JudgedRun run;
  run.scenario = "x";
  run.setup.title = "a <title> & more";
  WorkloadSpec workload;
  workload.from = "A";
  workload.to = "B";
  run.setup.workload.push_back(workload);
  TimelineRecord packets = record(6, "packets", "A-B", "wire", ns(10400), ns(11000));
  packets.count = 4;
  packets.first_end = ns(10500);
  packets.last_begin = ns(10900);
  packets.bytes = 4096;
  run.result.timeline = {record(1, "start", "A", "app", ns(0), ns(0)),
                         record(2, "pin", "A", "cpu", ns(0), ns(1144)),
                         record(4, "descriptor", "A", "cpu", ns(10000), ns(10100)), packets,
                         record(8, "DMA write", "B", "nic", ns(10600), ns(11144))};
  run.result.metrics["host.B.cpu.data.busy"].unit = Unit::kPicoseconds;
  return run;
}

struct Place {
  int y;
  int height;
};
bool operator==(const Place& a, const Place& b) { return a.y == b.y && a.height == b.height; }
std::ostream& operator<<(std::ostream& out, const Place& p) {
  return out << p.y << '+' << p.height;
}

std::vector<Place> places(const SwimPhase& phase) {
  std::vector<Place> all;
  for (const SwimLane& lane : phase.lanes) all.push_back({lane.y, lane.height});
  return all;
}

std::vector<std::string> names(const SwimPhase& phase) {
  std::vector<std::string> all;
  for (const SwimLane& lane : phase.lanes) all.push_back(lane.name);
  return all;
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("the control plane and a message stand below each other in seven lanes each") {
  const SwimLanes picture = swim_lanes(a_run(), Language::kEnglish);
  REQUIRE(picture.phases.size() == 2);
  const SwimPhase& control = picture.phases[0];
  const SwimPhase& data = picture.phases[1];
  CHECK(control.control);
  CHECK_FALSE(data.control);
  for (const SwimPhase& phase : picture.phases)
    CHECK(names(phase) ==
          std::vector<std::string>{"A app", "A CPU", "A NIC", "wire", "B NIC", "B CPU", "B app"});
  CHECK(control.y == 84);
  CHECK(places(control) ==
        std::vector<Place>{
            {140, 32}, {172, 32}, {204, 26}, {230, 26}, {256, 26}, {282, 26}, {308, 26}});
  CHECK(control.axis_y == 334);
  CHECK(data.y == 386);
  CHECK(places(data) ==
        std::vector<Place>{
            {442, 26}, {468, 32}, {500, 26}, {526, 32}, {558, 32}, {590, 26}, {616, 26}});
  CHECK(data.axis_y == 642);
  CHECK(picture.height == 694);
  CHECK(control.span == "begins at 0 ns, takes 1.144 µs");
  CHECK(data.span == "begins at 10 µs, takes 1.144 µs");
}

TEST_CASE("a bar reaches from begin to end on the time axis of its phase") {
  const SwimLanes picture = swim_lanes(a_run(), Language::kEnglish);
  const SwimBar& start = picture.phases[0].lanes[0].bars.at(0);
  CHECK(start.x == 112);
  CHECK(start.width == 3);  // of a moment
  const SwimBar& pin = picture.phases[0].lanes[1].bars.at(0);
  CHECK(pin.x == 112);
  CHECK(pin.width == 1144);
  CHECK(pin.y == 180);
  CHECK(pin.label == "pins every page · 1.144 µs");
  const SwimBar& packets = picture.phases[1].lanes[3].bars.at(0);
  CHECK(packets.x == 512);
  CHECK(packets.width == 600);
  CHECK(packets.y == 534);
  CHECK(packets.first_end == 612);
  CHECK(packets.last_begin == 1012);
  CHECK(packets.label == "request packets ×4 · 4 KiB · 600 ns");
  CHECK(packets.place == LabelPlace::kInside);
  CHECK(picture.phases[1].lanes[1].bars.at(0).place == LabelPlace::kRight);
}

TEST_CASE("a label that has no room right of its bar goes to the left") {
  JudgedRun run = a_run();
  run.result.timeline.push_back(record(9, "CQE", "A", "nic", ns(11100), ns(11144)));
  const SwimLanes picture = swim_lanes(run, Language::kEnglish);
  CHECK(picture.phases[1].lanes[2].bars.at(0).place == LabelPlace::kLeft);
}

TEST_CASE("bars and labels that would cover each other stand in rows") {
  JudgedRun run = a_run();
  run.result.timeline.push_back(record(4, "doorbell", "A", "cpu", ns(10100), ns(10140)));
  run.result.timeline.push_back(record(9, "polled", "A", "cpu", ns(11000), ns(11000)));
  const SwimLane lane = swim_lanes(run, Language::kEnglish).phases[1].lanes[1];
  REQUIRE(lane.bars.size() == 3);
  CHECK(lane.bars[0].y == 476);
  CHECK(lane.bars[1].y == 498);
  CHECK(lane.bars[2].y == 476);
  CHECK(lane.height == 54);
}

TEST_CASE("links join a message's bars from lane to lane") {
  const SwimLanes picture = swim_lanes(a_run(), Language::kEnglish);
  CHECK(picture.phases[0].links.empty());
  const std::vector<SwimLink>& links = picture.phases[1].links;
  REQUIRE(links.size() == 2);
  CHECK(links[0].from == ns(10100));
  CHECK(links[0].to == ns(10400));
  CHECK(links[0].x1 == 212);
  CHECK(links[0].y1 == 484);
  CHECK(links[0].x2 == 512);
  CHECK(links[0].y2 == 542);
  CHECK(links[1].from == ns(10500));  // the first packet
  CHECK(links[1].x2 == 712);
}

TEST_CASE("a CPU is asleep in the data plane if it measured no work there") {
  JudgedRun run = a_run();
  const auto asleep = [&](std::size_t phase) {
    return swim_lanes(run, Language::kEnglish).phases[phase].lanes[5].asleep;
  };
  CHECK(asleep(1));
  CHECK_FALSE(asleep(0));
  run.result.metrics["host.B.cpu.data.busy"].value = 1;
  CHECK_FALSE(asleep(1));
  run.result.metrics.clear();
  CHECK_FALSE(asleep(1));
}

TEST_CASE("the time axis has round ticks from where its phase begins") {
  const SwimLanes picture = swim_lanes(a_run(), Language::kEnglish);
  const std::vector<SwimTick>& ticks = picture.phases[1].ticks;
  REQUIRE(ticks.size() == 12);
  CHECK(ticks[0].x == 112);
  CHECK(ticks[0].text == "0");
  CHECK(ticks[11].x == 1212);
  CHECK(ticks[11].text == "1.1 µs");
}

TEST_CASE("each message has a data plane of its own") {
  JudgedRun run = a_run();
  run.result.timeline.push_back(record(4, "descriptor", "A", "cpu", ns(10200), ns(10300)));
  run.result.timeline.back().work_request = 8;
  const SwimLanes picture = swim_lanes(run, Language::kEnglish);
  REQUIRE(picture.phases.size() == 3);
  CHECK(picture.phases[1].remark == "message 1 of 2 · per message: no kernel, NICs at work");
  CHECK(picture.phases[2].begin == ns(10200));
}

TEST_CASE("of many messages the first are drawn and the others counted") {
  JudgedRun run = a_run();
  for (int i = 0; i < 10; ++i) {
    run.result.timeline.push_back(record(4, "descriptor", "A", "cpu", ns(10200), ns(10300)));
    run.result.timeline.back().work_request = static_cast<std::uint64_t>(8 + i);
  }
  const SwimLanes picture = swim_lanes(run, Language::kEnglish);
  CHECK(picture.phases.size() == 9);
  CHECK(picture.note == "further messages: 3");
}

TEST_CASE("faults are bars of the phase that they fall into, and counted otherwise") {
  JudgedRun run = a_run();
  run.result.timeline.push_back(record(0, "fault", "A-B", "wire", ns(10450), ns(10450)));
  run.result.timeline.push_back(record(0, "fault", "A-B", "wire", ns(20000), ns(20000)));
  const SwimLanes picture = swim_lanes(run, Language::kEnglish);
  CHECK(picture.phases[1].lanes[3].bars.size() == 2);
  CHECK(picture.note == "faults at other times: 1");
  CHECK(times(swim_lanes_svg(picture), "class=\"bar fault\"") == 1);
}

TEST_CASE("a run without a followed message says so") {
  JudgedRun run = a_run();
  run.result.timeline.clear();
  const SwimLanes picture = swim_lanes(run, Language::kEnglish);
  CHECK(picture.phases.empty());
  CHECK(picture.note == "No message of this run was followed step by step.");
}

TEST_CASE("hosts that are no end of the first workload have lanes where something happened") {
  JudgedRun run = a_run();
  run.result.timeline.push_back(record(4, "descriptor", "C", "cpu", ns(10050), ns(10100)));
  const SwimLanes picture = swim_lanes(run, Language::kEnglish);
  CHECK(picture.phases[0].lanes.size() == 7);
  REQUIRE(picture.phases[1].lanes.size() == 8);
  CHECK(picture.phases[1].lanes[7].name == "C CPU");
}

TEST_CASE("the picture is SVG with texts escaped, a bar for each record and its details") {
  const std::string svg = swim_lanes_svg(swim_lanes(a_run(), Language::kEnglish));
  CHECK(svg.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0) == 0);
  CHECK(svg.find("width=\"1280\" height=\"694\"") != std::string::npos);
  CHECK(svg.find("a &lt;title&gt; &amp; more") != std::string::npos);
  CHECK(times(svg, "<g class=\"bar\"") == 5);
  CHECK(times(svg, "<g class=\"lane asleep\"") == 1);
  CHECK(svg.find("<rect x=\"512\" y=\"534\" width=\"600\" height=\"16\"") != std::string::npos);
  CHECK(svg.find("request packets ()\n10.400 – 11.000 µs\nin full</title>") != std::string::npos);
}

TEST_CASE("labels are there in Japanese too") {
  CHECK(language_of_name("ja") == Language::kJapanese);
  CHECK_FALSE(language_of_name("de").has_value());
  const SwimLanes picture = swim_lanes(a_run(), Language::kJapanese);
  CHECK(picture.phases[0].title == "コントロールプレーン");
  CHECK(picture.phases[0].steps[1].name == "メモリ登録");
  CHECK(picture.phases[1].lanes[3].name == "ワイヤ");
  CHECK(swim_lanes_svg(picture).find("lang=\"ja\"") != std::string::npos);
}

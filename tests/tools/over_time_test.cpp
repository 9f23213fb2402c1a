// SPDX-License-Identifier: MIT
#include "tools/export/over_time.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tools/export/series_csv.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using Json = nlohmann::ordered_json;

namespace {

using Values = std::vector<std::uint64_t>;

TimeSeries::Column column(const std::string& path, SignalKind kind, Unit unit, Values values,
                          std::uint64_t limit = 0) {
  return {path, kind, unit, limit, "what \"it\" is, in short", std::move(values)};
}

/// Two intervals of 10 ns and one of 5 ns.
RunResult a_run() {
  RunResult result;
  result.end = 25_ns;
  result.series.interval = 10_ns;
  result.series.end = 25_ns;
  result.series.columns = {
      column("host.A.nic0.port.tx_bytes", SignalKind::kTotal, Unit::kBytes, {125, 0, 25},
             200'000'000'000),
      column("host.A.nic0.pcie.upstream.bytes", SignalKind::kTotal, Unit::kBytes, {0, 0, 10}),
      column("host.A.nic0.port.paused", SignalKind::kTotal, Unit::kPicoseconds, {0, 10'000, 5'000}),
      column("fabric.switch0.port1.queued", SignalKind::kLevel, Unit::kBytes, {4, 2, 0}, 1024),
      column("fabric.switch0.port2.queued", SignalKind::kLevel, Unit::kBytes, {0, 0, 12345678}),
      column("host.A.nic0.doorbell.queued", SignalKind::kLevel, Unit::kCount, {}),
      column("host.A.nic0.requester.messages", SignalKind::kTotal, Unit::kCount, {1, 0, 0})};
  const auto pause = [](Time when, const char* where, std::uint8_t priority, bool paused) {
    return PauseRecord{when, 0, false, 0, priority, paused, where};
  };
  result.pauses = {pause(1_ns, "host.A.nic0", 3, true),  pause(2_ns, "host.B.nic0", 3, true),
                   pause(4_ns, "host.A.nic0", 3, false), pause(6_ns, "host.A.nic0", 4, true),
                   pause(7_ns, "host.A.nic0", 3, true),  pause(8_ns, "host.A.nic0", 3, false),
                   pause(9_ns, "host.A.nic0", 4, false)};
  return result;
}

Json over_time_of(const RunResult& result) { return over_time(result, Language::kEnglish); }

Json group(const Json& over, const std::string& key) {
  for (const Json& group : over.at("groups"))
    if (group.at("key") == key) return group;
  return nullptr;
}

std::vector<std::string> paths(const Json& group) {
  std::vector<std::string> paths;
  for (const Json& column : group.at("columns")) paths.push_back(column.at("path"));
  return paths;
}

}  // namespace

TEST_CASE(
    "signals stand in groups of one unit, the highest first, without those that stayed zero") {
  const Json over = over_time_of(a_run());
  CHECK(over.at("end_ps") == 25'000);
  CHECK(over.at("interval_ps") == 10'000);
  CHECK(paths(group(over, "throughput")) == std::vector<std::string>{"host.A.nic0.port.tx_bytes"});
  CHECK(group(over, "throughput").at("columns")[0].at("values") == Json{1e11, 0.0, 4e10});
  CHECK(paths(group(over, "buses")) == std::vector<std::string>{"host.A.nic0.pcie.upstream.bytes"});
  CHECK(paths(group(over, "bytes")) ==
        std::vector<std::string>{"fabric.switch0.port2.queued", "fabric.switch0.port1.queued"});
  CHECK(group(over, "bytes").at("columns")[0].at("values")[2] == 12'350'000);
  CHECK(group(over, "bytes").at("columns")[1].at("description") == "what \"it\" is, in short");
  CHECK(group(over, "entries") == nullptr);
  CHECK(group(over, "rates").at("columns")[0].at("values")[0] == 1e8);
}

TEST_CASE("what has a limit is a share of it, beside the share of pauses") {
  const Json shares = group(over_time_of(a_run()), "utilisation");
  CHECK(paths(shares) ==
        std::vector<std::string>{"host.A.nic0.port.paused", "host.A.nic0.port.tx_bytes"});
  CHECK(shares.at("columns")[0].at("values") == Json{0.0, 1.0, 1.0});
  CHECK(shares.at("columns")[1].at("values") == Json{0.5, 0.0, 0.2});
}

TEST_CASE("of what congestion control allows those that were held back most stand first") {
  RunResult result = a_run();
  const auto add = [&](const char* path, Unit unit, Values values) {
    result.series.columns.push_back(column(path, SignalKind::kLevel, unit, std::move(values)));
  };
  add("host.A.nic0.congestion_control.lowest_rate", Unit::kBitsPerSecond, {100, 100, 100});
  add("host.B.nic0.congestion_control.lowest_rate", Unit::kBitsPerSecond, {100, 3, 50});
  add("host.C.nic0.congestion_control.lowest_rate", Unit::kBitsPerSecond, {40, 30, 40});
  add("host.A.nic0.congestion_control.smallest_window", Unit::kBytes, {0, 9000, 9000});
  add("host.B.nic0.congestion_control.smallest_window", Unit::kBytes, {0, 9999, 4000});
  const Json over = over_time_of(result);
  CHECK(paths(group(over, "congestion")) ==
        std::vector<std::string>{"host.B.nic0.congestion_control.lowest_rate",
                                 "host.C.nic0.congestion_control.lowest_rate",
                                 "host.A.nic0.congestion_control.lowest_rate"});
  CHECK(paths(group(over, "windows")) ==
        std::vector<std::string>{"host.B.nic0.congestion_control.smallest_window",
                                 "host.A.nic0.congestion_control.smallest_window"});
  CHECK(group(over, "bytes").at("columns").size() == 2);
}

TEST_CASE("of a large network as many signals are there as fit a page, and how many are not") {
  RunResult result = a_run();
  constexpr std::size_t kSamples = 1000;
  result.series.end = result.series.interval * static_cast<std::int64_t>(kSamples);
  for (TimeSeries::Column& column : result.series.columns)
    if (!column.values.empty()) column.values.resize(kSamples);
  for (std::uint64_t i = 0; i < 500; ++i)
    result.series.columns.push_back(column("host.h" + std::to_string(i) + ".queued",
                                           SignalKind::kLevel, Unit::kCount,
                                           Values(kSamples, i + 1)));
  const Json over = over_time_of(result);
  std::size_t others = 0;
  for (const Json& group : over.at("groups")) {
    if (group.at("key") == "entries") continue;
    CHECK(group.at("left_out") == 0);
    others += group.at("columns").size();
  }
  CHECK(others == 7);
  const Json entries = group(over, "entries");
  CHECK(entries.at("columns").size() == 400 - others);
  CHECK(entries.at("columns")[0].at("path") == "host.h499.queued");
  CHECK(entries.at("left_out") == 100 + others);
}

TEST_CASE("pauses are intervals by port and priority; one that never ended lasts to the end") {
  const Json pauses = over_time_of(a_run()).at("pauses").at("ports");
  REQUIRE(pauses.size() == 3);
  CHECK(pauses[0].at("where") == "host.B.nic0 prio 3");
  CHECK(pauses[0].at("intervals") == Json{{2'000, 25'000, 1}});
  CHECK(pauses[1].at("where") == "host.A.nic0 prio 3");
  CHECK(pauses[1].at("whole_ps") == 4'000);
  CHECK(pauses[1].at("intervals") == Json{{1'000, 4'000, 1}, {7'000, 8'000, 1}});
  CHECK(pauses_csv(a_run().pauses) ==
        "port,priority,begin_ps,end_ps\n"
        "host.A.nic0,3,1000,4000\n"
        "host.B.nic0,3,2000,\n"
        "host.A.nic0,4,6000,9000\n"
        "host.A.nic0,3,7000,8000\n");
}

TEST_CASE("very many pauses of a port are put together where they lie close, their sum is exact") {
  RunResult result;
  result.end = Time::us(100);  // of which a thousandth is 100 ns
  const auto pause = [&](Time begin, Time end) {
    result.pauses.push_back({begin, 0, false, 0, 3, true, "host.A.nic0"});
    result.pauses.push_back({end, 0, false, 0, 3, false, "host.A.nic0"});
  };
  for (int i = 0; i < 600; ++i) pause(Time::ns(20 * i), Time::ns(20 * i + 5));
  pause(Time::us(50), Time::us(51));
  pause(Time::us(51) + Time::ns(100), Time::us(52));
  const Json port = over_time_of(result).at("pauses").at("ports").at(0);
  CHECK(port.at("intervals") ==
        Json{{0, 11'985'000, 600}, {50'000'000, 51'000'000, 1}, {51'100'000, 52'000'000, 1}});
  CHECK(port.at("whole_ps") == 600 * 5'000 + 1'900'000);

  result.pauses.clear();
  for (int i = 0; i < 900; ++i) pause(Time::ns(110 * i), Time::ns(110 * i + 5));
  const Json wider = over_time_of(result).at("pauses").at("ports").at(0);
  CHECK(wider.at("intervals") == Json::array({{0, 98'895'000, 900}}));
  CHECK(wider.at("whole_ps") == 900 * 5'000);
}

TEST_CASE(
    "of very many paused ports those stopped for the longest are there, and how many are not") {
  RunResult result;
  result.end = Time::us(100);
  for (int i = 0; i < 55; ++i) {
    const std::string where = "host.h" + std::to_string(i) + ".nic0";
    result.pauses.push_back({Time(), 0, false, 0, 3, true, where});
    result.pauses.push_back({Time::ns(i + 1), 0, false, 0, 3, false, where});
  }
  const Json pauses = over_time_of(result).at("pauses");
  CHECK(pauses.at("ports").size() == 40);
  CHECK(pauses.at("ports").at(0).at("where") == "host.h54.nic0 prio 3");
  CHECK(pauses.at("left_out") == 15);
}

TEST_CASE("a series as CSV has a row an interval and says what its columns are") {
  TimeSeries series = a_run().series;
  series.columns.erase(series.columns.begin() + 1, series.columns.begin() + 5);
  CHECK(series_csv(series) ==
        "end_ps,host.A.nic0.port.tx_bytes [b/s],host.A.nic0.doorbell.queued [count],"
        "host.A.nic0.requester.messages [1/s]\n"
        "10000,100000000000,0,100000000\n20000,0,0,0\n25000,40000000000,0,0\n");
  CHECK(signals_csv(series) ==
        "path,unit,kind,limit,description\n"
        "host.A.nic0.port.tx_bytes,b/s,rate,200000000000,\"what \"\"it\"\" is, in short\"\n"
        "host.A.nic0.doorbell.queued,count,level,,\"what \"\"it\"\" is, in short\"\n"
        "host.A.nic0.requester.messages,1/s,rate,,\"what \"\"it\"\" is, in short\"\n");
}

TEST_CASE("a run without a series has no charts") {
  const Json over = over_time_of(RunResult());
  CHECK(over.at("groups").empty());
  CHECK(over.at("pauses").at("ports").empty());
}

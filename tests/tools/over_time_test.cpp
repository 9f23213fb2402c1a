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
  result.pauses = {pause(1_ns, "host.A.nic0", 3, true), pause(2_ns, "host.B.nic0", 3, true),
                   pause(4_ns, "host.A.nic0", 3, false), pause(6_ns, "host.A.nic0", 4, true),
                   pause(7_ns, "host.A.nic0", 3, true), pause(8_ns, "host.A.nic0", 3, false),
                   pause(9_ns, "host.A.nic0", 4, false)};
  return result;
}

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

TEST_CASE("signals stand in groups of one unit, the highest first, without those that stayed zero") {
  const Json over = over_time(a_run());
  CHECK(over.at("end_ps") == 25'000);
  CHECK(over.at("interval_ps") == 10'000);
  CHECK(paths(group(over, "throughput")) ==
        std::vector<std::string>{"host.A.nic0.port.tx_bytes"});
  CHECK(group(over, "throughput").at("columns")[0].at("values") == Json{1e11, 0.0, 4e10});
  CHECK(paths(group(over, "buses")) == std::vector<std::string>{"host.A.nic0.pcie.upstream.bytes"});
  CHECK(paths(group(over, "bytes")) == std::vector<std::string>{"fabric.switch0.port2.queued",
                                                                "fabric.switch0.port1.queued"});
  CHECK(group(over, "bytes").at("columns")[0].at("values")[2] == 12'350'000);
  CHECK(group(over, "bytes").at("columns")[1].at("limit") == 1024);
  CHECK(group(over, "entries") == nullptr);
  CHECK(group(over, "rates").at("columns")[0].at("values")[0] == 1e8);
}

TEST_CASE("what has a limit is a share of it, beside the share of pauses") {
  const Json shares = group(over_time(a_run()), "utilisation");
  CHECK(paths(shares) ==
        std::vector<std::string>{"host.A.nic0.port.paused", "host.A.nic0.port.tx_bytes"});
  CHECK(shares.at("columns")[0].at("values") == Json{0.0, 1.0, 1.0});
  CHECK(shares.at("columns")[1].at("values") == Json{0.5, 0.0, 0.2});
}

TEST_CASE("of a large network the highest forty of a group are there, and how many are not") {
  RunResult result = a_run();
  for (std::uint64_t i = 0; i < 60; ++i)
    result.series.columns.push_back(column("host.h" + std::to_string(i) + ".queued",
                                           SignalKind::kLevel, Unit::kCount, {0, i + 1, 0}));
  const Json entries = group(over_time(result), "entries");
  CHECK(entries.at("columns").size() == 40);
  CHECK(entries.at("columns")[0].at("path") == "host.h59.queued");
  CHECK(entries.at("left_out") == 20);
}

TEST_CASE("pauses are intervals by port and priority; one that never ended lasts to the end") {
  const Json pauses = over_time(a_run()).at("pauses");
  REQUIRE(pauses.size() == 3);
  CHECK(pauses[0].at("where") == "host.B.nic0 prio 3");
  CHECK(pauses[0].at("intervals") == Json{{2'000, 25'000}});
  CHECK(pauses[1].at("where") == "host.A.nic0 prio 3");
  CHECK(pauses[1].at("whole_ps") == 4'000);
  CHECK(pauses[1].at("intervals") == Json{{1'000, 4'000}, {7'000, 8'000}});
  CHECK(pauses_csv(a_run().pauses) ==
        "port,priority,begin_ps,end_ps\n"
        "host.A.nic0,3,1000,4000\n"
        "host.B.nic0,3,2000,\n"
        "host.A.nic0,4,6000,9000\n"
        "host.A.nic0,3,7000,8000\n");
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
  const Json over = over_time(RunResult());
  CHECK(over.at("groups").empty());
  CHECK(over.at("pauses").empty());
}

// SPDX-License-Identifier: MIT
#include "scenarios/engine/comparison.h"

#include <catch2/catch.hpp>

#include "model/json_document.h"
#include "scenarios/engine/scenario_reader.h"

using namespace rnicsim;

namespace {

constexpr const char* kHead =
    "{\"hosts\": [{\"name\": \"A\"}, {\"name\": \"B\"}],\n"
    "\"workload\": [{\"name\": \"w0\", \"from\": \"A\", \"to\": \"B\", \"size\": \"64 B\"}],\n"
    "\"variants\": [{\"name\": \"tcp\", \"set\": {\"seed\": 2}},\n"
    "  {\"name\": \"tcp_4k\", \"set\": {\"workload.0.size\": \"4 KiB\"}},\n"
    "  {\"name\": \"base_4k\", \"set\": {\"workload.0.size\": \"4 KiB\"}}],\n"
    "\"compare\": {\"tables\": [";

/// With the variants tcp, tcp_4k and base_4k, and these tables.
ScenarioFile file_with(const std::string& tables) {
  PresetDirectories presets({});
  ScenarioFile file;
  file.name = "x";
  file.document = parse_json(kHead + tables + "]}}", "x.json");
  file.base = read_scenario(file.document, {}, presets);
  for (const char* variant : {"", "tcp", "tcp_4k", "base_4k"})
    file.runs.push_back(read_scenario(file.document, {variant, {}}, presets));
  return file;
}

/// The base copies nothing and has no system calls; of run number `n` n copies and n x 10 us.
RunResult result_of(std::uint64_t n) {
  RunResult result;
  const auto count = [&](const char* path, std::uint64_t value, Unit unit) {
    result.metrics[path] = {true, value, 0, unit, ""};
  };
  count("workload.w0.bytes", 100, Unit::kBytes);
  count("workload.w0.transferred", 100, Unit::kBytes);
  count("workload.w0.completed", 4, Unit::kCount);
  count("workload.w0.latency.p50", (n + 1) * 10'000'000, Unit::kPicoseconds);
  count("host.B.cpu.copies", n, Unit::kCount);
  count("host.B.cpu.data.polling.cycles", 20, Unit::kCycles);
  count("host.B.cpu.data.copying.cycles", n * 10, Unit::kCycles);
  count("host.B.cpu.data.busy", n * 1000, Unit::kPicoseconds);
  count("host.B.nic0.pcie.reads", 3, Unit::kCount);
  count("host.B.nic1.pcie.reads", 4, Unit::kCount);
  count("host.B.nic0.pcie.writes", 5, Unit::kCount);
  if (n != 0) count("host.B.cpu.data.system_calls", 7 * n, Unit::kCount);
  result.bottlenecks.push_back({"w0", "latency", "", 0, "latency of run " + std::to_string(n)});
  return result;
}

std::vector<JudgedRun> judged(const ScenarioFile& file) {
  std::vector<RunResult> results;
  for (std::size_t n = 0; n < file.runs.size(); ++n) results.push_back(result_of(n));
  return judge(file, std::move(results));
}

ComparisonTable table_of(const std::string& table) {
  const ScenarioFile file = file_with(table);
  return compare_as_laid_out(file, judged(file)).tables.at(0);
}

/// In two columns, the scenario itself and "tcp".
ComparisonRow row_of(const std::string& members) {
  return table_of(
             "{\"columns\": [{\"title\": \"RDMA\"}, {\"title\": \"TCP\", \"variant\": \"tcp\"}],\n"
             "\"rows\": [{\"title\": \"r\", " +
             members + "}]}")
      .rows.at(0);
}

std::string failure(const std::string& table) {
  try {
    table_of(table);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::string row_failure(const std::string& members) {
  return failure("{\"rows\": [{\"title\": \"r\", " + members + "}]}");
}

}  // namespace

TEST_CASE("a row shows a metric of each column's run") {
  const ComparisonRow row = row_of(R"("metric": "workload.w0.latency.p50")");
  CHECK(row.unit == Unit::kPicoseconds);
  CHECK(row.cells[0].value == 10'000'000.0);
  CHECK(row.cells[1].value == 20'000'000.0);
  CHECK(row.better == Better::kLess);
  CHECK(row.is_best(0));
  CHECK_FALSE(row.is_best(1));
  CHECK(row.factor(1) == 2.0);
}

TEST_CASE("a star stands for one word, and paths joined by a plus are added up") {
  CHECK(row_of(R"("metric": "host.B.nic*.pcie.reads + host.B.nic*.pcie.writes")").cells[0].value ==
        12.0);
  CHECK(row_of(R"("metric": "host.B.cpu.*.cycles + host.B.cpu.copies")").cells[1].value == 1.0);
}

TEST_CASE("a share of bytes has both units, one of messages its own") {
  const ComparisonRow per_byte =
      row_of(R"("metric": "host.B.cpu.data.*.cycles", "per": "workload.w0.bytes")");
  CHECK(per_byte.cells[1].value == 0.3);
  CHECK(per_byte.unit == Unit::kCycles);
  CHECK(per_byte.per_unit == Unit::kBytes);
  const ComparisonRow per_message =
      row_of(R"("metric": "host.B.cpu.data.busy", "per": "workload.w0.completed")");
  CHECK(per_message.cells[1].value == 250.0);
  CHECK(per_message.unit == Unit::kPicoseconds);
  CHECK_FALSE(per_message.per_unit);
  CHECK(row_of(R"("metric": "workload.w0.bytes", "per": "workload.w0.bytes")").unit ==
        Unit::kRatio);
}

TEST_CASE("what is counted and did not occur is 0, and no number is a share of 0") {
  const ComparisonRow calls = row_of(R"("metric": "host.B.cpu.data.system_calls")");
  CHECK(calls.cells[0].value == 0.0);
  CHECK(calls.cells[1].value == 7.0);
  CHECK_FALSE(calls.factor(1));
  const ComparisonRow share =
      row_of(R"("metric": "host.B.cpu.copies", "per": "host.B.cpu.data.system_calls")");
  CHECK_FALSE(share.cells[0].value);
}

TEST_CASE("words say whether something happened, and settings what was in force") {
  const ComparisonRow words = row_of(
      R"("metric": "host.B.cpu.data.system_calls", "words": {"none": "no", "some": "{} times"})");
  CHECK(words.cells[0].words == "no");
  CHECK(words.cells[1].words == "{} times");
  CHECK_FALSE(words.is_best(0));
  CHECK(row_of(R"("config": "seed")").cells[1].words == "2");
  for (const char* path : {"hosts.A.nic.port.pause.mode", "hosts.*.nics.0.port.pause.mode"})
    CHECK(row_of("\"config\": \"" + std::string(path) + "\"").cells[0].words == "pfc");
  CHECK(row_of(R"("config": "hosts.*.name")").cells[0].words == "A, B");
  CHECK(row_of(R"("config": "engine.run_ahead")").cells[0].words == "on");
  CHECK(row_of(R"("metric": "workload.w0.limited_by")").cells[1].words == "latency of run 1");
}

TEST_CASE("a row may choose among variants by the column's name") {
  const ComparisonTable table = table_of(
      R"({"columns": [{"title": "RDMA"}, {"title": "TCP", "variant": "tcp"}],
          "rows": [{"group": "by size", "chart": "lines", "title": "64 B",
                    "metric": "host.B.cpu.copies"},
                   {"title": "4 KiB", "metric": "host.B.cpu.copies", "variant": "*_4k"}]})");
  CHECK(table.rows[0].cells[1].value == 1.0);
  CHECK(table.rows[1].cells[0].value == 3.0);
  CHECK(table.rows[1].cells[1].value == 2.0);
  CHECK(table.rows[1].group == "by size");
  CHECK(table.rows[1].chart == ComparisonChart::kLines);
}

TEST_CASE("what a layout asks for and nobody has is refused with its place") {
  CHECK(row_failure(R"("metric": "host.B.cpu.copys")") ==
        "x.json:6: compare.tables.0.rows.0.metric: unknown metric \"host.B.cpu.copys\", did you "
        "mean \"host.B.cpu.copies\"?");
  CHECK(row_failure(R"("metric": "host.B.cpu.copies", "per": "workload.w1.bytes")")
            .find("compare.tables.0.rows.0.per: unknown metric \"workload.w1.bytes\"") !=
        std::string::npos);
  CHECK(row_failure(R"("config": "hosts.A.nik")") ==
        "x.json:6: compare.tables.0.rows.0.config: unknown setting \"hosts.A.nik\"");
  CHECK(row_failure(R"("metric": "host.B.cpu.copies + workload.w0.bytes")") ==
        "x.json:6: compare.tables.0.rows.0.metric: metrics in count and in B cannot be added up");
  CHECK(row_failure(R"("metric": "workload.w0.latency.p50 + workload.w0.latency.p5*")") ==
        "x.json:6: compare.tables.0.rows.0.metric: 2 metrics that cannot be added up");
}

TEST_CASE("a layout that contradicts itself is refused before anything runs") {
  CHECK(failure(R"({"columns": [{"title": "t", "variant": "tpc"}]})") ==
        "x.json:6: compare.tables.0.columns.0.variant: unknown variant \"tpc\", did you mean "
        "\"tcp\"?");
  CHECK(row_failure(R"("metric": "a", "config": "b")") ==
        "x.json:6: compare.tables.0.rows.0: has both \"metric\" and \"config\"; choose one");
  CHECK(row_failure(R"("unit": "m")") ==
        "x.json:6: compare.tables.0.rows.0: has neither \"metric\" nor \"config\"");
  CHECK(row_failure(R"("config": "seed", "per": "b")") ==
        "x.json:6: compare.tables.0.rows.0.per: goes with a \"metric\" that is a number");
  CHECK(row_failure(R"("metric": "a", "chart": "stack")") ==
        "x.json:6: compare.tables.0.rows.0.chart: goes with \"group\"");
  CHECK(row_failure(R"("metric": "a", "variant": "*_4k")") ==
        "x.json:6: compare.tables.0.rows.0.variant: needs \"columns\" in its table");
  CHECK(failure(R"({"columns": [{"title": "RDMA"}, {"title": "t", "variant": "tcp_4k"}],
                    "rows": [{"title": "r", "metric": "a", "variant": "*_4k"}]})") ==
        "x.json:7: compare.tables.0.rows.0.variant: unknown variant \"tcp_4k_4k\", did you "
        "mean \"tcp_4k\"?");
}

TEST_CASE("the runs of a layout are those that some cell is about") {
  const ScenarioFile file = file_with(
      R"({"columns": [{"title": "TCP", "variant": "tcp"}, {"title": "RDMA"}],
          "rows": [{"title": "r", "metric": "a"}, {"title": "s", "metric": "a",
                   "variant": "*_4k"}]})");
  CHECK(compared_runs(file.base) == std::vector<std::string>{"tcp", "tcp_4k", "base", "base_4k"});
}

TEST_CASE("columns whose runs were not chosen are left out, and tables of one column") {
  const ScenarioFile file = file_with(
      R"({"columns": [{"title": "RDMA"}, {"title": "TCP", "variant": "tcp"},
                      {"title": "TCP, 4 KiB", "variant": "tcp_4k"}],
          "rows": [{"title": "r", "metric": "host.B.cpu.copies"},
                   {"title": "s", "metric": "host.C.cpu.copies"}]},
         {"columns": [{"title": "RDMA"}, {"title": "4 KiB", "variant": "base_4k"}]})");
  std::vector<JudgedRun> runs = judged(file);
  runs.erase(runs.begin() + 2, runs.end());
  const Comparison comparison = compare_as_laid_out(file, runs);
  REQUIRE(comparison.tables.size() == 1);
  CHECK(comparison.tables[0].columns.size() == 2);
  CHECK(comparison.tables[0].rows.size() == 1);
}

TEST_CASE("a run that came to no proper end is a column of nothing with its error") {
  const ScenarioFile file = file_with("{}");
  std::vector<RunResult> results;
  for (std::size_t n = 0; n < 4; ++n) results.push_back(result_of(n));
  results[1].violations.push_back({"deadlock", "w0", Time(), "waits for ever"});
  const Comparison comparison = compare_runs(judge(file, std::move(results)), {});
  const ComparisonTable& table = comparison.tables[0];
  CHECK(table.columns[1].error == "deadlock at w0: waits for ever");
  CHECK(table.columns[0].error.empty());
  REQUIRE_FALSE(table.rows.empty());
  for (const ComparisonRow& row : table.rows) {
    CHECK_FALSE(row.cells[1].value);
    CHECK(row.cells[1].words.empty());
  }
}

TEST_CASE("without a layout the usual rows are there of which any run knows something") {
  const ScenarioFile file = file_with("{}");
  const Comparison comparison = compare_runs(judged(file), {});
  std::vector<std::string> titles;
  for (const ComparisonRow& row : comparison.tables[0].rows)
    titles.push_back(row.group + ": " + row.title);
  CHECK(titles == std::vector<std::string>{
                      "w0: latency, median", "w0: limited by", "B, the target: CPU copies",
                      "B, the target: DMA transfers", "B, the target: system calls",
                      "B, the target: CPU time, data plane",
                      "B, the target: CPU cycles per payload byte",
                      "B, the target: CPU cycles per payload byte, by category: copying",
                      "B, the target: CPU cycles per payload byte, by category: polling"});
  CHECK(comparison.tables[0].rows.back().chart == ComparisonChart::kStack);
  CHECK(comparison.tables[0].columns[1].title == "tcp");
}

TEST_CASE("globs choose metrics, each a row, and one that matches none is refused") {
  const ScenarioFile file = file_with("{}");
  const std::vector<JudgedRun> runs = judged(file);
  const Comparison comparison = compare_runs(runs, {"host.B.nic*", "*.copies"});
  std::vector<std::string> titles;
  for (const ComparisonRow& row : comparison.tables[0].rows) titles.push_back(row.title);
  CHECK(titles == std::vector<std::string>{"host.B.nic0.pcie.reads", "host.B.nic0.pcie.writes",
                                           "host.B.nic1.pcie.reads", "host.B.cpu.copies"});
  CHECK_THROWS_WITH(compare_runs(runs, {"host.X.*"}),
                    "--metric: no metric of these runs matches \"host.X.*\"");
}

// SPDX-License-Identifier: MIT
#include "tools/export/comparison_views.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tools/export/page.h"

using namespace rnicsim;

namespace {

ComparisonRow row(const std::string& group, const std::string& title, Unit unit, Better better,
                  std::vector<double> values) {
  ComparisonRow made;
  made.group = group;
  made.title = title;
  made.metric = "m." + title;
  made.unit = unit;
  made.better = better;
  for (const double value : values) made.cells.push_back({value, ""});
  return made;
}

ComparisonRow words(const std::string& title, const std::vector<std::string>& texts) {
  ComparisonRow made;
  made.title = title;
  made.metric = "workload.w0.limited_by";
  for (const std::string& text : texts) made.cells.push_back({std::nullopt, text});
  return made;
}

/// TCP and WRITE, of which TCP failed in the second of its tables.
Comparison example() {
  ComparisonTable table;
  table.title = "Two ways";
  table.columns = {{"TCP", "x", "tcp", ""}, {"WRITE", "x", "base", ""}};
  table.rows.push_back(row("", "latency", Unit::kPicoseconds, Better::kLess, {3e6, 1.5e6}));
  table.rows.push_back(row("At B", "copies", Unit::kCount, Better::kLess, {4, 0}));
  ComparisonRow share = row("At B", "cycles", Unit::kCycles, Better::kLess, {1.5, 0});
  share.per = "m.bytes";
  share.per_unit = Unit::kBytes;
  table.rows.push_back(share);
  table.rows.push_back(
      words("limited by", {"CPU of B, \"busy\" 99 % (host.B); next: the wire", "the wire"}));
  return {"x", {table}};
}

/// As many columns as that, all alike.
ComparisonTable wide(std::size_t columns) {
  ComparisonTable table;
  table.title = "Many";
  table.rows.push_back(row("", "bytes moved by the direct memory access of both network cards",
                           Unit::kBytes, Better::kUnknown, std::vector<double>(columns, 1024)));
  for (std::size_t c = 0; c < columns; ++c)
    table.columns.push_back({"column " + std::to_string(c), "x", "v", ""});
  return table;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    widest = std::max(widest, width_of(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return widest;
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("a comparison is a table with its groups, and what limited a run in short") {
  CHECK(comparison_table(example(), {}) ==
        "Two ways\n"
        "                                TCP       WRITE\n"
        "  latency                      3 us      1.5 us\n"
        "At B\n"
        "  copies                          4           0\n"
        "  cycles               1.5 cycles/B  0 cycles/B\n"
        "  limited by  CPU of B, \"busy\" 99 %    the wire\n");
}

TEST_CASE("a table that is too wide goes on below, never beyond the terminal") {
  const std::string text = comparison_table({"", {wide(12)}}, {});
  CHECK(widest_line(text) <= kTerminalColumns);
  CHECK(times(text, "1 KiB") == 12);
  CHECK(times(text, "\n\n") == 1);
}

TEST_CASE("colours mark the best values and come only when asked for") {
  TerminalStyle style;
  style.colour = true;
  const std::string text = comparison_table(example(), style);
  CHECK(text.find("\033[32m1.5 us\033[0m") != std::string::npos);
  CHECK(text.find("\033[32m3 us") == std::string::npos);
  CHECK(comparison_table(example(), {}).find('\033') == std::string::npos);
}

TEST_CASE("a column whose run failed says so") {
  Comparison comparison = example();
  comparison.tables[0].columns[0].error = "deadlock at w0: waits";
  comparison.tables[0].rows[1].cells[0].value.reset();
  const std::string text = comparison_table(comparison, {});
  CHECK(text.find("TCP FAILED") != std::string::npos);
  const auto json = nlohmann::json::parse(comparison_json(comparison));
  CHECK(json["tables"][0]["columns"][0]["error"] == "deadlock at w0: waits");
  CHECK_FALSE(json["tables"][0]["columns"][1].contains("error"));
  CHECK(json["tables"][0]["rows"][1]["cells"][0]["text"] == "-");
}

TEST_CASE("words hold the number, and words of a file replace its unit") {
  ComparisonRow calls = row("", "calls", Unit::kCount, Better::kUnknown, {12});
  calls.cells[0].words = "yes, {} of them";
  CHECK(cell_text(calls, 0) == "yes, 12 of them");
  ComparisonRow rate = row("", "rate", Unit::kCycles, Better::kUnknown, {0.123456});
  rate.per = "m";
  rate.per_unit = Unit::kBytes;
  CHECK(cell_text(rate, 0) == "0.1235 cycles/B");
  rate.unit_text = "cycles each";
  CHECK(cell_text(rate, 0) == "0.1235 cycles each");
  CHECK(unit_text(rate) == "cycles each");
  rate.unit_text = "";
  CHECK(cell_text(rate, 0) == "0.1235");
  CHECK(unit_text(rate) == "cycles/B");
}

TEST_CASE("the document of a comparison has values, texts, factors and the best") {
  const auto json = nlohmann::json::parse(comparison_json(example()));
  CHECK(json["format"] == "rnicsim-comparison");
  CHECK(json["version"] == 1);
  CHECK(json["title"] == "x");
  const auto& table = json["tables"][0];
  CHECK(table["columns"][1] ==
        nlohmann::json{{"title", "WRITE"}, {"scenario", "x"}, {"variant", "base"}});
  const auto& latency = table["rows"][0];
  CHECK(latency["unit"] == "ps");
  CHECK(latency["better"] == "less");
  CHECK(latency["cells"][1] ==
        nlohmann::json{{"value", 1'500'000}, {"text", "1.5 us"}, {"factor", 0.5}, {"best", true}});
  CHECK(table["rows"][2]["per"] == "m.bytes");
  CHECK(table["rows"][2]["unit"] == "cycles/B");
  CHECK(table["rows"][3]["cells"][0]["value"].is_null());
}

TEST_CASE("the CSV file has a line for each cell") {
  CHECK(comparison_csv(example()) ==
        "table,group,row,metric,per,unit,column,scenario,variant,value,text\n"
        "Two ways,,latency,m.latency,,ps,TCP,x,tcp,3000000,3 us\n"
        "Two ways,,latency,m.latency,,ps,WRITE,x,base,1500000,1.5 us\n"
        "Two ways,At B,copies,m.copies,,count,TCP,x,tcp,4,4\n"
        "Two ways,At B,copies,m.copies,,count,WRITE,x,base,0,0\n"
        "Two ways,At B,cycles,m.cycles,m.bytes,cycles/B,TCP,x,tcp,1.5,1.5 cycles/B\n"
        "Two ways,At B,cycles,m.cycles,m.bytes,cycles/B,WRITE,x,base,0,0 cycles/B\n"
        "Two ways,,limited by,workload.w0.limited_by,,count,TCP,x,tcp,,\"CPU of B, \"\"busy\"\" "
        "99 % (host.B); next: the wire\"\n"
        "Two ways,,limited by,workload.w0.limited_by,,count,WRITE,x,base,,the wire\n");
}

TEST_CASE("a page holds the library with its licence, and a document cannot end its script") {
  Comparison comparison = example();
  comparison.tables[0].title = "</script><b>PAGE_SCRIPT";
  const std::string page = comparison_html(comparison);
  CHECK(page.find("Permission is hereby granted") != std::string::npos);
  CHECK(page.find("Chart.js v") != std::string::npos);
  CHECK(page.find("</script><b>") == std::string::npos);
  CHECK(times(page, "\\u003c/script>\\u003cb>PAGE_SCRIPT") == 1);
  for (const char* place : {"PAGE_STYLE", "PAGE_DOCUMENT", "CHART_LIBRARY", "CHART_LICENCE"})
    CHECK(page.find(place) == std::string::npos);
}

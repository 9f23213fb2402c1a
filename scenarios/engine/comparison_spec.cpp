// SPDX-License-Identifier: MIT
#include "scenarios/engine/comparison_spec.h"

#include <algorithm>

#include "scenarios/engine/scenario_checks.h"

namespace rnicsim {
namespace {

class Checker {
 public:
  Checker(const JsonNode& document, std::vector<std::string> variants)
      : document_(document), variants_(std::move(variants)) {
    variants_.emplace_back(kBaseVariant);
  }

  void check(const ComparisonTableSpec& table, const std::string& path) const {
    const std::vector<ComparisonColumnSpec>& columns = table.columns;
    // Where every row names its variant, a column's is but a part of those names.
    const bool whole = table.rows.empty() ||
                       std::any_of(table.rows.begin(), table.rows.end(),
                                   [](const ComparisonRowSpec& row) { return !row.variant; });
    for (std::size_t c = 0; whole && c < columns.size(); ++c)
      require_known(columns[c].variant,
                    join_path(path, "columns." + std::to_string(c) + ".variant"));
    for (std::size_t r = 0; r < table.rows.size(); ++r)
      check(table.rows[r], columns, join_path(path, "rows." + std::to_string(r)));
  }

 private:
  void require_known(const std::string& variant, const std::string& path) const {
    if (std::find(variants_.begin(), variants_.end(), variant) == variants_.end())
      fail_check(document_, path, "unknown variant " + in_quotes(variant),
                 nearest_of(variant, variants_));
  }

  void check(const ComparisonRowSpec& row, const std::vector<ComparisonColumnSpec>& columns,
             const std::string& path) const {
    if (row.metric.has_value() == row.config.has_value())
      fail_check(document_, path,
                 row.metric ? "has both \"metric\" and \"config\"; choose one"
                            : "has neither \"metric\" nor \"config\"");
    const bool number = row.metric && limited_workload(*row.metric).empty();
    const auto needs_number = [&](bool given, const char* key) {
      if (given && !number)
        fail_check(document_, join_path(path, key), "goes with a \"metric\" that is a number");
    };
    needs_number(row.per.has_value(), "per");
    needs_number(row.unit.has_value(), "unit");
    needs_number(row.words.has_value(), "words");
    if (row.chart != ComparisonChart::kBars && !row.group)
      fail_check(document_, join_path(path, "chart"), "goes with \"group\"");
    if (!row.variant) return;
    if (columns.empty())
      fail_check(document_, join_path(path, "variant"), "needs \"columns\" in its table");
    for (const ComparisonColumnSpec& column : columns)
      require_known(row.variant_for(column.variant), join_path(path, "variant"));
  }

  const JsonNode& document_;
  std::vector<std::string> variants_;
};

}  // namespace

void ComparisonWords::describe(Fields& f) {
  f.required().field("none", none, "where it is 0 or there is no such metric");
  f.required().field("some", some, "where it is more; \"{}\" is replaced by the value");
}

void ComparisonRowSpec::describe(Fields& f) {
  f.optional("group", group, "heading of this row and those that follow, up to the next group");
  f.choice(
      "chart", chart,
      {{"bars", ComparisonChart::kBars},
       {"stack", ComparisonChart::kStack},
       {"lines", ComparisonChart::kLines}},
      "how the page draws the group that begins here: each row by itself, rows as parts of one "
      "bar, or rows as points of one line a column");
  f.required().field("title", title, "what it is, for people");
  f.optional("metric", metric,
             "a metric's path, or several joined by \" + \"; * stands for any characters but dots, "
             "and all that match are added up. workload.NAME.limited_by is the sentence on what "
             "limited that workload");
  f.optional("per", per, "metric by which it is divided, likewise");
  f.optional("unit", unit,
             "words behind the bare number, instead of the metrics' own unit; \"\": none");
  f.optional("words", words, "a sentence instead of the number");
  f.optional("config", config, "path of a setting in force, instead of a metric");
  f.optional("variant", variant,
             "of another variant than the column's, in whose name * stands for the column's: "
             "\"*_64b\"");
}

void ComparisonColumnSpec::describe(Fields& f) {
  f.required().field("title", title, "heading of the column");
  f.field("variant", variant, "which run; \"base\" is the scenario itself");
}

void ComparisonTableSpec::describe(Fields& f) {
  f.field("title", title, "one line for people");
  f.list("columns", columns, ListLimits{0, 64}, "runs side by side; none: all there are");
  f.list("rows", rows, ListLimits{0, 1024}, "what is compared; none: the usual metrics");
}

void ComparisonSpec::describe(Fields& f) {
  f.required().list("tables", tables, ListLimits{1, 64}, "one after the other");
}

std::string ComparisonRowSpec::variant_for(const std::string& column) const {
  if (!variant) return column;
  std::string name = *variant;
  const std::size_t star = name.find('*');
  return star == std::string::npos ? name : name.replace(star, 1, column);
}

std::string limited_workload(const std::string& metric) {
  const std::string head = "workload.";
  const std::string tail = ".limited_by";
  const bool is = metric.size() > head.size() + tail.size() && metric.rfind(head, 0) == 0 &&
                  metric.compare(metric.size() - tail.size(), tail.size(), tail) == 0;
  return is ? metric.substr(head.size(), metric.size() - head.size() - tail.size()) : std::string();
}

void check_comparison(const JsonNode& document, const ComparisonSpec& spec,
                      const std::vector<std::string>& variants) {
  const Checker checker(document, variants);
  for (std::size_t t = 0; t < spec.tables.size(); ++t)
    checker.check(spec.tables[t], "compare.tables." + std::to_string(t));
}

}  // namespace rnicsim

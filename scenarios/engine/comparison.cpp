// SPDX-License-Identifier: MIT
#include "scenarios/engine/comparison.h"

#include <algorithm>
#include <functional>
#include <set>

#include "model/config_output.h"
#include "model/json_path.h"
#include "scenarios/engine/comparison_rows.h"
#include "scenarios/engine/comparison_value.h"

namespace rnicsim {
namespace {

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

Better better_of(const std::string& metric, Unit unit) {
  const bool is_rate = unit == Unit::kBitsPerSecond || unit == Unit::kPerSecond;
  if (is_rate && metric.rfind("workload.", 0) == 0) return Better::kMore;
  for (const char* costly :
       {".latency.", ".landing.", ".fct.", ".slowdown.", ".cpu.", ".interrupts.", ".memory.bus."})
    if (contains(metric, costly)) return Better::kLess;
  return Better::kUnknown;
}

/// Empty: it is as it should be.
std::string error_of(const JudgedRun& run) {
  for (const Violation& violation : run.result.violations)
    if (!run.expects(violation))
      return violation.kind + " at " + violation.where + ": " + violation.text;
  for (const ExpectationResult& result : run.expectations)
    if (!result.accepted()) return "an expectation of it is not met";
  return {};
}

/// Cycles per byte are in cycles/B, but a time per message is a time.
std::optional<Unit> share_of(Unit per) {
  return per == Unit::kCount ? std::nullopt : std::optional<Unit>(per);
}

class TableMaker {
 public:
  using Pick = std::function<const JudgedRun*(const ComparisonRowSpec&, std::size_t column)>;

  TableMaker(ComparisonTable& table, Pick run_of) : table_(table), run_of_(std::move(run_of)) {}

  /// Null; or the key of what no run of the table knows, and there is no row.
  const char* add(const ComparisonRowSpec& spec) {
    ComparisonRow row;
    if (spec.group) {
      group_ = *spec.group;
      chart_ = spec.chart;
    }
    row.group = group_;
    row.chart = chart_;
    row.title = spec.title;
    row.metric = spec.metric ? *spec.metric : *spec.config;
    row.per = spec.per.value_or("");
    row.unit_text = spec.unit;
    const char* unknown = nullptr;
    if (spec.config)
      unknown = fill_settings(spec, row);
    else if (!limited_workload(*spec.metric).empty())
      unknown = fill_limits(spec, row);
    else
      unknown = fill_numbers(spec, row);
    if (unknown == nullptr) table_.rows.push_back(std::move(row));
    return unknown;
  }

 private:
  std::size_t columns() const { return table_.columns.size(); }

  /// Null: it was not made, or came to no proper end.
  const JudgedRun* good_run(const ComparisonRowSpec& spec, std::size_t column) const {
    const JudgedRun* run = run_of_(spec, column);
    return run != nullptr && run->judged ? run : nullptr;
  }

  const char* fill_settings(const ComparisonRowSpec& spec, ComparisonRow& row) const {
    bool known = false;
    for (std::size_t c = 0; c < columns(); ++c) {
      ComparisonCell& cell = row.cells.emplace_back();
      const JudgedRun* run = run_of_(spec, c);
      if (run == nullptr) continue;
      Scenario setup = run->setup;  // describing wants to be able to write
      const std::optional<std::string> text = setting_at(dump_config(setup), *spec.config);
      known = known || text.has_value();
      cell.words = text.value_or("");
    }
    return known ? nullptr : "config";
  }

  const char* fill_limits(const ComparisonRowSpec& spec, ComparisonRow& row) const {
    const std::string workload = limited_workload(*spec.metric);
    bool known = false;
    for (std::size_t c = 0; c < columns(); ++c) {
      ComparisonCell& cell = row.cells.emplace_back();
      const JudgedRun* run = good_run(spec, c);
      if (run == nullptr) continue;
      for (const Bottleneck& bottleneck : run->result.bottlenecks)
        if (bottleneck.workload == workload) cell.words = bottleneck.text;
      known = known || !cell.words.empty();
    }
    return known ? nullptr : "metric";
  }

  /// The unit of a sum in the first run that knows it.
  std::optional<Unit> unit_of(const MetricSum& sum, const ComparisonRowSpec& spec) const {
    for (std::size_t c = 0; c < columns(); ++c) {
      const JudgedRun* run = good_run(spec, c);
      if (run != nullptr && sum.known_to(run->result)) return sum.unit_in(run->result);
    }
    return std::nullopt;
  }

  const char* fill_numbers(const ComparisonRowSpec& spec, ComparisonRow& row) const {
    const MetricSum metric(*spec.metric);
    const std::optional<MetricSum> per =
        spec.per ? std::optional<MetricSum>(*spec.per) : std::nullopt;
    const std::optional<Unit> unit = unit_of(metric, spec);
    if (!unit) return "metric";
    row.unit = *unit;
    row.better = spec.words ? Better::kUnknown : better_of(*spec.metric, row.unit);
    if (per) {
      const std::optional<Unit> divisor = unit_of(*per, spec);
      if (!divisor) return "per";
      if (*divisor == row.unit)
        row.unit = Unit::kRatio;
      else
        row.per_unit = share_of(*divisor);
    }
    for (std::size_t c = 0; c < columns(); ++c) {
      ComparisonCell& cell = row.cells.emplace_back();
      const JudgedRun* run = good_run(spec, c);
      if (run == nullptr) continue;
      cell.value = metric.value_in(run->result);
      if (per && cell.value) cell.value = quotient(*cell.value, per->value_in(run->result));
      if (spec.words) cell.words = words_for(*spec.words, cell.value);
    }
    return nullptr;
  }

  static std::optional<double> quotient(double value, std::optional<double> divisor) {
    return divisor.value_or(0) == 0 ? std::nullopt : std::optional<double>(value / *divisor);
  }
  static std::string words_for(const ComparisonWords& words, std::optional<double> value) {
    return value.value_or(0) == 0 ? words.none : words.some;
  }

  ComparisonTable& table_;
  Pick run_of_;
  std::string group_;
  ComparisonChart chart_ = ComparisonChart::kBars;
};

/// In what is laid out, runs are called "base" and by their variants.
std::string run_name_of(const JudgedRun& run) {
  return run.setup.variant.empty() ? kBaseVariant : run.setup.variant;
}

class Layout {
 public:
  Layout(const ScenarioFile& file, const std::vector<JudgedRun>& runs) : file_(file), runs_(runs) {
    for (const std::string& name : compared_runs(file.base))
      complete_ = complete_ && find(name) != nullptr;
  }

  Comparison make() const {
    Comparison comparison;
    comparison.title = file_.base.title;
    const std::vector<ComparisonTableSpec>& tables = file_.base.compare->tables;
    for (std::size_t t = 0; t < tables.size(); ++t) {
      ComparisonTable table = make_table(tables[t], "compare.tables." + std::to_string(t));
      if (table.columns.size() > 1) comparison.tables.push_back(std::move(table));
    }
    return comparison;
  }

 private:
  const JudgedRun* find(const std::string& name) const {
    for (const JudgedRun& run : runs_)
      if (run_name_of(run) == name) return &run;
    return nullptr;
  }

  std::vector<ComparisonColumnSpec> columns_of(const ComparisonTableSpec& spec) const {
    std::vector<ComparisonColumnSpec> columns = spec.columns;
    if (columns.empty())
      for (const JudgedRun& run : runs_) {
        const std::string name = run_name_of(run);
        columns.push_back({name, name});
      }
    const auto is_empty = [&](const ComparisonColumnSpec& column) {
      if (spec.rows.empty()) return find(column.variant) == nullptr;
      return std::all_of(spec.rows.begin(), spec.rows.end(), [&](const ComparisonRowSpec& row) {
        return find(row.variant_for(column.variant)) == nullptr;
      });
    };
    columns.erase(std::remove_if(columns.begin(), columns.end(), is_empty), columns.end());
    return columns;
  }

  ComparisonTable make_table(const ComparisonTableSpec& spec, const std::string& path) const {
    ComparisonTable table;
    table.title = spec.title.empty() ? file_.base.title : spec.title;
    const std::vector<ComparisonColumnSpec> columns = columns_of(spec);
    std::vector<const JudgedRun*> shown;
    for (const ComparisonColumnSpec& column : columns) {
      const JudgedRun* run = find(column.variant);
      if (run != nullptr) shown.push_back(run);
      table.columns.push_back({column.title, file_.name, column.variant, error_in(spec, column)});
    }
    TableMaker maker(table, [&](const ComparisonRowSpec& row, std::size_t column) {
      return find(row.variant_for(columns[column].variant));
    });
    if (spec.rows.empty())
      for (const ComparisonRowSpec& row : usual_rows(shown)) maker.add(row);
    for (std::size_t r = 0; r < spec.rows.size(); ++r)
      add(spec.rows[r], path + ".rows." + std::to_string(r), maker);
    return table;
  }

  void add(const ComparisonRowSpec& row, const std::string& path, TableMaker& maker) const {
    const char* unknown = nullptr;
    try {
      unknown = maker.add(row);
    } catch (const ConfigError& error) {
      fail(path + ".metric", error.detail().found);
    }
    if (unknown == nullptr || !complete_ || any_failed()) return;
    if (unknown == std::string("config"))
      fail(join_path(path, unknown), "unknown setting " + in_quotes(*row.config));
    const std::string& name = unknown == std::string("per") ? *row.per : *row.metric;
    fail(join_path(path, unknown), "unknown metric " + in_quotes(name), nearest_metric(name));
  }

  std::string nearest_metric(const std::string& name) const {
    std::vector<std::string> known;
    for (const JudgedRun& run : runs_)
      for (const auto& [path, unused] : run.result.metrics) known.push_back(path);
    return nearest_of(name, known);
  }

  bool any_failed() const {
    return std::any_of(runs_.begin(), runs_.end(),
                       [](const JudgedRun& run) { return !run.judged; });
  }

  std::string error_in(const ComparisonTableSpec& spec, const ComparisonColumnSpec& column) const {
    std::set<std::string> names;
    if (spec.rows.empty()) names.insert(column.variant);
    for (const ComparisonRowSpec& row : spec.rows) names.insert(row.variant_for(column.variant));
    for (const std::string& name : names) {
      const JudgedRun* run = find(name);
      if (run == nullptr) continue;
      std::string error = error_of(*run);
      if (!error.empty()) return error;
    }
    return {};
  }

  [[noreturn]] void fail(const std::string& path, std::string found,
                         std::string nearest = {}) const {
    const JsonNode& place = nearest_node(file_.document, path);
    ConfigError::Detail detail;
    detail.file = place.file();
    detail.line = place.line();
    detail.path = path;
    detail.found = std::move(found);
    detail.nearest = std::move(nearest);
    throw ConfigError(std::move(detail));
  }

  const ScenarioFile& file_;
  const std::vector<JudgedRun>& runs_;
  bool complete_ = true;
};

}  // namespace

bool ComparisonRow::is_best(std::size_t column) const {
  const std::optional<double>& own = cells[column].value;
  if (better == Better::kUnknown || !own) return false;
  bool is_better_than_one = false;
  for (const ComparisonCell& cell : cells) {
    if (!cell.value || *cell.value == *own) continue;
    if ((*cell.value < *own) == (better == Better::kLess)) return false;
    is_better_than_one = true;
  }
  return is_better_than_one;
}

std::optional<double> ComparisonRow::factor(std::size_t column) const {
  const std::optional<double>& first = cells.front().value;
  const std::optional<double>& own = cells[column].value;
  if (!first || !own || *first == 0 || !cells[column].words.empty()) return std::nullopt;
  return *own / *first;
}

Comparison compare_runs(const std::vector<JudgedRun>& runs,
                        const std::vector<std::string>& metric_globs) {
  ComparisonTable table;
  std::vector<const JudgedRun*> shown;
  bool one_file = true;
  for (const JudgedRun& run : runs) {
    shown.push_back(&run);
    one_file = one_file && run.scenario == runs.front().scenario;
  }
  for (const JudgedRun& run : runs) {
    const std::string& variant = run.setup.variant;
    std::string title = run.scenario;
    if (!variant.empty()) title = one_file ? variant : run.scenario + " (" + variant + ")";
    table.columns.push_back({std::move(title), run.scenario, run_name_of(run), error_of(run)});
  }
  if (one_file) table.title = runs.front().setup.title;
  const std::vector<ComparisonRowSpec> rows =
      metric_globs.empty() ? usual_rows(shown) : rows_of_globs(shown, metric_globs);
  TableMaker maker(table, [&](const ComparisonRowSpec&, std::size_t c) { return shown[c]; });
  for (const ComparisonRowSpec& row : rows) maker.add(row);
  std::string title = table.title;
  return {std::move(title), {std::move(table)}};
}

Comparison compare_as_laid_out(const ScenarioFile& file, const std::vector<JudgedRun>& runs) {
  return Layout(file, runs).make();
}

std::vector<std::string> compared_runs(const Scenario& scenario) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const ComparisonTableSpec& table : scenario.compare->tables) {
    std::vector<ComparisonColumnSpec> columns = table.columns;
    if (columns.empty()) {
      columns.push_back({"", kBaseVariant});
      for (const VariantSpec& variant : scenario.variants) columns.push_back({"", variant.name});
    }
    for (const ComparisonColumnSpec& column : columns) {
      if (table.rows.empty()) add(column.variant);
      for (const ComparisonRowSpec& row : table.rows) add(row.variant_for(column.variant));
    }
  }
  return names;
}

}  // namespace rnicsim

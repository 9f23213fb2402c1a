// SPDX-License-Identifier: MIT
#include "scenarios/engine/comparison_value.h"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>

#include "model/config_error.h"
#include "scenarios/engine/unit_name.h"

namespace rnicsim {
namespace {

constexpr const char* kPlus = " + ";

std::vector<std::string> split(const std::string& text, const std::string& mark) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(mark, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + mark.size();
  }
}

/// Dots part the words of a path as slashes those of a file's.
std::string as_file(std::string path) {
  std::replace(path.begin(), path.end(), '.', '/');
  return path;
}

bool has_wildcard(const std::string& path) {
  return path.find_first_of("*?[") != std::string::npos;
}

void collect(const std::string& path, const RunResult& run, std::vector<const Metric*>& out) {
  if (!has_wildcard(path)) {
    const auto it = run.metrics.find(path);
    if (it != run.metrics.end()) out.push_back(&it->second);
    return;
  }
  const std::string literal = path.substr(0, path.find_first_of("*?["));
  const std::string pattern = as_file(path);
  for (auto it = run.metrics.lower_bound(literal); it != run.metrics.end(); ++it) {
    if (it->first.compare(0, literal.size(), literal) != 0) break;
    if (fnmatch(pattern.c_str(), as_file(it->first).c_str(), FNM_PATHNAME) == 0)
      out.push_back(&it->second);
  }
}

/// "host.A" of "host.A.cpu.copies": whether the run has anything of that name.
bool has_owner(const std::string& path, const RunResult& run) {
  const std::size_t first = path.find('.');
  const std::size_t second = first == std::string::npos ? first : path.find('.', first + 1);
  if (second == std::string::npos) return false;
  const std::string pattern = as_file(path.substr(0, second));
  return std::any_of(run.metrics.begin(), run.metrics.end(), [&](const auto& metric) {
    return fnmatch((pattern + "/*").c_str(), as_file(metric.first).c_str(), 0) == 0;
  });
}

std::string scalar_text(const JsonNode& node) {
  if (node.is_bool()) return node.text() == "true" ? "on" : "off";
  if (!node.is_array()) return node.is_object() ? "set" : node.text();
  std::string list;
  for (const JsonNode& child : node.children())
    list += (list.empty() ? "" : ", ") + scalar_text(child);
  return list.empty() ? "none" : list;
}

const JsonNode* child_at(const JsonNode& node, const std::string& key) {
  if (const JsonNode* member = node.find(key)) return member;
  if (!node.is_array()) return nullptr;
  std::size_t index = 0;
  const char* end = key.data() + key.size();
  const auto read = std::from_chars(key.data(), end, index);
  if (read.ec == std::errc() && read.ptr == end)
    return index < node.children().size() ? &node.children()[index] : nullptr;
  for (const JsonNode& child : node.children()) {
    const JsonNode* name = child.find("name");
    if (name != nullptr && name->text() == key) return &child;
  }
  return nullptr;
}

void collect(const JsonNode& node, const std::vector<std::string>& keys, std::size_t depth,
             std::vector<std::string>& out) {
  if (depth == keys.size()) {
    std::string text = scalar_text(node);
    if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
    return;
  }
  if (keys[depth] == "*") {
    for (const JsonNode& child : node.children()) collect(child, keys, depth + 1, out);
    return;
  }
  if (const JsonNode* child = child_at(node, keys[depth])) {
    collect(*child, keys, depth + 1, out);
    return;
  }
  // Files may give a host's only NIC as `nic`; the configuration in force has a list.
  const JsonNode* nics = keys[depth] == "nic" ? node.find("nics") : nullptr;
  if (nics != nullptr && !nics->children().empty())
    collect(nics->children()[0], keys, depth + 1, out);
}

}  // namespace

bool counts_things(const std::string& path) {
  constexpr const char* kStatistics[] = {
      "min",  "max",     "mean",  "average", "p50",     "p90",      "p95",          "p99",
      "p999", "typical", "stdev", "peak",    "goodput", "fairness", "message_rate", "per_page"};
  const std::string leaf = path.substr(path.rfind('.') + 1);
  return std::find(std::begin(kStatistics), std::end(kStatistics), leaf) == std::end(kStatistics);
}

MetricSum::MetricSum(const std::string& names) : paths_(split(names, kPlus)) {}

std::vector<const Metric*> MetricSum::matches_in(const RunResult& run) const {
  std::vector<const Metric*> found;
  for (const std::string& path : paths_) collect(path, run, found);
  return found;
}

bool MetricSum::known_to(const RunResult& run) const { return !matches_in(run).empty(); }

Unit MetricSum::unit_in(const RunResult& run) const { return matches_in(run).front()->unit; }

std::optional<double> MetricSum::value_in(const RunResult& run) const {
  const std::vector<const Metric*> found = matches_in(run);
  const bool counts = std::all_of(paths_.begin(), paths_.end(), counts_things);
  if (found.empty()) {
    const bool is_there = std::any_of(paths_.begin(), paths_.end(), [&](const std::string& path) {
      return has_owner(path, run);
    });
    return counts && is_there ? std::optional<double>(0) : std::nullopt;
  }
  double sum = 0;
  for (const Metric* metric : found) {
    ConfigError::Detail detail;
    if (found.size() > 1 && !counts)
      detail.found = std::to_string(found.size()) + " metrics that cannot be added up";
    else if (metric->unit != found.front()->unit)
      detail.found = std::string("metrics in ") + unit_name(found.front()->unit) + " and in " +
                     unit_name(metric->unit) + " cannot be added up";
    if (!detail.found.empty()) throw ConfigError(std::move(detail));
    sum += metric->as_real();
  }
  return sum;
}

std::optional<std::string> setting_at(const JsonNode& configuration, const std::string& path) {
  std::vector<std::string> found;
  collect(configuration, split(path, "."), 0, found);
  if (found.empty()) return std::nullopt;
  std::string text;
  for (const std::string& value : found) text += (text.empty() ? "" : ", ") + value;
  return text;
}

}  // namespace rnicsim

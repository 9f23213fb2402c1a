// SPDX-License-Identifier: MIT
#include "scenarios/engine/expectation_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/json_document.h"
#include "model/quantity.h"

namespace rnicsim {
namespace {

const std::vector<std::string> kValueTypes = {"number", "string"};

bool read_double(std::string_view text, double& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() &&
         std::isfinite(value);
}

bool read_percentage(std::string_view text, double& value) {
  if (text.empty() || text.back() != '%') return false;
  text.remove_suffix(1);
  if (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (!read_double(text, value)) return false;
  value /= 100;
  return true;
}

bool read_quantity(std::string_view text, ExpectedValue& out) {
  std::string why;
  Time time;
  Bytes bytes;
  BitRate rate;
  Cycles cycles;
  if (parse_quantity(text, time, why)) {
    out.unit = Unit::kPicoseconds;
    out.value = static_cast<double>(time.ps());
  } else if (parse_quantity(text, bytes, why)) {
    out.unit = Unit::kBytes;
    out.value = static_cast<double>(bytes.count());
  } else if (parse_quantity(text, rate, why)) {
    out.unit = Unit::kBitsPerSecond;
    out.value = static_cast<double>(rate.numerator()) / static_cast<double>(rate.denominator());
  } else if (parse_quantity(text, cycles, why)) {
    out.unit = Unit::kCycles;
    out.value = static_cast<double>(cycles.count());
  } else if (read_percentage(text, out.value)) {
    out.unit = Unit::kRatio;
  } else {
    return false;
  }
  return true;
}

ExpectedValue read_value(const JsonNode& node, const std::string& path) {
  ExpectedValue out;
  out.text = node.text();
  const bool good = node.is_number()   ? read_double(node.text(), out.value)
                    : node.is_string() ? read_quantity(node.text(), out)
                                       : false;
  if (!good)
    throw error_at(
        node, path,
        "a number, a percentage, or a time, size, rate or number of cycles with its unit",
        node.found_text());
  return out;
}

void require_known(const std::string& variant, const JsonNode& place, const std::string& path,
                   const std::vector<std::string>& variants) {
  if (std::find(variants.begin(), variants.end(), variant) != variants.end()) return;
  ConfigError::Detail detail;
  detail.file = place.file();
  detail.line = place.line();
  detail.path = path;
  detail.found = "unknown variant " + in_quotes(variant);
  detail.nearest = nearest_of(variant, variants);
  throw ConfigError(std::move(detail));
}

/// "variant:metric.path" or "metric.path".
ExpectationSpec::MetricName read_name(const std::string& text, const JsonNode& place,
                                      const std::string& path,
                                      const std::vector<std::string>& variants) {
  ExpectationSpec::MetricName name;
  const std::size_t colon = text.find(':');
  name.path = colon == std::string::npos ? text : text.substr(colon + 1);
  if (colon != std::string::npos) {
    name.variant = text.substr(0, colon);
    require_known(name.variant, place, path, variants);
  }
  if (name.path.empty()) throw error_at(place, path, "a metric's path", in_quotes(text));
  return name;
}

void require_same_unit(const JsonNode& node, const std::string& path, const ExpectedValue& a,
                       const ExpectedValue& b) {
  if (a.unit != b.unit)
    throw error_at(node, path, "a value in the unit of " + in_quotes(a.text), in_quotes(b.text));
}

double read_tolerance(const JsonNode& node, const std::string& path, const ExpectedValue& around) {
  const ExpectedValue tolerance = read_value(node, path);
  const bool relative = tolerance.unit == Unit::kRatio && around.unit != Unit::kRatio;
  if (!relative) require_same_unit(node, path, around, tolerance);
  if (tolerance.value < 0) throw error_at(node, path, "", "a tolerance cannot be negative");
  return relative ? std::abs(around.value) * tolerance.value : tolerance.value;
}

}  // namespace

void ExpectationSpec::describe(Fields& f) {
  f.optional("id", id, "name of the expectation, for reports");
  f.optional("metric", metric, "path of a metric; \"variant:path\" is that of a variant's run");
  f.optional(
      "violation", violation,
      one_of(std::string("lossless_drop"), std::string("unfinished_flow"), std::string("deadlock"),
             std::string("pause_storm"), std::string("pfc_missing"), std::string("not_routable")),
      "a violation that is the expected result instead of a failure");
  f.optional("variant", variant,
             "of a violation: the variant whose run has it, \"\" for the scenario itself; without "
             "it, all runs together");
  f.any("equals", equals, kValueTypes, "the value, within the tolerance");
  f.any("tolerance", tolerance, kValueTypes, "allowed deviation, in percent or in the same unit");
  f.any("at_least", at_least, kValueTypes, "smallest allowed value");
  f.any("at_most", at_most, kValueTypes, "largest allowed value");
  f.any("between", between, {"array"}, "smallest and largest allowed value");
  f.optional("ratio_to", ratio_to, "compare metric / this metric instead of the metric");
  f.optional("difference_to", difference_to,
             "compare metric - this metric, in the same unit, instead of the metric");
  f.optional("source", source, "where the number was published");
  f.optional("missed", missed,
             "the model is known to miss it: which mechanism is believed to be missing. The run "
             "passes as long as that is so");
  f.optional("curve", curve,
             "name of the published curve that it is a point of, for the page of rnicsim validate");
  f.any("at", at, kValueTypes, "of a point of a curve: its x value, with its unit");
}

void ExpectationSpec::interpret(const JsonNode& node, const std::string& path,
                                const std::vector<std::string>& variants) {
  const auto in = [&](const char* key) { return join_path(path, key); };
  if (metric.has_value() == violation.has_value())
    throw error_at(node, path, "either \"metric\" or \"violation\"",
                   metric.has_value() ? "both" : "neither");
  if (metric) measured = read_name(*metric, node, in("metric"), variants);
  if (ratio_to) reference = read_name(*ratio_to, node, in("ratio_to"), variants);
  if (difference_to) reference = read_name(*difference_to, node, in("difference_to"), variants);
  if (ratio_to && difference_to)
    throw error_at(node, in("difference_to"), "", "given together with \"ratio_to\"; choose one");
  if (variant) {
    if (metric)
      throw error_at(node, in("variant"), "",
                     "goes with \"violation\" only; a metric names it as \"variant:path\"");
    if (!variant->empty()) require_known(*variant, node, in("variant"), variants);
    measured.variant = *variant;
  }

  const int relations =
      (equals != nullptr) + (at_least != nullptr) + (at_most != nullptr) + (between != nullptr);
  if (relations != 1)
    throw error_at(node, path, "one of \"equals\", \"at_least\", \"at_most\" and \"between\"",
                   relations == 0 ? "none" : "several");
  if (tolerance != nullptr && equals == nullptr)
    throw error_at(*tolerance, in("tolerance"), "", "goes with \"equals\" only");

  if (equals != nullptr) {
    low = read_value(*equals, in("equals"));
    if (tolerance != nullptr) allowed_deviation = read_tolerance(*tolerance, in("tolerance"), low);
  } else if (at_least != nullptr) {
    relation = Relation::kAtLeast;
    low = read_value(*at_least, in("at_least"));
  } else if (at_most != nullptr) {
    relation = Relation::kAtMost;
    low = read_value(*at_most, in("at_most"));
  } else {
    relation = Relation::kBetween;
    const std::vector<JsonNode>& ends = between->children();
    if (ends.size() != 2)
      throw error_at(*between, in("between"), "a list of two values",
                     std::to_string(ends.size()) + " values");
    low = read_value(ends[0], in("between.0"));
    high = read_value(ends[1], in("between.1"));
    require_same_unit(ends[1], in("between.1"), low, high);
    if (high.value < low.value)
      throw error_at(ends[1], in("between.1"), "at least " + low.text, high.text);
  }

  if (violation) {
    if (relation != Relation::kAtLeast || low.unit != Unit::kCount || ratio_to || difference_to)
      throw error_at(node, path, "\"at_least\" with a number for a violation", "something else");
  }
  if (curve.has_value() != (at != nullptr))
    throw error_at(node, in("at"), "", "\"curve\" and \"at\" go together");
  if (curve) {
    if (!id || !metric) throw error_at(node, in("curve"), "", "goes with \"id\" and \"metric\"");
    x = read_value(*at, in("at"));
  }
  if (ratio_to && low.unit != Unit::kCount && low.unit != Unit::kRatio)
    throw error_at(node, in("ratio_to"), "a number or a percentage to compare a ratio with",
                   in_quotes(low.text));
}

}  // namespace rnicsim

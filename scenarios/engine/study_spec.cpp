// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_spec.h"

#include "scenarios/engine/scenario_reader.h"

namespace rnicsim {
namespace {

constexpr std::uint32_t kMaxSteps = 10'000;
constexpr std::size_t kMaxAxes = 64;

}  // namespace

void LinearSpec::describe(Fields& f) {
  f.required().any("from", from, {"number", "string"}, "first value, with its unit if it has one");
  f.required().any("to", to, {"number", "string"}, "last value");
  f.required().field("steps", steps, range(2U, kMaxSteps), "how many values, both ends included");
}

void LogarithmicSpec::describe(Fields& f) {
  f.required().any("from", from, {"number", "string"}, "first value, with its unit if it has one");
  f.required().any("to", to, {"number", "string"}, "last value");
  f.optional("steps", steps, range(2U, kMaxSteps), "how many values, both ends included");
  f.optional("per_decade", per_decade, range(0.1, 1000.0), "instead: how many to a factor of ten");
  f.check(steps.has_value() != per_decade.has_value(), "steps",
          "must be given, or \"per_decade\", and not both");
}

void AxisSpec::describe(Fields& f) {
  f.optional_identifier("name", name, "column of the results; else the path's last word");
  f.optional("path", path, "what the axis changes, as --set names it");
  f.list("paths", paths, ListLimits{0, kMaxAxes}, "instead: several that get the same value");
  f.any("values", values, {"array"}, "the values");
  f.optional("linear", linear, "instead: from one value to another at even distances");
  f.optional("log", log, "instead: from one value to another in even ratios");
  f.list("presets", presets, ListLimits{0, 1024},
         "instead: names of presets; the path is what has a preset, e.g. hosts.*.nic");
}

void ZippedSpec::describe(Fields& f) {
  axis.describe(f);
  f.list("cross", cross, ListLimits{0, kMaxAxes},
         "instead of an axis: several, all values of each with all of the others");
}

void DimensionSpec::describe(Fields& f) {
  axis.describe(f);
  f.list("zip", zip, ListLimits{0, kMaxAxes},
         "instead of an axis: several of as many values each, that go along side by side");
}

void StudyMetricSpec::describe(Fields& f) {
  f.required().identifier("name", name, "column of the results");
  f.required().field("metric", metric,
                     "a metric's path, or several joined by \" + \"; * stands for any characters "
                     "but dots, and all that match are added up");
  f.optional("per", per, "metric by which it is divided, likewise");
  f.required().choice(
      "better", better,
      {{"more", StudyAim::kMore}, {"less", StudyAim::kLess}, {"none", StudyAim::kNone}},
      "which values are good; none: the metric is information and is not judged");
  f.optional("unit", unit, "words for the bare number's unit, instead of the metrics' own");
}

void StudyCostSpec::describe(Fields& f) {
  f.identifier("name", name, "column of the results");
  f.field("unit", unit, "its unit, for people");
  f.required().field("expression", expression,
                     "arithmetic over paths of the configuration, e.g. "
                     "hosts.B.nic.translation_cache.entries * 16; a quantity counts as its base "
                     "unit (B, ps, b/s, Hz, mm, cycles)");
}

void StudySpec::describe(Fields& f) {
  f.field("title", title, "one line for people");
  f.required().field("base", base,
                     "the scenario: a file, relative to the study's folder, or a name");
  f.optional("variant", variant, "of the base, to begin with");
  f.any("set", set, {"object"}, "path -> value, laid over the base at all points");
  f.required().list("axes", axes, ListLimits{1, kMaxAxes},
                    "what differs: all values of each with all of the others");
  f.field("repeats", repeats, range(1, 1000), "runs of each point, each with the next seed");
  f.required().list("metrics", metrics, ListLimits{1, 256}, "what is collected");
  f.optional("cost", cost, "what a point costs, out of its configuration");
}

JsonNode study_schema() {
  StudySpec study;
  return file_schema("rnicsim study", study);
}

}  // namespace rnicsim

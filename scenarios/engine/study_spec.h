// SPDX-License-Identifier: MIT
// A study: one scenario, simulated at many points that differ in a few values. Reading and checking
// only; scenarios/engine/study_plan makes points of it.
//
//   { "title": "...",
//     "base": "../translation_misses.json",         a file beside this one, or a scenario's name
//     "set": { "workload.w0.count": 4000 },         for all points
//     "axes": [
//       { "name": "entries", "path": "hosts.*.nic.translation_cache.entries",
//         "log": { "from": 64, "to": 16384, "steps": 9 } },
//       { "path": "hosts.*.memory.page_size", "values": ["4 KiB", "2 MiB"] },
//       { "path": "hosts.*.nic", "presets": ["rnic_100g", "roce400"] },
//       { "zip": [ { "path": "...", "values": [1, 2] }, { "path": "...", "values": [3, 4] } ] } ],
//     "repeats": 3,
//     "metrics": [ { "name": "throughput", "metric": "workload.w0.goodput", "better": "more" } ],
//     "cost": { "name": "SRAM", "unit": "B",
//               "expression": "hosts.B.nic.translation_cache.entries * 16" } }
//
// Axes are crossed; those in a "zip" go along side by side, and one of them may be a "cross" again.
// A path is as --set takes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/config_reader.h"
#include "model/json_document.h"

namespace rnicsim {

/// Even distances between the values.
struct LinearSpec {
  AnyJson from;
  AnyJson to;
  std::uint32_t steps = 0;
  void describe(Fields& f);
};

/// Even ratios.
struct LogarithmicSpec {
  AnyJson from;
  AnyJson to;
  std::optional<std::uint32_t> steps;
  std::optional<double> per_decade;
  void describe(Fields& f);
};

struct AxisSpec {
  std::optional<std::string> name;
  std::optional<std::string> path;
  std::vector<std::string> paths;
  AnyJson values;
  std::optional<LinearSpec> linear;
  std::optional<LogarithmicSpec> log;
  std::vector<std::string> presets;
  void describe(Fields& f);
};

/// One of a zip: an axis, or several crossed.
struct ZippedSpec {
  AxisSpec axis;  ///< its keys stand beside "cross"
  std::vector<AxisSpec> cross;
  void describe(Fields& f);
};

/// An axis, or several zipped.
struct DimensionSpec {
  AxisSpec axis;  ///< its keys stand beside "zip"
  std::vector<ZippedSpec> zip;
  void describe(Fields& f);
};

enum class StudyAim : std::uint8_t { kMore, kLess, kNone };

struct StudyMetricSpec {
  std::string name;
  std::string metric;
  std::optional<std::string> per;
  StudyAim better = StudyAim::kMore;
  std::optional<std::string> unit;
  void describe(Fields& f);
};

struct StudyCostSpec {
  std::string name = "cost";
  std::string unit;
  std::string expression;
  void describe(Fields& f);
};

struct StudySpec {
  std::string title;
  std::string base;
  std::optional<std::string> variant;
  AnyJson set;  ///< object: path -> value
  std::vector<DimensionSpec> axes;
  std::uint32_t repeats = 1;
  std::vector<StudyMetricSpec> metrics;
  std::optional<StudyCostSpec> cost;
  void describe(Fields& f);
};

/// Schema of a study file.
JsonNode study_schema();

}  // namespace rnicsim

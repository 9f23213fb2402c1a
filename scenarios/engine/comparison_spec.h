// SPDX-License-Identifier: MIT
// "compare" in a scenario file: how `rnicsim compare` lays its runs side by side. Reading and
// checking only; scenarios/engine/comparison fills the tables.
//
//   "compare": { "tables": [ { "title": "...",
//     "columns": [ { "title": "TCP", "variant": "tcp" }, { "title": "WRITE" } ],
//     "rows": [
//       { "group": "At the receiver", "title": "CPU copies", "metric": "host.B.cpu.copies" },
//       { "title": "DMA transfers",
//         "metric": "host.B.nic*.pcie.reads + host.B.nic*.pcie.writes" },
//       { "title": "CPU cycles per byte", "metric": "host.B.cpu.data.*.cycles",
//         "per": "workload.w0.bytes" },
//       { "title": "does B's CPU work", "metric": "host.B.cpu.data.busy",
//         "words": { "none": "no", "some": "yes, for {}" } },
//       { "title": "segmentation by the NIC", "config": "hosts.A.kernel.tso" },
//       { "title": "what limited it", "metric": "workload.w0.limited_by" } ] } ] }
//
// A cell is measured or configured, never written into the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/config_reader.h"
#include "model/json_document.h"

namespace rnicsim {

/// The scenario itself, where a variant is named.
constexpr const char* kBaseVariant = "base";

/// What stands in a cell instead of a number; "{}" in it is the number.
struct ComparisonWords {
  std::string none;  ///< it is 0, or the run has no such metric
  std::string some;
  void describe(Fields& f);
};

/// How the page draws a group of rows.
enum class ComparisonChart : std::uint8_t {
  kBars,   ///< each row that differs for itself
  kStack,  ///< rows are parts of a whole, one bar for each column
  kLines,  ///< rows are points along an axis, one line for each column
};

struct ComparisonRowSpec {
  std::optional<std::string> group;  ///< begins one
  ComparisonChart chart = ComparisonChart::kBars;
  std::string title;
  std::optional<std::string> metric;
  std::optional<std::string> per;
  std::optional<std::string> unit;
  std::optional<ComparisonWords> words;
  std::optional<std::string> config;
  std::optional<std::string> variant;
  void describe(Fields& f);

  /// The variant that the cell in the column of that variant is about: `*` in the row's stands for
  /// the column's.
  std::string variant_for(const std::string& column) const;
};

struct ComparisonColumnSpec {
  std::string title;
  std::string variant = kBaseVariant;
  void describe(Fields& f);
};

struct ComparisonTableSpec {
  std::string title;
  std::vector<ComparisonColumnSpec> columns;  ///< empty: every run
  std::vector<ComparisonRowSpec> rows;        ///< empty: the usual ones
  void describe(Fields& f);
};

struct ComparisonSpec {
  std::vector<ComparisonTableSpec> tables;
  void describe(Fields& f);
};

/// "w0" of "workload.w0.limited_by", which is a sentence and no number; else empty.
std::string limited_workload(const std::string& metric);

/// Throws ConfigError, placed by `document`, for what the fields alone do not tell.
void check_comparison(const JsonNode& document, const ComparisonSpec& spec,
                      const std::vector<std::string>& variants);

}  // namespace rnicsim

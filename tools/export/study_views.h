// SPDX-License-Identifier: MIT
// A study for people and programs: a summary, documents, a page.
//
// The JSON document, whose version grows when a reader of the old one would fail:
//   { "format": "rnicsim-study", "version": 2, name, title, base, repeats,
//     axes:    [ { name, paths, values } ],
//     metrics: [ { name, metric, per, unit, better } ],
//     cost:    { name, unit, expression },
//     points:  [ { index, key, axes: { NAME: value }, repeat, cost, metrics: { NAME: value },
//                  error } ],
//     warnings: [ text ],
//     verdict: [ { metric, sentences, ranking, combinations, paid,
//                  offers: [ { at, mean, cost } ], pareto,
//                  dimensions: [ { name, along, labels, scale, order, means, comparable,
//                                  steps: [ { from, to, gain, per_doubling, half_width, least,
//                                  most,
//                                             from_zero } ],
//                                  best, enough, enough_everywhere, knee, effect } ],
//                  cells: [ { at, axes: { NAME: value }, runs, mean, half_width, cost } ] } ] }
//   key         of the point's result; "" if its values do not go together
//   cost, per   not there if the study has none
//   metrics     a value is null of a point that came to no proper end
//   error       what went wrong; not there if nothing did
//   warnings    metrics that no point has
//   verdict     as scenarios/engine/study_verdict says; what does not exist is null.
//               at: of a cell the position on each dimension, of an offer on each of paid; ranking,
//               paid, pareto, order, from, to, best, enough, enough_everywhere and knee are
//               indices; combinations: of positions, of which each that has a value is a cell;
//               along: the axis whose numbers order the dimension, or ""; scale: doubling, step or
//               choice; half_width: of the gain; least, most: gains on single lines, null if
//               infinite; from_zero: the gain is infinite
// Texts of axes are exact in axes and points, and shortened for people in labels.
// Nothing depends on the wall clock or on which point ended first.
//
// The CSV file is tidy: one line a point; a column for each axis, "repeat", the cost, each metric
// and "error".
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/study_verdict.h"
#include "tools/export/text_style.h"

namespace rnicsim {

/// The verdict's sentences under the metrics' names, and how many points failed. Ends with a line
/// feed.
std::string study_summary(const StudyResult& result, const std::vector<MetricVerdict>& verdicts,
                          const TerminalStyle& style);
std::string study_json(const StudyResult& result, const std::vector<MetricVerdict>& verdicts);
std::string study_csv(const StudyResult& result);
std::string study_html(const StudyResult& result, const std::vector<MetricVerdict>& verdicts);

}  // namespace rnicsim

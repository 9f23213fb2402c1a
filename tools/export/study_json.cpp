// SPDX-License-Identifier: MIT
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/engine/result_document.h"
#include "scenarios/engine/run_json.h"
#include "tools/export/study_views.h"

namespace rnicsim {
namespace {

using Json = nlohmann::ordered_json;

Json optional(const std::optional<double>& value) {
  return value ? number_to_json(*value) : Json();
}
Json optional(const std::optional<std::size_t>& index) { return index ? Json(*index) : Json(); }

Json list_of(const std::vector<std::optional<double>>& values) {
  Json list = Json::array();
  for (const std::optional<double>& value : values) list.push_back(optional(value));
  return list;
}

const char* word_of(StudyAim aim) {
  switch (aim) {
    case StudyAim::kMore:
      return "more";
    case StudyAim::kLess:
      return "less";
    case StudyAim::kNone:
      break;
  }
  return "none";
}

const char* word_of(StepScale scale) {
  switch (scale) {
    case StepScale::kDoubling:
      return "doubling";
    case StepScale::kStep:
      return "step";
    case StepScale::kChoice:
      break;
  }
  return "choice";
}

Json axes_to_json(const StudyPlan& plan) {
  Json list = Json::array();
  for (const StudyAxis& axis : plan.axes())
    list.push_back({{"name", axis.name}, {"paths", axis.paths}, {"values", axis.labels}});
  return list;
}

Json metrics_to_json(const StudyResult& result) {
  Json list = Json::array();
  for (const StudyMetric& metric : result.metrics) {
    Json entry = {{"name", metric.spec.name}, {"metric", metric.spec.metric}};
    if (metric.spec.per) entry["per"] = *metric.spec.per;
    entry["unit"] = metric.unit;
    entry["better"] = word_of(metric.spec.better);
    list.push_back(std::move(entry));
  }
  return list;
}

Json labels_at(const StudyPlan& plan, const StudyPoint& point) {
  Json labels = Json::object();
  for (std::size_t a = 0; a < plan.axes().size(); ++a)
    labels[plan.axes()[a].name] = plan.label(point, a);
  return labels;
}

Json points_to_json(const StudyResult& result) {
  Json list = Json::array();
  for (const StudyRow& row : result.rows) {
    Json point = {{"index", row.point.index},
                  {"key", row.key},
                  {"axes", labels_at(result.plan, row.point)},
                  {"repeat", row.point.repeat}};
    if (result.plan.spec().cost) point["cost"] = optional(row.cost);
    Json& metrics = point["metrics"] = Json::object();
    for (std::size_t m = 0; m < row.values.size(); ++m)
      metrics[result.metrics[m].spec.name] = optional(row.values[m]);
    if (!row.error.empty()) point["error"] = row.error;
    list.push_back(std::move(point));
  }
  return list;
}

Json gain_to_json(const std::optional<StepGain>& gain) {
  return gain && std::isfinite(gain->gain) ? number_to_json(gain->gain) : Json();
}

Json step_to_json(const StudyStep& step) {
  const bool from_zero = step.mean && std::isinf(step.mean->gain);
  const bool finite = step.mean && !from_zero;
  return {{"from", step.from},
          {"to", step.to},
          {"gain", gain_to_json(step.mean)},
          {"per_doubling", finite ? optional(step.mean->per_doubling) : Json()},
          {"half_width", finite ? optional(step.mean->half_width) : Json()},
          {"least", gain_to_json(step.least)},
          {"most", gain_to_json(step.most)},
          {"from_zero", from_zero}};
}

Json dimension_to_json(const DimensionVerdict& dimension) {
  Json json = {{"name", dimension.name},
               {"along", dimension.along},
               {"labels", dimension.labels},
               {"scale", word_of(dimension.scale)},
               {"order", dimension.order},
               {"means", list_of(dimension.means)},
               {"comparable", dimension.comparable},
               {"steps", Json::array()},
               {"best", optional(dimension.best)},
               {"enough", optional(dimension.enough)},
               {"enough_everywhere", optional(dimension.enough_everywhere)},
               {"knee", optional(dimension.knee)},
               {"effect", number_to_json(dimension.effect)}};
  for (const StudyStep& step : dimension.steps) json["steps"].push_back(step_to_json(step));
  return json;
}

Json cell_to_json(const StudyCell& cell, const StudyPlan& plan) {
  Json json = {{"at", cell.positions},
               {"axes", labels_at(plan, {0, cell.positions, 0})},
               {"runs", cell.runs},
               {"mean", number_to_json(cell.mean)},
               {"half_width", optional(cell.half_width)}};
  if (plan.spec().cost) json["cost"] = optional(cell.cost);
  return json;
}

Json verdict_to_json(const MetricVerdict& verdict, const StudyPlan& plan) {
  Json json = {{"metric", verdict.metric},   {"sentences", verdict.sentences},
               {"ranking", verdict.ranking}, {"combinations", verdict.crossed},
               {"paid", verdict.paid},       {"offers", Json::array()},
               {"pareto", verdict.pareto},   {"dimensions", Json::array()},
               {"cells", Json::array()}};
  for (const StudyOffer& offer : verdict.offers)
    json["offers"].push_back({{"at", offer.at},
                              {"mean", number_to_json(offer.mean)},
                              {"cost", number_to_json(offer.cost)}});
  for (const DimensionVerdict& dimension : verdict.dimensions)
    json["dimensions"].push_back(dimension_to_json(dimension));
  for (const StudyCell& cell : verdict.cells) json["cells"].push_back(cell_to_json(cell, plan));
  return json;
}

}  // namespace

std::string study_json(const StudyResult& result, const std::vector<MetricVerdict>& verdicts) {
  const StudySpec& spec = result.plan.spec();
  Json json = {{"format", "rnicsim-study"},
               {"version", 2},
               {"name", result.name},
               {"title", spec.title},
               {"base", spec.base},
               {"repeats", spec.repeats},
               {"axes", axes_to_json(result.plan)},
               {"metrics", metrics_to_json(result)}};
  if (spec.cost)
    json["cost"] = {{"name", spec.cost->name},
                    {"unit", spec.cost->unit},
                    {"expression", spec.cost->expression}};
  json["points"] = points_to_json(result);
  json["warnings"] = result.warnings;
  json["verdict"] = Json::array();
  for (const MetricVerdict& verdict : verdicts)
    json["verdict"].push_back(verdict_to_json(verdict, result.plan));
  return to_lines(json);
}

}  // namespace rnicsim

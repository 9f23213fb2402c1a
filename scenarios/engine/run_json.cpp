// SPDX-License-Identifier: MIT
#include "scenarios/engine/run_json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "scenarios/engine/latency_json.h"
#include "scenarios/engine/unit_name.h"

namespace rnicsim {
namespace {

using Json = nlohmann::ordered_json;
/// What is read has no order to keep, and thousands of hosts have many metrics: the ordered kind
/// looks for a key one by one.
using Parsed = nlohmann::json;

Time time_of(const Parsed& ps) { return Time::ps(ps.get<std::int64_t>()); }

TimelineRecord record_of(const Parsed& json) {
  TimelineRecord record;
  json.at("step").get_to(record.step);
  json.at("part").get_to(record.part);
  record.begin = time_of(json.at("begin_ps"));
  record.end = time_of(json.at("end_ps"));
  json.at("count").get_to(record.count);
  record.first_end = time_of(json.at("first_end_ps"));
  record.last_begin = time_of(json.at("last_begin_ps"));
  json.at("host").get_to(record.host);
  json.at("lane").get_to(record.lane);
  json.at("block").get_to(record.block);
  json.at("plane").get_to(record.plane);
  json.at("bytes").get_to(record.bytes);
  json.at("work_request").get_to(record.work_request);
  json.at("text").get_to(record.text);
  const Parsed& detail = json.at("detail");
  record.detail = {detail[0].get<RecordDetail::Kind>(), detail[1].get<std::string>(),
                   detail[2].get<std::string>(), detail[3].get<std::uint64_t>(),
                   detail[4].get<std::uint64_t>()};
  return record;
}

Bottleneck bottleneck_of(const Parsed& json) {
  Bottleneck b;
  json.at("workload").get_to(b.workload);
  json.at("kind").get_to(b.kind);
  json.at("resource").get_to(b.resource);
  json.at("share").get_to(b.part);
  json.at("text").get_to(b.text);
  b.span = time_of(json.at("span_ps"));
  json.at("over_sizes").get_to(b.over_sizes);
  json.at("next").get_to(b.next);
  json.at("next_share").get_to(b.next_part);
  json.at("limit").get_to(b.limit);
  json.at("count").get_to(b.count);
  b.each = time_of(json.at("each_ps"));
  return b;
}

FlowRecord flow_of(const Parsed& json) {
  const auto time = [&](const char* key) {
    return json.at(key).is_null() ? Time::never() : time_of(json.at(key));
  };
  FlowRecord flow;
  json.at("workload").get_to(flow.workload);
  json.at("from").get_to(flow.from);
  json.at("to").get_to(flow.to);
  json.at("bytes").get_to(flow.bytes);
  flow.start = time("start_ps");
  flow.finish = time("finish_ps");
  flow.ideal = time("ideal_ps");
  const Parsed& nodes = json.at("nodes");
  nodes[0].get_to(flow.from_node);
  nodes[1].get_to(flow.to_node);
  nodes[2].get_to(flow.source_port);
  nodes[3].get_to(flow.destination_port);
  return flow;
}

Metric metric_of(const Parsed& json) {
  Metric metric;
  const Parsed& value = json.at("value");
  metric.exact = value.is_number_integer();
  if (metric.exact)
    metric.value = value.get<std::uint64_t>();
  else
    metric.real = value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  metric.unit = unit_of_name(json.at("unit").get<std::string>());
  metric.description = json.at("description").get<std::string>();
  return metric;
}

TimeSeries series_of(const Parsed& json) {
  TimeSeries series;
  series.interval = time_of(json.at("interval_ps"));
  series.end = time_of(json.at("end_ps"));
  for (const Parsed& c : json.at("columns"))
    series.columns.push_back({c[0].get<std::string>(), c[1].get<SignalKind>(),
                              c[2].get<rnicsim::Unit>(), c[3].get<std::uint64_t>(),
                              c[4].get<std::string>(), c[5].get<std::vector<std::uint64_t>>()});
  return series;
}

Json series_to_json(const TimeSeries& series) {
  Json columns = Json::array();
  for (const TimeSeries::Column& c : series.columns)
    columns.push_back({c.path, c.kind, c.unit, c.limit, c.description, c.values});
  return {{"interval_ps", series.interval.ps()},
          {"end_ps", series.end.ps()},
          {"columns", std::move(columns)}};
}

}  // namespace

Json number_to_json(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::isfinite(value) && std::abs(value) <= kExact && value == std::floor(value))
    return static_cast<std::int64_t>(value);
  return value;
}

Json timeline_to_json(const std::vector<TimelineRecord>& timeline) {
  Json list = Json::array();
  for (const TimelineRecord& r : timeline)
    list.push_back({{"step", r.step},
                    {"part", r.part},
                    {"begin_ps", r.begin.ps()},
                    {"end_ps", r.end.ps()},
                    {"count", r.count},
                    {"first_end_ps", r.first_end.ps()},
                    {"last_begin_ps", r.last_begin.ps()},
                    {"host", r.host},
                    {"lane", r.lane},
                    {"block", r.block},
                    {"plane", r.plane},
                    {"bytes", r.bytes},
                    {"work_request", r.work_request},
                    {"text", r.text}});
  return list;
}

Json metrics_to_json(const std::map<std::string, Metric>& metrics) {
  // Paths are there once each, so nobody need look for them.
  Json object = Json::object();
  Json::object_t::Container& members = object.get_ref<Json::object_t&>();
  members.reserve(metrics.size());
  for (const auto& [path, metric] : metrics) {
    const Json value = metric.exact ? Json(metric.value) : Json(metric.real);
    members.emplace_back(path, Json{{"value", value}, {"unit", unit_name(metric.unit)}});
  }
  return object;
}

Json violation_to_json(const Violation& violation) {
  return {{"kind", violation.kind},
          {"where", violation.where},
          {"when_ps", violation.when.ps()},
          {"text", violation.text}};
}

Json bottlenecks_to_json(const std::vector<Bottleneck>& bottlenecks) {
  Json list = Json::array();
  for (const Bottleneck& b : bottlenecks)
    list.push_back({{"workload", b.workload},
                    {"kind", b.kind},
                    {"resource", b.resource},
                    {"share", b.part},
                    {"text", b.text}});
  return list;
}

Json flows_to_json(const std::vector<FlowRecord>& flows) {
  Json list = Json::array();
  for (const FlowRecord& f : flows) {
    Json flow = {{"workload", f.workload},  {"from", f.from},      {"to", f.to},
                 {"bytes", f.bytes},        {"start_ps", nullptr}, {"finish_ps", nullptr},
                 {"ideal_ps", f.ideal.ps()}};
    if (f.start != Time::never()) flow["start_ps"] = f.start.ps();
    if (f.finish != Time::never()) {
      flow["finish_ps"] = f.finish.ps();
      const auto ideal = static_cast<double>(std::max<std::int64_t>(1, f.ideal.ps()));
      flow["slowdown"] = static_cast<double>((f.finish - f.start).ps()) / ideal;
    }
    list.push_back(std::move(flow));
  }
  return list;
}

std::string run_to_text(const RunResult& result) {
  Json run = {{"end_ps", result.end.ps()},
              {"callbacks", result.callbacks},
              {"data_packets", result.data_packets},
              {"packet_hops", result.packet_hops},
              {"timeline", timeline_to_json(result.timeline)},
              {"metrics", metrics_to_json(result.metrics)},
              {"violations", Json::array()}};
  for (std::size_t i = 0; i < result.timeline.size(); ++i) {
    const RecordDetail& d = result.timeline[i].detail;
    run["timeline"][i]["detail"] = {d.kind, d.what, d.why, d.number, d.misses};
  }
  for (auto& [path, metric] : run["metrics"].items())
    metric["description"] = result.metrics.at(path).description;
  for (const Violation& violation : result.violations)
    run["violations"].push_back(violation_to_json(violation));
  run["bottlenecks"] = bottlenecks_to_json(result.bottlenecks);
  for (std::size_t i = 0; i < result.bottlenecks.size(); ++i) {
    const Bottleneck& b = result.bottlenecks[i];
    run["bottlenecks"][i].update(Json{{"span_ps", b.span.ps()},
                                      {"over_sizes", b.over_sizes},
                                      {"next", b.next},
                                      {"next_share", b.next_part},
                                      {"limit", b.limit},
                                      {"count", b.count},
                                      {"each_ps", b.each.ps()}});
  }
  run["notes"] = result.notes;
  run["flows"] = flows_to_json(result.flows);
  for (std::size_t i = 0; i < result.flows.size(); ++i) {
    const FlowRecord& f = result.flows[i];
    run["flows"][i]["nodes"] = {f.from_node, f.to_node, f.source_port, f.destination_port};
  }
  run["pauses"] = Json::array();
  for (const PauseRecord& p : result.pauses)
    run["pauses"].push_back(
        {p.when.ps(), p.node, p.is_switch, p.port, p.priority, p.paused, p.where});
  run["series"] = series_to_json(result.series);
  run["latency"] = latency_to_json(result.latency);
  return run.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RunResult run_from_text(const std::string& text) {
  const Parsed run = Parsed::parse(text);
  RunResult result;
  result.end = time_of(run.at("end_ps"));
  run.at("callbacks").get_to(result.callbacks);
  run.at("data_packets").get_to(result.data_packets);
  run.at("packet_hops").get_to(result.packet_hops);
  for (const Parsed& record : run.at("timeline")) result.timeline.push_back(record_of(record));
  for (const auto& [path, metric] : run.at("metrics").items())
    result.metrics.emplace(path, metric_of(metric));
  for (const Parsed& violation : run.at("violations"))
    result.violations.push_back(
        {violation.at("kind").get<std::string>(), violation.at("where").get<std::string>(),
         time_of(violation.at("when_ps")), violation.at("text").get<std::string>()});
  for (const Parsed& b : run.at("bottlenecks")) result.bottlenecks.push_back(bottleneck_of(b));
  run.at("notes").get_to(result.notes);
  for (const Parsed& flow : run.at("flows")) result.flows.push_back(flow_of(flow));
  result.latency = latency_of_json(run.at("latency"));
  for (const Parsed& p : run.at("pauses"))
    result.pauses.push_back({time_of(p[0]), p[1].get<std::uint32_t>(), p[2].get<bool>(),
                             p[3].get<std::uint32_t>(), p[4].get<std::uint8_t>(), p[5].get<bool>(),
                             p[6].get<std::string>()});
  result.series = series_of(run.at("series"));
  return result;
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/latency_json.h"

#include <nlohmann/json.hpp>
#include <string>

namespace rnicsim {
namespace {

using LatencyJson = nlohmann::ordered_json;

LatencyJson spread_to_json(const StageSpread& spread) {
  return {{"messages", spread.messages}, {"mean_ps", spread.mean.ps()}, {"p50_ps", spread.p50.ps()},
          {"p90_ps", spread.p90.ps()},   {"p99_ps", spread.p99.ps()},   {"max_ps", spread.max.ps()},
          {"share", spread.share}};
}

LatencyJson message_to_json(const MessageTimes& message) {
  LatencyJson json = {{"work_request", message.work_request}, {"bytes", message.bytes},
                      {"begin_ps", message.begin.ps()},       {"end_ps", message.end.ps()},
                      {"stages", LatencyJson::object()},      {"pieces", LatencyJson::array()}};
  for (std::size_t i = 0; i < kStages; ++i)
    if (message.stages[i] != Time())
      json["stages"][name_of(static_cast<Stage>(i))] = message.stages[i].ps();
  for (const StagePiece& piece : message.pieces)
    json["pieces"].push_back({name_of(piece.stage), piece.begin.ps(), piece.end.ps()});
  return json;
}

Time time_at(const nlohmann::json& json, const char* key) {
  return Time::ps(json.at(key).get<std::int64_t>());
}

std::size_t index_of_stage(const std::string& name) {
  return static_cast<std::size_t>(stage_of_name(name).value());
}

StageSpread spread_of_json(const nlohmann::json& json) {
  StageSpread spread;
  json.at("messages").get_to(spread.messages);
  spread.mean = time_at(json, "mean_ps");
  spread.p50 = time_at(json, "p50_ps");
  spread.p90 = time_at(json, "p90_ps");
  spread.p99 = time_at(json, "p99_ps");
  spread.max = time_at(json, "max_ps");
  json.at("share").get_to(spread.share);
  return spread;
}

MessageTimes message_of_json(const nlohmann::json& json) {
  MessageTimes message;
  json.at("work_request").get_to(message.work_request);
  json.at("bytes").get_to(message.bytes);
  message.begin = time_at(json, "begin_ps");
  message.end = time_at(json, "end_ps");
  for (const auto& [name, time] : json.at("stages").items())
    message.stages[index_of_stage(name)] = Time::ps(time.get<std::int64_t>());
  for (const nlohmann::json& piece : json.at("pieces"))
    message.pieces.push_back({stage_of_name(piece[0].get<std::string>()).value(),
                              Time::ps(piece[1].get<std::int64_t>()),
                              Time::ps(piece[2].get<std::int64_t>())});
  return message;
}

}  // namespace

LatencyJson latency_to_json(const std::vector<WorkloadLatency>& latency) {
  LatencyJson list = LatencyJson::array();
  for (const WorkloadLatency& of : latency) {
    LatencyJson json = {{"workload", of.workload},         {"messages", of.messages},
                        {"left_out", of.left_out},         {"whole", spread_to_json(of.whole)},
                        {"stages", LatencyJson::object()}, {"ranked", LatencyJson::array()},
                        {"shown", LatencyJson::array()}};
    for (std::size_t i = 0; i < kStages; ++i)
      if (of.stages[i].messages != 0)
        json["stages"][name_of(static_cast<Stage>(i))] = spread_to_json(of.stages[i]);
    for (const MessageTimes& message : of.ranked)
      json["ranked"].push_back(message_to_json(message));
    for (const MessageTimes& message : of.shown) json["shown"].push_back(message_to_json(message));
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<WorkloadLatency> latency_of_json(const nlohmann::json& list) {
  std::vector<WorkloadLatency> latency;
  for (const nlohmann::json& json : list) {
    WorkloadLatency& of = latency.emplace_back();
    json.at("workload").get_to(of.workload);
    json.at("messages").get_to(of.messages);
    json.at("left_out").get_to(of.left_out);
    of.whole = spread_of_json(json.at("whole"));
    for (const auto& [name, spread] : json.at("stages").items())
      of.stages[index_of_stage(name)] = spread_of_json(spread);
    for (const nlohmann::json& message : json.at("ranked"))
      of.ranked.push_back(message_of_json(message));
    for (const nlohmann::json& message : json.at("shown"))
      of.shown.push_back(message_of_json(message));
  }
  return latency;
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/flows/flow_run.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace rnicsim {
namespace {

constexpr Bytes kMessageSize{1 << 20};
/// The class selector of a priority: bits 3 to 5 of the code point.
constexpr unsigned kClassShift = 3;

}  // namespace

FlowRun::FlowRun(const WorkloadSpec& spec, FlowPlan plan)
    : plan_(std::move(plan)),
      message_size_(spec.message_size.value_or(kMessageSize)),
      times_(plan_.flows.size()) {
  make_pairs(spec);
  make_triggers();
}

void FlowRun::make_pairs(const WorkloadSpec& spec) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint8_t>, std::uint32_t> known;
  pair_of_.reserve(plan_.flows.size());
  for (const Flow& flow : plan_.flows) {
    const auto dscp = flow.priority == Flow::kNoPriority
                          ? spec.dscp
                          : static_cast<std::uint8_t>(flow.priority << kClassShift);
    const auto [at, is_new] = known.emplace(std::tuple{flow.source, flow.destination, dscp},
                                            static_cast<std::uint32_t>(pairs_.size()));
    if (is_new) {
      pairs_.emplace_back();
      pairs_.back().source = flow.source;
      pairs_.back().destination = flow.destination;
      pairs_.back().dscp = dscp;
      pairs_.back().sends = 0;
    }
    FlowPair& pair = pairs_[at->second];
    const auto messages = divide_up(flow.bytes.count(), message_size_.count());
    pair.sends = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(spec.queue_depth, pair.sends + messages));
    pair.messages += messages;
    pair.slot = std::max(pair.slot, std::min(flow.bytes, message_size_));
    ++pair.flows;
    pair_of_.push_back(at->second);
  }
  if (spec.region)
    for (FlowPair& pair : pairs_) pair.slot = std::max(pair.slot, *spec.region);
}

void FlowRun::make_triggers() {
  triggers_.resize(plan_.triggers.size());
  for (const Flow& flow : plan_.flows)
    if (flow.trigger != Flow::kNone) ++triggers_[flow.trigger].end;
  std::uint32_t sum = 0;
  for (Trigger& trigger : triggers_) {
    trigger.first = trigger.next = sum;
    sum += trigger.end;
    trigger.end = trigger.first;
  }
  begun_by_.resize(sum);
  for (std::uint32_t i = 0; i < plan_.flows.size(); ++i)
    if (plan_.flows[i].trigger != Flow::kNone)
      begun_by_[triggers_[plan_.flows[i].trigger].end++] = i;
}

void FlowRun::pull(std::uint32_t index, std::uint32_t by, Time time, FlowStarter& starter) {
  if (index == Flow::kNone) return;
  Trigger& trigger = triggers_[index];
  ++trigger.pulls;
  std::uint32_t until = trigger.next;
  if (plan_.triggers[index].one_by_one)
    until = std::min(trigger.next + 1, trigger.end);
  else if (trigger.pulls == plan_.triggers[index].needed)
    until = trigger.end;
  while (trigger.next < until) starter.start(begun_by_[trigger.next++], by, time);
}

void FlowRun::pull_all_of(std::uint32_t index, Time time, FlowStarter& starter) {
  const Flow& flow = plan_.flows[index];
  pull(flow.on_sent, flow.source, time, starter);
  pull(flow.on_received, flow.source, time, starter);
  auto more = std::lower_bound(
      plan_.pulls.begin(), plan_.pulls.end(), index,
      [](const FlowPull& pull, std::uint32_t wanted) { return pull.flow < wanted; });
  for (; more != plan_.pulls.end() && more->flow == index; ++more)
    pull(more->trigger, flow.source, time, starter);
}

void FlowRun::finish(std::uint32_t index, Time time, FlowStarter& starter) {
  const Flow& flow = plan_.flows[index];
  times_[index].finish = time;
  ++pair_of(index).settled;
  pair_of(index).delivered += flow.bytes;
  ++finished_;
  pull_all_of(index, time, starter);
}

std::vector<std::uint32_t> FlowRun::awaited_by(std::uint32_t flow) const {
  const std::uint32_t trigger = plan_.flows[flow].trigger;
  std::vector<std::uint32_t> awaited;
  if (trigger == Flow::kNone) return awaited;
  const auto add = [&](std::uint32_t other) {
    if (!has_finished(other) && !pairs_[pair_of_[other]].broken) awaited.push_back(other);
  };
  for (std::uint32_t i = 0; i < plan_.flows.size(); ++i)
    if (plan_.flows[i].on_sent == trigger || plan_.flows[i].on_received == trigger) add(i);
  for (const FlowPull& pull : plan_.pulls)
    if (pull.trigger == trigger) add(pull.flow);
  return awaited;
}

std::uint32_t FlowRun::break_pair(FlowPair& pair, Time time, FlowStarter& starter) {
  const std::uint32_t lost = pair.flows - pair.settled;
  pair.broken = true;
  pair.settled = pair.flows;
  failed_ += lost;
  const auto index = static_cast<std::uint32_t>(&pair - pairs_.data());
  for (std::uint32_t i = 0; i < plan_.flows.size(); ++i) {
    if (pair_of_[i] != index || has_finished(i)) continue;
    pull_all_of(i, time, starter);
  }
  return lost;
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "nic/ethernet/flow_steering.h"

#include <algorithm>

namespace rnicsim {

bool FlowSteering::has(std::uint32_t queue) const {
  return std::any_of(queues_.begin(), queues_.end(),
                     [&](const Member& member) { return member.queue == queue; });
}

void FlowSteering::add_queue(std::uint32_t queue, bool takes_part) {
  const auto behind = std::find_if(queues_.begin(), queues_.end(),
                                   [&](const Member& member) { return member.queue > queue; });
  queues_.insert(behind, {queue, takes_part});
  spread();
}

void FlowSteering::remove_queue(std::uint32_t queue) {
  queues_.erase(std::remove_if(queues_.begin(), queues_.end(),
                               [&](const Member& member) { return member.queue == queue; }),
                queues_.end());
  for (Rule& rule : by_number_) {
    const auto found = rule.valid ? by_flow_.find(rule.flow) : by_flow_.end();
    if (found == by_flow_.end() || found->second != queue) continue;
    by_flow_.erase(found);
    rule.valid = false;
  }
  spread();
}

void FlowSteering::spread() {
  std::vector<std::uint32_t> members;
  for (const Member& member : queues_)
    if (member.takes_part) members.push_back(member.queue);
  spreads_ = rss_ && !members.empty();
  for (std::size_t i = 0; spreads_ && i < kPlaces; ++i) table_[i] = members[i % members.size()];
}

bool FlowSteering::set_rule(std::uint32_t number, const abi::EthernetFlowRule& rule) {
  if (number >= rules_ || !has(rule.queue)) return false;
  const FlowKey flow{rule.source, rule.destination, rule.source_port, rule.destination_port};
  if (number >= by_number_.size()) by_number_.resize(number + 1);
  Rule& place = by_number_[number];
  const bool same = place.valid && place.flow == flow;
  if (!same && by_flow_.count(flow) != 0) return false;
  if (place.valid) by_flow_.erase(place.flow);
  place = {flow, true};
  by_flow_[flow] = rule.queue;
  return true;
}

bool FlowSteering::clear_rule(std::uint32_t number) {
  if (number >= by_number_.size() || !by_number_[number].valid) return false;
  by_flow_.erase(by_number_[number].flow);
  by_number_[number].valid = false;
  return true;
}

void FlowSteering::reset() {
  queues_.clear();
  by_number_.clear();
  by_flow_.clear();
  spreads_ = false;
}

FlowSteering::Choice FlowSteering::choose(const FlowKey& flow) {
  Choice choice;
  choice.hash = flow_hash(flow);
  const auto rule = by_flow_.find(flow);
  if (rule != by_flow_.end()) {
    ++ruled_;
    choice.queue = rule->second;
  } else {
    choice.queue = unruled(choice.hash);
  }
  return choice;
}

std::uint32_t FlowSteering::queue_of(const FlowKey& flow, std::uint32_t hash) const {
  const auto rule = by_flow_.find(flow);
  return rule == by_flow_.end() ? unruled(hash) : rule->second;
}

/// Of a flow without a rule.
std::uint32_t FlowSteering::unruled(std::uint32_t hash) const {
  if (spreads_) return table_[hash % kPlaces];
  return queues_.empty() ? kNoQueue : queues_.front().queue;
}

}  // namespace rnicsim

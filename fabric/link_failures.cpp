// SPDX-License-Identifier: MIT
#include "fabric/link_failures.h"

#include <algorithm>

namespace rnicsim {

LinkFailures::LinkFailures(Scheduler& scheduler, const Topology& topology,
                           std::vector<std::unique_ptr<Switch>>& switches,
                           const std::vector<LinkFailure>& failures)
    : scheduler_(scheduler),
      topology_(topology),
      switches_(switches),
      detected_(topology.links().size()),
      withdrawn_(topology.links().size()) {
  for (std::uint64_t number = 0; number < failures.size(); ++number) {
    const LinkFailure& each = failures[number];
    failures_.push_back({each, {}, 0});
    for (std::uint32_t link = 0; link < topology.links().size(); ++link)
      if (each.acts_on(topology, link)) failures_.back().links.push_back(link);
    scheduler.at_daemon(each.at + each.detection, call<&LinkFailures::lose>(this, number));
    scheduler.at_daemon(each.at + each.convergence, call<&LinkFailures::withdraw>(this, number));
    if (!each.until) continue;
    scheduler.at_daemon(*each.until + each.detection, call<&LinkFailures::regain>(this, number));
    scheduler.at_daemon(*each.until + each.convergence,
                        call<&LinkFailures::announce>(this, number));
  }
}

/// What is on its way when the cable goes down does not arrive either.
FaultRule LinkFailures::rule_of(const LinkFailure& failure, std::size_t number, Time propagation) {
  FaultRule rule;
  rule.kind = FaultKind::kDown;
  rule.name = label_of(number);
  rule.from = std::max(Time(), failure.at - propagation);
  rule.until = failure.until;
  return rule;
}

bool LinkFailures::is_down(std::uint32_t link) const {
  const Time now = scheduler_.now();
  return std::any_of(failures_.begin(), failures_.end(), [&](const Failure& failure) {
    return now >= failure.config.at && (!failure.config.until || now < *failure.config.until) &&
           std::count(failure.links.begin(), failure.links.end(), link) != 0;
  });
}

void LinkFailures::lose(std::uint64_t number) {
  Failure& failure = failures_[number];
  for (const std::uint32_t link : failure.links)
    if (detected_[link]++ == 0) failure.dropped += set_up(link, false);
}

void LinkFailures::regain(std::uint64_t number) {
  for (const std::uint32_t link : failures_[number].links)
    if (--detected_[link] == 0) set_up(link, true);
}

/// At both of its ends. Returns how many packets that dropped.
std::uint64_t LinkFailures::set_up(std::uint32_t link, bool up) {
  std::uint64_t dropped = 0;
  for (const PortRef end : {topology_.links()[link].a, topology_.links()[link].b})
    if (topology_.node(end.node).is_switch)
      dropped += switches_[end.node - topology_.end_points()]->set_port_up(
          static_cast<std::uint16_t>(end.port), up);
  return dropped;
}

void LinkFailures::withdraw(std::uint64_t number) {
  for (const std::uint32_t link : failures_[number].links) ++withdrawn_[link];
  converge();
}

void LinkFailures::announce(std::uint64_t number) {
  for (const std::uint32_t link : failures_[number].links) --withdrawn_[link];
  converge();
}

void LinkFailures::converge() {
  std::vector<std::uint32_t> failed;
  for (std::uint32_t link = 0; link < withdrawn_.size(); ++link)
    if (withdrawn_[link] != 0) failed.push_back(link);
  auto routes = std::make_unique<Routes>(topology_, failed);
  for (std::uint32_t i = 0; i < switches_.size(); ++i)
    switches_[i]->set_routes(*routes, topology_.end_points() + i, topology_.end_points());
  routes_ = std::move(routes);
}

}  // namespace rnicsim

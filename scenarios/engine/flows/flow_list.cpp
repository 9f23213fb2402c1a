// SPDX-License-Identifier: MIT
#include "scenarios/engine/flows/flow_list.h"

#include <algorithm>
#include <utility>

#include "model/config_error.h"

namespace rnicsim {
namespace {

using Numbers = std::map<std::string, std::uint32_t>;

std::vector<std::string> names_of(const Numbers& numbers) {
  std::vector<std::string> names;
  for (const auto& each : numbers) names.push_back(each.first);
  return names;
}

Numbers numbers_of(const std::vector<FlowSpec>& flows) {
  Numbers numbers;
  for (std::uint32_t i = 0; i < flows.size(); ++i)
    if (flows[i].name) numbers.emplace(*flows[i].name, i);
  return numbers;
}

class ListChecker {
 public:
  ListChecker(const std::vector<FlowSpec>& flows, const Numbers& end_points)
      : flows_(flows), end_points_(end_points), numbers_(numbers_of(flows)) {}

  std::optional<FlowListProblem> run() {
    if (flows_.empty()) return FlowListProblem{"", "an empty list; it must have flows", {}};
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
      check(i);
      if (problem_) return problem_;
    }
    check_circles();
    return problem_;
  }

 private:
  void tell(std::uint32_t flow, const std::string& key, std::string text,
            std::string nearest = {}) {
    problem_ =
        FlowListProblem{std::to_string(flow) + '.' + key, std::move(text), std::move(nearest)};
  }

  void check(std::uint32_t i) {
    const FlowSpec& flow = flows_[i];
    if (flow.name && numbers_.at(*flow.name) != i)
      return tell(i, "name",
                  in_quotes(*flow.name) + " is already the name of flow " +
                      std::to_string(numbers_.at(*flow.name)));
    for (const auto& [key, name] : {std::pair{"from", flow.from}, std::pair{"to", flow.to}})
      if (end_points_.count(name) == 0)
        return tell(i, key, "unknown host " + in_quotes(name),
                    nearest_of(name, names_of(end_points_)));
    if (end_points_.at(flow.from) == end_points_.at(flow.to))
      return tell(i, "to", "a flow from a host to itself");
    for (std::size_t k = 0; k < flow.after.size(); ++k) {
      const std::string key = "after." + std::to_string(k);
      const std::string& name = flow.after[k];
      if (numbers_.count(name) == 0)
        return tell(i, key, "no flow of the list is called " + in_quotes(name),
                    nearest_of(name, names_of(numbers_)));
      const auto here = flow.after.begin() + static_cast<std::ptrdiff_t>(k);
      if (std::find(flow.after.begin(), here, name) != here)
        return tell(i, key, in_quotes(name) + " stands in the list twice");
    }
  }

  /// Those that can begin, taken away again and again, leave what waits for itself.
  void check_circles() {
    std::vector<std::vector<std::uint32_t>> behind(flows_.size());
    std::vector<std::size_t> missing(flows_.size());
    std::vector<std::uint32_t> free;
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
      missing[i] = flows_[i].after.size();
      for (const std::string& name : flows_[i].after) behind[numbers_.at(name)].push_back(i);
      if (missing[i] == 0) free.push_back(i);
    }
    for (std::size_t done = 0; done < free.size(); ++done)
      for (const std::uint32_t next : behind[free[done]])
        if (--missing[next] == 0) free.push_back(next);
    if (free.size() == flows_.size()) return;
    const auto stuck =
        std::find_if(missing.begin(), missing.end(), [](std::size_t count) { return count != 0; });
    tell(static_cast<std::uint32_t>(stuck - missing.begin()), "after",
         "waits for itself, over the flows that it names");
  }

  const std::vector<FlowSpec>& flows_;
  const Numbers& end_points_;
  Numbers numbers_;
  std::optional<FlowListProblem> problem_;
};

}  // namespace

std::optional<FlowListProblem> flow_list_problem(
    const std::vector<FlowSpec>& flows, const std::map<std::string, std::uint32_t>& end_points) {
  return ListChecker(flows, end_points).run();
}

FlowPlan make_flow_list(const std::vector<FlowSpec>& flows,
                        const std::map<std::string, std::uint32_t>& end_points) {
  const Numbers numbers = numbers_of(flows);
  FlowPlan plan;
  for (const FlowSpec& spec : flows) {
    Flow flow;
    flow.source = end_points.at(spec.from);
    flow.destination = end_points.at(spec.to);
    flow.bytes = spec.size;
    flow.start = spec.start;
    if (spec.priority) flow.priority = *spec.priority;
    if (!spec.after.empty()) {
      flow.trigger = static_cast<std::uint32_t>(plan.triggers.size());
      plan.triggers.push_back({false, static_cast<std::uint32_t>(spec.after.size())});
      for (const std::string& name : spec.after)
        plan.pulls.push_back({numbers.at(name), flow.trigger});
    }
    plan.flows.push_back(flow);
  }
  std::stable_sort(plan.pulls.begin(), plan.pulls.end(),
                   [](const FlowPull& a, const FlowPull& b) { return a.flow < b.flow; });
  return plan;
}

}  // namespace rnicsim

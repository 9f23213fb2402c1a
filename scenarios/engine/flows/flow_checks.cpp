// SPDX-License-Identifier: MIT
#include "scenarios/engine/flows/flow_checks.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>

#include "fabric/hpcc_topology.h"
#include "fabric/text_lines.h"
#include "fabric/topology_builder.h"
#include "model/json_path.h"
#include "model/random.h"
#include "scenarios/engine/flows/flow_file.h"
#include "scenarios/engine/flows/flow_list.h"
#include "scenarios/engine/flows/flow_patterns.h"
#include "scenarios/engine/scenario_checks.h"

namespace rnicsim {
namespace {

namespace fs = std::filesystem;

std::string in_folder(const std::string& folder, const std::string& file) {
  return (fs::path(folder) / file).string();
}

/// Names of hosts, which stand for their first NIC, and behind those names of the NICs of hosts
/// with several.
struct HostEnds {
  std::vector<std::string> names;
  std::vector<std::uint32_t> end_points;
  std::vector<std::uint32_t> nics;  ///< of each host how many it has
  std::size_t hosts() const { return nics.size(); }
};

HostEnds host_ends(const Scenario& scenario) {
  HostEnds ends;
  std::uint32_t nic = 0;
  for (const HostSpec& host : scenario.hosts) {
    for (std::string& name : host.machine_names()) {
      ends.names.push_back(std::move(name));
      ends.end_points.push_back(nic);
      ends.nics.push_back(static_cast<std::uint32_t>(host.nics.size()));
      nic += ends.nics.back();
    }
  }
  const std::vector<std::string> all = end_point_names(scenario.machines());
  for (std::size_t host = 0; host < ends.hosts(); ++host) {
    if (ends.nics[host] == 1) continue;
    for (std::uint32_t i = 0; i < ends.nics[host]; ++i) {
      ends.names.push_back(all[ends.end_points[host] + i]);
      ends.end_points.push_back(ends.end_points[host] + i);
    }
  }
  return ends;
}

std::map<std::string, std::uint32_t> end_points_by_name(const Scenario& scenario) {
  const HostEnds ends = host_ends(scenario);
  std::map<std::string, std::uint32_t> by_name;
  for (std::size_t i = 0; i < ends.names.size(); ++i)
    by_name.emplace(ends.names[i], ends.end_points[i]);
  return by_name;
}

/// The flows of each host, at either end, take its NICs in turn.
void spread_over_nics(const Scenario& scenario, FlowPlan& plan) {
  const HostEnds ends = host_ends(scenario);
  struct Turn {
    std::uint32_t nics = 1;
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
  };
  std::map<std::uint32_t, Turn> turns;  // by first NIC
  for (std::size_t host = 0; host < ends.hosts(); ++host)
    turns[ends.end_points[host]].nics = ends.nics[host];
  for (Flow& flow : plan.flows) {
    Turn& source = turns[flow.source];
    Turn& destination = turns[flow.destination];
    flow.source += source.sent++ % source.nics;
    flow.destination += destination.received++ % destination.nics;
  }
}

/// By end point. Only the rates: everything else that a cable has does not matter here.
std::vector<BitRate> link_rates(const Scenario& scenario) {
  const Topology topology = build_topology(
      scenario.fabric.topology, end_point_names(scenario.machines()), scenario.fabric.folder);
  std::vector<BitRate> rates;
  for (std::uint32_t i = 0; i < topology.end_points(); ++i) {
    const std::vector<std::uint32_t>& links = topology.node(i).links;
    const bool own = !links.empty() && topology.links()[links[0]].own.rate;
    rates.push_back(own ? *topology.links()[links[0]].own.rate : scenario.fabric.link.config.rate);
  }
  return rates;
}

/// A host offers the load of all its NICs.
void add_up_rates(const Scenario& scenario, std::vector<BitRate>& rates) {
  if (rates.empty()) return;
  const HostEnds ends = host_ends(scenario);
  for (std::size_t host = 0; host < ends.hosts(); ++host) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < ends.nics[host]; ++i)
      sum += static_cast<std::uint64_t>(rates[ends.end_points[host] + i].as_gbps() * 1e9);
    rates[ends.end_points[host]] = BitRate(sum);
  }
}

FlowRequest request_of(const WorkloadSpec& w, const Scenario& scenario) {
  FlowRequest request;
  request.pattern = w.pattern;
  request.from = w.senders;
  request.to = w.receivers;
  request.seed = seed_for(scenario.seed, w.name);
  request.sizes = distribution_of(w).value_or(FlowSizes::always(w.size));
  request.count = w.count;
  request.in_flight = w.in_flight.value_or(1);
  request.load = w.load.value_or(1);
  request.duration = w.duration;
  request.think = w.think_time.value_or(Time());
  if (w.pattern == WorkloadPattern::kPoisson) request.rates = link_rates(scenario);
  if (w.nic_choice == NicChoice::kRoundRobin) add_up_rates(scenario, request.rates);
  return request;
}

/// Which end point has that id in a file of flows.
std::vector<std::uint32_t> end_points_by_id(const Scenario& scenario) {
  const std::vector<std::uint32_t> ids = node_ids(scenario);
  std::vector<std::uint32_t> by_id;
  const HostEnds ends = host_ends(scenario);
  for (std::size_t host = 0; host < ends.hosts(); ++host) {
    const std::uint32_t end_point = ends.end_points[host];
    const std::uint32_t id = ids[end_point];
    if (id >= by_id.size()) by_id.resize(id + 1, Flow::kNone);
    if (by_id[id] == Flow::kNone) by_id[id] = end_point;
  }
  return by_id;
}

class FlowChecker {
 public:
  FlowChecker(const JsonNode& document, const std::string& path, WorkloadSpec& workload,
              const Scenario& scenario)
      : document_(document), path_(path), w_(workload), scenario_(scenario) {}

  void run() {
    w_.folder = fs::path(nearest_node(document_, path_).file()).parent_path().string();
    check_keys();
    if (w_.pattern == WorkloadPattern::kFlowFile) {
      plan_flows(w_, scenario_);
      return;
    }
    if (w_.pattern == WorkloadPattern::kFlowList) return check_list();
    w_.senders = hosts("from", w_.from_rule);
    w_.receivers = hosts("to", w_.to_rule);
    check_distribution();
    const std::string problem = flow_problem(request_of(w_, scenario_));
    if (!problem.empty()) fail(w_.to_rule == nullptr ? "pattern" : "to", problem);
  }

 private:
  [[noreturn]] void fail(const char* key, std::string problem, std::string nearest = {}) const {
    fail_check(document_, path_ + '.' + key, std::move(problem), std::move(nearest));
  }
  void require(bool holds, const char* key, const std::string& problem) const {
    if (!holds) fail(key, problem);
  }

  void check_list() const {
    const auto problem = flow_list_problem(w_.flows, end_points_by_name(scenario_));
    if (problem)
      fail((problem->key.empty() ? "flows" : "flows." + problem->key).c_str(), problem->text,
           problem->nearest);
    require(w_.nic_choice == NicChoice::kFirst, "nic_choice", "the list says which NICs");
  }

  /// Of a plan that is given flow by flow.
  void refuse_keys_of_patterns(const char* why) const {
    const WorkloadSpec untouched;
    require(w_.from_rule == nullptr, "from", why);
    require(w_.to_rule == nullptr, "to", why);
    require(w_.size == untouched.size, "size", why);
    require(w_.count == untouched.count, "count", why);
    require(!w_.in_flight, "in_flight", why);
    require(!w_.think_time, "think_time", why);
    require(!w_.cdf, "cdf", why);
  }

  void check_keys() const {
    const WorkloadSpec untouched;
    const bool list = w_.pattern == WorkloadPattern::kFlowList;
    require(list || w_.flows.empty(), "flows", "belongs to the pattern \"flow_list\"");
    if (list) refuse_keys_of_patterns("each of `flows` says it");
    const bool poisson = w_.pattern == WorkloadPattern::kPoisson;
    const bool file = w_.pattern == WorkloadPattern::kFlowFile;
    require(poisson || !w_.load, "load", "belongs to the pattern \"poisson\"");
    require(poisson || !w_.duration, "duration", "belongs to the pattern \"poisson\"");
    require(!poisson || w_.load.has_value(), "load",
            "missing; it must be given: the share of its link that a sender offers");
    require(!w_.duration || w_.count == untouched.count, "count",
            "either a count or a duration ends a poisson workload");
    require(!poisson || !w_.in_flight, "in_flight", "flows of poisson do not wait for one another");
    require(file || !w_.file, "file", "belongs to the pattern \"flow_file\"");
    require(!file || w_.file.has_value(), "file", "missing; it must be given");
    if (file) refuse_keys_of_patterns("the file says it");
    require(!poisson || !w_.think_time, "think_time",
            "flows of poisson do not wait for one another");
    require(!w_.cdf || w_.size == untouched.size, "size", "either `size` or `cdf` says it");
    require(w_.size != Bytes(0), "size", "a flow has at least 1 B");
    require(w_.pattern != WorkloadPattern::kIncast || w_.to_rule != nullptr, "to",
            "missing; it must be given (the host that all others send to)");
  }

  /// A name without a dot or slash is meant to be one that is built in.
  void check_distribution() const {
    if (!w_.cdf || FlowSizes::built_in(*w_.cdf)) return;
    if (w_.cdf->find_first_of("./") == std::string::npos) {
      const std::vector<std::string> known = FlowSizes::built_in_names();
      fail("cdf",
           "unknown distribution " + in_quotes(*w_.cdf) + "; known: " + one_of_text(known) +
               ", or a file",
           nearest_of(*w_.cdf, known));
    }
    distribution_of(w_);
  }

  /// End points of the hosts that a name, a glob or a list of such stands for, each once. Names of
  /// NICs are meant only by what names a NIC.
  std::vector<std::uint32_t> hosts(const char* key, const AnyJson& rule) const {
    const HostEnds all = host_ends(scenario_);
    if (rule == nullptr)
      return {all.end_points.begin(),
              all.end_points.begin() + static_cast<std::ptrdiff_t>(all.hosts())};
    std::vector<bool> chosen(all.names.size());
    const auto choose = [&](const JsonNode& node, const std::string& path) {
      if (!node.is_string()) throw error_at(node, path, "a host's name", node.found_text());
      bool any = false;
      const bool of_nics = node.text().find('.') != std::string::npos;
      if (of_nics && w_.nic_choice == NicChoice::kRoundRobin)
        fail_check(document_, path, "names a NIC, and \"nic_choice\" is \"round_robin\"");
      for (std::size_t i = of_nics ? all.hosts() : 0;
           i < (of_nics ? all.names.size() : all.hosts()); ++i) {
        if (fnmatch(node.text().c_str(), all.names[i].c_str(), 0) != 0) continue;
        chosen[i] = true;
        any = true;
      }
      if (!any)
        fail_check(document_, path, "unknown host " + in_quotes(node.text()),
                   nearest_of(node.text(), all.names));
    };
    const std::string place = path_ + '.' + key;
    if (rule->is_string()) choose(*rule, place);
    for (std::size_t i = 0; i < rule->children().size(); ++i)
      choose(rule->children()[i], place + '.' + std::to_string(i));
    std::vector<std::uint32_t> ends;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i]) ends.push_back(all.end_points[i]);
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    if (ends.empty()) fail(key, "an empty list");
    return ends;
  }

  const JsonNode& document_;
  const std::string& path_;
  WorkloadSpec& w_;
  const Scenario& scenario_;
};

}  // namespace

std::optional<FlowSizes> distribution_of(const WorkloadSpec& workload) {
  if (!workload.cdf) return std::nullopt;
  if (auto known = FlowSizes::built_in(*workload.cdf)) return known;
  const std::string file = in_folder(workload.folder, *workload.cdf);
  return FlowSizes::read(read_text_file(file), file);
}

FlowPlan plan_flows(const WorkloadSpec& workload, const Scenario& scenario) {
  if (workload.pattern == WorkloadPattern::kFlowList)
    return make_flow_list(workload.flows, end_points_by_name(scenario));
  FlowPlan plan;
  if (workload.pattern == WorkloadPattern::kFlowFile) {
    const std::string file = in_folder(workload.folder, *workload.file);
    plan = read_flow_file(read_text_file(file), file, end_points_by_id(scenario));
  } else {
    plan = make_flows(request_of(workload, scenario));
  }
  if (workload.nic_choice == NicChoice::kRoundRobin) spread_over_nics(scenario, plan);
  return plan;
}

std::vector<std::uint32_t> node_ids(const Scenario& scenario) {
  std::vector<std::uint32_t> ids(end_point_names(scenario.machines()).size());
  std::iota(ids.begin(), ids.end(), 0);
  const TopologyConfig& topology = scenario.fabric.topology;
  if (!topology.hpcc) return ids;
  const std::string links = in_folder(scenario.fabric.folder, topology.hpcc->file);
  const std::vector<std::uint32_t> hosts =
      read_hpcc_topology(read_text_file(links), links).nic_hosts();
  std::copy_n(hosts.begin(), std::min(hosts.size(), ids.size()), ids.begin());
  return ids;
}

void check_flows(const JsonNode& document, const std::string& path, WorkloadSpec& workload,
                 const Scenario& scenario) {
  FlowChecker(document, path, workload, scenario).run();
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/scenario_checks.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_set>

#include "fabric/routes.h"
#include "fabric/topology_builder.h"
#include "model/json_path.h"
#include "model/packet.h"
#include "model/quantity.h"
#include "scenarios/engine/flows/flow_checks.h"
#include "scenarios/engine/infiniband_checks.h"
#include "scenarios/engine/pcie_bench_checks.h"
#include "scenarios/engine/tcp_checks.h"
#include "scenarios/engine/workload_checks.h"

namespace rnicsim {
namespace {

constexpr std::size_t kNamesShown = 16;

class Checker {
 public:
  Checker(const JsonNode& document, Scenario& scenario)
      : document_(document), scenario_(scenario) {}

  void run() {
    unique_names(scenario_.hosts, "hosts");
    host_names_ = machine_names();
    unique_names(scenario_.workload, "workload");
    const std::vector<std::string> variants = unique_names(scenario_.variants, "variants");
    check_topology();
    check_link_layer();
    check_tags();
    check_pcie_switches();
    check_faults();
    for (std::size_t i = 0; i < scenario_.workload.size(); ++i)
      check_workload_entry(scenario_.workload[i], "workload." + std::to_string(i));
    check_tcp(document_, scenario_);
    for (std::size_t i = 0; i < scenario_.expect.size(); ++i) {
      const std::string path = "expect." + std::to_string(i);
      scenario_.expect[i].interpret(nearest_node(document_, path), path, variants);
    }
    check_curves();
    check_ablations(variants);
    if (scenario_.compare) check_comparison(document_, *scenario_.compare, variants);
  }

 private:
  [[noreturn]] void fail(const std::string& path, std::string problem,
                         std::string nearest = {}) const {
    fail_check(document_, path, std::move(problem), std::move(nearest));
  }

  template <class T>
  std::vector<std::string> unique_names(const std::vector<T>& items, const char* list) const {
    std::vector<std::string> names;
    std::map<std::string, std::size_t> first;
    for (const T& item : items) {
      const auto [known, is_new] = first.emplace(item.name, names.size());
      if (!is_new)
        fail(join_path(list, std::to_string(names.size())) + ".name",
             in_quotes(item.name) + " is already the name of " + list + '.' +
                 std::to_string(known->second));
      names.push_back(item.name);
    }
    return names;
  }

  /// Built once here for the sake of its complaints: they have no place yet.
  void check_topology() {
    FabricSpec& fabric = scenario_.fabric;
    fabric.folder =
        std::filesystem::path(nearest_node(document_, "fabric").file()).parent_path().string();
    try {
      const Topology topology =
          build_topology(fabric.topology, end_point_names(scenario_.machines()), fabric.folder);
      check_failures(topology);
      if (collects_telemetry()) telemetry_ = most_telemetry(topology);
    } catch (const ConfigError& error) {
      if (!error.detail().file.empty()) throw;
      fail(join_path("fabric", error.detail().path), error.detail().found, error.detail().nearest);
    }
  }

  bool collects_telemetry() const {
    for (const HostSpec& host : scenario_.hosts)
      for (const NicSpec& nic : host.nics)
        if (nic.config.congestion_control.config.algorithm == CongestionAlgorithm::kHpcc)
          return true;
    return false;
  }

  /// Of a packet that goes the longest of the shortest ways.
  static Bytes most_telemetry(const Topology& topology) {
    const Routes routes(topology);
    std::size_t ports = 1;
    for (std::uint32_t from = 0; from < topology.end_points(); ++from)
      for (std::uint32_t to = 0; to < topology.end_points(); ++to)
        if (from != to) ports = std::max(ports, routes.first_path(topology, from, to).size());
    const std::size_t switches = std::min(ports - 1, Packet::kMaxHops);
    return Bytes(HopTelemetry::kHeaderBytes + HopTelemetry::kRecordBytes * switches);
  }

  /// Each must name a link that there is.
  void check_failures(const Topology& topology) const {
    for (std::size_t i = 0; i < scenario_.fabric.failures.size(); ++i) {
      const LinkFailure& failure = scenario_.fabric.failures[i];
      std::vector<std::string> names;
      bool any = false;
      for (std::uint32_t link = 0; link < topology.links().size() && !any; ++link) {
        any = failure.acts_on(topology, link);
        names.push_back(topology.link_name(link));
      }
      if (any) continue;
      std::string problem = in_quotes(failure.link) + " matches no link";
      if (names.size() <= kNamesShown) problem += "; there are " + one_of_text(names);
      fail("fabric.failures." + std::to_string(i) + ".link", std::move(problem),
           nearest_of(failure.link, names));
    }
  }

  void check_link_layer() const {
    const FabricSpec& fabric = scenario_.fabric;
    if (fabric.link_layer == LinkLayer::kRoceV1 && fabric.ip_version == IpVersion::kIpv6)
      fail("fabric.ip_version", "belongs to link_layer \"rocev2\": RoCEv1 has no IP header");
    if (fabric.link_layer == LinkLayer::kInfiniBand)
      check_infiniband(document_, scenario_);
    else if (fabric.infiniband)
      fail("fabric.infiniband", "belongs to link_layer \"infiniband\"");
  }

  /// One packet's payload is one DMA read, and that needs all its tags at once.
  void check_tags() const {
    for (std::size_t i = 0; i < scenario_.hosts.size(); ++i) {
      const HostSpec& host = scenario_.hosts[i];
      const Bytes request = host.config.pcie.max_read_request;
      for (std::size_t n = 0; n < host.nics.size(); ++n) {
        const std::uint64_t needed = divide_up(Bytes(Packet::kMaxPayloadBytes), request);
        const std::uint32_t tags =
            std::min(host.nics[n].config.pcie.tags, host.config.pcie.max_tags());
        if (tags < needed)
          fail("hosts." + std::to_string(i) + ".nics." + std::to_string(n) + ".pcie.tags",
               std::to_string(tags) + " tags cannot carry a read of 4 KiB in requests of " +
                   to_text(request) + "; at least " + std::to_string(needed) + " are needed");
      }
    }
  }

  /// Each device that stands under a switch must be there.
  void check_pcie_switches() const {
    for (std::size_t i = 0; i < scenario_.hosts.size(); ++i) {
      const HostSpec& host = scenario_.hosts[i];
      if (!host.config.pcie_switch) continue;
      const std::vector<std::string> known = devices_of(host);
      const std::vector<std::string>& named = host.config.pcie_switch->devices;
      for (std::size_t n = 0; n < named.size(); ++n)
        if (std::find(known.begin(), known.end(), named[n]) == known.end())
          fail("hosts." + std::to_string(i) + ".pcie_switch.devices." + std::to_string(n),
               "unknown device " + in_quotes(named[n]) + "; known: " + one_of_text(known),
               nearest_of(named[n], known));
    }
  }

  static std::vector<std::string> devices_of(const HostSpec& host) {
    std::vector<std::string> devices;
    for (std::size_t n = 0; n < host.nics.size(); ++n) devices.push_back("nic" + std::to_string(n));
    for (std::size_t n = 0; n < host.config.gpus.size(); ++n)
      devices.push_back("gpu" + std::to_string(n));
    return devices;
  }

  const HostSpec& host_of(const std::string& machine) const {
    for (const HostSpec& host : scenario_.hosts)
      for (const std::string& name : host.machine_names())
        if (name == machine) return host;
    return scenario_.hosts.front();
  }

  /// Where the two regions of a pair stand.
  void check_memories(WorkloadSpec& workload, const std::string& path) const {
    if (!workload.from_memory) workload.from_memory = workload.memory;
    if (!workload.to_memory) workload.to_memory = workload.memory;
    check_memory(workload.from_memory, workload.from, path,
                 workload.memory == workload.from_memory ? "memory" : "from_memory");
    check_memory(workload.to_memory, workload.to, path,
                 workload.memory == workload.to_memory ? "memory" : "to_memory");
  }

  void check_memory(const std::optional<std::string>& memory, const std::string& host,
                    const std::string& path, const char* key) const {
    if (!memory || *memory == kHostMemory) return;
    std::vector<std::string> known{kHostMemory};
    for (std::size_t n = 0; n < host_of(host).config.gpus.size(); ++n)
      known.push_back("gpu" + std::to_string(n));
    if (std::find(known.begin(), known.end(), *memory) == known.end())
      fail(join_path(path, key), "host " + in_quotes(host) + " has no memory " +
                                     in_quotes(*memory) + "; known: " + one_of_text(known));
  }

  /// Rules without a name have none to clash with.
  void check_faults() const {
    const std::string list = "fabric.link.faults";
    const FabricSpec& fabric = scenario_.fabric;
    const bool ipv4 =
        fabric.link_layer == LinkLayer::kRoceV2 && fabric.ip_version == IpVersion::kIpv4;
    const std::vector<FaultRule>& faults = fabric.link.faults;
    std::map<std::string, std::size_t> first;
    for (std::size_t i = 0; i < faults.size(); ++i) {
      if (faults[i].ipv4_identification_low_byte && !ipv4)
        fail(list + '.' + std::to_string(i) + ".ipv4_identification_low_byte",
             "belongs to RoCEv2 over IPv4: no other packet has this field");
      const auto [known, is_new] = first.emplace(faults[i].label(i), i);
      if (!is_new)
        fail(list + '.' + std::to_string(i) + ".name", in_quotes(*faults[i].name) +
                                                           " is already the name of " + list + '.' +
                                                           std::to_string(known->second));
    }
  }

  /// One axis has one unit.
  void check_curves() const {
    std::map<std::string, const ExpectationSpec*> first;
    for (std::size_t i = 0; i < scenario_.expect.size(); ++i) {
      const ExpectationSpec& point = scenario_.expect[i];
      if (!point.curve) continue;
      const ExpectationSpec& other = *first.emplace(*point.curve, &point).first->second;
      if (other.x.unit != point.x.unit)
        fail("expect." + std::to_string(i) + ".at",
             "is in another unit than " + in_quotes(other.x.text) + ", a point of the same curve");
    }
  }

  void check_ablations(const std::vector<std::string>& variants) const {
    unique_names(scenario_.ablate, "ablate");
    for (std::size_t i = 0; i < scenario_.ablate.size(); ++i) {
      const AblationSpec& ablation = scenario_.ablate[i];
      const std::string path = "ablate." + std::to_string(i);
      if (std::find(variants.begin(), variants.end(), ablation.name) != variants.end())
        fail(path + ".name", in_quotes(ablation.name) + " is already the name of a variant");
      for (std::size_t row = 0; row < ablation.fails.size(); ++row)
        check_row(ablation.fails[row], path + ".fails." + std::to_string(row));
    }
  }

  /// It must be there, and hold without the ablation.
  void check_row(const std::string& id, const std::string& path) const {
    std::vector<std::string> ids;
    for (const ExpectationSpec& row : scenario_.expect) {
      if (!row.id) continue;
      ids.push_back(*row.id);
      if (*row.id != id) continue;
      if (row.violation) fail(path, in_quotes(id) + " is about a violation, not about a metric");
      if (row.missed) fail(path, in_quotes(id) + " is missed without the ablation too");
      return;
    }
    fail(path, "no expectation has the id " + in_quotes(id), nearest_of(id, ids));
  }

  /// With those that a count stands for, which must not clash with others.
  std::vector<std::string> machine_names() const {
    std::vector<std::string> names;
    std::unordered_set<std::string> known;
    for (std::size_t i = 0; i < scenario_.hosts.size(); ++i) {
      for (std::string& name : scenario_.hosts[i].machine_names()) {
        if (!known.insert(name).second)
          fail("hosts." + std::to_string(i) + ".count",
               "makes a host " + in_quotes(name) + ", and there is one of that name already");
        names.push_back(std::move(name));
      }
    }
    return names;
  }

  void check_host(const std::string& name, const std::string& path) const {
    for (const std::string& known : host_names_)
      if (known == name) return;
    const std::string nearest = nearest_of(name, host_names_);
    std::string problem = "unknown host " + in_quotes(name);
    if (nearest.empty() && host_names_.size() <= kNamesShown)
      problem += "; known: " + one_of_text(host_names_);
    fail(path, std::move(problem), nearest);
  }

  void check_workload_entry(WorkloadSpec& workload, const std::string& path) const {
    if (workload.pattern == WorkloadPattern::kPcieBench) {
      check_pcie_bench_entry(workload, path);
      return;
    }
    if (workload.pcie_bench) fail(path + ".pcie_bench", "belongs to the pattern \"pcie_bench\"");
    if (is_of_flows(workload.pattern)) {
      check_workload(document_, path, workload, scenario_.fabric,
                     scenario_.tag_bytes() + telemetry_);
      check_flows(document_, path, workload, scenario_);
      return;
    }
    workload.from = one_host(workload.from_rule, path + ".from", "host that posts");
    if (workload.pattern == WorkloadPattern::kRegistration) {
      if (workload.to_rule != nullptr) fail(path + ".to", "a registration has no other end");
      workload.to = workload.from;
      check_workload(document_, path, workload, scenario_.fabric, Bytes());
      return;
    }
    workload.to = one_host(workload.to_rule, path + ".to", "host at the other end");
    if (workload.from == workload.to)
      fail(path + ".to", "loopback is not supported: `from` and `to` are the same host");
    check_memories(workload, path);
    check_workload(document_, path, workload, scenario_.fabric, scenario_.tag_bytes() + telemetry_);
  }

  void check_pcie_bench_entry(WorkloadSpec& workload, const std::string& path) const {
    workload.from = one_host(workload.from_rule, path + ".from", "host of the DMA exerciser");
    for (const HostSpec& machine : scenario_.machines())
      if (machine.name == workload.from) check_pcie_bench(document_, path, workload, machine);
  }

  std::string one_host(const AnyJson& rule, const std::string& path, const char* what) const {
    if (rule == nullptr) fail(path, std::string("missing; it must be given (") + what + ")");
    if (!rule->is_string()) fail(path, "one host, not a list of them");
    check_host(rule->text(), path);
    return rule->text();
  }

  const JsonNode& document_;
  Scenario& scenario_;
  std::vector<std::string> host_names_;
  Bytes telemetry_;  ///< most that switches add to a packet
};

}  // namespace

void fail_check(const JsonNode& document, const std::string& path, std::string problem,
                std::string nearest) {
  const JsonNode& place = nearest_node(document, path);
  ConfigError::Detail detail;
  detail.file = place.file();
  detail.line = place.line();
  detail.path = path;
  detail.found = std::move(problem);
  detail.nearest = std::move(nearest);
  throw ConfigError(std::move(detail));
}

void check_scenario(const JsonNode& document, Scenario& scenario) {
  Checker(document, scenario).run();
}

void refuse_keys_but(const JsonNode& document, const std::string& path,
                     const std::vector<std::string>& keys, const std::string& what) {
  const std::string below = path + '.';
  const std::string problem = "does not belong to " + what;
  for (const JsonNode& member : nearest_node(document, path).children()) {
    const std::string& key = member.key();
    const bool comment = !key.empty() && key[0] == '$';
    if (!comment && std::find(keys.begin(), keys.end(), key) == keys.end())
      fail_check(document, below + key, problem);
  }
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "fabric/explicit_topology.h"

#include <unordered_map>

#include "fabric/nic_places.h"

namespace rnicsim {
namespace {

class ExplicitBuilder {
 public:
  ExplicitBuilder(const ExplicitConfig& config, const std::vector<std::string>& end_points)
      : config_(config), topology_(end_points) {
    for (std::uint32_t i = 0; i < topology_.end_points(); ++i) {
      const std::string& name = topology_.node(i).name;
      Nics& nics = nics_of_[name.substr(0, name.rfind('.'))];
      ++nics.count;
      nics.last = i;
    }
  }

  Topology run() {
    for (std::size_t i = 0; i < config_.switches.size(); ++i) add_switch(i);
    for (std::size_t i = 0; i < config_.links.size(); ++i) add_link(i);
    for (std::uint32_t nic = 0; nic < topology_.end_points(); ++nic)
      if (topology_.node(nic).ports() == 0)
        throw topology_error("explicit.links", in_quotes(topology_.node(nic).name) +
                                                   " is a NIC of the scenario and has no link");
    topology_.set_tiers_by_distance();
    return std::move(topology_);
  }

 private:
  void add_switch(std::size_t i) {
    const ExplicitSwitch& one = config_.switches[i];
    if (topology_.find(one.name))
      throw topology_error("explicit.switches." + std::to_string(i) + ".name",
                           in_quotes(one.name) + " is already the name of another node");
    const std::uint32_t node = topology_.add_switch(one.name, 0);
    if (one.latency) topology_.set_latency(node, *one.latency);
  }

  /// The node of that name; of a host's name its NIC, if it has only one.
  std::uint32_t find(const std::string& name, const std::string& path) const {
    if (const auto node = topology_.find(name)) return *node;
    const auto host = nics_of_.find(name);
    if (host != nics_of_.end() && host->second.count == 1) return host->second.last;
    if (host != nics_of_.end())
      throw topology_error(path, in_quotes(name) + " has several NICs: say which, such as " +
                                     in_quotes(topology_.node(host->second.last).name));
    std::vector<std::string> known;
    for (const TopologyNode& node : topology_.nodes()) known.push_back(node.name);
    throw topology_error(path, "unknown switch or NIC " + in_quotes(name), nearest_of(name, known));
  }

  void check_nic(std::uint32_t node, const ExplicitLink& link, const std::string& path) const {
    if (topology_.node(node).is_switch) return;
    if (topology_.node(node).ports() > 0 || link.count > 1)
      throw topology_error(
          path, in_quotes(topology_.node(node).name) + " is a NIC's port and takes one link only");
    if (link.one_way)
      throw topology_error(path, in_quotes(topology_.node(node).name) +
                                     " is a NIC, and \"one_way\" is for links between switches");
  }

  void add_link(std::size_t i) {
    const ExplicitLink& link = config_.links[i];
    const std::string path = "explicit.links." + std::to_string(i);
    const std::uint32_t a = find(link.from, path + ".from");
    const std::uint32_t b = find(link.to, path + ".to");
    if (a == b) throw topology_error(path + ".to", "is the same as \"from\"");
    check_nic(a, link, path + ".from");
    check_nic(b, link, path + ".to");
    LinkTraits own;
    own.rate = link.rate;
    if (link.length) own.delay = link.length->propagation();
    own.one_way = link.one_way;
    const bool switches = topology_.node(a).is_switch && topology_.node(b).is_switch;
    for (std::uint32_t n = 0; n < link.count; ++n)
      topology_.connect(a, b, switches ? LinkClass::kFabric : LinkClass::kHost, own);
  }

  struct Nics {
    std::uint32_t count = 0;
    std::uint32_t last = 0;
  };

  const ExplicitConfig& config_;
  Topology topology_;
  std::unordered_map<std::string, Nics> nics_of_;  ///< of a host
};

}  // namespace

Topology build_explicit(const ExplicitConfig& config, const std::vector<std::string>& end_points) {
  return ExplicitBuilder(config, end_points).run();
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "fabric/hpcc_topology.h"

#include <algorithm>

#include "fabric/nic_places.h"
#include "fabric/text_lines.h"

namespace rnicsim {
namespace {

using NodeType = HpccTopology::NodeType;

constexpr std::uint64_t kMaxNodes = std::uint64_t{1} << 17;

bool is_nv_link(const HpccTopology& source, const HpccTopology::Link& link) {
  return source.nodes[link.from] == NodeType::kNvSwitch ||
         source.nodes[link.to] == NodeType::kNvSwitch;
}

class HpccReader {
 public:
  HpccReader(std::string_view text, const std::string& file) : lines_(text, file) {
    topology_.file = file;
  }

  HpccTopology run() {
    read_header();
    read_switches();
    read_links();
    check_hosts();
    return std::move(topology_);
  }

 private:
  std::uint32_t count(std::size_t word, const char* what) const {
    return static_cast<std::uint32_t>(lines_.whole_number(word, kMaxNodes, what));
  }

  void read_header() {
    lines_.next();
    header_ = lines_.line();
    const std::size_t words = lines_.words().size();
    if (words != 3 && words != 4 && words != 6)
      throw lines_.error(
          "a header of 3 numbers (HPCC: nodes switches links), 4 (ns3-datacenter: "
          "nodes switches tors links) or 6 words (SimAI: nodes gpus_per_server "
          "nvswitches switches links gpu_type)",
          std::to_string(words) + " words");
    topology_.nodes.resize(count(0, "number of nodes"));
    if (words == 6) {
      topology_.gpus_per_server = count(1, "GPUs per server");
      nv_switches_ = count(2, "number of NVSwitches");
      switches_ = count(3, "number of switches");
      links_ = count(4, "number of links");
      topology_.gpu_type = lines_.words()[5];
      return;
    }
    switches_ = count(1, "number of switches");
    if (words == 4) topology_.tors = count(2, "number of ToR switches");
    links_ = count(words - 1, "number of links");
    if (topology_.tors > switches_)
      throw lines_.error("at most as many ToR switches as switches, " + std::to_string(switches_),
                         std::to_string(topology_.tors));
  }

  void read_switches() {
    const std::uint32_t all = nv_switches_ + switches_;
    if (all == 0) return;
    lines_.next();
    if (lines_.words().size() != all)
      throw lines_.error(
          std::to_string(all) + " ids of switches, as line " + std::to_string(header_) + " says",
          std::to_string(lines_.words().size()));
    for (std::uint32_t i = 0; i < all; ++i) {
      const std::uint32_t id = node(i, "id of a switch");
      if (topology_.nodes[id] != NodeType::kHost)
        throw lines_.error("", "switch " + std::to_string(id) + " is named twice");
      topology_.nodes[id] = i < nv_switches_ ? NodeType::kNvSwitch : NodeType::kSwitch;
      if (i >= nv_switches_) topology_.switches.push_back(id);
    }
  }

  std::uint32_t node(std::size_t word, const char* what) const {
    if (topology_.nodes.empty()) throw lines_.error("", "the header says that there are no nodes");
    return static_cast<std::uint32_t>(lines_.whole_number(word, topology_.nodes.size() - 1, what));
  }

  /// Prose hardly begins with two numbers.
  bool is_link() const {
    const auto& words = lines_.words();
    return words.size() >= 2 && TextLines::is_whole_number(words[0]) &&
           TextLines::is_whole_number(words[1]);
  }

  void read_links() {
    std::uint32_t found = 0;
    bool at_end = true;
    while (lines_.next_with_words()) {
      at_end = is_link();
      if (!at_end) break;
      if (found++ < links_) read_link();
    }
    if (found != links_)
      throw lines_.error("", "line " + std::to_string(header_) + " says " + std::to_string(links_) +
                                 " links, the body has " + std::to_string(found) +
                                 (at_end ? "" : " before this line"));
  }

  void read_link() {
    if (lines_.words().size() != 5)
      throw lines_.error("a link: src dst rate delay error_rate",
                         std::to_string(lines_.words().size()) + " words");
    HpccTopology::Link link;
    link.from = node(0, "id of a node");
    link.to = node(1, "id of a node");
    link.rate = lines_.ns3_rate(2, "a rate");
    link.delay = lines_.ns3_time(3, "a delay");
    link.loss = lines_.probability(4, "an error rate");
    if (link.from == link.to)
      throw lines_.error("", "a link from node " + std::to_string(link.from) + " to itself");
    topology_.links.push_back(link);
  }

  void check_hosts() const {
    const auto hosts = static_cast<std::uint64_t>(
        std::count(topology_.nodes.begin(), topology_.nodes.end(), NodeType::kHost));
    if (hosts == 0)
      throw lines_.error_at(header_, "",
                            "all " + std::to_string(topology_.nodes.size()) +
                                " nodes are switches: there is no host");
    std::vector<bool> linked(topology_.nodes.size());
    for (const HpccTopology::Link& link : topology_.links) {
      if (is_nv_link(topology_, link)) continue;
      linked[link.from] = true;
      linked[link.to] = true;
    }
    for (std::size_t id = 0; id < topology_.nodes.size(); ++id)
      if (topology_.nodes[id] == NodeType::kHost && !linked[id])
        throw lines_.error_at(header_, "", "host " + std::to_string(id) + " has no link");
  }

  TextLines lines_;
  HpccTopology topology_;
  int header_ = 0;
  std::uint32_t switches_ = 0;
  std::uint32_t nv_switches_ = 0;
  std::uint32_t links_ = 0;
};

/// The first NIC port of each host, by node; the last element is the number of all.
std::vector<std::uint32_t> first_nics(const HpccTopology& source) {
  std::vector<std::uint32_t> ports(source.nodes.size() + 1);
  for (const HpccTopology::Link& link : source.links) {
    if (is_nv_link(source, link)) continue;
    if (source.nodes[link.from] == NodeType::kHost) ++ports[link.from + 1];
    if (source.nodes[link.to] == NodeType::kHost) ++ports[link.to + 1];
  }
  for (std::size_t i = 1; i < ports.size(); ++i) ports[i] += ports[i - 1];
  return ports;
}

LinkClass class_of(const HpccTopology& source, const HpccTopology::Link& link) {
  const bool to_host =
      source.nodes[link.from] == NodeType::kHost || source.nodes[link.to] == NodeType::kHost;
  return to_host ? LinkClass::kHost : LinkClass::kFabric;
}

LinkTraits traits_of(const HpccTopology::Link& link) {
  LinkTraits own;
  own.rate = link.rate;
  own.delay = link.delay;
  own.loss = link.loss;
  return own;
}

void note_omitted(const HpccTopology& source, Topology& topology, std::uint32_t nics,
                  std::uint32_t nv_links) {
  if (nics > topology.end_points())
    topology.notes.push_back(std::to_string(nics - topology.end_points()) + " of " +
                             std::to_string(nics) + " NICs of " + source.file +
                             " are none of the scenario: their places stay empty");
  if (nv_links > 0)
    topology.notes.push_back(std::to_string(nv_links) + " links to NVSwitches of " + source.file +
                             " are left out: they are no Ethernet");
}

}  // namespace

HpccTopology read_hpcc_topology(std::string_view text, const std::string& file) {
  return HpccReader(text, file).run();
}

std::vector<std::uint32_t> HpccTopology::nic_hosts() const {
  const std::vector<std::uint32_t> first = first_nics(*this);
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t id = 0; id < nodes.size(); ++id)
    hosts.insert(hosts.end(), first[id + 1] - first[id], id);
  return hosts;
}

Topology build_hpcc(const HpccTopology& source, const std::vector<std::string>& end_points) {
  std::vector<std::uint32_t> next_nic = first_nics(source);
  const std::uint32_t nics = next_nic.back();
  Topology topology(end_points);
  NicPlaces(topology).require(nics, source.file, "hpcc.file");
  std::vector<std::uint32_t> switch_of(source.nodes.size());
  for (const std::uint32_t id : source.switches)
    switch_of[id] = topology.add_switch("switch" + std::to_string(id), 0);
  // The node of a link's end, or none if the scenario has no such NIC.
  const auto end = [&](std::uint32_t id) -> std::optional<std::uint32_t> {
    if (source.nodes[id] != NodeType::kHost) return switch_of[id];
    const std::uint32_t nic = next_nic[id]++;
    if (nic < topology.end_points()) return nic;
    return std::nullopt;
  };
  std::uint32_t nv_links = 0;
  for (const HpccTopology::Link& link : source.links) {
    if (is_nv_link(source, link)) {
      ++nv_links;
      continue;
    }
    const auto a = end(link.from);
    const auto b = end(link.to);
    if (a && b)
      topology.connect(*a, *b, class_of(source, link), traits_of(link));
    else if (a || b)
      topology.add_port(a ? *a : *b);
  }
  topology.set_tiers_by_distance();
  note_omitted(source, topology, nics, nv_links);
  return topology;
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "fabric/topology_builder.h"

#include <algorithm>

#include "fabric/clos_topology.h"
#include "fabric/explicit_topology.h"
#include "fabric/hpcc_topology.h"
#include "fabric/htsim_topology.h"
#include "fabric/nic_places.h"
#include "fabric/text_lines.h"

namespace rnicsim {
namespace {

using Names = std::vector<std::string>;

std::string host_of(const std::string& end_point) {
  return end_point.substr(0, end_point.rfind('.'));
}

/// "A, B and 3 more"
std::string listed(const Names& nics) {
  constexpr std::size_t kShown = 4;
  if (nics.empty()) return "none";
  std::string text = nics[0];
  for (std::size_t i = 1; i < std::min(nics.size(), kShown); ++i) text += ", " + nics[i];
  if (nics.size() > kShown) text += " and " + std::to_string(nics.size() - kShown) + " more";
  return text;
}

Topology back_to_back(const Names& nics) {
  const std::size_t half = nics.size() / 2;
  std::size_t first_host = 0;
  while (first_host < nics.size() && host_of(nics[first_host]) == host_of(nics[0])) ++first_host;
  bool two_hosts = nics.size() >= 2 && first_host == half && nics.size() % 2 == 0;
  for (std::size_t i = half; two_hosts && i < nics.size(); ++i)
    two_hosts = host_of(nics[i]) == host_of(nics[half]);
  if (!two_hosts)
    throw topology_error(
        "topology", "back_to_back needs 2 hosts with equally many NICs, found " + listed(nics));
  Topology topology(nics);
  for (std::size_t i = 0; i < half; ++i)
    topology.connect(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(half + i),
                     LinkClass::kHost);
  return topology;
}

Topology star(const Names& nics) {
  Topology topology(nics);
  NicPlaces places(topology);
  places.attach(topology.add_switch("switch0", 1), static_cast<std::uint32_t>(nics.size()));
  return topology;
}

void connect_parallel(Topology& topology, std::uint32_t a, std::uint32_t b, std::uint32_t links,
                      LinkClass link_class = LinkClass::kFabric, const LinkTraits& own = {}) {
  for (std::uint32_t i = 0; i < links; ++i) topology.connect(a, b, link_class, own);
}

Topology dumbbell(const DumbbellConfig& config, const Names& nics) {
  const auto all = static_cast<std::uint32_t>(nics.size());
  const std::uint32_t at_left = config.left_nics.value_or((all + 1) / 2);
  if (at_left > all)
    throw topology_error("dumbbell.left_nics", "says " + std::to_string(at_left) +
                                                   " NICs are at the left switch, the "
                                                   "scenario has " +
                                                   std::to_string(all));
  Topology topology(nics);
  NicPlaces places(topology);
  const std::uint32_t left = topology.add_switch("left", 1);
  const std::uint32_t right = topology.add_switch("right", 1);
  places.attach(left, at_left);
  places.attach(right, all - at_left);
  connect_parallel(topology, left, right, config.links);
  return topology;
}

/// switch0, switch1, ... with the NICs spread evenly, the first or the last taking what is left
/// over. Returns the first.
std::uint32_t add_row(Topology& topology, std::uint32_t switches, bool last_take_more) {
  NicPlaces places(topology);
  const std::uint32_t all = topology.end_points();
  const std::uint32_t more = all % switches;
  for (std::uint32_t i = 0; i < switches; ++i) {
    const bool one_more = last_take_more ? i >= switches - more : i < more;
    places.attach(topology.add_switch("switch" + std::to_string(i), 1),
                  all / switches + (one_more ? 1 : 0));
  }
  return all;
}

Topology parking_lot(const ParkingLotConfig& config, const Names& nics) {
  Topology topology(nics);
  const std::uint32_t first = add_row(topology, config.switches, true);
  for (std::uint32_t i = 0; i + 1 < config.switches; ++i)
    connect_parallel(topology, first + i, first + i + 1, config.links_per_pair);
  return topology;
}

Topology ring(const RingConfig& config, const Names& nics) {
  Topology topology(nics);
  const std::uint32_t first = add_row(topology, config.switches, false);
  LinkTraits own;
  own.one_way = config.routes == RingRoutes::kClockwise;
  for (std::uint32_t i = 0; i < config.switches; ++i)
    connect_parallel(topology, first + i, first + (i + 1) % config.switches, config.links_per_pair,
                     LinkClass::kFabric, own);
  return topology;
}

Topology leaf_spine(const LeafSpineConfig& config, const Names& nics) {
  ClosShape shape;
  shape.edges = config.leaves;
  shape.places = config.nics_per_leaf;
  shape.aggregations = config.spines;
  shape.edge_links = config.links_per_pair;
  return build_clos(shape, nics, "leaf_spine with " + std::to_string(config.leaves) + " leaves",
                    "leaf_spine.nics_per_leaf");
}

Topology fat_tree(const FatTreeConfig& config, const Names& nics) {
  const std::uint32_t half = config.k / 2;
  ClosShape shape;
  shape.pods = config.k;
  shape.edges = half;
  shape.places = half;
  shape.aggregations = half;
  shape.cores = half;
  return build_clos(shape, nics, "fat_tree with k = " + std::to_string(config.k), "fat_tree.k");
}

/// Every group's global ports are counted through its routers. In each round of groups - 1 ports a
/// group has one link to every other; rounds that its ports do not fill are left out.
void connect_groups(Topology& topology, const DragonflyConfig& config, std::uint32_t first) {
  const std::uint32_t others = config.groups - 1;
  const std::uint32_t rounds = config.routers * config.global_links / others;
  const auto router_of = [&](std::uint32_t group, std::uint32_t round, std::uint32_t peer) {
    const std::uint32_t port = round * others + (peer < group ? peer : peer - 1);
    return first + group * config.routers + port / config.global_links;
  };
  for (std::uint32_t group = 0; group < config.groups; ++group)
    for (std::uint32_t round = 0; round < rounds; ++round)
      for (std::uint32_t peer = group + 1; peer < config.groups; ++peer)
        topology.connect(router_of(group, round, peer), router_of(peer, round, group),
                         LinkClass::kGlobal);
  const std::uint32_t unused = config.routers * config.global_links - rounds * others;
  if (unused > 0)
    topology.notes.push_back("of each group's " +
                             std::to_string(config.routers * config.global_links) +
                             " global links " + std::to_string(unused) +
                             " stay unused: they do not suffice for one more to every group");
}

Topology dragonfly(const DragonflyConfig& config, const Names& nics) {
  Topology topology(nics);
  NicPlaces places(topology);
  places.require(std::uint64_t{config.groups} * config.routers * config.nics_per_router,
                 "dragonfly with " + std::to_string(config.groups) + " groups of " +
                     std::to_string(config.routers) + " routers",
                 "dragonfly.nics_per_router");
  const std::uint32_t first = topology.end_points();
  for (std::uint32_t group = 0; group < config.groups; ++group)
    for (std::uint32_t router = 0; router < config.routers; ++router)
      places.attach(
          topology.add_switch("router" + std::to_string(group) + '_' + std::to_string(router), 1),
          config.nics_per_router);
  for (std::uint32_t group = 0; group < config.groups; ++group) {
    const std::uint32_t base = first + group * config.routers;
    for (std::uint32_t a = 0; a < config.routers; ++a)
      for (std::uint32_t b = a + 1; b < config.routers; ++b)
        topology.connect(base + a, base + b, LinkClass::kFabric);
  }
  connect_groups(topology, config, first);
  places.note_empty();
  return topology;
}

Topology build(const TopologyConfig& config, const Names& nics, const std::string& folder) {
  const auto from_folder = [&](const std::string& file) {
    return file[0] == '/' || folder.empty() ? file : folder + '/' + file;
  };
  switch (config.kind) {
    case TopologyKind::kBackToBack:
      return back_to_back(nics);
    case TopologyKind::kStar:
      return star(nics);
    case TopologyKind::kDumbbell:
      return dumbbell(config.dumbbell.value_or(DumbbellConfig()), nics);
    case TopologyKind::kParkingLot:
      return parking_lot(config.parking_lot.value_or(ParkingLotConfig()), nics);
    case TopologyKind::kLeafSpine:
      return leaf_spine(*config.leaf_spine, nics);
    case TopologyKind::kFatTree:
      return fat_tree(*config.fat_tree, nics);
    case TopologyKind::kDragonfly:
      return dragonfly(*config.dragonfly, nics);
    case TopologyKind::kRing:
      return ring(config.ring.value_or(RingConfig()), nics);
    case TopologyKind::kExplicit:
      return build_explicit(*config.explicit_lists, nics);
    case TopologyKind::kHpcc: {
      const std::string file = from_folder(config.hpcc->file);
      return build_hpcc(read_hpcc_topology(read_text_file(file), file), nics);
    }
    case TopologyKind::kHtsim:
      break;
  }
  const std::string file = from_folder(config.htsim->file);
  return build_htsim(read_htsim_topology(read_text_file(file), file), nics);
}

}  // namespace

Topology build_topology(const TopologyConfig& config, const Names& end_points,
                        const std::string& folder) {
  try {
    return build(config, end_points, folder);
  } catch (const ConfigError& error) {
    if (!error.detail().file.empty() || !error.detail().path.empty()) throw;
    throw topology_error("topology", error.detail().found);
  }
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "fabric/topology_config.h"

#include "model/config_error.h"

namespace rnicsim {
namespace {

constexpr std::uint32_t kMaxSwitches = 4096;
constexpr std::uint32_t kMaxParallel = 64;

}  // namespace

const char* name_of(TopologyKind kind) {
  constexpr const char* kNames[] = {"back_to_back", "star",     "dumbbell",  "parking_lot",
                                    "leaf_spine",   "fat_tree", "dragonfly", "ring",
                                    "explicit",     "hpcc",     "htsim"};
  return kNames[static_cast<unsigned>(kind)];
}

void DumbbellConfig::describe(Fields& f) {
  f.optional("left_nics", left_nics, range(1, 65536),
             "NICs at the left switch, the others are at the right one; half of them, rounded up, "
             "if not given");
  f.field("links", links, range(1U, kMaxParallel), "parallel links between the two switches");
}

void ParkingLotConfig::describe(Fields& f) {
  f.field("switches", switches, range(2U, kMaxSwitches),
          "switches in a row; NICs are spread evenly in their order, the last switches take what "
          "is left over");
  f.field("links_per_pair", links_per_pair, range(1U, kMaxParallel),
          "parallel links between neighbours");
}

void LeafSpineConfig::describe(Fields& f) {
  f.required().field("leaves", leaves, range(1U, kMaxSwitches), "switches that have NICs");
  f.required().field("spines", spines, range(1U, kMaxSwitches), "switches that join all leaves");
  f.field("links_per_pair", links_per_pair, range(1U, kMaxParallel),
          "parallel links of each leaf to each spine");
  f.optional("nics_per_leaf", nics_per_leaf, range(1, 4096),
             "places for NICs at each leaf, filled in order; spread evenly if not given");
}

void FatTreeConfig::describe(Fields& f) {
  f.required().field("k", k, range(2, 64),
                     "ports of each switch, even: k pods, k^3/4 places for NICs");
  f.check(k % 2 == 0, "k", "must be even");
}

void DragonflyConfig::describe(Fields& f) {
  f.required().field("groups", groups, range(2U, kMaxSwitches), "groups of routers");
  f.required().field("routers", routers, range(1, 128),
                     "routers of each group, every one linked with every other");
  f.required().field("nics_per_router", nics_per_router, range(1, 128),
                     "places for NICs at each router, filled in order");
  f.required().field("global_links", global_links, range(1, 128),
                     "links of each router to other groups");
  f.check(routers * global_links >= groups - 1, "global_links",
          std::to_string(routers) + " routers with " + std::to_string(global_links) +
              " each reach at most " + std::to_string(routers * global_links) +
              " other groups, there are " + std::to_string(groups - 1));
}

void RingConfig::describe(Fields& f) {
  f.field("switches", switches, range(3U, kMaxSwitches),
          "switches in a ring; NICs are spread evenly in their order");
  f.field("links_per_pair", links_per_pair, range(1U, kMaxParallel),
          "parallel links between neighbours");
  f.choice("routes", routes,
           {{"shortest", RingRoutes::kShortest}, {"clockwise", RingRoutes::kClockwise}},
           "clockwise: from each switch to the next only, so that buffers wait for one another in "
           "a circle");
}

void ExplicitSwitch::describe(Fields& f) {
  f.required().identifier("name", name, "name of the switch");
  f.optional("latency", latency, range(Time(), Time::ms(1)),
             "of its pipeline, in place of the one configured for all");
}

void ExplicitLink::describe(Fields& f) {
  f.required().field("from", from, "a switch, a NIC such as \"A.nic0\", or a host with one NIC");
  f.required().field("to", to, "what it is connected with");
  f.field("count", count, range(1U, kMaxParallel), "parallel links");
  f.optional("rate", rate, range(BitRate(1000000), BitRate::gbps(3200)),
             "in place of the one configured for all");
  f.optional("length", length, range(Length(0), Length::m(100000)),
             "in place of the one configured for all");
  f.field("one_way", one_way,
          "between switches: routes lead over it only as it is written, from `from` to `to`");
}

void ExplicitConfig::describe(Fields& f) {
  f.list("switches", switches, ListLimits{0, 65536}, "the switches");
  f.required().list("links", links, ListLimits{1, 65536},
                    "the links; a switch's ports are numbered in their order");
}

void TopologyFileConfig::describe(Fields& f) {
  f.required().field("file", file, "name of the file, relative to the scenario's folder");
  f.check(!file.empty(), "file", "is empty");
}

void TopologyConfig::describe(Fields& f) {
  f.choice("topology", kind,
           {{"back_to_back", TopologyKind::kBackToBack},
            {"star", TopologyKind::kStar},
            {"dumbbell", TopologyKind::kDumbbell},
            {"parking_lot", TopologyKind::kParkingLot},
            {"leaf_spine", TopologyKind::kLeafSpine},
            {"fat_tree", TopologyKind::kFatTree},
            {"dragonfly", TopologyKind::kDragonfly},
            {"ring", TopologyKind::kRing},
            {"explicit", TopologyKind::kExplicit},
            {"hpcc", TopologyKind::kHpcc},
            {"htsim", TopologyKind::kHtsim}},
           "back_to_back: two hosts, no switch; star: one switch; explicit: lists of switches and "
           "links; hpcc, htsim: a file of these simulators");
  f.optional("dumbbell", dumbbell, "two switches and the bottleneck between them");
  f.optional("parking_lot", parking_lot, "switches in a row");
  f.optional("leaf_spine", leaf_spine, "two tiers, every leaf linked with every spine");
  f.optional("fat_tree", fat_tree, "three tiers of equal switches, no oversubscription");
  f.optional("dragonfly", dragonfly, "groups of routers with few long links between groups");
  f.optional("ring", ring, "switches in a circle");
  f.optional("explicit", explicit_lists, "any topology, link by link");
  f.optional("hpcc", hpcc, "topology file of HPCC, ns3-datacenter or SimAI");
  f.optional("htsim", htsim, "topology file (.topo) of htsim");
  check_choice(f);
}

void TopologyConfig::check_choice(Fields& f) const {
  const auto check = [&](TopologyKind owner, bool given, bool needed) {
    const std::string name = name_of(owner);
    f.check(!given || kind == owner, name_of(owner),
            "belongs to topology \"" + name + "\", and \"topology\" is \"" + name_of(kind) + '"');
    f.check(given || !needed || kind != owner, name_of(owner),
            "missing; topology \"" + name + "\" needs it");
  };
  check(TopologyKind::kDumbbell, dumbbell.has_value(), false);
  check(TopologyKind::kParkingLot, parking_lot.has_value(), false);
  check(TopologyKind::kLeafSpine, leaf_spine.has_value(), true);
  check(TopologyKind::kFatTree, fat_tree.has_value(), true);
  check(TopologyKind::kDragonfly, dragonfly.has_value(), true);
  check(TopologyKind::kRing, ring.has_value(), false);
  check(TopologyKind::kExplicit, explicit_lists.has_value(), true);
  check(TopologyKind::kHpcc, hpcc.has_value(), true);
  check(TopologyKind::kHtsim, htsim.has_value(), true);
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The settings of a topology: its name and the parameters of the one that is chosen.
//
//   "fabric": { "topology": "leaf_spine", "leaf_spine": { "leaves": 4, "spines": 2 }, ... }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/config_reader.h"
#include "model/units.h"

namespace rnicsim {

enum class TopologyKind : std::uint8_t {
  kBackToBack,
  kStar,
  kDumbbell,
  kParkingLot,
  kLeafSpine,
  kFatTree,
  kDragonfly,
  kRing,
  kExplicit,
  kHpcc,
  kHtsim,
};
/// As scenario files write it.
const char* name_of(TopologyKind kind);

struct DumbbellConfig {
  std::optional<std::uint32_t> left_nics;
  std::uint32_t links = 1;
  void describe(Fields& fields);
};

struct ParkingLotConfig {
  std::uint32_t switches = 3;
  std::uint32_t links_per_pair = 1;
  void describe(Fields& fields);
};

struct LeafSpineConfig {
  std::uint32_t leaves = 4;
  std::uint32_t spines = 2;
  std::uint32_t links_per_pair = 1;
  std::optional<std::uint32_t> nics_per_leaf;
  void describe(Fields& fields);
};

struct FatTreeConfig {
  std::uint32_t k = 4;
  void describe(Fields& fields);
};

struct DragonflyConfig {
  std::uint32_t groups = 9;
  std::uint32_t routers = 4;          ///< of a group
  std::uint32_t nics_per_router = 2;  ///< half as many as routers balances the load
  std::uint32_t global_links = 2;     ///< of a router
  void describe(Fields& fields);
};

enum class RingRoutes : std::uint8_t { kShortest, kClockwise };

struct RingConfig {
  std::uint32_t switches = 3;
  std::uint32_t links_per_pair = 1;
  RingRoutes routes = RingRoutes::kShortest;
  void describe(Fields& fields);
};

struct ExplicitSwitch {
  std::string name;
  std::optional<Time> latency;
  void describe(Fields& fields);
};

struct ExplicitLink {
  std::string from;
  std::string to;
  std::uint32_t count = 1;
  std::optional<BitRate> rate;
  std::optional<Length> length;
  bool one_way = false;
  void describe(Fields& fields);
};

struct ExplicitConfig {
  std::vector<ExplicitSwitch> switches;
  std::vector<ExplicitLink> links;
  void describe(Fields& fields);
};

struct TopologyFileConfig {
  std::string file;
  void describe(Fields& fields);
};

/// Its fields stand beside others of the object that it is part of.
struct TopologyConfig {
  TopologyKind kind = TopologyKind::kBackToBack;
  std::optional<DumbbellConfig> dumbbell;
  std::optional<ParkingLotConfig> parking_lot;
  std::optional<LeafSpineConfig> leaf_spine;
  std::optional<FatTreeConfig> fat_tree;
  std::optional<DragonflyConfig> dragonfly;
  std::optional<RingConfig> ring;
  std::optional<ExplicitConfig> explicit_lists;
  std::optional<TopologyFileConfig> hpcc;
  std::optional<TopologyFileConfig> htsim;
  void describe(Fields& fields);

 private:
  void check_choice(Fields& fields) const;
};

}  // namespace rnicsim

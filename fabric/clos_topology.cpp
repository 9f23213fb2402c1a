// SPDX-License-Identifier: MIT
#include "fabric/clos_topology.h"

#include "fabric/nic_places.h"

namespace rnicsim {
namespace {

class ClosBuilder {
 public:
  ClosBuilder(const ClosShape& shape, Topology& topology)
      : shape_(shape),
        topology_(topology),
        edges_(shape.pods * shape.edges),
        aggregations_(shape.pods * shape.aggregations),
        first_edge_(topology.end_points()),
        first_aggregation_(first_edge_ + edges_),
        first_core_(first_aggregation_ + aggregations_) {}

  void add_switches(NicPlaces& places) {
    const bool pods = shape_.cores > 0;
    for (std::uint32_t i = 0; i < edges_; ++i)
      places.attach(add(pods ? "edge" : "leaf", i, pods ? shape_.edges : 0, 0), places_of(i),
                    shape_.tiers[0].downlink);
    for (std::uint32_t i = 0; i < aggregations_; ++i)
      add(pods ? "aggregation" : "spine", i, pods ? shape_.aggregations : 0, 1);
    for (std::uint32_t i = 0; i < shape_.aggregations * shape_.cores; ++i) add("core", i, 0, 2);
  }

  void connect() {
    for (std::uint32_t edge = 0; edge < edges_; ++edge) {
      const std::uint32_t pod = edge / shape_.edges;
      for (std::uint32_t i = 0; i < shape_.aggregations; ++i)
        join(first_edge_ + edge, first_aggregation_ + pod * shape_.aggregations + i,
             shape_.edge_links, 1);
    }
    for (std::uint32_t i = 0; i < aggregations_; ++i) {
      const std::uint32_t first = i % shape_.aggregations * shape_.cores;
      for (std::uint32_t core = 0; core < shape_.cores; ++core)
        join(first_aggregation_ + i, first_core_ + first + core, shape_.core_links, 2);
    }
  }

 private:
  /// `of_pod`: so many belong to a pod, and the name says which; 0: there are no pods.
  std::uint32_t add(const std::string& kind, std::uint32_t i, std::uint32_t of_pod, unsigned tier) {
    const std::string number = of_pod == 0
                                   ? std::to_string(i)
                                   : std::to_string(i / of_pod) + '_' + std::to_string(i % of_pod);
    const std::uint32_t node = topology_.add_switch(kind + number, tier + 1);
    if (shape_.tiers[tier].latency) topology_.set_latency(node, *shape_.tiers[tier].latency);
    return node;
  }

  std::uint32_t places_of(std::uint32_t edge) const {
    if (shape_.places) return *shape_.places;
    return topology_.end_points() / edges_ + (edge < topology_.end_points() % edges_ ? 1 : 0);
  }

  void join(std::uint32_t lower, std::uint32_t upper, std::uint32_t links, unsigned tier) {
    for (std::uint32_t i = 0; i < links; ++i)
      topology_.connect(lower, upper, LinkClass::kFabric, shape_.tiers[tier].downlink);
  }

  const ClosShape& shape_;
  Topology& topology_;
  std::uint32_t edges_;
  std::uint32_t aggregations_;
  std::uint32_t first_edge_;
  std::uint32_t first_aggregation_;
  std::uint32_t first_core_;
};

}  // namespace

Topology build_clos(const ClosShape& shape, const std::vector<std::string>& end_points,
                    const std::string& what, const std::string& path) {
  Topology topology(end_points);
  NicPlaces places(topology);
  if (shape.places)
    places.require(std::uint64_t{shape.pods} * shape.edges * *shape.places, what, path);
  ClosBuilder builder(shape, topology);
  builder.add_switches(places);
  builder.connect();
  places.note_empty();
  return topology;
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// Whatever bytes stand in a topology file of htsim: it becomes a topology with routes, or
// ConfigError says in one line why not.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/htsim_topology.h"
#include "fabric/routes.h"
#include "tests/fuzz/reader_fuzz.h"

namespace rnicsim {

void fuzz_reader(std::string_view text) {
  const HtsimTopology source = read_htsim_topology(text, "fuzz.topo");
  std::vector<std::string> nics;
  const std::size_t count = std::min<std::size_t>(source.nodes, 64);
  for (std::size_t i = 0; i < count; ++i) nics.push_back("h" + std::to_string(i));
  const Topology topology = build_htsim(source, nics);
  const Routes routes(topology);
  for (std::uint32_t to = 0; to < count; ++to) routes.first_path(topology, 0, to);
}

}  // namespace rnicsim

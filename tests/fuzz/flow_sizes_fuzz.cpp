// SPDX-License-Identifier: MIT
// Whatever bytes stand in a file of flow sizes: it becomes a distribution whose draws lie between
// its ends, or ConfigError says in one line why not.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "scenarios/engine/flows/flow_sizes.h"
#include "tests/fuzz/reader_fuzz.h"

namespace rnicsim {

void fuzz_reader(std::string_view text) {
  const FlowSizes sizes = FlowSizes::read(text, "fuzz.txt");
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t bytes = sizes.draw(random).count();
    if (bytes < std::max<std::uint64_t>(1, sizes.points().front().bytes) ||
        bytes > sizes.points().back().bytes)
      std::abort();
  }
  if (!(sizes.mean() >= 1)) std::abort();
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// Whatever bytes stand in a file of flow sizes: it becomes a distribution whose draws lie between
// its ends, or ConfigError says in one line why not.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "model/config_error.h"
#include "scenarios/engine/flows/flow_sizes.h"

namespace rnicsim {
namespace {

void read_and_draw(std::string_view text) {
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

}  // namespace
}  // namespace rnicsim

/// SystemC's library, which is linked, asks for it; libFuzzer's main runs.
extern "C" int sc_main(int /*argc*/, char** /*argv*/) { return 2; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    rnicsim::read_and_draw({reinterpret_cast<const char*>(data), size});
  } catch (const rnicsim::ConfigError& error) {
    if (std::strlen(error.what()) == 0 || std::strchr(error.what(), '\n') != nullptr) std::abort();
  }
  return 0;
}

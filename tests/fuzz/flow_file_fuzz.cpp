// SPDX-License-Identifier: MIT
// Whatever bytes stand in a flow file of HPCC or htsim: it becomes flows between hosts that are
// there, or ConfigError says in one line why not.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string_view>
#include <vector>

#include "model/config_error.h"
#include "scenarios/engine/flows/flow_file.h"

namespace rnicsim {
namespace {

constexpr std::uint32_t kHosts = 16;

void read(std::string_view text) {
  std::vector<std::uint32_t> hosts(kHosts);
  std::iota(hosts.begin(), hosts.end(), 0);
  hosts[3] = Flow::kNone;
  const FlowPlan plan = read_flow_file(text, "fuzz.txt", hosts);
  const auto known = [&](std::uint32_t trigger) {
    return trigger == Flow::kNone || trigger < plan.triggers.size();
  };
  for (const Flow& flow : plan.flows)
    if (flow.source >= kHosts || flow.destination >= kHosts || flow.source == flow.destination ||
        flow.bytes == Bytes(0) || flow.start < Time() || !known(flow.trigger) ||
        !known(flow.on_sent) || !known(flow.on_received))
      std::abort();
}

}  // namespace
}  // namespace rnicsim

/// SystemC's library, which is linked, asks for it; libFuzzer's main runs.
extern "C" int sc_main(int /*argc*/, char** /*argv*/) { return 2; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    rnicsim::read({reinterpret_cast<const char*>(data), size});
  } catch (const rnicsim::ConfigError& error) {
    if (std::strlen(error.what()) == 0 || std::strchr(error.what(), '\n') != nullptr) std::abort();
  }
  return 0;
}

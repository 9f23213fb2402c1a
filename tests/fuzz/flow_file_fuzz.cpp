// SPDX-License-Identifier: MIT
// Whatever bytes stand in a flow file of HPCC or htsim: it becomes flows between hosts that are
// there, or ConfigError says in one line why not.
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <vector>

#include "scenarios/engine/flows/flow_file.h"
#include "tests/fuzz/reader_fuzz.h"

namespace rnicsim {
namespace {

constexpr std::uint32_t kHosts = 16;

}  // namespace

void fuzz_reader(std::string_view text) {
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

}  // namespace rnicsim

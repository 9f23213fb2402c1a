// SPDX-License-Identifier: MIT
#include "tools/export/hpcc_output.h"

#include <fmt/format.h>

#include <algorithm>

namespace rnicsim {
namespace {

constexpr std::int64_t kNanosecond = 1000;

/// As HPCC's main program numbers its nodes.
std::uint32_t address_of(std::uint32_t node) {
  return 0x0b000001U + (node / 256 << 16) + (node % 256 << 8);
}

}  // namespace

std::string fct_text(const std::vector<FlowRecord>& flows) {
  std::vector<const FlowRecord*> ended;
  for (const FlowRecord& flow : flows)
    if (flow.finish != Time::never()) ended.push_back(&flow);
  std::stable_sort(ended.begin(), ended.end(),
                   [](const FlowRecord* a, const FlowRecord* b) { return a->finish < b->finish; });
  std::string text;
  for (const FlowRecord* flow : ended)
    text += fmt::format(
        "{:08x} {:08x} {} {} {} {} {} {}\n", address_of(flow->from_node), address_of(flow->to_node),
        flow->source_port, flow->destination_port, flow->bytes, flow->start.ps() / kNanosecond,
        (flow->finish - flow->start).ps() / kNanosecond, flow->ideal.ps() / kNanosecond);
  return text;
}

std::string pfc_text(const std::vector<PauseRecord>& pauses) {
  std::string text;
  for (const PauseRecord& pause : pauses)
    text += fmt::format("{} {} {} {} {}\n", pause.when.ps() / kNanosecond, pause.node,
                        pause.is_switch ? 1 : 0, pause.port + 1, pause.paused ? 1 : 0);
  return text;
}

}  // namespace rnicsim

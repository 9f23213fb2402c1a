// SPDX-License-Identifier: MIT
#include "scenarios/engine/latency_result.h"

namespace rnicsim {
namespace {

constexpr std::array<const char*, kStages> kStageNames = {
    "posting",       "doorbell",         "wqe_fetch", "context_miss", "turn",       "sent_again",
    "own_key",       "translation_miss", "dma_read",  "tx_pipeline",  "port_queue", "pause",
    "serialisation", "propagation",      "switch",    "switch_queue", "rx_queue",   "rx_pipeline",
    "key_check",     "dma_write",        "ack",       "cqe",          "polling"};

}  // namespace

const char* name_of(Stage stage) { return kStageNames[static_cast<std::size_t>(stage)]; }

std::optional<Stage> stage_of_name(std::string_view name) {
  for (std::size_t i = 0; i < kStages; ++i)
    if (name == kStageNames[i]) return static_cast<Stage>(i);
  return std::nullopt;
}

}  // namespace rnicsim

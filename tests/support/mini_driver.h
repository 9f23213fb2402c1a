// SPDX-License-Identifier: MIT
// The least software that brings a NIC to work, for tests: lays tables, rings and regions out in
// flat memory, writes the structures of model/nic_abi there and makes the commands and doorbells
// that announce them. It knows no time: `mmio` is how it reaches the BAR and `run` lets the NIC
// work until it is idle, both given by whoever owns a simulation.
#pragma once

#include <utility>

#include "tests/support/mini_commands.h"
#include "tests/support/mini_completions.h"
#include "tests/support/mini_queue_pairs.h"
#include "tests/support/mini_regions.h"

namespace rnicsim::test {

class MiniDriver : public MiniCommands,
                   public MiniRegions,
                   public MiniCompletions,
                   public MiniQueuePairs {
 public:
  MiniDriver(std::uint8_t* memory, std::size_t size, Mmio mmio, std::function<void()> run)
      : MiniCommands(memory, size, std::move(mmio), std::move(run)),
        MiniRegions(static_cast<MiniCommands&>(*this)),
        MiniCompletions(static_cast<MiniCommands&>(*this)),
        MiniQueuePairs(static_cast<MiniCommands&>(*this)) {}
};

}  // namespace rnicsim::test

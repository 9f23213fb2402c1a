// SPDX-License-Identifier: MIT
// Walks the host-resident translation table (MTT) on behalf of the translation cache: one dependent
// DMA read per level, a limited number of walks at once (the miss registers). The last level
// brings a whole line of neighbouring entries.
//
// Ignores: caching of upper levels (each walk of an n-level table costs n reads).
#pragma once

#include <array>
#include <deque>
#include <string>
#include <vector>

#include "model/callback.h"
#include "model/metrics.h"
#include "model/nic_abi.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "nic/pcie_endpoint.h"

namespace rnicsim {

class MemoryTranslation {
 public:
  static constexpr std::uint32_t kMaxLine = 8;
  struct Walk {
    std::uint64_t line_key = 0;    ///< the translation cache's name for the line
    PhysicalAddress table;         ///< root of the table
    std::uint64_t first_page = 0;  ///< page number within the region of the line's first entry
    std::uint8_t levels = 1;
    std::uint8_t entries = 1;  ///< of the line; never reaches into another table page
    WorkRequestId work_request;
  };
  using Line = std::array<abi::TableEntry, kMaxLine>;
  class Client {
   public:
    virtual ~Client() = default;
    virtual void walked(const Walk& walk, const Line& line) = 0;
  };

  MemoryTranslation(Scheduler& scheduler, PcieEndpoint& pcie, std::uint32_t outstanding,
                    Client& client)
      : scheduler_(scheduler), pcie_(pcie), client_(client), slots_(outstanding) {}

  /// A miss register is free.
  bool has_room() const { return active_ < slots_.size(); }
  /// Queues the walk if all miss registers are taken.
  void start(const Walk& walk);
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  struct Slot {
    Walk walk;
    PhysicalAddress table;
    std::uint8_t level = 0;  ///< levels still to read
    bool active = false;
    std::array<std::uint8_t, kMaxLine * abi::kTableEntryBytes> bytes{};
  };
  void begin(std::size_t at, const Walk& walk);
  void read_level(std::size_t at);
  void level_read(std::uint64_t at);
  void finish(std::size_t at, const Line& line);

  Scheduler& scheduler_;
  PcieEndpoint& pcie_;
  Client& client_;
  std::deque<Slot> slots_;
  Ring<Walk> queue_;
  std::uint32_t active_ = 0;
  std::uint32_t most_active_ = 0;
  std::uint64_t walks_ = 0;
  std::uint64_t reads_ = 0;
  Time busy_;
  Time busy_since_;
  Time stalled_;
  Time stalled_since_;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The registered regions of a mini driver (see mini_driver.h): their pages, the radix tree over
// them, and their entries in the key table.
#pragma once

#include <cstdint>
#include <vector>

#include "model/nic_abi.h"
#include "model/units.h"
#include "tests/support/mini_commands.h"

namespace rnicsim::test {

inline constexpr std::uint8_t kAllRights =
    AccessFlags::kLocalWrite | AccessFlags::kRemoteWrite | AccessFlags::kRemoteRead;

/// A registered region: its pages stand in memory in reverse order, with a gap between them.
struct Region {
  std::uint64_t start = 0;
  std::uint64_t length = 0;
  unsigned log_page = 12;
  MemoryKey key;
  std::vector<std::uint64_t> pages;
  std::uint64_t physical(std::uint64_t virtual_address) const {
    const std::uint64_t page = (virtual_address >> log_page) - (start >> log_page);
    return pages.at(page) + (virtual_address & ((std::uint64_t{1} << log_page) - 1));
  }
};

struct RegionOptions {
  std::uint64_t start = 0x10000;
  std::uint64_t length = 0x8000;
  unsigned log_page = 12;
  std::uint8_t levels = 1;
  std::uint8_t variant = 0x5a;
  std::uint8_t access = kAllRights;
  PdNumber pd{1};
};

class MiniRegions {
 public:
  explicit MiniRegions(MiniCommands& commands) : commands_(commands) {}

  /// Lays it out; no command makes the key valid.
  Region make_region(std::uint32_t index, const RegionOptions& options);
  Region add_region(std::uint32_t index, const RegionOptions& options = {});
  void write_key(std::uint32_t index, const abi::KeyEntry& entry) { entry.write(key_entry(index)); }
  std::uint8_t* key_entry(std::uint32_t index);

 private:
  std::uint64_t write_table(const std::vector<std::uint64_t>& pages, std::uint64_t first,
                            unsigned levels);

  MiniCommands& commands_;
};

}  // namespace rnicsim::test

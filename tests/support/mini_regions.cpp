// SPDX-License-Identifier: MIT
#include "tests/support/mini_regions.h"

#include <algorithm>

namespace rnicsim::test {

Region MiniRegions::make_region(std::uint32_t index, const RegionOptions& options) {
  Region region;
  region.start = options.start;
  region.length = options.length;
  region.log_page = options.log_page;
  region.key = MemoryKey(index, options.variant);
  const std::uint64_t page = std::uint64_t{1} << options.log_page;
  const std::uint64_t first = options.start >> options.log_page;
  const std::uint64_t last = (options.start + options.length - 1) >> options.log_page;
  const std::uint64_t count = last - first + 1;
  const std::uint64_t base =
      commands_.allocate(2 * count * page, std::max<std::uint64_t>(4096, page));
  for (std::uint64_t i = 0; i < count; ++i)
    region.pages.push_back(base + 2 * (count - 1 - i) * page);
  abi::KeyEntry entry;
  entry.valid = true;
  entry.access = AccessFlags(options.access);
  entry.levels = options.levels;
  entry.log_page_size = static_cast<std::uint8_t>(options.log_page);
  entry.key = region.key;
  entry.pd = options.pd;
  entry.start = VirtualAddress(options.start);
  entry.base = entry.start;
  entry.length = options.length;
  entry.table = PhysicalAddress(write_table(region.pages, 0, options.levels));
  write_key(index, entry);
  return region;
}

Region MiniRegions::add_region(std::uint32_t index, const RegionOptions& options) {
  Region region = make_region(index, options);
  commands_.must(abi::CommandOpcode::kEnableKey, index);
  return region;
}

std::uint8_t* MiniRegions::key_entry(std::uint32_t index) {
  return commands_.at(commands_.tables.key_entries.value() +
                      std::uint64_t{index} * abi::KeyEntry::kBytes);
}

/// The radix tree over pages[first...]; returns where its root is.
std::uint64_t MiniRegions::write_table(const std::vector<std::uint64_t>& pages, std::uint64_t first,
                                       unsigned levels) {
  const std::uint64_t table = commands_.allocate(abi::kTablePageBytes);
  const std::uint64_t step = std::uint64_t{1} << (abi::kTableEntriesLog * (levels - 1));
  for (std::uint64_t i = 0; i < 512 && first + i * step < pages.size(); ++i) {
    const std::uint64_t next =
        levels == 1 ? pages[first + i] : write_table(pages, first + i * step, levels - 1);
    abi::TableEntry{true, PhysicalAddress(next)}.write(
        commands_.at(table + i * abi::kTableEntryBytes));
  }
  return table;
}

}  // namespace rnicsim::test

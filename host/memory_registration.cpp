// SPDX-License-Identifier: MIT
#include "host/memory_registration.h"

#include <algorithm>

namespace rnicsim {

namespace {

constexpr std::uint64_t kTableEntries = 1ULL << abi::kTableEntriesLog;
constexpr unsigned kMaxLevels = 3;
constexpr CpuPlane kPlane = CpuPlane::kControl;

}  // namespace

MemoryRegistration::MemoryRegistration(const DriverConfig& config, Memory& memory,
                                       FrameAllocator& frames, CommandChannel& commands,
                                       DmaGuard& guard, Probe& probe)
    : config_(config),
      memory_(memory),
      frames_(frames),
      commands_(commands),
      guard_(guard),
      probe_(probe),
      random_(config.key_seed) {}

Result<MemoryRegion> MemoryRegistration::add(CpuTask& task, PageTable& pages, PdNumber pd,
                                             VirtualAddress address, std::uint64_t length,
                                             AccessFlags access) {
  Time begin = task.now();
  task.core().usage().add_system_call(kPlane);
  task.charge(kPlane, CpuCategory::kSyscall, config_.syscall);
  if (length == 0 || address.value() + (length - 1) < address.value()) return Errno::kInvalid;
  const PageTable::Mapping* mapping = pages.pin(address, Bytes(length));
  if (mapping == nullptr) return Errno::kFault;
  const unsigned log_page = log_of(mapping->page_size);
  const std::uint64_t page_count =
      ((address.value() + length - 1) >> log_page) - (address.value() >> log_page) + 1;
  const bool on_demand = access.allows(AccessFlags::kOnDemand);
  if (on_demand && mapping->gpu != nullptr) {
    pages.unpin(address);
    return Errno::kInvalid;
  }
  const std::uint64_t pages_here = on_demand ? 0 : page_count;
  if (!on_demand)
    task.run(kPlane, CpuCategory::kPinning,
             config_.pin_per_region + config_.pin_per_page * page_count);
  report(task, ProbeKind::kRegisterPin, begin, pages_here << log_page);

  begin = task.now();
  task.run(kPlane, CpuCategory::kTableBuilding,
           config_.table_per_region + config_.table_per_page * pages_here);
  const std::uint32_t index = take_index();
  if (index == 0) {
    pages.unpin(address);
    return Errno::kNoMemory;
  }
  Region& region = by_index_[index];
  region.page_count = page_count;
  region.pages_here = pages_here;
  region.on_demand = on_demand;
  region.pages = &pages;
  region.address = address;
  if (!build_table(region, *mapping)) {
    pages.unpin(address);
    give_index(index);
    return Errno::kNoMemory;
  }
  report(task, ProbeKind::kRegisterTable, begin, region.table.size() * abi::kTablePageBytes);

  begin = task.now();
  task.run(kPlane, CpuCategory::kTableBuilding, config_.key_per_region);
  abi::KeyEntry entry;
  entry.valid = true;
  entry.access = access;
  entry.levels = region.levels;
  entry.log_page_size = static_cast<std::uint8_t>(log_page);
  entry.key = MemoryKey(index, region.variant);
  entry.pd = pd;
  entry.start = address;
  entry.length = length;
  entry.table = region.table.back();
  entry.base = address;
  const DmaGuard::Frames frames = frames_of(region, *mapping);
  const std::uint64_t offset = address.value() & ((1ULL << log_page) - 1);
  guard_.add(index, access, frames, offset, length);
  write_key(index, entry);
  if (commands_.execute(task, abi::CommandOpcode::kEnableKey, index, {}, on_demand ? 1 : 0) !=
      abi::CommandStatus::kOk) {
    write_invalid_key(entry.key);
    guard_.remove(index, frames);
    free_table(region);
    pages.unpin(address);
    give_index(index);
    return Errno::kIo;
  }
  task.settle();
  report(task, ProbeKind::kRegisterKey, begin, entry.key.value());
  ++regions_;
  return MemoryRegion{entry.key, entry.key, pd, address, length};
}

Errno MemoryRegistration::remove(CpuTask& task, MemoryKey key) {
  task.call_kernel(kPlane, config_.syscall);
  const std::uint32_t index = key.index();
  Region* found = find(index);
  if (found == nullptr || found->window || found->variant != key.variant()) return Errno::kInvalid;
  Region& region = *found;
  region.used = false;
  std::uint8_t entry[abi::KeyEntry::kBytes];
  memory_.load(key_address(index), entry, sizeof entry);
  // Invalid in RAM before the NIC forgets it: a packet that arrives in between must not make the
  // NIC fetch a valid entry again.
  write_invalid_key(key);
  const abi::CommandStatus status = commands_.execute(task, abi::CommandOpcode::kDisableKey, index);
  if (status == abi::CommandStatus::kBusy) {
    region.used = true;
    memory_.store(key_address(index), entry, sizeof entry);
    // The NIC may have fetched the invalid entry.
    commands_.execute(task, abi::CommandOpcode::kEnableKey, index);
    return Errno::kBusy;
  }
  if (status != abi::CommandStatus::kOk) return Errno::kIo;
  guard_.remove(index, frames_of(region, *region.pages->find(region.address, Bytes(1))));
  free_table(region);
  task.run(kPlane, CpuCategory::kPinning, config_.unpin_per_page * region.pages_here);
  region.pages->unpin(region.address);
  give_index(index);
  --regions_;
  return Errno::kOk;
}

Result<MemoryWindow> MemoryRegistration::add_window(CpuTask& task, PdNumber pd) {
  task.call_kernel(kPlane, config_.syscall + config_.create_object);
  const std::uint32_t index = take_index();
  if (index == 0) return Errno::kNoMemory;
  by_index_[index].window = true;
  abi::KeyEntry entry;
  entry.window = true;
  entry.key = MemoryKey(index, by_index_[index].variant);
  entry.pd = pd;
  write_key(index, entry);
  if (commands_.execute(task, abi::CommandOpcode::kEnableKey, index) == abi::CommandStatus::kOk)
    return MemoryWindow{entry.key, pd};
  write_invalid_key(entry.key);
  give_index(index);
  return Errno::kIo;
}

Errno MemoryRegistration::remove_window(CpuTask& task, MemoryKey key) {
  task.call_kernel(kPlane, config_.syscall + config_.create_object);
  const std::uint32_t index = key.index();
  Region* window = find(index);
  if (window == nullptr || !window->window) return Errno::kInvalid;
  write_invalid_key(key);
  if (commands_.execute(task, abi::CommandOpcode::kDisableKey, index) != abi::CommandStatus::kOk)
    return Errno::kIo;
  // The next user of the index goes on from the key that the window had last.
  window->variant = key.variant();
  give_index(index);
  return Errno::kOk;
}

DmaGuard::Frames MemoryRegistration::frames_of(const Region& region,
                                               const PageTable::Mapping& mapping) {
  return {mapping.frames.data() + mapping.page_of(region.address), region.page_count,
          log_of(mapping.page_size)};
}

MemoryRegistration::Region* MemoryRegistration::find(std::uint32_t index) {
  const auto found = by_index_.find(index);
  return found != by_index_.end() && found->second.used ? &found->second : nullptr;
}

/// 0: there is none left.
std::uint32_t MemoryRegistration::take_index() {
  const bool random = config_.key_allocation == KeyAllocation::kRandom;
  const std::uint32_t index = random ? random_index() : next_index();
  if (index == 0) return 0;
  Region& region = by_index_[index];
  region.used = true;
  ++region.variant;
  return index;
}

std::uint32_t MemoryRegistration::next_index() {
  if (free_index_.empty()) return next_index_ >> config_.log_keys != 0 ? 0 : next_index_++;
  const std::uint32_t index = free_index_.back();
  free_index_.pop_back();
  return index;
}

/// The first free one from a random one on.
std::uint32_t MemoryRegistration::random_index() {
  const std::uint32_t count = (1u << config_.log_keys) - 1;
  const auto first = static_cast<std::uint32_t>(random_.below(count));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t index = 1 + (first + i) % count;
    if (find(index) != nullptr) continue;
    const auto [region, is_new] = by_index_.try_emplace(index);
    if (is_new) region->second.variant = static_cast<std::uint8_t>(random_.next());
    return index;
  }
  return 0;
}

void MemoryRegistration::give_index(std::uint32_t index) {
  by_index_[index].used = false;
  by_index_[index].window = false;
  if (config_.key_allocation == KeyAllocation::kSequential) free_index_.push_back(index);
}

bool MemoryRegistration::build_table(Region& region, const PageTable::Mapping& mapping) {
  const std::size_t first = mapping.page_of(region.address);
  std::vector<PhysicalAddress> entries(
      mapping.frames.begin() + static_cast<std::ptrdiff_t>(first),
      mapping.frames.begin() + static_cast<std::ptrdiff_t>(first + region.page_count));
  region.levels = 0;
  do {
    std::vector<PhysicalAddress> level;
    const bool present = region.levels != 0 || !region.on_demand;
    const bool complete = region.levels < kMaxLevels && write_level(entries, present, level);
    region.table.insert(region.table.end(), level.begin(), level.end());
    if (!complete) {
      free_table(region);
      return false;
    }
    ++region.levels;
    entries = std::move(level);
  } while (entries.size() > 1);
  return true;
}

void MemoryRegistration::free_table(Region& region) {
  for (const PhysicalAddress page : region.table)
    frames_.release_kernel(page, Bytes(abi::kTablePageBytes));
  table_pages_ -= region.table.size();
  region.table.clear();
}

bool MemoryRegistration::write_level(const std::vector<PhysicalAddress>& entries, bool present,
                                     std::vector<PhysicalAddress>& out) {
  for (std::size_t done = 0; done < entries.size(); done += kTableEntries) {
    const auto page = frames_.allocate_kernel(Bytes(abi::kTablePageBytes));
    if (!page) return false;
    out.push_back(*page);
    ++table_pages_;
    std::uint8_t image[abi::kTablePageBytes] = {};
    const std::size_t count = std::min<std::size_t>(kTableEntries, entries.size() - done);
    for (std::size_t i = 0; present && i < count; ++i)
      abi::TableEntry{true, entries[done + i]}.write(image + i * abi::kTableEntryBytes);
    memory_.store(*page, image, sizeof image);
  }
  return true;
}

/// The lowest level's pages stand first in `table`.
PhysicalAddress MemoryRegistration::table_entry(const Region& region, std::uint64_t page) const {
  return PhysicalAddress(region.table[page >> abi::kTableEntriesLog].value() +
                         (page & (kTableEntries - 1)) * abi::kTableEntryBytes);
}

/// visit(where the page's entry stands, the page) of each; returns how many.
template <class Visit>
std::uint64_t MemoryRegistration::for_each_absent(MemoryKey key, VirtualAddress address,
                                                  std::uint64_t bytes, Visit visit) {
  const Region* region = find(key.index());
  if (region == nullptr || !region->on_demand || region->variant != key.variant() || bytes == 0 ||
      address < region->address)
    return 0;
  const PageTable::Mapping& mapping = *region->pages->find(region->address, Bytes(1));
  const unsigned log_page = log_of(mapping.page_size);
  const std::uint64_t base = region->address.value() >> log_page;
  const std::uint64_t first = (address.value() >> log_page) - base;
  const std::uint64_t last = ((address.value() + bytes - 1) >> log_page) - base;
  std::uint64_t absent = 0;
  for (std::uint64_t page = first; page <= last && page < region->page_count; ++page) {
    const PhysicalAddress entry = table_entry(*region, page);
    std::uint8_t image[abi::kTableEntryBytes];
    memory_.load(entry, image, sizeof image);
    if (abi::TableEntry::read(image).present) continue;
    ++absent;
    visit(entry, mapping.frames[mapping.page_of(region->address) + page]);
  }
  return absent;
}

std::uint64_t MemoryRegistration::absent(MemoryKey key, VirtualAddress address,
                                         std::uint64_t bytes) {
  return for_each_absent(key, address, bytes, [](PhysicalAddress, PhysicalAddress) {});
}

std::uint64_t MemoryRegistration::bring_in(MemoryKey key, VirtualAddress address,
                                           std::uint64_t bytes) {
  const std::uint64_t pages =
      for_each_absent(key, address, bytes, [this](PhysicalAddress entry, PhysicalAddress page) {
        std::uint8_t image[abi::kTableEntryBytes];
        abi::TableEntry{true, page}.write(image);
        memory_.store(entry, image, sizeof image);
      });
  if (pages != 0) by_index_[key.index()].pages_here += pages;
  return pages;
}

void MemoryRegistration::write_key(std::uint32_t index, const abi::KeyEntry& entry) {
  std::uint8_t image[abi::KeyEntry::kBytes];
  entry.write(image);
  memory_.store(key_address(index), image, sizeof image);
}

void MemoryRegistration::write_invalid_key(MemoryKey key) {
  abi::KeyEntry entry;
  entry.key = key;
  write_key(key.index(), entry);
}

void MemoryRegistration::report(CpuTask& task, ProbeKind kind, Time begin,
                                std::uint64_t value) const {
  probe_(task.now(), kind, {}, 0, static_cast<std::uint64_t>(begin.ps()), value);
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "nic/memory_translation.h"

#include <algorithm>

namespace rnicsim {

void MemoryTranslation::start(const Walk& walk) {
  for (std::size_t at = 0; at < slots_.size(); ++at) {
    if (!slots_[at].active) {
      begin(at, walk);
      return;
    }
  }
  if (queue_.empty()) stalled_since_ = scheduler_.now();
  queue_.push(walk);
}

void MemoryTranslation::begin(std::size_t at, const Walk& walk) {
  Slot& slot = slots_[at];
  slot.walk = walk;
  slot.table = walk.table;
  slot.level = walk.levels;
  slot.active = true;
  ++walks_;
  if (active_++ == 0) busy_since_ = scheduler_.now();
  most_active_ = std::max(most_active_, active_);
  read_level(at);
}

void MemoryTranslation::read_level(std::size_t at) {
  Slot& slot = slots_[at];
  const unsigned shift = abi::kTableEntriesLog * (slot.level - 1u);
  const std::uint64_t index = (slot.walk.first_page >> shift) & ((1u << abi::kTableEntriesLog) - 1);
  const bool leaf = slot.level == 1;
  DmaRequest request;
  request.engine = DmaEngineId::kTableRead;
  request.purpose = DmaPurpose::kTranslationTable;
  request.address = PhysicalAddress(slot.table.value() + index * abi::kTableEntryBytes);
  request.bytes = (leaf ? slot.walk.entries : 1u) * abi::kTableEntryBytes;
  request.data = slot.bytes.data();
  request.work_request = slot.walk.work_request;
  request.done = call<&MemoryTranslation::level_read>(this, at);
  ++reads_;
  pcie_.submit(request);
}

void MemoryTranslation::level_read(std::uint64_t at) {
  Slot& slot = slots_[at];
  Line line{};
  if (slot.level > 1) {
    const abi::TableEntry next = abi::TableEntry::read(slot.bytes.data());
    if (!next.present) {
      finish(at, line);
      return;
    }
    slot.table = next.address;
    --slot.level;
    read_level(at);
    return;
  }
  for (std::size_t i = 0; i < slot.walk.entries; ++i)
    line[i] = abi::TableEntry::read(slot.bytes.data() + i * abi::kTableEntryBytes);
  finish(at, line);
}

void MemoryTranslation::finish(std::size_t at, const Line& line) {
  const Walk walk = slots_[at].walk;
  slots_[at].active = false;
  if (--active_ == 0) busy_ += scheduler_.now() - busy_since_;
  if (!queue_.empty()) {
    begin(at, queue_.take());
    if (queue_.empty()) stalled_ += scheduler_.now() - stalled_since_;
  }
  client_.walked(walk, line);
}

void MemoryTranslation::signals(const SignalScope& scope) {
  scope.level(
      "walks", Unit::kCount, "walks of the translation table under way", [this] { return active_; },
      slots_.size());
  scope.level("waiting", Unit::kCount, "walks that wait for a miss register",
              [this] { return queue_.size(); });
}

void MemoryTranslation::report(const MetricScope& scope) const {
  scope.count("walks", walks_, "walks of the host-resident translation table");
  scope.count("table_reads", reads_, "DMA reads that the walks made");
  scope.count("occupancy.max", most_active_, "most walks at once");
  scope.time("busy", busy_, "time with at least one walk under way");
  scope.time("stalled.miss_registers", stalled_, "time in which a walk waited for a miss register");
}

}  // namespace rnicsim

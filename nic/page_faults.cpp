// SPDX-License-Identifier: MIT
#include "nic/page_faults.h"

#include <algorithm>

#include "nic/waiters.h"

namespace rnicsim {

void PageFaultsConfig::describe(Fields& fields) {
  fields.field("outstanding", outstanding,
               range(1, 512),  // the driver's event queue has 1,024 places
               "page faults that the driver may owe an answer to at once");
  fields.field("latency", latency, range(Time(), Time::ms(100)),
               "time that the firmware works on a fault before it tells the driver");
}

PageFaults::Record* PageFaults::find(std::uint32_t key_index, std::uint64_t page) {
  const auto found = std::find_if(records_.begin(), records_.end(), [&](const Record& record) {
    return record.active && record.key_index == key_index && record.page == page;
  });
  return found != records_.end() ? &*found : nullptr;
}

void PageFaults::raise(const abi::PageFault& fault, unsigned log_page, WorkRequestId cause,
                       Callback again) {
  const std::uint64_t page = fault.address.value() >> log_page;
  Record* record = find(fault.key.index(), page);
  if (record != nullptr) {
    ++joined_;
    if (again) add_waiter(record->waiters, again);
    return;
  }
  const auto room = std::find_if(records_.begin(), records_.end(),
                                 [](const Record& candidate) { return !candidate.active; });
  if (room == records_.end()) {
    ++full_;
    if (again) add_waiter(without_record_, again);
    return;
  }
  ++faults_;
  if (active_++ == 0) busy_since_ = scheduler_.now();
  most_ = std::max(most_, active_);
  room->active = true;
  ++room->generation;
  room->key_index = fault.key.index();
  room->page = page;
  room->fault = fault;
  room->cause = cause;
  if (again) room->waiters.push_back(again);
  const auto slot = static_cast<std::uint32_t>(room - records_.begin());
  scheduler_.at(scheduler_.now() + config_.latency,
                call<&PageFaults::tell>(this, std::uint64_t{room->generation} << kSlotBits | slot));
}

void PageFaults::tell(std::uint64_t number) {
  const Record& record = records_[number & ((1U << kSlotBits) - 1)];
  if (!record.active || record.generation != number >> kSlotBits) return;  // its key went
  events_.page_fault(static_cast<std::uint32_t>(number), record.fault, record.cause);
}

void PageFaults::resume(std::uint32_t number) {
  const std::uint32_t slot = number & ((1U << kSlotBits) - 1);
  if (slot >= records_.size() || !records_[slot].active ||
      records_[slot].generation != number >> kSlotBits) {
    ++strays_;
    return;
  }
  end(records_[slot]);
}

void PageFaults::forget(std::uint32_t key_index) {
  for (Record& record : records_)
    if (record.active && record.key_index == key_index) end(record);
}

void PageFaults::reset() {
  in_use_ = false;
  for (Record& record : records_)
    if (record.active) end(record);
}

/// Those who wait are called, and then those who found no record.
void PageFaults::end(Record& record) {
  record.active = false;
  ++ended_;
  if (--active_ == 0) busy_ += scheduler_.now() - busy_since_;
  std::vector<Callback> waiters;
  waiters.swap(record.waiters);
  waiters.insert(waiters.end(), without_record_.begin(), without_record_.end());
  without_record_.clear();
  for (const Callback& waiter : waiters) waiter();
}

void PageFaults::report(const MetricScope& scope) const {
  scope.count("faults", faults_, "page faults of which the driver was told");
  scope.count("joined", joined_, "further accesses to pages whose fault was under way");
  scope.count("stalled.full", full_, "accesses that found no record and looked again later");
  scope.count("strays", strays_, "answers of the driver to faults that were over");
  scope.time("busy", busy_, "time with a page fault under way");
  scope.count("occupancy.max", most_, "most page faults under way at once");
}

}  // namespace rnicsim

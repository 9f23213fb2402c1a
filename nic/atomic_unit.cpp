// SPDX-License-Identifier: MIT
#include "nic/atomic_unit.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim {

namespace {

constexpr std::uint32_t kPageBytes = 4096;

}  // namespace

void AtomicUnitConfig::describe(Fields& fields) {
  fields.field("slots", slots, range(1, kPageBytes),
               "locks, each for an equal share of the byte offsets in a page of 4 KiB");
  fields.field("outstanding", outstanding, range(1, 4096),
               "operations under way or waiting for a lock");
  fields.object("pipeline", pipeline, "an operation before it asks for its lock");
  fields.field("locks", locks,
               "operations on one slot wait for each other; without, concurrent ones lose updates");
}

AtomicUnit::AtomicUnit(Scheduler& scheduler, const Clock& clock, PcieEndpoint& pcie,
                       const AtomicUnitConfig& config)
    : scheduler_(scheduler),
      pipeline_(clock, config.pipeline),
      pcie_(pcie),
      places_(config.outstanding),
      slots_(config.slots),
      locks_(config.locks) {
  for (Ticket ticket = config.outstanding; ticket != 0; --ticket) free_.push_back(ticket - 1);
}

bool AtomicUnit::has_room(Callback when_room) {
  if (!free_.empty()) return true;
  if (want_room_.empty()) full_since_ = scheduler_.now();
  want_room_.push_back(when_room);
  return false;
}

AtomicUnit::Ticket AtomicUnit::submit(const Operation& operation, Callback done) {
  if (idle()) busy_since_ = scheduler_.now();
  const Ticket ticket = free_.back();
  free_.pop_back();
  most_ = std::max(most_, static_cast<std::uint32_t>(places_.size() - free_.size()));
  ++operations_;
  Place& place = places_[ticket];
  place.operation = operation;
  place.done = done;
  place.next = kNone;
  scheduler_.at(pipeline_.enter(scheduler_.now()), call<&AtomicUnit::lock>(this, ticket));
  return ticket;
}

AtomicUnit::Slot& AtomicUnit::slot_of(const Place& place) {
  const std::uint64_t offset = place.operation.address.value() % kPageBytes;
  return slots_[offset * slots_.size() / kPageBytes];
}

void AtomicUnit::lock(std::uint64_t argument) {
  const auto ticket = static_cast<Ticket>(argument);
  if (!locks_) {
    read(ticket);
    return;
  }
  Slot& slot = slot_of(places_[ticket]);
  if (slot.first == kNone) {
    slot.first = slot.last = ticket;
    read(ticket);
    return;
  }
  places_[slot.last].next = ticket;
  slot.last = ticket;
  if (waiting_++ == 0) waiting_since_ = scheduler_.now();
}

void AtomicUnit::dma(Ticket ticket, bool write, Callback done) {
  Place& place = places_[ticket];
  DmaRequest request;
  request.write = write;
  request.engine = DmaEngineId::kPosted;
  request.purpose = DmaPurpose::kAtomic;
  request.address = place.operation.address;
  request.bytes = kBytes;
  request.data = place.value;
  request.work_request = place.operation.work_request;
  request.done = done;
  pcie_.submit(request);
}

void AtomicUnit::read(Ticket ticket) {
  dma(ticket, false, call<&AtomicUnit::compute>(this, ticket));
}

void AtomicUnit::compute(std::uint64_t argument) {
  const auto ticket = static_cast<Ticket>(argument);
  Place& place = places_[ticket];
  const Operation& operation = place.operation;
  place.original = load_le64(place.value);
  if (operation.kind == Kind::kCompareSwap && place.original != operation.compare) {
    ++mismatched_;
    end(ticket);
    return;
  }
  store_le64(place.value, operation.kind == Kind::kCompareSwap
                              ? operation.swap_or_add
                              : place.original + operation.swap_or_add);
  dma(ticket, true, call<&AtomicUnit::end>(this, ticket));
}

void AtomicUnit::end(std::uint64_t argument) {
  Place& place = places_[static_cast<Ticket>(argument)];
  if (locks_) unlock(place);
  place.done();
}

/// Hands the lock to the next in line.
void AtomicUnit::unlock(const Place& place) {
  Slot& slot = slot_of(place);
  slot.first = place.next;
  if (slot.first == kNone) {
    slot.last = kNone;
    return;
  }
  if (--waiting_ == 0) stalled_locks_ += scheduler_.now() - waiting_since_;
  read(slot.first);
}

void AtomicUnit::release(Ticket ticket) {
  free_.push_back(ticket);
  if (idle()) busy_ += scheduler_.now() - busy_since_;
  if (want_room_.empty()) return;
  stalled_outstanding_ += scheduler_.now() - full_since_;
  for (const Callback& waiter : want_room_) scheduler_.at(scheduler_.now(), waiter);
  want_room_.clear();
}

void AtomicUnit::report(const MetricScope& scope) const {
  scope.time("busy", busy_, "time with at least one operation under way");
  scope.count("occupancy.max", most_, "most operations under way at once");
  scope.time("stalled.interval", pipeline_.stalled(), "operations waited for the pipeline");
  scope.time("stalled.locks", stalled_locks_, "time in which an operation waited for its lock");
  scope.time("stalled.outstanding", stalled_outstanding_,
             "time in which an operation waited for a place");
  scope.count("operations", operations_, "compare-and-swaps and fetch-and-adds");
  scope.count("mismatched", mismatched_, "compare-and-swaps whose compare failed");
}

}  // namespace rnicsim

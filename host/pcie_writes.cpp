// SPDX-License-Identifier: MIT
#include "host/pcie_writes.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim {

PcieWrites::PcieWrites(Scheduler& scheduler, const PcieConfig& config,
                       const PcieSurroundings& around, PcieDirection& up, Probe& probe)
    : scheduler_(scheduler),
      config_(config),
      format_(config.format()),
      around_(around),
      up_(up),
      probe_(probe),
      window_(config.ordered_writes) {
  if (around_.guard != nullptr)
    around_.guard->before_change(call<&PcieWrites::guard_entered>(this));
}

std::uint32_t PcieWrites::make(const PcieRequest& request, const std::uint8_t* data) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(writes_.size()));
    writes_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Write& write = writes_[index];
  static_cast<PcieRequest&>(write) = request;
  write.settled = false;
  if (request.supported && (!request.elided || request.interrupt)) {
    if (!write.data) write.data = std::make_unique<std::array<std::uint8_t, kMaxBytes>>();
    std::copy_n(data, request.bytes.count(), write.data->begin());
  }
  return index;
}

Time PcieWrites::effect_latency(const Write& write) const {
  if (write.peer != nullptr) return write.peer->config().write_latency;
  return write.interrupt ? Time() : around_.memory.least_write_latency();
}

void PcieWrites::land(const PcieRequest& request, Time begin, Time end, const std::uint8_t* data) {
  const std::uint32_t index = make(request, data);
  Write& write = writes_[index];
  write.begin = begin;
  if (!write.supported) ++faults_;
  if (around_.route != nullptr && write.supported) {
    route(write, end);
  } else {
    write.begin += config_.root_complex_latency;
    write.arrival =
        std::max(last_arrival_, end + config_.latency_up + config_.root_complex_latency);
  }
  unsettled_.push(index);
  const Time visible = write.arrival + effect_latency(write);
  if (write.relaxed) {
    scheduler_.at(visible, call<&PcieWrites::make_relaxed_visible>(this, index));
    return;
  }
  landing_.push(index);
  scheduler_.at(visible, call<&PcieWrites::make_visible>(this, index));
}

/// Through what lies between the device's link and where it writes. A wire or device on the way
/// that is slower than the link fills the link's receiver; half of its buffer may wait before the
/// credits show it.
void PcieWrites::route(Write& write, Time end) {
  const Bytes bytes = split_write(format_, write.address, write.bytes).link_bytes;
  const Time header = up_.byte_time().of(format_.write_overhead);
  PcieSpan span{write.begin - header, end + config_.latency_up};
  PcieRoute& route = *around_.route;
  span =
      write.peer != nullptr
          ? write.peer->write(route.to_peer(*write.peer, span, bytes, {write.address, write.bytes}),
                              write.bytes, bytes, write.purpose)
          : route.to_root(span, bytes).later(config_.root_complex_latency);
  const Time buffered = up_.byte_time().of(Bytes(config_.posted_data.count() / 2));
  if (span.held > buffered)
    up_.hold_posted_credits(end + config_.latency_up + span.held - buffered +
                            config_.credit_return_latency);
  write.begin = span.first + header;
  // A later write to what is nearer does not overtake.
  last_arrival_ = std::max(last_arrival_, span.last);
  write.arrival = last_arrival_;
}

void PcieWrites::settle(Time until) {
  while (!unsettled_.empty() && writes_[unsettled_.front()].arrival <= until) {
    Write& write = writes_[unsettled_.take()];
    if (write.guarded) around_.ask_guard(write, true, entered(write));
    write.settled = true;
    write.visible = write.arrival + effect_latency(write);
    if (!write.relaxed) write.visible = std::max(write.visible, last_visible_);
    if (write.supported && !write.interrupt && write.peer == nullptr) settle_in_memory(write);
    last_visible_ = std::max(last_visible_, write.visible);
  }
}

/// The memory takes the bytes as they arrive; the root complex passes a write on at once, or in its
/// turn among those that it keeps in order.
void PcieWrites::settle_in_memory(Write& write) {
  write.begin = around_.translated(write.begin, write);
  const bool in_turn = window_.bounded() && !write.relaxed;
  Memory::Access access =
      around_.memory.time_write(in_turn ? window_.begin(write.begin) : write.begin, write.address,
                                write.bytes, write.purpose, write.snoop);
  if (in_turn)
    access.last = std::max(access.last, window_.take(write.begin, write.bytes, access.latency));
  write.visible = std::max({write.visible, access.last, write.arrival + access.latency});
  // A memory slower than the link keeps the receiver's buffer full.
  const Time taken = access.last - access.latency;
  if (taken > write.arrival)
    hold_credits(taken, write.bytes);
  else
    late_.clear();
}

/// Walks overlap, so behind an IOMMU the buffer must not run empty before credits come back.
void PcieWrites::hold_credits(Time taken, Bytes bytes) {
  Time from = taken;
  if (around_.iommu != nullptr) {
    const std::uint64_t room =
        std::min<std::uint64_t>(config_.posted_headers, config_.posted_data / bytes);
    late_.push(taken);
    while (late_.size() > room / 2 + 1) late_.pop();
    if (late_.size() <= room / 2) return;
    from = late_.front();
  }
  up_.hold_posted_credits(from + config_.credit_return_latency);
}

Time PcieWrites::after_writes_to(const PcieRequest& read, Time first) const {
  if (around_.memory.cache() == nullptr) return first;
  const std::uint64_t begin = read.address.value();
  for (std::size_t i = landing_.size(); i-- > 0;) {
    const Write& write = writes_[landing_.at(i)];
    const std::uint64_t at = write.address.value();
    if (write.settled && !write.interrupt && write.peer == nullptr &&
        at < begin + read.bytes.count() && begin < at + write.bytes.count())
      return std::max(first, write.visible);
  }
  return first;
}

/// The guard is about to learn of a change, which is not for the writes that came before it.
void PcieWrites::guard_entered() {
  for (std::size_t i = 0; i < unsettled_.size(); ++i) {
    Write& write = writes_[unsettled_.at(i)];
    if (entered(write) > scheduler_.now()) return;
    if (write.guarded) around_.ask_guard(write, true, entered(write));
  }
}

/// All that is due, in the order of sending; `index` is the write that the entry was made for.
void PcieWrites::make_visible(std::uint64_t index) {
  const Time now = scheduler_.now();
  settle(now);
  if (writes_[index].visible > now) {
    scheduler_.at(writes_[index].visible, call<&PcieWrites::make_visible>(this, index));
    return;
  }
  while (!landing_.empty()) {
    const std::uint32_t first = landing_.front();
    const Write& write = writes_[first];
    if (!write.settled || write.visible > now) return;
    landing_.pop();
    take_effect(first);
  }
}

/// A write that waits for no other, and that no other takes along: its slot is its own till then.
void PcieWrites::make_relaxed_visible(std::uint64_t index) {
  const Time now = scheduler_.now();
  settle(now);
  if (writes_[index].visible > now)
    scheduler_.at(writes_[index].visible, call<&PcieWrites::make_relaxed_visible>(this, index));
  else
    take_effect(static_cast<std::uint32_t>(index));
}

void PcieWrites::take_effect(std::uint32_t index) {
  const Write& write = writes_[index];
  const Bytes bytes = write.bytes;
  const PhysicalAddress address = write.address;
  const bool to_memory = write.supported && !write.interrupt;
  if (to_memory) {
    if (!write.elided && write.peer != nullptr)
      write.peer->poke(address, write.data->data(), bytes.count());
    else if (!write.elided)
      around_.memory.poke(address, write.data->data(), bytes.count());
    if (write.purpose == DmaPurpose::kPayload)
      probe_(scheduler_.now(), ProbeKind::kPayloadLanded, write.work_request, 0,
             static_cast<std::uint64_t>(write.begin.ps()), bytes.count());
  }
  if (write.interrupt)
    around_.interrupts->raise({address, load_be32(write.data->data())}, write.work_request);
  const bool to_ram = to_memory && write.peer == nullptr;
  free_.push_back(index);
  if (to_ram) around_.memory.wrote(address, bytes);
}

}  // namespace rnicsim

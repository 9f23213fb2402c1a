// SPDX-License-Identifier: MIT
#include "host/memory.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "model/invariant.h"

namespace rnicsim {

void MemoryConfig::describe(Fields& fields) {
  fields.field("size", size, range(Bytes(1 << 20), Bytes(std::uint64_t{4} << 40)),
               "physical memory of the host");
  fields.field("bandwidth", bandwidth, range(BitRate::gbps(1), BitRate::gbps(100000)),
               "what DMA reads and writes share of the memory's bandwidth");
  fields.field("read_latency", read_latency, range(Time(), Time::us(100)),
               "from a DMA read at the memory controller to its first data");
  fields.field("write_latency", write_latency, range(Time(), Time::us(100)),
               "from a DMA write's last byte at the memory controller to a CPU seeing it");
  fields.check(size.count() % (2 << 20) == 0 || size < Bytes(2 << 20), "size",
               "must be a multiple of 2 MiB");
}

Memory::Memory(const MemoryConfig& config)
    : config_(config),
      tables_(divide_up(config.size.count(), kFrameBytes * kFramesPerTable)),
      bandwidth_(config.bandwidth) {}

bool Memory::contains(PhysicalAddress address, Bytes bytes) const {
  return address.value() <= config_.size.count() &&
         bytes.count() <= config_.size.count() - address.value();
}

void Memory::require(PhysicalAddress address, std::size_t bytes) const {
  if (contains(address, Bytes(bytes))) return;
  throw InvariantBroken("memory", Time(),
                        "access of " + std::to_string(bytes) + " B at " +
                            std::to_string(address.value()) + " beyond the end");
}

const std::uint8_t* Memory::frame(std::uint64_t number) const {
  const std::unique_ptr<Table>* table = tables_.find(number / kFramesPerTable);
  if (table == nullptr || !*table) return nullptr;
  const Frame* frame = (**table)[number % kFramesPerTable].get();
  return frame == nullptr ? nullptr : frame->data();
}

std::uint8_t* Memory::touch(std::uint64_t number) {
  std::unique_ptr<Table>& table = tables_[number / kFramesPerTable];
  if (!table) table = std::make_unique<Table>();
  std::unique_ptr<Frame>& frame = (*table)[number % kFramesPerTable];
  if (!frame) {
    frame = std::make_unique<Frame>();
    ++frames_;
  }
  return frame->data();
}

void Memory::load(PhysicalAddress from, std::uint8_t* to, std::size_t bytes) const {
  require(from, bytes);
  std::uint64_t address = from.value();
  while (bytes != 0) {
    const std::uint64_t offset = address % kFrameBytes;
    const std::size_t n = std::min<std::size_t>(bytes, kFrameBytes - offset);
    if (const std::uint8_t* data = frame(address / kFrameBytes); data != nullptr)
      std::memcpy(to, data + offset, n);
    else
      std::memset(to, 0, n);
    address += n;
    to += n;
    bytes -= n;
  }
}

void Memory::store(PhysicalAddress to, const std::uint8_t* from, std::size_t bytes) {
  require(to, bytes);
  std::uint64_t address = to.value();
  while (bytes != 0) {
    const std::uint64_t offset = address % kFrameBytes;
    const std::size_t n = std::min<std::size_t>(bytes, kFrameBytes - offset);
    std::memcpy(touch(address / kFrameBytes) + offset, from, n);
    address += n;
    from += n;
    bytes -= n;
  }
}

Memory::Access Memory::access(Time arrival, Bytes bytes, Time latency) {
  const Time start = std::max(arrival, bandwidth_.free_at());
  const Bytes lines(divide_up(bytes.count(), kLineBytes) * kLineBytes);
  const Time end = bandwidth_.send(arrival, lines);
  lines_moved_ += lines;
  waited_ += start - arrival;
  while (!ends_.empty() && ends_.front() <= arrival) ends_.pop();
  ends_.push(end);
  most_ = std::max(most_, ends_.size());
  return {start + latency, end + latency};
}

Memory::Access Memory::time_read(Time arrival, Bytes bytes, DmaPurpose purpose) {
  read_[static_cast<unsigned>(purpose)] += bytes;
  return access(arrival, bytes, config_.read_latency);
}

Memory::Access Memory::time_write(Time arrival, Bytes bytes, DmaPurpose purpose) {
  written_[static_cast<unsigned>(purpose)] += bytes;
  const Access access = this->access(arrival, bytes, config_.write_latency);
  return {access.first - config_.write_latency, access.last};
}

void Memory::watch(PhysicalAddress address, Callback callback) {
  watches_.push_back({address.value() / kLineBytes, callback});
}

void Memory::wrote(PhysicalAddress address, Bytes bytes) {
  if (watches_.empty() || bytes == Bytes()) return;
  const std::uint64_t first = address.value() / kLineBytes;
  const std::uint64_t last = (address.value() + bytes.count() - 1) / kLineBytes;
  // A callback may watch again, so all that are due leave before the first one runs.
  std::vector<Callback> due = std::move(due_);
  due.clear();
  std::size_t kept = 0;
  for (const Watch& watch : watches_) {
    if (watch.line >= first && watch.line <= last)
      due.push_back(watch.callback);
    else
      watches_[kept++] = watch;
  }
  watches_.resize(kept);
  for (const Callback& callback : due) callback();
  due_ = std::move(due);
}

void Memory::report(const MetricScope& scope) const {
  for (unsigned i = 0; i < kDmaPurposes; ++i) {
    const std::string purpose = name_of(static_cast<DmaPurpose>(i));
    scope.bytes("read." + purpose, read_[i], "bytes read by DMA");
    scope.bytes("written." + purpose, written_[i], "bytes written by DMA");
  }
  scope.time("busy", bandwidth_.byte_time().of(lines_moved_),
             "time that DMA occupied the memory's bandwidth");
  scope.time("stalled.bandwidth", waited_, "time that DMA requests waited for bandwidth");
  scope.count("occupancy.max", most_, "most DMA accesses under way or waiting for bandwidth");
  scope.count("frames", frames_, "4 KiB frames that were ever written");
}

}  // namespace rnicsim

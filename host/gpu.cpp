// SPDX-License-Identifier: MIT
#include "host/gpu.h"

#include <algorithm>

#include "host/pcie_arithmetic.h"

namespace rnicsim {

namespace {

/// Above the 4 TiB that RAM may have.
constexpr std::uint64_t kFirstBar = std::uint64_t{1} << 43;
constexpr std::uint64_t kBarSpace = std::uint64_t{1} << 38;

MemoryConfig device_memory(const GpuConfig& config) {
  MemoryConfig memory;
  memory.size = config.memory;
  memory.bandwidth = config.memory_bandwidth;
  memory.read_latency = config.read_latency;
  memory.write_latency = Time();
  return memory;
}

}  // namespace

void GpuConfig::describe(Fields& fields) {
  const auto latencies = range(Time(), Time::us(1000));
  const auto rates = range(BitRate(1'000'000), BitRate::gbps(100000));
  fields.field("memory", memory, range(Bytes(2 << 20), Bytes(std::uint64_t{256} << 30)),
               "device memory, all of it behind the BAR");
  fields.field("memory_bandwidth", memory_bandwidth, rates, "of the device memory");
  fields.field("generation", generation, range(1, 7), "PCIe generation of its link");
  fields.field("lanes", lanes, range(1, 32).power_of_two(), "width of its link");
  fields.field("max_payload", max_payload, range(Bytes(128), Bytes(4096)).power_of_two(),
               "largest payload of one TLP on its link");
  fields.field("link_latency", link_latency, latencies,
               "over its link, each way, besides the time of the bytes");
  fields.field("read_latency", read_latency, latencies, "from a read at its BAR to the first data");
  fields.field("write_latency", write_latency, latencies,
               "from a write's last byte at its BAR to being visible");
  fields.field("bar_read_rate", bar_read_rate, rates, "at which its BAR answers reads");
  fields.field("bar_write_rate", bar_write_rate, rates, "at which its BAR takes writes");
  fields.field("cpu_load_rate", cpu_load_rate, rates, "at which a core reads its BAR");
  fields.field("cpu_store_rate", cpu_store_rate, rates,
               "at which a core writes its BAR, write combining");
  fields.field("copy_launch", copy_launch, latencies,
               "from a program's call to the copy engine's first byte");
  fields.field("copy_rate", copy_rate, rates, "of a copy between device and host memory");
  fields.check(memory.count() % Gpu::kPageBytes.count() == 0, "memory",
               "must be a multiple of 2 MiB");
}

Gpu::Gpu(const GpuConfig& config, unsigned number)
    : config_(config),
      base_(kFirstBar + number * kBarSpace),
      memory_(device_memory(config)),
      link_in_(pcie_link_rate(config.generation, config.lanes, config.max_payload)),
      link_out_(pcie_link_rate(config.generation, config.lanes, config.max_payload)),
      bar_writes_(config.bar_write_rate),
      bar_reads_(config.bar_read_rate),
      copies_(config.copy_rate) {}

std::optional<PhysicalAddress> Gpu::allocate_page() {
  if (!released_.empty()) {
    const PhysicalAddress page = released_.back();
    released_.pop_back();
    return page;
  }
  if (pages_ == config_.memory.count() / kPageBytes.count()) return std::nullopt;
  return PhysicalAddress(base_ + kPageBytes.count() * pages_++);
}

PcieSpan Gpu::write(const PcieSpan& span, Bytes bytes, Bytes link_bytes, DmaPurpose purpose) {
  const PcieSpan taken =
      bar_writes_.carry(link_in_.carry(span, link_bytes).later(config_.link_latency), bytes);
  const Memory::Access access = memory_.time_write(taken.first, PhysicalAddress(), bytes, purpose);
  const Time last = std::max(taken.last, access.last);
  return {taken.first, last, taken.held + (last - taken.last)};
}

PcieSpan Gpu::read(const PcieSpan& request, Bytes bytes, Bytes link_bytes, DmaPurpose purpose) {
  const PcieSpan asked = request.later(config_.link_latency);
  const Memory::Access access = memory_.time_read(asked.first, PhysicalAddress(), bytes, purpose);
  const PcieSpan data{access.first, std::max(access.last, asked.last + config_.read_latency),
                      asked.held};
  return link_out_.carry(bar_reads_.carry(data, bytes), link_bytes).later(config_.link_latency);
}

Gpu::Copy Gpu::copy(Time at, Bytes bytes) {
  while (!launched_.empty() && launched_.front().end < at) launched_.pop();
  const Time ready = at + config_.copy_launch;
  const Time begin = std::max(ready, copies_.free_at());
  const Time end = copies_.send(begin, bytes);
  launched_.push({ready, begin, end});
  copied_ += bytes;
  copying_ += end - begin;
  return {copy_count_++, begin, end};
}

Gpu::Copy Gpu::planned(std::uint64_t number) const {
  const Launched& copy = launched_.at(launched_.size() - (copy_count_ - number));
  return {number, copy.begin, copy.end};
}

void Gpu::delay_copy(std::uint64_t number, Time by) {
  std::size_t i = launched_.size() - (copy_count_ - number);
  launched_.at(i).end += by;
  copying_ += by;
  for (Time free = launched_.at(i).end; ++i < launched_.size(); free = launched_.at(i).end) {
    Launched& behind = launched_.at(i);
    const Time later = std::max(behind.ready, free) - behind.begin;
    behind.begin += later;
    behind.end += later;
  }
  copies_.send(launched_.back().end, Bytes());
}

void Gpu::report(const MetricScope& scope) const {
  memory_.report(scope.child("memory"));
  link_in_.report(scope.child("link_in"), "to the GPU, of other devices");
  link_out_.report(scope.child("link_out"), "from the GPU, of other devices");
  bar_writes_.report(scope.child("bar_writes"), "that its BAR took");
  bar_reads_.report(scope.child("bar_reads"), "that its BAR gave");
  scope.count("copies", copy_count_, "copies between device and host memory");
  scope.bytes("copied", copied_, "bytes of these");
  scope.time("copying", copying_, "time that the copy engine moved bytes");
}

}  // namespace rnicsim

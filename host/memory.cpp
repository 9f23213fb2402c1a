// SPDX-License-Identifier: MIT
#include "host/memory.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "model/invariant.h"

namespace rnicsim {

namespace {

/// What DMA has of a node's bandwidth; 0 if CPUs take more than there is.
BitRate left_by_cpus(const MemoryConfig& config) {
  if (config.cpu_traffic == BitRate()) return config.bandwidth;
  const std::uint64_t all = config.bandwidth.numerator() / config.bandwidth.denominator();
  const std::uint64_t taken = config.cpu_traffic.numerator() / config.cpu_traffic.denominator();
  return BitRate(all > taken ? all - taken : 0);
}

/// What a cache sends to DRAM of one request, line by line.
class Parts {
 public:
  /// `takes_bandwidth`: else it is only counted on the bus.
  Parts(Dram& dram, MemoryBus& bus, Time arrival, bool takes_bandwidth = true)
      : dram_(dram), bus_(bus), arrival_(arrival), takes_bandwidth_(takes_bandwidth) {}

  Dram::Span move(BusUse use, std::uint64_t line) {
    bus_.count(use, 1);
    if (!takes_bandwidth_) return {arrival_, arrival_};
    const Dram::Span part =
        dram_.move_part(arrival_, line * Dram::kLineBytes, Bytes(Dram::kLineBytes));
    whole_.start = std::min(whole_.start, part.start);
    whole_.end = std::max(whole_.end, part.end);
    return part;
  }
  /// The request is complete.
  void count() const {
    if (whole_.end != Time()) dram_.count_request(arrival_, whole_);
  }
  Time end() const { return std::max(arrival_, whole_.end); }

 private:
  Dram& dram_;
  MemoryBus& bus_;
  Time arrival_;
  bool takes_bandwidth_;
  Dram::Span whole_{Time::never(), Time()};
};

/// DMA writes that stay in the cache, or all if there is none or DDIO is off.
Time least_latency_of_writes(const MemoryConfig& config) {
  const bool cached = config.cache.size != Bytes() && config.cache.ddio_ways != 0;
  return cached ? config.cache.write_latency : config.write_latency;
}

}  // namespace

void MemoryConfig::describe(Fields& fields) {
  fields.field("size", size, range(Bytes(1 << 20), Bytes(std::uint64_t{4} << 40)),
               "physical memory of the host");
  fields.field("bandwidth", bandwidth, range(BitRate::gbps(1), BitRate::gbps(100000)),
               "what DMA reads and writes share of the memory's bandwidth");
  fields.field("read_latency", read_latency, range(Time(), Time::us(100)),
               "from a DMA read at the memory controller to its first data");
  fields.field("write_latency", write_latency, range(Time(), Time::us(100)),
               "from a DMA write's last byte at the memory controller to a CPU seeing it");
  fields.field("channels", channels, range(1, 64).power_of_two(),
               "DRAM channels of a node, which share `bandwidth`");
  fields.field("channel_interleave", channel_interleave,
               range(Bytes(64), Bytes(1 << 20)).power_of_two(),
               "consecutive bytes on one channel before the next");
  fields.field("cpu_traffic", cpu_traffic, range(BitRate(), BitRate::gbps(100000)),
               "of each node's `bandwidth`, what CPUs take for themselves");
  fields.field(
      "shared_with_copies", shared_with_copies,
      "copies of programs to and from a GPU, and of the kernel for sockets, take their part of "
      "`bandwidth`");
  fields.object("cache", cache, "last-level cache that DMA meets");
  fields.object("numa", numa, "nodes");
  fields.check(cpu_traffic == BitRate() || left_by_cpus(*this).numerator() != 0, "cpu_traffic",
               "must be below bandwidth");
  fields.check(cache.size == Bytes() || size.count() / 64 / cache.sets() < 0xffffffff, "cache.size",
               "too small for a memory of this size: a line's tag has 32 bits");
  fields.check(size.count() % (2 << 20) == 0 || size < Bytes(2 << 20), "size",
               "must be a multiple of 2 MiB");
}

Memory::Memory(const MemoryConfig& config)
    : config_(config),
      tables_(divide_up(config.size.count(), kFrameBytes * kFramesPerTable)),
      by_address_(config.cache.size != Bytes() || config.numa.nodes > 1),
      least_write_latency_(least_latency_of_writes(config)),
      numa_(config.numa),
      dram_(config.numa.nodes,
            Dram(left_by_cpus(config), config.channels, config.channel_interleave)) {
  if (config.cache.size != Bytes()) cache_ = std::make_unique<LastLevelCache>(config.cache);
}

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
  poke(to, from, bytes);
  if (cache_ == nullptr || bytes == 0) return;
  const std::uint64_t last = (to.value() + bytes - 1) / kLineBytes;
  for (std::uint64_t line = to.value() / kLineBytes; line <= last; ++line)
    if (cache_->store(line).displaced) bus_.count(BusUse::kWriteBack, 1);
}

void Memory::poke(PhysicalAddress to, const std::uint8_t* from, std::size_t bytes) {
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

Memory::Access Memory::time_read(Time arrival, PhysicalAddress address, Bytes bytes,
                                 DmaPurpose purpose, bool snoop) {
  read_[static_cast<unsigned>(purpose)] += bytes;
  return read_from({arrival, address.value(), bytes, snoop, BusUse::kDmaRead});
}

Memory::Access Memory::time_write(Time arrival, PhysicalAddress address, Bytes bytes,
                                  DmaPurpose purpose, bool snoop) {
  written_[static_cast<unsigned>(purpose)] += bytes;
  return write_to({arrival, address.value(), bytes, snoop, BusUse::kDmaWrite});
}

Memory::Access Memory::time_copy(bool write, Time arrival, PhysicalAddress address, Bytes bytes) {
  (write ? copied_to_ : copied_from_) += bytes;
  if (write) return write_to({arrival, address.value(), bytes, true, BusUse::kCopyWrite});
  return read_from({arrival, address.value(), bytes, true, BusUse::kCopyRead});
}

void Memory::count_copy(bool write, Bytes bytes) {
  bus_.count(write ? BusUse::kCopyWrite : BusUse::kCopyRead, divide_up(bytes.count(), kLineBytes));
}

Memory::CpuAccess Memory::cpu_read(Time now, PhysicalAddress address, Bytes bytes) {
  copied_from_ += bytes;
  return cpu_access({now, address.value(), bytes, true, BusUse::kCopyRead});
}

Memory::CpuAccess Memory::cpu_write(Time now, PhysicalAddress address, Bytes bytes) {
  copied_to_ += bytes;
  return cpu_access({now, address.value(), bytes, true, BusUse::kCopyWrite});
}

Memory::CpuAccess Memory::cpu_access(const Request& request) {
  if (request.bytes == Bytes()) return {0, 0, request.arrival};
  const std::uint64_t end = request.address + request.bytes.count();
  const std::uint64_t first = request.address / kLineBytes;
  const std::uint64_t lines = (end - 1) / kLineBytes - first + 1;
  Dram& dram = dram_[numa_.node_of(PhysicalAddress(request.address))];
  if (cache_ == nullptr) {
    bus_.count(request.use, lines);
    if (!config_.shared_with_copies) return {lines, lines, request.arrival};
    const Dram::Span span =
        dram.move(request.arrival, first * kLineBytes, Bytes(lines * kLineBytes));
    return {lines, lines, span.end};
  }
  const bool write = request.use == BusUse::kCopyWrite;
  std::uint64_t missed = 0;
  Parts parts(dram, bus_, request.arrival, config_.shared_with_copies);
  for (std::uint64_t line = first; line < first + lines; ++line) {
    const LastLevelCache::Fill fill = write ? cache_->store(line) : cache_->load(line);
    const bool overwritten =
        write && line * kLineBytes >= request.address && (line + 1) * kLineBytes <= end;
    if (fill.displaced) parts.move(BusUse::kWriteBack, *fill.displaced);
    if (!fill.hit && !overwritten) parts.move(request.use, line);
    missed += fill.hit ? 0 : 1;
  }
  parts.count();
  return {lines, missed, parts.end()};
}

Dram::Span Memory::move(Dram& dram, const Request& request) {
  bus_.count(request.use, divide_up(request.bytes.count(), kLineBytes));
  return dram.move(request.arrival, request.address, request.bytes);
}

Memory::Access Memory::read_from(const Request& request) {
  const std::uint32_t node = numa_.node_of(PhysicalAddress(request.address));
  if (!numa_.is_remote(node)) return read_lines(dram_[node], request);
  Request there = request;
  there.arrival += numa_.hop_latency();
  const Access access = read_lines(dram_[node], there);
  const Numa::Crossing here = numa_.to_device(access.first, access.last, request.bytes);
  return {here.first, here.last, access.latency + numa_.hop_latency() * 2};
}

Memory::Access Memory::read_lines(Dram& dram, const Request& request) {
  if (cache_ == nullptr || !request.snoop) {
    const Dram::Span span = move(dram, request);
    return {span.start + config_.read_latency, span.end + config_.read_latency,
            config_.read_latency};
  }
  Access access{Time::never(), Time(), config_.cache.read_latency};
  Parts parts(dram, bus_, request.arrival);
  const std::uint64_t begin = request.address / kLineBytes;
  const std::uint64_t end = request.address + request.bytes.count();
  for (std::uint64_t line = begin; line * kLineBytes < end; ++line) {
    Time first = request.arrival + config_.cache.read_latency;
    Time last = first;
    if (!cache_->read(line)) {
      const Dram::Span span = parts.move(request.use, line);
      first = span.start + config_.read_latency;
      last = span.end + config_.read_latency;
      access.latency = config_.read_latency;
    }
    if (line == begin) access.first = first;
    access.last = std::max(access.last, last);
  }
  parts.count();
  return access;
}

Memory::Access Memory::write_to(const Request& request) {
  const std::uint32_t node = numa_.node_of(PhysicalAddress(request.address));
  if (!numa_.is_remote(node)) return write_lines(dram_[node], request);
  const Numa::Crossing crossing = numa_.to_memory(request.arrival, request.bytes);
  Request there = request;
  there.arrival = crossing.first;
  Access access = write_lines(dram_[node], there);
  access.last = std::max(access.last, crossing.last + access.latency);
  access.latency += numa_.hop_latency();
  return access;
}

Memory::Access Memory::write_lines(Dram& dram, const Request& request) {
  if (cache_ == nullptr || !request.snoop) {
    const Dram::Span span = move(dram, request);
    return {span.start, span.end + config_.write_latency, config_.write_latency};
  }
  using Landing = LastLevelCache::Landing;
  const LastLevelCacheConfig& cache = config_.cache;
  Access access{request.arrival, Time(), Time()};
  Parts parts(dram, bus_, request.arrival);
  const std::uint64_t end = request.address + request.bytes.count();
  for (std::uint64_t line = request.address / kLineBytes; line * kLineBytes < end; ++line) {
    const LastLevelCache::Write write = cache_->write(line);
    Time latency = cache.write_latency;
    Time through = request.arrival;
    if (write.landing == Landing::kDisplaced) {
      latency += cache.eviction_latency;
      through = parts.move(BusUse::kWriteBack, write.displaced).start;
    } else if (write.landing == Landing::kPassed) {
      latency = config_.write_latency;
      through = parts.move(request.use, line).end;
    }
    access.latency = std::max(access.latency, latency);
    access.last = std::max(access.last, through + latency);
  }
  parts.count();
  return access;
}

void Memory::watch(PhysicalAddress address, Callback callback) {
  watches_.push_back({address.value() / kLineBytes, callback});
}

void Memory::unwatch(const Callback& callback) {
  const auto is_its = [&](const Watch& watch) {
    return watch.callback.function == callback.function && watch.callback.object == callback.object;
  };
  watches_.erase(std::remove_if(watches_.begin(), watches_.end(), is_its), watches_.end());
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
  if (config_.shared_with_copies) {
    scope.bytes("copied_from", copied_from_, "bytes that copies to a GPU or the kernel's read");
    scope.bytes("copied_to", copied_to_, "bytes that copies from a GPU or the kernel's wrote");
  }
  if (dram_.size() == 1) dram_[0].report(scope);
  for (std::size_t node = 0; dram_.size() > 1 && node < dram_.size(); ++node)
    dram_[node].report(scope.child("node" + std::to_string(node)));
  if (dram_.size() > 1) numa_.report(scope.child("numa"));
  if (cache_ != nullptr) cache_->report(scope.child("cache"));
  scope.count("frames", frames_, "4 KiB frames that were ever written");
}

}  // namespace rnicsim

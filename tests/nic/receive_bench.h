// SPDX-License-Identifier: MIT
// Receive queues alone between a memory and packets that ask: two queue pairs with rings of their
// own and two shared rings, which the test posts to as software does.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nic/receive_queue.h"
#include "tests/support/endpoint_bench.h"
#include "tests/support/metric_recorder.h"

namespace rnicsim::test {

/// A ring of entries of two segments in host RAM, as software keeps it.
struct ReceiveRing {
  std::uint64_t ring;
  std::uint64_t record;
  std::uint8_t log_entries = 3;
  std::uint32_t posted = 0;
};

/// Two queue pairs with rings of their own, two shared rings.
struct ReceiveBench : EndpointBench {
  using Taken = ReceiveQueues::Taken;
  using Reads = std::vector<std::pair<Time, std::uint32_t>>;
  static constexpr std::uint64_t kTable = 0x1000;
  static constexpr std::uint64_t kEmpty = 999;  ///< noted for "none posted"
  static constexpr std::uint32_t kEntryBytes = 32;
  static constexpr std::uint32_t kSrq = 3;

  explicit ReceiveBench(const ReceiveQueuesConfig& config = {}, std::uint32_t srq_contexts = 4)
      : srqs(scheduler, pcie, cache(srq_contexts), DmaPurpose::kSrqContext, "srqs", 1),
        receives(scheduler, clock, pcie, srqs, config) {
    receives.connect(call<&ReceiveBench::note_limit>(this));
    receives.set_table(PhysicalAddress(kTable), 16);
    for (std::uint32_t i = 0; i < 2; ++i) {
      contexts[i].flags = abi::QpContext::kHasReceiveQueue;
      set_ring(i, 3);
    }
    write_srq(kSrq, shared);
    write_srq(kSrq + 1, other_shared);
  }
  static HostTableCacheConfig cache(std::uint32_t entries) {
    HostTableCacheConfig config;
    config.geometry = {entries, entries, Replacement::kLru};
    return config;
  }

  void set_ring(std::uint32_t qp, std::uint8_t log_entries) {
    own[qp].log_entries = log_entries;
    contexts[qp].receive_ring = PhysicalAddress(own[qp].ring);
    contexts[qp].doorbell_record = PhysicalAddress(own[qp].record);
    contexts[qp].log_receive_entries = log_entries;
    contexts[qp].log_receive_segments = 1;
  }
  void write_srq(std::uint32_t srqn, const ReceiveRing& software) {
    abi::SrqContext context;
    context.valid = true;
    context.log_entries = software.log_entries;
    context.log_segments = 1;
    context.ring = PhysicalAddress(software.ring);
    context.doorbell_record = PhysicalAddress(software.record);
    context.write(srq_entry(srqn));
  }
  std::uint8_t* srq_entry(std::uint32_t srqn) {
    return memory.at(kTable + std::uint64_t{srqn} * abi::SrqContext::kBytes);
  }
  void set_limit(std::uint32_t srqn, std::uint16_t limit) {
    abi::SrqContext context = abi::SrqContext::read(srq_entry(srqn));
    context.limit = limit;
    context.write(srq_entry(srqn));
  }
  void use_shared(std::uint32_t srqn = kSrq) {
    for (auto& context : contexts) {
      context.flags = 0;
      context.srqn = srqn;
    }
  }

  /// Posts receives of one segment of 100 B and more.
  void post(ReceiveRing& software, std::uint32_t count) {
    for (; count != 0; --count) {
      const std::uint32_t index = software.posted & ((1U << software.log_entries) - 1);
      std::uint8_t* entry = memory.at(software.ring + std::uint64_t{index} * kEntryBytes);
      abi::DataSegment{100 + software.posted, MemoryKey(0x700), VirtualAddress(0x5000)}.write(
          entry);
      abi::DataSegment{0, abi::kEndOfList, {}}.write(entry + abi::kSegmentBytes);
      ++software.posted;
    }
    abi::DoorbellRecord{software.posted, 0}.write(memory.at(software.record));
  }

  /// A packet of the queue pair asks until it has a receive, or there is none.
  void ask(std::uint64_t qp) {
    switch (receives.take(qps[qp], contexts[qp], last, call<&ReceiveBench::ask>(this, qp))) {
      case Taken::kReady:
        notes.note(qp * 1000 + last.counter);
        break;
      case Taken::kEmpty:
        notes.note(qp * 1000 + kEmpty);
        break;
      case Taken::kWait:
        break;
    }
  }
  void ask_at(Time time, std::uint64_t qp = 0) {
    scheduler.at(time, call<&ReceiveBench::ask>(this, qp));
  }
  /// Flushes the queue pair's receives until there are no more.
  void flush(std::uint64_t qp) {
    std::uint16_t counter = 0;
    Taken taken;
    while ((taken = receives.take_for_flush(qps[qp], contexts[qp], counter,
                                            call<&ReceiveBench::flush>(this, qp))) == Taken::kReady)
      notes.note(qp * 1000 + counter);
    if (taken == Taken::kEmpty) notes.note(qp * 1000 + kEmpty);
  }
  void flush_at(Time time) { scheduler.at(time, call<&ReceiveBench::flush>(this)); }
  void note_limit(std::uint64_t srqn) { notes.note(5000 + srqn); }

  Reads reads(DmaPurpose purpose) {
    Reads found;
    for (const auto& access : memory.of(purpose)) found.emplace_back(access.begin, access.bytes);
    return found;
  }
  std::uint64_t metric(const std::string& name) { return metrics_of(receives).at(name); }

  Clock clock{Frequency::mhz(400)};
  SrqContextCache srqs;
  ReceiveQueues receives;
  NicQueuePair qps[2] = {NicQueuePair(Qpn(1)), NicQueuePair(Qpn(2))};
  abi::QpContext contexts[2];
  ReceiveRing own[2] = {{0x10000, 0x8000}, {0x20000, 0x8040}};
  ReceiveRing shared{0x30000, 0x8080};
  ReceiveRing other_shared{0x38000, 0x80c0};
  Receive last;
};

}  // namespace rnicsim::test

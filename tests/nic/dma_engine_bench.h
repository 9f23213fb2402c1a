// SPDX-License-Identifier: MIT
// The DMA engine alone, between a client that writes down what it is told and a memory whose pages
// lie in reverse order.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/packet.h"
#include "nic/dma_engine.h"
#include "tests/support/endpoint_bench.h"

namespace rnicsim::test {

/// Outlives the entries of the bench that hold packets.
struct DmaEnginePool {
  PacketPool pool;
};

struct DmaEngineBench : DmaEnginePool, EndpointBench, DmaEngine::Client {
  static constexpr std::uint64_t kKeys = 0x1000;
  static constexpr std::uint64_t kTable = 0x10000;
  static constexpr std::uint64_t kPages = 64;
  static constexpr MemoryKey kKey{3, 7};
  static constexpr Cycles kCheck{12};  ///< key look-up 4, four states of one cycle, translation 4

  struct Segment {
    std::uint64_t address;
    std::uint32_t bytes;
    MemoryKey key = kKey;
  };

  explicit DmaEngineBench(DmaEngine::Direction direction, bool elided = false)
      : EndpointBench({}, ByteTime(BitRate::gbps(64))),  // 125 ps a byte
        keys(scheduler, pcie, key_cache(), DmaPurpose::kKeyTable, "keys", 1),
        translations(scheduler, pcie, TranslationCacheConfig{}, 1),
        events(scheduler, clock, pcie, EventQueueConfig{}),
        page_faults(scheduler, events, PageFaultsConfig{}),
        checker(clock, keys, translations, page_faults, KeyCheckerConfig{}),
        engine({scheduler, clock, pcie, checker, elided}, direction, *this) {
    keys.set_table(PhysicalAddress(kKeys), 16);
    abi::KeyEntry entry;
    entry.valid = true;
    entry.access = AccessFlags(AccessFlags::kLocalWrite);
    entry.key = kKey;
    entry.pd = PdNumber(1);
    entry.length = kPages * 4096;
    entry.table = PhysicalAddress(kTable);
    entry.write(memory.at(kKeys + 3 * abi::KeyEntry::kBytes));
    for (std::uint64_t i = 0; i < kPages; ++i)
      abi::TableEntry{true, PhysicalAddress(physical(i * 4096))}.write(memory.at(kTable + i * 8));
    for (std::uint64_t i = 0; i < kPages * 4096; ++i) *memory.at(physical(i)) = byte_at(i);
  }
  static HostTableCacheConfig key_cache() {
    HostTableCacheConfig config;
    config.hit_latency = Cycles(4);
    return config;
  }
  /// Pages lie in memory in reverse order with gaps.
  static std::uint64_t physical(std::uint64_t address) {
    return 0x100000 + (kPages - 1 - address / 4096) * 0x2000 + address % 4096;
  }
  static std::uint8_t byte_at(std::uint64_t address) {
    return static_cast<std::uint8_t>(address * 13 + address / 251);
  }

  DmaEngine::Job job(std::uint32_t bytes, std::vector<Segment> to) {
    DmaEngine::Job made;
    made.packet = pool.create();
    made.packet->set_payload_length(Bytes(bytes));
    for (std::uint32_t i = 0; i < bytes; ++i)
      made.packet->payload()[i] = static_cast<std::uint8_t>(200 - i);
    made.bytes = bytes;
    made.message = static_cast<std::uint32_t>(messages.size());
    made.check.pd = PdNumber(1);
    messages.push_back(std::move(to));
    return made;
  }
  void add_at(Time time, DmaEngine::Job made) {
    made.ready = std::max(made.ready, time);
    at(time, [this, made]() mutable { engine.add(std::move(made)); });
  }
  /// Fetches the key and the translations of pages 0 to 7; returns a time when all is quiet.
  Time warm() {
    add_at(scheduler.now(), job(8, {{0, 8}}));
    run();
    log.clear();
    memory.log.clear();
    jobs_before = engine.next();
    return scheduler.now() + Time::us(1);
  }
  std::vector<Time> begins() const {
    std::vector<Time> times;
    for (const auto& access : memory.of(DmaPurpose::kPayload)) times.push_back(access.begin);
    return times;
  }

  // DmaEngine::Client
  void begin_part(const DmaEngine::Job& job, std::uint32_t moved, KeyCheck& check) override {
    std::uint64_t offset = job.offset + moved;
    const std::vector<Segment>& segments = messages[job.message];
    std::size_t i = 0;
    while (offset >= segments[i].bytes) offset -= segments[i++].bytes;
    check.key = segments[i].key;
    check.needs = AccessFlags::kLocalWrite;
    check.region_address = VirtualAddress(segments[i].address);
    check.region_length = segments[i].bytes;
    check.address = VirtualAddress(segments[i].address + offset);
    check.length = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(job.bytes - moved, segments[i].bytes - offset));
  }
  bool may_move(std::uint64_t sequence, DmaEngine::Job&) override {
    return forbidden != sequence - jobs_before;
  }
  bool take_over(std::uint64_t sequence, DmaEngine::Job&) override {
    if (taken_over != sequence - jobs_before) return false;
    say("taken", sequence);
    return true;
  }
  void refused(std::uint64_t sequence, DmaEngine::Job&, KeyFault fault) override {
    say(name_of(fault), sequence);
  }
  void part(const DmaEngine::Job&, std::uint32_t moved, const KeyCheck& check) override {
    log += "part " + std::to_string(moved) + "+" + std::to_string(check.length) + "; ";
  }
  void issued(const DmaEngine::Job& job) override {
    issued_at.push_back(scheduler.now());
    static_cast<void>(job);
  }
  void done(const DmaEngine::Job&, Time since) override {
    log += "done; ";
    done_since = since;
  }
  bool leave(std::uint64_t sequence, DmaEngine::Job&) override {
    if (refuses_to_leave) return false;
    say("leave", sequence);
    left_at.push_back(scheduler.now());
    return true;
  }
  void left() override { ++lefts; }
  void prefix(const DmaEngine::Job&, std::uint8_t* to) override {
    for (std::uint8_t i = 0; i < DmaEngine::kMaxPrefix; ++i)
      to[i] = static_cast<std::uint8_t>(i + 1);
  }
  void say(const std::string& what, std::uint64_t sequence) {
    log += what + " " + std::to_string(sequence - jobs_before) + "; ";
  }

  KeyCache keys;
  TranslationCache translations;
  Clock clock{Frequency::mhz(400)};
  EventQueue events;
  PageFaults page_faults;
  KeyChecker checker;
  DmaEngine engine;
  std::vector<std::vector<Segment>> messages;
  std::string log;
  std::uint64_t jobs_before = 0;
  std::uint64_t forbidden = 999;
  std::uint64_t taken_over = 999;
  bool refuses_to_leave = false;
  std::vector<Time> issued_at;
  std::vector<Time> left_at;
  Time done_since;
  int lefts = 0;
};

struct ScatterBench : DmaEngineBench {
  explicit ScatterBench(bool elided = false)
      : DmaEngineBench(DmaEngine::Direction::kScatter, elided) {}
};
struct GatherBench : DmaEngineBench {
  explicit GatherBench(bool elided = false)
      : DmaEngineBench(DmaEngine::Direction::kGather, elided) {}
};

}  // namespace rnicsim::test

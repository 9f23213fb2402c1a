// SPDX-License-Identifier: MIT
#include "nic/key_operations.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/endpoint_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::EndpointBench;
using test::Noted;
using Fault = KeyOperations::Fault;
using Kind = KeyOperations::Kind;

namespace {

constexpr Time kRead = EndpointBench::kRead;
constexpr std::uint64_t kKeys = 0x1000;
constexpr std::uint64_t kTable = 0x10000;
constexpr std::uint64_t kStart = 0x5100;
constexpr std::uint64_t kLength = 0x2f00;
constexpr std::uint32_t kRegion = 3;
constexpr std::uint32_t kWindow = 5;
constexpr Qpn kOwner(9);
constexpr std::uint64_t kLatency = 100;
constexpr std::uint64_t kInterval = 10;
constexpr std::uint64_t kLookup = 4;

struct Bench : EndpointBench {
  explicit Bench(std::uint32_t cached = 16)
      : keys(scheduler, pcie, key_cache(cached), DmaPurpose::kKeyTable, "keys", 1),
        translations(scheduler, pcie, TranslationCacheConfig{}, 1),
        events(scheduler, clock, pcie, EventQueueConfig{}),
        page_faults(scheduler, events, PageFaultsConfig{}),
        operations(scheduler, clock, keys, translations, {{Cycles(kLatency), Cycles(kInterval)}}),
        checker(clock, keys, translations, page_faults, KeyCheckerConfig{}) {
    keys.set_table(PhysicalAddress(kKeys), 16);
    region.valid = true;
    region.access = AccessFlags(AccessFlags::kLocalWrite | AccessFlags::kWindowBind);
    region.key = MemoryKey(kRegion, 7);
    region.pd = PdNumber(1);
    region.start = region.base = VirtualAddress(kStart);
    region.length = kLength;
    region.table = PhysicalAddress(kTable);
    window.window = true;
    window.key = MemoryKey(kWindow, 1);
    window.pd = PdNumber(1);
    for (std::uint64_t i = 0; i < 3; ++i)
      abi::TableEntry{true, PhysicalAddress((i + 1) << 20)}.write(memory.at(kTable + i * 8));
    write();
  }
  static HostTableCacheConfig key_cache(std::uint32_t entries) {
    HostTableCacheConfig c;
    c.geometry.entries = entries;
    c.geometry.ways = 1;
    c.hit_latency = Cycles(kLookup);
    return c;
  }
  std::uint8_t* in_memory(std::uint32_t index) {
    return memory.at(kKeys + index * abi::KeyEntry::kBytes);
  }
  /// What the driver writes; the NIC forgets what it had.
  void write() {
    region.write(in_memory(kRegion));
    window.write(in_memory(kWindow));
    keys.invalidate(kRegion);
    keys.invalidate(kWindow);
  }
  static KeyOperations::Operation bind(std::uint8_t variant = 2, std::uint64_t offset = 0x100,
                                       std::uint64_t length = 0x200) {
    KeyOperations::Operation operation;
    operation.bind.window = MemoryKey(kWindow, variant);
    operation.bind.region = MemoryKey(kRegion, 7);
    operation.bind.address = VirtualAddress(kStart + offset);
    operation.bind.length = length;
    operation.bind.access = AccessFlags(AccessFlags::kRemoteWrite);
    operation.pd = PdNumber(1);
    operation.qpn = kOwner;
    return operation;
  }
  static KeyOperations::Operation unbind(std::uint8_t variant) {
    KeyOperations::Operation operation = bind(variant, 0, 0);
    operation.bind.region = {};
    return operation;
  }
  static KeyOperations::Operation invalidate(std::uint8_t variant,
                                             Kind kind = Kind::kLocalInvalidate) {
    KeyOperations::Operation operation;
    operation.kind = kind;
    operation.key = MemoryKey(kWindow, variant);
    operation.pd = PdNumber(1);
    operation.qpn = kOwner;
    return operation;
  }
  void submit(const KeyOperations::Operation& operation) {
    operations.submit(operation, call<&Bench::done>(this, submitted++));
  }
  void done(std::uint64_t number) {
    notes.note(number);
    faults.push_back(operations.fault());
  }
  Fault fault_of(const KeyOperations::Operation& operation) {
    submit(operation);
    run();
    return faults.back();
  }
  abi::KeyEntry entry(std::uint32_t index = kWindow) {
    const abi::KeyEntry* cached = keys.peek(index);
    return cached != nullptr ? *cached : abi::KeyEntry::read(in_memory(index));
  }
  /// As the responder asks, for a WRITE of one byte.
  KeyFault access(MemoryKey key, std::uint64_t offset, Qpn qpn = kOwner,
                  std::uint8_t needs = AccessFlags::kRemoteWrite) {
    check = {};
    check.key = key;
    check.address = check.region_address = VirtualAddress(kStart + offset);
    check.length = 1;
    check.region_length = 1;
    check.pd = PdNumber(1);
    check.qpn = qpn;
    check.needs = needs;
    step();
    run();
    REQUIRE(check.decided());
    return check.fault;
  }
  void step() { checker.run(check, KeyCheck::State::kPass, call<&Bench::step>(this)); }

  KeyCache keys;
  TranslationCache translations;
  Clock clock{Frequency::mhz(400)};
  EventQueue events;
  PageFaults page_faults;
  KeyOperations operations;
  KeyChecker checker;
  abi::KeyEntry region;
  abi::KeyEntry window;
  KeyCheck check;
  std::uint64_t submitted = 0;
  std::vector<Fault> faults;
};

Time cycles(std::uint64_t count) { return Clock(Frequency::mhz(400)).duration(Cycles(count)); }

}  // namespace

TEST_CASE("a bind makes the window a part of the region, for its queue pair alone") {
  Bench bench;
  REQUIRE(bench.fault_of(Bench::bind()) == Fault::kNone);
  const abi::KeyEntry bound = bench.entry();
  CHECK(bound.valid);
  CHECK(bound.window);
  CHECK(bound.key == MemoryKey(kWindow, 2));
  CHECK(bound.qpn == kOwner);
  CHECK(bound.pd == PdNumber(1));
  CHECK(bound.start == VirtualAddress(kStart + 0x100));
  CHECK(bound.length == 0x200);
  CHECK(bound.base == bench.region.base);
  CHECK(bound.table == bench.region.table);
  CHECK(bound.access.bits() == AccessFlags::kRemoteWrite);
  const MemoryKey key(kWindow, 2);
  CHECK(bench.access(key, 0x100) == KeyFault::kNone);
  CHECK(bench.check.pieces[0].address.value() == 0x100200);
  CHECK(bench.access(key, 0x2ff) == KeyFault::kNone);
  CHECK(bench.access(key, 0x300) == KeyFault::kOutOfBounds);
  CHECK(bench.access(key, 0xff) == KeyFault::kOutOfBounds);
  CHECK(bench.access(key, 0x100, Qpn(8)) == KeyFault::kWrongPd);
  CHECK(bench.access(key, 0x100, kOwner, AccessFlags::kRemoteRead) == KeyFault::kNoAccessRight);
  CHECK(bench.access(MemoryKey(kWindow, 1), 0x100) == KeyFault::kStaleKey);
}

TEST_CASE("a window's key is no lkey: a local access names no queue pair") {
  Bench bench;
  REQUIRE(bench.fault_of(Bench::bind()) == Fault::kNone);
  CHECK(bench.access(MemoryKey(kWindow, 2), 0x100, Qpn{}, 0) == KeyFault::kWrongPd);
}

TEST_CASE("an operation costs the pipeline, and a look-up for each entry") {
  Bench bench;
  bench.fault_of(Bench::bind());
  // The region is fetched, then the window.
  CHECK(bench.notes.list[0].second == kRead * 2 + cycles(kLatency + 2 * kLookup));
  const Time start = bench.scheduler.now();
  bench.submit(Bench::invalidate(2));
  bench.submit(Bench::bind(3));
  bench.submit(Bench::unbind(4));
  bench.run();
  CHECK(bench.notes.list == Noted{bench.notes.list[0],
                                  {1, start + cycles(kLatency + kLookup)},
                                  {2, start + cycles(kInterval + kLatency + 2 * kLookup)},
                                  {3, start + cycles(2 * kInterval + kLatency + kLookup)}});
  CHECK(bench.faults == std::vector<Fault>(4, Fault::kNone));
  CHECK_FALSE(bench.entry().valid);
  CHECK(bench.operations.idle());
}

TEST_CASE("operations take effect in the order of their coming, whatever has to be fetched") {
  Bench bench;
  bench.fault_of(Bench::bind());
  bench.keys.store(kWindow, bench.entry());  // the window waits for host RAM
  bench.run();
  bench.notes.list.clear();
  const Time start = bench.scheduler.now();
  bench.submit(Bench::unbind(3));
  KeyOperations::Operation elsewhere = Bench::bind();
  elsewhere.bind.window = MemoryKey(kRegion, 8);
  bench.submit(elsewhere);
  bench.run();
  const Time first = start + kRead + cycles(kLatency + kLookup);
  CHECK(bench.notes.list == Noted{{1, first}, {2, first}});
  CHECK(bench.faults == std::vector<Fault>{Fault::kNone, Fault::kNone, Fault::kNoWindow});
}

TEST_CASE("a cache of one entry, where window and region drive each other out, is enough") {
  Bench bench(1);
  REQUIRE(bench.fault_of(Bench::bind()) == Fault::kNone);
  CHECK(bench.notes.list[0].second == kRead * 2 + cycles(kLatency + 2 * kLookup));
  CHECK(bench.access(MemoryKey(kWindow, 2), 0x100) == KeyFault::kNone);
  // Another entry takes its place: it is written back, and the same when it comes again.
  bench.keys.lookup(kRegion, bench.notes.noting(99));
  bench.run();
  CHECK(abi::KeyEntry::read(bench.in_memory(kWindow)).valid);
  CHECK(bench.access(MemoryKey(kWindow, 2), 0x100) == KeyFault::kNone);
  CHECK(bench.fault_of(Bench::invalidate(2)) == Fault::kNone);
  bench.keys.lookup(kRegion, bench.notes.noting(99));
  bench.run();
  const abi::KeyEntry written = abi::KeyEntry::read(bench.in_memory(kWindow));
  CHECK_FALSE(written.valid);
  CHECK(written.window);
  CHECK(written.key == MemoryKey(kWindow, 2));
  CHECK(bench.access(MemoryKey(kWindow, 2), 0x100) == KeyFault::kStaleKey);
}

TEST_CASE("a bind is refused for each reason, and changes nothing") {
  Bench bench;
  const auto refused = [&](const KeyOperations::Operation& operation) {
    const Fault fault = bench.fault_of(operation);
    CHECK_FALSE(bench.entry().valid);
    CHECK_FALSE(bench.operations.has_windows(kRegion));
    return fault;
  };
  const abi::KeyEntry good = bench.region;
  const auto with_region = [&](auto change, const KeyOperations::Operation& operation) {
    change(bench.region);
    bench.write();
    const Fault fault = refused(operation);
    bench.region = good;
    bench.write();
    return fault;
  };
  KeyOperations::Operation tried = Bench::bind();
  tried.bind.window = MemoryKey(kRegion, 2);
  CHECK(refused(tried) == Fault::kNoWindow);
  tried.bind.window = MemoryKey(16, 2);  // beyond the table
  CHECK(refused(tried) == Fault::kNoWindow);
  tried = Bench::bind();
  tried.pd = PdNumber(2);
  CHECK(refused(tried) == Fault::kWrongPd);
  tried = Bench::bind();
  tried.bind.region = MemoryKey(kRegion, 6);
  CHECK(refused(tried) == Fault::kNoRegion);
  tried.bind.region = MemoryKey(kWindow, 1);
  CHECK(refused(tried) == Fault::kNoRegion);
  tried.bind.region = MemoryKey(16, 1);
  CHECK(refused(tried) == Fault::kNoRegion);
  tried = Bench::bind();
  CHECK(with_region([](auto& r) { r.valid = false; }, tried) == Fault::kNoRegion);
  CHECK(with_region([](auto& r) { r.pd = PdNumber(2); }, tried) == Fault::kWrongPd);
  CHECK(with_region([](auto& r) { r.access = AccessFlags(AccessFlags::kLocalWrite); }, tried) ==
        Fault::kNoBindRight);
  CHECK(refused(Bench::bind(2, 0, kLength + 1)) == Fault::kOutOfBounds);
  CHECK(refused(Bench::bind(2, 1, kLength)) == Fault::kOutOfBounds);
  CHECK(refused(Bench::bind(2, ~0ULL, 2)) == Fault::kOutOfBounds);
  CHECK(refused(Bench::bind(2, 1, ~0ULL)) == Fault::kOutOfBounds);
  const auto read_only = [](auto& r) { r.access = AccessFlags(AccessFlags::kWindowBind); };
  CHECK(with_region(read_only, tried) == Fault::kNoAccessRight);
  tried.bind.access = AccessFlags(AccessFlags::kRemoteAtomic);
  CHECK(with_region(read_only, tried) == Fault::kNoAccessRight);
  CHECK(refused(Bench::unbind(2)) == Fault::kFree);
  CHECK(bench.fault_of(Bench::bind()) == Fault::kNone);
}

TEST_CASE("a window may reach over the whole region, and be read where only that is allowed") {
  Bench bench;
  bench.region.access = AccessFlags(AccessFlags::kWindowBind);
  bench.write();
  KeyOperations::Operation whole = Bench::bind(2, 0, kLength);
  whole.bind.access = AccessFlags(AccessFlags::kRemoteRead | AccessFlags::kWindowBind);
  REQUIRE(bench.fault_of(whole) == Fault::kNone);
  CHECK(bench.entry().access.bits() == AccessFlags::kRemoteRead);
  CHECK(bench.access(MemoryKey(kWindow, 2), kLength - 1, kOwner, AccessFlags::kRemoteRead) ==
        KeyFault::kNone);
}

TEST_CASE("a bound window is freed by its own queue pair only, and only then bound again") {
  Bench bench;
  REQUIRE(bench.fault_of(Bench::bind()) == Fault::kNone);
  CHECK(bench.fault_of(Bench::bind(3)) == Fault::kBound);
  KeyOperations::Operation other = Bench::unbind(3);
  other.qpn = Qpn(8);
  CHECK(bench.fault_of(other) == Fault::kOtherQueuePair);
  for (const Kind kind : {Kind::kLocalInvalidate, Kind::kRemoteInvalidate}) {
    CHECK(bench.fault_of(Bench::invalidate(1, kind)) == Fault::kOtherKey);
    other = Bench::invalidate(2, kind);
    other.qpn = Qpn(8);
    CHECK(bench.fault_of(other) == Fault::kOtherQueuePair);
    other = Bench::invalidate(2, kind);
    other.pd = PdNumber(2);
    CHECK(bench.fault_of(other) == Fault::kWrongPd);
    other.key = MemoryKey(kRegion, 7);
    CHECK(bench.fault_of(other) == Fault::kNoWindow);
  }
  CHECK(bench.access(MemoryKey(kWindow, 2), 0x100) == KeyFault::kNone);
  REQUIRE(bench.fault_of(Bench::unbind(3)) == Fault::kNone);
  CHECK(bench.access(MemoryKey(kWindow, 2), 0x100) == KeyFault::kStaleKey);
  REQUIRE(bench.fault_of(Bench::bind(4, 0x1000)) == Fault::kNone);
  CHECK(bench.access(MemoryKey(kWindow, 4), 0x1000) == KeyFault::kNone);
  CHECK(bench.check.pieces[0].address.value() == 0x200100);
}

TEST_CASE("invalidation makes a key stale, locally or remotely, and once more does no harm") {
  Bench bench;
  std::uint8_t variant = 2;
  for (const Kind kind : {Kind::kLocalInvalidate, Kind::kRemoteInvalidate}) {
    const MemoryKey key(kWindow, variant);
    REQUIRE(bench.fault_of(Bench::bind(variant)) == Fault::kNone);
    CHECK(bench.access(key, 0x100) == KeyFault::kNone);
    REQUIRE(bench.fault_of(Bench::invalidate(variant, kind)) == Fault::kNone);
    CHECK(bench.access(key, 0x100) == KeyFault::kStaleKey);
    CHECK(bench.fault_of(Bench::invalidate(variant, kind)) == Fault::kNone);
    ++variant;
  }
}

TEST_CASE("a region is told to have windows until the last one has gone, however it goes") {
  Bench bench;
  abi::KeyEntry second = bench.window;
  second.key = MemoryKey(6, 1);
  second.write(bench.in_memory(6));
  KeyOperations::Operation bind_second = Bench::bind();
  bind_second.bind.window = MemoryKey(6, 2);
  REQUIRE(bench.fault_of(Bench::bind()) == Fault::kNone);
  REQUIRE(bench.fault_of(bind_second) == Fault::kNone);
  CHECK(bench.operations.has_windows(kRegion));
  REQUIRE(bench.fault_of(Bench::invalidate(2)) == Fault::kNone);
  CHECK(bench.operations.has_windows(kRegion));
  // The driver takes the other away, as the NIC is about to write it back.
  const abi::KeyEntry bound = bench.entry(6);
  abi::KeyEntry gone;
  gone.key = bound.key;
  gone.write(bench.in_memory(6));
  bench.keys.store(6, bound);
  bench.operations.forget(6);
  bench.run();
  CHECK_FALSE(bench.operations.has_windows(kRegion));
  CHECK_FALSE(abi::KeyEntry::read(bench.in_memory(6)).valid);
  CHECK(abi::KeyEntry::read(bench.in_memory(6)).key == MemoryKey(6, 2));
  CHECK(bench.access(MemoryKey(6, 2), 0x100) == KeyFault::kStaleKey);
}

TEST_CASE("a region that goes while a bind is under way is looked up again") {
  Bench bench;
  bench.fault_of(Bench::bind());
  bench.fault_of(Bench::invalidate(2));
  bench.submit(Bench::bind(3));
  bench.region.valid = false;
  bench.region.write(bench.in_memory(kRegion));
  bench.keys.invalidate(kRegion);
  bench.operations.forget(kRegion);
  bench.run();
  CHECK(bench.faults.back() == Fault::kNoRegion);
}

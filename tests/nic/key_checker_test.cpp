// SPDX-License-Identifier: MIT
#include "nic/key_checker.h"

#include <array>
#include <catch2/catch.hpp>

#include "tests/support/endpoint_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::EndpointBench;
using State = KeyCheck::State;

namespace {

constexpr Time kRead = EndpointBench::kRead;
constexpr std::uint64_t kKeys = 0x1000;
constexpr std::uint64_t kTable = 0x10000;
constexpr std::uint64_t kStart = 0x5100;
constexpr std::uint64_t kLength = 0x2f00;  // to the end of the third page

struct Bench : EndpointBench {
  explicit Bench(const HostTableCacheConfig& key_config = key_cache(),
                 const TranslationCacheConfig& translation_config = {})
      : keys(scheduler, pcie, key_config, DmaPurpose::kKeyTable, "keys", 1),
        translations(scheduler, pcie, translation_config, 1),
        events(scheduler, clock, pcie, EventQueueConfig{}),
        page_faults(scheduler, events, PageFaultsConfig{}),
        checker(clock, keys, translations, page_faults, config()) {
    keys.set_table(PhysicalAddress(kKeys), 16);
    entry.valid = true;
    entry.access = AccessFlags(AccessFlags::kLocalWrite | AccessFlags::kRemoteWrite);
    entry.key = MemoryKey(3, 7);
    entry.pd = PdNumber(1);
    entry.start = VirtualAddress(kStart);
    entry.base = entry.start;
    entry.length = kLength;
    entry.table = PhysicalAddress(kTable);
    for (std::uint64_t i = 0; i < 3; ++i)
      abi::TableEntry{true, PhysicalAddress((i + 1) << 20)}.write(memory.at(kTable + i * 8));
    check = good();
  }
  /// Costs that tell the states apart.
  static KeyCheckerConfig config() {
    KeyCheckerConfig c;
    c.valid = Cycles(10);
    c.protection_domain = Cycles(100);
    c.bounds = Cycles(1000);
    c.access_rights = Cycles(10000);
    return c;
  }
  static HostTableCacheConfig key_cache() {
    HostTableCacheConfig c;
    c.hit_latency = Cycles(4);
    return c;
  }
  static KeyCheck good() {
    KeyCheck check;
    check.key = MemoryKey(3, 7);
    check.region_address = check.address = VirtualAddress(kStart);
    check.region_length = kLength;
    check.length = 0x100;
    check.pd = PdNumber(1);
    check.needs = AccessFlags::kRemoteWrite;
    return check;
  }
  void step() {
    if (checker.run(check, until, call<&Bench::step>(this))) notes.note(0);
  }
  /// Writes the key entry and runs the check to its end.
  void decide() {
    entry.write(memory.at(kKeys + 3 * abi::KeyEntry::kBytes));
    scheduler.at(scheduler.now() + 10_ns, call<&Bench::step>(this));
    run();
    REQUIRE(notes.list.size() == 1);
  }
  KeyFault fault_of(const KeyCheck& tried) {
    check = tried;
    notes.list.clear();
    decide();
    return check.fault;
  }

  KeyCache keys;
  TranslationCache translations;
  Clock clock{Frequency::mhz(400)};
  EventQueue events;
  PageFaults page_faults;
  KeyChecker checker;
  abi::KeyEntry entry;
  KeyCheck check;
  State until = State::kPass;
};

constexpr std::uint64_t kLookup = 4;
constexpr std::uint64_t kTranslation = 4;

}  // namespace

TEST_CASE("a good access passes all states and costs the sum of their cycles") {
  Bench bench;
  bench.decide();
  CHECK(bench.check.state == State::kPass);
  CHECK(bench.check.fault == KeyFault::kNone);
  CHECK(bench.check.cycles == Cycles(kLookup + 11110 + kTranslation));
  REQUIRE(bench.check.piece_count == 1);
  CHECK(bench.check.pieces[0].address.value() == 0x100100);
  CHECK(bench.check.pieces[0].bytes == 0x100);
  // One read for the key entry, then one for the translation.
  CHECK(bench.notes.list[0].second == 10_ns + kRead * 2);
  CHECK(bench.check.missed);
}

TEST_CASE("the check can stop before it translates") {
  Bench bench;
  bench.until = State::kTranslate;
  bench.decide();
  CHECK(bench.check.state == State::kTranslate);
  CHECK(bench.check.cycles == Cycles(kLookup + 11110));
  CHECK(bench.notes.list[0].second == 10_ns + kRead);
}

TEST_CASE("each state refuses for its own reason, having cost the states up to it") {
  Bench bench;
  KeyCheck check = Bench::good();
  check.key = MemoryKey(3, 8);
  CHECK(bench.fault_of(check) == KeyFault::kUnknownKey);
  CHECK(bench.check.cycles == Cycles(kLookup + 10));

  check = Bench::good();
  check.key = MemoryKey(3, 6);
  CHECK(bench.fault_of(check) == KeyFault::kStaleKey);
  CHECK(bench.check.cycles == Cycles(kLookup + 10));

  check = Bench::good();
  check.key = MemoryKey(16, 7);  // beyond the table: no look-up at all
  CHECK(bench.fault_of(check) == KeyFault::kUnknownKey);
  CHECK(bench.check.cycles == Cycles(0));

  check = Bench::good();
  check.pd = PdNumber(2);
  CHECK(bench.fault_of(check) == KeyFault::kWrongPd);
  CHECK(bench.check.cycles == Cycles(kLookup + 110));

  check = Bench::good();
  check.region_length = kLength + 1;
  CHECK(bench.fault_of(check) == KeyFault::kOutOfBounds);
  CHECK(bench.check.cycles == Cycles(kLookup + 1110));

  check = Bench::good();
  check.needs = AccessFlags::kRemoteRead;
  CHECK(bench.fault_of(check) == KeyFault::kNoAccessRight);
  CHECK(bench.check.cycles == Cycles(kLookup + 11110));

  check = Bench::good();
  check.qp_allows = false;
  CHECK(bench.fault_of(check) == KeyFault::kNoAccessRight);
  CHECK(bench.check.state == State::kNak);
}

TEST_CASE("a key is stale if the entry's bytes say that it was issued, and else it never was") {
  Bench bench;
  const auto fault = [&](std::uint8_t variant, bool valid, std::uint8_t latest) {
    bench.entry.valid = valid;
    bench.entry.key = latest == 0 ? MemoryKey() : MemoryKey(3, latest);
    bench.keys.invalidate(3);
    KeyCheck check = Bench::good();
    check.key = MemoryKey(3, variant);
    return bench.fault_of(check);
  };
  // Deregistered, and its entry not used again.
  CHECK(fault(7, false, 7) == KeyFault::kStaleKey);
  CHECK(fault(1, false, 7) == KeyFault::kStaleKey);
  CHECK(fault(8, false, 7) == KeyFault::kUnknownKey);
  // Its entry issued again.
  CHECK(fault(7, true, 7) == KeyFault::kNone);
  CHECK(fault(6, true, 7) == KeyFault::kStaleKey);
  CHECK(fault(1, true, 7) == KeyFault::kStaleKey);
  CHECK(fault(0, true, 7) == KeyFault::kUnknownKey);  // variants begin with 1
  CHECK(fault(255, true, 7) == KeyFault::kUnknownKey);
  // Never used, or never with this index.
  CHECK(fault(0, false, 0) == KeyFault::kUnknownKey);
  CHECK(fault(1, false, 0) == KeyFault::kUnknownKey);
  bench.entry.key = MemoryKey(2, 7);
  bench.keys.invalidate(3);
  CHECK(bench.fault_of(Bench::good()) == KeyFault::kUnknownKey);
  KeyCheck zero = Bench::good();
  zero.key = MemoryKey();
  CHECK(bench.fault_of(zero) == KeyFault::kUnknownKey);
}

TEST_CASE("an entry that is not valid, or that cannot be walked, is no entry") {
  Bench bench;
  const abi::KeyEntry good = bench.entry;
  const auto fault_with = [&](const abi::KeyEntry& entry) {
    bench.entry = entry;
    bench.keys.invalidate(3);
    return bench.fault_of(Bench::good());
  };
  abi::KeyEntry bad = good;
  bad.valid = false;
  CHECK(fault_with(bad) == KeyFault::kStaleKey);
  for (const std::uint8_t levels : {std::uint8_t{0}, std::uint8_t{4}, std::uint8_t{255}}) {
    bad = good;
    bad.levels = levels;
    CHECK(fault_with(bad) == KeyFault::kUnknownKey);
  }
  for (const std::uint8_t log_page : {std::uint8_t{0}, std::uint8_t{11}, std::uint8_t{64}}) {
    bad = good;
    bad.log_page_size = log_page;
    CHECK(fault_with(bad) == KeyFault::kUnknownKey);
  }
  CHECK(fault_with(good) == KeyFault::kNone);
}

TEST_CASE("bounds are exact to the byte on both sides, also past 2^64") {
  Bench bench;
  const auto fault_at = [&](std::uint64_t address, std::uint64_t length) {
    KeyCheck check = Bench::good();
    check.region_address = check.address = VirtualAddress(address);
    check.region_length = length;
    check.length = 1;
    return bench.fault_of(check);
  };
  CHECK(fault_at(kStart, kLength) == KeyFault::kNone);
  CHECK(fault_at(kStart - 1, 1) == KeyFault::kOutOfBounds);
  CHECK(fault_at(kStart + kLength - 1, 1) == KeyFault::kNone);
  CHECK(fault_at(kStart + kLength - 1, 2) == KeyFault::kOutOfBounds);
  CHECK(fault_at(kStart + kLength, 1) == KeyFault::kOutOfBounds);
  CHECK(fault_at(kStart + 1, ~std::uint64_t{0} - 1) == KeyFault::kOutOfBounds);  // wraps
  CHECK(fault_at(~std::uint64_t{0}, 2) == KeyFault::kOutOfBounds);               // wraps to 1
}

TEST_CASE("an access over a page boundary has a piece on each page") {
  Bench bench;
  KeyCheck check = Bench::good();
  check.address = VirtualAddress(0x5ff0);
  check.length = 4096;
  CHECK(bench.fault_of(check) == KeyFault::kNone);
  REQUIRE(bench.check.piece_count == 2);
  CHECK(bench.check.pieces[0].address.value() == 0x100ff0);
  CHECK(bench.check.pieces[0].bytes == 16);
  CHECK(bench.check.pieces[1].address.value() == 0x200000);
  CHECK(bench.check.pieces[1].bytes == 4080);
  CHECK(bench.check.cycles == Cycles(kLookup + 11110 + 2 * kTranslation));
}

TEST_CASE("a page that the table lacks is refused after its look-up") {
  Bench bench;
  abi::TableEntry{}.write(bench.memory.at(kTable + 8));
  KeyCheck check = Bench::good();
  check.address = VirtualAddress(0x5ff0);
  CHECK(bench.fault_of(check) == KeyFault::kNotPresent);
  CHECK(bench.check.state == State::kNak);
}

TEST_CASE("later packets enter at translate and still see that the key is gone") {
  Bench bench;
  KeyCheck later = Bench::good();
  later.state = State::kTranslate;
  later.region_length = 0;  // not looked at again
  CHECK(bench.fault_of(later) == KeyFault::kNone);
  CHECK(bench.check.cycles == Cycles(kTranslation));
  bench.entry.valid = false;
  bench.keys.invalidate(3);
  bench.translations.invalidate(3);
  CHECK(bench.fault_of(later) == KeyFault::kStaleKey);
}

namespace {

/// Room for one key and one line of translations.
struct TinyCaches : Bench {
  TinyCaches() : Bench(one_key(), one_line()) {
    for (std::uint32_t i = 0; i < kChecks; ++i) {
      abi::KeyEntry other = entry;
      other.key = MemoryKey(3 + i, 7);
      other.table = PhysicalAddress(kTable + i * abi::kTablePageBytes);
      other.write(memory.at(kKeys + (3 + i) * abi::KeyEntry::kBytes));
      abi::TableEntry{true, PhysicalAddress((i + 1) << 20)}.write(memory.at(other.table.value()));
      checks[i] = good();
      checks[i].key = other.key;
    }
  }
  static HostTableCacheConfig one_key() {
    HostTableCacheConfig c = key_cache();
    c.geometry = {1, 1, Replacement::kLru};
    return c;
  }
  static TranslationCacheConfig one_line() {
    TranslationCacheConfig c;
    c.geometry = {8, 1, Replacement::kLru};
    c.outstanding_misses = kChecks;
    return c;
  }
  void begin(std::uint64_t i) {
    if (checker.run(checks[i], State::kPass, call<&TinyCaches::begin>(this, i))) notes.note(i);
  }
  /// Check i begins at i * `apart`.
  void begin_all(Time apart) {
    for (std::uint64_t i = 0; i < kChecks; ++i)
      scheduler.at(apart * static_cast<std::int64_t>(i), call<&TinyCaches::begin>(this, i));
  }
  /// The key of check 0 is deregistered: in host RAM, then in the NIC.
  void deregister() {
    abi::KeyEntry gone;
    gone.key = MemoryKey(3, 7);
    gone.write(memory.at(kKeys + 3 * abi::KeyEntry::kBytes));
    keys.invalidate(3);
    translations.invalidate(3);
  }

  static constexpr std::uint32_t kChecks = 4;
  std::array<KeyCheck, kChecks> checks;
};

}  // namespace

TEST_CASE("checks that take each other's place in the caches fetch each entry once") {
  TinyCaches bench;
  bench.begin_all(10_ns);
  bench.run();
  CHECK(bench.notes.list == test::Noted{{0, kRead * 2},
                                        {1, 10_ns + kRead * 2},
                                        {2, 20_ns + kRead * 2},
                                        {3, 30_ns + kRead * 2}});
  for (std::uint32_t i = 0; i < TinyCaches::kChecks; ++i) {
    CHECK(bench.checks[i].state == State::kPass);
    CHECK(bench.checks[i].pieces[0].address.value() == (std::uint64_t{i + 1} << 20) + 0x100);
    CHECK(bench.checks[i].cycles == Cycles(kLookup + 11110 + kTranslation));
  }
}

TEST_CASE("a key that goes while its check waits for the translation is found gone") {
  TinyCaches bench;
  bench.begin_all(10_ns);
  bench.at(500_ns, [&] { bench.deregister(); });
  bench.run();
  CHECK(bench.checks[0].state == State::kNak);
  CHECK(bench.checks[0].fault == KeyFault::kStaleKey);
  for (std::uint32_t i = 1; i < TinyCaches::kChecks; ++i)
    CHECK(bench.checks[i].state == State::kPass);
}

TEST_CASE("a key that the NIC takes away while its check waits for the translation is found gone") {
  Bench bench;
  bench.at(500_ns, [&] {
    bench.keys.peek(3)->valid = false;
    bench.keys.mark_dirty(3);
    bench.translations.invalidate(3);
  });
  bench.decide();
  CHECK(bench.check.fault == KeyFault::kStaleKey);
}

TEST_CASE("a key that goes between the check's verdict and its translation is found gone") {
  Bench bench;
  bench.until = State::kTranslate;
  bench.decide();
  REQUIRE(bench.check.state == State::kTranslate);
  bench.entry.valid = false;
  bench.keys.invalidate(3);
  bench.translations.invalidate(3);
  bench.until = State::kPass;
  CHECK(bench.fault_of(bench.check) == KeyFault::kStaleKey);
}

namespace {

/// What the state machine reports: "lookup 4" is four cycles in that state.
struct Stretches : StateSink {
  explicit Stretches(Bench& b) : bench(b) {
    Signals signals;
    bench.checker.signals(SignalScope(signals, "key_checker"));
    REQUIRE(signals.size() == 1);
    names = signals[0].states;
    signals[0].report->attach(this, 0);
  }
  void in_state(std::uint32_t, Time from, Time until, std::uint64_t state) override {
    if (!list.empty()) CHECK(from >= last);
    last = until;
    list.push_back(names[state] + ' ' + std::to_string((until - from).ps() / 2500));
  }
  Time now() const override { return bench.scheduler.now(); }

  Bench& bench;
  std::vector<std::string> names;
  std::vector<std::string> list;
  Time last;
};

}  // namespace

TEST_CASE("who watches the state machine sees each state for its cycles, and waits in between") {
  Bench bench;
  Stretches stretches(bench);
  bench.decide();
  const std::string read = std::to_string(kRead.ps() / 2500);
  // The key entry is fetched first; the translation comes while the other states are passed.
  CHECK(stretches.list == std::vector<std::string>{"wait " + read, "key_lookup 4", "valid 10",
                                                   "protection_domain 100", "bounds 1000",
                                                   "access_rights 10000", "translate 4", "pass 1"});
}

TEST_CASE("a refused check is seen to end in the state that refused it") {
  Bench bench;
  bench.decide();
  Stretches stretches(bench);
  KeyCheck other = Bench::good();
  other.pd = PdNumber(2);
  CHECK(bench.fault_of(other) == KeyFault::kWrongPd);
  CHECK(stretches.list ==
        std::vector<std::string>{"key_lookup 4", "valid 10", "protection_domain 100", "nak 1"});
}

TEST_CASE("checks enter the state machine at its interval") {
  Bench bench;
  KeyCheckerConfig config;
  config.interval = Cycles(3);
  KeyChecker checker(bench.clock, bench.keys, bench.translations, bench.page_faults, config);
  CHECK(checker.enter(Time()) == Time());
  CHECK(checker.enter(Time()) == bench.clock.edge(3));
  CHECK(checker.enter(bench.clock.edge(4)) == bench.clock.edge(6));
  CHECK(checker.enter(bench.clock.edge(20)) == bench.clock.edge(20));
}

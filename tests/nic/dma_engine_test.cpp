// SPDX-License-Identifier: MIT
// The engine alone, between a client that writes down what it is told and a memory.
#include "nic/dma_engine.h"

#include <catch2/catch.hpp>
#include <string>

#include "model/packet.h"
#include "tests/support/endpoint_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::EndpointBench;

namespace {

constexpr Time kRead = EndpointBench::kRead;
constexpr Time kWrite = EndpointBench::kWrite;
constexpr std::uint64_t kKeys = 0x1000;
constexpr std::uint64_t kTable = 0x10000;
constexpr std::uint64_t kPages = 64;
constexpr MemoryKey kKey(3, 7);
constexpr Cycles kCheck{12};  // key look-up 4, four states of one cycle, translation 4

struct Segment {
  std::uint64_t address;
  std::uint32_t bytes;
  MemoryKey key = kKey;
};

/// Outlives the entries of the bench that hold packets.
struct WithPool {
  PacketPool pool;
};

struct Bench : WithPool, EndpointBench, DmaEngine::Client {
  explicit Bench(DmaEngine::Direction direction, bool elided = false)
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
    return scheduler.now() + 1_us;
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

struct Scatter : Bench {
  explicit Scatter(bool elided = false) : Bench(DmaEngine::Direction::kScatter, elided) {}
};
struct Gather : Bench {
  explicit Gather(bool elided = false) : Bench(DmaEngine::Direction::kGather, elided) {}
};

}  // namespace

TEST_CASE("a job that scatters is written after its check and leaves when PCIe has taken it") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  bench.add_at(start, bench.job(100, {{50, 100}}));
  bench.run();
  const Time issue = bench.clock.after(start, kCheck);
  CHECK(bench.begins() == std::vector<Time>{issue});
  CHECK(bench.left_at == std::vector<Time>{issue + kWrite});
  CHECK(bench.done_since == issue);
  CHECK(bench.log == "part 0+100; done; leave 0; ");
  for (std::uint32_t i = 0; i < 100; ++i)
    CHECK(*bench.memory.at(Bench::physical(50 + i)) == static_cast<std::uint8_t>(200 - i));
  CHECK(bench.memory.of(DmaPurpose::kPayload)[0].engine == DmaEngineId::kPosted);
  CHECK(bench.engine.idle());
}

TEST_CASE("what is still arriving is written as late as PCIe must not overtake the wire") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  DmaEngine::Job far = bench.job(1000, {{0, 400}, {1000, 600}});
  far.packet->tail = start + 1_us;
  bench.add_at(start, std::move(far));
  DmaEngine::Job near = bench.job(100, {{0, 100}});
  near.packet->tail = start + 1_us + 8_ns;  // 100 B take 12.5 ns
  bench.add_at(start, std::move(near));
  bench.run();
  const Time first = start + 1_us - 125_ns;
  const Time second = start + 1_us - 75_ns;
  CHECK(bench.begins() == std::vector<Time>{first, second, start + 1_us + 8_ns - 12500_ps});
  CHECK(bench.left_at[0] == second + kWrite);
}

TEST_CASE("PCIe slower than the wire is given a packet as soon as it is translated") {
  Scatter bench;
  const Time start = bench.warm();
  DmaEngine::Job job = bench.job(4000, {{0, 4000}});
  job.packet->tail = start + 200_ns;  // of PCIe 500 ns
  bench.add_at(start, std::move(job));
  bench.run();
  CHECK(bench.begins() == std::vector<Time>{bench.clock.after(start, kCheck)});
}

TEST_CASE("a job that moves nothing is not through before its packet has come") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  DmaEngine::Job job = bench.job(0, {});
  job.packet->tail = start + 300_ns;
  bench.add_at(start, std::move(job));
  bench.run();
  CHECK(bench.left_at == std::vector<Time>{start + 300_ns});
}

TEST_CASE("a job that gathers leaves when its bytes have come") {
  Gather bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  DmaEngine::Job job = bench.job(100, {{50, 100}});
  const PacketRef packet = job.packet;
  bench.add_at(start, std::move(job));
  bench.run();
  const Time issue = bench.clock.after(start, kCheck);
  CHECK(bench.begins() == std::vector<Time>{issue});
  CHECK(bench.left_at == std::vector<Time>{issue + kRead});
  for (std::uint32_t i = 0; i < 100; ++i) CHECK(packet->payload()[i] == Bench::byte_at(50 + i));
  CHECK(bench.memory.of(DmaPurpose::kPayload)[0].engine == DmaEngineId::kPayloadRead);
}

TEST_CASE("a job of several segments moves them one after the other, each after its own check") {
  Gather bench;
  const Time start = bench.warm();
  DmaEngine::Job job = bench.job(60, {{5000, 10}, {9000, 0}, {100, 20}, {300, 100}});
  const PacketRef packet = job.packet;
  bench.add_at(start, std::move(job));
  bench.run();
  const Time first = bench.clock.after(start, kCheck);
  const Time second = bench.clock.after(first, kCheck);
  const Time third = bench.clock.after(second, kCheck);
  CHECK(bench.begins() == std::vector<Time>{first, second, third});
  CHECK(bench.left_at.back() == third + kRead);
  CHECK(bench.log == "part 0+10; part 10+20; part 30+30; done; leave 0; ");
  for (std::uint32_t i = 0; i < 60; ++i) {
    const std::uint64_t from = i < 10 ? 5000 + i : i < 30 ? 90 + i : 270 + i;
    CHECK(packet->payload()[i] == Bench::byte_at(from));
  }
}

TEST_CASE("a job in the middle of its message begins inside a segment") {
  Scatter bench;
  const Time start = bench.warm();
  DmaEngine::Job job = bench.job(20, {{0, 100}, {1000, 100}});
  job.offset = 95;
  bench.add_at(start, std::move(job));
  bench.run();
  const auto writes = bench.memory.of(DmaPurpose::kPayload);
  REQUIRE(writes.size() == 2);
  CHECK(writes[0].address == Bench::physical(95));
  CHECK(writes[0].bytes == 5);
  CHECK(writes[1].address == Bench::physical(1000));
  CHECK(writes[1].bytes == 15);
}

TEST_CASE("a part on two pages is two requests at once") {
  Scatter bench;
  const Time start = bench.warm();
  bench.add_at(start, bench.job(200, {{4096 - 50, 200}}));
  bench.run();
  const auto writes = bench.memory.of(DmaPurpose::kPayload);
  REQUIRE(writes.size() == 2);
  CHECK(writes[0].begin == writes[1].begin);
  CHECK(writes[0].address == Bench::physical(4096 - 50));
  CHECK(writes[0].bytes == 50);
  CHECK(writes[1].address == Bench::physical(4096));
  CHECK(writes[1].bytes == 150);
  CHECK(bench.log == "part 0+200; done; leave 0; ");
}

TEST_CASE(
    "a prefix and the payload behind it are looked up once, and written one after the other") {
  Scatter bench;
  const Time start = bench.warm();
  DmaEngine::Job job = bench.job(10, {{0, 100}});
  job.prefix = 40;
  job.bytes = 50;
  bench.add_at(start, std::move(job));
  bench.run();
  CHECK(bench.log == "part 0+50; done; leave 0; ");
  const std::vector<Time> begins = bench.begins();
  REQUIRE(begins.size() == 2);
  CHECK(begins[0] == begins[1]);
  for (std::uint32_t i = 0; i < 40; ++i) CHECK(*bench.memory.at(Bench::physical(i)) == i + 1);
  for (std::uint32_t i = 0; i < 10; ++i)
    CHECK(*bench.memory.at(Bench::physical(40 + i)) == static_cast<std::uint8_t>(200 - i));
}

TEST_CASE("a prefix may lie across two segments") {
  Scatter bench;
  const Time start = bench.warm();
  DmaEngine::Job job = bench.job(10, {{0, 30}, {1000, 100}});
  job.prefix = 40;
  job.bytes = 50;
  bench.add_at(start, std::move(job));
  bench.run();
  CHECK(bench.log == "part 0+30; part 30+20; done; leave 0; ");
  CHECK(*bench.memory.at(Bench::physical(29)) == 30);
  CHECK(*bench.memory.at(Bench::physical(1000)) == 31);
  CHECK(*bench.memory.at(Bench::physical(1010)) == 200);
}

TEST_CASE("a job whose translation is missing holds up those behind it, but not their look-ups") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  bench.add_at(start, bench.job(8, {{40 * 4096, 8}}));          // cold
  bench.add_at(start + 10_ns, bench.job(8, {{0, 8}}));          // warm
  bench.add_at(start + 20_ns, bench.job(8, {{56 * 4096, 8}}));  // cold, another line
  bench.run();
  const auto tables = bench.memory.of(DmaPurpose::kTranslationTable);
  REQUIRE(tables.size() == 2);
  CHECK(tables[0].begin == start);
  CHECK(tables[1].begin == start + 20_ns);
  const Time first = bench.clock.after(start + kRead, kCheck);
  const Time third = bench.clock.after(start + 20_ns + kRead, kCheck);
  CHECK(bench.begins() == std::vector<Time>{first, first, third});
  CHECK(bench.left_at == std::vector<Time>{first + kWrite, first + kWrite, third + kWrite});
  CHECK(bench.log.find("leave 0; ") < bench.log.find("leave 1; "));
}

TEST_CASE("a job that is void before its turn moves nothing and leaves") {
  Scatter bench;
  const Time start = bench.warm();
  std::uint32_t epoch = 5;
  DmaEngine::Job job = bench.job(8, {{0, 8}});
  job.epoch = Epoch(epoch);
  bench.add_at(start, std::move(job));
  bench.at(start + 10_ns, [&epoch] { ++epoch; });
  bench.run();
  CHECK(bench.begins().empty());
  CHECK(bench.log == "leave 0; ");
}

TEST_CASE("a job that becomes void between two parts moves no more, and waits for what it began") {
  Gather bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  std::uint32_t epoch = 5;
  DmaEngine::Job job = bench.job(20, {{0, 10}, {100, 10}});
  job.epoch = Epoch(epoch);
  bench.add_at(start, std::move(job));
  const Time first = bench.clock.after(start, kCheck);
  bench.at(first + 1_ns, [&epoch] { ++epoch; });
  bench.run();
  CHECK(bench.begins() == std::vector<Time>{first});
  CHECK(bench.left_at == std::vector<Time>{first + kRead});
  CHECK(bench.log == "part 0+10; leave 0; ");
}

TEST_CASE("a job whose key is refused moves nothing and leaves in its turn") {
  Scatter bench;
  const Time start = bench.warm();
  bench.add_at(start, bench.job(8, {{40 * 4096, 8}}));  // cold
  bench.add_at(start + 1_ns, bench.job(8, {{0, 8, MemoryKey(9, 1)}}));
  bench.add_at(start + 2_ns, bench.job(8, {{kPages * 4096 - 4, 8}}));
  bench.run();
  CHECK(bench.begins().size() == 1);
  const std::string log = bench.log;
  CHECK(log ==
        "part 0+8; key never issued 1; address range outside the region 2; done; leave 0; leave 1; "
        "leave 2; ");
}

TEST_CASE("a segment that is refused ends its job, whose first part stays moved") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  bench.add_at(start, bench.job(20, {{0, 10}, {0, 10, MemoryKey(3, 9)}}));
  bench.run();
  const Time first = bench.clock.after(start, kCheck);
  CHECK(bench.begins() == std::vector<Time>{first});
  CHECK(*bench.memory.at(Bench::physical(0)) == 200);
  CHECK(bench.left_at == std::vector<Time>{first + kWrite});
  CHECK(bench.log.find("leave 0; ") == bench.log.size() - 9);
  CHECK(bench.log.find("key never issued 0; ") != std::string::npos);
}

TEST_CASE("a client may keep a job from moving when its turn comes") {
  Scatter bench;
  const Time start = bench.warm();
  bench.forbidden = 0;
  bench.add_at(start, bench.job(8, {{0, 8}}));
  bench.add_at(start, bench.job(8, {{100, 8}}));
  bench.run();
  CHECK(bench.begins().size() == 1);
  CHECK(bench.memory.of(DmaPurpose::kPayload)[0].address == Bench::physical(100));
  CHECK(bench.log == "leave 0; part 0+8; done; leave 1; ");
}

TEST_CASE("a client may move a job itself; the job is through when it says so") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  bench.taken_over = 0;
  bench.add_at(start, bench.job(8, {{0, 8}}));
  bench.add_at(start + 10_ns, bench.job(8, {{100, 8}}));
  bench.at(start + 2_us, [&bench] { bench.engine.finished(bench.jobs_before); });
  bench.run();
  CHECK(bench.begins() == std::vector<Time>{bench.clock.after(start + 10_ns, kCheck)});
  CHECK(bench.left_at == std::vector<Time>{start + 2_us, start + 2_us});
  CHECK(bench.log == "taken 0; part 0+8; done; done; leave 0; leave 1; ");
}

TEST_CASE("a job whose client says no stays, and those behind it, until they are drained") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  bench.refuses_to_leave = true;
  bench.add_at(start, bench.job(8, {{0, 8}}));
  bench.add_at(start, bench.job(8, {{100, 8}}));
  const int before = bench.lefts;
  bench.run();
  CHECK(bench.engine.size() == 2);
  CHECK(bench.engine.is_through(bench.engine.first()));
  CHECK(bench.lefts == before);
  bench.refuses_to_leave = false;
  bench.engine.drain();
  CHECK(bench.engine.idle());
  CHECK(bench.lefts == before + 1);  // once for both
  CHECK(bench.log == "part 0+8; part 0+8; done; done; leave 0; leave 1; ");
}

TEST_CASE("a job that has failed moves nothing and leaves behind those before it") {
  Gather bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  bench.add_at(start, bench.job(8, {{0, 8}}));
  DmaEngine::Job failed;
  failed.failed = CompletionStatus::kLocalLengthError;
  bench.add_at(start, failed);
  bench.run();
  const Time through = bench.clock.after(start, kCheck) + kRead;
  CHECK(bench.left_at == std::vector<Time>{through, through});
  CHECK(bench.log == "part 0+8; done; leave 0; leave 1; ");
}

TEST_CASE("a job without bytes is through when it is ready, not before") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  DmaEngine::Job job = bench.job(0, {});
  job.ready = start + 500_ns;
  bench.add_at(start, std::move(job));
  bench.run();
  CHECK(bench.left_at == std::vector<Time>{start + 500_ns});
  CHECK(bench.log == "leave 0; ");
}

TEST_CASE("a job that was checked before is moved when it is ready, without another look-up") {
  Scatter bench;
  const Time start = bench.warm();
  DmaEngine::Job job = bench.job(8, {});
  job.check_set = true;
  job.check.state = KeyCheck::State::kPass;
  job.check.not_before = start + 40_ns;
  job.check.pieces[0] = {PhysicalAddress(Bench::physical(100)), 8};
  job.check.piece_count = 1;
  job.check.length = 8;
  bench.add_at(start, std::move(job));
  bench.run();
  CHECK(bench.begins() == std::vector<Time>{start + 40_ns});
}

TEST_CASE("elided payload is accounted at the same times and moves no byte") {
  Scatter bench(true);
  const Time start = bench.warm();
  const std::uint8_t before = *bench.memory.at(Bench::physical(50));
  bench.add_at(start, bench.job(100, {{50, 100}}));
  bench.run();
  CHECK(bench.begins() == std::vector<Time>{bench.clock.after(start, kCheck)});
  CHECK(bench.memory.of(DmaPurpose::kPayload)[0].elided);
  CHECK(*bench.memory.at(Bench::physical(50)) == before);
}

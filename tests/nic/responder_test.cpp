// SPDX-License-Identifier: MIT
#include "nic/responder.h"

#include <catch2/catch.hpp>

#include "tests/support/nic_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::BenchOptions;
using test::kReadLatency;
using test::kWriteLatency;
using test::OneNic;
using test::Region;

namespace {

const Clock kClock{Frequency::mhz(400)};

/// The far requester is the test: queue pair 1 expects PSN 100 and a path MTU of 1024.
struct Bench : OneNic {
  explicit Bench(const BenchOptions& options = {}, const test::QpOptions& qp = mtu_1024(),
                 const test::RegionOptions& region_options = {})
      : OneNic(options) {
    driver().add_qp(Qpn(1), qp);
    region = driver().add_region(3, region_options);
    before = host.memory.bytes;
    host.memory.log.clear();
  }
  static test::QpOptions mtu_1024() {
    test::QpOptions options;
    options.mtu_code = 3;
    return options;
  }
  PacketRef first(std::uint32_t psn, std::uint64_t offset, std::uint32_t total) {
    return write_request(Opcode::kWriteFirst, Psn(psn), 1024, region, offset, total);
  }
  PacketRef only(std::uint32_t psn, std::uint64_t offset, std::uint32_t bytes) {
    return write_request(Opcode::kWriteOnly, Psn(psn), bytes, region, offset, bytes);
  }
  PacketRef middle(std::uint32_t psn) { return request(Opcode::kWriteMiddle, Psn(psn), 1024); }
  PacketRef last(std::uint32_t psn, std::uint32_t bytes) {
    return request(Opcode::kWriteLast, Psn(psn), bytes);
  }
  /// Lets packets arrive 200 ns apart, and runs.
  void give(std::vector<PacketRef> packets) {
    Time time = scheduler.now() + 10_ns;
    for (PacketRef& packet : packets) {
      arrive_at(time, std::move(packet));
      time += 200_ns;
    }
    run();
  }
  bool landed(std::uint64_t offset, std::uint32_t psn, std::uint32_t bytes) {
    for (std::uint32_t i = 0; i < bytes; ++i)
      if (*driver().at(region.physical(region.start + offset + i)) !=
          static_cast<std::uint8_t>(psn * 7 + i))
        return false;
    return true;
  }
  bool nothing_written() const {
    for (const auto& access : host.memory.log)
      if (access.write && access.purpose == DmaPurpose::kPayload) return false;
    return true;
  }
  /// "psn:syndrome:msn" of every answer.
  std::string answers() const {
    std::string text;
    for (const PacketRef& packet : wire.packets) {
      char part[32];
      std::snprintf(part, sizeof part, "%u:%02x:%u ", packet->bth.psn.value(),
                    packet->aeth.syndrome, packet->aeth.msn);
      text += part;
    }
    return text;
  }
  QpState state() { return driver().query_qp(Qpn(1)).state; }

  Region region;
  std::vector<std::uint8_t> before;
};

void check_refused(Bench& bench, PacketRef packet, const char* answer) {
  bench.give({std::move(packet)});
  CHECK(bench.answers() == answer);
  CHECK(bench.nothing_written());
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.host.nic.idle());
}

}  // namespace

TEST_CASE("a message of several packets lands in order and is acknowledged once") {
  Bench bench;
  bench.give({bench.first(100, 10, 2500), bench.middle(101), bench.last(102, 452)});
  CHECK(bench.landed(10, 100, 1024));
  CHECK(bench.landed(10 + 1024, 101, 1024));
  CHECK(bench.landed(10 + 2048, 102, 452));
  CHECK(bench.answers() == "102:1f:1 ");
  const PacketRef& ack = bench.wire.packets[0];
  CHECK(ack->bth.opcode == Opcode::kAcknowledge);
  CHECK(icrc_ok(*ack));
  CHECK(bench.driver().query_qp(Qpn(1)).expected_psn == Psn(103));
}

TEST_CASE("with warm caches every stage takes its cycles from the wire to memory and back") {
  Bench bench;
  bench.give({bench.only(100, 0, 64)});
  bench.host.memory.log.clear();
  const Time arrival = bench.scheduler.now() + 10_ns;
  bench.give({bench.only(101, 0, 64)});
  const Time parsed = kClock.after(arrival, Cycles(8));
  const Time judged = kClock.after(parsed, Cycles(20));
  // Key look-up 4, four states of one cycle; then the translation's 4.
  const Time written = kClock.after(judged, Cycles(8 + 4));
  REQUIRE(bench.host.memory.log.size() == 1);
  CHECK(bench.host.memory.log[0].begin == written);
  CHECK(bench.host.memory.log[0].engine == DmaEngineId::kPosted);
  const Time acknowledged = kClock.after(written + kWriteLatency, Cycles(8));
  CHECK(bench.wire.packets[1]->head == acknowledged + Time::ps(80) * 8);
}

TEST_CASE("a cold responder adds one read each for key and translation") {
  Bench bench;
  const Time arrival = bench.scheduler.now() + 10_ns;
  bench.give({bench.only(100, 0, 64)});
  const auto writes = bench.host.memory.of(DmaPurpose::kPayload);
  REQUIRE(writes.size() == 1);
  // The key is fetched while the packet is in the parser; the translation after its check.
  const auto key = bench.host.memory.of(DmaPurpose::kKeyTable);
  REQUIRE(key.size() == 1);
  CHECK(key[0].begin == arrival);
  const auto table = bench.host.memory.of(DmaPurpose::kTranslationTable);
  REQUIRE(table.size() == 1);
  CHECK(table[0].begin == arrival + kReadLatency);
  CHECK(writes[0].begin == kClock.after(arrival + kReadLatency * 2, Cycles(4)));
}

TEST_CASE("a PSN ahead is answered with one sequence-error NAK until it is mended") {
  Bench bench;
  bench.give({bench.only(101, 0, 8), bench.only(102, 0, 8)});
  CHECK(bench.answers() == "100:60:0 ");
  CHECK(bench.nothing_written());
  bench.give({bench.only(100, 0, 8), bench.only(103, 8, 8)});
  CHECK(bench.answers() == "100:60:0 100:1f:1 101:60:1 ");
  CHECK(bench.state() == QpState::kRts);
}

TEST_CASE("a duplicate is acknowledged again and written nowhere") {
  Bench bench;
  bench.give({bench.only(100, 0, 8), bench.only(101, 8, 8)});
  bench.host.memory.log.clear();
  bench.give({bench.only(100, 16, 8)});
  CHECK(bench.answers() == "100:1f:1 101:1f:2 101:1f:2 ");
  CHECK(bench.nothing_written());
}

TEST_CASE("a wrong key is refused with a remote access error") {
  Bench bench;
  PacketRef packet = bench.only(100, 0, 64);
  packet->reth.r_key = MemoryKey(3, 0x5b);
  check_refused(bench, packet, "100:62:0 ");
}

TEST_CASE("a range that ends one byte beyond the region is refused") {
  Bench bench;
  check_refused(bench, bench.only(100, 0x8000 - 63, 64), "100:62:0 ");
}

TEST_CASE("a range that begins one byte below the region is refused") {
  Bench bench;
  check_refused(bench, bench.only(100, ~std::uint64_t{0}, 64), "100:62:0 ");
}

TEST_CASE("the whole DMA length is checked at the first packet") {
  Bench bench;
  check_refused(bench, bench.first(100, 0, 0x8001), "100:62:0 ");
}

TEST_CASE("a region without remote-write right refuses") {
  test::RegionOptions region;
  region.access = AccessFlags::kLocalWrite | AccessFlags::kRemoteRead;
  Bench bench({}, Bench::mtu_1024(), region);
  check_refused(bench, bench.only(100, 0, 64), "100:62:0 ");
}

TEST_CASE("a queue pair without remote-write right refuses") {
  test::QpOptions qp = Bench::mtu_1024();
  qp.access = AccessFlags::kRemoteRead;
  Bench bench({}, qp);
  check_refused(bench, bench.only(100, 0, 64), "100:62:0 ");
}

TEST_CASE("a key of another protection domain is refused") {
  test::RegionOptions region;
  region.pd = PdNumber(2);
  Bench bench({}, Bench::mtu_1024(), region);
  check_refused(bench, bench.only(100, 0, 64), "100:62:0 ");
}

TEST_CASE("a zero-length write is acknowledged whatever its key") {
  Bench bench;
  PacketRef packet = bench.only(100, 1 << 30, 0);
  packet->reth.r_key = MemoryKey(30, 1);
  bench.give({packet});
  CHECK(bench.answers() == "100:1f:1 ");
  CHECK(bench.nothing_written());
}

TEST_CASE("a middle packet without a first is an invalid request") {
  Bench bench;
  check_refused(bench, bench.middle(100), "100:61:0 ");
}

TEST_CASE("a first packet inside a message is an invalid request") {
  Bench bench;
  bench.give({bench.first(100, 0, 3000), bench.first(101, 0, 3000)});
  CHECK(bench.answers() == "101:61:0 ");
  CHECK(bench.state() == QpState::kErr);
}

TEST_CASE("a payload shorter than the path MTU in the middle is an invalid request") {
  Bench bench;
  bench.give({bench.first(100, 0, 3000), bench.request(Opcode::kWriteMiddle, Psn(101), 1000)});
  CHECK(bench.answers() == "101:61:0 ");
}

TEST_CASE("a message that ends short of its DMA length is an invalid request") {
  Bench bench;
  bench.give({bench.first(100, 0, 3000), bench.last(101, 1000)});
  CHECK(bench.answers() == "101:61:0 ");
}

TEST_CASE("a message that runs past its DMA length is an invalid request") {
  Bench bench;
  bench.give({bench.first(100, 0, 1500), bench.middle(101)});
  CHECK(bench.answers() == "101:61:0 ");
}

TEST_CASE("an operation that is not served is an invalid request") {
  Bench bench;
  check_refused(bench, bench.request(Opcode::kSendOnly, Psn(100), 64), "100:61:0 ");
}

TEST_CASE("a queue pair that may not receive drops in silence") {
  test::QpOptions qp = Bench::mtu_1024();
  qp.last_state = QpState::kInit;
  Bench bench({}, qp);
  PacketRef nowhere = bench.only(100, 0, 64);
  nowhere->bth.dest_qp = Qpn(0xffffff);
  bench.give({bench.only(100, 0, 64), nowhere});
  CHECK(bench.wire.packets.empty());
  CHECK(bench.host.metric("responder.dropped") == 2);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("writes are issued in order although the first one missed the translation cache") {
  Bench bench;
  // The second packet's line is in the cache, the first one's is not.
  test::RegionOptions other;
  other.start = 0x900000;
  other.length = 0x10000;
  const Region cold = bench.driver().add_region(4, other);
  bench.give({bench.only(100, 0, 64)});
  PacketRef key_only = bench.write_request(Opcode::kWriteOnly, Psn(101), 64, cold, 0, 64);
  bench.give({key_only});
  bench.host.memory.log.clear();
  bench.wire.packets.clear();
  const Time start = bench.scheduler.now() + 10_ns;
  PacketRef missing = bench.write_request(Opcode::kWriteOnly, Psn(102), 64, cold, 0x8000, 64);
  bench.arrive_at(start, missing);
  bench.arrive_at(start + 20_ns, bench.only(103, 64, 64));
  bench.run();
  const auto table = bench.host.memory.of(DmaPurpose::kTranslationTable);
  const auto writes = bench.host.memory.of(DmaPurpose::kPayload);
  REQUIRE(table.size() == 1);
  REQUIRE(writes.size() == 2);
  CHECK(writes[0].address == cold.physical(cold.start + 0x8000));
  CHECK(writes[0].begin == kClock.after(table[0].end, Cycles(4)));
  CHECK(writes[1].begin == writes[0].begin);
  CHECK(bench.answers() == "102:1f:3 103:1f:4 ");
}

TEST_CASE("a key disabled in mid-message refuses the rest of it") {
  Bench bench;
  bench.give({bench.first(100, 0, 3000)});
  abi::KeyEntry entry = abi::KeyEntry::read(bench.driver().key_entry(3));
  entry.valid = false;
  bench.driver().write_key(3, entry);
  bench.driver().must(abi::CommandOpcode::kDisableKey, 3);
  bench.host.memory.log.clear();
  bench.give({bench.middle(101), bench.last(102, 952)});
  CHECK(bench.answers() == "101:62:0 ");
  CHECK(bench.nothing_written());
  CHECK(bench.landed(0, 100, 1024));  // what was allowed stays
  CHECK(bench.state() == QpState::kErr);
}

TEST_CASE("a request behind one that was refused late writes nothing") {
  Bench bench;
  // The second page is absent from the table: known only when the translation has come.
  abi::TableEntry{}.write(
      bench.driver().at(abi::KeyEntry::read(bench.driver().key_entry(3)).table.value() + 8));
  const Time start = bench.scheduler.now() + 10_ns;
  bench.arrive_at(start, bench.only(100, 4096, 64));
  bench.arrive_at(start + 20_ns, bench.only(101, 0, 64));
  bench.run();
  CHECK(bench.nothing_written());
  CHECK(bench.answers() == "100:62:0 ");
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("no more packets translate and write at once than the window holds") {
  BenchOptions options;
  options.nic.responder.window = 2;
  Bench bench(options);
  bench.give({bench.only(100, 0, 64)});
  bench.host.memory.log.clear();
  const Time start = bench.scheduler.now() + 10_ns;
  for (std::uint32_t i = 0; i < 6; ++i)
    bench.arrive_at(start + Time::ns(10) * i, bench.only(101 + i, 64 * i, 64));
  bench.run();
  const auto writes = bench.host.memory.of(DmaPurpose::kPayload);
  REQUIRE(writes.size() == 6);
  CHECK(bench.wire.packets.size() == 7);
  for (std::size_t i = 2; i < 6; ++i) CHECK(writes[i].begin >= writes[i - 2].end);
}

TEST_CASE(
    "contexts that do not fit their cache are fetched and written back, and nothing is lost") {
  BenchOptions options;
  options.nic.qp_context_cache.geometry = {1, 1, Replacement::kLru};
  Bench bench(options);
  bench.driver().add_qp(Qpn(2), Bench::mtu_1024());
  const Time start = bench.scheduler.now() + 10_ns;
  for (std::uint32_t i = 0; i < 8; ++i) {
    PacketRef packet = bench.only(100 + i / 2, 64 * i, 64);
    packet->bth.dest_qp = Qpn(1 + i % 2);
    bench.arrive_at(start + Time::ns(30) * i, packet);
  }
  bench.run();
  CHECK(bench.wire.packets.size() == 8);
  for (std::uint32_t i = 0; i < 8; ++i) CHECK(bench.landed(64 * i, 100 + i / 2, 64));
  CHECK(bench.host.metric("qp_context_cache.write_backs") > 6);
  CHECK(bench.host.nic.idle());
}

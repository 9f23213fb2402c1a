// SPDX-License-Identifier: MIT
// Two NICs back to back: a WRITE from doorbell to completion entry.
#include "nic/nic.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "model/random.h"
#include "tests/support/nic_bench.h"
#include "tests/support/own_process.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::BenchNic;
using test::BenchOptions;
using test::kReadLatency;
using test::kWriteLatency;
using test::Region;
using test::TwoNics;

namespace {

const Clock kClock{Frequency::mhz(400)};

struct Bench : TwoNics {
  explicit Bench(const BenchOptions& options = {}, bool run_ahead = true)
      : TwoNics(options, run_ahead) {
    connect(Qpn(1));
    source = a.driver.add_region(3);
    test::RegionOptions elsewhere;
    elsewhere.start = 0x7000000;
    target = b.driver.add_region(5, elsewhere);
    fill(a.driver, source, 1);
  }
  void post(std::uint64_t from, std::uint64_t to, std::uint32_t bytes, Qpn qpn = Qpn(1)) {
    test::MiniDriver::Write w;
    w.remote = target.start + to;
    w.rkey = target.key;
    w.gather = {{source.start + from, bytes, source.key}};
    a.driver.post(qpn, w);
  }
  void write(std::uint64_t from, std::uint64_t to, std::uint32_t bytes) {
    post(from, to, bytes);
    a.driver.ring(Qpn(1));
    run();
  }
  bool same(std::uint64_t from, std::uint64_t to, std::uint32_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i)
      if (*a.driver.at(source.physical(source.start + from + i)) !=
          *b.driver.at(target.physical(target.start + to + i)))
        return false;
    return true;
  }
  void clear_logs() {
    a.memory.log.clear();
    b.memory.log.clear();
  }
  Region source;
  Region target;
};

/// Everything that happened to memory, as text.
std::string log_of(const test::FakeDmaMemory& memory) {
  std::string text;
  for (const auto& access : memory.log)
    text += std::to_string(access.begin.ps()) + (access.write ? " w " : " r ") +
            std::to_string(access.address) + " " + std::to_string(access.bytes) + "\n";
  return text;
}

std::string times_of(const BenchOptions& options, bool run_ahead) {
  return test::in_own_process([=] {
    Bench bench(options, run_ahead);
    bench.write(100, 5000, 20000);
    for (std::uint32_t i = 0; i < 5; ++i) bench.post(i, i, 700 * i);
    bench.a.driver.ring(Qpn(1));
    bench.run();
    return log_of(bench.a.memory) + "--\n" + log_of(bench.b.memory);
  });
}

}  // namespace

TEST_CASE("a WRITE of 64 bytes takes the sum of its stages from doorbell to completion entry") {
  Bench bench;
  bench.write(0, 0, 64);  // fills the caches
  bench.clear_logs();
  const Time rung = bench.scheduler.now();
  bench.write(64, 64, 64);
  // 1: doorbell, WQE fetch, turn, lkey and translation, payload read, header.
  const Time fetched = kClock.after(rung, Cycles(8)) + kReadLatency;
  const Time turn = kClock.after(fetched, Cycles(20));
  const Time read = kClock.after(turn, Cycles(4 + 4 + 4)) + kReadLatency;
  const Time start = kClock.after(read, Cycles(8));
  // 2: preamble and frame at 80 ps a byte, 3 m of cable.
  const std::uint32_t frame = 14 + 20 + 8 + 12 + 16 + 64 + 4 + 4;
  const Time arrival = start + Time::ps(80) * (8 + frame) + 15_ns;
  // 3: parser, responder, rkey, translation, DMA write.
  const Time judged = kClock.after(kClock.after(arrival, Cycles(8)), Cycles(20));
  const Time written = kClock.after(judged, Cycles(8 + 4));
  // 4: ACK of 66 B, parser, completer, entry.
  const Time ack = kClock.after(written + kWriteLatency, Cycles(8));
  const Time back = ack + Time::ps(80) * (8 + 66) + 15_ns;
  const Time entry =
      kClock.after(kClock.after(kClock.after(back, Cycles(8)), Cycles(10)), Cycles(6));

  const auto payload = bench.b.memory.of(DmaPurpose::kPayload);
  REQUIRE(payload.size() == 1);
  CHECK(payload[0].begin == written);
  const auto cqe = bench.a.memory.of(DmaPurpose::kCompletionQueue);
  REQUIRE(cqe.size() == 1);
  CHECK(cqe[0].begin == entry);
  CHECK(cqe[0].end == entry + kWriteLatency);
  CHECK(bench.same(0, 0, 128));
  CHECK(bench.a.driver.poll(Cqn(1)).size() == 2);
  CHECK(bench.a.nic.idle());
  CHECK(bench.b.nic.idle());
}

TEST_CASE("cut-through hides the shorter of two stages at each end") {
  // The wire takes 80 ps a byte, PCIe 125. Sizes give whole clock cycles.
  BenchOptions options;
  options.pcie_rate = BitRate::gbps(64);
  const auto begin_of_write = [&](std::uint32_t bytes, bool send, bool receive) {
    options.nic.mac_tx.cut_through = send;
    options.nic.mac_rx.cut_through = receive;
    return std::stoll(test::in_own_process([&] {
      Bench bench(options);
      bench.write(0, 8192, 64);  // fills caches
      bench.clear_logs();
      const Time start = bench.scheduler.now();
      bench.write(0, 0, bytes);
      if (!bench.same(0, 0, bytes)) return std::string("wrong bytes");
      return std::to_string((bench.b.memory.of(DmaPurpose::kPayload)[0].begin - start).ps());
    }));
  };
  // The payload's time on the wire passes while it is read.
  CHECK(begin_of_write(4000, false, false) - begin_of_write(4000, true, false) == 80 * 4000);
  // PCIe is the slower: a write begins as soon as the look-ups after the first 64 B have ended.
  CHECK(begin_of_write(3736, false, false) - begin_of_write(3736, false, true) ==
        80 * (3736 + 78 - 64));
}

TEST_CASE("bytes arrive where they belong, whatever length and alignment") {
  Bench bench;
  for (const std::uint32_t bytes : {1U, 3U, 63U, 4095U, 4096U, 4097U, 20001U}) {
    bench.write(bytes % 97, bytes % 89, bytes);
    CHECK(bench.same(bytes % 97, bytes % 89, bytes));
  }
  CHECK(bench.a.driver.poll(Cqn(1)).size() == 7);
}

TEST_CASE("times do not depend on run-ahead, on observers, or on payload being carried") {
  BenchOptions options;
  const std::string expected = times_of(options, true);
  CHECK(expected.size() > 1000);
  CHECK(times_of(options, true) == expected);
  CHECK(times_of(options, false) == expected);
  options.attach_probes = false;
  CHECK(times_of(options, true) == expected);
  options.elided = true;
  CHECK(times_of(options, true) == expected);
}

TEST_CASE(
    "a refused key travels: NAK, error entry, both queue pairs in error, later work flushed") {
  Bench bench;
  const std::vector<std::uint8_t> before = bench.b.memory.bytes;
  test::MiniDriver::Write w;
  w.remote = bench.target.start;
  w.rkey = MemoryKey(5, 0x11);
  w.gather = {{bench.source.start, 9000, bench.source.key}};
  bench.a.driver.post(Qpn(1), w);
  bench.post(0, 0, 64);
  bench.a.driver.ring(Qpn(1));
  bench.run();
  std::string statuses;
  for (const auto& cqe : bench.a.driver.poll(Cqn(1)))
    statuses += std::string(name_of(cqe.status)) + "; ";
  CHECK(statuses == "remote access error; work request flushed; ");
  for (std::uint64_t i = 0; i < bench.target.length; ++i) {
    const std::uint64_t at = bench.target.physical(bench.target.start + i);
    REQUIRE(bench.b.memory.bytes[at] == before[at]);
  }
  CHECK(bench.a.driver.query_qp(Qpn(1)).state == QpState::kErr);
  CHECK(bench.b.driver.query_qp(Qpn(1)).state == QpState::kErr);
  CHECK(bench.a.nic.idle());
  CHECK(bench.b.nic.idle());
}

TEST_CASE("packets sent are packets received") {
  Bench bench;
  bench.write(0, 0, 20000);
  const auto a = bench.a.nic.totals();
  const auto b = bench.b.nic.totals();
  CHECK(a.sent_packets == 5);
  CHECK(a.sent_packets == b.received_packets);
  CHECK(a.sent_bytes == b.received_bytes);
  CHECK(b.sent_packets == a.received_packets);
  CHECK(b.sent_packets == 1);
  CHECK(bench.pool.outstanding() == 0);
}

namespace {

/// Random writes over several queue pairs through a NIC in which everything is scarce.
void stress(std::uint64_t seed, Replacement replacement) {
  BenchOptions options;
  options.nic.qp_context_cache = {{2, 2, replacement}, 1};
  options.nic.cq_context_cache = {{1, 1, replacement}, 1};
  options.nic.key_cache = {{1, 1, replacement}, 1};
  options.nic.translation_cache = {{2, 1, replacement}, 1, Cycles(4), 1};
  options.nic.pcie.tags = 8;
  options.nic.pcie.read_buffer = Bytes(4096);
  options.nic.requester.transmit_buffer = Bytes(8192);
  options.nic.requester.ack_request_interval = 2;
  options.nic.responder.window = 3;
  options.nic.wqe_fetch.blocks_per_fetch = 3;
  options.nic.doorbell.depth = 1;
  Bench bench(options);
  Random random(seed);
  bench.a.driver.add_cq(Cqn(2), 9);
  bench.a.driver.add_cq(Cqn(3), 9);
  for (BenchNic* host : {&bench.a, &bench.b}) {
    for (std::uint32_t qpn = 2; qpn <= 6; ++qpn) {
      test::QpOptions qp;
      qp.remote = Qpn(qpn);
      qp.mtu_code = static_cast<std::uint8_t>(qpn - 1);
      qp.cqn = Cqn(host == &bench.a ? 2 + qpn % 2 : 1);
      host->driver.add_qp(Qpn(qpn), qp);
    }
  }
  // Each message owns a slice of the target, so order between queue pairs does not matter.
  constexpr int kRounds = 25;
  std::size_t posted = 0;
  std::uint32_t at = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (std::uint32_t qpn = 2; qpn <= 6; ++qpn) {
      const auto bytes = static_cast<std::uint32_t>(random.below(250));
      bench.post(at, at, bytes, Qpn(qpn));
      at += bytes;
      ++posted;
      if (random.below(3) != 0) bench.a.driver.ring(Qpn(qpn));
    }
    bench.scheduler.run_until(bench.scheduler.now() +
                              Time::ns(static_cast<std::int64_t>(random.below(3000))));
  }
  const std::uint32_t large = 0x8000 - at;
  bench.post(at, at, large, Qpn(2));
  ++posted;
  for (std::uint32_t qpn = 2; qpn <= 6; ++qpn) bench.a.driver.ring(Qpn(qpn));
  bench.run();
  std::size_t completed = 0;
  for (const Cqn cqn : {Cqn(2), Cqn(3)}) {
    for (const auto& cqe : bench.a.driver.poll(cqn)) {
      REQUIRE(cqe.status == CompletionStatus::kSuccess);
      ++completed;
    }
  }
  CHECK(completed == posted);
  CHECK(bench.same(0, 0, 0x8000));
  CHECK(bench.a.nic.idle());
  CHECK(bench.b.nic.idle());
  CHECK(bench.pool.outstanding() == 0);
}

}  // namespace

TEST_CASE("a NIC in which everything is scarce still delivers every byte (lru)") {
  stress(1, Replacement::kLru);
}
TEST_CASE("a NIC in which everything is scarce still delivers every byte (fifo)") {
  stress(2, Replacement::kFifo);
}
TEST_CASE("a NIC in which everything is scarce still delivers every byte (random)") {
  stress(3, Replacement::kRandom);
}

namespace {

/// Random writes of which some are refused at home and some at the far side, both ways at once.
/// Returns what is wrong.
std::string stress_errors(std::uint64_t seed) {
  BenchOptions options;
  options.nic.qp_context_cache = {{2, 2, Replacement::kLru}, 1};
  options.nic.key_cache = {{1, 1, Replacement::kLru}, 1};
  options.nic.requester.transmit_buffer = Bytes(8192);
  Bench bench(options);
  Random random(seed);
  bench.a.driver.add_cq(Cqn(2), 9);
  bench.b.driver.add_cq(Cqn(2), 9);
  constexpr std::uint32_t kLast = 12;
  for (std::uint32_t qpn = 2; qpn <= kLast; ++qpn) {
    test::QpOptions qp;
    qp.mtu_code = static_cast<std::uint8_t>(1 + qpn % 5);
    qp.cqn = Cqn(2);
    bench.connect(Qpn(qpn), qp);
  }
  std::map<std::uint32_t, std::uint32_t> posted;
  for (int i = 0; i < 150; ++i) {
    const auto qpn = static_cast<std::uint32_t>(2 + random.below(kLast - 1));
    const bool far = random.below(2) != 0;
    const Region& here = far ? bench.target : bench.source;
    const Region& there = far ? bench.source : bench.target;
    test::MiniDriver::Write w;
    w.remote = there.start + random.below(0x4000);
    w.rkey = random.below(25) == 0 ? MemoryKey(9, 9) : there.key;
    const MemoryKey lkey = random.below(25) == 0 ? MemoryKey(9, 9) : here.key;
    w.gather = {
        {here.start + random.below(100), static_cast<std::uint32_t>(random.below(6000)), here.key},
        {here.start, static_cast<std::uint32_t>(1 + random.below(3000)), lkey}};
    BenchNic& host = far ? bench.b : bench.a;
    host.driver.post(Qpn(qpn), w);
    host.driver.ring(Qpn(qpn));
    ++posted[qpn + (far ? 100 : 0)];
    bench.scheduler.run_until(bench.scheduler.now() +
                              Time::ns(static_cast<std::int64_t>(random.below(2000))));
  }
  bench.run();
  // A queue pair in error drops what its peer sends, and there are no timeouts yet: software that
  // sees one side fail takes the other down.
  for (std::uint32_t qpn = 2; qpn <= kLast; ++qpn)
    for (BenchNic* host : {&bench.a, &bench.b}) host->driver.modify_qp(Qpn(qpn), QpState::kErr);
  for (BenchNic* host : {&bench.a, &bench.b}) {
    const std::uint32_t side = host == &bench.b ? 100 : 0;
    std::map<std::uint32_t, std::uint32_t> completed;
    std::map<std::uint32_t, bool> failed;
    for (const abi::Cqe& cqe : host->driver.poll(Cqn(2))) {
      const std::uint32_t name = cqe.qpn.value() + side;
      if (cqe.wqe_counter != completed[name]++) return "an entry out of order";
      const bool flushed = cqe.status == CompletionStatus::kFlushed;
      if (failed[name] && !flushed) return "after an error only flushes may follow";
      failed[name] = cqe.status != CompletionStatus::kSuccess;
    }
    for (const auto& [name, count] : posted)
      if (name / 100 == side / 100 && completed[name] != count)
        return "queue pair " + std::to_string(name) + ": " + std::to_string(completed[name]) +
               " of " + std::to_string(count) + " completed";
    if (!host->nic.idle()) return "not idle";
  }
  if (bench.pool.outstanding() != 0) return "packets are left";
  return "";
}

}  // namespace

TEST_CASE("every work request gets exactly one completion, in order, whatever is refused") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    CHECK(test::in_own_process([=] { return stress_errors(seed); }) == "");
  }
}

TEST_CASE("a long message costs few callbacks for each packet") {
  Bench bench;
  bench.write(0, 0, 64);
  const std::uint64_t before = bench.scheduler.callbacks();
  for (int i = 0; i < 20; ++i) bench.post(0, 0, 0x8000);
  bench.a.driver.ring(Qpn(1));
  bench.run();
  const std::uint64_t packets = 20 * 8;
  const std::uint64_t per_packet = (bench.scheduler.callbacks() - before) / packets;
  CAPTURE(per_packet);
  CHECK(per_packet <= 10);  // two NICs, their memories and the link
}

TEST_CASE("more busy queue pairs than cached contexts slow each other down, and all finish") {
  BenchOptions options;
  options.nic.qp_context_cache = {{1, 1, Replacement::kLru}, 1};
  Bench bench(options);
  constexpr std::uint32_t kLast = 17;
  bench.a.driver.add_cq(Cqn(2), 9);
  for (std::uint32_t qpn = 2; qpn <= kLast; ++qpn) {
    test::QpOptions qp;
    qp.cqn = Cqn(2);
    bench.connect(Qpn(qpn), qp);
  }
  for (int i = 0; i < 4; ++i) {
    for (std::uint32_t qpn = 2; qpn <= kLast; ++qpn) {
      test::MiniDriver::Write w;
      w.remote = bench.target.start;
      w.rkey = bench.target.key;
      w.gather = {{bench.source.start, 64, bench.source.key}};
      bench.a.driver.post(Qpn(qpn), w);
      bench.a.driver.ring(Qpn(qpn));
    }
  }
  bench.run();
  const auto completions = bench.a.driver.poll(Cqn(2));
  REQUIRE(completions.size() == 64);
  for (const abi::Cqe& cqe : completions) CHECK(cqe.status == CompletionStatus::kSuccess);
}

TEST_CASE("a draining send queue ends the message it is in and keeps the rest for later") {
  Bench bench;
  test::MiniDriver::Write w;
  w.remote = bench.target.start;
  w.rkey = bench.target.key;
  w.gather = {{bench.source.start, 64, bench.source.key}};
  const auto post = [&] {
    bench.a.driver.post(Qpn(1), w);
    bench.a.driver.ring(Qpn(1));
    bench.run();
  };
  post();
  REQUIRE(bench.a.driver.poll(Cqn(1)).size() == 1);
  REQUIRE(bench.a.driver.modify_qp(Qpn(1), QpState::kSqd) == abi::CommandStatus::kOk);
  post();
  CHECK(bench.a.driver.poll(Cqn(1)).empty());
  REQUIRE(bench.a.driver.modify_qp(Qpn(1), QpState::kRts) == abi::CommandStatus::kOk);
  bench.run();
  CHECK(bench.a.driver.poll(Cqn(1)).size() == 1);
}

// SPDX-License-Identifier: MIT
// Selective repeat at the responder: what comes early, what is said to be missing, and when what
// was kept is carried out, with the test as the far requester.
#include <catch2/catch.hpp>

#include "nic/reorder_buffer.h"
#include "nic/retransmitter.h"
#include "tests/support/rc_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::BenchOptions;
using test::kNicClock;
using test::RcBench;
using test::reliable;

namespace {

BenchOptions selective() {
  BenchOptions options;
  options.nic.retransmitter.mode = Retransmission::kSelectiveRepeat;
  return options;
}

struct Bench : RcBench {
  explicit Bench(const BenchOptions& options = selective()) : RcBench(options) {}
  /// Packet `psn` of a WRITE of `packets` full packets to the beginning of the region, from PSN 100
  /// on.
  PacketRef part(std::uint32_t psn, std::uint32_t packets) {
    const bool first = psn == 100;
    const bool last = psn == 100 + packets - 1;
    const Opcode opcode = first  ? Opcode::kWriteFirst
                          : last ? Opcode::kWriteLast
                                 : Opcode::kWriteMiddle;
    return write_request(opcode, Psn(psn), 1024, region, 0, packets * 1024);
  }
  PacketRef send_only(std::uint32_t psn, std::uint32_t bytes = 64) {
    return request(Opcode::kSendOnly, Psn(psn), bytes);
  }
  bool holds_all(std::uint32_t packets) {
    for (std::uint32_t i = 0; i < packets; ++i)
      if (!holds(std::uint64_t{i} * 1024, 100 + i, 1024)) return false;
    return true;
  }
  std::uint64_t kept() const { return host.metric("reorder_buffer.held"); }
};

}  // namespace

TEST_CASE("a lost request is named, and those behind it are kept and carried out after it") {
  Bench bench;
  bench.give({bench.part(100, 4), bench.part(102, 4), bench.part(103, 4)});
  CHECK(bench.said() == "Acknowledge 101 60/0; ");
  CHECK(bench.payload(true).size() == 1);
  CHECK(bench.kept() == 2);
  bench.give({bench.part(101, 4)});
  CHECK(bench.said() == "Acknowledge 103 1f/1; ");
  CHECK(bench.holds_all(4));
  CHECK(bench.payload(true).size() == 4);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("each packet of a lost burst is named once, in order") {
  Bench bench;
  bench.give({bench.part(100, 6), bench.part(104, 6), bench.part(105, 6)});
  CHECK(bench.said() == "Acknowledge 101 60/0; Acknowledge 102 60/0; Acknowledge 103 60/0; ");
  bench.give({bench.part(101, 6), bench.part(102, 6)});
  CHECK(bench.said().empty());
  bench.give({bench.part(103, 6)});
  CHECK(bench.said() == "Acknowledge 105 1f/1; ");
  CHECK(bench.holds_all(6));
}

TEST_CASE("two holes are named separately, and may be filled in any order") {
  Bench bench;
  bench.give({bench.part(100, 6), bench.part(102, 6), bench.part(104, 6), bench.part(105, 6)});
  CHECK(bench.said() == "Acknowledge 101 60/0; Acknowledge 103 60/0; ");
  bench.give({bench.part(103, 6)});
  CHECK(bench.said().empty());
  bench.give({bench.part(101, 6)});
  CHECK(bench.said() == "Acknowledge 105 1f/1; ");
  CHECK(bench.holds_all(6));
}

TEST_CASE("a request that comes early twice is kept once, and afterwards is a duplicate") {
  Bench bench;
  bench.give({bench.part(101, 2), bench.part(101, 2)});
  CHECK(bench.said() == "Acknowledge 100 60/0; ");
  CHECK(bench.host.metric("reorder_buffer.duplicates") == 1);
  bench.give({bench.part(100, 2), bench.part(101, 2)});
  CHECK(bench.said() == "Acknowledge 101 1f/1; Acknowledge 101 1f/1; ");
  CHECK(bench.payload(true).size() == 2);
}

TEST_CASE("kept requests pass the pipeline again, four cycles apart, before what is newer") {
  Bench bench;
  bench.give({bench.write_only(100, 0, 64)});  // fills the caches
  bench.give({bench.write_only(102, 1024, 64), bench.write_only(103, 2048, 64)});
  bench.host.memory.log.clear();
  const Time now = bench.scheduler.now() + 10_ns;
  bench.arrive_at(now, bench.write_only(101, 64, 64));
  bench.arrive_at(now, bench.write_only(104, 3072, 64));
  bench.run();
  const auto written = bench.payload(true);
  REQUIRE(written.size() == 4);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(written[i].begin - written[i - 1].begin == kNicClock.duration(Cycles(4)));
    CHECK(written[i].address - written[0].address == i * 1024 - 64);
  }
}

TEST_CASE("SENDs that came early take their receives in the order of their PSNs") {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.post_receive(4096 * i, 64);
  bench.give({bench.send_only(102), bench.send_only(101), bench.send_only(100)});
  CHECK(bench.completions() == "R0:0 R1:0 R2:0 ");
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(bench.holds(4096 * i, 100 + i, 64));
}

TEST_CASE("a READ and an atomic that came early are answered after what was lost") {
  Bench bench;
  bench.give({bench.read_request(101, 0, 1500), bench.atomic(Opcode::kFetchAdd, 103, 8192, 1)});
  CHECK(bench.said() == "Acknowledge 100 60/0; ");
  bench.give({bench.write_only(100, 4096, 64)});
  CHECK(bench.said() ==
        "Acknowledge 100 1f/1; RDMA READ response First 101; RDMA READ response Last 102; "
        "ATOMIC Acknowledge 103 1f/3; ");
}

TEST_CASE(
    "a part of a READ that is asked for again goes before what is owed, and nothing is lost") {
  BenchOptions options = selective();
  options.rate = BitRate::gbps(1);
  options.nic.read_responder.buffer = Bytes(8192);
  options.nic.mac_tx.response_queue = 2;
  Bench bench(options);
  const Time now = bench.scheduler.now() + 10_ns;
  bench.arrive_at(now, bench.read_request(100, 0, 20 * 1024));
  bench.arrive_at(now + 60_us, bench.read_request(101, 1024, 2048));
  bench.run();
  std::vector<std::uint32_t> psns;
  for (const PacketRef& packet : bench.wire.packets) psns.push_back(packet->bth.psn.value());
  REQUIRE(psns.size() == 22);
  std::size_t again = 3;
  while (psns[again] == 100 + again) ++again;
  CHECK(again < 18);
  CHECK(psns[again] == 101);
  CHECK(psns[again + 1] == 102);
  for (std::size_t i = again + 2; i < 22; ++i) CHECK(psns[i] == 100 + i - 2);
  CHECK(bench.wire.packets[again]->bth.opcode == Opcode::kReadResponseFirst);
  CHECK(bench.wire.packets[again + 1]->bth.opcode == Opcode::kReadResponseLast);
}

TEST_CASE("a NAK that names what is missing does not wait behind the answers to a READ") {
  BenchOptions options = selective();
  options.rate = BitRate::gbps(1);
  options.nic.read_responder.buffer = Bytes(8192);
  options.nic.mac_tx.response_queue = 2;
  Bench bench(options);
  const Time now = bench.scheduler.now() + 10_ns;
  bench.arrive_at(now, bench.read_request(100, 0, 20 * 1024));
  bench.arrive_at(now + 10_us, bench.write_only(121, 0, 64));
  bench.run();
  std::size_t at = 0;
  while (bench.wire.packets[at]->bth.opcode != Opcode::kAcknowledge) ++at;
  CHECK(at < 18);
  CHECK(bench.wire.packets[at]->bth.psn == Psn(120));
  CHECK(bench.wire.packets.size() == 21);
}

TEST_CASE("an RNR NAK lets go of what was kept: all of it is sent again") {
  Bench bench;
  bench.give({bench.send_only(101), bench.send_only(100), bench.send_only(102)});
  CHECK(bench.said() == "Acknowledge 100 60/0; Acknowledge 100 2c/0; ");
  bench.post_receive(0, 64);
  bench.post_receive(4096, 64);
  bench.give({bench.send_only(100), bench.send_only(101)});
  CHECK(bench.said() == "Acknowledge 100 1f/1; Acknowledge 101 1f/2; ");
  CHECK(bench.completions() == "R0:0 R1:0 ");
}

TEST_CASE("a request beyond the window is dropped; the expected one is named, and no other") {
  BenchOptions options = selective();
  options.nic.reorder_buffer.window = 4;
  Bench bench(options);
  bench.give({bench.part(104, 6), bench.part(105, 6)});
  CHECK(bench.said() == "Acknowledge 100 60/0; ");
  CHECK(bench.kept() == 0);
  bench.give({bench.part(100, 6), bench.part(101, 6), bench.part(103, 6)});
  CHECK(bench.said() == "Acknowledge 102 60/0; ");
  bench.give({bench.part(102, 6), bench.part(104, 6), bench.part(105, 6)});
  CHECK(bench.said() == "Acknowledge 105 1f/1; ");
  CHECK(bench.holds_all(6));
}

TEST_CASE("NAKs that find the port's response queue full wait for it, all of them") {
  BenchOptions options = selective();
  options.nic.mac_tx.response_queue = 2;
  options.rate = BitRate::gbps(1);
  Bench bench(options);
  bench.give({bench.part(100, 32), bench.part(120, 32)});
  std::string naks;
  for (std::uint32_t psn = 101; psn < 120; ++psn)
    naks += "Acknowledge " + std::to_string(psn) + " 60/0; ";
  CHECK(bench.said() == naks);
}

TEST_CASE("when a kept request is refused what was kept behind it is dropped") {
  BenchOptions options = selective();
  Bench bench(options);
  PacketRef bad = bench.write_only(101, 0, 64);
  bad->reth.r_key = MemoryKey(99, 1);
  bench.give({bad, bench.write_only(102, 64, 64), bench.write_only(100, 128, 64)});
  CHECK(bench.said() == "Acknowledge 100 60/0; Acknowledge 100 1f/1; Acknowledge 101 62/1; ");
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.payload(true).size() == 1);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("error and reset give back the receive buffer of what was kept") {
  BenchOptions options = selective();
  options.nic.port.headroom = Bytes(0);
  options.nic.mac_rx.receive_buffer = Bytes(4096);  // three packets, and not a fourth
  options.nic.mac_rx.lossy_buffer = Bytes(4096);
  Bench bench(options);
  for (int i = 0; i < 4; ++i) {
    bench.give({bench.part(101, 8), bench.part(102, 8), bench.part(103, 8)});
    CHECK(bench.said() == "Acknowledge 100 60/0; ");
    if (i % 2 == 0) bench.driver().modify_qp(Qpn(1), QpState::kErr);
    bench.driver().modify_qp(Qpn(1), QpState::kReset);
    bench.driver().reset_qp(Qpn(1));
    bench.driver().add_qp(Qpn(1), reliable());
  }
  CHECK(bench.kept() == 12);
}

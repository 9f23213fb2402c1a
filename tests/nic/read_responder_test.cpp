// SPDX-License-Identifier: MIT
// READ responses and what keeps its place among them, with the test as the far requester.
#include "nic/read_responder.h"

#include <catch2/catch.hpp>

#include "model/byte_order.h"
#include "tests/support/rc_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::BenchOptions;
using test::kNicClock;
using test::kReadLatency;
using test::RcBench;
using test::Region;

namespace {

std::uint64_t value_at(RcBench& bench, std::uint64_t offset) {
  return load_le64(&bench.byte(offset));
}
void set_value(RcBench& bench, std::uint64_t offset, std::uint64_t value) {
  store_le64(&bench.byte(offset), value);
}

}  // namespace

TEST_CASE("a READ of one packet is answered by an only response with its bytes") {
  RcBench bench;
  bench.give({bench.read_request(100, 40, 1000)});
  CHECK(bench.said() == "RDMA READ response Only 100; ");
  CHECK(bench.sent() == bench.bytes_of(40, 1000));
  const Packet& response = *bench.wire.packets[0];
  CHECK(response.aeth.syndrome == 0x1f);
  CHECK(response.aeth.msn == 1);
  CHECK(response.bth.dest_qp == Qpn(1));
  CHECK_FALSE(response.bth.ack_req);
  CHECK(icrc_ok(response));
  CHECK(bench.driver().query_qp(Qpn(1)).expected_psn == Psn(101));
}

TEST_CASE("a READ of several packets takes as many PSNs, and the next request the one behind") {
  RcBench bench;
  bench.give({bench.read_request(100, 10, 3000), bench.write_only(103, 0x4000, 8)});
  CHECK(bench.said() ==
        "RDMA READ response First 100; RDMA READ response Middle 101; "
        "RDMA READ response Last 102; Acknowledge 103 1f/2; ");
  CHECK(bench.sent() == bench.bytes_of(10, 3000));
  CHECK(bench.wire.packets[2]->payload_length == Bytes(3000 - 2048));
}

TEST_CASE("a READ of nothing is one response without bytes, whatever its key") {
  RcBench bench;
  PacketRef packet = bench.read_request(100, 0, 0);
  packet->reth.r_key = MemoryKey(30, 1);
  bench.give({packet});
  CHECK(bench.said() == "RDMA READ response Only 100; ");
  CHECK(bench.sent().empty());
  CHECK(bench.payload(false).empty());
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a READ takes its cycles from the wire to memory and back") {
  RcBench bench;
  bench.give({bench.read_request(100, 0, 64)});
  bench.host.memory.log.clear();
  const Time arrival = bench.give({bench.read_request(101, 0, 64)});
  // Parser 8, responder 20, key look-up 4 and four states of one cycle; then the read responder's
  // turn 20 and the translation 4.
  const auto reads = bench.payload(false);
  REQUIRE(reads.size() == 1);
  REQUIRE(bench.wire.packets.size() == 2);
  const Time judged = kNicClock.after(kNicClock.after(arrival, Cycles(8)), Cycles(20 + 8));
  CHECK(reads[0].engine == DmaEngineId::kPayloadRead);
  CHECK(reads[0].begin == kNicClock.after(kNicClock.after(judged, Cycles(20)), Cycles(4)));
  CHECK(bench.start(1) == reads[0].begin + kReadLatency);
}

TEST_CASE("an acknowledgement stays behind the READ data before it") {
  RcBench bench;
  const Time start = bench.scheduler.now() + 10_ns;
  bench.arrive_at(start, bench.read_request(100, 0, 4096));
  bench.arrive_at(start + 20_ns, bench.write_only(104, 0x4000, 8));
  bench.arrive_at(start + 40_ns, bench.read_request(105, 0, 8));
  bench.run();
  CHECK(bench.said() ==
        "RDMA READ response First 100; RDMA READ response Middle 101; "
        "RDMA READ response Middle 102; RDMA READ response Last 103; Acknowledge 104 1f/2; "
        "RDMA READ response Only 105; ");
  CHECK(bench.host.nic.idle());
}

TEST_CASE("an acknowledgement of another queue pair does not wait for READ data") {
  RcBench bench;
  bench.driver().add_qp(Qpn(2), test::reliable());
  const Time start = bench.scheduler.now() + 10_ns;
  bench.give({bench.read_request(100, 0, 64)});
  bench.said();
  bench.arrive_at(start + 100_us, bench.read_request(101, 0, 4096));
  PacketRef other = bench.write_only(100, 0x4000, 8);
  other->bth.dest_qp = Qpn(2);
  bench.arrive_at(start + 100_us + 20_ns, other);
  bench.run();
  CHECK(bench.said() ==
        "Acknowledge 100 1f/1; RDMA READ response First 101; RDMA READ response Middle 102; "
        "RDMA READ response Middle 103; RDMA READ response Last 104; ");
}

TEST_CASE("READs of two queue pairs are answered in turns, a packet each") {
  RcBench bench;
  bench.driver().add_qp(Qpn(2), test::reliable());
  bench.give({bench.read_request(100, 0, 64)});
  bench.said();
  const Time start = bench.scheduler.now() + 10_ns;
  bench.arrive_at(start, bench.read_request(101, 0, 3072));
  PacketRef other = bench.read_request(200, 0, 3072);
  other->bth.dest_qp = Qpn(2);
  other->bth.psn = Psn(100);
  bench.arrive_at(start + 1_ns, other);
  bench.run();
  std::string psns;
  for (std::size_t i = 1; i < bench.wire.packets.size(); ++i)
    psns += std::to_string(bench.wire.packets[i]->bth.psn.value()) + " ";
  CHECK(psns == "101 100 102 101 103 102 ");
}

TEST_CASE("a READ that comes again is answered again, and expects what it expected") {
  RcBench bench;
  bench.give({bench.read_request(100, 0, 2048), bench.write_only(102, 0x4000, 8)});
  bench.said();
  bench.give({bench.read_request(100, 0, 2048)});
  CHECK(bench.said() == "RDMA READ response First 100; RDMA READ response Last 101; ");
  CHECK(bench.driver().query_qp(Qpn(1)).expected_psn == Psn(103));
  // From its second packet on, as a requester asks that has had the first.
  bench.give({bench.read_request(101, 1024, 1024)});
  CHECK(bench.said() == "RDMA READ response Only 101; ");
  CHECK(bench.sent(5) == bench.bytes_of(1024, 1024));
}

TEST_CASE("a READ that comes again inside a later message is answered and disturbs nothing") {
  RcBench bench;
  PacketRef first =
      bench.write_request(Opcode::kWriteFirst, Psn(101), 1024, bench.region, 0x4000, 2048);
  bench.give({bench.read_request(100, 0, 64), first, bench.read_request(100, 0, 64),
              bench.request(Opcode::kWriteLast, Psn(102), 1024)});
  CHECK(bench.said() ==
        "RDMA READ response Only 100; RDMA READ response Only 100; Acknowledge 102 1f/2; ");
  CHECK(bench.holds(0x4000, 101, 1024));
  CHECK(bench.holds(0x4000 + 1024, 102, 1024));
}

TEST_CASE("a READ that comes again is no new request although its key has to be fetched") {
  BenchOptions options;
  options.nic.key_cache.geometry = {1, 1, Replacement::kLru};
  RcBench bench(options);
  test::RegionOptions elsewhere = test::every_right();
  elsewhere.start = 0x900000;
  const Region other = bench.driver().add_region(4, elsewhere);
  bench.give({bench.read_request(100, 0, 2048),
              bench.write_request(Opcode::kWriteOnly, Psn(102), 8, other, 0, 8)});
  bench.said();
  bench.give({bench.read_request(100, 0, 2048)});
  CHECK(bench.said() == "RDMA READ response First 100; RDMA READ response Last 101; ");
  CHECK(bench.driver().query_qp(Qpn(1)).expected_psn == Psn(103));
}

TEST_CASE("a READ that comes again with a reach beyond what was asked is dropped") {
  RcBench bench;
  bench.give({bench.read_request(100, 0, 1024)});
  bench.said();
  bench.give({bench.read_request(100, 0, 1025)});
  CHECK(bench.said().empty());
  CHECK(bench.state() == QpState::kRts);
}

TEST_CASE("a READ of memory without remote read right is refused") {
  test::RegionOptions region;
  region.access = AccessFlags::kLocalWrite | AccessFlags::kRemoteWrite;
  RcBench bench({}, test::reliable(), region);
  bench.give({bench.read_request(100, 0, 64)});
  CHECK(bench.said() == "Acknowledge 100 62/0; ");
  CHECK(bench.state() == QpState::kErr);
}

TEST_CASE("a READ by a queue pair without remote read right is refused") {
  test::QpOptions qp = test::reliable();
  qp.access = AccessFlags::kRemoteWrite;
  RcBench bench({}, qp);
  bench.give({bench.read_request(100, 0, 64)});
  CHECK(bench.said() == "Acknowledge 100 62/0; ");
}

TEST_CASE("a READ that ends beyond its region is refused before a byte is read") {
  RcBench bench;
  bench.give({bench.read_request(100, 0x8000 - 2000, 2001)});
  CHECK(bench.said() == "Acknowledge 100 62/0; ");
  CHECK(bench.payload(false).empty());
}

TEST_CASE("more READs at once than max_dest_rd_atomic are an invalid request") {
  test::QpOptions qp = test::reliable();
  qp.max_dest_rd_atomic = 2;
  BenchOptions options;
  options.rate = BitRate::gbps(1);  // answers take their time
  options.nic.read_responder.buffer = Bytes(8192);
  RcBench bench(options, qp);
  const Time start = bench.scheduler.now() + 10_ns;
  bench.arrive_at(start, bench.read_request(100, 0, 0x4000));
  bench.arrive_at(start + 500_ns, bench.read_request(116, 0, 0x4000));
  bench.arrive_at(start + 1_us, bench.read_request(132, 0, 64));
  bench.run();
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.wire.packets.back()->aeth.syndrome == 0x61);
  CHECK(bench.wire.packets.back()->bth.psn == Psn(132));
}

TEST_CASE("a key that goes while its READ is being answered ends the answer with a NAK") {
  RcBench bench;
  bench.give({bench.read_request(100, 0, 64)});
  bench.said();
  // The third page is absent from the table: known only when its turn comes.
  abi::TableEntry{}.write(
      bench.driver().at(abi::KeyEntry::read(bench.driver().key_entry(3)).table.value() + 2 * 8));
  bench.driver().must(abi::CommandOpcode::kDisableKey, 3);
  bench.driver().must(abi::CommandOpcode::kEnableKey, 3);
  bench.give({bench.read_request(101, 0, 4 * 4096)});
  std::string expected = "RDMA READ response First 101; ";
  for (int psn = 102; psn < 109; ++psn)
    expected += "RDMA READ response Middle " + std::to_string(psn) + "; ";
  CHECK(bench.said() == expected + "Acknowledge 109 62/2; ");
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a READ and an atomic behind a WRITE that was refused late are not answered") {
  RcBench bench;
  abi::TableEntry{}.write(
      bench.driver().at(abi::KeyEntry::read(bench.driver().key_entry(3)).table.value() + 8));
  const std::uint64_t before = value_at(bench, 64);
  const Time start = bench.scheduler.now() + 10_ns;
  bench.arrive_at(start, bench.write_only(100, 4096, 64));
  bench.arrive_at(start + 20_ns, bench.read_request(101, 0, 64));
  bench.arrive_at(start + 40_ns, bench.atomic(Opcode::kFetchAdd, 102, 64, 1));
  bench.run();
  CHECK(bench.said() == "Acknowledge 100 62/0; ");
  CHECK(value_at(bench, 64) == before);
  CHECK(bench.payload(false).empty());
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a fetch-and-add changes memory, answers the original and takes one PSN") {
  RcBench bench;
  set_value(bench, 64, 1000);
  bench.give({bench.atomic(Opcode::kFetchAdd, 100, 64, 5), bench.write_only(101, 0x4000, 8)});
  CHECK(bench.said() == "ATOMIC Acknowledge 100 1f/1; Acknowledge 101 1f/2; ");
  CHECK(bench.wire.packets[0]->atomic_ack.original == 1000);
  CHECK(value_at(bench, 64) == 1005);
}

TEST_CASE("a compare-and-swap swaps only what compares equal") {
  RcBench bench;
  set_value(bench, 64, 7);
  bench.give({bench.atomic(Opcode::kCompareSwap, 100, 64, 99, 8),
              bench.atomic(Opcode::kCompareSwap, 101, 64, 99, 7)});
  CHECK(bench.said() == "ATOMIC Acknowledge 100 1f/1; ATOMIC Acknowledge 101 1f/2; ");
  CHECK(bench.wire.packets[0]->atomic_ack.original == 7);
  CHECK(bench.wire.packets[1]->atomic_ack.original == 7);
  CHECK(value_at(bench, 64) == 99);
}

TEST_CASE("an atomic that comes again is answered from what was saved, memory is not touched") {
  RcBench bench;
  set_value(bench, 64, 1000);
  bench.give(
      {bench.atomic(Opcode::kFetchAdd, 100, 64, 5), bench.atomic(Opcode::kFetchAdd, 101, 64, 5)});
  bench.said();
  bench.host.memory.log.clear();
  bench.give({bench.atomic(Opcode::kFetchAdd, 100, 64, 5)});
  CHECK(bench.said() == "ATOMIC Acknowledge 100 1f/2; ");
  CHECK(bench.wire.packets[2]->atomic_ack.original == 1000);
  CHECK(value_at(bench, 64) == 1010);
  CHECK(bench.host.memory.log.empty());
}

TEST_CASE("only as many results of atomics are saved as may be outstanding") {
  test::QpOptions qp = test::reliable();
  qp.max_dest_rd_atomic = 2;
  RcBench bench({}, qp);
  bench.give({bench.atomic(Opcode::kFetchAdd, 100, 64, 1)});
  bench.give({bench.atomic(Opcode::kFetchAdd, 101, 64, 1)});
  bench.give({bench.atomic(Opcode::kFetchAdd, 102, 64, 1)});
  bench.said();
  bench.give({bench.atomic(Opcode::kFetchAdd, 100, 64, 1)});
  CHECK(bench.said().empty());
  bench.give({bench.atomic(Opcode::kFetchAdd, 101, 64, 1)});
  CHECK(bench.said() == "ATOMIC Acknowledge 101 1f/3; ");
}

TEST_CASE("an atomic on an address that 8 does not divide is an invalid request") {
  RcBench bench;
  bench.give({bench.atomic(Opcode::kFetchAdd, 100, 60, 1)});
  CHECK(bench.said() == "Acknowledge 100 61/0; ");
  CHECK(bench.state() == QpState::kErr);
}

TEST_CASE("an atomic without the right to it is refused") {
  test::RegionOptions region;  // read and write only
  RcBench bench({}, test::reliable(), region);
  const std::uint64_t before = value_at(bench, 64);
  bench.give({bench.atomic(Opcode::kFetchAdd, 100, 64, 1)});
  CHECK(bench.said() == "Acknowledge 100 62/0; ");
  CHECK(value_at(bench, 64) == before);
}

TEST_CASE("a paused priority does not hold up the READ answers of another") {
  BenchOptions options;
  options.nic.mac_tx.response_queue = 2;
  test::QpOptions bulk = test::reliable();
  bulk.dscp = 26;  // priority 3
  RcBench bench(options, bulk);
  test::QpOptions urgent = test::reliable();
  urgent.dscp = 40;  // priority 5
  bench.driver().add_qp(Qpn(2), urgent);
  const auto of_qp_2 = [&](std::uint32_t psn) {
    PacketRef packet = bench.read_request(psn, 0, 3072);
    packet->bth.dest_qp = Qpn(2);
    return packet;
  };
  const auto pause = [&](std::uint16_t quanta) {
    PacketRef packet = bench.pool.create();
    packet->kind = FrameKind::kPause;
    packet->pause.classes = 1U << 3;
    packet->pause.quanta[3] = quanta;
    return packet;
  };
  bench.give({bench.read_request(100, 0, 64), of_qp_2(100)});  // contexts are there now
  bench.said();
  const Time start = bench.scheduler.now() + 1_us;
  bench.arrive_at(start, pause(0xffff));
  bench.arrive_at(start + 5_us, bench.read_request(101, 0, 30 * 1024));
  bench.arrive_at(start + 20_us, of_qp_2(103));
  bench.arrive_at(start + 40_us, of_qp_2(106));
  bench.arrive_at(start + 60_us, pause(0));
  bench.run();
  std::string order;
  std::size_t before = 0;
  for (std::size_t i = bench.wire.packets.size() - 36; i < bench.wire.packets.size(); ++i) {
    const Packet& packet = *bench.wire.packets[i];
    before += packet.head < start + 60_us ? 1 : 0;
    order += std::to_string(packet.priority) + ':' + std::to_string(packet.bth.psn.value()) + ' ';
  }
  std::string expected = "5:103 5:104 5:105 5:106 5:107 5:108 ";
  for (int psn = 101; psn <= 130; ++psn) expected += "3:" + std::to_string(psn) + ' ';
  CHECK(order == expected);
  CHECK(before == 6);
  CHECK(bench.host.nic.idle());
}

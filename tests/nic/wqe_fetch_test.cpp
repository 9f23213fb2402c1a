// SPDX-License-Identifier: MIT
// Doorbell and WQE fetch, seen from memory and wire.
#include "nic/wqe_fetch.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "model/byte_order.h"
#include "tests/support/sender_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::BenchOptions;
using test::kReadLatency;
using test::MiniDriver;
using Bench = test::SenderBench;

namespace {

const Clock kClock{Frequency::mhz(400)};

}  // namespace

TEST_CASE("several WQEs come with one fetch, as many as may") {
  BenchOptions options;
  options.nic.wqe_fetch.blocks_per_fetch = 4;
  Bench bench(options);
  for (int i = 0; i < 10; ++i) bench.driver().post(Qpn(1), bench.write(0, 64));
  bench.driver().ring(Qpn(1));
  bench.run();
  CHECK(bench.wire.packets.size() == 10);
  const auto fetches = bench.host.memory.of(DmaPurpose::kSendQueue);
  REQUIRE(fetches.size() == 3);
  CHECK(fetches[0].bytes == 256);
  CHECK(fetches[1].bytes == 256);
  CHECK(fetches[2].bytes == 128);
  // The next fetch goes out when the last one has come.
  CHECK(fetches[1].begin == fetches[0].end);
}

TEST_CASE("a queue pair waits for a fetch of another to end when all are taken") {
  BenchOptions options;
  options.nic.wqe_fetch.outstanding = 1;
  Bench bench(options);
  bench.driver().add_qp(Qpn(2));
  bench.driver().post(Qpn(1), bench.write(0, 64));
  bench.driver().post(Qpn(2), bench.write(0, 64));
  bench.driver().ring(Qpn(1));
  bench.driver().ring(Qpn(2));
  bench.run();
  const auto fetches = bench.host.memory.of(DmaPurpose::kSendQueue);
  REQUIRE(fetches.size() == 2);
  CHECK(fetches[1].begin == fetches[0].end);
  CHECK(bench.wire.packets.size() == 2);
  CHECK(bench.host.metric("wqe_fetch.occupancy.max") == 1);
  CHECK(bench.host.metric("wqe_fetch.stalled.outstanding") > 0);
}

TEST_CASE("fetches do not run past the ring's end, and WQEs wrap there") {
  test::QpOptions options;
  options.log_blocks = 3;
  Bench bench({}, options);
  for (int i = 0; i < 7; ++i) bench.driver().post(Qpn(1), bench.write(0, 64));
  bench.driver().ring(Qpn(1));
  bench.run();
  for (std::uint32_t i = 0; i < 7; ++i)
    bench.arrive_at(bench.scheduler.now() + 1_ns, bench.response(Psn(100 + i), Aeth::ack(i)));
  bench.run();
  bench.host.memory.log.clear();
  // Blocks 7, 0 and 1: five segments of gather in a WQE of two blocks wrap.
  auto w = bench.write(0, 0);
  for (std::uint32_t i = 0; i < 5; ++i)
    w.gather.push_back({bench.region.start + i * 100, 10, bench.region.key});
  bench.driver().post(Qpn(1), w);
  bench.driver().post(Qpn(1), bench.write(0, 64));
  bench.driver().ring(Qpn(1));
  bench.run();
  REQUIRE(bench.wire.packets.size() == 9);
  CHECK(bench.wire.packets[7]->payload_length == Bytes(50));
  const auto fetches = bench.host.memory.of(DmaPurpose::kSendQueue);
  REQUIRE(fetches.size() == 2);
  CHECK(fetches[0].address == bench.driver().send_ring(Qpn(1)) + 7 * 64);
  CHECK(fetches[0].bytes == 64);
  CHECK(fetches[1].address == bench.driver().send_ring(Qpn(1)));
  CHECK(fetches[1].bytes == 128);
}

TEST_CASE("a WQE of several blocks that comes with two fetches is one WQE") {
  BenchOptions options;
  options.nic.wqe_fetch.blocks_per_fetch = 2;
  Bench bench(options);
  auto w = bench.write(0, 0);
  for (int i = 0; i < 150; ++i) w.inlined.push_back(static_cast<std::uint8_t>(i));  // 3 blocks
  bench.driver().post(Qpn(1), bench.write(0, 64));
  bench.send(w);
  CHECK(bench.host.memory.of(DmaPurpose::kSendQueue).size() == 2);
  REQUIRE(bench.wire.packets.size() == 2);
  CHECK(bench.sent(1) == w.inlined);
}

TEST_CASE("many more WQEs than are prefetched are all sent, in order") {
  test::QpOptions options;
  options.log_blocks = 8;
  Bench bench({}, options);
  for (std::uint32_t i = 0; i < 200; ++i) bench.driver().post(Qpn(1), bench.write(i, 64));
  bench.driver().ring(Qpn(1));
  bench.run();
  REQUIRE(bench.wire.packets.size() == 200);
  for (std::uint32_t i = 0; i < 200; ++i) {
    REQUIRE(bench.wire.packets[i]->bth.psn == Psn(100 + i));
    REQUIRE(bench.wire.packets[i]->reth.virtual_address.value() == test::kRemote + i);
  }
}

TEST_CASE("a doorbell for a queue pair that may not send does nothing") {
  test::QpOptions options;
  options.last_state = QpState::kRtr;
  Bench bench({}, options);
  bench.send(bench.write(0, 64));
  CHECK(bench.wire.packets.empty());
  CHECK(bench.host.metric("wqe_fetch.ignored_doorbells") == 1);
}

TEST_CASE("doorbells that find the FIFO full are made good from the doorbell record") {
  BenchOptions options;
  options.nic.doorbell.depth = 2;
  Bench bench(options);
  bench.driver().add_qp(Qpn(2));
  bench.host.memory.log.clear();
  // Eight doorbells at one instant, of two queue pairs; the last ones find the FIFO full.
  for (int i = 0; i < 4; ++i) {
    for (const Qpn qpn : {Qpn(1), Qpn(2)}) {
      bench.driver().post(qpn, bench.write(0, 64));
      bench.driver().ring(qpn);
    }
  }
  bench.run();
  CHECK(bench.wire.packets.size() == 8);
  CHECK(bench.host.metric("doorbell.lost") == 6);
  CHECK(bench.host.memory.of(DmaPurpose::kDoorbellRecord).size() == 2);
}

TEST_CASE("registers answer reads, and writes that mean nothing are counted") {
  Bench bench;
  std::uint8_t bytes[8] = {};
  tlm::tlm_generic_payload payload;
  payload.set_command(tlm::TLM_READ_COMMAND);
  payload.set_address(abi::kCommandQueueAddress);
  payload.set_data_ptr(bytes);
  payload.set_data_length(8);
  payload.set_streaming_width(8);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  bench.host.cpu->b_transport(payload, delay);
  CHECK(payload.is_response_ok());
  CHECK(load_be64(bytes) == bench.driver().command_queue);
  CHECK(bench.host.cpu->transport_dbg(payload) == 8);

  const std::uint8_t zero[8] = {};
  bench.host.mmio(0x40, zero, 4);                                  // no register
  bench.host.mmio(abi::kUarOffset + abi::kSendDoorbell, zero, 4);  // half a doorbell
  std::uint8_t unknown[8] = {0, 0, 0, 8, 0xff, 0xff, 0xff, 3};     // no such queue pair
  bench.host.mmio(abi::kUarOffset + abi::kSendDoorbell, unknown, 8);
  CHECK_THROWS(bench.host.mmio(abi::kBarSize, zero, 8));
  CHECK_THROWS(bench.host.mmio(0x40, zero, 2));
  bench.run();
  CHECK(bench.host.metric("doorbell.ignored") == 3);
}

TEST_CASE("a non-blocking store takes effect at its annotated time and is completed at once") {
  Bench bench;
  bench.send(bench.write(0, 64));
  bench.driver().post(Qpn(1), bench.write(0, 64));
  bench.host.memory.log.clear();
  std::uint8_t control[abi::kSegmentBytes];
  abi::ControlSegment segment;
  segment.wqe_index = 1;
  segment.qpn = Qpn(1);
  segment.segments = 3;
  segment.write(control);
  tlm::tlm_generic_payload payload;
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(abi::kUarOffset + abi::kUarSize + abi::kSendDoorbell);  // the second page
  payload.set_data_ptr(control);
  payload.set_data_length(8);
  payload.set_streaming_width(8);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay(333, sc_core::SC_NS);
  const Time now = bench.scheduler.now();
  CHECK(bench.host.cpu->nb_transport_fw(payload, phase, delay) == tlm::TLM_COMPLETED);
  CHECK(payload.is_response_ok());
  bench.run();
  CHECK(bench.wire.packets.size() == 2);
  CHECK(bench.host.memory.of(DmaPurpose::kSendQueue)[0].begin ==
        kClock.after(now + 333_ns, Cycles(8)));
}

TEST_CASE("a WQE of one block that is written to the doorbell register saves exactly its fetch") {
  Bench bench;
  bench.send(bench.write(0, 64));  // contexts, key and translation are cached from here on
  const Time rung = bench.scheduler.now();
  bench.send(bench.write(0, 64));
  const Time fetched = bench.start(1) - rung;
  bench.host.memory.log.clear();
  const Time flashed = bench.scheduler.now();
  bench.driver().post(Qpn(1), bench.write(128, 64));
  bench.driver().ring_with_wqe(Qpn(1));
  bench.run();
  REQUIRE(bench.wire.packets.size() == 3);
  CHECK(bench.host.memory.of(DmaPurpose::kSendQueue).empty());
  CHECK(bench.host.metric("doorbell.blue_flame") == 1);
  CHECK(bench.sent(2) == bench.bytes_of(128, 64));
  // Both began off the clock's grid; a read of 300 ns is 120 whole cycles of it.
  CHECK(fetched - kReadLatency - (bench.start(2) - flashed) < kClock.edge(1));
  CHECK((bench.start(2) - flashed) - (fetched - kReadLatency) < kClock.edge(1));
}

TEST_CASE("a block that is not the next of its queue is fetched") {
  Bench bench;
  bench.driver().post(Qpn(1), bench.write(0, 64));
  bench.driver().post(Qpn(1), bench.write(64, 64));
  bench.driver().ring_with_wqe(Qpn(1));
  bench.run();
  REQUIRE(bench.wire.packets.size() == 2);
  CHECK(bench.host.metric("doorbell.blue_flame") == 0);
}

namespace {

/// A WRITE of `bytes` bytes from the region in its WQE of 48 + 4 + bytes.
MiniDriver::Write inlined(Bench& bench, std::uint32_t bytes) {
  MiniDriver::Write w = bench.write(0, 0);
  w.inlined = bench.bytes_of(bytes, bytes);
  return w;
}

struct Line {
  std::uint32_t qpn;
  std::uint32_t number;
};
/// One WQE of three lines for each of the queue pairs 1 to 3, whose lines come in this order.
void post_in_lines(Bench& bench, const std::vector<Line>& lines) {
  bench.driver().add_qp(Qpn(2));
  bench.driver().add_qp(Qpn(3));
  std::vector<bool> posted(4);
  for (const Line& line : lines) {
    if (!posted[line.qpn]) bench.driver().post(Qpn(line.qpn), inlined(bench, 130 + line.qpn));
    posted[line.qpn] = true;
    bench.driver().ring_with_line(Qpn(line.qpn), line.number);
  }
  bench.run();
}

/// Every WQE is sent once, with its own bytes; so many came without a fetch.
void check_sent(Bench& bench, const std::vector<std::uint32_t>& expected, std::uint64_t whole,
                std::uint64_t broken) {
  std::vector<std::uint32_t> sent;
  for (const PacketRef& packet : bench.wire.packets) {
    const auto bytes = static_cast<std::uint32_t>(packet->payload_length.count());
    sent.push_back(bytes - 130);
    const std::vector<std::uint8_t> payload(packet->payload(), packet->payload() + bytes);
    CHECK(payload == bench.bytes_of(bytes, bytes));
  }
  std::sort(sent.begin(), sent.end());
  CHECK(sent == expected);
  CHECK(bench.host.metric("doorbell.blue_flame") == whole);
  CHECK(bench.host.metric("doorbell.blue_flame_broken") == broken);
  CHECK(bench.host.memory.of(DmaPurpose::kSendQueue).size() == expected.size() - whole);
  CHECK(bench.host.nic.idle());
}

}  // namespace

TEST_CASE("a WQE of up to four lines is taken from the register, a longer one is fetched") {
  test::QpOptions options;
  options.log_blocks = 3;  // the third wraps at the ring's end
  Bench bench({}, options);
  for (const std::uint32_t bytes : {28U + 64, 28U + 65, 220U}) {
    bench.wire.packets.clear();
    bench.driver().post(Qpn(1), inlined(bench, bytes));
    bench.driver().ring_with_wqe(Qpn(1));
    bench.run();
    REQUIRE(bench.wire.packets.size() == 1);
    CHECK(bench.sent() == bench.bytes_of(bytes, bytes));
  }
  CHECK(bench.host.memory.of(DmaPurpose::kSendQueue).empty());
  CHECK(bench.host.metric("doorbell.blue_flame") == 3);
  CHECK(bench.host.metric("doorbell.rung") == 3);
  CHECK(bench.host.metric("doorbell.ignored") == 0);
  bench.wire.packets.clear();
  bench.driver().post(Qpn(1), inlined(bench, 221));
  bench.driver().ring_with_line(Qpn(1), 0);
  bench.run();
  REQUIRE(bench.wire.packets.size() == 1);
  CHECK(bench.sent() == bench.bytes_of(221, 221));
  CHECK(bench.host.metric("doorbell.blue_flame") == 3);
  CHECK(bench.host.metric("doorbell.blue_flame_broken") == 0);
}

TEST_CASE("lines of two queue pairs one WQE after the other are two WQEs without a fetch") {
  Bench bench;
  post_in_lines(bench, {{1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}});
  check_sent(bench, {1, 2}, 2, 0);
}

TEST_CASE("queue pairs whose lines interleave in one page are fetched, and none is mixed up") {
  Bench bench;
  post_in_lines(bench, {{1, 0}, {2, 0}, {1, 1}, {3, 0}, {2, 1}, {3, 1}, {1, 2}, {2, 2}, {3, 2}});
  check_sent(bench, {1, 2, 3}, 0, 3);
  CHECK(bench.host.metric("doorbell.ignored") == 6);
}

TEST_CASE("lines in the wrong order, and lines without a first one, are no WQE") {
  Bench bench;
  post_in_lines(bench, {{1, 0}, {1, 2}, {1, 1}});
  check_sent(bench, {1}, 0, 1);
  bench.driver().ring_with_line(Qpn(1), 1);
  bench.run();
  check_sent(bench, {1}, 0, 1);
  CHECK(bench.host.metric("doorbell.ignored") == 3);
}

TEST_CASE("a WQE whose last line does not come is fetched when the wait for it is over") {
  Bench bench;
  bench.send(bench.write(0, 64));  // contexts are cached from here on
  bench.wire.packets.clear();
  bench.host.memory.log.clear();
  const Time rung = bench.scheduler.now();
  bench.driver().post(Qpn(1), inlined(bench, 131));
  bench.driver().ring_with_line(Qpn(1), 0);
  bench.driver().ring_with_line(Qpn(1), 1);
  bench.run();
  check_sent(bench, {1}, 0, 1);
  REQUIRE(bench.host.memory.of(DmaPurpose::kSendQueue).size() == 1);
  CHECK(bench.host.memory.of(DmaPurpose::kSendQueue)[0].begin ==
        kClock.after(rung + 1_us, Cycles(8)));
  // Once the page has been quiet for that time, it gathers lines again; a command takes longer.
  bench.driver().query_qp(Qpn(1));
  bench.wire.packets.clear();
  bench.host.memory.log.clear();
  bench.driver().post(Qpn(1), inlined(bench, 132));
  bench.driver().ring_with_wqe(Qpn(1));
  bench.run();
  check_sent(bench, {2}, 1, 1);
}

TEST_CASE("an ordinary doorbell ends the wait for lines, and brings both WQEs") {
  Bench bench;
  bench.driver().post(Qpn(1), inlined(bench, 131));
  bench.driver().ring_with_line(Qpn(1), 0);
  bench.driver().post(Qpn(1), inlined(bench, 132));
  bench.driver().ring(Qpn(1));
  bench.run();
  REQUIRE(bench.wire.packets.size() == 2);
  CHECK(bench.host.metric("doorbell.rung") == 2);
  CHECK(bench.host.metric("doorbell.blue_flame_broken") == 1);
  CHECK(bench.wire.packets[0]->payload_length == Bytes(131));
  CHECK(bench.wire.packets[1]->payload_length == Bytes(132));
}

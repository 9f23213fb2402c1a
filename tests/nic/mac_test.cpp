// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "model/icrc.h"
#include "model/invariant.h"
#include "nic/mac_rx.h"
#include "nic/mac_tx.h"
#include "tests/support/endpoint_bench.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

struct Wire : PacketSink {
  explicit Wire(Scheduler& scheduler) : scheduler(scheduler) {}
  void receive(PacketRef packet) override {
    starts.push_back(scheduler.now());
    packets.push_back(std::move(packet));
  }
  Scheduler& scheduler;
  std::vector<Time> starts;
  std::vector<PacketRef> packets;
};

struct TxBench {
  explicit TxBench(BitRate rate, std::uint32_t response_queue = 64, bool cut_through = false)
      : mac({scheduler, pool, rate, {}}, {response_queue, cut_through}, {}) {
    mac.connect(wire, call<&TxBench::started>(this), call<&TxBench::response_started>(this));
  }
  void response_started() { responses_started.push_back(scheduler.now()); }
  void started(std::uint64_t payload) { freed.push_back(payload); }
  /// At 1000 ns the last byte of a WRITE of 4096 B comes over PCIe, the first came at least `lead`
  /// earlier; it is ready 20 ns later.
  void read(Time lead) {
    scheduler.at(1000_ns, call<&TxBench::has_read>(this, static_cast<std::uint64_t>(lead.ps())));
    scheduler.run_until(10_us);
  }
  void has_read(std::uint64_t lead) {
    mac.enqueue(packet(Opcode::kWriteMiddle, 4096), 1020_ns, MacTx::Queue::kRequest, {},
                Time::ps(static_cast<std::int64_t>(lead)));
  }
  PacketRef packet(Opcode opcode, std::uint32_t payload) {
    PacketRef packet = pool.create();
    packet->bth.opcode = opcode;
    packet->set_payload_length(Bytes(payload));
    return packet;
  }
  void put(Opcode opcode, std::uint32_t payload, Time ready) {
    mac.enqueue(packet(opcode, payload), ready,
                is_response(opcode) ? MacTx::Queue::kResponse : MacTx::Queue::kRequest);
  }
  PacketPool pool;
  Scheduler scheduler{"scheduler"};
  Wire wire{scheduler};
  MacTx mac;
  std::vector<std::uint64_t> freed;
  std::vector<Time> responses_started;
};

struct Tap : PacketTap {
  struct Seen {
    std::uint32_t port;
    Time time;
    PacketDirection direction;
    std::string comment;
  };
  void packet(std::uint32_t port, const Packet&, Time time, PacketDirection direction,
              const char* comment) override {
    seen.push_back({port, time, direction, comment == nullptr ? "" : comment});
  }
  std::vector<Seen> seen;
};

/// Time of bytes at a rate in bits per second, rounded up.
Time on_wire(std::uint64_t bytes, std::uint64_t rate) {
  return Time::ps(
      static_cast<std::int64_t>((Uint128{bytes} * 8 * 1000000000000ULL + rate - 1) / rate));
}

}  // namespace

TEST_CASE("frames follow each other with preamble, FCS and gap at 100 Gb/s") {
  TxBench bench(BitRate::gbps(100));
  for (int i = 0; i < 3; ++i) bench.put(Opcode::kWriteMiddle, 4096, 10_ns);
  bench.scheduler.run_until(10_us);
  const Time frame = Time::ps(80) * (4096 + 14 + 20 + 8 + 12 + 4 + 4);
  const Time slot = frame + Time::ps(80) * 20;
  REQUIRE(bench.wire.starts == std::vector<Time>{10_ns, 10_ns + slot, 10_ns + slot * 2});
  for (int i = 0; i < 3; ++i) {
    CHECK(bench.wire.packets[static_cast<std::size_t>(i)]->head ==
          10_ns + slot * i + Time::ps(80) * 8);
    CHECK(bench.wire.packets[static_cast<std::size_t>(i)]->tail ==
          10_ns + slot * i + Time::ps(80) * 8 + frame);
  }
  CHECK(bench.freed == std::vector<std::uint64_t>{4096, 4096, 4096});
  CHECK(bench.mac.sent() == 3);
  CHECK(bench.mac.sent_bytes() == 3 * (4096 + 62));
  CHECK(bench.mac.idle());
}

TEST_CASE("a stream at an odd rate does not drift") {
  const std::uint64_t rate = 51562500001;
  TxBench bench{BitRate(rate)};
  const int count = 1000;
  for (int i = 0; i < count; ++i) bench.put(Opcode::kWriteMiddle, 1000, 0_ns);
  bench.scheduler.run_until(1_ms);
  const std::uint64_t wire = 1000 + 62 + 20;
  REQUIRE(bench.wire.starts.size() == count);
  for (std::uint64_t i = 0; i < count; ++i) {
    REQUIRE(bench.wire.starts[i] == on_wire(wire * i, rate));
    const Time tail = on_wire(wire * (i + 1), rate) - on_wire(12, rate);
    REQUIRE(bench.wire.packets[i]->tail == tail);
  }
}

TEST_CASE("a short frame takes 84 bytes of the wire") {
  TxBench bench(BitRate::gbps(100));
  bench.put(Opcode::kWriteMiddle, 0, 0_ns);  // 62 B are padded to 64
  bench.put(Opcode::kWriteMiddle, 0, 0_ns);
  bench.scheduler.run_until(1_us);
  CHECK(bench.wire.starts == std::vector<Time>{0_ns, Time::ps(80 * 84)});
}

TEST_CASE("the bytes of frames are headers of three classes, payload and padding") {
  TxBench bench(BitRate::gbps(100));
  const auto put = [&](LinkLayer link_layer, IpVersion ip_version) {
    PacketRef packet = bench.packet(Opcode::kWriteOnly, 1021);
    packet->link_layer = link_layer;
    packet->ip_version = ip_version;
    bench.mac.enqueue(packet, 0_ns, MacTx::Queue::kRequest);
  };
  put(LinkLayer::kRoceV2, IpVersion::kIpv4);
  put(LinkLayer::kRoceV2, IpVersion::kIpv6);
  put(LinkLayer::kRoceV1, IpVersion::kIpv4);
  bench.put(Opcode::kWriteMiddle, 0, 0_ns);  // 62 B
  bench.scheduler.run_until(1_us);
  test::MetricRecorder metrics;
  bench.mac.report(MetricScope(metrics, "port"));
  const auto bytes = [&](const char* name) {
    return metrics.values.at(std::string("port.") + name);
  };
  CHECK(bytes("tx_payload_bytes") == 3 * 1021);
  CHECK(bytes("tx_padding_bytes") == 3 * 3 + 2);
  CHECK(bytes("tx_headers.ethernet") == 4 * (14 + 4));
  CHECK(bytes("tx_headers.network") == (20 + 8) + (40 + 8) + 40 + (20 + 8));
  CHECK(bytes("tx_headers.transport") == 3 * (12 + 16 + 4) + (12 + 4));
  CHECK(bytes("tx_header_bytes") == 72 + 144 + 112);
  CHECK(bytes("tx_bytes") == 3 * 1021 + 11 + 72 + 144 + 112);
}

TEST_CASE("a response goes before requests that wait, and never cuts one off") {
  TxBench bench(BitRate::gbps(100));
  for (int i = 0; i < 3; ++i) bench.put(Opcode::kWriteMiddle, 1024, 0_ns);
  bench.put(Opcode::kAcknowledge, 0, 10_ns);
  bench.scheduler.run_until(10_us);
  const Time slot = Time::ps(80 * (1024 + 62 + 20));
  REQUIRE(bench.wire.packets.size() == 4);
  CHECK(bench.wire.packets[1]->bth.opcode == Opcode::kAcknowledge);
  CHECK(bench.wire.starts == std::vector<Time>{0_ns, slot, slot + Time::ps(80 * (66 + 20)),
                                               slot * 2 + Time::ps(80 * (66 + 20))});
  CHECK(bench.freed.size() == 3);  // a response holds no transmit buffer
}

TEST_CASE("a request that is ready goes before a response that is not") {
  TxBench bench(BitRate::gbps(100));
  bench.put(Opcode::kAcknowledge, 0, 100_ns);
  bench.put(Opcode::kWriteMiddle, 0, 20_ns);
  bench.scheduler.run_until(10_us);
  CHECK(bench.wire.starts == std::vector<Time>{20_ns, 100_ns});
  CHECK(bench.wire.packets[0]->bth.opcode == Opcode::kWriteMiddle);
}

TEST_CASE("plain frames and READ responses of a priority share the wire byte by byte") {
  TxBench bench(BitRate::gbps(100));
  for (int i = 0; i < 5; ++i) bench.put(Opcode::kReadResponseMiddle, 4096, 0_ns);
  for (int i = 0; i < 8; ++i) {
    PacketRef frame = bench.pool.create();
    TcpHeader header;
    header.ack = true;
    frame->become_tcp(header, Bytes(1460), true);
    bench.mac.enqueue(std::move(frame), 0_ns, MacTx::Queue::kFrame);
  }
  bench.scheduler.run_until(10_us);
  std::string order;
  for (const PacketRef& packet : bench.wire.packets) order += packet->is_tcp() ? 'f' : 'R';
  // Frames of 4158 B and of 1518 B.
  CHECK(order == "RfffRfffRffRR");
}

TEST_CASE("plain frames share the wire with what RDMA has ready, and gather no claim before") {
  TxBench bench(BitRate::gbps(100));
  for (int i = 0; i < 8; ++i) bench.put(Opcode::kWriteMiddle, 4096, 0_ns);
  PacketRef frame = bench.pool.create();
  frame->become_tcp(TcpHeader{}, Bytes(100), true);
  bench.mac.enqueue(std::move(frame), 1_us, MacTx::Queue::kFrame);
  bench.scheduler.run_until(10_us);
  // The third WRITE is leaving at 1 us, and the fourth is ahead of the frame by no byte.
  REQUIRE(bench.wire.packets.size() == 9);
  CHECK(bench.wire.packets[4]->is_tcp());
}

TEST_CASE("the port seals the ICRC") {
  TxBench bench(BitRate::gbps(100));
  bench.put(Opcode::kAcknowledge, 0, 0_ns);
  bench.scheduler.run_until(1_us);
  CHECK(icrc_ok(*bench.wire.packets[0]));
  CHECK(bench.wire.packets[0]->icrc != 0);
}

TEST_CASE("a priority's response queue is full at its depth and says when it has room again") {
  TxBench bench(BitRate::gbps(100), 2);
  bench.put(Opcode::kAcknowledge, 0, 10_ns);
  CHECK(bench.mac.has_room_for_response(0));
  bench.put(Opcode::kAcknowledge, 0, 10_ns);
  CHECK_FALSE(bench.mac.has_room_for_response(0));
  CHECK(bench.mac.has_room_for_response(5));
  bench.scheduler.run_until(1_us);
  CHECK(bench.mac.has_room_for_response(0));
  CHECK(bench.responses_started == bench.wire.starts);
  REQUIRE(bench.responses_started.size() == 2);
  CHECK(bench.responses_started[0] == 10_ns);
}

TEST_CASE("a packet that becomes void while it waits does not leave, and its room is free") {
  TxBench bench(BitRate::gbps(100), 2);
  std::uint32_t requests = 0;
  std::uint32_t answers = 0;
  const auto put = [&](Opcode opcode, std::uint32_t payload, MacTx::Queue queue, Epoch epoch) {
    bench.mac.enqueue(bench.packet(opcode, payload), 10_ns, queue, epoch);
  };
  put(Opcode::kWriteMiddle, 4096, MacTx::Queue::kRequest, Epoch(requests));
  put(Opcode::kWriteMiddle, 1024, MacTx::Queue::kRequest, Epoch(requests));
  put(Opcode::kWriteLast, 64, MacTx::Queue::kRequest, Epoch());
  bench.scheduler.run_until(20_ns);  // the first is leaving
  ++requests;
  put(Opcode::kAcknowledge, 0, MacTx::Queue::kResponse, Epoch(answers));
  put(Opcode::kReadResponseMiddle, 512, MacTx::Queue::kResponse, Epoch(answers));
  CHECK_FALSE(bench.mac.has_room_for_response(0));
  ++answers;
  bench.scheduler.run_until(1_us);
  REQUIRE(bench.wire.packets.size() == 2);
  CHECK(bench.wire.packets[1]->payload_length == Bytes(64));
  CHECK(bench.freed == std::vector<std::uint64_t>{4096, 1024, 64});
  CHECK(bench.mac.has_room_for_response(0));
  CHECK(bench.responses_started.size() == 2);
  CHECK(bench.mac.idle());
}

namespace {

constexpr Time kPreamble = Time::ps(80 * 8);
constexpr Time kFrame = Time::ps(80 * (4096 + 62));

}  // namespace

TEST_CASE("a packet cuts through by the time that PCIe took, and never overtakes it") {
  TxBench faster(BitRate::gbps(100), 64, true);
  faster.read(260_ns);
  CHECK(faster.wire.starts == std::vector<Time>{1000_ns});
  CHECK(faster.wire.packets[0]->head == 760_ns + kPreamble);
  CHECK(faster.wire.packets[0]->tail == 760_ns + kPreamble + kFrame);
}

TEST_CASE("a packet that PCIe brings slower than the wire takes it ends when it is ready") {
  TxBench slower(BitRate::gbps(100), 64, true);
  slower.read(400_ns);
  const Time begin = 1020_ns - Time::ps(80 * 4096);
  CHECK(slower.wire.packets[0]->head == begin + kPreamble);
  CHECK(slower.wire.packets[0]->tail == begin + kPreamble + kFrame);
}

TEST_CASE("a packet that cuts through begins behind what has left meanwhile") {
  TxBench bench(BitRate::gbps(100), 64, true);
  bench.put(Opcode::kAcknowledge, 0, 900_ns);
  bench.read(260_ns);
  REQUIRE(bench.wire.packets.size() == 2);
  CHECK(bench.wire.packets[1]->head == 900_ns + Time::ps(80 * (66 + 20)) + kPreamble);
}

TEST_CASE("a packet that finds the wire taken cuts nothing short") {
  TxBench bench(BitRate::gbps(100), 64, true);
  bench.put(Opcode::kWriteMiddle, 4096, 990_ns);
  bench.read(260_ns);
  REQUIRE(bench.wire.packets.size() == 2);
  CHECK(bench.wire.packets[1]->head == 990_ns + kFrame + Time::ps(80 * 20) + kPreamble);
}

TEST_CASE("without cut-through a packet leaves when it is whole and ready") {
  TxBench bench(BitRate::gbps(100));
  bench.read(260_ns);
  CHECK(bench.wire.starts == std::vector<Time>{1020_ns});
  CHECK(bench.wire.packets[0]->head == 1020_ns + kPreamble);
}

// ---- Receive side ------------------------------------------------------------------------------

TEST_CASE("a tap sees a packet that leaves with the time of its last bit") {
  TxBench bench(BitRate::gbps(100));
  Tap tap;
  bench.mac.tap.attach(&tap, 7);
  bench.put(Opcode::kWriteMiddle, 4096, 10_ns);
  bench.scheduler.run_until(1_us);
  REQUIRE(tap.seen.size() == 1);
  CHECK(tap.seen[0].port == 7);
  CHECK(tap.seen[0].time == 10_ns + on_wire(4178 - 12, 100000000000));
  CHECK(tap.seen[0].direction == PacketDirection::kOutbound);
  CHECK(tap.seen[0].comment.empty());
}

namespace {

struct Parsed : ParsedPacketSink {
  void receive(PacketRef packet, Time ready) override {
    packets.push_back(std::move(packet));
    times.push_back(ready);
  }
  std::vector<PacketRef> packets;
  std::vector<Time> times;
};

struct RxBench {
  explicit RxBench(Bytes buffer = Bytes(1 << 20), bool cut_through = false)
      : tx({scheduler, pool, BitRate::gbps(100), {}}, {}, {}),
        mac({scheduler, clock, tx, {}, "nic.mac_rx"}, config(buffer, cut_through), port()) {
    tx.connect(wire, {}, {});
    mac.connect(requests, responses, notifications);
  }
  static MacRxConfig config(Bytes buffer, bool cut_through) {
    MacRxConfig c;
    c.receive_buffer = buffer;
    c.cut_through = cut_through;
    return c;  // parser: latency 8, interval 2
  }
  /// All packets here have priority 0.
  static PortConfig port() {
    PortConfig p;
    p.lossless = {0};
    p.headroom = Bytes(0);
    return p;
  }
  PacketRef packet(Opcode opcode, std::uint32_t payload) {
    PacketRef packet = pool.create();
    packet->bth.opcode = opcode;
    packet->set_payload_length(Bytes(payload));
    std::fill_n(packet->payload(), payload, std::uint8_t{1});
    seal_icrc(*packet);
    return packet;
  }
  void arrive_at(Time time, PacketRef packet) {
    arriving.push_back(std::move(packet));
    scheduler.at_arrival(time, 1, call<&RxBench::arrive>(this, arriving.size() - 1));
  }
  void arrive(std::uint64_t index) { mac.receive(arriving[index]); }

  PacketPool pool;
  Scheduler scheduler{"scheduler"};
  Clock clock{Frequency::mhz(400)};
  Wire wire{scheduler};
  MacTx tx;
  MacRx mac;
  Parsed requests;
  Parsed responses;
  Parsed notifications;
  std::vector<PacketRef> arriving;
};

constexpr Time kCycle = Time::ps(2500);

}  // namespace

TEST_CASE("cut-through takes a packet with payload at its first bytes, any other at its last") {
  RxBench bench(Bytes(1 << 20), true);
  CHECK(bench.mac.wants_cut_through());
  for (const Opcode opcode : {Opcode::kReadResponseMiddle, Opcode::kAcknowledge}) {
    const std::uint32_t payload = opcode == Opcode::kAcknowledge ? 0 : 1024;
    PacketRef packet = bench.packet(opcode, payload);
    packet->tail = payload == 0 ? 203_ns : 190_ns;
    bench.arrive_at(payload == 0 ? 200_ns : 100_ns, std::move(packet));
  }
  bench.scheduler.run_until(202_ns);
  CHECK(bench.responses.times == std::vector<Time>{100_ns + kCycle * 8});
  bench.scheduler.run_until(1_us);
  CHECK(bench.responses.times == std::vector<Time>{100_ns + kCycle * 8, 205_ns + kCycle * 8});
}

TEST_CASE("without cut-through the port takes packets whole") {
  CHECK_FALSE(RxBench().mac.wants_cut_through());
}

TEST_CASE("congestion notifications pass the parser and take no room") {
  RxBench bench;
  for (const Opcode opcode : {kCnpOpcode, Opcode::kWriteOnly}) {
    PacketRef cnp = bench.packet(opcode, 16);
    cnp->bth.transport = WireTransport::kCnp;
    seal_icrc(*cnp);
    bench.arrive_at(100_ns, std::move(cnp));
  }
  bench.scheduler.run_until(1_us);
  REQUIRE(bench.notifications.packets.size() == 1);
  CHECK(bench.notifications.times[0] == 100_ns + kCycle * 8);
  CHECK(bench.mac.occupied() == Bytes(0));
  CHECK(bench.requests.packets.empty());
  CHECK(test::metrics_of(bench.mac).at("rx_unknown_opcodes") == 1);
}

TEST_CASE("the parser takes its cycles and its interval, on the grid of the clock") {
  RxBench bench;
  bench.arrive_at(10001_ps, bench.packet(Opcode::kWriteOnly, 64));
  bench.arrive_at(10002_ps, bench.packet(Opcode::kAcknowledge, 0));
  bench.arrive_at(10003_ps, bench.packet(Opcode::kWriteOnly, 64));
  bench.scheduler.run_until(1_us);
  CHECK(bench.requests.times == std::vector<Time>{kCycle * (5 + 8), kCycle * (5 + 4 + 8)});
  CHECK(bench.responses.times == std::vector<Time>{kCycle * (5 + 2 + 8)});
}

TEST_CASE("a packet with a damaged ICRC is dropped and takes no buffer") {
  RxBench bench;
  PacketRef damaged = bench.packet(Opcode::kWriteOnly, 64);
  damaged->payload()[3] ^= 1;
  bench.arrive_at(10_ns, damaged);
  PacketRef elided = bench.pool.create();
  elided->bth.opcode = Opcode::kWriteOnly;
  elided->payload_elided = true;
  elided->icrc = 0x10;
  bench.arrive_at(20_ns, elided);
  bench.scheduler.run_until(1_us);
  CHECK(bench.requests.packets.empty());
  CHECK(bench.mac.occupied() == Bytes(0));
  CHECK(bench.mac.received() == 2);
}

TEST_CASE("a frame with a bad FCS is dropped and takes no buffer") {
  RxBench bench;
  PacketRef damaged = bench.packet(Opcode::kWriteOnly, 64);
  damaged->bad_fcs = true;
  bench.arrive_at(10_ns, damaged);
  bench.arrive_at(20_ns, bench.packet(Opcode::kWriteOnly, 64));
  bench.scheduler.run_until(1_us);
  CHECK(bench.requests.packets.size() == 1);
  CHECK(bench.mac.occupied() == bench.requests.packets[0]->frame_bytes());
  CHECK(bench.mac.received() == 2);
}

TEST_CASE("a tap sees every packet that arrives, and why one was dropped") {
  RxBench bench;
  Tap tap;
  bench.mac.tap.attach(&tap, 3);
  PacketRef good = bench.packet(Opcode::kWriteOnly, 64);
  good->tail = 10_ns;
  PacketRef damaged = bench.packet(Opcode::kWriteOnly, 64);
  damaged->tail = 20_ns;
  damaged->payload()[3] ^= 1;
  bench.arrive_at(10_ns, good);
  bench.arrive_at(20_ns, damaged);
  bench.scheduler.run_until(1_us);
  REQUIRE(tap.seen.size() == 2);
  CHECK(tap.seen[0].port == 3);
  CHECK(tap.seen[0].time == 10_ns);
  CHECK(tap.seen[0].direction == PacketDirection::kInbound);
  CHECK(tap.seen[0].comment.empty());
  CHECK(tap.seen[1].time == 20_ns);
  CHECK(tap.seen[1].comment == "dropped: wrong ICRC");
}

TEST_CASE("a request holds its frame's bytes of the buffer until it is released") {
  RxBench bench(Bytes(2 * (1024 + 78)));
  bench.arrive_at(10_ns, bench.packet(Opcode::kWriteOnly, 1024));
  bench.arrive_at(20_ns, bench.packet(Opcode::kWriteOnly, 1024));
  bench.scheduler.run_until(30_ns);
  CHECK(bench.mac.occupied() == Bytes(2 * (1024 + 78)));
  bench.mac.release(*bench.requests.packets[0]);
  bench.arrive_at(40_ns, bench.packet(Opcode::kWriteOnly, 1024));
  bench.scheduler.run_until(1_us);
  CHECK(bench.requests.packets.size() == 3);
}

TEST_CASE("an acknowledgement holds its buffer too until the completer is done with it") {
  RxBench bench(Bytes(128));
  bench.arrive_at(10_ns, bench.packet(Opcode::kAcknowledge, 0));
  bench.scheduler.run_until(20_ns);
  CHECK(bench.mac.occupied() == bench.responses.packets[0]->frame_bytes());
  bench.mac.release(*bench.responses.packets[0]);
  CHECK(bench.mac.occupied() == Bytes(0));
}

TEST_CASE("a packet that does not fit the receive buffer ends the run as a lossless drop") {
  RxBench bench(Bytes(2048));
  bench.arrive_at(10_ns, bench.packet(Opcode::kWriteOnly, 1024));
  bench.arrive_at(20_ns, bench.packet(Opcode::kWriteOnly, 1024));
  try {
    bench.scheduler.run_until(1_us);
    FAIL("nothing was dropped");
  } catch (const InvariantBroken& broken) {
    CHECK(broken.kind() == "lossless_drop");
    CHECK(broken.where() == "nic.mac_rx");
    CHECK(broken.when() == 20_ns);
    CHECK(std::string(broken.what()).find("156 B are needed by now") != std::string::npos);
  }
}

TEST_CASE(
    "a reserved opcode is the responder's to refuse in RC, and dropped in every other transport") {
  RxBench bench;
  constexpr Opcode kReserved{0x18};
  bench.arrive_at(10_ns, bench.packet(kReserved, 16));
  Time time = 10_ns;
  for (std::uint8_t transport = 1; transport < 8; ++transport) {
    PacketRef packet = bench.packet(kReserved, 16);
    packet->bth.transport = static_cast<WireTransport>(transport);
    seal_icrc(*packet);
    bench.arrive_at(time += 10_ns, packet);
  }
  bench.scheduler.run_until(1_us);
  REQUIRE(bench.requests.packets.size() == 1);
  CHECK(bench.requests.packets[0]->bth.transport == WireTransport::kRc);
  CHECK(bench.responses.packets.empty());
}

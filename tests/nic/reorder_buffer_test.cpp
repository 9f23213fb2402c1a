// SPDX-License-Identifier: MIT
// What the reorder buffer keeps, what it says is missing, and what becomes of the receive buffer.
#include "nic/reorder_buffer.h"

#include <catch2/catch.hpp>

#include "model/icrc.h"
#include "nic/mac_rx.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;

namespace {

/// Holds what the port has taken into its receive buffer.
struct Sink : ParsedPacketSink {
  std::vector<PacketRef> packets;
  void receive(PacketRef packet, Time) override { packets.push_back(std::move(packet)); }
};

struct Bench {
  explicit Bench(std::uint32_t window = 8, Bytes room = Bytes(4096))
      : buffer(mac_rx, ReorderBufferConfig{window, room}) {
    mac_rx.connect(sink, sink, sink);
  }
  /// A packet from the wire, which has its place in the receive buffer.
  PacketRef packet(std::uint32_t psn, std::uint32_t bytes = 100) {
    PacketRef made = pool.create();
    made->bth.opcode = Opcode::kWriteMiddle;
    made->bth.psn = Psn(psn);
    made->set_payload_length(Bytes(bytes));
    seal_icrc(*made);
    mac_rx.receive(made);
    sink.packets.clear();
    return made;
  }
  /// "kept" or "dropped", and what the packet shows to be missing.
  std::string hold(std::uint32_t expected, std::uint32_t psn, std::uint32_t bytes = 100,
                   std::uint32_t span = 1) {
    Hole hole;
    const PacketRef made = packet(psn, bytes);
    const bool kept = buffer.hold(window, Psn(expected), made, span, hole);
    if (!kept) mac_rx.release(*made);
    return std::string(kept ? "kept" : "dropped") + text(hole);
  }
  static std::string text(const Hole& hole) {
    if (hole.count == 0) return "";
    return " " + std::to_string(hole.first.value()) + "+" + std::to_string(hole.count);
  }
  bool take(std::uint32_t expected) {
    const PacketRef taken = buffer.take(window, Psn(expected));
    if (!taken) return false;
    REQUIRE(taken->bth.psn == Psn(expected));
    mac_rx.release(*taken);
    return true;
  }
  std::uint64_t metric(const std::string& name) const { return test::metrics_of(buffer).at(name); }

  Scheduler scheduler{"scheduler"};
  Clock clock{Frequency::mhz(400)};
  PacketPool pool;
  MacTx mac_tx{{scheduler, pool, BitRate::gbps(100), {}}, {}, {}};
  MacRx mac_rx{
      {scheduler, clock, mac_tx, {BitRate::gbps(100), Time(), Time(), Bytes()}, "mac_rx"}, {}, {}};
  Sink sink;
  ReorderBuffer buffer;
  ReorderWindow window;
};

}  // namespace

TEST_CASE("the first packet behind a lost one shows it to be missing, the next ones show nothing") {
  Bench bench;
  CHECK(bench.hold(100, 101) == "kept 100+1");
  CHECK(bench.hold(100, 102) == "kept");
  CHECK(bench.take(101));
  CHECK(bench.take(102));
  CHECK_FALSE(bench.take(103));
}

TEST_CASE("a burst of lost packets is one hole, and a second loss behind it another") {
  Bench bench;
  CHECK(bench.hold(100, 103) == "kept 100+3");
  CHECK(bench.hold(100, 105) == "kept 104+1");
  CHECK(bench.metric("holes") == 2);
  CHECK(bench.metric("missing") == 4);
  CHECK(bench.metric("held") == 2);
}

TEST_CASE("a packet sent again that comes before an older one is kept and shows nothing") {
  Bench bench;
  CHECK(bench.hold(100, 103) == "kept 100+3");
  CHECK(bench.hold(100, 101) == "kept");
  CHECK(bench.take(101));
  CHECK_FALSE(bench.take(102));
  CHECK(bench.hold(102, 104) == "kept");
  CHECK(bench.take(103));
}

TEST_CASE("when all holes are filled the next loss is told of again") {
  Bench bench;
  CHECK(bench.hold(100, 101) == "kept 100+1");
  CHECK(bench.take(101));
  CHECK_FALSE(bench.take(102));
  CHECK(bench.hold(102, 103) == "kept 102+1");
}

TEST_CASE("a packet that stands for several PSNs shows none of its own to be missing") {
  Bench bench;
  CHECK(bench.hold(100, 101, 0, 3) == "kept 100+1");
  CHECK(bench.hold(100, 104) == "kept");
  CHECK(bench.take(101));
  CHECK(bench.take(104));
}

TEST_CASE("a packet that is here already is dropped") {
  Bench bench;
  CHECK(bench.hold(100, 101) == "kept 100+1");
  CHECK(bench.hold(100, 101) == "dropped");
  CHECK(bench.metric("duplicates") == 1);
}

TEST_CASE("the window ends so many PSNs behind the expected one") {
  Bench bench(6);
  CHECK(bench.hold(100, 105) == "kept 100+5");
  CHECK(bench.hold(100, 106) == "dropped");
  CHECK(bench.metric("outside_window") == 1);
  // What was dropped is missing as soon as something later is heard of.
  CHECK(bench.hold(103, 107) == "kept 106+1");
}

TEST_CASE("a packet far outside the window has only the expected one asked for, and that once") {
  Bench bench(8);
  CHECK(bench.hold(100, 5000) == "dropped 100+1");
  CHECK(bench.hold(100, 5001) == "dropped");
  CHECK_FALSE(bench.take(4998));
  CHECK(bench.hold(4998, 5002) == "kept 4998+4");
}

TEST_CASE("a packet that finds no room is dropped and told of as missing by the next") {
  Bench bench(8, Bytes(512));  // three frames of 100 B payload, 162 B each, do fit
  CHECK(bench.hold(100, 101) == "kept 100+1");
  CHECK(bench.hold(100, 102) == "kept");
  CHECK(bench.hold(100, 103) == "kept");
  CHECK(bench.hold(100, 105) == "dropped 104+1");
  CHECK(bench.metric("no_room") == 1);
  CHECK(bench.take(101));
  CHECK(bench.hold(102, 106) == "kept 105+1");
}

TEST_CASE("kept packets occupy the receive buffer until they are done with") {
  Bench bench;
  bench.hold(100, 101, 200);
  bench.hold(100, 103, 300);
  const Bytes frames =
      bench.packet(104, 200)->frame_bytes() + bench.packet(104, 300)->frame_bytes();
  CHECK(bench.mac_rx.occupied() == frames + frames);  // those two, and the two just made
  CHECK(bench.metric("occupancy.max") == frames.count());
  bench.buffer.drop(bench.window);
  CHECK(bench.mac_rx.occupied() == frames);
  CHECK(bench.buffer.empty());
  CHECK_FALSE(bench.take(101));
  CHECK(bench.hold(100, 101) == "kept 100+1");
}

TEST_CASE("PSNs wrap inside the window") {
  Bench bench;
  CHECK(bench.hold(0xfffffe, 1) == "kept 16777214+3");
  CHECK(bench.hold(0xfffffe, 0xffffff) == "kept");
  CHECK(bench.take(0xffffff));
  CHECK_FALSE(bench.take(0));
  CHECK(bench.take(1));
}

TEST_CASE("a packet that the window has moved past leaves the receive buffer") {
  Bench bench(8);
  CHECK(bench.hold(100, 101) == "kept 100+1");
  CHECK_FALSE(bench.take(102));  // 100 stood for two
  CHECK(bench.mac_rx.occupied() == Bytes(0));
  CHECK(bench.buffer.empty());
}

TEST_CASE("what is missing up to the first that is here can be counted") {
  Bench bench;
  CHECK(ReorderBuffer::missing_run(bench.window, Psn(100), Psn(105)) == 5);
  bench.hold(100, 103);
  CHECK(ReorderBuffer::missing_run(bench.window, Psn(100), Psn(105)) == 3);
  CHECK(ReorderBuffer::missing_run(bench.window, Psn(104), Psn(200)) == 96);
}

TEST_CASE("the end of an answer can be known to be missing without a packet behind it") {
  Bench bench;
  CHECK(bench.hold(100, 101) == "kept 100+1");
  CHECK(bench.text(bench.buffer.reveal(bench.window, Psn(100), Psn(104))) == " 102+2");
  CHECK(bench.text(bench.buffer.reveal(bench.window, Psn(100), Psn(104))).empty());
}

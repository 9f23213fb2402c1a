// SPDX-License-Identifier: MIT
// Selective repeat of READ responses and answers to atomics, with the test as the far responder.
#include "nic/early_answers.h"

#include <catch2/catch.hpp>

#include "nic/retransmitter.h"
#include "tests/support/rc_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::BenchOptions;
using test::QpOptions;
using test::RcBench;
using test::reliable;

namespace {

BenchOptions selective() {
  BenchOptions options;
  options.nic.retransmitter.mode = Retransmission::kSelectiveRepeat;
  return options;
}

struct Bench : RcBench {
  explicit Bench(const QpOptions& qp = reliable(), const BenchOptions& options = selective())
      : RcBench(options, qp) {}
  PacketRef first(std::uint32_t psn) { return answer(Opcode::kReadResponseFirst, psn, 1024); }
  PacketRef middle(std::uint32_t psn) { return answer(Opcode::kReadResponseMiddle, psn, 1024); }
  PacketRef last(std::uint32_t psn, std::uint32_t bytes = 1024) {
    return answer(Opcode::kReadResponseLast, psn, bytes);
  }
  PacketRef only(std::uint32_t psn, std::uint32_t bytes = 1024) {
    return answer(Opcode::kReadResponseOnly, psn, bytes);
  }
  /// Posts a READ of `packets` full packets and lets it be asked for.
  void ask(std::uint32_t packets) {
    read(0, packets * 1024);
    ring();
    said();
  }
  /// A WRITE 100, a READ 101 to 102, a WRITE 103.
  void write_read_write() {
    write(8192, 64);
    read(0, 2 * 1024);
    write(8192, 64);
    ring();
    said();
  }
  /// "offset+length" of the READ requests on the wire since the last call, by their PSN.
  std::string asked() {
    std::string text;
    for (; heard < wire.packets.size(); ++heard) {
      const Packet& packet = *wire.packets[heard];
      text += std::to_string(packet.bth.psn.value());
      if (packet.bth.opcode == Opcode::kReadRequest)
        text += ": " + std::to_string(packet.reth.virtual_address.value() - test::kFar) + "+" +
                std::to_string(packet.reth.dma_length);
      text += "; ";
    }
    return text;
  }
  bool holds_all(std::uint32_t packets) {
    for (std::uint32_t i = 0; i < packets; ++i)
      if (!holds(std::uint64_t{i} * 1024, 100 + i, 1024)) return false;
    return true;
  }
};

}  // namespace

TEST_CASE("one lost response is asked for alone, and those behind it are written after it") {
  Bench bench;
  bench.ask(5);
  bench.give({bench.first(100), bench.middle(102), bench.middle(103), bench.last(104)});
  CHECK(bench.asked() == "101: 1024+1024; ");
  CHECK(bench.payload(true).size() == 1);
  CHECK(bench.completions().empty());
  bench.give({bench.only(101)});
  CHECK(bench.asked().empty());
  CHECK(bench.payload(true).size() == 5);
  CHECK(bench.holds_all(5));
  CHECK(bench.completions() == "0:0 ");
  CHECK(bench.host.metric("completer.answers") == 5);
  CHECK(bench.host.metric("reorder_buffer.held") == 3);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("responses that were kept pass the completer's pipeline again, two cycles apart") {
  Bench bench;
  bench.ask(1);
  bench.give({bench.only(100)});  // fills the caches
  bench.ask(4);
  bench.give({bench.middle(102), bench.middle(103), bench.last(104)});
  bench.host.memory.log.clear();
  const Time came = bench.give({bench.only(101)});
  // Parser 8, completer 10; key look-up 4, four states of one cycle, translation 4.
  const Time taken = test::kNicClock.after(test::kNicClock.after(came, Cycles(8)), Cycles(10));
  const auto written = bench.payload(true);
  REQUIRE(written.size() == 4);
  CHECK(written[0].begin == test::kNicClock.after(taken, Cycles(12)));
  for (std::size_t i = 1; i < 4; ++i)
    CHECK(written[i].begin - written[i - 1].begin == test::kNicClock.duration(Cycles(2)));
}

TEST_CASE("a burst of lost responses is asked for by one request for just that range") {
  Bench bench;
  bench.ask(8);
  bench.give({bench.first(100), bench.middle(105), bench.middle(106), bench.last(107)});
  CHECK(bench.asked() == "101: 1024+4096; ");
  bench.give({bench.first(101), bench.middle(102), bench.middle(103), bench.last(104)});
  CHECK(bench.holds_all(8));
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE("two holes are asked for separately, and may be filled in any order") {
  Bench bench;
  bench.ask(6);
  bench.give({bench.first(100), bench.middle(102), bench.middle(104), bench.last(105)});
  CHECK(bench.asked() == "101: 1024+1024; 103: 3072+1024; ");
  bench.give({bench.only(103)});
  CHECK(bench.completions().empty());
  bench.give({bench.only(101)});
  CHECK(bench.asked().empty());
  CHECK(bench.holds_all(6));
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE("an acknowledgement behind a READ shows its end to be missing, and waits for it") {
  Bench bench;
  bench.read(0, 3 * 1024);
  bench.write(8192, 64);
  bench.ring();
  bench.said();
  bench.give({bench.first(100), bench.ack(103)});
  CHECK(bench.asked() == "101: 1024+2048; ");
  CHECK(bench.completions().empty());
  bench.give({bench.first(101), bench.last(102)});
  CHECK(bench.completions() == "0:0 1:0 ");
  CHECK(bench.asked().empty());
  CHECK(bench.host.nic.idle());
}

TEST_CASE("an error behind a READ with missing responses does not lose their data") {
  Bench bench;
  bench.read(0, 2 * 1024);
  bench.write(8192, 64);
  bench.ring();
  bench.said();
  bench.give({bench.first(100), bench.nak(102, NakCode::kRemoteAccessError)});
  CHECK(bench.asked() == "101: 1024+1024; ");
  CHECK(bench.state() == QpState::kRts);
  bench.give({bench.only(101)});
  CHECK(bench.holds_all(2));
  CHECK(bench.completions() == "0:0 1:10 ");
  CHECK(bench.state() == QpState::kErr);
}

TEST_CASE("the end of one READ and the beginning of the next are asked for by a request each") {
  Bench bench;
  bench.read(0, 2 * 1024);
  bench.write(8192, 64);
  bench.read(2 * 1024, 3 * 1024);
  bench.ring();
  bench.said();
  bench.give({bench.first(100), bench.last(105)});
  CHECK(bench.asked() == "101: 1024+1024; 103: 2048+2048; ");
  bench.give({bench.only(101), bench.first(103), bench.last(104)});
  CHECK(bench.completions() == "0:0 1:0 2:0 ");
  CHECK(bench.holds(2048, 103, 1024));
}

TEST_CASE("a lost answer to an atomic is asked for again by the same request") {
  Bench bench;
  bench.fetch_add(0, 5);
  bench.fetch_add(8, 6);
  bench.ring();
  bench.said();
  bench.give({bench.original(101, 77)});
  CHECK(bench.said() == "FetchAdd 100; ");
  bench.give({bench.original(100, 66)});
  CHECK(bench.completions() == "0:0 1:0 ");
}

TEST_CASE("a response that comes early acknowledges what was sent before the missing one") {
  Bench bench;
  bench.write_read_write();
  bench.give({bench.last(102)});
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE("an acknowledgement that is kept counts for what was sent before the missing answer") {
  Bench bench;
  bench.write_read_write();
  bench.give({bench.ack(103)});
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE("a response that comes twice is taken once") {
  Bench bench;
  bench.ask(4);
  bench.give({bench.first(100), bench.middle(102), bench.middle(102), bench.last(103),
              bench.only(101), bench.only(101), bench.middle(102)});
  CHECK(bench.asked() == "101: 1024+1024; ");
  CHECK(bench.completions() == "0:0 ");
  CHECK(bench.payload(true).size() == 4);
  CHECK(bench.host.metric("reorder_buffer.duplicates") == 1);
}

TEST_CASE("responses beyond the window are dropped and asked for when later ones come") {
  BenchOptions options = selective();
  options.nic.reorder_buffer.window = 3;
  Bench bench(reliable(), options);
  bench.ask(8);
  bench.give({bench.first(100), bench.middle(102), bench.middle(103), bench.middle(104)});
  CHECK(bench.asked() == "101: 1024+1024; ");
  CHECK(bench.host.metric("reorder_buffer.outside_window") == 1);
  bench.give({bench.only(101), bench.middle(105)});
  CHECK(bench.asked() == "104: 4096+1024; ");
  bench.give({bench.only(104), bench.middle(106), bench.last(107)});
  CHECK(bench.holds_all(8));
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE("a timeout asks for a READ's oldest hole alone") {
  QpOptions qp = reliable();
  qp.ack_timeout = 1;
  Bench bench(qp);
  bench.read(0, 6 * 1024);
  bench.driver().ring(Qpn(1));
  const Time now = bench.scheduler.now() + 2_us;
  bench.arrive_at(now, bench.first(100));
  bench.arrive_at(now + 200_ns, bench.middle(103));
  bench.arrive_at(now + 400_ns, bench.middle(104));
  bench.scheduler.run_until(now + 8_us);
  CHECK(bench.asked() == "100: 0+6144; 101: 1024+2048; ");
  bench.scheduler.run_until(now + Time::ns(8192) + 2_us);
  CHECK(bench.asked() == "101: 1024+2048; ");
  bench.give({bench.first(101), bench.last(102), bench.last(105)});
  CHECK(bench.holds_all(6));
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE("a reset gives back the receive buffer of what was kept") {
  BenchOptions options = selective();
  options.nic.port.headroom = Bytes(0);
  options.nic.mac_rx.receive_buffer = Bytes(4096);  // three responses, and not a fourth
  options.nic.mac_rx.lossy_buffer = Bytes(4096);
  Bench bench(reliable(), options);
  for (int i = 0; i < 4; ++i) {
    bench.read(0, 3 * 1024);
    bench.write(8192, 64);
    bench.ring();
    bench.said();
    bench.give({bench.middle(101), bench.last(102), bench.ack(103)});
    CHECK(bench.asked() == "100: 0+1024; ");
    bench.driver().modify_qp(Qpn(1), QpState::kReset);
    bench.driver().reset_qp(Qpn(1));
    bench.driver().add_qp(Qpn(1), reliable());
  }
  CHECK(bench.host.metric("reorder_buffer.held") == 8);
}

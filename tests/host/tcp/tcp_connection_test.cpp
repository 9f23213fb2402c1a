// SPDX-License-Identifier: MIT
// Opening and closing.
#include "host/tcp/tcp_connection.h"

#include "tests/host/tcp/tcp_lines.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

namespace {

/// Every segment that an end sends, in full.
std::vector<TcpSegment> segments_of(TcpBench& bench, char name) {
  static std::vector<TcpSegment> seen;
  seen.clear();
  bench.tap = [name](const TcpEnd& from, const TcpSegment& segment, const auto&) {
    if (from.name == name) seen.push_back(segment);
  };
  bench.open();
  bench.run();
  return seen;
}

}  // namespace

TEST_CASE("A handshake is three segments, and both sides know when it is over") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.open();
  bench.run(10_us);
  CHECK(bench.a.connection.state() == TcpState::kSynSent);
  CHECK(bench.b.connection.state() == TcpState::kSynReceived);
  bench.run(10_us);
  CHECK(bench.a.is_established);
  CHECK_FALSE(bench.b.is_established);
  bench.run();
  CHECK(bench.b.is_established);
  CHECK(scheduler.now() == 30_us);
  check_lines(bench, {"0 A S 0+0", "10 B S. 0+0 ack 1", "20 A . 1+0 ack 1"});
  CHECK(bench.a.connection.sender().rtt().smoothed() == 20_us);
  CHECK(bench.b.connection.sender().rtt().smoothed() == 20_us);
}

TEST_CASE("A SYN offers what is wanted, and both use what both offered") {
  Scheduler scheduler("scheduler");
  std::deque<TcpBench> benches;
  for (const bool b_offers : {true, false}) {
    TcpBenchConfig config;
    config.a_ends.mss = 8960;
    config.a.receive_buffer = 6_MiB;
    config.b.sack = config.b.timestamps = config.b.window_scaling = b_offers;
    TcpBench& bench = benches.emplace_back(scheduler, config);
    const auto sent = segments_of(bench, 'A');
    REQUIRE(sent.size() == 2);
    const TcpHeader& syn = sent[0].header;
    CHECK(syn.mss == 8960);
    CHECK((syn.sack_permitted && syn.has_timestamps && syn.has_window_scale));
    CHECK(syn.window_scale == 7);  // 6 MiB / 128 = 49152
    CHECK(syn.window == 0xffff);
    CHECK_FALSE(syn.ack);
    const TcpHeader& ack = sent[1].header;
    CHECK(ack.has_timestamps == b_offers);
    CHECK(ack.window == (b_offers ? 49152 : 0xffff));
    CHECK(bench.a.connection.segment_size() == (b_offers ? 1448 : 1460));
    CHECK(bench.b.connection.segment_size() == (b_offers ? 1448 : 1460));
  }
}

TEST_CASE("ECN is used if one side asks and the other agrees") {
  Scheduler scheduler("scheduler");
  std::deque<TcpBench> benches;
  for (const bool agrees : {true, false}) {
    TcpBenchConfig config = plain_tcp();
    config.a.ecn = true;
    config.b.ecn = agrees;
    TcpBench& bench = benches.emplace_back(scheduler, config);
    bench.open();
    bench.run();
    bench.a.write(100);
    bool capable = false;
    bench.tap = [&](const TcpEnd&, const TcpSegment& segment, const auto&) {
      if (segment.length != 0) capable = segment.ecn == Ecn::kCapable0;
    };
    bench.a.write(1000);
    bench.run();
    CHECK(capable == agrees);
    CHECK(bench.log[0] == "0 A SEC 0+0");
    CHECK(bench.log[1] == (agrees ? "10 B SE. 0+0 ack 1" : "10 B S. 0+0 ack 1"));
  }
}

TEST_CASE("A SYN that is lost is sent again after the initial timeout, which doubles") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  unsigned sent = 0;
  bench.policy = [&](const TcpEnd& from, const TcpSegment&) {
    TcpFate fate;
    fate.lost = from.name == 'A' && ++sent <= 2;
    return fate;
  };
  bench.open();
  bench.run();
  check_lines(bench, {"0 A S 0+0 lost", "1000000 A S 0+0 lost", "3000000 A S 0+0",
                      "3000010 B S. 0+0 ack 1", "3000020 A . 1+0 ack 1"});
  CHECK_FALSE(bench.a.connection.sender().rtt().has_sample());
  // The network may be full: one segment to begin with. B saw no loss.
  CHECK(bench.a.connection.sender().congestion().window() == 1000);
  CHECK(bench.b.connection.sender().congestion().window() == 10'000);
}

TEST_CASE("Nobody answers: a connection that was asked for fails in the end") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.a.syn_retries = 2;
  TcpBench bench(scheduler, config);
  bench.a.connection.connect();
  bench.run();
  CHECK(bench.log.size() == 3);
  CHECK(bench.a.failure == "timed out");
  CHECK(scheduler.now() == Time::s(7));
  CHECK(bench.a.connection.state() == TcpState::kClosed);
}

TEST_CASE("A SYN and ACK that is lost is sent again, and so is an ACK for it") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  unsigned answers = 0;
  unsigned acks = 0;
  bench.policy = [&](const TcpEnd& from, const TcpSegment& segment) {
    TcpFate fate;
    if (from.name == 'B') fate.lost = answers++ == 0;
    if (from.name == 'A' && !segment.header.syn) fate.lost = acks++ == 0;
    return fate;
  };
  bench.open();
  bench.run();
  // The SYN comes again before the answer does; the answer that A then has repeats itself.
  check_lines(bench,
              {"0 A S 0+0", "10 B S. 0+0 ack 1 lost", "1000000 A S 0+0", "1000010 B S. 0+0 ack 1",
               "1000010 B S. 0+0 ack 1", "1000020 A . 1+0 ack 1 lost", "1000020 A . 1+0 ack 1"});
  CHECK(bench.b.is_established);
}

TEST_CASE("Data complete a handshake whose last acknowledgement was lost") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.policy = [](const TcpEnd& from, const TcpSegment& segment) {
    TcpFate fate;
    fate.lost = from.name == 'A' && segment.length == 0 && !segment.header.syn;
    return fate;
  };
  bench.open();
  bench.a.write(100);
  bench.run(1_ms);
  CHECK(bench.b.is_established);
  CHECK(bench.b.connection.received() == 100);
}

TEST_CASE("Both sides may open at once") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.a.connection.connect();
  bench.b.connection.connect();
  bench.run();
  CHECK((bench.a.is_established && bench.b.is_established));
  bench.a.write(1000);
  bench.b.write(1000);
  bench.run();
  CHECK(bench.a.connection.received() == 1000);
  CHECK(bench.b.connection.received() == 1000);
}

TEST_CASE("A close sends what was written, then FIN; the other side may go on and close later") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  bench.a.write(1500);
  bench.a.close_behind_all();
  bench.run();
  CHECK(bench.a.connection.state() == TcpState::kFinWait2);
  CHECK(bench.b.connection.state() == TcpState::kCloseWait);
  CHECK(bench.b.connection.at_end());
  bench.began = scheduler.now();
  bench.b.write(200);
  bench.b.close_behind_all();
  bench.run();
  CHECK(bench.a.connection.state() == TcpState::kTimeWait);
  CHECK(bench.b.connection.state() == TcpState::kClosed);
  CHECK((bench.a.is_closed && bench.b.is_closed));
  CHECK(bench.a.connection.received() == 200);
  check_lines(bench, {"0 A . 1+1000 ack 1", "0 A P. 1001+500 ack 1", "0 A F. 1501+0 ack 1",
                      "10 B . 1+0 ack 1502", "0 B P. 1+200 ack 1502", "0 B F. 201+0 ack 1502",
                      "10 A . 1502+0 ack 202"});
}

TEST_CASE("FIN travels with the last data if they wait") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.open();
  bench.a.write(1500);
  bench.run(5_us);
  bench.run(10_us);
  bench.run();
  bench.log.clear();
  bench.began = scheduler.now();
  // In the first flight there is room for ten; the rest waits for its acknowledgement.
  bench.a.write(10'400);
  bench.a.connection.close();
  bench.run();
  CHECK(std::count(bench.log.begin(), bench.log.end(), "20 A FP. 11501+400 ack 1") == 1);
  CHECK(bench.b.connection.received() == 11'900);
}

TEST_CASE("Both sides may close at once") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  bench.a.connection.close();
  bench.b.connection.close();
  bench.run(10_us);
  CHECK(bench.a.connection.state() == TcpState::kClosing);
  bench.run();
  CHECK(bench.a.connection.state() == TcpState::kTimeWait);
  CHECK(bench.b.connection.state() == TcpState::kTimeWait);
  check_lines(bench,
              {"0 A F. 1+0 ack 1", "0 B F. 1+0 ack 1", "10 B . 2+0 ack 2", "10 A . 2+0 ack 2"});
}

TEST_CASE("TIME-WAIT answers a FIN that is sent again, and ends") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.a.time_wait = Time::s(2);
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.a.connection.close();
  bench.run();
  bench.log.clear();
  bench.began = scheduler.now();
  unsigned acks = 0;
  bench.policy = [&](const TcpEnd& from, const TcpSegment&) {
    TcpFate fate;
    fate.lost = from.name == 'A' && acks++ == 0;
    return fate;
  };
  bench.b.connection.close();
  bench.run();
  check_lines(bench, {"0 B F. 1+0 ack 2", "10 A . 2+0 ack 2 lost", "200000 B F. 1+0 ack 2",
                      "200010 A . 2+0 ack 2"});
  CHECK(bench.b.connection.state() == TcpState::kClosed);
  CHECK(bench.a.connection.state() == TcpState::kTimeWait);
  scheduler.hold();
  bench.run(Time::s(3));
  CHECK(bench.a.connection.state() == TcpState::kClosed);
}

TEST_CASE("An abort is a reset to the other side") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  bench.a.write(1000);
  bench.a.connection.abort();
  bench.run();
  check_lines(bench, {"0 A P. 1+1000 ack 1", "0 A R 1001+0"});
  CHECK(bench.b.failure == "reset by the peer");
  CHECK(bench.a.connection.state() == TcpState::kClosed);
  CHECK(bench.b.connection.state() == TcpState::kClosed);
}

TEST_CASE("A reset that is not at the expected position is challenged, not believed") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  TcpSegment forged;
  forged.header.rst = true;
  forged.header.sequence = TcpSeq(1000 + 500);
  bench.b.connection.receive(forged);
  CHECK(bench.b.connection.state() == TcpState::kEstablished);
  bench.run();
  check_lines(bench, {"0 B . 1+0 ack 1"});
}

TEST_CASE("A reset that answers a SYN refuses the connection") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.a.connection.connect();
  TcpSegment refusal;
  refusal.header.rst = refusal.header.ack = true;
  refusal.header.acknowledgement = TcpSeq(1002);
  bench.a.connection.receive(refusal);
  CHECK(bench.a.connection.state() == TcpState::kSynSent);
  refusal.header.acknowledgement = TcpSeq(1001);
  bench.a.connection.receive(refusal);
  CHECK(bench.a.failure == "refused");
}

TEST_CASE("An acknowledgement of something else than our SYN is reset, and the handshake goes on") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.open();
  bench.run(15_us);
  bench.log.clear();
  TcpSegment stray;
  stray.header.ack = true;
  stray.header.sequence = TcpSeq(1001);
  stray.header.acknowledgement = TcpSeq(5123);
  bench.b.connection.receive(stray);
  CHECK(bench.b.connection.state() == TcpState::kSynReceived);
  check_lines(bench, {"15 B R 123+0"});
}

TEST_CASE("Sequence numbers wrap in the middle of a stream without a trace") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.a_ends.initial = TcpSeq(0xffffff00);
  config.b_ends.initial = TcpSeq(0xfffffffe);
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.policy = lose_once('A', {1, 3001});
  bench.a.write(20'000);
  bench.b.write(20'000);
  bench.run();
  CHECK(bench.b.connection.received() == 20'000);
  CHECK(bench.a.connection.received() == 20'000);
  CHECK(bench.a.wrong_bytes + bench.b.wrong_bytes == 0);
  CHECK(bench.a.connection.acknowledged() == 20'000);
}

TEST_CASE("A segment from before the sequence numbers wrapped is told by its timestamp") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, TcpBenchConfig{});
  bench.establish();
  bench.a.write(100);
  bench.run();
  TcpSegment old;
  old.header.ack = true;
  old.header.sequence = TcpSeq(1000 + 101);
  old.header.acknowledgement = TcpSeq(5001);
  old.header.has_timestamps = true;
  old.header.timestamp = 900;  // clocks begin at the initial sequence number
  old.length = 4;
  std::vector<std::uint8_t> data(4);
  bench.b.receive(old, data);
  CHECK(bench.b.connection.received() == 100);
  old.header.timestamp = 1100;
  bench.b.receive(old, data);
  CHECK(bench.b.connection.received() == 104);
}

TEST_CASE("A FIN that is sent again begins TIME-WAIT anew") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.a.time_wait = Time::ms(300);
  TcpBench bench(scheduler, config);
  bench.establish();
  unsigned acks = 0;
  bench.policy = [&](const TcpEnd& from, const TcpSegment& segment) {
    TcpFate fate;
    fate.lost = from.name == 'A' && !segment.header.fin && acks++ == 0;
    return fate;
  };
  bench.b.reads = false;
  scheduler.hold();
  bench.a.connection.close();
  bench.run(50_us);
  bench.b.connection.close();
  // Its FIN comes at 60 us, and, as the answer is lost, again at 200,060 us.
  bench.run(500_ms);
  CHECK(bench.a.connection.state() == TcpState::kTimeWait);
  bench.run(100_us);
  CHECK(bench.a.connection.state() == TcpState::kClosed);
}

TEST_CASE("Who leaves with data unread resets the connection") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  bench.b.reads = false;
  bench.a.write(1000);
  bench.run(20_us);
  bench.b.connection.leave();
  bench.run();
  check_lines(bench, {"0 A P. 1+1000 ack 1", "20 B R 1+0"});
  CHECK(bench.a.failure == "reset by the peer");
  CHECK(bench.b.failure == "closed with data that nobody reads");
}

TEST_CASE("Data for who has left reset the connection, and what he sent arrives before") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  bench.b.write(500);
  bench.b.connection.leave();
  bench.run();
  CHECK(bench.a.connection.at_end());
  bench.a.write(1000);
  bench.run();
  check_lines(bench, {"0 B P. 1+500 ack 1", "0 B F. 501+0 ack 1", "10 A . 1+0 ack 502",
                      "20 A P. 1+1000 ack 502", "30 B R 502+0"});
  CHECK(bench.a.connection.consumed() == 500);
  CHECK(bench.a.failure == "reset by the peer");
  CHECK(bench.b.failure == "closed with data that nobody reads");
}

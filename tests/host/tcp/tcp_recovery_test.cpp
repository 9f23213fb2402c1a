// SPDX-License-Identifier: MIT
// Losses, and how they are repaired.
#include "tests/host/tcp/tcp_lines.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

namespace {

TcpBenchConfig without_sack() {
  TcpBenchConfig config = plain_tcp();
  config.a.sack = config.b.sack = false;
  config.a.window_scaling = config.b.window_scaling = false;
  return config;
}

/// The lines that begin so.
Lines only(const TcpBench& bench, const std::string& part) {
  Lines lines;
  for (const std::string& line : bench.log)
    if (line.find(part) != std::string::npos) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("Three duplicate acknowledgements bring the missing segment without a timeout") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, without_sack());
  bench.establish();
  bench.policy = lose_once('A', {1001});
  bench.a.write(6000);
  bench.run();
  check_lines(bench, {"0 A . 1+1000 ack 1", "0 A . 1001+1000 ack 1 lost", "0 A . 2001+1000 ack 1",
                      "0 A . 3001+1000 ack 1", "0 A . 4001+1000 ack 1", "0 A P. 5001+1000 ack 1",
                      "10 B . 1+0 ack 1001", "10 B . 1+0 ack 1001", "10 B . 1+0 ack 1001",
                      "10 B . 1+0 ack 1001", "20 A . 1001+1000 ack 1", "30 B . 1+0 ack 6001"});
  // Five segments were in flight when it was found.
  CHECK(bench.a.connection.sender().congestion().threshold() == 2500);
}

TEST_CASE("Two duplicate acknowledgements bring new data, not old") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = without_sack();
  config.a.initial_window = 3;
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.policy = lose_once('A', {1});
  bench.a.write(20'000);
  bench.run(25_us);
  check_lines(bench, {"0 A . 1+1000 ack 1 lost", "0 A . 1001+1000 ack 1", "0 A . 2001+1000 ack 1",
                      "10 B . 1+0 ack 1", "10 B . 1+0 ack 1", "20 A . 3001+1000 ack 1",
                      "20 A . 4001+1000 ack 1"});
}

TEST_CASE("Without SACK a second hole is repaired by the acknowledgement of the first") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, without_sack());
  bench.establish();
  bench.policy = lose_once('A', {1, 3001});
  bench.a.write(8000);
  bench.run();
  CHECK(only(bench, "A ").size() == 10);
  CHECK(only(bench, "20 A ") == Lines{"20 A . 1+1000 ack 1"});
  CHECK(only(bench, "40 A ") == Lines{"40 A . 3001+1000 ack 1"});
  CHECK(bench.log.back() == "50 B . 1+0 ack 8001");
  CHECK_FALSE(bench.a.connection.sender().in_recovery());
}

TEST_CASE("SACK repairs several holes within one round trip") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  bench.policy = lose_once('A', {1001, 3001, 5001});
  bench.a.write(10'000);
  bench.run();
  check_lines(
      bench, {"0 A . 1+1000 ack 1", "0 A . 1001+1000 ack 1 lost", "0 A . 2001+1000 ack 1",
              "0 A . 3001+1000 ack 1 lost", "0 A . 4001+1000 ack 1", "0 A . 5001+1000 ack 1 lost",
              "0 A . 6001+1000 ack 1", "0 A . 7001+1000 ack 1", "0 A . 8001+1000 ack 1",
              "0 A P. 9001+1000 ack 1",
              // One is acknowledged with what follows it.
              "10 B . 1+0 ack 1001 [2001..3001)", "10 B . 1+0 ack 1001 [4001..5001) [2001..3001)",
              "10 B . 1+0 ack 1001 [6001..7001) [4001..5001) [2001..3001)",
              "10 B . 1+0 ack 1001 [6001..8001) [4001..5001) [2001..3001)",
              "10 B . 1+0 ack 1001 [6001..9001) [4001..5001) [2001..3001)",
              "10 B . 1+0 ack 1001 [6001..10001) [4001..5001) [2001..3001)",
              // Threshold and window 4500; each later acknowledgement lets what fits leave.
              "20 A . 1001+1000 ack 1", "20 A . 3001+1000 ack 1", "20 A . 5001+1000 ack 1",
              "30 B . 1+0 ack 3001 [6001..10001) [4001..5001)", "30 B . 1+0 ack 5001 [6001..10001)",
              "30 B . 1+0 ack 10001"});
  CHECK(bench.a.connection.sender().congestion().window() == 4500);
  CHECK_FALSE(bench.a.connection.sender().in_recovery());
}

TEST_CASE("A lost retransmission is left to the timeout, which repairs what SACK has not told of") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  unsigned firsts = 0;
  bench.policy = [&](const TcpEnd& from, const TcpSegment& segment) {
    TcpFate fate;
    fate.lost = from.name == 'A' && segment.header.sequence == from.initial + 1 && ++firsts <= 2;
    return fate;
  };
  bench.a.write(6000);
  bench.run();
  CHECK(only(bench, "A . 1+1000") ==
        Lines{"0 A . 1+1000 ack 1 lost", "20 A . 1+1000 ack 1 lost", "200020 A . 1+1000 ack 1"});
  // RFC 6675's rescue: with room and nothing else to send, the last that may be lost.
  CHECK(only(bench, "20 A P") == Lines{"20 A P. 5001+1000 ack 1"});
  CHECK(only(bench, "A ").size() == 9);
  CHECK(bench.log.back() == "200030 B . 1+0 ack 6001");
  CHECK(bench.b.connection.received() == 6000);
}

TEST_CASE("A loss at the end waits for the timeout") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  bench.policy = lose_once('A', {3001});
  bench.a.write(4000);
  bench.run();
  check_lines(bench,
              {"0 A . 1+1000 ack 1", "0 A . 1001+1000 ack 1", "0 A . 2001+1000 ack 1",
               "0 A P. 3001+1000 ack 1 lost", "10 B . 1+0 ack 2001", "40010 B . 1+0 ack 3001",
               "240020 A P. 3001+1000 ack 1", "280030 B . 1+0 ack 4001"});
}

TEST_CASE("Timeouts double, and the window is one segment that slow start widens") {
  Scheduler scheduler("scheduler");
  std::deque<TcpBench> benches;
  for (const bool sack : {true, false}) {
    TcpBenchConfig config = sack ? plain_tcp() : without_sack();
    config.b.delayed_ack = Time();
    TcpBench& bench = benches.emplace_back(scheduler, config);
    bench.establish();
    bench.policy = [&](const TcpEnd& from, const TcpSegment&) {
      TcpFate fate;
      fate.lost = from.name == 'A' && scheduler.now() < bench.began + 500_ms;
      return fate;
    };
    bench.a.write(7000);
    bench.run();
    CHECK(only(bench, "A . 1+1000") == Lines{"0 A . 1+1000 ack 1 lost",
                                             "200000 A . 1+1000 ack 1 lost",
                                             "600000 A . 1+1000 ack 1"});
    CHECK(only(bench, "600020 A") ==
          Lines{"600020 A . 1001+1000 ack 1", "600020 A . 2001+1000 ack 1"});
    // The threshold is 3500, half of what was in flight.
    CHECK(only(bench, "600040 A") == Lines{"600040 A . 3001+1000 ack 1",
                                           "600040 A . 4001+1000 ack 1",
                                           "600040 A . 5001+1000 ack 1"});
    CHECK(bench.b.connection.received() == 7000);
    CHECK(bench.b.wrong_bytes == 0);
  }
}

TEST_CASE("A segment that two others overtake is no loss, one that three overtake is") {
  Scheduler scheduler("scheduler");
  std::deque<TcpBench> benches;
  for (const bool three : {false, true}) {
    TcpBench& bench = benches.emplace_back(scheduler, plain_tcp());
    bench.establish();
    bench.policy = [&](const TcpEnd& from, const TcpSegment& segment) {
      TcpFate fate;
      if (from.name == 'A' && !segment.again && segment.header.sequence == from.initial + 1)
        fate.delay = 25_us;
      return fate;
    };
    bench.a.write(three ? 4000 : 3000);
    bench.run();
    CHECK(only(bench, "A . 1+1000").size() == (three ? 2 : 1));
    CHECK(bench.b.connection.received() == (three ? 4000 : 3000));
  }
}

TEST_CASE("The threshold of duplicates is a setting") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.a.duplicate_threshold = 6;
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.policy = [&](const TcpEnd& from, const TcpSegment& segment) {
    TcpFate fate;
    if (from.name == 'A' && segment.header.sequence == from.initial + 1) fate.delay = 25_us;
    return fate;
  };
  bench.a.write(6000);
  bench.run();
  CHECK(only(bench, "A . 1+1000").size() == 1);
}

TEST_CASE("No round trip is taken from what was sent twice") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  const Time before = bench.a.connection.sender().rtt().smoothed();
  bench.policy = lose_once('A', {1});
  bench.a.write(500);
  bench.run();
  CHECK(bench.b.connection.received() == 500);
  CHECK(bench.a.connection.sender().rtt().smoothed() == before);
  CHECK(bench.a.connection.sender().rtt().timeout() == 400_ms);
}

TEST_CASE("After idle time the window is the initial one") {
  Scheduler scheduler("scheduler");
  std::deque<TcpBench> benches;
  for (const bool shrinks : {true, false}) {
    TcpBenchConfig config = plain_tcp();
    config.a.slow_start_after_idle = shrinks;
    TcpBench& bench = benches.emplace_back(scheduler, config);
    bench.logs = false;
    bench.establish();
    bench.a.write(100'000);
    bench.run();
    const std::uint64_t grown = bench.a.connection.sender().congestion().window();
    CHECK(grown > 50'000);
    scheduler.hold();
    bench.run(Time::s(1));
    bench.a.write(1000);
    CHECK(bench.a.connection.sender().congestion().window() == (shrinks ? 10'000 : grown));
  }
}

TEST_CASE("What came out of order is told before data leave that would carry the acknowledgement") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.a.ack_every = 1000;
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.policy = lose_once('A', {1});
  bench.b.write(12'000);
  bench.run(12_us);
  // These acknowledge all that B has in flight, so that it has room for more.
  bench.a.write(3000);
  bench.run(11_us);
  check_lines(bench, {"0 B . 1+1000 ack 1", "0 B . 1001+1000 ack 1", "0 B . 2001+1000 ack 1",
                      "0 B . 3001+1000 ack 1", "0 B . 4001+1000 ack 1", "0 B . 5001+1000 ack 1",
                      "0 B . 6001+1000 ack 1", "0 B . 7001+1000 ack 1", "0 B . 8001+1000 ack 1",
                      "0 B . 9001+1000 ack 1", "12 A . 1+1000 ack 10001 lost",
                      "12 A . 1001+1000 ack 10001", "12 A P. 2001+1000 ack 10001",
                      "22 B . 10001+0 ack 1 [1001..2001)", "22 B . 10001+1000 ack 1",
                      "22 B P. 11001+1000 ack 1", "22 B . 12001+0 ack 1 [1001..3001)"});
}

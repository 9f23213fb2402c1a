// SPDX-License-Identifier: MIT
// Losses at the end of what is in flight. With a round trip of 20 us a probe is due 2,040 us after
// the last news.
#include "host/tcp/tail_loss_probe.h"

#include "tests/host/tcp/tcp_lines.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

namespace {

TcpBenchConfig probing() {
  TcpBenchConfig config = plain_tcp();
  config.a.tail_loss_probe = true;
  return config;
}

}  // namespace

TEST_CASE("The last segment lost comes again with a probe, and later costs half of the window") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, probing());
  bench.establish();
  bench.policy = lose_once('A', {3001});
  bench.a.write(4000);
  bench.run(10_ms);
  check_lines(bench, {"0 A . 1+1000 ack 1", "0 A . 1001+1000 ack 1", "0 A . 2001+1000 ack 1",
                      "0 A P. 3001+1000 ack 1 lost", "10 B . 1+0 ack 2001",
                      "2060 A P. 3001+1000 ack 1", "2070 B . 1+0 ack 4001"});
  // Nobody knows yet whether the segment was lost or its acknowledgement.
  CHECK(bench.a.connection.sender().congestion().window() == 10'000);
  bench.a.write(2000);
  bench.run();
  CHECK(bench.a.connection.sender().congestion().window() == 2000);
  CHECK(bench.b.connection.received() == 6000);
}

TEST_CASE("What SACK tells by a probe finds all that is missing before it") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, probing());
  bench.establish();
  bench.policy = lose_once('A', {3001, 4001, 5001});
  bench.a.write(6000);
  bench.run();
  check_lines(bench, {"0 A . 1+1000 ack 1", "0 A . 1001+1000 ack 1", "0 A . 2001+1000 ack 1",
                      "0 A . 3001+1000 ack 1 lost", "0 A . 4001+1000 ack 1 lost",
                      "0 A P. 5001+1000 ack 1 lost", "10 B . 1+0 ack 2001",
                      "2060 A P. 5001+1000 ack 1", "2070 B . 1+0 ack 3001 [5001..6001)",
                      "2080 A . 3001+1000 ack 1", "2080 A . 4001+1000 ack 1",
                      "2090 B . 1+0 ack 4001 [5001..6001)", "2090 B . 1+0 ack 6001"});
  CHECK(bench.a.connection.sender().congestion().threshold() == 2000);
}

TEST_CASE("Where there are new data the probe is the first of them, beyond the window") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = probing();
  config.a.initial_window = 2;
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.policy = lose_once('A', {1, 1001});
  bench.a.write(3000);
  bench.run();
  check_lines(bench, {"0 A . 1+1000 ack 1 lost", "0 A . 1001+1000 ack 1 lost",
                      "2040 A P. 2001+1000 ack 1", "2050 B . 1+0 ack 1 [2001..3001)",
                      "2060 A . 1+1000 ack 1", "2060 A . 1001+1000 ack 1",
                      "2070 B . 1+0 ack 1001 [2001..3001)", "2070 B . 1+0 ack 3001"});
}

TEST_CASE("A probe that was needless is told of as a duplicate, and costs nothing") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, probing());
  bench.establish();
  bench.a.write(1500);
  bench.run(10_ms);
  // Less than two segments: B waits with its acknowledgement, A not so long.
  check_lines(bench, {"0 A . 1+1000 ack 1", "0 A P. 1001+500 ack 1", "2040 A P. 1001+500 ack 1",
                      "2050 B . 1+0 ack 1501 [1001..1501)"});
  const std::uint64_t window = bench.a.connection.sender().congestion().window();
  bench.a.write(2000);
  bench.run();
  CHECK(bench.a.connection.sender().congestion().window() >= window);
  CHECK(bench.a.connection.sender().in_recovery() == false);
}

TEST_CASE("A lone segment waits for the delay of acknowledgements too, so to the timeout") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, probing());
  bench.establish();
  bench.policy = lose_once('A', {1});
  bench.a.write(500);
  bench.run();
  check_lines(bench,
              {"0 A P. 1+500 ack 1 lost", "200000 A P. 1+500 ack 1", "240010 B . 1+0 ack 501"});
  // Not a timeout: the window is as it was.
  CHECK(bench.a.connection.sender().congestion().window() >= 10'000);
}

TEST_CASE("If the probe is lost too the timeout follows, and no second probe") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, probing());
  bench.establish();
  bench.policy = [&](const TcpEnd& from, const TcpSegment&) {
    TcpFate fate;
    fate.lost = from.name == 'A' && scheduler.now() < bench.began + 100_ms;
    return fate;
  };
  bench.a.write(2000);
  bench.run(205_ms);
  check_lines(bench, {"0 A . 1+1000 ack 1 lost", "0 A P. 1001+1000 ack 1 lost",
                      "2040 A P. 1001+1000 ack 1 lost", "202040 A . 1+1000 ack 1"});
}

TEST_CASE("A FIN at the end is probed for with the data that it follows") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, probing());
  bench.establish();
  bench.policy = [&](const TcpEnd& from, const TcpSegment& segment) {
    TcpFate fate;
    fate.lost = from.name == 'A' && segment.header.fin && !segment.again;
    return fate;
  };
  bench.a.to_write = 3000;
  bench.a.closes = true;
  bench.a.writable();
  bench.run(10_ms);
  CHECK(bench.b.connection.at_end());
  CHECK(bench.a.connection.state() == TcpState::kFinWait2);
}

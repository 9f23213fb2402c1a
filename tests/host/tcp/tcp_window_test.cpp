// SPDX-License-Identifier: MIT
// A receiver that does not read, and what a sender does about it.
#include "tests/host/tcp/tcp_lines.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

namespace {

/// B has room for 4 KiB and reads nothing by itself.
TcpBenchConfig small_window() {
  TcpBenchConfig config = plain_tcp();
  config.b.receive_buffer = Bytes(4000);
  config.b.window_scaling = false;
  return config;
}

}  // namespace

TEST_CASE("A sender fills the window and then probes it, less and less often") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, small_window());
  bench.b.reads = false;
  bench.establish();
  bench.a.write(6000);
  bench.run(Time::s(2));
  // Probes repeat an old position; each answer says that the window is still closed.
  check_lines(bench,
              {"0 A . 1+1000 ack 1", "0 A . 1001+1000 ack 1", "0 A . 2001+1000 ack 1",
               "0 A . 3001+1000 ack 1", "10 B . 1+0 ack 2001", "10 B . 1+0 ack 4001",
               "200020 A . 4000+0 ack 1", "200030 B . 1+0 ack 4001", "600020 A . 4000+0 ack 1",
               "600030 B . 1+0 ack 4001", "1400020 A . 4000+0 ack 1", "1400030 B . 1+0 ack 4001"});
}

TEST_CASE("A window that opens is told at once, and what waits leaves") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, small_window());
  bench.b.reads = false;
  bench.establish();
  bench.a.write(6000);
  bench.run(100_us);
  bench.log.clear();
  bench.began = scheduler.now();
  bench.b.read(500);  // less than a segment is not worth telling
  CHECK(bench.log.empty());
  bench.b.read(500);
  bench.run(25_us);
  bench.b.reads = true;
  bench.b.readable();
  bench.run();
  check_lines(bench, {"0 B . 1+0 ack 4001", "10 A . 4001+1000 ack 1", "25 B . 1+0 ack 5001",
                      "35 A P. 5001+1000 ack 1", "40045 B . 1+0 ack 6001"});
  CHECK(bench.b.connection.received() == 6000);
}

TEST_CASE("The word that a window has opened may be lost: the next probe brings it") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, small_window());
  bench.b.reads = false;
  bench.establish();
  bench.a.write(6000);
  bench.run(100_us);
  bench.log.clear();
  bench.policy = [&](const TcpEnd& from, const TcpSegment&) {
    TcpFate fate;
    fate.lost = from.name == 'B' && scheduler.now() < bench.began + 1_ms;
    return fate;
  };
  bench.b.read(4000);
  bench.b.reads = true;
  bench.run();
  check_lines(bench, {"100 B . 1+0 ack 4001 lost", "200020 A . 4000+0 ack 1",
                      "200030 B . 1+0 ack 4001", "200040 A . 4001+1000 ack 1",
                      "200040 A P. 5001+1000 ack 1", "200050 B . 1+0 ack 6001"});
}

TEST_CASE("A sender does not cut segments to a window that is a little open") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = small_window();
  config.b.receive_buffer = Bytes(3400);
  TcpBench bench(scheduler, config);
  bench.b.reads = false;
  bench.establish();
  bench.a.write(6000);
  bench.run(1_ms);
  // 400 B are open, which is less than a segment and less than half of the window.
  CHECK(bench.a.connection.sender().high() == 3001);
  // It takes a probe's time until that is used after all.
  bench.run(300_ms);
  CHECK(bench.log.back() == "280030 B . 1+0 ack 3401");
  CHECK(bench.a.connection.sender().high() == 3401);
}

TEST_CASE("A window beyond 64 KiB needs scaling") {
  Scheduler scheduler("scheduler");
  std::deque<TcpBench> benches;
  for (const bool scaling : {true, false}) {
    TcpBenchConfig config = plain_tcp();
    config.b.receive_buffer = Bytes(1'000'000);
    config.b.window_scaling = scaling;
    config.a.initial_window = 1000;
    config.b.ack_every = 1000;
    TcpBench& bench = benches.emplace_back(scheduler, config);
    bench.logs = false;
    bench.establish();
    bench.a.write(200'000);
    bench.run(9_us);
    // The window of the SYN is never scaled, so a first acknowledgement has to come.
    CHECK(bench.a.connection.sender().high() == 65'001);
    bench.run(50_ms);
    CHECK(bench.a.connection.sender().high() == (scaling ? 200'001 : 130'001));
  }
}

TEST_CASE("A peer that answers nothing is given up after so many timeouts") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.a.retries = 3;
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.policy = [](const TcpEnd&, const TcpSegment&) {
    TcpFate fate;
    fate.lost = true;
    return fate;
  };
  bench.a.write(1000);
  bench.run();
  check_lines(bench, {"0 A P. 1+1000 ack 1 lost", "200000 A P. 1+1000 ack 1 lost",
                      "600000 A P. 1+1000 ack 1 lost", "1400000 A P. 1+1000 ack 1 lost"});
  CHECK(bench.a.failure == "timed out");
  CHECK(scheduler.now() - bench.began == Time::s(3));
}

TEST_CASE("FIN of what reaches beyond the window does not count") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, small_window());
  bench.b.reads = false;
  bench.establish();
  TcpSegment bold;
  bold.header.ack = bold.header.fin = true;
  bold.header.sequence = TcpSeq(1001);
  bold.header.acknowledgement = TcpSeq(5001);
  bold.length = 5000;
  std::vector<std::uint8_t> data(5000);
  bench.b.receive(bold, data);
  CHECK(bench.b.connection.received() == 4000);
  CHECK_FALSE(bench.b.connection.at_end());
  bench.b.read(4000);
  bold.header.sequence = TcpSeq(5001);
  bold.header.fin = false;
  bold.length = 1000;
  bench.b.receive(bold, data);
  CHECK(bench.b.connection.received() == 5000);
  CHECK_FALSE(bench.b.connection.at_end());
}

// SPDX-License-Identifier: MIT
// When a receiver acknowledges, how Nagle's rule meets that, and what marks do.
#include <deque>

#include "tests/host/tcp/tcp_lines.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

TEST_CASE("A lone segment is acknowledged after the delay, every second one at once") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  bench.a.write(5000);
  bench.run();
  check_lines(bench, {"0 A . 1+1000 ack 1", "0 A . 1001+1000 ack 1", "0 A . 2001+1000 ack 1",
                      "0 A . 3001+1000 ack 1", "0 A P. 4001+1000 ack 1", "10 B . 1+0 ack 2001",
                      "10 B . 1+0 ack 4001", "40010 B . 1+0 ack 5001"});
}

TEST_CASE("An acknowledgement travels with data that leave meanwhile") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  bench.a.write(100);
  bench.run(15_us);
  bench.b.write(200);
  bench.run();
  check_lines(bench, {"0 A P. 1+100 ack 1", "15 B P. 1+200 ack 101", "40025 A . 101+0 ack 201"});
}

TEST_CASE("Without delay every segment is acknowledged at once") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.b.delayed_ack = Time();
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.a.write(2000);
  bench.run();
  check_lines(bench, {"0 A . 1+1000 ack 1", "0 A P. 1001+1000 ack 1", "10 B . 1+0 ack 1001",
                      "10 B . 1+0 ack 2001"});
}

TEST_CASE("Merged segments count as many") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.merges = true;
  config.a_ends.burst = 64'000;
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.a.write(3000);
  bench.run();
  check_lines(bench, {"0 A P. 1+3000 ack 1", "10 B . 1+0 ack 3001"});
}

TEST_CASE("A burst is a multiple of the segment size but for the end of the data") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.merges = true;
  config.a_ends.burst = 6500;
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.a.write(15'300);
  bench.run();
  // The initial window holds ten segments.
  check_lines(bench, {"0 A . 1+6000 ack 1", "0 A . 6001+4000 ack 1", "10 B . 1+0 ack 6001",
                      "10 B . 1+0 ack 10001", "20 A P. 10001+5300 ack 1", "30 B . 1+0 ack 15301"});
}

TEST_CASE("Nagle's rule holds a second small segment back until the first is acknowledged") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  bench.a.write(100);
  bench.run(5_us);
  bench.a.write(100);
  bench.run();
  // The write-write-read that everybody meets once: it waits for the delayed acknowledgement.
  check_lines(bench, {"0 A P. 1+100 ack 1", "40010 B . 1+0 ack 101", "40020 A P. 101+100 ack 1",
                      "80030 B . 1+0 ack 201"});
}

TEST_CASE("What Nagle's rule holds back leaves once it is a full segment") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  for (int i = 0; i < 12; ++i) bench.a.write(100);
  bench.run();
  check_lines(bench, {"0 A P. 1+100 ack 1", "0 A P. 101+1000 ack 1", "40010 B . 1+0 ack 1101",
                      "40020 A P. 1101+100 ack 1", "80030 B . 1+0 ack 1201"});
}

TEST_CASE("Without Nagle's rule small segments leave as they are written") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.a.nagle = false;
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.a.write(100);
  bench.a.write(100);
  bench.run();
  check_lines(bench, {"0 A P. 1+100 ack 1", "0 A P. 101+100 ack 1", "40010 B . 1+0 ack 201"});
}

TEST_CASE("A mark is echoed until the sender says that its window is smaller") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.a.ecn = config.b.ecn = true;
  config.a.nagle = false;
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.policy = [&](const TcpEnd& from, const TcpSegment& segment) {
    TcpFate fate;
    fate.marked = from.name == 'A' && segment.header.sequence == from.initial + 1;
    return fate;
  };
  bench.a.write(4000);
  bench.run(30_us);
  CHECK(bench.a.connection.sender().congestion().window() == 5000);
  bench.a.write(2000);
  bench.run();
  check_lines(bench, {"0 A . 1+1000 ack 1", "0 A . 1001+1000 ack 1", "0 A . 2001+1000 ack 1",
                      "0 A P. 3001+1000 ack 1", "10 B E. 1+0 ack 2001", "10 B E. 1+0 ack 4001",
                      "20 A C. 4001+1000 ack 1", "20 A P. 5001+1000 ack 1", "30 B . 1+0 ack 6001"});
}

TEST_CASE("DCTCP echoes marks as they come, and what came before with its own answer") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.a.algorithm = config.b.algorithm = TcpAlgorithm::kDctcp;
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.policy = [&](const TcpEnd& from, const TcpSegment& segment) {
    TcpFate fate;
    const auto position = segment.header.sequence - from.initial;
    fate.marked = from.name == 'A' && (position == 3001 || position == 4001);
    return fate;
  };
  bench.a.write(7000);
  bench.run(15_us);
  // Four and five are marked: three is acknowledged without, four and five with, six without.
  check_lines(bench, {"0 A . 1+1000 ack 1", "0 A . 1001+1000 ack 1", "0 A . 2001+1000 ack 1",
                      "0 A . 3001+1000 ack 1", "0 A . 4001+1000 ack 1", "0 A . 5001+1000 ack 1",
                      "0 A P. 6001+1000 ack 1", "10 B . 1+0 ack 2001", "10 B . 1+0 ack 3001",
                      "10 B E. 1+0 ack 4001", "10 B E. 1+0 ack 5001", "10 B . 1+0 ack 6001"});
}

TEST_CASE("Marks cut the window once for each window of data") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.a.ecn = config.b.ecn = true;
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.policy = [&](const TcpEnd& from, const TcpSegment&) {
    TcpFate fate;
    fate.marked = from.name == 'A';
    return fate;
  };
  bench.a.write(10'000);
  bench.run();
  CHECK(bench.a.connection.sender().congestion().window() == 5000);
}

TEST_CASE("There is room for three SACK blocks beside timestamps, and for four without") {
  Scheduler scheduler("scheduler");
  std::deque<TcpBench> benches;
  for (const bool timestamps : {true, false}) {
    TcpBenchConfig config = plain_tcp();
    config.a.timestamps = config.b.timestamps = timestamps;
    TcpBench& bench = benches.emplace_back(scheduler, config);
    bench.establish();
    std::size_t most = 0;
    std::size_t longest = 0;
    bench.policy = [](const TcpEnd& from, const TcpSegment& segment) {
      TcpFate fate;
      fate.lost = from.name == 'A' && !segment.again && segment.offset / 988 % 2 == 0;
      return fate;
    };
    bench.tap = [&](const TcpEnd&, const TcpSegment& segment, const auto&) {
      most = std::max<std::size_t>(most, segment.header.sack_blocks);
      longest = std::max(longest, segment.header.bytes());
    };
    bench.a.write(9880);
    bench.run();
    CHECK(most == (timestamps ? 3 : 4));
    CHECK(longest == (timestamps ? 60 : 56));
  }
}

TEST_CASE("What is sent again and what carries no data is not ECN capable") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.a.ecn = config.b.ecn = true;
  TcpBench bench(scheduler, config);
  bench.establish();
  bench.policy = lose_once('A', {1});
  std::string capable;
  bench.tap = [&](const TcpEnd& from, const TcpSegment& segment, const auto&) {
    capable += segment.ecn == Ecn::kCapable0 ? from.name : '-';
  };
  bench.a.write(5000);
  bench.run();
  // Five segments, four acknowledgements, the first segment again, and what acknowledges it.
  CHECK(capable == "AAAAA------");
}

TEST_CASE("The timestamp that is echoed is that of the data acknowledged, not of what overtook") {
  Scheduler scheduler("scheduler");
  TcpBenchConfig config = plain_tcp();
  config.a.timestamps = config.b.timestamps = true;
  TcpBench bench(scheduler, config);
  bench.establish();
  std::vector<std::uint32_t> echoes;
  bench.tap = [&](const TcpEnd& from, const TcpSegment& segment, const auto&) {
    if (from.name == 'B') echoes.push_back(segment.header.timestamp_echo - 1000);
  };
  bench.policy = lose_once('A', {1});
  bench.a.write(988);
  bench.run(5_ms);  // nothing comes back
  scheduler.hold();
  bench.run(5_ms - (scheduler.now() - bench.began));
  bench.a.write(988);  // overtakes, five milliseconds later
  bench.run(1_ms);
  scheduler.release();
  CHECK(echoes == std::vector<std::uint32_t>{0});
  bench.run();
  CHECK(echoes.back() >= 200);  // of the retransmission
}

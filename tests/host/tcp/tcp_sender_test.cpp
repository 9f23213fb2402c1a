// SPDX-License-Identifier: MIT
// The sender alone: which pieces each acknowledgement lets leave. Whole connections:
// tcp_recovery_test.cpp, tcp_window_test.cpp.
#include "host/tcp/tcp_sender.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

TcpConfig reno() {
  TcpConfig config;
  config.algorithm = TcpAlgorithm::kReno;
  config.tail_loss_probe = false;
  return config;
}

/// Segments of 1000 B; the window is the largest unless told otherwise.
struct Bench : TcpSender::Output {
  explicit Bench(bool sack, std::uint64_t window = 1'000'000, const TcpConfig& settings = reno(),
                 bool ecn = false)
      : config(settings), sender(scheduler, config, *this) {
    TcpSender::Terms terms;
    terms.mss = terms.burst = 1000;
    terms.window = window;
    terms.sack = sack;
    terms.ecn = ecn;
    terms.rtt = 20_us;
    sender.begin(terms);
  }
  void send(const TcpSender::Piece& piece) override {
    pieces += (pieces.empty() ? "" : " ") + std::to_string(piece.from) + "+" +
              std::to_string(piece.length) + (piece.fin ? "F" : "") + (piece.again ? "!" : "") +
              (piece.cwr ? "C" : "");
  }
  void give_up() override { gave_up = true; }
  void write(std::uint64_t bytes) {
    sender.append(bytes);
    sender.push();
  }
  using Blocks = std::vector<SackScoreboard::Range>;
  TcpSender::Acknowledgement ack(std::uint64_t position, const Blocks& blocks = {}) const {
    TcpSender::Acknowledgement news;
    news.position = position;
    news.sequence = 1;
    news.window = 1'000'000;
    for (const auto& block : blocks) news.sack[news.sack_blocks++] = block;
    return news;
  }
  void take(const TcpSender::Acknowledgement& news) {
    sender.acknowledge(news);
    sender.push();
  }
  /// What has left since the last look.
  std::string left() { return std::exchange(pieces, ""); }
  void run(Time length) { scheduler.run_until(scheduler.now() + length); }

  Scheduler scheduler{"scheduler"};
  TcpConfig config;
  TcpSender sender;
  std::string pieces;
  bool gave_up = false;
};

}  // namespace

TEST_CASE("Acknowledgements of long ago are no duplicates") {
  Bench bench(false);
  bench.write(20'000);
  bench.take(bench.ack(3001));
  bench.left();
  for (int i = 0; i < 5; ++i) bench.take(bench.ack(1001));
  CHECK(bench.left().empty());
  CHECK_FALSE(bench.sender.in_recovery());
}

TEST_CASE("What carries data or another window is no duplicate without SACK") {
  Bench bench(false);
  bench.write(5000);
  bench.take(bench.ack(1001));
  bench.left();
  for (int i = 0; i < 5; ++i) {
    auto data = bench.ack(1001);
    data.has_data = true;
    bench.take(data);
    auto window = bench.ack(1001);
    window.window = 900'000U + static_cast<std::uint64_t>(i);
    bench.take(window);
  }
  CHECK(bench.left().empty());
}

TEST_CASE("Duplicates of what a timeout has sent again start no recovery without SACK") {
  Bench bench(false);
  bench.write(4000);
  bench.run(201_ms);
  REQUIRE(bench.left() == "1+1000 1001+1000 2001+1000 3001+1000 1+1000!");
  bench.take(bench.ack(4001));  // all had arrived but for the first
  bench.write(4000);
  CHECK(bench.left() == "4001+1000 5001+1000 6001+1000");
  for (int i = 0; i < 3; ++i) bench.take(bench.ack(4001));
  CHECK_FALSE(bench.sender.in_recovery());
  bench.left();
  bench.take(bench.ack(5001));
  for (int i = 0; i < 3; ++i) bench.take(bench.ack(5001));
  CHECK(bench.sender.in_recovery());
}

TEST_CASE("A receiver that has thrown away what it had is sent that again") {
  Bench bench(true);
  bench.write(4000);
  bench.take(bench.ack(1, {{1001, 2001}}));
  bench.take(bench.ack(1001));  // it no longer has what it told of
  bench.left();
  bench.run(201_ms);
  CHECK(bench.left() == "1001+1000!");
  bench.take(bench.ack(2001));
  CHECK(bench.left() == "2001+1000! 3001+1000!");
}

TEST_CASE("SACK of what was never sent is not believed") {
  Bench bench(true);
  bench.write(3000);
  bench.take(bench.ack(1, {{1001, 9001}}));
  CHECK(bench.sender.pipe() == 3000);
  bench.take(bench.ack(1, {{1001, 2001}}));
  CHECK(bench.sender.pipe() == 2000);
}

TEST_CASE("A window is told by the latest segment, and never by one of before") {
  Bench bench(true, 2000);
  bench.write(10'000);
  CHECK(bench.left() == "1+1000 1001+1000");
  auto news = bench.ack(1001);
  news.sequence = 500;
  news.window = 2000;
  bench.take(news);
  CHECK(bench.left() == "2001+1000");
  news.sequence = 400;
  news.window = 9000;
  bench.take(news);
  CHECK(bench.left().empty());
  news.sequence = 501;
  bench.take(news);
  CHECK(bench.left() == "3001+1000 4001+1000 5001+1000 6001+1000 7001+1000 8001+1000 9001+1000");
}

TEST_CASE("Half of the largest window is worth a segment of its own") {
  Bench bench(true, 1500);
  bench.write(5000);
  CHECK(bench.left() == "1+1000");  // 500 are left, less than half
  auto news = bench.ack(1001);
  news.window = 749;
  bench.take(news);
  CHECK(bench.left().empty());
  news.window = 750;
  bench.take(news);
  CHECK(bench.left() == "1001+750");
}

TEST_CASE("A peer that answers probes is never given up, and its window ends the backoff") {
  TcpConfig config = reno();
  config.retries = 2;
  Bench bench(true, 1000, config);
  bench.write(3000);
  auto closed = bench.ack(1001);
  closed.window = 0;
  bench.take(closed);
  CHECK(bench.left() == "1+1000");
  for (int i = 0; i < 6; ++i) {  // 0.2 + 0.4 + ... + 6.4 s
    bench.run(200_ms * (1 << i));
    CHECK(bench.left() == "1000+0!");
    bench.take(closed);
  }
  CHECK(bench.sender.rtt().timeout() == 200_ms * 64);
  bench.take(bench.ack(1001));
  CHECK(bench.left() == "1001+1000 2001+1000");
  CHECK(bench.sender.rtt().timeout() == 200_ms);
  bench.run(200_ms);
  CHECK(bench.left() == "1001+1000!");
  bench.run(400_ms);
  CHECK(bench.left() == "1001+1000!");
  CHECK_FALSE(bench.gave_up);
  bench.run(800_ms);
  CHECK(bench.gave_up);
}

TEST_CASE("NewReno deflates its window by what a partial acknowledgement brings") {
  Bench bench(false);
  bench.write(100'000);
  REQUIRE(bench.sender.high() == 10'001);
  bench.left();
  for (int i = 0; i < 3; ++i) bench.take(bench.ack(1));
  // Two by limited transmit; then threshold 6000 of 12000 in flight, and three have left.
  CHECK(bench.left() == "10001+1000 11001+1000 1+1000!");
  CHECK(bench.sender.pipe() == 9000);
  for (int i = 0; i < 3; ++i) bench.take(bench.ack(1));
  CHECK(bench.left().empty());
  CHECK(bench.sender.pipe() == 6000);
  bench.take(bench.ack(1));
  CHECK(bench.left() == "12001+1000");
  bench.take(bench.ack(3001));  // 13000 - 3000 in flight; 7000 - 3000 + 1000 have left
  CHECK(bench.left() == "3001+1000! 13001+1000");
  CHECK(bench.sender.pipe() == 6000);
  bench.take(bench.ack(3501));  // less than a segment brings nothing back
  CHECK(bench.left() == "3501+1000!");
  CHECK(bench.sender.pipe() == 6000);
}

TEST_CASE("Recovery without SACK ends without a burst") {
  Bench bench(false);
  bench.write(10'000);
  for (int i = 0; i < 9; ++i) bench.take(bench.ack(1));
  CHECK(bench.sender.congestion().window() == 5000);
  bench.take(bench.ack(10'001));
  CHECK_FALSE(bench.sender.in_recovery());
  CHECK(bench.sender.congestion().window() == 2000);
}

TEST_CASE("RFC 6675's rescue comes once, and counts as no progress of the recovery") {
  Bench bench(true);
  bench.write(10'000);
  bench.left();
  for (const std::uint64_t behind : {3001, 4001, 5001}) bench.take(bench.ack(1, {{1001, behind}}));
  CHECK(bench.left() == "1+1000!");
  REQUIRE(bench.sender.pipe() == 6000);  // 5001 to 10000, and the first again
  bench.take(bench.ack(1, {{1001, 8001}}));
  CHECK(bench.left() == "9001+1000!");
  CHECK(bench.sender.pipe() == 3000);
  bench.take(bench.ack(1, {{1001, 9001}}));
  CHECK(bench.left().empty());
}

TEST_CASE("Recovery sends new data as SACK empties the pipe") {
  Bench bench(true);
  bench.write(10'000);
  bench.left();
  bench.sender.append(100'000);
  for (std::uint64_t behind = 2001; behind <= 10'001; behind += 1000)
    bench.take(bench.ack(1, {{1001, behind}}));
  // Two by limited transmit; then half of 12000 in flight.
  CHECK(bench.left() == "10001+1000 11001+1000 1+1000! 12001+1000 13001+1000 14001+1000");
  CHECK(bench.sender.pipe() == 6000);
  CHECK(bench.sender.congestion().window() == 6000);
}

TEST_CASE("A probe uses a window that is too small for anything else") {
  Bench bench(true, 10'000);
  bench.write(3000);
  auto news = bench.ack(3001);
  news.window = 300;
  bench.take(news);
  bench.left();
  bench.write(2000);
  CHECK(bench.left().empty());
  bench.run(200_ms);
  CHECK(bench.left() == "3001+300");
}

TEST_CASE("FIN follows the last byte, is sent again like one, and needs room in the window") {
  Bench bench(true, 1000);
  bench.write(1000);
  bench.sender.finish();
  bench.sender.push();
  CHECK(bench.left() == "1+1000");
  bench.take(bench.ack(1001));
  CHECK(bench.left() == "1001+0F");
  CHECK_FALSE(bench.sender.all_acknowledged());
  bench.run(200_ms);
  CHECK(bench.left() == "1001+0F!");
  bench.take(bench.ack(1002));
  CHECK(bench.sender.all_acknowledged());
  bench.run(Time::s(10));
  CHECK(bench.left().empty());
}

TEST_CASE("A loss is told to a peer that uses ECN, once, with new data") {
  Bench bench(true, 1'000'000, reno(), true);
  bench.write(10'000);
  bench.left();
  bench.sender.append(10'000);
  for (const std::uint64_t behind : {2001, 3001, 4001, 10'001})
    bench.take(bench.ack(1, {{1001, behind}}));
  CHECK(bench.left() == "10001+1000 11001+1000 1+1000! 12001+1000C 13001+1000 14001+1000");
}

TEST_CASE("What was in flight when a mark cut the window does not make it grow again") {
  Bench bench(true, 1'000'000, reno(), true);
  bench.write(30'000);  // ten segments of them leave
  auto marked = bench.ack(1001);
  marked.ece = true;
  bench.take(marked);
  CHECK(bench.sender.congestion().window() == 5000);
  for (const std::uint64_t position : {2001, 6001, 9001, 10'001}) {
    bench.take(bench.ack(position));
    CHECK(bench.sender.congestion().window() == 5000);
  }
  REQUIRE(bench.sender.high() == 15'001);
  bench.take(bench.ack(15'001));
  CHECK(bench.sender.congestion().window() == 6000);
}

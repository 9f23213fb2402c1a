// SPDX-License-Identifier: MIT
#include "host/tcp/sack_scoreboard.h"

#include <catch2/catch.hpp>
#include <set>

#include "model/random.h"

using namespace rnicsim;

TEST_CASE("Selective acknowledgements count once, whatever they repeat or join") {
  SackScoreboard board;
  CHECK(board.add(100, 200) == 100);
  CHECK(board.add(100, 200) == 0);
  CHECK(board.add(300, 400) == 100);
  CHECK(board.add(150, 350) == 100);
  CHECK(board.missing(0, 500) == 200);
  CHECK(board.highest() == 400);
  CHECK(board.add(400, 400) == 0);
}

TEST_CASE("The first hole begins and ends where ranges do") {
  SackScoreboard board;
  board.add(100, 200);
  board.add(300, 400);
  const auto hole = [&](std::uint64_t from, std::uint64_t to) {
    const auto range = board.first_missing(from, to);
    return std::pair(range.first, range.behind);
  };
  CHECK(hole(50, 500) == std::pair<std::uint64_t, std::uint64_t>(50, 100));
  CHECK(hole(100, 500) == std::pair<std::uint64_t, std::uint64_t>(200, 300));
  CHECK(hole(250, 280) == std::pair<std::uint64_t, std::uint64_t>(250, 280));
  CHECK(hole(300, 500) == std::pair<std::uint64_t, std::uint64_t>(400, 500));
  const auto none = board.first_missing(310, 390);
  CHECK(none.first == none.behind);
}

TEST_CASE("A segment is lost when three pieces, or more than two segments, came from behind it") {
  SackScoreboard board;
  CHECK(board.lost_before(3, 1000) == 0);
  board.add(5000, 6000);
  board.add(3000, 4000);
  CHECK(board.lost_before(3, 1000) == 0);
  board.add(1000, 1001);
  CHECK(board.lost_before(3, 1000) == 1000);
  board.add(6000, 7000);
  CHECK(board.lost_before(3, 1000) == 3000);
  board.add(7000, 7001);
  CHECK(board.lost_before(3, 1000) == 5000);
}

TEST_CASE("What is acknowledged in order is forgotten, if need be a part of a range") {
  SackScoreboard board;
  board.add(100, 200);
  board.add(300, 400);
  board.acknowledge(350);
  CHECK(board.missing(350, 400) == 0);
  CHECK(board.contains(399));
  CHECK_FALSE(board.contains(400));
  board.acknowledge(400);
  CHECK(board.empty());
}

TEST_CASE("A scoreboard says what a set of bytes does") {
  Random random(7);
  for (int run = 0; run < 50; ++run) {
    SackScoreboard board;
    std::set<std::uint64_t> bytes;
    std::uint64_t una = 0;
    for (int step = 0; step < 40; ++step) {
      const std::uint64_t first = una + random.below(100);
      const std::uint64_t behind = first + random.below(20);
      std::uint64_t news = 0;
      for (std::uint64_t i = first; i < behind; ++i) news += bytes.insert(i).second ? 1 : 0;
      REQUIRE(board.add(first, behind) == news);
      if (random.below(5) == 0) {
        una += random.below(30);
        board.acknowledge(una);
        bytes.erase(bytes.begin(), bytes.lower_bound(una));
      }
      const std::uint64_t from = una + random.below(100);
      const std::uint64_t to = from + random.below(50);
      std::uint64_t missing = 0;
      for (std::uint64_t i = from; i < to; ++i) missing += bytes.count(i) == 0 ? 1 : 0;
      REQUIRE(board.missing(from, to) == missing);
      const auto hole = board.first_missing(from, to);
      REQUIRE((hole.first == hole.behind) == (missing == 0));
      for (std::uint64_t i = hole.first; i < hole.behind; ++i) REQUIRE(bytes.count(i) == 0);
      if (missing != 0 && hole.behind < to) REQUIRE(bytes.count(hole.behind) == 1);
      if (missing != 0 && hole.first > from) REQUIRE(bytes.count(hole.first - 1) == 1);
    }
  }
}

// SPDX-License-Identifier: MIT
#include "model/time_wheel.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <utility>

namespace rnicsim {
namespace {

/// The wheel beside a container whose order nobody doubts.
class Twin {
 public:
  void insert(std::int64_t time, std::uint64_t rank) {
    const std::uint64_t order = rank << 60 | ++sequence_;
    wheel_.insert(time, order, nullptr, nullptr, order);
    expected_.insert({time, order});
  }

  /// Takes the earliest from both, if it is not after `through`; false when there is none.
  bool take(std::int64_t through = std::numeric_limits<std::int64_t>::max()) {
    REQUIRE(wheel_.size() == expected_.size());
    const std::int64_t next =
        expected_.empty() ? std::numeric_limits<std::int64_t>::max() : expected_.begin()->first;
    const TimeWheel::Entry* entry = wheel_.first(through);
    if (entry == nullptr) {
      if (!expected_.empty()) REQUIRE(next > through);
      REQUIRE(wheel_.next_time() == next);
      return false;
    }
    REQUIRE(std::pair(entry->time, entry->order) == *expected_.begin());
    REQUIRE(entry->callback.argument == entry->order);
    REQUIRE(wheel_.next_time() == next);
    now_ = entry->time;
    expected_.erase(expected_.begin());
    wheel_.pop();
    return true;
  }

  std::int64_t now() const { return now_; }
  std::size_t size() const { return expected_.size(); }

 private:
  TimeWheel wheel_;
  std::set<std::pair<std::int64_t, std::uint64_t>> expected_;
  std::uint64_t sequence_ = 0;
  std::int64_t now_ = 0;
};

/// Delays from none to seconds, with many equal ones and many on the edges of buckets.
std::int64_t random_delay(std::mt19937_64& random) {
  static constexpr std::int64_t kEdges[] = {0,       1,       1023,    1024,    1025,   4095 * 1024,
                                            4194303, 4194304, 4194305, 4195328, 8388608};
  if (random() % 3 == 0) return kEdges[random() % std::size(kEdges)];
  const unsigned bits = random() % 44;
  return static_cast<std::int64_t>(random() & ((1ULL << bits) - 1));
}

}  // namespace

TEST_CASE("an empty wheel has no first entry") {
  TimeWheel wheel;
  REQUIRE(wheel.first() == nullptr);
  REQUIRE(wheel.next_time() == std::numeric_limits<std::int64_t>::max());
  REQUIRE(wheel.size() == 0);
}

TEST_CASE("entries come out by time and order, from picoseconds to seconds") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    Twin twin;
    for (int i = 0; i < 3000; ++i) twin.insert(random_delay(random), random() % 3);
    while (twin.take()) {
    }
    REQUIRE(twin.size() == 0);
  }
}

TEST_CASE("entries inserted while draining find their place") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20; ++round) {
    Twin twin;
    for (int i = 0; i < 200; ++i) twin.insert(random_delay(random), random() % 3);
    for (int i = 0; i < 20000 && twin.take(); ++i) {
      const std::size_t children = twin.size() < 1000 ? random() % 3 : random() % 2;
      for (std::size_t c = 0; c < children; ++c)
        twin.insert(twin.now() + random_delay(random), random() % 3);
    }
    while (twin.take()) {
    }
  }
}

TEST_CASE("a look at what is too late disturbs nothing that comes earlier") {
  std::mt19937_64 random(3);
  Twin twin;
  std::int64_t now = 0;
  for (int i = 0; i < 30000; ++i) {
    const std::int64_t through = now + random_delay(random) / 1000;
    while (twin.take(through)) {
    }
    now = through;
    for (std::uint64_t n = random() % 4; n != 0; --n)
      twin.insert(now + random_delay(random), random() % 3);
  }
  while (twin.take()) {
  }
  REQUIRE(twin.size() == 0);
}

TEST_CASE("after looking at a far entry without a limit, earlier ones still come first") {
  std::mt19937_64 random(4);
  Twin twin;
  twin.insert(5'000'000'000'000, 0);
  twin.insert(5'000'000'000'001, 0);
  REQUIRE(twin.take());
  for (int i = 0; i < 2000; ++i) twin.insert(random_delay(random), 1);
  while (twin.take()) {
  }
  REQUIRE(twin.size() == 0);
}

}  // namespace rnicsim

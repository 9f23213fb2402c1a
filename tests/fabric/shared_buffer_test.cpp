// SPDX-License-Identifier: MIT
#include "fabric/shared_buffer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <vector>

#include "model/random.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

using Admission = SharedBuffer::Admission;

constexpr std::uint8_t kLossless = 3;
constexpr std::uint8_t kLossy = 0;
constexpr Bytes kCell{100};

/// Cells of 100 B, nothing reserved, thresholds that nothing reaches.
SharedBufferConfig plain(std::uint64_t cells) {
  SharedBufferConfig config;
  config.size = kCell * cells;
  config.cell = kCell;
  config.model = BufferModel::kStatic;
  config.reserved = 0_B;
  config.threshold = kCell * cells;
  config.xon_offset = 0_B;
  config.egress_alpha = 64;
  return config;
}

SharedBuffer make(const SharedBufferConfig& config, std::size_t ports, Bytes headroom = 0_B) {
  return {config, 1U << kLossless, std::vector<Bytes>(ports, headroom)};
}

/// How many one-cell packets of a group are taken before anything else than kTaken.
int fill(SharedBuffer& buffer, std::uint32_t port, std::uint8_t priority, int at_most,
         std::uint32_t egress = 0) {
  int taken = 0;
  while (taken < at_most && buffer.take(port, priority, egress, kCell) == Admission::kTaken)
    ++taken;
  return taken;
}

}  // namespace

TEST_CASE("bytes are taken and given back in whole cells") {
  SharedBuffer buffer = make(plain(1000), 2);
  REQUIRE(buffer.take(0, kLossy, 1, 101_B) == Admission::kTaken);
  REQUIRE(buffer.take(1, kLossy, 1, 100_B) == Admission::kTaken);
  REQUIRE(buffer.take(1, 5, 1, 1_B) == Admission::kTaken);
  CHECK(buffer.occupied() == 400_B);
  CHECK(buffer.egress_bytes(1, kLossy) == 300_B);
  CHECK(buffer.egress_bytes(1) == 400_B);
  CHECK(buffer.egress_bytes(0) == 0_B);
  buffer.give_back(0, kLossy, 1, 101_B);
  buffer.give_back(1, kLossy, 1, 100_B);
  buffer.give_back(1, 5, 1, 1_B);
  CHECK(buffer.occupied() == 0_B);
  CHECK(buffer.egress_bytes(1) == 0_B);
}

TEST_CASE("what is reserved for a group is its own whatever the threshold and the others") {
  SharedBufferConfig config = plain(16 * 5 + 20);
  config.reserved = 450_B;  // 5 cells
  config.threshold = 0_B;
  SharedBuffer buffer = make(config, 2);
  CHECK(fill(buffer, 0, kLossy, 100) == 5);
  CHECK(fill(buffer, 1, kLossy, 100) == 5);
  CHECK(buffer.take(0, 1, 0, 600_B) == Admission::kDropped);
  CHECK(buffer.take(0, 1, 0, 500_B) == Admission::kTaken);
}

TEST_CASE("reserves and headroom that leave no shared pool are a bad configuration") {
  SharedBufferConfig config = plain(16 * 5 + 20);
  config.reserved = 500_B;
  CHECK_NOTHROW(make(config, 2, 900_B));
  CHECK_THROWS_WITH(make(config, 2, 1000_B), Catch::Contains("buffer.size") &&
                                                 Catch::Contains("10000 B") &&
                                                 Catch::Contains("2 ports"));
}

TEST_CASE("n equal queues pause at alpha B / (1 + n alpha), within a cell") {
  SharedBufferConfig config = plain(180000);
  config.model = BufferModel::kDynamic;
  config.alpha = 1. / 8;
  for (const auto& [n, expected] :
       {std::pair{1U, 2000000}, {2U, 1800000}, {4U, 1500000}, {8U, 1125000}}) {
    // A cell of headroom each: others may have pulled the threshold below what a group holds.
    config.size = Bytes(18000000 + n * 100);
    SharedBuffer buffer = make(config, n, kCell);
    std::vector<int> cells(n, 0);
    for (bool grows = true; grows;) {
      grows = false;
      for (std::uint32_t port = 0; port < n; ++port) {
        if (buffer.is_xoff(port, kLossless)) continue;
        REQUIRE(buffer.take(port, kLossless, 0, kCell) == Admission::kTaken);
        ++cells[port];
        grows = true;
      }
    }
    for (const int each : cells) CHECK(std::abs(each * 100 - expected) <= 100);
  }
}

TEST_CASE("a static threshold is the same however full the pool is") {
  SharedBufferConfig config = plain(1000);
  config.threshold = 1000_B;
  SharedBuffer buffer = make(config, 3, 500_B);
  CHECK(fill(buffer, 2, kLossless, 9) == 9);
  for (std::uint32_t port = 0; port < 2; ++port) {
    CHECK(fill(buffer, port, kLossless, 9) == 9);
    CHECK_FALSE(buffer.is_xoff(port, kLossless));
    CHECK(fill(buffer, port, kLossless, 1) == 1);
    CHECK(buffer.is_xoff(port, kLossless));
    CHECK(buffer.threshold(kLossless) == 1000_B);
  }
  CHECK(fill(buffer, 0, kLossy, 100) == 10);
}

TEST_CASE("the packet that reaches the threshold is taken whole and asks for XOFF") {
  SharedBufferConfig config = plain(1000);
  config.threshold = 1000_B;
  SharedBuffer buffer = make(config, 1, 500_B);
  REQUIRE(buffer.take(0, kLossless, 0, 900_B) == Admission::kTaken);
  CHECK_FALSE(buffer.is_xoff(0, kLossless));
  REQUIRE(buffer.take(0, kLossless, 0, 4100_B) == Admission::kTaken);
  CHECK(buffer.is_xoff(0, kLossless));
  CHECK(test::metrics_of(buffer).at("shared.occupancy.max") == 5000);
}

TEST_CASE("XON comes when a group has fallen the offset below its threshold") {
  SharedBufferConfig config = plain(1000);
  config.threshold = 1000_B;
  config.xon_offset = 250_B;  // 3 cells
  SharedBuffer buffer = make(config, 1, 500_B);
  REQUIRE(fill(buffer, 0, kLossless, 10) == 10);
  REQUIRE(buffer.is_xoff(0, kLossless));
  CHECK_FALSE(buffer.give_back(0, kLossless, 0, kCell));
  CHECK_FALSE(buffer.give_back(0, kLossless, 0, kCell));
  CHECK(buffer.give_back(0, kLossless, 0, kCell));
  CHECK_FALSE(buffer.is_xoff(0, kLossless));
  CHECK_FALSE(buffer.give_back(0, kLossless, 0, kCell));
}

TEST_CASE("behind XOFF a group has its headroom, and one cell more is an overflow") {
  SharedBufferConfig config = plain(1000);
  config.threshold = 1000_B;
  SharedBuffer buffer = make(config, 1, 450_B);
  CHECK(buffer.headroom(0, kLossless) == 500_B);
  REQUIRE(fill(buffer, 0, kLossless, 10) == 10);
  CHECK(buffer.take(0, kLossless, 0, 300_B) == Admission::kTaken);
  CHECK(buffer.take(0, kLossless, 0, 300_B) == Admission::kOverflow);
  CHECK(buffer.headroom_wanted(0, kLossless, 300_B) == 600_B);
  CHECK(buffer.take(0, kLossless, 0, 200_B) == Admission::kTaken);
  CHECK(buffer.take(0, kLossless, 0, 1_B) == Admission::kOverflow);
  CHECK(buffer.occupied() == 1500_B);
}

TEST_CASE("headroom empties first, and XON waits until it is empty") {
  SharedBufferConfig config = plain(1000);
  config.threshold = 1000_B;
  SharedBuffer buffer = make(config, 1, 500_B);
  REQUIRE(fill(buffer, 0, kLossless, 15) == 15);
  CHECK_FALSE(buffer.give_back(0, kLossless, 0, 400_B));
  CHECK(buffer.take(0, kLossless, 0, 400_B) == Admission::kTaken);  // as much as has left
  CHECK_FALSE(buffer.give_back(0, kLossless, 0, 400_B));
  CHECK(buffer.give_back(0, kLossless, 0, 200_B));  // 9 cells are left
  test::MetricRecorder metrics;
  buffer.report_port(MetricScope(metrics, "p"), 0);
  CHECK(metrics.values ==
        std::map<std::string, std::uint64_t>{{"p.prio3.occupancy.max", 1500},
                                             {"p.prio3.headroom", 500},
                                             {"p.prio3.first_xoff", 1000},
                                             {"p.prio3.headroom.occupancy.max", 500}});
}

TEST_CASE("a full pool sends a lossless group into its headroom at once, and pauses it") {
  SharedBufferConfig config = plain(100 + 2 * 5);
  SharedBuffer buffer = make(config, 2, 500_B);
  REQUIRE(fill(buffer, 0, kLossless, 100) == 100);
  REQUIRE_FALSE(buffer.is_xoff(0, kLossless));
  CHECK(buffer.take(1, kLossless, 0, 300_B) == Admission::kTaken);
  CHECK(buffer.is_xoff(1, kLossless));
  CHECK(buffer.take(1, kLossless, 0, 300_B) == Admission::kOverflow);
  CHECK(buffer.give_back(1, kLossless, 0, 300_B));
}

TEST_CASE("a lossy group is dropped at its share of what is free") {
  SharedBufferConfig config = plain(300);
  config.model = BufferModel::kDynamic;
  config.lossy_alpha = 0.5;
  SharedBuffer buffer = make(config, 2);
  CHECK(fill(buffer, 0, kLossy, 1000) == 100);  // Q = (300 - Q) / 2
  CHECK(fill(buffer, 1, kLossy, 1000) == 67);   // 66 < (200 - 66) / 2 = 67
  CHECK_FALSE(buffer.is_xoff(0, kLossy));
  buffer.give_back(0, kLossy, 0, kCell);
  CHECK(fill(buffer, 0, kLossy, 1000) == 0);  // 99 > (300 - 166) / 2
}

TEST_CASE("a lossy packet is dropped where too much waits for its egress queue") {
  SharedBufferConfig config = plain(400);
  config.egress_alpha = 0.25;
  SharedBuffer buffer = make(config, 2);
  CHECK(fill(buffer, 0, kLossy, 40, 1) == 40);
  CHECK(fill(buffer, 1, kLossy, 1000, 1) == 40);  // 80 = (400 - 80) / 4
  CHECK(fill(buffer, 1, kLossy, 1, 0) == 1);
  CHECK(fill(buffer, 1, 1, 1, 1) == 1);
  CHECK(fill(buffer, 0, kLossless, 200, 1) == 200);
}

namespace {

/// The same rules in plain words, every sum made anew: what each group holds, packet by packet.
class NaiveBuffer {
 public:
  struct Group {
    std::uint64_t cells = 0;
    std::uint64_t headroom = 0;
    bool xoff = false;
  };
  NaiveBuffer(std::size_t ports, std::uint64_t shared, std::uint64_t reserved,
              std::uint64_t headroom)
      : groups(ports * kPriorities),
        queues(ports * kPriorities, 0),
        shared_(shared),
        reserved_(reserved),
        headroom_(headroom) {}

  std::uint64_t over(const Group& group) const {
    const std::uint64_t pool = group.cells - group.headroom;
    return pool > reserved_ ? pool - reserved_ : 0;
  }
  std::uint64_t free() const {
    std::uint64_t used = 0;
    for (const Group& group : groups) used += over(group);
    return shared_ - used;
  }
  std::uint64_t occupied() const {
    std::uint64_t cells = 0;
    for (const Group& group : groups) cells += group.cells;
    return cells;
  }
  Admission take(std::size_t group_index, std::size_t queue, std::uint64_t cells) {
    Group& group = groups[group_index];
    const bool lossless = group_index % kPriorities == kLossless;
    const std::uint64_t before = free();
    const std::uint64_t threshold = before / (lossless ? 8 : 2);
    Group grown = group;
    grown.cells += cells;
    const bool room = grown.cells - grown.headroom <= reserved_ ||
                      (over(group) < threshold && over(grown) - over(group) <= before);
    if (lossless) {
      if (!room || group.xoff) {
        if (group.headroom + cells > headroom_) return Admission::kOverflow;
        grown.headroom += cells;
        grown.xoff = true;
      } else {
        grown.xoff = over(grown) != 0 && over(grown) >= threshold;
      }
    } else if (!room || queues[queue] + cells > std::max(reserved_, before / 2)) {
      return Admission::kDropped;
    }
    group = grown;
    queues[queue] += cells;
    return Admission::kTaken;
  }
  bool give_back(std::size_t group_index, std::size_t queue, std::uint64_t cells,
                 std::uint64_t offset) {
    Group& group = groups[group_index];
    group.cells -= cells;
    group.headroom -= std::min(group.headroom, cells);
    queues[queue] -= cells;
    if (!group.xoff || group.headroom != 0 || over(group) + offset > std::max(free() / 8, offset))
      return false;
    group.xoff = false;
    return true;
  }

  std::vector<Group> groups;
  std::vector<std::uint64_t> queues;

 private:
  std::uint64_t shared_;
  std::uint64_t reserved_;
  std::uint64_t headroom_;
};

struct Held {
  std::uint32_t port;
  std::uint8_t priority;
  std::uint32_t egress;
  Bytes bytes;
};

}  // namespace

TEST_CASE("random packets are accounted for as in a naive model, and leave nothing behind") {
  constexpr std::uint32_t kPorts = 4;
  SharedBufferConfig config = plain(4 * 8 * 3 + 4 * 30 + 600);
  config.model = BufferModel::kDynamic;
  config.alpha = 1. / 8;
  config.lossy_alpha = 0.5;
  config.egress_alpha = 0.5;
  config.reserved = 300_B;
  config.xon_offset = 500_B;
  SharedBuffer buffer = make(config, kPorts, 3000_B);
  NaiveBuffer naive(kPorts, 600, 3, 30);
  Random random(7);
  std::deque<Held> held;
  int outcomes[3] = {0, 0, 0};
  int xons = 0;
  const auto give_back = [&](std::size_t i) {
    const Held packet = held[i];
    held.erase(held.begin() + static_cast<long>(i));
    const std::size_t group = packet.port * kPriorities + packet.priority;
    const std::size_t queue = packet.egress * kPriorities + packet.priority;
    const bool xon = naive.give_back(group, queue, divide_up(packet.bytes, kCell), 5);
    REQUIRE(buffer.give_back(packet.port, packet.priority, packet.egress, packet.bytes) == xon);
    xons += xon ? 1 : 0;
  };
  for (int step = 0; step < 100000; ++step) {
    const bool fills = step / 500 % 2 == 0;
    if (held.empty() || random.below(10) < (fills ? 7U : 3U)) {
      const Held packet{static_cast<std::uint32_t>(random.below(kPorts)),
                        static_cast<std::uint8_t>(random.below(2) == 0 ? kLossless : kLossy),
                        static_cast<std::uint32_t>(random.below(kPorts)),
                        Bytes(64 + random.below(2000))};
      const std::size_t group = packet.port * kPriorities + packet.priority;
      const Admission expected = naive.take(group, packet.egress * kPriorities + packet.priority,
                                            divide_up(packet.bytes, kCell));
      REQUIRE(buffer.take(packet.port, packet.priority, packet.egress, packet.bytes) == expected);
      REQUIRE(buffer.is_xoff(packet.port, packet.priority) == naive.groups[group].xoff);
      ++outcomes[static_cast<int>(expected)];
      if (expected == Admission::kTaken) held.push_back(packet);
    } else {
      give_back(random.below(held.size()));
    }
    REQUIRE(buffer.occupied() == kCell * naive.occupied());
    REQUIRE(buffer.threshold(kLossless) == kCell * (naive.free() / 8));
  }
  for (const int count : outcomes) CHECK(count > 1000);
  CHECK(xons > 100);
  while (!held.empty()) give_back(held.size() - 1);
  CHECK(buffer.occupied() == 0_B);
  CHECK(buffer.threshold(kLossless) == kCell * (600 / 8));
  for (std::uint32_t port = 0; port < kPorts; ++port) {
    CHECK(buffer.egress_bytes(port) == 0_B);
    for (std::uint8_t p = 0; p < kPriorities; ++p) CHECK_FALSE(buffer.is_xoff(port, p));
  }
}

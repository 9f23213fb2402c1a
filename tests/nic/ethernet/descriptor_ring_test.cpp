// SPDX-License-Identifier: MIT
#include "nic/ethernet/descriptor_ring.h"

#include <catch2/catch.hpp>

#include "tests/support/endpoint_bench.h"

using namespace rnicsim;
using test::EndpointBench;

namespace {

constexpr std::uint64_t kRing = 0x10000;
constexpr std::uint32_t kBytes = 16;

struct Bench : EndpointBench {
  explicit Bench(std::uint8_t log_entries = 7) {
    for (std::uint32_t i = 0; i < 1U << log_entries; ++i)
      memory.at(kRing + std::uint64_t{i} * kBytes)[0] = static_cast<std::uint8_t>(i);
    ring.open(PhysicalAddress(kRing), log_entries);
  }
  void note() { came.emplace_back(ring.here(), scheduler.now()); }
  /// Number of the first descriptor and how many, of each read.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> reads() const {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> list;
    for (const auto& access : memory.log)
      list.emplace_back((access.address - kRing) / kBytes, access.bytes / kBytes);
    return list;
  }
  DescriptorRing ring{pcie, kBytes, 16, call<&Bench::note>(this)};
  std::vector<std::pair<std::uint32_t, Time>> came;
};
using Reads = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

}  // namespace

TEST_CASE("descriptors come ahead, one read after the other, until so many are here") {
  Bench bench;
  bench.at(Time::ns(100), [&] { bench.ring.produced(100); });
  bench.run();
  CHECK(bench.reads() == Reads{{0, 16}, {16, 16}, {32, 16}, {48, 16}});
  REQUIRE(bench.came.size() == 4);
  for (std::uint32_t i = 0; i < 4; ++i)
    CHECK(bench.came[i] ==
          std::make_pair((i + 1) * 16, Time::ns(100) + EndpointBench::kRead * (i + 1)));
  CHECK(bench.ring.posted() == 100);
  CHECK(bench.ring.at(63)[0] == 63);

  bench.ring.take(15);
  bench.run();
  CHECK(bench.reads().size() == 4);  // less than a read has room
  bench.ring.take(1);
  bench.run();
  CHECK(bench.reads().back() == std::make_pair(std::uint64_t{64}, 16U));
  CHECK(bench.ring.next() == 16);
  CHECK(bench.ring.at(63)[0] == 79);
}

TEST_CASE("a read ends where the ring does, and at what software has posted") {
  Bench bench(3);
  bench.ring.produced(5);
  bench.run();
  bench.ring.take(5);
  bench.ring.produced(12);
  bench.run();
  CHECK(bench.reads() == Reads{{0, 5}, {5, 3}, {0, 4}});
  CHECK(bench.ring.here() == 7);
  CHECK(bench.ring.at(2)[0] == 7);
  CHECK(bench.ring.at(3)[0] == 0);
}

TEST_CASE("a doorbell that goes back, or ahead by more than the ring, means nothing") {
  Bench bench(3);
  CHECK_FALSE(bench.ring.produced(9));
  CHECK(bench.ring.produced(4));
  CHECK_FALSE(bench.ring.produced(3));
  CHECK_FALSE(bench.ring.produced(9));
  bench.run();
  CHECK(bench.ring.posted() == 4);
}

TEST_CASE("what a ring asked for before it was closed does not appear in the next") {
  Bench bench;
  bench.ring.produced(10);
  bench.ring.close();
  CHECK(bench.ring.is_fetching());
  bench.run();
  CHECK_FALSE(bench.ring.is_fetching());
  CHECK(bench.ring.here() == 0);
  bench.ring.open(PhysicalAddress(kRing), 7);
  bench.ring.produced(2);
  bench.run();
  CHECK(bench.ring.here() == 2);
  CHECK(bench.ring.at(1)[0] == 1);
}

TEST_CASE("more are brought than whole reads allow if those that are here are not enough") {
  Bench bench;
  bench.ring.produced(70);
  bench.run();
  bench.ring.take(10);
  bench.run();
  REQUIRE(bench.ring.here() == 54);  // 6 are posted, a read of 16 has no room
  CHECK(bench.ring.bring_more());
  bench.run();
  CHECK(bench.reads().back() == std::make_pair(std::uint64_t{64}, 6U));
  CHECK(bench.ring.here() == 60);
  CHECK_FALSE(bench.ring.bring_more());
}

TEST_CASE("no more are brought than can be here") {
  Bench bench;
  bench.ring.produced(100);
  bench.run();
  CHECK_FALSE(bench.ring.bring_more());
  CHECK(bench.ring.here() == DescriptorRing::kHeld);
}

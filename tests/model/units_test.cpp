// SPDX-License-Identifier: MIT
#include "model/units.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace rnicsim {

using namespace literals;

namespace {

constexpr Uint128 kPsPerByteSecond = 8'000'000'000'000ULL;

/// The exact end of `bytes` at `rate`, rounded up, in 128 bits.
std::int64_t exact_ps(std::uint64_t bytes, BitRate rate) {
  const Uint128 units = static_cast<Uint128>(bytes) * kPsPerByteSecond * rate.denominator();
  return static_cast<std::int64_t>((units + rate.numerator() - 1) / rate.numerator());
}

/// The rates that meet in a system: Ethernet, InfiniBand, PCIe lanes with 8b/10b and 128b/130b.
std::vector<BitRate> rates() {
  std::vector<BitRate> all;
  for (std::uint64_t gbps : {1, 10, 25, 40, 56, 100, 200, 300, 400, 800})
    all.push_back(BitRate::gbps(gbps));
  for (std::uint64_t lanes : {1, 4, 8, 16}) {
    all.emplace_back(5'000'000'000 * lanes * 8, 10);
    for (std::uint64_t giga_transfers : {8, 16, 32})
      all.emplace_back(giga_transfers * 1'000'000'000 * lanes * 128, 130);
  }
  all.emplace_back(1);
  all.emplace_back(999'999'937);
  return all;
}

}  // namespace

TEST_CASE("time counts picoseconds and keeps its order") {
  REQUIRE(Time::ns(1) == 1000_ps);
  REQUIRE(Time::us(3) + 5_ns == Time::ps(3'005'000));
  REQUIRE(Time::s(1) / Time::ns(1) == 1'000'000'000);
  REQUIRE((7_ns) / 2 == 3500_ps);
  REQUIRE(3 * 2_ns == 6_ns);
  REQUIRE(1_ns < 1001_ps);
  REQUIRE(Time::s(9'000'000) < Time::never());
}

TEST_CASE("a rate is a fraction in lowest terms") {
  const BitRate lane(8'000'000'000ULL * 128, 130);
  REQUIRE(lane.numerator() == 102'400'000'000);
  REQUIRE(lane.denominator() == 13);
  REQUIRE(BitRate(20, 10) == BitRate(2));
  REQUIRE(BitRate().numerator() == 0);
}

TEST_CASE("the time of bytes is exact and rounds up once") {
  std::mt19937_64 random(1);
  for (const BitRate rate : rates()) {
    const ByteTime byte_time(rate);
    REQUIRE(byte_time.of(0_B) == Time());
    for (std::uint64_t bytes : {1, 64, 1500, 4096, 9216})
      REQUIRE(byte_time.of(Bytes(bytes)).ps() == exact_ps(bytes, rate));
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t bytes = random() >> (24 + random() % 40);
      if (rate.numerator() / rate.denominator() < 1000 && bytes > 1'000'000) continue;
      REQUIRE(byte_time.of(Bytes(bytes)).ps() == exact_ps(bytes, rate));
    }
  }
}

TEST_CASE("a stream of a million packets ends where its bytes end, at every rate") {
  for (const BitRate rate : rates()) {
    Serialiser wire(rate);
    std::mt19937_64 random(7);
    std::uint64_t bytes = 0;
    Time end;
    const int packets = rate == BitRate(1) ? 100 : 1'000'000;
    for (int i = 0; i < packets; ++i) {
      const std::uint64_t size = 24 + random() % 4200;
      bytes += size;
      end = wire.send(Time(), Bytes(size));
    }
    REQUIRE(end.ps() == exact_ps(bytes, rate));
    REQUIRE(wire.free_at() == end);
  }
}

TEST_CASE("a sender that waits until the wire is free loses no part of a picosecond") {
  for (const BitRate rate : {BitRate::gbps(300), BitRate(8'000'000'000ULL * 16 * 128, 130)}) {
    Serialiser wire(rate);
    for (int i = 0; i < 1'000'000; ++i) wire.send(wire.free_at(), 1501_B);
    REQUIRE(wire.free_at().ps() == exact_ps(1'501'000'000, rate));
  }
}

TEST_CASE("after a gap a packet starts when it is given, with no remainder from before") {
  Serialiser wire(BitRate::gbps(300));
  wire.send(Time(), 1_B);  // 26 2/3 ps
  REQUIRE(wire.free_at() == 27_ps);
  REQUIRE(wire.send(28_ps, 3_B) == 108_ps);
  REQUIRE(wire.send(100_ps, 1_B) == 135_ps);
  REQUIRE(wire.send(135_ps, 1_B) == 162_ps);  // 161 1/3: no gap at 135
}

TEST_CASE("a cable delays by 5 ns a metre") {
  REQUIRE(Length::m(3).propagation() == 15_ns);
  REQUIRE(Length(1).propagation() == 5_ps);
}

}  // namespace rnicsim

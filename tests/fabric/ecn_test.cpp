// SPDX-License-Identifier: MIT
#include "fabric/ecn.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

EcnMarker marker_of(Bytes kmin, Bytes kmax, double pmax) {
  EcnConfig config;
  config.kmin = kmin;
  config.kmax = kmax;
  config.pmax = pmax;
  return EcnMarker(config);
}

int marked_of(const EcnMarker& marker, Bytes waiting, int packets, std::uint64_t seed = 1) {
  Random random(seed);
  int marked = 0;
  for (int i = 0; i < packets; ++i) marked += marker.marks(waiting, random) ? 1 : 0;
  return marked;
}

}  // namespace

TEST_CASE("nothing is marked up to kmin and everything above kmax") {
  const EcnMarker marker = marker_of(1000_B, 2000_B, 0.5);
  CHECK(marked_of(marker, 0_B, 1000) == 0);
  CHECK(marked_of(marker, 1000_B, 1000) == 0);
  CHECK(marked_of(marker, 2001_B, 1000) == 1000);
  const int at_kmax = marked_of(marker, 2000_B, 1000);
  CHECK(at_kmax > 400);
  CHECK(at_kmax < 600);
}

TEST_CASE("in between the share of marks grows evenly from nothing to pmax") {
  constexpr int kPackets = 200000;
  const EcnMarker marker = marker_of(100000_B, 400000_B, 0.2);
  for (const auto& [waiting, share] :
       {std::pair{100000 + 30000, 0.02}, {250000, 0.1}, {400000 - 30000, 0.18}, {400000, 0.2}}) {
    const double deviation = std::sqrt(kPackets * share * (1 - share));
    CHECK(std::abs(marked_of(marker, Bytes(static_cast<std::uint64_t>(waiting)), kPackets) -
                   kPackets * share) < 4 * deviation);
  }
}

TEST_CASE("a pmax of 1 marks everything at kmax, and one of 0 nothing") {
  CHECK(marked_of(marker_of(1_B, 4096_B, 1), 4096_B, 1000) == 1000);
  CHECK(marked_of(marker_of(1_B, 4096_B, 0), 4096_B, 1000) == 0);
  CHECK(marked_of(marker_of(1_B, 4096_B, 0), 4097_B, 1000) == 1000);
}

TEST_CASE("kmin equal to kmax is a step") {
  const EcnMarker marker = marker_of(5000_B, 5000_B, 0.01);
  CHECK(marked_of(marker, 5000_B, 1000) == 0);
  CHECK(marked_of(marker, 5001_B, 1000) == 1000);
}

TEST_CASE("without a curve nothing is marked") {
  CHECK(marked_of(EcnMarker(), Bytes(1ULL << 40), 1000) == 0);
}

TEST_CASE("the same seed marks the same packets, and draws nothing outside of the curve") {
  const EcnMarker marker = marker_of(1000_B, 2000_B, 0.5);
  CHECK(marked_of(marker, 1700_B, 1000, 5) == marked_of(marker, 1700_B, 1000, 5));
  Random random(3);
  Random untouched(3);
  marker.marks(1000_B, random);
  marker.marks(2001_B, random);
  CHECK(random.next() == untouched.next());
}

TEST_CASE("only ECT(0) and ECT(1) are capable") {
  PacketPool pool;
  const PacketRef packet = pool.create();
  CHECK_FALSE(is_ecn_capable(*packet));
  packet->ipv4.ecn = Ecn::kCapable0;
  CHECK(is_ecn_capable(*packet));
  packet->ipv4.ecn = Ecn::kCapable1;
  CHECK(is_ecn_capable(*packet));
  packet->ipv4.ecn = Ecn::kCongestion;
  CHECK_FALSE(is_ecn_capable(*packet));
}

// SPDX-License-Identifier: MIT
// Random programs on two servers, over real verbs, NICs and a faulty cable, held against a trivial
// reference model of verbs (stress/reference_model.h says what that is). Memory of both sides,
// every completion, every receive and what every READ and atomic brought are compared.
//
// RNICSIM_STRESS_SEED=n runs one seed of a test case, in its own process (a run with a debugger).
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "tests/scenarios/stress/random_program.h"
#include "tests/support/own_process.h"

using namespace rnicsim;
using stress::Settings;

namespace {

std::string failure_of(const Settings& settings) {
  try {
    stress::RandomProgram(settings).run();
    return {};
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

void check_seeds(Settings (*settings)(std::uint64_t), std::uint64_t first, std::uint64_t last) {
  if (const char* seed = std::getenv("RNICSIM_STRESS_SEED")) {
    CHECK(failure_of(settings(std::strtoull(seed, nullptr, 10))) == "");
    return;
  }
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    INFO("seed " << seed);
    CHECK(test::in_own_process([&] { return failure_of(settings(seed)); }) == "");
  }
}

/// The same with each way of retransmission.
void check_retransmissions(Settings (*settings)(std::uint64_t), std::uint64_t first,
                           std::uint64_t last) {
  if (std::getenv("RNICSIM_STRESS_SEED") != nullptr) {
    check_seeds(settings, 0, 0);
    return;
  }
  for (std::uint64_t way = 0; way < std::size(stress::kRetransmissions); ++way)
    check_seeds(settings, way * stress::kProgramSeeds + first, way * stress::kProgramSeeds + last);
}

}  // namespace

TEST_CASE("Without faults each kind of operation does what it should") {
  check_seeds(stress::without_faults, 0, 20);
}

TEST_CASE("Mixed operations under mixed faults have the effect that verbs promise") {
  check_retransmissions(stress::with_faults, 40, 60);
}

TEST_CASE("Mixed operations over InfiniBand have that effect too, its packets lost or damaged") {
  check_retransmissions(stress::over_infiniband, 1, 6);
}

TEST_CASE("Mixed operations on memory paged on demand have that effect, with and without faults") {
  check_retransmissions(stress::paged, 1, 8);
}

TEST_CASE("Of a queue pair that fails on memory paged on demand each request completes once, too") {
  check_retransmissions(stress::paged_failing, 1, 10);
}

TEST_CASE("Mixed operations on memory paged on demand, many seeds", "[long]") {
  check_retransmissions(stress::paged, 1000, 1060);
}

TEST_CASE("Queue pairs that fail on memory paged on demand, many seeds", "[long]") {
  check_retransmissions(stress::paged_failing, 1000, 1060);
}

TEST_CASE("Mixed operations over InfiniBand, many seeds", "[long]") {
  check_retransmissions(stress::over_infiniband, 1000, 1100);
}

TEST_CASE("Mixed operations under mixed faults, many seeds", "[long]") {
  check_retransmissions(stress::with_faults, 1000, 1400);
}

TEST_CASE("Of a queue pair that fails each request and receive completes once, in order") {
  check_retransmissions(stress::failing, 40, 64);
}

TEST_CASE("Queue pairs that fail, many seeds", "[long]") {
  check_retransmissions(stress::failing, 1000, 1400);
}

TEST_CASE("Unreliable messages come whole, in order and at most once, or not at all") {
  check_seeds(stress::unreliable, 1, 20);
}

TEST_CASE("Unreliable messages, many seeds", "[long]") {
  check_seeds(stress::unreliable, 1000, 1200);
}

TEST_CASE("Of packets that come twice and out of order unreliable messages come whole") {
  check_seeds(stress::unreliable_repeated, 1, 20);
}

TEST_CASE("Unreliable messages of packets that come twice and out of order, many seeds", "[long]") {
  check_seeds(stress::unreliable_repeated, 1000, 1200);
}

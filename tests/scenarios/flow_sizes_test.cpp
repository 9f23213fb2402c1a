// SPDX-License-Identifier: MIT
// Distributions of flow sizes, from tables and files.
#include "scenarios/engine/flows/flow_sizes.h"

#include <catch2/catch.hpp>
#include <string>

#include "model/config_error.h"

using namespace rnicsim;

namespace {

std::string error_of(const std::string& text) {
  try {
    FlowSizes::read(text, "x.txt");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the built-in distributions are known by name, capitals or not") {
  CHECK(FlowSizes::built_in_names() ==
        std::vector<std::string>{"WebSearch", "AliStorage2019", "FbHadoop"});
  for (const char* name : {"WebSearch", "web_search", "web-search", "WEBSEARCH"}) {
    REQUIRE(FlowSizes::built_in(name));
    CHECK(FlowSizes::built_in(name)->points().size() == 12);
  }
  CHECK(FlowSizes::built_in("alistorage2019")->points().back().bytes == 2000000);
  CHECK(FlowSizes::built_in("fb_hadoop")->points()[14].bytes == 80000);
  CHECK_FALSE(FlowSizes::built_in("hadoop"));
}

TEST_CASE("percent and fraction are told apart by the last value") {
  const FlowSizes percent = FlowSizes::read("0 0\n1000 50\n3000 100\n", "x.txt");
  const FlowSizes fraction = FlowSizes::read("0 0.0\n\n1000 0.5\n3000 1", "x.txt");
  for (const FlowSizes& sizes : {percent, fraction}) {
    REQUIRE(sizes.points().size() == 3);
    CHECK(sizes.points()[1].share == 0.5);
    CHECK(sizes.points()[2].share == 1.0);
    CHECK(sizes.mean() == 0.5 * 500 + 0.5 * 2000);
  }
}

TEST_CASE("draws follow the distribution between its points") {
  const FlowSizes sizes = FlowSizes::read("100 0\n200 25\n200 50\n1000 100\n", "x.txt");
  Random random(1);
  constexpr int kDraws = 100000;
  int below = 0;
  int at = 0;
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t bytes = sizes.draw(random).count();
    REQUIRE(bytes >= 100);
    REQUIRE(bytes <= 1000);
    below += bytes < 200 ? 1 : 0;
    at += bytes == 200 ? 1 : 0;
    sum += static_cast<double>(bytes);
  }
  CHECK(below == Approx(0.25 * kDraws).margin(600));
  CHECK(at == Approx(0.25 * kDraws).margin(600));
  CHECK(sum / kDraws == Approx(sizes.mean()).epsilon(0.01));
  CHECK(FlowSizes::always(Bytes(77)).draw(random) == Bytes(77));
  CHECK(FlowSizes::read("0 0\n1 100\n", "x.txt").draw(random) == Bytes(1));
}

TEST_CASE("a file of sizes that is none is refused in one line") {
  CHECK(error_of("") ==
        "x.txt: expected at least two points, from share 0 to 100 or to 1, found 0");
  CHECK(error_of("0 0\n10\n") ==
        "x.txt:2: expected size_bytes and cumulative share, 0 to 100, found 1 words");
  CHECK(error_of("0 0\n10 5x\n") ==
        "x.txt:2: expected size_bytes and cumulative share, 0 to 100, found \"5x\"");
  CHECK(error_of("0 1\n10 100\n") == "x.txt:1: expected share 0 at the first size, found \"1\"");
  CHECK(error_of("0 0\n10 20\n9 100\n") ==
        "x.txt:3: expected sizes and shares that ascend, found \"9\"");
  CHECK(error_of("0 0\n10 20\n11 10\n") ==
        "x.txt:3: expected sizes and shares that ascend, found \"10\"");
  CHECK(error_of("0 0\n10 99\n").find("expected a last share of 100 (percent) or 1 (fraction)") !=
        std::string::npos);
  CHECK(error_of("0 0\nten 100\n").find("a size in bytes") != std::string::npos);
}

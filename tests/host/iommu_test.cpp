// SPDX-License-Identifier: MIT
#include "host/iommu.h"

#include <catch2/catch.hpp>

#include "tests/support/metric_recorder.h"

namespace {

using namespace rnicsim;
using namespace rnicsim::literals;

IommuConfig small_config() {
  IommuConfig config;
  config.mode = IommuMode::kTranslate;
  config.geometry.entries = 2;
  config.geometry.ways = 2;
  config.walk_latency = 300_ns;
  config.walks = 2;
  return config;
}

PhysicalAddress page(std::uint64_t number) { return PhysicalAddress(number * 4096); }

}  // namespace

TEST_CASE("The first request to a page waits for a walk, later ones for nothing") {
  Iommu iommu(small_config());
  CHECK(iommu.translate(1_us, page(7), 64_B) == 1300_ns);
  CHECK(iommu.translate(2_us, PhysicalAddress(7 * 4096 + 4032), 64_B) == 2_us);
  auto metrics = test::metrics_of(iommu);
  CHECK(metrics.at("hits") == 1);
  CHECK(metrics.at("misses") == 1);
  CHECK(metrics.at("stalled") == 300'000);
}

TEST_CASE("A request to a page that is being walked waits for that walk") {
  Iommu iommu(small_config());
  iommu.translate(1_us, page(7), 64_B);
  CHECK(iommu.translate(1100_ns, page(7), 64_B) == 1300_ns);
  auto metrics = test::metrics_of(iommu);
  CHECK(metrics.at("walks") == 1);
  CHECK(metrics.at("misses") == 2);
}

TEST_CASE("Walks beyond those that run at a time wait for a walker") {
  Iommu iommu(small_config());
  CHECK(iommu.translate(1_us, page(1), 64_B) == 1300_ns);
  CHECK(iommu.translate(1_us, page(2), 64_B) == 1300_ns);
  CHECK(iommu.translate(1_us, page(3), 64_B) == 1600_ns);
  CHECK(test::metrics_of(iommu).at("stalled.walkers") == 300'000);
}

TEST_CASE("A request over two pages goes on when both are known") {
  Iommu iommu(small_config());
  iommu.translate(1_us, page(1), 64_B);
  CHECK(iommu.translate(2_us, PhysicalAddress(2 * 4096 - 64), 128_B) == 2300_ns);
  CHECK(iommu.translate(3_us, page(2), 64_B) == 3_us);
}

TEST_CASE("Which translation makes room is a matter of the replacement") {
  const auto second_is_known = [](Replacement replacement) {
    IommuConfig config = small_config();
    config.geometry.replacement = replacement;
    Iommu iommu(config);
    iommu.translate(1_us, page(1), 64_B);
    iommu.translate(2_us, page(2), 64_B);
    iommu.translate(3_us, page(1), 64_B);
    iommu.translate(4_us, page(3), 64_B);
    return iommu.translate(5_us, page(2), 64_B) == 5_us;
  };
  CHECK_FALSE(second_is_known(Replacement::kLru));
  CHECK(second_is_known(Replacement::kFifo));
}

TEST_CASE("Sets part the translations by page") {
  IommuConfig config = small_config();
  config.geometry.ways = 1;
  Iommu iommu(config);
  iommu.translate(1_us, page(1), 64_B);
  iommu.translate(2_us, page(2), 64_B);
  CHECK(iommu.translate(3_us, page(1), 64_B) == 3_us);
  iommu.translate(4_us, page(3), 64_B);
  CHECK(iommu.translate(5_us, page(1), 64_B) == 5300_ns);
}

TEST_CASE("A super-page covers what many small pages would") {
  IommuConfig config = small_config();
  config.page_size = 2_MiB;
  Iommu iommu(config);
  iommu.translate(1_us, page(0), 64_B);
  CHECK(iommu.translate(2_us, page(511), 64_B) == 2_us);
  CHECK(iommu.translate(2_us, page(512), 64_B) == 2300_ns);
}

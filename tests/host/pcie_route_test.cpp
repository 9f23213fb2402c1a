// SPDX-License-Identifier: MIT
// A device's way to host memory and to a GPU, through a switch and the root complex.
#include "host/pcie_route.h"

#include <catch2/catch.hpp>

#include "tests/support/link_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::kLinkByte;
using test::MetricRecorder;
using test::pattern;

namespace {

constexpr BitRate kRootRate = BitRate::gbps(40);

/// A Gen3 x8 device and a root complex that is slower than its link; a GPU and the switch's
/// upstream link are Gen3 x16.
struct Bench : test::LinkBench {
  enum class Place { kSwitch, kAcs, kRootPorts };
  explicit Bench(Place place)
      : sw(config_of(place), 256_B),
        route(place == Place::kRootPorts ? nullptr : &sw, &sw, root,
              {{&gpu, place != Place::kRootPorts}}) {
    link.set_route(&route);
    page = *gpu.allocate_page();
  }
  static PcieSwitchConfig config_of(Place place) {
    PcieSwitchConfig config;
    config.acs_redirect = place == Place::kAcs;
    return config;
  }
  std::vector<std::uint8_t> in_gpu(std::size_t bytes) const {
    std::vector<std::uint8_t> data(bytes);
    gpu.load(page, data.data(), data.size());
    return data;
  }
  /// When a write of 64 B from 1 us on is visible, counted from its last byte's leaving the device.
  Time landing_of_write(std::uint64_t address) {
    const auto data = pattern(64);
    device.start_at(1_us, device.write(address, data));
    run();
    if (address >= page.value()) CHECK(in_gpu(64) == data);
    REQUIRE(landings.records.size() == 1);
    return landings.records[0].time - (1_us + kLinkByte.of(88_B));
  }

  Gpu gpu{GpuConfig{}, 0};
  RootComplex root{{kRootRate, BitRate::gbps(20), 100_ns}};
  PcieSwitch sw;
  PcieRoute route;
  PhysicalAddress page;
};

IommuConfig translating() {
  IommuConfig config;
  config.mode = IommuMode::kTranslate;
  config.walk_latency = 300_ns;
  return config;
}

}  // namespace

TEST_CASE("A write to a GPU under the same switch crosses it once") {
  Bench bench(Bench::Place::kSwitch);
  // Device's link, hop, the GPU's link, its memory; its wires are faster than the device's.
  CHECK(bench.landing_of_write(bench.page.value()) == 125_ns + 120_ns + 100_ns + 100_ns);
}

TEST_CASE("With ACS redirect it goes up to the root complex and comes back") {
  Bench bench(Bench::Place::kAcs);
  // The root complex passes 88 B no faster than its rate between ports allows.
  const Time forwarded = ByteTime(kRootRate).of(88_B);
  const Time late = forwarded - kLinkByte.of(88_B);
  CHECK(bench.landing_of_write(bench.page.value()) ==
        125_ns + 120_ns + 20_ns + 100_ns + late + 20_ns + 120_ns + 100_ns + 100_ns);
}

TEST_CASE("With ACS redirect a write waits in the root complex for the walk of its page") {
  Iommu iommu(translating());
  Bench bench(Bench::Place::kAcs);
  bench.route.set_iommu(&iommu);
  // The bytes are there when the walk ends; the root complex then passes them at its own rate.
  const Time late = 300_ns + ByteTime(kRootRate).of(88_B) - kLinkByte.of(88_B);
  CHECK(bench.landing_of_write(bench.page.value()) ==
        125_ns + 120_ns + 20_ns + 100_ns + late + 20_ns + 120_ns + 100_ns + 100_ns);
}

TEST_CASE("With ACS redirect a write to a page that the IOMMU knows waits for nothing") {
  Iommu iommu(translating());
  Bench bench(Bench::Place::kAcs);
  bench.route.set_iommu(&iommu);
  iommu.translate(Time(), bench.page, 64_B);
  const Time late = ByteTime(kRootRate).of(88_B) - kLinkByte.of(88_B);
  CHECK(bench.landing_of_write(bench.page.value()) ==
        125_ns + 120_ns + 20_ns + 100_ns + late + 20_ns + 120_ns + 100_ns + 100_ns);
  CHECK(test::metrics_of(iommu).at("hits") == 1);
}

TEST_CASE("What stays inside a switch never meets the IOMMU") {
  Iommu iommu(translating());
  Bench bench(Bench::Place::kSwitch);
  bench.route.set_iommu(&iommu);
  CHECK(bench.landing_of_write(bench.page.value()) == 125_ns + 120_ns + 100_ns + 100_ns);
  CHECK(test::metrics_of(iommu).at("misses") == 0);
}

TEST_CASE("A read of GPU memory through the root complex waits for the walk of its page") {
  Iommu iommu(translating());
  Bench bench(Bench::Place::kAcs);
  bench.route.set_iommu(&iommu);
  auto& walked = bench.device.read(bench.page.value(), 64);
  bench.device.start_at(1_us, walked);
  auto& known = bench.device.read(bench.page.value(), 64);
  bench.device.start_at(10_us, known);
  bench.run();
  CHECK(walked.done - 1_us == known.done - 10_us + 300_ns);
}

TEST_CASE("A wire says how long requests waited for it and how many did") {
  PcieWire wire(BitRate::gbps(8));  // a byte a nanosecond
  CHECK(wire.carry({1_us, 1_us, {}}, 100_B).last == 1100_ns);
  CHECK(wire.carry({1050_ns, 1050_ns, {}}, 100_B).first == 1100_ns);
  CHECK(wire.carry({1300_ns, 1300_ns, {}}, 100_B).first == 1300_ns);
  MetricRecorder metrics;
  wire.report(MetricScope(metrics, "wire"), "bytes of the test");
  CHECK(metrics.values.at("wire.busy") == 300'000);
  CHECK(metrics.values.at("wire.stalled.wire") == 50'000);
  CHECK(metrics.values.at("wire.occupancy.max") == 2);
}

TEST_CASE("Between root ports it takes the same way without the switch") {
  Bench bench(Bench::Place::kRootPorts);
  const Time late = ByteTime(kRootRate).of(88_B) - kLinkByte.of(88_B);
  CHECK(bench.landing_of_write(bench.page.value()) == 125_ns + 100_ns + late + 100_ns + 100_ns);
}

TEST_CASE("A write to host memory is later by the hop and the upstream link") {
  Bench bench(Bench::Place::kSwitch);
  CHECK(bench.landing_of_write(0x2000) == 260_ns + 120_ns + 20_ns);
}

TEST_CASE("A store of the CPU is later by the hop and the upstream link") {
  Bench bench(Bench::Place::kSwitch);
  const std::uint8_t value[4] = {1, 2, 3, 4};
  bench.link.mmio().mmio_write(1_us, 0x40, value, sizeof value);
  bench.run();
  REQUIRE(bench.device.mmio.size() == 1);
  CHECK(bench.device.mmio[0].time == 1_us + 25_ns + kLinkByte.of(28_B) + 125_ns + 120_ns + 20_ns);
}

TEST_CASE("A read of GPU memory brings its bytes, at the pace at which its BAR gives them") {
  Bench bench(Bench::Place::kSwitch);
  const auto data = pattern(4096);
  bench.gpu.poke(bench.page, data.data(), data.size());
  auto& read = bench.device.read(bench.page.value(), 4096);
  bench.device.start_at(1_us, read);
  bench.run();
  CHECK(read.data == data);
  // Eight requests of 512 B; the first starts the answer, and the device's own link, which is
  // slower than the BAR, is what it then waits for: 16 completions of 276 B.
  const Time asked = 1_us + kLinkByte.of(24_B) + 125_ns + 120_ns + 100_ns;
  const Time own_link = kLinkByte.of(Bytes(16 * 276));
  const Time least = asked + 500_ns + 100_ns + 120_ns + own_link + 125_ns;
  CHECK(read.done >= least);
  CHECK(read.done < least + 30_ns);
}

TEST_CASE("A write to a GPU and then one to memory become visible in this order") {
  Bench bench(Bench::Place::kAcs);
  bench.device.start_at(1_us, bench.device.write(bench.page.value(), pattern(4096)));
  bench.device.start_at(1_us, bench.device.write(0x4000, pattern(64)));
  bench.run();
  REQUIRE(bench.landings.records.size() == 2);
  CHECK(bench.landings.records[0].b == 4096);
  CHECK(bench.landings.records[0].time <= bench.landings.records[1].time);
}

TEST_CASE("A slow root complex holds the device's writes back, and loses none of its own time") {
  Bench bench(Bench::Place::kAcs);
  constexpr int kWrites = 40;
  for (int i = 0; i < kWrites; ++i)
    bench.device.start_at(
        1_us, bench.device.write(bench.page.value() + 4096 * std::uint64_t(i), pattern(4096)));
  bench.run();
  REQUIRE(bench.landings.records.size() == kWrites);
  const Time busy = ByteTime(kRootRate).of(Bytes(kWrites * 16 * 280));
  const Time took = bench.landings.records.back().time - 1_us;
  CHECK(took > busy);
  CHECK(took < busy + 1_us);
  CHECK(bench.metrics().at("pcie.upstream.bytes") == kWrites * 16 * 280);
}

TEST_CASE("Addresses beyond a GPU's memory are nobody's") {
  Bench bench(Bench::Place::kSwitch);
  CHECK(bench.route.peer(bench.page, 4096_B) == &bench.gpu);
  const std::uint64_t end = bench.page.value() + GpuConfig{}.memory.count();
  CHECK(bench.route.peer(PhysicalAddress(end - 64), 64_B) == &bench.gpu);
  CHECK(bench.route.peer(PhysicalAddress(end - 64), 65_B) == nullptr);
  CHECK(bench.route.peer(PhysicalAddress(0x2000), 64_B) == nullptr);
}

TEST_CASE("Two devices that fill the upstream link get half of it each") {
  PcieSwitch sw({3, 8, 120_ns, 20_ns, false, {}}, 256_B);
  const Bytes request(16 * 280);
  Time ends[2];
  for (int i = 0; i < 10; ++i) {
    for (Time& end : ends) {
      const PcieSpan out = sw.to_root({1_us, 1_us, Time()}, request);
      end = out.last;
      CHECK(out.held == out.last - (1_us + 140_ns));
    }
  }
  CHECK(ends[0] == 1_us + 140_ns + kLinkByte.of(request * 19));
  CHECK(ends[1] == 1_us + 140_ns + kLinkByte.of(request * 20));
}

TEST_CASE("A copy engine works in order, each copy after its launch") {
  Gpu gpu(GpuConfig{}, 0);
  const Time each = ByteTime(BitRate::gbps(96)).of(Bytes(1 << 20));
  CHECK(gpu.copy(1_us, Bytes(1 << 20)).end == 8_us + each);
  CHECK(gpu.copy(2_us, Bytes(1 << 20)).begin == 8_us + each);
  CHECK(gpu.copy(2_us, Bytes(1 << 20)).end ==
        8_us + ByteTime(BitRate::gbps(96)).of(Bytes(3 << 20)));
}

TEST_CASE("A core's loads of a BAR are 27 times as slow as its stores") {
  const Gpu gpu(GpuConfig{}, 0);
  CHECK(gpu.cpu_load(Bytes(670'000)) == 1_ms);
  CHECK(gpu.cpu_store(Bytes(17'900'000)) == 1_ms);
}

TEST_CASE("Pages of a GPU run out, and come back") {
  GpuConfig config;
  config.memory = Bytes(4 << 20);
  Gpu gpu(config, 1);
  const auto first = gpu.allocate_page();
  const auto second = gpu.allocate_page();
  REQUIRE(first);
  REQUIRE(second);
  CHECK(second->value() - first->value() == Gpu::kPageBytes.count());
  CHECK_FALSE(gpu.allocate_page());
  gpu.release_page(*first);
  CHECK(gpu.allocate_page() == first);
}

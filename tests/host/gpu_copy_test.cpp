// SPDX-License-Identifier: MIT
// Copies between a GPU and host memory. A byte takes an eighth of a nanosecond of the memory's
// bandwidth; the core runs at 1 GHz.
#include "host/gpu_copy.h"

#include <catch2/catch.hpp>

#include "tests/support/metric_recorder.h"
#include "tests/support/software_host.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

constexpr Time kPage = 512_ns;  ///< of the memory's bandwidth

GpuConfig gpu_config() {
  GpuConfig config;
  config.copy_launch = 1_us;
  config.copy_rate = BitRate::gbps(32);  // a page in 1024 ns
  config.cpu_load_rate = BitRate::gbps(8);
  config.cpu_store_rate = BitRate::gbps(16);
  return config;
}

struct Bench {
  explicit Bench(bool shared = true) : memory(config_of(shared)) {
    buffer = *pages.map(16_KiB, PageSize::k4KiB);
  }
  static MemoryConfig config_of(bool shared) {
    MemoryConfig config = test::memory_of(1_GiB);
    config.bandwidth = BitRate::gbps(64);
    config.shared_with_copies = shared;
    return config;
  }
  /// When a copy of so many bytes that begins at 0 has ended.
  Time copy(void (*by)(CpuTask&, const GpuCopy&), Bytes bytes, CopyDirection direction) {
    Time end;
    CHECK(host.run([&](CpuTask& task) {
      by(task, {gpu, pages, buffer, bytes, direction});
      end = task.now();
    }));
    return end;
  }

  test::SoftwareHost host;
  Memory memory;
  FrameAllocator frames{1_GiB, 1};
  PageTable pages{memory, frames};
  Gpu gpu{gpu_config(), 0};
  VirtualAddress buffer;
};

}  // namespace

TEST_CASE("Copies take nothing of the memory's bandwidth unless they share it") {
  Bench bench(false);
  CHECK(bench.copy(copy_by_engine, 8_KiB, CopyDirection::kOutOfGpu) == 1_us + 2048_ns);
  CHECK(test::metrics_of(bench.memory).at("busy") == 0);
}

TEST_CASE("A copy alone is as fast as its engine, and memory counts it") {
  Bench bench;
  CHECK(bench.copy(copy_by_engine, 8_KiB, CopyDirection::kOutOfGpu) == 1_us + 2048_ns);
  auto metrics = test::metrics_of(bench.memory);
  CHECK(metrics.at("copied_to") == 8192);
  CHECK(metrics.at("copied_from") == 0);
  CHECK(metrics.at("written.payload") == 0);
  CHECK(metrics.at("busy") == 2 * 512'000);
  CHECK(test::metrics_of(bench.gpu).at("copying") == 2'048'000);
}

TEST_CASE("A copy waits for the bandwidth that DMA has taken, and the next copy for it") {
  Bench bench;
  // Until 8 us the memory serves DMA; then it has the first page 512 ns later.
  bench.memory.time_read(Time(), PhysicalAddress(0), Bytes(64'000), DmaPurpose::kPayload);
  CHECK(bench.copy(copy_by_engine, 8_KiB, CopyDirection::kIntoGpu) == 8_us + kPage + 1024_ns);
  CHECK(test::metrics_of(bench.memory).at("copied_from") == 8192);
  CHECK(bench.gpu.copy(Time(), 4_KiB).begin == 8_us + kPage + 1024_ns);
}

TEST_CASE("A core that copies works until the memory is through") {
  Bench bench;
  bench.memory.time_read(Time(), PhysicalAddress(0), Bytes(64'000), DmaPurpose::kPayload);
  // The first page waits for the memory, the second takes the core's own time.
  CHECK(bench.copy(copy_by_core, 8_KiB, CopyDirection::kOutOfGpu) == 8_us + kPage + 4096_ns);
  CHECK(bench.host.usage.time(CpuPlane::kData, CpuCategory::kCopying) == 8_us + kPage + 4096_ns);
}

TEST_CASE("A core's copy out of a GPU alone takes the time of its loads") {
  Bench bench;
  CHECK(bench.copy(copy_by_core, 8_KiB, CopyDirection::kOutOfGpu) == 8192_ns);
}

TEST_CASE("A core's copy into a GPU alone takes the time of its stores") {
  Bench bench;
  CHECK(bench.copy(copy_by_core, 8_KiB, CopyDirection::kIntoGpu) == 4096_ns);
}

TEST_CASE("A buffer in the middle of a page is asked for page by page") {
  Bench bench;
  bench.buffer = VirtualAddress(bench.buffer.value() + 4032);
  CHECK(bench.copy(copy_by_engine, 128_B, CopyDirection::kIntoGpu) == 1_us + 32_ns);
  CHECK(test::metrics_of(bench.memory).at("copied_from") == 128);
}

TEST_CASE("Copies cross the memory bus though they take none of its bandwidth") {
  Bench bench(false);
  bench.copy(copy_by_engine, 8_KiB, CopyDirection::kOutOfGpu);
  bench.copy(copy_by_core, 4_KiB, CopyDirection::kIntoGpu);
  CHECK(bench.memory.bus().crossed(BusUse::kCopyWrite) == 8_KiB);
  CHECK(bench.memory.bus().crossed(BusUse::kCopyRead) == 4_KiB);
}

TEST_CASE("Copies that share the bandwidth cross the memory bus once") {
  Bench bench;
  bench.copy(copy_by_engine, 8_KiB, CopyDirection::kOutOfGpu);
  bench.copy(copy_by_core, 4_KiB, CopyDirection::kIntoGpu);
  CHECK(bench.memory.bus().crossed(BusUse::kCopyWrite) == 8_KiB);
  CHECK(bench.memory.bus().crossed(BusUse::kCopyRead) == 4_KiB);
}

TEST_CASE("Copies of programs follow each other on the engine when memory delays the first") {
  Bench bench;
  CpuCore others[] = {{bench.host.scheduler, test::one_gigahertz(), bench.host.usage},
                      {bench.host.scheduler, test::one_gigahertz(), bench.host.usage}};
  bench.memory.time_read(Time(), PhysicalAddress(0), Bytes(64'000), DmaPurpose::kPayload);
  Time ended[2];
  for (int i = 0; i < 2; ++i)
    bench.host.start_on(others[i], [&, i](CpuTask& task) {
      task.sleep_until(100_ns * (i + 1));
      copy_by_engine(task, {bench.gpu, bench.pages, bench.buffer, 4_KiB, CopyDirection::kIntoGpu});
      ended[i] = task.now();
    });
  const Time first = bench.copy(copy_by_engine, 8_KiB, CopyDirection::kIntoGpu);
  CHECK(first == 8_us + kPage + 1024_ns);
  CHECK(ended[0] == first + 1024_ns);
  CHECK(ended[1] == first + 2048_ns);
  CHECK(test::metrics_of(bench.gpu).at("copying") ==
        static_cast<std::uint64_t>((first - 1_us + 2048_ns).ps()));
}

TEST_CASE("A delay moves the copies behind as far as they would begin too early") {
  Gpu gpu(gpu_config(), 0);
  const Gpu::Copy first = gpu.copy(Time(), 4_KiB);
  CHECK(first.end == 2024_ns);
  const Gpu::Copy second = gpu.copy(1500_ns, 4_KiB);
  const Gpu::Copy third = gpu.copy(1600_ns, 4_KiB);
  CHECK(second.begin == 2500_ns);
  gpu.delay_copy(first.number, 200_ns);
  CHECK(gpu.planned(first.number).end == 2224_ns);
  CHECK(gpu.planned(second.number).begin == 2500_ns);
  gpu.delay_copy(first.number, 1_us);
  CHECK(gpu.planned(second.number).begin == 3224_ns);
  CHECK(gpu.planned(third.number).begin == 4248_ns);
  CHECK(gpu.planned(third.number).end == 5272_ns);
  CHECK(gpu.copy(3_us, 4_KiB).begin == 5272_ns);
}

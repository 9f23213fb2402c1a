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

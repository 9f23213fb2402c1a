// SPDX-License-Identifier: MIT
// Stores and loads of the CPU over the link.
#include "host/pcie_link.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "host/frame_allocator.h"
#include "host/memory.h"
#include "host/wqe_builder.h"
#include "tests/support/link_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using Bench = test::LinkBench;
using test::FakeDevice;
using test::kLinkByte;

namespace {

/// The published accounting of headers.
PcieConfig atc16() {
  PcieConfig config;
  config.accounting = PcieAccounting::kAtc16;
  return config;
}

}  // namespace

TEST_CASE("A store reaches the device's register 150 ns after it left the CPU") {
  Bench bench;
  const std::uint8_t doorbell[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  bench.link.mmio().mmio_write(1_us, 0x1800, doorbell, 8);
  bench.link.mmio().mmio_write(1_us, 0x1808, doorbell, 4);
  bench.run();
  REQUIRE(bench.device.mmio.size() == 2);
  CHECK(bench.device.mmio[0].offset == 0x1800);
  CHECK(bench.device.mmio[0].data == std::vector<std::uint8_t>(doorbell, doorbell + 8));
  CHECK(bench.device.mmio[0].time.ps() == (1_us + 25_ns + kLinkByte.of(32_B) + 125_ns).ps());
  CHECK(bench.device.mmio[1].time.ps() ==
        (1_us + 25_ns + kLinkByte.of(Bytes(32 + 28)) + 125_ns).ps());
}

TEST_CASE("A load stays behind the store before it and brings the register's value") {
  Bench bench;
  struct Loaded {
    Bench& bench;
    Time at;
    void note() { at = bench.scheduler.now(); }
  };
  Loaded loaded{bench, {}};
  std::uint8_t into[4] = {};
  const std::uint8_t store[8] = {};
  bench.link.mmio().mmio_write(1_us, 0, store, 8);
  bench.link.mmio().mmio_read(1_us, 8, into, 4, call<&Loaded::note>(&loaded));
  bench.run();
  REQUIRE(bench.device.mmio.size() == 2);
  CHECK(bench.device.mmio[0].offset == 0);
  const Time at_device = 1_us + 25_ns + kLinkByte.of(Bytes(32 + 24)) + 125_ns;
  CHECK(bench.device.mmio[1].time.ps() == at_device.ps());
  CHECK(into[3] == 0x5a);
  CHECK(loaded.at.ps() == (at_device + kLinkByte.of(24_B) + 125_ns + 25_ns).ps());
}

TEST_CASE("Stores wait while the device has not ended the request before") {
  Bench bench;
  bench.device.request_answer = FakeDevice::Answer::kAccept;
  const std::uint8_t store[8] = {};
  for (unsigned i = 0; i < 3; ++i) bench.link.mmio().mmio_write(1_us, i * 8, store, 8);
  bench.run();
  REQUIRE(bench.device.mmio.size() == 3);
  CHECK(bench.device.mmio[1].time - bench.device.mmio[0].time == 100_ns);
  CHECK(bench.device.mmio[2].time - bench.device.mmio[1].time == 100_ns);
  Time waited;
  for (std::uint64_t i = 0; i < 3; ++i)
    waited +=
        bench.device.mmio[i].time - (1_us + 25_ns + kLinkByte.of(Bytes(32 * (i + 1))) + 125_ns);
  CHECK(waited > 280_ns);
  const auto metrics = bench.metrics();
  CHECK(metrics.at("pcie.mmio.stalled.device") == static_cast<std::uint64_t>(waited.ps()));
  CHECK(metrics.at("pcie.mmio.busy") == static_cast<std::uint64_t>(kLinkByte.of(96_B).ps()));
  CHECK(metrics.at("pcie.mmio.occupancy.max") == 3);
}

TEST_CASE("A device that responds at once on the forward path is taken at its word") {
  Bench bench;
  bench.device.request_answer = FakeDevice::Answer::kUpdate;
  const std::uint8_t store[8] = {};
  for (unsigned i = 0; i < 3; ++i) bench.link.mmio().mmio_write(1_us, i * 8, store, 8);
  bench.run();
  CHECK(bench.device.mmio.size() == 3);
}

TEST_CASE("A doorbell of 8 B and the fetch of ten WQEs of 65 B are 1534 B on the link to the NIC") {
  Bench bench(atc16());
  constexpr std::uint64_t kRing = 0x10000;
  constexpr std::uint64_t kRingBytes = 10 * 128;  // 65 B are two basic blocks of 64 B
  const std::uint8_t doorbell[8] = {};
  bench.link.mmio().mmio_write(1_us, 0x1800, doorbell, 8);
  for (std::uint64_t offset = 0; offset < kRingBytes; offset += 512) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(512, kRingBytes - offset));
    bench.device.start_at(
        2_us, bench.device.request(false, kRing + offset, std::vector<std::uint8_t>(bytes),
                                   DmaEngineId::kQueueRead, DmaPurpose::kSendQueue));
  }
  bench.run();
  const auto metrics = bench.metrics();
  CHECK(metrics.at("pcie.read.send_queue") == kRingBytes);
  CHECK(metrics.at("pcie.downstream.tlps_posted") == 1);
  CHECK(metrics.at("pcie.downstream.tlps_completion") == 10);
  CHECK(metrics.at("pcie.downstream.tlps_nonposted") == 0);
  CHECK(metrics.at("pcie.downstream.bytes") == 1534);
  CHECK(metrics.at("pcie.upstream.bytes") == 3 * 26);
}

TEST_CASE("Ten WQEs of 65 B written by MMIO are 1800 B on the link to the NIC") {
  Bench bench(atc16());
  const std::uint8_t block[64] = {};
  for (unsigned i = 0; i < 20; ++i) bench.link.mmio().mmio_write(1_us, 0x1800, block, 64);
  bench.run();
  const auto metrics = bench.metrics();
  CHECK(metrics.at("pcie.downstream.tlps_posted") == 20);
  CHECK(metrics.at("pcie.downstream.bytes") == 1800);
  CHECK(metrics.at("pcie.upstream.bytes") == 0);
}

TEST_CASE("A WQE of 129 B is three write-combined lines on the link, one of 128 B two") {
  Memory memory{MemoryConfig{}};
  FrameAllocator frames{Bytes(1 << 20), 1};
  PageTable pages(memory, frames);
  const ScatterGather piece{*pages.map(Bytes(4096), PageSize::k4KiB), 109, {}};
  Bench bench(atc16());
  std::uint64_t all = 0;
  for (const std::uint32_t payload : {108U, 109U}) {
    ScatterGather inlined = piece;
    inlined.length = payload;  // behind 20 B: a control segment and the length
    SendRequest request;
    request.opcode = abi::WqeOpcode::kSend;
    request.list = &inlined;
    request.list_length = 1;
    request.inline_data = true;
    BuiltWqe wqe;
    REQUIRE(build_wqe(wqe, {Qpn(1), Transport::kRc, 220, 0}, request, pages) == Errno::kOk);
    for (std::uint32_t line = 0; line < wqe.blocks(); ++line)
      bench.link.mmio().mmio_write(1_us, 0x1800 + line * 64, wqe.bytes + line * 64, 64);
    bench.run();
    const std::uint64_t lines = payload == 108 ? 2 : 3;
    all += lines;
    const auto metrics = bench.metrics();
    CHECK(metrics.at("pcie.downstream.tlps_posted") == all);
    CHECK(metrics.at("pcie.downstream.bytes") == all * 90);
    REQUIRE(bench.device.mmio.size() == lines);
    for (std::uint64_t line = 0; line < lines; ++line) {
      CHECK(bench.device.mmio[line].offset == 0x1800 + line * 64);
      CHECK(std::equal(bench.device.mmio[line].data.begin(), bench.device.mmio[line].data.end(),
                       wqe.bytes + line * 64));
    }
    bench.device.mmio.clear();
  }
}

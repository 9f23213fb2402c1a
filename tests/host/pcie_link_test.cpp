// SPDX-License-Identifier: MIT
// Reads and writes together: order, splitting, what is refused, foreign initiators, rates.
#include "host/pcie_link.h"

#include <catch2/catch.hpp>

#include "tests/support/link_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using Bench = test::LinkBench;
using test::FakeDevice;
using test::pattern;

TEST_CASE("A read sees the write that the device sent before it") {
  MemoryConfig memory;
  memory.write_latency = 2_us;  // much slower than the read's way
  Bench bench({}, memory);
  const auto data = pattern(256);
  bench.device.start_at(1_us, bench.device.write(0x4000, data));
  auto& read = bench.device.read(0x4000, 256);
  bench.device.start_at(1_us, read);
  bench.run();
  CHECK(read.data == data);
}

TEST_CASE("Requests at odd addresses across a 4 KiB boundary are split and arrive whole") {
  Bench bench;
  const auto data = pattern(4096, 2);
  bench.device.start_at(1_us, bench.device.write(0x1f03, data));
  auto& read = bench.device.read(0x1f03, 4096);
  bench.device.start_at(3_us, read);
  bench.run();
  CHECK(read.data == data);
  CHECK(bench.landings.records.size() == 1);
  const auto metrics = bench.metrics();
  CHECK(metrics.at("pcie.upstream.tlps_posted") == 1 + 16);
  CHECK(metrics.at("pcie.upstream.tlps_nonposted") == 1 + 8);
  CHECK(metrics.at("pcie.upstream.bytes") == 4096 + 17 * 24 + 9 * 24);
}

TEST_CASE("Addresses outside memory: a read is answered with an error, a write is counted") {
  MemoryConfig memory;
  memory.size = 8_MiB;
  Bench bench({}, memory);
  auto& read = bench.device.read((8 << 20) - 32, 64);
  auto& write = bench.device.write(std::uint64_t{1} << 50, pattern(64));
  bench.device.start_at(1_us, read);
  bench.device.start_at(1_us, write);
  bench.run();
  CHECK(read.get_response_status() == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(read.data == std::vector<std::uint8_t>(64, 0xee));
  CHECK(write.is_response_ok());  // posted: nobody can tell the device
  CHECK(bench.metrics().at("pcie.unsupported_reads") == 1);
  CHECK(bench.metrics().at("pcie.unsupported_writes") == 1);
  CHECK(bench.landings.records.empty());
}

TEST_CASE("Requests that are no DMA requests are refused at once") {
  Bench bench;
  auto& empty = bench.device.read(0, 64);
  empty.set_data_length(0);
  auto& enabled = bench.device.write(0, pattern(64));
  enabled.set_byte_enable_ptr(enabled.data.data());
  auto& large = bench.device.read(0, 4097);
  for (auto* dma : {&empty, &enabled, &large}) bench.device.start_at(1_us, *dma);
  bench.run();
  CHECK(empty.get_response_status() == tlm::TLM_BURST_ERROR_RESPONSE);
  CHECK(enabled.get_response_status() == tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  CHECK(large.get_response_status() == tlm::TLM_BURST_ERROR_RESPONSE);
}

TEST_CASE("Elided transfers take the same time, move no bytes and touch no frame") {
  Bench bench;
  std::vector<FakeDevice::Dma*> carried;
  std::vector<FakeDevice::Dma*> elided;
  for (const bool elide : {false, true}) {
    const Time base = elide ? 500_us : 100_us;
    for (unsigned i = 0; i < 20; ++i) {
      const std::uint64_t address = (elide ? 1 << 24 : 0) + i * 4096;
      auto& write = bench.device.request(true, address, pattern(4096), DmaEngineId::kPosted,
                                         DmaPurpose::kPayload, elide);
      auto& read = bench.device.request(false, address, std::vector<std::uint8_t>(1024),
                                        DmaEngineId::kPayloadRead, DmaPurpose::kPayload, elide);
      bench.device.start_at(base + 300_ns * i, write);
      bench.device.start_at(base + 50_ns + 200_ns * i, read);
      (elide ? elided : carried).insert((elide ? elided : carried).end(), {&write, &read});
    }
  }
  bench.run();
  for (std::size_t i = 0; i < carried.size(); ++i)
    CHECK((elided[i]->done - carried[i]->done).ps() == (400_us).ps());
  CHECK(bench.metrics().at("memory.frames") == 20);
}

TEST_CASE("A foreign initiator that knows no extension reads and writes as well") {
  Bench bench;
  const auto data = pattern(512);
  auto& write = bench.device.write(0x3000, data);
  auto& read = bench.device.read(0x3000, 512);
  write.clear_extension(write.get_extension<DmaExtension>());
  read.clear_extension(read.get_extension<DmaExtension>());
  bench.device.start_at(1_us, write);
  bench.device.start_at(2_us, read);
  bench.run();
  CHECK(read.data == data);
}

TEST_CASE("Debug access moves bytes without time") {
  Bench bench;
  auto& write = bench.device.write(0x3000, pattern(100));
  CHECK(bench.device.dma->transport_dbg(write) == 100);
  auto& read = bench.device.read(0x3000, 100);
  CHECK(bench.device.dma->transport_dbg(read) == 100);
  CHECK(read.data == write.data);
}

TEST_CASE("Back-to-back 4 KiB reads and writes reach the published ceilings") {
  Bench bench;
  constexpr unsigned kCount = 400;
  for (unsigned i = 0; i < kCount; ++i) {
    for (const bool write : {true, false}) {
      auto& dma = bench.device.request(write, i * 4096, std::vector<std::uint8_t>(4096),
                                       write ? DmaEngineId::kPosted : DmaEngineId::kPayloadRead,
                                       DmaPurpose::kPayload, true);
      bench.device.start_at(write ? 1_us : 500_us, dma);
    }
  }
  bench.run();
  Time last_write;
  Time last_read;
  for (const auto* dma : bench.device.finished)
    (dma->is_write() ? last_write : last_read) = dma->done;
  const double bits = kCount * 4096.0 * 8;
  CHECK(bits / (last_write - 1_us).as_ns() == Approx(52.92).epsilon(0.001));
  // Less the way there and back before the first byte.
  CHECK(bits / (last_read - 500_us - 510_ns).as_ns() == Approx(53.69).epsilon(0.001));
}

TEST_CASE("At most two callbacks of the scheduler for a read and two for a write") {
  Bench bench;
  constexpr unsigned kCount = 100;
  for (unsigned i = 0; i < kCount; ++i)
    bench.device.start_at(1_us * (1 + i), bench.device.read(i * 4096, 4096));
  bench.scheduler.run_until(200_us);
  const std::uint64_t reads = bench.scheduler.callbacks();
  CHECK(reads <= 3 * kCount);  // one of them is the device's own start
  for (unsigned i = 0; i < kCount; ++i)
    bench.device.start_at(200_us + 1_us * (1 + i), bench.device.write(i * 4096, pattern(4096)));
  bench.run();
  CHECK(bench.scheduler.callbacks() - reads <= 3 * kCount);
}

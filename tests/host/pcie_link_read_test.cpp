// SPDX-License-Identifier: MIT
// DMA reads of a device.
#include "host/pcie_link.h"

#include <catch2/catch.hpp>

#include "tests/support/link_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using Bench = test::LinkBench;
using test::FakeDevice;
using test::kLinkByte;
using test::pattern;

TEST_CASE("A 64 B read takes the published 520 ns") {
  Bench bench;
  const auto data = pattern(64);
  bench.memory.store(PhysicalAddress(0x1000), data.data(), 64);
  auto& read = bench.device.read(0x1000, 64);
  bench.device.start_at(1_us, read);
  bench.run();
  CHECK(read.is_response_ok());
  CHECK(read.data == data);
  // Up, root complex, memory, root complex; the completion runs without a gap.
  const Time memory_at = 1_us + kLinkByte.of(24_B) + 125_ns + 25_ns;
  const Time line = ByteTime(BitRate::gbps(480)).of(64_B);
  const Time data_at = memory_at + 205_ns + (line > kLinkByte.of(84_B) ? line : Time()) + 25_ns;
  CHECK(read.done.ps() == (data_at + kLinkByte.of(84_B) + 125_ns).ps());
  CHECK((read.done - 1_us).as_ns() == Approx(520).margin(1));
  CHECK(read.get_extension<DmaExtension>()->last_byte == read.done);
  CHECK(read.get_extension<DmaExtension>()->first_byte.ps() ==
        (data_at + kLinkByte.of(20_B) + 125_ns).ps());
}

TEST_CASE("Responses wait while the device has not ended the one before") {
  Bench bench;
  bench.device.response_answer = FakeDevice::Answer::kAccept;
  for (unsigned i = 0; i < 4; ++i) bench.device.start_at(1_us, bench.device.read(i * 64, 64));
  bench.run();
  REQUIRE(bench.device.finished.size() == 4);
  CHECK(bench.device.finished[1]->done - bench.device.finished[0]->done == 50_ns);
  CHECK(bench.device.finished[3]->done - bench.device.finished[2]->done == 50_ns);
}

TEST_CASE("A device may end the response in its answer") {
  Bench bench;
  bench.device.response_answer = FakeDevice::Answer::kUpdate;
  for (unsigned i = 0; i < 4; ++i) bench.device.start_at(1_us, bench.device.read(i * 64, 64));
  bench.run();
  CHECK(bench.device.finished.size() == 4);
}

// SPDX-License-Identifier: MIT
// What the guard at the root complex lets through.
#include <catch2/catch.hpp>

#include "host/pcie_link.h"
#include "model/invariant.h"
#include "tests/support/link_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using Bench = test::LinkBench;
using test::kLinkByte;

namespace {

const Time kWriteEntered = 1_us + kLinkByte.of(64_B + 24_B) + 125_ns;
const Time kReadEntered = 1_us + kLinkByte.of(24_B) + 125_ns;

/// A link whose guard has one region of one page, and what came of one request at 1 us.
struct GuardedBench {
  DmaGuard guard{"host.B.nic0.pcie"};
  Bench bench{{}, {}, &guard};
  PhysicalAddress frame{0x3000};
  DmaGuard::Frames frames{&frame, 1, 12};
  std::string broken;
  Time broken_at;

  void add() { guard.add(1, AccessFlags(AccessFlags::kRemoteWrite), frames, 0, 4096); }
  void remove() { guard.remove(1, frames); }
  void lend() { guard.lend(frame, Bytes(2048), true); }
  void take_back() { guard.take_back(frame, Bytes(2048), true); }
  test::FakeDevice::Dma& request(bool write, std::uint64_t address,
                                 DmaPurpose purpose = DmaPurpose::kPayload) {
    auto& dma =
        bench.device.request(write, address, test::pattern(64),
                             write ? DmaEngineId::kPosted : DmaEngineId::kPayloadRead, purpose);
    bench.device.start_at(1_us, dma);
    return dma;
  }
  void run() {
    try {
      bench.run();
    } catch (const InvariantBroken& error) {
      broken = error.kind();
      broken_at = error.when();
    }
  }
};

}  // namespace

TEST_CASE("Payload that the guard permits lands and is read as without one") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(true, 0x3fc0);
  guarded.request(false, 0x3000);
  guarded.run();
  CHECK(guarded.broken.empty());
  CHECK(guarded.bench.landings.records.size() == 1);
}

TEST_CASE("A stray write ends the run as of its entry to the root complex, before it lands") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(true, 0x4000);
  guarded.run();
  CHECK(guarded.broken == "stray_write");
  CHECK(guarded.broken_at == kWriteEntered);
  CHECK(guarded.bench.landings.records.empty());
  std::uint8_t byte = 0xff;
  guarded.bench.memory.load(PhysicalAddress(0x4000), &byte, 1);
  CHECK(byte == 0);
}

TEST_CASE("A stray read ends the run at its entry to the root complex") {
  GuardedBench guarded;
  guarded.add();
  auto& read = guarded.request(false, 0x2fc0);
  guarded.run();
  CHECK(guarded.broken == "stray_read");
  CHECK(guarded.broken_at == kReadEntered);
  CHECK_FALSE(read.finished);
}

TEST_CASE("A region that goes still counts for a write that has entered and not landed") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(true, 0x3000);
  guarded.bench.scheduler.at(kWriteEntered, call<&GuardedBench::remove>(&guarded));
  guarded.run();
  CHECK(guarded.broken.empty());
  CHECK(guarded.bench.landings.records.size() == 1);
}

TEST_CASE("A region that goes a picosecond before a write enters makes it a stray write") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(true, 0x3000);
  guarded.bench.scheduler.at(kWriteEntered - Time::ps(1), call<&GuardedBench::remove>(&guarded));
  guarded.run();
  CHECK(guarded.broken == "stray_write");
  CHECK(guarded.broken_at == kWriteEntered);
}

TEST_CASE("A region that comes does not count for a write that has entered and not landed") {
  GuardedBench guarded;
  guarded.request(true, 0x3000);
  guarded.bench.scheduler.at(kWriteEntered, call<&GuardedBench::add>(&guarded));
  guarded.run();
  CHECK(guarded.broken == "stray_write");
  CHECK(guarded.broken_at == kWriteEntered);
}

TEST_CASE("A region that comes a picosecond before a write enters counts for it") {
  GuardedBench guarded;
  guarded.request(true, 0x3000);
  guarded.bench.scheduler.at(kWriteEntered - Time::ps(1), call<&GuardedBench::add>(&guarded));
  guarded.run();
  CHECK(guarded.broken.empty());
}

TEST_CASE("A read of another engine settles earlier writes only once the guard has been asked") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(true, 0x4000);
  guarded.bench.device.start_at(
      1_us, guarded.bench.device.request(false, 0x9000, std::vector<std::uint8_t>(64),
                                         DmaEngineId::kQueueRead, DmaPurpose::kSendQueue));
  guarded.run();
  CHECK(guarded.broken == "stray_write");
  CHECK(guarded.broken_at == kWriteEntered);
}

TEST_CASE("A region that goes before a read enters makes it a stray read") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(false, 0x3000);
  guarded.bench.scheduler.at(kReadEntered - Time::ps(1), call<&GuardedBench::remove>(&guarded));
  guarded.run();
  CHECK(guarded.broken == "stray_read");
  CHECK(guarded.broken_at == kReadEntered);
}

TEST_CASE("A region that goes after a read entered still counts for it") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(false, 0x3000);
  guarded.bench.scheduler.at(kReadEntered + Time::ps(1), call<&GuardedBench::remove>(&guarded));
  guarded.run();
  CHECK(guarded.broken.empty());
}

TEST_CASE("A frame lands in a buffer that is taken back when it has entered the root complex") {
  GuardedBench guarded;
  guarded.lend();
  guarded.request(true, 0x3000, DmaPurpose::kFrame);
  guarded.bench.scheduler.at(kWriteEntered, call<&GuardedBench::take_back>(&guarded));
  guarded.run();
  CHECK(guarded.broken.empty());
  std::vector<std::uint8_t> landed(64);
  guarded.bench.memory.load(PhysicalAddress(0x3000), landed.data(), landed.size());
  CHECK(landed == test::pattern(64));
}

TEST_CASE("A frame that comes when its buffer has been taken back is a stray write") {
  GuardedBench guarded;
  guarded.lend();
  guarded.request(true, 0x3000, DmaPurpose::kFrame);
  guarded.bench.scheduler.at(kWriteEntered - Time::ps(1), call<&GuardedBench::take_back>(&guarded));
  guarded.run();
  CHECK(guarded.broken == "stray_write");
  CHECK(guarded.broken_at == kWriteEntered);
}

TEST_CASE("The guard is not asked for queues and tables, nor for what says no purpose") {
  GuardedBench guarded;
  for (const DmaPurpose purpose : {DmaPurpose::kCompletionQueue, DmaPurpose::kQpContext})
    guarded.request(true, 0x9000, purpose);
  guarded.request(false, 0x9000, DmaPurpose::kTranslationTable);
  auto& foreign = guarded.request(true, 0x9000);
  foreign.clear_extension(foreign.get_extension<DmaExtension>());
  guarded.run();
  CHECK(guarded.broken.empty());
}

TEST_CASE("A blocking access is asked for as well") {
  GuardedBench guarded;
  guarded.add();
  sc_core::sc_time delay;
  auto& inside = guarded.bench.device.write(0x3000, test::pattern(64));
  guarded.bench.device.dma->b_transport(inside, delay);
  CHECK(inside.is_response_ok());
  auto& outside = guarded.bench.device.write(0x4000, test::pattern(64));
  CHECK_THROWS_AS(guarded.bench.device.dma->b_transport(outside, delay), InvariantBroken);
  auto& read = guarded.bench.device.read(0x4000, 64);
  CHECK_THROWS_AS(guarded.bench.device.dma->b_transport(read, delay), InvariantBroken);
}

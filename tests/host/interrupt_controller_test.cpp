// SPDX-License-Identifier: MIT
#include "host/interrupt_controller.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/support/link_bench.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/software_host.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

/// A handler that notes when it ran.
struct Handler {
  explicit Handler(Scheduler& s) : scheduler(s) {}
  Scheduler& scheduler;
  std::vector<Time> ran;
  void run() { ran.push_back(scheduler.now()); }
};

/// One message at a time of the test's choice.
struct Device {
  InterruptController& interrupts;
  InterruptController::Message message;
  void send() { interrupts.raise(message); }
};

struct Bench {
  Scheduler scheduler{"scheduler"};
  CpuUsage usage;
  CpuCore core{scheduler, test::one_gigahertz(), usage};
  InterruptController interrupts{scheduler, {}};
  Handler handler{scheduler};
  Device device{interrupts, interrupts.allocate(core, call<&Handler::run>(&handler))};
  void send_at(Time time) { scheduler.at(time, call<&Device::send>(&device)); }
  std::map<std::string, std::uint64_t> metrics() {
    test::MetricRecorder recorder;
    interrupts.report(MetricScope(recorder, "interrupts"));
    return recorder.values;
  }
};

}  // namespace

TEST_CASE("A handler runs after the message's latency and the core's way into it") {
  Bench b;
  b.send_at(1_us);
  b.scheduler.run_until(1_ms);
  // 300 ns, then 1,400 cycles of 1 ns.
  REQUIRE(b.handler.ran == std::vector<Time>{2700_ns});
  REQUIRE(b.usage.time(CpuPlane::kData, CpuCategory::kInterrupt) == 1400_ns);
}

TEST_CASE("Messages that come before the core has taken the first are merged with it") {
  Bench b;
  b.send_at(1_us);
  b.send_at(1_us);
  b.send_at(1_us + 299_ns);
  b.send_at(1_us + 301_ns);  // on its own again, behind the first on the core
  b.scheduler.run_until(1_ms);
  REQUIRE(b.handler.ran == std::vector<Time>{2700_ns, 4100_ns});
  REQUIRE(b.metrics().at("interrupts.messages") == 4);
  REQUIRE(b.metrics().at("interrupts.merged") == 2);
  REQUIRE(b.metrics().at("interrupts.handled") == 2);
}

TEST_CASE("A busy core takes an interrupt when its stretch of work has ended") {
  Bench b;
  b.core.occupy(Time(), CpuPlane::kData, CpuCategory::kApplication, 5000_cycles);
  b.send_at(1_us);
  b.scheduler.run_until(1_ms);
  REQUIRE(b.handler.ran == std::vector<Time>{6400_ns});
}

TEST_CASE("Messages of no vector are counted and run nothing") {
  Bench b;
  const auto good = b.device.message;
  for (const auto& message : {InterruptController::Message{good.address, good.data + 1},
                              InterruptController::Message{good.address, 31},
                              InterruptController::Message{PhysicalAddress(0xfee01000), good.data}})
    b.interrupts.raise(message);
  b.scheduler.run_until(1_ms);
  REQUIRE(b.handler.ran.empty());
  REQUIRE(b.metrics().at("interrupts.spurious") == 3);
}

TEST_CASE("A message on the link takes effect at its arrival, behind the writes sent before it") {
  test::LinkBench link;
  CpuUsage usage;
  CpuCore core(link.scheduler, test::one_gigahertz(), usage);
  InterruptConfig config;
  config.latency = Time();
  config.entry = Cycles(0);
  InterruptController interrupts(link.scheduler, config);
  link.link.set_interrupts(&interrupts);
  Handler handler(link.scheduler);
  const auto message = interrupts.allocate(core, call<&Handler::run>(&handler));
  const std::vector<std::uint8_t> data = {0, 0, 0, static_cast<std::uint8_t>(message.data)};
  const auto send_at = [&](Time time, DmaPurpose purpose, std::uint64_t address) {
    link.device.start_at(time,
                         link.device.request(true, address, data, DmaEngineId::kPosted, purpose));
  };
  const std::uint64_t address = message.address.value();

  send_at(1_us, DmaPurpose::kInterrupt, address);
  // Alone: its bytes on the link, latency up, root complex.
  const Time sent = test::kLinkByte.of(Bytes(4 + 24));
  link.device.start_at(2_us, link.device.write(0x4000, std::vector<std::uint8_t>(64)));
  send_at(2_us, DmaPurpose::kInterrupt, address);
  // Neither of these is a message: wrong purpose, wrong address.
  send_at(3_us, DmaPurpose::kPayload, address);
  send_at(3_us, DmaPurpose::kInterrupt, 0x5000);
  link.run();
  REQUIRE(handler.ran.size() == 2);
  REQUIRE(handler.ran[0].ps() == (1_us + sent + 150_ns).ps());
  REQUIRE(link.landings.records.at(0).b == 64);
  REQUIRE(handler.ran[1].ps() == link.landings.records.at(0).time.ps());
  std::vector<std::uint8_t> back(4);
  link.memory.load(PhysicalAddress(address), back.data(), 4);
  REQUIRE(back == data);  // written by the third, not by the messages
  link.memory.load(PhysicalAddress(0x5000), back.data(), 4);
  REQUIRE(back == data);
  REQUIRE(link.metrics().at("pcie.written.interrupt") == 12);
}

// SPDX-License-Identifier: MIT
#include "host/cpu_core.h"

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/metric_recorder.h"
#include "tests/support/software_host.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::MetricRecorder;
using test::SoftwareHost;

namespace {

constexpr CpuPlane kData = CpuPlane::kData;
constexpr CpuPlane kControl = CpuPlane::kControl;
constexpr CpuCategory kApp = CpuCategory::kApplication;
constexpr CpuCategory kPolling = CpuCategory::kPolling;

/// A device that writes one byte into host RAM.
struct Device {
  SoftwareHost& host;
  PhysicalAddress at;
  std::uint8_t value = 1;
  void write() {
    host.memory.store(at, &value, 1);
    host.memory.wrote(at, Bytes(1));
  }
};

/// Polls a byte until it is not zero; returns when it was found.
Time poll(SoftwareHost& host, CpuTask& task, PhysicalAddress at, Cycles cost,
          CpuPlane plane = kData) {
  task.poll_until(host.memory, at, plane, cost, [&] {
    std::uint8_t byte = 0;
    host.memory.load(at, &byte, 1);
    return byte != 0;
  });
  return host.scheduler.now();
}

void take_turns(bool run_ahead) {
  SoftwareHost host(run_ahead);
  std::string order;
  host.start([&](CpuTask& task) {
    task.run(kData, kApp, 100_cycles);
    REQUIRE(host.scheduler.now() == 100_ns);
    order += "a";
    task.run(kData, kApp, 100_cycles);
    REQUIRE(host.scheduler.now() == 250_ns);
    order += "a";
  });
  host.start([&](CpuTask& task) {
    task.run(kData, kApp, 50_cycles);
    REQUIRE(host.scheduler.now() == 150_ns);
    order += "b";
    task.run(kData, kApp, 50_cycles);
    REQUIRE(host.scheduler.now() == 300_ns);
    order += "b";
  });
  REQUIRE(host.run());
  REQUIRE(order == "abab");
  REQUIRE(host.core.busy() == 300_ns);
  // b waits for 100 ns, a for 50 ns, b for 100 ns again.
  auto metrics = test::metrics_of(host.core);
  REQUIRE(metrics.at("stalled.other_program") == 250'000);
  REQUIRE(metrics.at("occupancy.max") == 2);
}

}  // namespace

TEST_CASE("Work takes its cycles, exactly, also at a clock that no picosecond fits") {
  SoftwareHost host;
  CpuConfig config;
  config.frequency = Frequency::mhz(3500);
  CpuCore fast(host.scheduler, config, host.usage);
  host.start_on(fast, [&](CpuTask& task) {
    task.run(kControl, kApp, 7_cycles);
    REQUIRE(host.scheduler.now() == 2_ns);
    task.run(kData, CpuCategory::kCopying, 1_cycles);  // 285.714 ps, rounded up
    REQUIRE(host.scheduler.now() == 2286_ps);
  });
  REQUIRE(host.run());
  REQUIRE(host.usage.cycles(kControl, kApp) == 7_cycles);
  REQUIRE(host.usage.time(kControl, kApp) == 2_ns);
  REQUIRE(host.usage.time(kData, CpuCategory::kCopying) == 286_ps);
  REQUIRE(fast.busy() == 2286_ps);
}

TEST_CASE("Charged work runs ahead of simulated time until it is settled") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    task.charge(kData, kApp, 10_cycles);
    task.charge(kData, kApp, 5_cycles);
    REQUIRE(host.scheduler.now() == 0_ns);
    REQUIRE(task.now() == 15_ns);
    task.settle();
    REQUIRE(host.scheduler.now() == 15_ns);
    task.sleep_until(100_ns);
    REQUIRE(task.now() == 100_ns);
  }));
  REQUIRE(host.core.busy() == 15_ns);
}

TEST_CASE("Two programs on one core take turns, first come first served") { take_turns(true); }

TEST_CASE("Two programs on one core take the same turns with run-ahead off") { take_turns(false); }

TEST_CASE("Programs on two cores do not wait for each other") {
  SoftwareHost host;
  CpuCore other(host.scheduler, test::one_gigahertz(), host.usage);
  host.start([&](CpuTask& task) { task.run(kData, kApp, 100_cycles); });
  host.start_on(other, [&](CpuTask& task) {
    task.run(kData, kApp, 40_cycles);
    REQUIRE(host.scheduler.now() == 40_ns);
  });
  REQUIRE(host.run());
  REQUIRE(host.core.busy() == 100_ns);
  REQUIRE(other.busy() == 40_ns);
  REQUIRE(host.usage.busy(kData) == 140_ns);
}

TEST_CASE("The poll that finds an entry is the first to begin after it became visible") {
  struct Row {
    Time visible;
    Time found;
  };
  // Polls of 30 ns begin at 10, 40, 70, 100 ...
  const std::vector<Row> rows = {{5_ns, 10_ns},  {10_ns, 10_ns},    {11_ns, 40_ns},
                                 {40_ns, 40_ns}, {40001_ps, 70_ns}, {99_ns, 100_ns}};
  SoftwareHost host;
  std::vector<Device> devices;
  for (std::size_t i = 0; i < rows.size(); ++i)
    devices.push_back({host, PhysicalAddress((1 << 20) + i * 64)});
  Time polled;
  for (std::size_t i = 0; i < rows.size(); ++i)
    host.scheduler.at(static_cast<std::int64_t>(i) * 1_us + rows[i].visible,
                      call<&Device::write>(&devices[i]));
  REQUIRE(host.run([&](CpuTask& task) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Time base = static_cast<std::int64_t>(i) * 1_us;
      task.sleep_until(base);
      task.charge(kControl, kApp, 10_cycles);
      REQUIRE(poll(host, task, devices[i].at, 30_cycles) == base + rows[i].found);
      REQUIRE(task.now() == base + rows[i].found + 30_ns);
      polled += rows[i].found + 20_ns;
    }
  }));
  REQUIRE(host.usage.time(kData, kPolling) == polled);
  REQUIRE(host.usage.cycles(kData, kPolling).count() == static_cast<std::uint64_t>(polled / 1_ns));
}

TEST_CASE("The poll grid does not drift at a clock that no picosecond fits") {
  SoftwareHost host;
  CpuConfig config;
  config.frequency = Frequency::mhz(3500);
  CpuCore fast(host.scheduler, config, host.usage);
  Device device{host, PhysicalAddress(1 << 20)};
  host.scheduler.at(Time::us(1000) - 1_ns, call<&Device::write>(&device));
  host.start_on(fast, [&](CpuTask& task) {
    // A poll of 35 cycles takes 10 ns exactly.
    REQUIRE(poll(host, task, device.at, 35_cycles) == 1000_us);
  });
  REQUIRE(host.run());
  REQUIRE(host.usage.cycles(kData, kPolling) == Cycles(3500000 + 35));
}

TEST_CASE("A write beside the entry does not end polling, and sleeping costs nothing") {
  SoftwareHost host;
  Device beside{host, PhysicalAddress((1 << 20) + 8)};
  Device device{host, PhysicalAddress(1 << 20)};
  host.scheduler.at(200_ns, call<&Device::write>(&beside));
  host.scheduler.at(333_ns, call<&Device::write>(&device));
  REQUIRE(host.run([&](CpuTask& task) {
    task.sleep_until(100_ns);
    REQUIRE(poll(host, task, device.at, 10_cycles) == 340_ns);
  }));
  REQUIRE(host.core.busy() == 250_ns);
}

TEST_CASE("Other work on the core interrupts polling, and its time counts once") {
  SoftwareHost host;
  Device device{host, PhysicalAddress(1 << 20)};
  host.scheduler.at(205_ns, call<&Device::write>(&device));
  host.start([&](CpuTask& task) {
    // Polls begin at 0, 30, ...; after the other's work again at 90, 120, ... 210.
    REQUIRE(poll(host, task, device.at, 30_cycles) == 210_ns);
  });
  host.start([&](CpuTask& task) {
    task.sleep_until(50_ns);
    task.run(kControl, kApp, 40_cycles);
    REQUIRE(host.scheduler.now() == 90_ns);
  });
  REQUIRE(host.run());
  REQUIRE(host.core.busy() == 240_ns);
  REQUIRE(host.usage.time(kData, kPolling) == 200_ns);
  REQUIRE(host.usage.time(kControl, kApp) == 40_ns);
  auto metrics = test::metrics_of(host.core);
  REQUIRE(metrics.at("stalled.other_program") == 0);
  REQUIRE(metrics.at("occupancy.max") == 2);
}

TEST_CASE("A poll waits from the entry's visibility to the end of the other program's work") {
  SoftwareHost host;
  Device device{host, PhysicalAddress(1 << 20)};
  host.scheduler.at(70_ns, call<&Device::write>(&device));
  host.start([&](CpuTask& task) { REQUIRE(poll(host, task, device.at, 30_cycles) == 90_ns); });
  host.start([&](CpuTask& task) {
    task.sleep_until(50_ns);
    task.run(kControl, kApp, 40_cycles);
  });
  REQUIRE(host.run());
  REQUIRE(test::metrics_of(host.core).at("stalled.other_program") == 20'000);
}

TEST_CASE("Work charged ahead in many pieces is one program that wants the core") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    for (int i = 0; i < 5; ++i) task.charge(kData, kApp, 10_cycles);
  }));
  REQUIRE(test::metrics_of(host.core).at("occupancy.max") == 1);
  REQUIRE(test::metrics_of(host.core).at("stalled.other_program") == 0);
}

TEST_CASE("A core whose program polls in vain is busy to the end") {
  SoftwareHost host;
  Device elsewhere{host, PhysicalAddress(2 << 20)};
  host.scheduler.at(700_ns, call<&Device::write>(&elsewhere));
  REQUIRE_FALSE(
      host.run([&](CpuTask& task) { poll(host, task, PhysicalAddress(1 << 20), 10_cycles); }));
  REQUIRE(host.core.busy() == 700_ns);
}

TEST_CASE("Polling takes as many cycles however often somebody asks how busy the core is") {
  SoftwareHost host;
  Device elsewhere{host, PhysicalAddress(2 << 20)};
  struct Looker {
    CpuCore& core;
    void look() { core.busy(); }
  } looker{host.core};
  host.scheduler.at(100'500_ps, call<&Looker::look>(&looker));
  host.scheduler.at(200'700_ps, call<&Looker::look>(&looker));
  host.scheduler.at(700_ns, call<&Device::write>(&elsewhere));
  REQUIRE_FALSE(
      host.run([&](CpuTask& task) { poll(host, task, PhysicalAddress(1 << 20), 10_cycles); }));
  REQUIRE(host.core.busy() == 700_ns);
  REQUIRE(host.usage.cycles(kData, kPolling) == 700_cycles);
}

TEST_CASE("CPU metrics carry plane, category, cycles and copies") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    task.run(kControl, CpuCategory::kSyscall, 100_cycles);
    task.charge_copy(kData, Bytes(20));  // 8 B a cycle
  }));
  MetricRecorder sink;
  const MetricScope scope(sink, "host.A.cpu");
  host.core.report(scope.child("core0"));
  host.usage.report(scope);
  REQUIRE(sink.values.at("host.A.cpu.core0.busy") == 103000);
  REQUIRE(sink.values.at("host.A.cpu.control.busy") == 100000);
  REQUIRE(sink.values.at("host.A.cpu.control.syscall") == 100000);
  REQUIRE(sink.values.at("host.A.cpu.control.syscall.cycles") == 100);
  REQUIRE(sink.values.at("host.A.cpu.data.copying") == 3000);
  REQUIRE(sink.values.at("host.A.cpu.data.polling") == 0);
  REQUIRE(sink.values.at("host.A.cpu.copies") == 1);
  REQUIRE(sink.values.at("host.A.cpu.copied_bytes") == 20);
}

TEST_CASE("A poll that something else has ended looks no longer") {
  SoftwareHost host;
  const PhysicalAddress at(0x1000);
  Device device{host, at};
  Time ended;
  host.start([&](CpuTask& task) {
    bool stop = false;
    const auto end = [&] {
      stop = true;
      task.wake(host.scheduler.now());
    };
    std::function<void()> call_it = end;
    struct Caller {
      std::function<void()>* what;
      void run() { (*what)(); }
    } caller{&call_it};
    host.scheduler.at(100_ns, call<&Caller::run>(&caller));
    host.scheduler.at(300_ns, call<&Device::write>(&device));
    task.poll_until(host.memory, at, kData, 10_cycles, [&] { return stop; });
    task.wake(500_ns);
    task.block();
    ended = host.scheduler.now();
  });
  host.run();
  CHECK(ended == 500_ns);
}

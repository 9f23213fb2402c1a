// SPDX-License-Identifier: MIT
// Two hosts with the kernel's network path and fake NICs, wired to each other, for tests. Cores run
// at 1 GHz, so that a cycle is a nanosecond.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/kernel/network_stack.h"
#include "model/software_thread.h"
#include "tests/support/fake_ethernet.h"
#include "tests/support/software_host.h"

namespace rnicsim::test {

struct KernelBenchConfig {
  KernelConfig kernel;
  TcpConfig tcp;
  MemoryConfig memory = memory_of(Bytes(64ULL << 30));
};

/// Nothing is held back: each frame interrupts.
inline KernelBenchConfig unmoderated() {
  KernelBenchConfig config;
  config.kernel.receive_frames = config.kernel.transmit_frames = 1;
  config.kernel.receive_period = config.kernel.transmit_period = Time();
  return config;
}

struct KernelHost {
  KernelHost(Scheduler& scheduler, const KernelBenchConfig& config, std::uint8_t number)
      : memory(config.memory),
        address{{2, 0, 0, 0, 0, number}, abi::Ipv4Address(0x0a000000U + number)},
        cores{{scheduler, one_gigahertz(), usage}, {scheduler, one_gigahertz(), usage}},
        interrupts(scheduler, {}),
        nic(scheduler, memory, &interrupts),
        ethernet(scheduler, memory, interrupts),
        driver({}, number, memory, frames, nic, guard, interrupts),
        network(config.kernel, config.tcp,
                {scheduler, memory, frames, nic, interrupts, driver, {&cores[0], &cores[1]}},
                number) {
    nic.ethernet = &ethernet;
    ethernet.guard = &guard;
  }
  VirtualAddress map(Bytes bytes, PageSize size = PageSize::k4KiB) {
    return *pages.map(bytes, size);
  }

  Memory memory;
  NetworkAddress address;
  FrameAllocator frames{Bytes(64ULL << 30), 1};
  PageTable pages{memory, frames};
  CpuUsage usage;
  CpuCore cores[2];
  InterruptController interrupts;
  FakeNic nic;
  FakeEthernet ethernet;
  DmaGuard guard{"host"};
  Driver driver;
  NetworkStack network;
};

class KernelBench {
 public:
  static constexpr std::uint16_t kPort = 5001;

  explicit KernelBench(const KernelBenchConfig& config = unmoderated())
      : scheduler("scheduler"), a(scheduler, config, 1), b(scheduler, config, 2) {
    a.ethernet.peer = &b.ethernet;
    b.ethernet.peer = &a.ethernet;
  }

  using Program = std::function<void(CpuTask&)>;
  using Talk = std::function<void(CpuTask&, TcpSocket&)>;
  void start(CpuCore& core, Program body) {
    auto& slot = threads_.emplace_back();
    slot = std::make_unique<SoftwareThread>(scheduler, "program" + std::to_string(threads_.size()),
                                            [&slot, &core, body = std::move(body)] {
                                              CpuTask task(core, *slot);
                                              body(task);
                                              task.settle();
                                            });
  }
  /// Opens both hosts, connects A to B, and lets the connection settle for a millisecond; then each
  /// side's program goes on. On core `core` of each.
  void connect(const Talk& client, const Talk& server, const SocketOptions& options = {},
               unsigned core = 0) {
    start(b.cores[core], [=](CpuTask& task) {
      b.driver.bring_up(task);
      b.network.open(task, b.address);
      TcpListener& listener = b.network.listen(task, kPort, options);
      TcpSocket& socket = listener.accept(task);
      task.sleep_until(Time::ms(2));
      server(task, socket);
    });
    start(a.cores[core], [=](CpuTask& task) {
      a.driver.bring_up(task);
      a.network.open(task, a.address);
      task.sleep_until(Time::ms(1));
      TcpSocket& socket = a.network.connect(task, {b.address, kPort}, options);
      task.sleep_until(Time::ms(2));
      client(task, socket);
    });
  }
  /// Until nothing is left; true if every program came to its end.
  bool run() {
    scheduler.run_until(Time::s(1000));
    for (const auto& thread : threads_)
      if (!thread->finished()) return false;
    return true;
  }

  static std::vector<std::uint8_t> pattern(std::size_t bytes) {
    std::vector<std::uint8_t> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      data[i] = static_cast<std::uint8_t>((i * 0x9e3779b97f4a7c15ULL) >> 56);
    return data;
  }
  static VirtualAddress filled(KernelHost& host, std::size_t bytes,
                               PageSize size = PageSize::k4KiB) {
    const VirtualAddress at = host.map(Bytes(bytes), size);
    const auto data = pattern(bytes);
    host.pages.store(at, data.data(), bytes);
    return at;
  }
  static bool holds_pattern(const KernelHost& host, VirtualAddress at, std::size_t bytes) {
    std::vector<std::uint8_t> data(bytes);
    return host.pages.load(at, data.data(), bytes) && data == pattern(bytes);
  }

  Scheduler scheduler;
  KernelHost a;
  KernelHost b;

 private:
  std::deque<std::unique_ptr<SoftwareThread>> threads_;
};

}  // namespace rnicsim::test

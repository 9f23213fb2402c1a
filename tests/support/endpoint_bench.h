// SPDX-License-Identifier: MIT
// A PCIe endpoint before a fake memory, for tests of the blocks that reach host RAM through it, and
// callbacks that note when they run.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "nic/pcie_endpoint.h"
#include "tests/support/fake_dma_memory.h"

namespace rnicsim::test {

/// Notes when it is called, and with what.
struct Notes {
  explicit Notes(Scheduler& scheduler) : scheduler(scheduler) {}
  void note(std::uint64_t what) { list.emplace_back(what, scheduler.now()); }
  Callback noting(std::uint64_t what) { return call<&Notes::note>(this, what); }

  Scheduler& scheduler;
  std::vector<std::pair<std::uint64_t, Time>> list;
};
using Noted = std::vector<std::pair<std::uint64_t, Time>>;

/// A port must stand in a module.
struct EndpointModule : sc_core::sc_module {
  EndpointModule(const sc_core::sc_module_name& name, Scheduler& scheduler,
                 const PcieEndpointConfig& config, tlm::tlm_target_socket<64>& target,
                 ByteTime link = {})
      : sc_module(name), pcie(scheduler, config, Bytes(512), "pcie", link) {
    pcie.socket.bind(target);
  }
  PcieEndpoint pcie;
};

struct EndpointBench {
  static constexpr Time kRead = Time::ns(300);
  static constexpr Time kWrite = Time::ns(200);

  explicit EndpointBench(const PcieEndpointConfig& config = {}, ByteTime link = {})
      : device("device", scheduler, config, memory.socket, link) {}
  /// Calls a function at a time of the simulation.
  void at(Time time, std::function<void()> function) {
    actions.push_back(std::move(function));
    scheduler.at(time, call<&EndpointBench::act>(this, actions.size() - 1));
  }
  void act(std::uint64_t index) { actions[index](); }
  void run() { scheduler.run_until(scheduler.now() + Time::s(1)); }

  Scheduler scheduler{"scheduler"};
  FakeDmaMemory memory{"memory", scheduler, kRead, kWrite, 4 << 20};
  EndpointModule device;
  PcieEndpoint& pcie = device.pcie;
  Notes notes{scheduler};
  std::vector<std::function<void()>> actions;
};

}  // namespace rnicsim::test

// SPDX-License-Identifier: MIT
// TCP from end to end: a program on A sends to one on B through sockets, the kernel's stack, rings
// in host RAM, PCIe, NICs and cable.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/software_thread.h"
#include "scenarios/engine/system.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/two_servers.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::two_servers;

namespace {

constexpr std::uint16_t kPort = 5001;

struct TcpPair {
  explicit TcpPair(const Scenario& scenario) : system("system", scenario) {}

  using Talk = std::function<void(CpuTask&, TcpSocket&)>;
  void start(System::Server& server, std::function<void(CpuTask&)> body) {
    CpuCore& core = server.host->core(0);
    std::unique_ptr<SoftwareThread>& thread = threads.emplace_back();
    const std::size_t index = threads.size() - 1;
    thread = std::make_unique<SoftwareThread>(system.scheduler(), "program" + std::to_string(index),
                                              [this, index, &core, body = std::move(body)] {
                                                CpuTask task(core, *threads[index]);
                                                body(task);
                                                task.settle();
                                              });
  }
  static void open(System::Server& server, CpuTask& task) {
    server.host->driver(0).bring_up(task);
    server.host->network(0).open(task, {server.ports[0].mac, server.ports[0].ip});
  }
  /// Until nothing is left; true if both programs came to their ends.
  bool run(const Talk& client, const Talk& server, const SocketOptions& options = {}) {
    start(b, [&](CpuTask& task) {
      open(b, task);
      server(task, b.host->network(0).listen(task, kPort, options).accept(task));
    });
    start(a, [&](CpuTask& task) {
      open(a, task);
      task.sleep_until(1_ms);
      const TcpPeer peer{{b.ports[0].mac, b.ports[0].ip}, kPort};
      client(task, a.host->network(0).connect(task, peer, options));
    });
    system.scheduler().run_until(Time::s(10));
    return threads[0]->finished() && threads[1]->finished();
  }

  System system;
  System::Server& a = system.servers()[0];
  System::Server& b = system.servers()[1];
  std::vector<std::unique_ptr<SoftwareThread>> threads;
};

std::vector<std::uint8_t> pattern(std::size_t bytes) {
  std::vector<std::uint8_t> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::uint8_t>((i * 0x9e3779b97f4a7c15ULL) >> 56);
  return data;
}

}  // namespace

TEST_CASE("A stream of TCP crosses the hosts and NICs byte for byte, copied once on each side") {
  constexpr std::size_t kBytes = 3'000'000;
  TcpPair pair(two_servers());
  const auto data = pattern(kBytes);
  PageTable a_pages(pair.a.host->memory(), pair.a.host->frames());
  PageTable b_pages(pair.b.host->memory(), pair.b.host->frames());
  const VirtualAddress from = *a_pages.map(Bytes(kBytes), PageSize::k4KiB);
  const VirtualAddress to = *b_pages.map(Bytes(kBytes), PageSize::k4KiB);
  a_pages.store(from, data.data(), kBytes);
  Time began;
  Time ended;
  REQUIRE(pair.run(
      [&](CpuTask& task, TcpSocket& socket) {
        began = task.now();
        CHECK(socket.send(task, a_pages, from, Bytes(kBytes)).value == Bytes(kBytes));
        socket.close(task);
      },
      [&](CpuTask& task, TcpSocket& socket) {
        CHECK(socket.receive(task, b_pages, to, Bytes(kBytes), TcpSocket::Amount::kAll).value ==
              Bytes(kBytes));
        ended = task.now();
        socket.close(task);
      }));
  std::vector<std::uint8_t> came(kBytes);
  b_pages.load(to, came.data(), kBytes);
  CHECK(came == data);
  CHECK(pair.a.host->usage().copies() == 1);
  CHECK(pair.b.host->usage().copied() == Bytes(kBytes));
  const double gbps = kBytes * 8e3 / static_cast<double>((ended - began).ps());
  CHECK(gbps > 5);
  CHECK(gbps < 50);
}

TEST_CASE("A byte of TCP crosses the memory bus of its sender and of its receiver three times") {
  constexpr std::size_t kBytes = 3'000'000;
  TcpPair pair(two_servers());
  PageTable a_pages(pair.a.host->memory(), pair.a.host->frames());
  PageTable b_pages(pair.b.host->memory(), pair.b.host->frames());
  const VirtualAddress from = *a_pages.map(Bytes(kBytes), PageSize::k4KiB);
  const VirtualAddress to = *b_pages.map(Bytes(kBytes), PageSize::k4KiB);
  REQUIRE(pair.run(
      [&](CpuTask& task, TcpSocket& socket) { socket.send(task, a_pages, from, Bytes(kBytes)); },
      [&](CpuTask& task, TcpSocket& socket) {
        socket.receive(task, b_pages, to, Bytes(kBytes), TcpSocket::Amount::kAll);
      }));
  const auto per_byte = [](System::Server& server, BusUse use) {
    return static_cast<double>(server.host->memory().bus().crossed(use).count()) / kBytes;
  };
  // Lines at the edges of bursts and segments cross twice; DMA has headers and rings besides.
  for (const BusUse use : {BusUse::kCopyRead, BusUse::kCopyWrite, BusUse::kDmaRead}) {
    CHECK(per_byte(pair.a, use) >= 1);
    CHECK(per_byte(pair.a, use) < 1.1);
  }
  for (const BusUse use : {BusUse::kCopyRead, BusUse::kCopyWrite}) {
    CHECK(per_byte(pair.b, use) >= 1);
    CHECK(per_byte(pair.b, use) < 1.03);
  }
  // A frame of 1514 B takes 24 lines and its completion one, for 1448 B of payload.
  CHECK(per_byte(pair.b, BusUse::kDmaWrite) >= 25 * 64 / 1448.0);
  CHECK(per_byte(pair.b, BusUse::kDmaWrite) < 25 * 64 / 1448.0 + 0.005);
}

TEST_CASE("With one segment of TCP in a hundred lost every byte arrives in order") {
  constexpr std::size_t kBytes = 1'000'000;
  Scenario scenario = two_servers();
  FaultRule loss;
  loss.name = "loss";
  loss.protocol = FaultProtocol::kTcp;
  loss.probability = 0.01;
  scenario.fabric.link.faults = {loss};
  TcpPair pair(scenario);
  const auto data = pattern(kBytes);
  PageTable a_pages(pair.a.host->memory(), pair.a.host->frames());
  PageTable b_pages(pair.b.host->memory(), pair.b.host->frames());
  const VirtualAddress from = *a_pages.map(Bytes(kBytes), PageSize::k4KiB);
  const VirtualAddress to = *b_pages.map(Bytes(kBytes), PageSize::k4KiB);
  a_pages.store(from, data.data(), kBytes);
  REQUIRE(pair.run(
      [&](CpuTask& task, TcpSocket& socket) {
        CHECK(socket.send(task, a_pages, from, Bytes(kBytes)).value == Bytes(kBytes));
        socket.close(task);
      },
      [&](CpuTask& task, TcpSocket& socket) {
        CHECK(socket.receive(task, b_pages, to, Bytes(kBytes), TcpSocket::Amount::kAll).value ==
              Bytes(kBytes));
        socket.close(task);
      }));
  std::vector<std::uint8_t> came(kBytes);
  b_pages.load(to, came.data(), kBytes);
  CHECK(came == data);
  test::MetricRecorder metrics;
  pair.system.report(metrics);
  std::uint64_t lost = 0;
  for (const auto& [path, value] : metrics.values)
    if (path.find(".faults.loss.fired") != std::string::npos) lost += value;
  CHECK(lost > 3);
  CHECK(lost < 40);
}

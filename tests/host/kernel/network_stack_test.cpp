// SPDX-License-Identifier: MIT
#include "host/kernel/network_stack.h"

#include <catch2/catch.hpp>

#include "tests/support/kernel_bench.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;
using Amount = TcpSocket::Amount;

namespace {

/// What passed while A sent so many bytes by one call and B received them by another.
struct Counted {
  explicit Counted(const KernelBenchConfig& config, std::size_t bytes,
                   const SocketOptions& options = {}, unsigned core = 0)
      : bench(config) {
    const VirtualAddress from = KernelBench::filled(bench.a, bytes);
    const VirtualAddress to = bench.b.map(Bytes(bytes));
    bench.connect(
        [=](CpuTask& task, TcpSocket& socket) {
          descriptors = bench.a.ethernet.sent.size();
          frames = bench.a.ethernet.frames.size();
          protocol = bench.a.usage.cycles(CpuPlane::kData, CpuCategory::kProtocol);
          began = task.now();
          socket.send(task, bench.a.pages, from, Bytes(bytes));
          protocol = bench.a.usage.cycles(CpuPlane::kData, CpuCategory::kProtocol) - protocol;
        },
        [=](CpuTask& task, TcpSocket& socket) {
          const auto before = metrics_of(bench.b.network);
          interrupts = bench.b.interrupts.handled();
          socket.receive(task, bench.b.pages, to, Bytes(bytes), Amount::kAll);
          ended = task.now();
          interrupts = bench.b.interrupts.handled() - interrupts;
          for (const auto& [path, value] : metrics_of(bench.b.network)) {
            const auto at = before.find(path);
            b[path] = value - (at == before.end() ? 0 : at->second);
          }
        },
        options, core);
    finished = bench.run() && KernelBench::holds_pattern(bench.b, to, bytes);
    frames = bench.a.ethernet.frames.size() - frames;
    descriptors = bench.a.ethernet.sent.size() - descriptors;
  }
  KernelBench bench;
  bool finished = false;
  std::size_t descriptors = 0;
  std::size_t frames = 0;
  Cycles protocol;
  Time began;
  Time ended;
  std::uint64_t interrupts = 0;
  std::map<std::string, std::uint64_t> b;
};

constexpr std::size_t kMss = 1448;

/// Ten segments: what the initial window lets go at once.
constexpr std::size_t kBurst = 10 * kMss;

/// Interrupts only after 10 frames, so that a burst is polled at once.
KernelBenchConfig by_tens() {
  KernelBenchConfig config = unmoderated();
  config.kernel.receive_frames = 10;
  config.kernel.transmit_frames = 1000;
  config.kernel.receive_period = config.kernel.transmit_period = 100_us;
  return config;
}

}  // namespace

TEST_CASE("With TSO a burst is one descriptor and costs the stack one segment") {
  Counted run(by_tens(), kBurst);
  REQUIRE(run.finished);
  CHECK(run.descriptors == 1);
  CHECK(run.frames == 10);
  CHECK(run.protocol == KernelConfig{}.transmit_segment);
  const auto& burst = run.bench.a.ethernet.sent.back();
  CHECK(burst.segment_size == kMss);
  CHECK(burst.pieces == 2);
  CHECK(burst.piece[1].bytes == kBurst);
  CHECK(burst.header_bytes == 66);
}

TEST_CASE("With GSO it is a descriptor a segment, for the protocol's cost of one") {
  KernelBenchConfig config = by_tens();
  config.kernel.tso = false;
  Counted run(config, kBurst);
  REQUIRE(run.finished);
  CHECK(run.descriptors == 10);
  CHECK(run.frames == 10);
  CHECK(run.protocol == KernelConfig{}.transmit_segment);
}

TEST_CASE("Without either each segment costs the stack its own") {
  KernelBenchConfig config = by_tens();
  config.kernel.tso = config.kernel.gso = false;
  Counted run(config, kBurst);
  REQUIRE(run.finished);
  CHECK(run.descriptors == 10);
  CHECK(run.protocol == KernelConfig{}.transmit_segment * 10);
}

TEST_CASE("GRO makes one segment of the frames of a round, and one acknowledgement of it") {
  Counted run(by_tens(), kBurst);
  REQUIRE(run.finished);
  CHECK(run.interrupts == 1);
  CHECK(run.b["frames_received"] == 10);
  CHECK(run.b["segments_received"] == 1);
  CHECK(run.b["acks_sent"] == 1);
}

TEST_CASE("Without GRO each frame goes up alone, and every second is acknowledged") {
  KernelBenchConfig config = by_tens();
  config.kernel.gro = false;
  Counted run(config, kBurst);
  REQUIRE(run.finished);
  CHECK(run.interrupts == 1);
  CHECK(run.b["frames_received"] == 10);
  CHECK(run.b["segments_received"] == 10);
  CHECK(run.b["acks_sent"] == 5);
}

TEST_CASE("Moderation lets the interrupt go with the tenth frame") {
  Counted run(by_tens(), kBurst);
  REQUIRE(run.finished);
  CHECK(run.ended - run.began < 60_us);
}

TEST_CASE("or holds it back for the period, if one more is asked for than comes") {
  KernelBenchConfig config = by_tens();
  config.kernel.receive_frames = 11;
  Counted run(config, kBurst);
  REQUIRE(run.finished);
  CHECK(run.interrupts == 1);
  CHECK(run.b["frames_received"] == 10);
  CHECK(run.ended - run.began > 110_us);
  CHECK(run.ended - run.began < 160_us);
}

TEST_CASE("A frame larger than a buffer stands in several, and arrives whole") {
  KernelBenchConfig config = unmoderated();
  config.kernel.mtu = Bytes(9000);
  Counted run(config, 8 * 8948);
  REQUIRE(run.finished);
  CHECK(run.frames == 8);
  CHECK(run.bench.a.ethernet.frames.back().size() == 9014);
}

TEST_CASE("Where the NIC computes no checksums the stack does, and drops what is damaged") {
  KernelBenchConfig config = unmoderated();
  config.kernel.tso = config.kernel.checksum_offload = false;
  config.tcp.min_rto = 1_ms;
  KernelBench bench(config);
  const VirtualAddress from = KernelBench::filled(bench.a, kBurst);
  const VirtualAddress to = bench.b.map(Bytes(kBurst));
  int count = 0;
  bench.a.ethernet.fate = [&](const FakeEthernet::Frame& frame) {
    return frame.size() > 1000 && ++count == 3 ? FakeEthernet::Fate::kDamaged
                                               : FakeEthernet::Fate::kArrives;
  };
  bench.connect([&](CpuTask& task,
                    TcpSocket& socket) { socket.send(task, bench.a.pages, from, Bytes(kBurst)); },
                [&](CpuTask& task, TcpSocket& socket) {
                  socket.receive(task, bench.b.pages, to, Bytes(kBurst), Amount::kAll);
                });
  REQUIRE(bench.run());
  CHECK(KernelBench::holds_pattern(bench.b, to, kBurst));
  CHECK(metrics_of(bench.b.network)["dropped"] == 1);
  CHECK(bench.b.usage.cycles(CpuPlane::kData, CpuCategory::kChecksum) == Cycles(11 * 181));
  // Each of eleven segments sums up 1448 B, eight a cycle.
  CHECK(bench.a.usage.cycles(CpuPlane::kData, CpuCategory::kChecksum) == Cycles(11 * 181));
}

TEST_CASE("The breakdown of a host's CPU time is the time its cores were busy") {
  Counted run(by_tens(), 500'000);
  REQUIRE(run.finished);
  for (KernelHost* host : {&run.bench.a, &run.bench.b}) {
    const Time busy = host->cores[0].busy() + host->cores[1].busy();
    CHECK(host->usage.busy(CpuPlane::kControl) + host->usage.busy(CpuPlane::kData) == busy);
    Time sum;
    for (unsigned c = 0; c < kCpuCategories; ++c)
      sum += host->usage.time(CpuPlane::kData, static_cast<CpuCategory>(c));
    CHECK(sum == host->usage.busy(CpuPlane::kData));
  }
}

TEST_CASE("Frames steered to another core are softirq there, and wake the program on its own") {
  KernelBenchConfig config = by_tens();
  config.kernel.queues = 2;
  KernelBench bench(config);
  bench.b.ethernet.steer = [](const FrameHeaders&) { return std::size_t{1}; };
  const VirtualAddress from = KernelBench::filled(bench.a, kBurst);
  const VirtualAddress to = bench.b.map(Bytes(kBurst));
  Time before[2];
  Time after[2];
  bench.connect([&](CpuTask& task,
                    TcpSocket& socket) { socket.send(task, bench.a.pages, from, Bytes(kBurst)); },
                [&](CpuTask& task, TcpSocket& socket) {
                  for (int i = 0; i < 2; ++i) before[i] = bench.b.cores[i].busy();
                  socket.receive(task, bench.b.pages, to, Bytes(kBurst), Amount::kAll);
                  task.settle();
                  for (int i = 0; i < 2; ++i) after[i] = bench.b.cores[i].busy();
                });
  REQUIRE(bench.run());
  CHECK(KernelBench::holds_pattern(bench.b, to, kBurst));
  const KernelConfig k;
  const InterruptConfig interrupt;
  // The program's core copies in one stretch; each of ten buffers stands behind 66 B of headers, so
  // that its 1448 B touch 23 lines.
  const Cycles program = k.syscall + interrupt.context_switch + k.cross_core * 10 +
                         Cycles(kBurst / 8) + k.copy_miss * 23 * 10;
  CHECK(after[0] - before[0] == Time::ns(static_cast<std::int64_t>(program.count())));
  const Cycles frames = (k.skb + k.page + k.frame + k.merge) * 10;
  const Cycles ack = k.transmit_ack + k.skb + k.transmit + k.doorbell;
  const Cycles softirq = interrupt.entry + k.poll + frames + k.receive_segment + ack + k.wake +
                         k.doorbell + k.doorbell * 2;
  CHECK(after[1] - before[1] == Time::ns(static_cast<std::int64_t>(softirq.count())));
}

TEST_CASE("With flow steering frames come to the core of the program that accepted") {
  KernelBenchConfig config = unmoderated();
  config.kernel.queues = 2;
  config.kernel.flow_steering = true;
  Counted run(config, kBurst, {}, 1);
  REQUIRE(run.finished);
  REQUIRE(run.bench.b.ethernet.rules.size() == 1);
  const abi::EthernetFlowRule& rule = run.bench.b.ethernet.rules.front();
  CHECK(rule.queue == 3);
  CHECK(rule.source == run.bench.a.address.ip);
  CHECK(rule.destination == run.bench.b.address.ip);
  CHECK(rule.destination_port == KernelBench::kPort);
  // The handshake was on core 0, all else on core 1.
  CHECK(run.bench.b.cores[0].data_work() < 15_us);
}

TEST_CASE("Softirq goes before a program that copies on the same core") {
  // One large message: while B's program copies, frames come; each round of polling then runs to
  // its end, so that rounds find several frames though every one interrupts.
  Counted run(unmoderated(), 2'000'000);
  REQUIRE(run.finished);
  CHECK(run.b["frames_received"] == 1382);
  CHECK(run.b["polls"] * 4 < run.b["frames_received"]);
}

TEST_CASE("Nobody listens: the connection is refused by a reset") {
  KernelBench bench;
  std::optional<TcpFailure> failure;
  bench.start(bench.b.cores[0], [&](CpuTask& task) {
    bench.b.driver.bring_up(task);
    bench.b.network.open(task, bench.b.address);
  });
  bench.start(bench.a.cores[0], [&](CpuTask& task) {
    bench.a.driver.bring_up(task);
    bench.a.network.open(task, bench.a.address);
    task.sleep_until(1_ms);
    failure = bench.a.network.connect(task, {bench.b.address, 7}).failure();
  });
  REQUIRE(bench.run());
  CHECK(failure == TcpFailure::kRefused);
  CHECK(metrics_of(bench.b.network)["resets_sent"] == 1);
}

TEST_CASE("A socket of the control plane takes no time of the data plane on either host") {
  SocketOptions options;
  options.plane = CpuPlane::kControl;
  Counted run(unmoderated(), 100'000, options);
  REQUIRE(run.finished);
  CHECK(run.bench.a.usage.busy(CpuPlane::kData) == Time());
  CHECK(run.bench.b.usage.busy(CpuPlane::kData) == Time());
  CHECK(run.bench.b.usage.busy(CpuPlane::kControl) > 100_us);
}

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
  const Cycles softirq = interrupt.entry + k.poll + frames + k.receive_segment + ack +
                         interrupt.wake + k.doorbell + k.doorbell * 2;
  CHECK(after[1] - before[1] == Time::ns(static_cast<std::int64_t>(softirq.count())));
}

TEST_CASE("With flow steering frames come to the core of the program that accepted") {
  KernelBenchConfig config = unmoderated();
  config.kernel.queues = 2;
  config.kernel.flow_steering = true;
  Counted run(config, kBurst, {}, 1);
  REQUIRE(run.finished);
  REQUIRE(run.bench.b.ethernet.rules.size() == 1);
  const abi::EthernetFlowRule& rule = run.bench.b.ethernet.rules.begin()->second;
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

namespace {

/// B listens with so many places; A's programs connect to it, each on a core of its own.
struct Callers {
  explicit Callers(const KernelBenchConfig& config = unmoderated()) : bench(config) {}
  void serve(std::uint32_t backlog, const std::function<void(CpuTask&, TcpListener&)>& body) {
    bench.start(bench.b.cores[0], [this, backlog, body](CpuTask& task) {
      bench.b.driver.bring_up(task);
      bench.b.network.open(task, bench.b.address);
      listener = &bench.b.network.listen(task, KernelBench::kPort, {}, backlog);
      body(task, *listener);
    });
  }
  void call(const std::function<void(CpuTask&)>& body) {
    bench.start(bench.a.cores[0], [this, body](CpuTask& task) {
      bench.a.driver.bring_up(task);
      bench.a.network.open(task, bench.a.address);
      task.sleep_until(1_ms);
      body(task);
    });
  }
  TcpSocket& connect(CpuTask& task, std::uint16_t port = KernelBench::kPort,
                     const SocketOptions& options = {}) {
    return bench.a.network.connect(task, {bench.b.address, port}, options);
  }
  KernelBench bench;
  TcpListener* listener = nullptr;
};

}  // namespace

TEST_CASE("A full backlog drops a SYN without an answer, and its sender tries again") {
  Callers callers;
  Time accepted;
  callers.serve(1, [&](CpuTask& task, TcpListener& listener) {
    task.sleep_until(500_ms);
    listener.accept(task);
    listener.accept(task);
    accepted = task.now();
  });
  callers.call([&](CpuTask& task) {
    CHECK(callers.connect(task).is_established());
    CHECK(callers.connect(task).is_established());
  });
  REQUIRE(callers.bench.run());
  CHECK(accepted > Time::s(1));
  CHECK(accepted < Time::s(1) + 2_ms);
  auto metrics = metrics_of(callers.bench.b.network);
  CHECK(metrics["backlog_full"] == 1);
  CHECK(metrics["resets_sent"] == 0);
}

TEST_CASE("Two programs that wait for connections of one listener get one each") {
  Callers callers;
  std::vector<Time> accepted;
  callers.serve(128, [&](CpuTask& task, TcpListener& listener) {
    listener.accept(task);
    accepted.push_back(task.now());
  });
  callers.bench.start(callers.bench.b.cores[1], [&](CpuTask& task) {
    task.sleep_until(500_us);
    callers.listener->accept(task);
    accepted.push_back(task.now());
  });
  callers.call([&](CpuTask& task) {
    callers.connect(task);
    callers.connect(task);
  });
  REQUIRE(callers.bench.run());
  REQUIRE(accepted.size() == 2);
  CHECK(accepted[1] < 2_ms);
}

TEST_CASE("A closed connection's flow rule is taken back, and its number used again") {
  KernelBenchConfig config = unmoderated();
  config.kernel.queues = 2;
  config.kernel.flow_steering = true;
  Callers callers(config);
  callers.serve(128, [&](CpuTask& task, TcpListener& listener) {
    for (int i = 0; i < 2; ++i) {
      TcpSocket& socket = listener.accept(task);
      CHECK(callers.bench.b.ethernet.rules.size() == 1);
      CHECK(callers.bench.b.ethernet.rules.count(0) == 1);
      socket.close(task);
      CHECK(callers.bench.b.ethernet.rules.empty());
    }
  });
  callers.call([&](CpuTask& task) {
    for (int i = 0; i < 2; ++i) {
      TcpSocket& socket = callers.connect(task);
      task.sleep_until(task.now() + 100_us);
      socket.close(task);
    }
    CHECK(callers.bench.a.ethernet.rules.empty());
  });
  CHECK(callers.bench.run());
}

TEST_CASE("The IPv4 identification counts a host's packets, those that its NIC cuts too") {
  Counted run(by_tens(), 3 * kBurst);
  REQUIRE(run.finished);
  const auto& frames = run.bench.a.ethernet.frames;
  CHECK(frames.size() == 32);
  for (std::size_t i = 0; i < frames.size(); ++i) CHECK(frames[i][18] * 256U + frames[i][19] == i);
}

TEST_CASE("A port in use is given to no second connection to the same peer") {
  Callers callers;
  callers.serve(128, [&](CpuTask& task, TcpListener& listener) {
    listener.accept(task);
    listener.accept(task);
  });
  callers.call([&](CpuTask& task) {
    callers.bench.a.network.listen(task, 32770);
    CHECK(callers.connect(task).port() == 32768);
    // All others, once around: nobody is there.
    for (unsigned port = 32769; port <= 60999; ++port) {
      if (port == 32770) continue;
      TcpSocket& socket = callers.connect(task, 7);
      if (socket.port() != port) FAIL("port " << socket.port() << " instead of " << port);
    }
    CHECK(callers.connect(task).port() == 32769);
  });
  CHECK(callers.bench.run());
}

TEST_CASE("Beside a data socket, frames of a control socket are the control plane's work") {
  Callers callers;
  SocketOptions control;
  control.plane = CpuPlane::kControl;
  KernelBench& bench = callers.bench;
  const VirtualAddress from = KernelBench::filled(bench.a, 100'000);
  const VirtualAddress to = bench.b.map(Bytes(100'000));
  constexpr std::uint16_t kOther = 5002;
  Time data[2];
  Time was_control;
  callers.serve(128, [&](CpuTask& task, TcpListener& listener) {
    TcpListener& other = bench.b.network.listen(task, kOther, control);
    listener.accept(task);
    TcpSocket& socket = other.accept(task);
    task.sleep_until(3_ms);
    for (int host = 0; host < 2; ++host)
      data[host] = (host == 0 ? bench.a : bench.b).usage.busy(CpuPlane::kData);
    was_control = bench.b.usage.busy(CpuPlane::kControl);
    socket.receive(task, bench.b.pages, to, Bytes(100'000), Amount::kAll);
  });
  callers.call([&](CpuTask& task) {
    callers.connect(task);
    TcpSocket& socket = callers.connect(task, kOther, control);
    task.sleep_until(4_ms);
    socket.send(task, bench.a.pages, from, Bytes(100'000));
  });
  REQUIRE(bench.run());
  CHECK(data[1] > Time());
  CHECK(bench.a.usage.busy(CpuPlane::kData) == data[0]);
  CHECK(bench.b.usage.busy(CpuPlane::kData) == data[1]);
  CHECK(bench.b.usage.busy(CpuPlane::kControl) - was_control > 100_us);
}

TEST_CASE("Each of two connections' timers at one instant is charged for") {
  Callers callers;
  KernelBench& bench = callers.bench;
  const VirtualAddress from = bench.a.map(Bytes(64));
  callers.serve(128, [&](CpuTask& task, TcpListener& listener) {
    listener.accept(task);
    listener.accept(task);
    task.sleep_until(5_ms);
  });
  bench.b.ethernet.fate = [&](const FakeEthernet::Frame&) {
    return bench.scheduler.now() < 2_ms ? FakeEthernet::Fate::kArrives : FakeEthernet::Fate::kLost;
  };
  std::uint64_t timers = 0;
  TcpSocket* other = nullptr;
  callers.call([&](CpuTask& task) {
    TcpSocket& socket = callers.connect(task);
    other = &callers.connect(task);
    task.sleep_until(3_ms);
    timers = metrics_of(bench.a.network)["timers"];
    socket.send(task, bench.a.pages, from, Bytes(64));
    task.sleep_until(220_ms);
    timers = metrics_of(bench.a.network)["timers"] - timers;
  });
  // At the same time on the other core.
  bench.start(bench.a.cores[1], [&](CpuTask& task) {
    task.sleep_until(3_ms);
    other->send(task, bench.a.pages, from, Bytes(64));
  });
  bench.scheduler.run_until(250_ms);
  CHECK(timers == 2);
}

TEST_CASE("Softirq alone on a core waits for nobody") {
  KernelBenchConfig config = by_tens();
  config.kernel.first_core = 1;
  Counted run(config, kBurst);
  REQUIRE(run.finished);
  auto metrics = metrics_of(run.bench.b.cores[1]);
  CHECK(metrics["busy"] > 10'000'000);
  CHECK(metrics["stalled.other_program"] == 0);
}

// SPDX-License-Identifier: MIT
#include "host/kernel/tcp_socket.h"

#include <catch2/catch.hpp>

#include "tests/support/kernel_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;
using Amount = TcpSocket::Amount;

namespace {

/// A sends so many bytes by one call, B receives them by one.
struct Transfer {
  explicit Transfer(std::size_t size, const KernelBenchConfig& config = unmoderated(),
                    const SocketOptions& options = {}, PageSize pages = PageSize::k4KiB)
      : bench(config), bytes(size) {
    from = KernelBench::filled(bench.a, bytes, pages);
    to = bench.b.map(Bytes(bytes));
    bench.connect(
        [this](CpuTask& task, TcpSocket& socket) {
          task.settle();
          a_copies = bench.a.usage.copies();
          began = task.now();
          sent = socket.send(task, bench.a.pages, from, Bytes(bytes)).value;
          if (socket.options().zero_copy) socket.await_pages(task);
        },
        [this](CpuTask& task, TcpSocket& socket) {
          b_interrupts = bench.b.interrupts.handled();
          b_switches = bench.b.usage.context_switches(CpuPlane::kData);
          received = socket.receive(task, bench.b.pages, to, Bytes(bytes), Amount::kAll).value;
          ended = task.now();
          b_interrupts = bench.b.interrupts.handled() - b_interrupts;
          b_switches = bench.b.usage.context_switches(CpuPlane::kData) - b_switches;
        },
        options);
    finished = bench.run();
  }
  bool arrived() const {
    return finished && sent == Bytes(bytes) && received == Bytes(bytes) &&
           KernelBench::holds_pattern(bench.b, to, bytes);
  }

  KernelBench bench;
  std::size_t bytes;
  VirtualAddress from;
  VirtualAddress to;
  bool finished = false;
  Bytes sent;
  Bytes received;
  Time began;
  Time ended;
  std::uint64_t a_copies = 0;
  std::uint64_t b_interrupts = 0;
  std::uint64_t b_switches = 0;
};

}  // namespace

namespace {

/// Of a message of 64 B: the sum of its steps, from the call to the return.
Time way_of_small_message() {
  const KernelConfig k;
  const InterruptConfig interrupt;
  // A line of 64 B: eight cycles to copy, and waiting for it.
  const Cycles copy = Cycles(8) + k.copy_miss;
  const Cycles sender = k.syscall + copy + k.transmit_segment + k.skb + k.transmit + k.doorbell;
  const Time way = 100_ns + 500_ns + 2_us;  // doorbell, DMA of the fake, wire
  const Cycles softirq = interrupt.entry + k.poll + k.skb + k.page + k.frame + k.merge +
                         k.receive_segment + interrupt.wake;
  // In the receive buffer the 64 B stand behind 66 B of headers, so across two lines.
  const Cycles reader = interrupt.context_switch + copy + k.copy_miss;
  const Cycles cycles = sender + softirq + reader;
  return Time::ns(static_cast<std::int64_t>(cycles.count())) + way + interrupt.latency +
         interrupt.wake_up;
}

}  // namespace

TEST_CASE("A small message takes the sum of its steps, from the call to the return") {
  Transfer transfer(64);
  REQUIRE(transfer.arrived());
  CHECK(transfer.ended - transfer.began == way_of_small_message());
  CHECK(transfer.b_interrupts == 1);
  CHECK(transfer.b_switches == 1);
}

TEST_CASE("An elided message takes the same time, counts the same copies and moves nothing") {
  SocketOptions elided;
  elided.elided = true;
  Transfer transfer(64, unmoderated(), elided);
  REQUIRE(transfer.received == Bytes(64));
  CHECK(transfer.ended - transfer.began == way_of_small_message());
  CHECK(transfer.bench.a.usage.copied() == Bytes(64));
  std::vector<std::uint8_t> data(64, 1);
  CHECK(transfer.bench.b.pages.load(transfer.to, data.data(), 64));
  CHECK(data == std::vector<std::uint8_t>(64, 0));
}

TEST_CASE("Each side copies each byte once, and each call counts one copy") {
  Transfer transfer(1'000'000);
  REQUIRE(transfer.arrived());
  CHECK(transfer.a_copies == 0);
  CHECK(transfer.bench.a.usage.copies() == 1);
  CHECK(transfer.bench.b.usage.copies() == 1);
  CHECK(transfer.bench.a.usage.copied() == Bytes(1'000'000));
  CHECK(transfer.bench.b.usage.copied() == Bytes(1'000'000));
}

TEST_CASE("Each line that a copy reads or writes crosses the memory bus once") {
  KernelBenchConfig config = unmoderated();
  config.kernel.mtu = Bytes(1408 + 52);  // segments of 22 lines
  Transfer transfer(14'080, config);
  REQUIRE(transfer.arrived());
  const MemoryBus& a = transfer.bench.a.memory.bus();
  const MemoryBus& b = transfer.bench.b.memory.bus();
  CHECK(a.crossed(BusUse::kCopyRead) == Bytes(14'080));
  CHECK(a.crossed(BusUse::kCopyWrite) == Bytes(14'080));
  // Behind 66 B of headers a segment lies across one more.
  CHECK(b.crossed(BusUse::kCopyRead) == Bytes(14'080 + 10 * 64));
  CHECK(b.crossed(BusUse::kCopyWrite) == Bytes(14'080));
}

TEST_CASE("With a cache what a sender copied into kernel memory is still there for its DMA") {
  KernelBenchConfig config = unmoderated();
  config.memory.cache.size = 1_MiB;
  Transfer transfer(14'080, config);
  REQUIRE(transfer.arrived());
  Memory& memory = transfer.bench.a.memory;
  CHECK(memory.bus().crossed(BusUse::kCopyRead) == Bytes(14'080));
  CHECK(memory.bus().crossed(BusUse::kCopyWrite) == Bytes());
  const PhysicalAddress user = *transfer.bench.a.pages.translate(transfer.from);
  CHECK(memory.cache()->read(user.value() / 64));
}

TEST_CASE("Copies that share a slow memory take the time of its bandwidth") {
  KernelBenchConfig config = unmoderated();
  config.memory.bandwidth = BitRate::gbps(1);  // a line in 512 ns
  config.memory.shared_with_copies = true;
  Transfer transfer(14'080, config);
  REQUIRE(transfer.arrived());
  CHECK(transfer.bench.a.usage.time(CpuPlane::kData, CpuCategory::kCopying) == 512_ns * 440);
}

TEST_CASE("A transfer that loses every fiftieth frame arrives byte for byte") {
  KernelBenchConfig config = unmoderated();
  config.tcp.min_rto = 1_ms;
  KernelBench bench(config);
  constexpr std::size_t kBytes = 2'000'000;
  const VirtualAddress from = KernelBench::filled(bench.a, kBytes);
  const VirtualAddress to = bench.b.map(Bytes(kBytes));
  std::uint64_t count = 0;
  std::uint64_t lost = 0;
  bench.a.ethernet.fate = [&](const FakeEthernet::Frame&) {
    if (++count % 50 != 0) return FakeEthernet::Fate::kArrives;
    ++lost;
    return count % 100 == 0 ? FakeEthernet::Fate::kLost : FakeEthernet::Fate::kDamaged;
  };
  Bytes received;
  bench.connect(
      [&](CpuTask& task, TcpSocket& socket) {
        socket.send(task, bench.a.pages, from, Bytes(kBytes));
        socket.close(task);
      },
      [&](CpuTask& task, TcpSocket& socket) {
        received = socket.receive(task, bench.b.pages, to, Bytes(kBytes), Amount::kAll).value;
        std::uint8_t end = 0;
        const VirtualAddress at = bench.b.map(Bytes(1));
        CHECK(socket.receive(task, bench.b.pages, at, Bytes(1)).value == Bytes(0));
        CHECK(socket.at_end());
        CHECK(bench.b.pages.load(at, &end, 1));
        socket.close(task);
      });
  REQUIRE(bench.run());
  CHECK(lost >= 27);
  CHECK(received == Bytes(kBytes));
  CHECK(KernelBench::holds_pattern(bench.b, to, kBytes));
}

TEST_CASE("A zero-copy send copies nothing on its side, and gives the pages back") {
  SocketOptions options;
  options.zero_copy = true;
  Transfer transfer(1'000'000, unmoderated(), options);
  REQUIRE(transfer.arrived());
  CHECK(transfer.bench.a.usage.copies() == 0);
  CHECK(transfer.bench.b.usage.copied() == Bytes(1'000'000));
  CHECK(transfer.bench.a.pages.unmap(transfer.from));
  // 4 KiB pages, two in a descriptor: never more than two pages of payload in a frame.
  for (const auto& descriptor : transfer.bench.a.ethernet.sent)
    CHECK(descriptor.piece[1].bytes + descriptor.piece[2].bytes <= 8192);
}

TEST_CASE("A zero-copy send of huge pages leaves in bursts of 45 segments") {
  SocketOptions options;
  options.zero_copy = true;
  Transfer transfer(1'000'000, unmoderated(), options, PageSize::k2MiB);
  REQUIRE(transfer.arrived());
  std::uint32_t largest = 0;
  for (const auto& descriptor : transfer.bench.a.ethernet.sent)
    largest = std::max(largest, descriptor.piece[1].bytes);
  CHECK(largest == 45 * 1448);
}

TEST_CASE("A program that polls its ring is never interrupted while it waits") {
  SocketOptions options;
  options.busy_poll = true;
  KernelBench bench;
  constexpr int kRounds = 20;
  const VirtualAddress a_buffer = bench.a.map(Bytes(64));
  const VirtualAddress b_buffer = bench.b.map(Bytes(64));
  std::uint64_t before = 0;
  std::uint64_t switches = 0;
  Time began;
  Time ended;
  bench.connect(
      [&](CpuTask& task, TcpSocket& socket) {
        const auto round = [&] {
          socket.send(task, bench.a.pages, a_buffer, Bytes(64));
          socket.receive(task, bench.a.pages, a_buffer, Bytes(64), Amount::kAll);
        };
        round();
        before = bench.a.interrupts.handled() + bench.b.interrupts.handled();
        switches = bench.b.usage.context_switches(CpuPlane::kData);
        began = task.now();
        for (int i = 0; i < kRounds; ++i) round();
        ended = task.now();
        CHECK(bench.a.interrupts.handled() + bench.b.interrupts.handled() == before);
        CHECK(bench.b.usage.context_switches(CpuPlane::kData) == switches);
      },
      [&](CpuTask& task, TcpSocket& socket) {
        for (int i = 0; i < kRounds + 1; ++i) {
          socket.receive(task, bench.b.pages, b_buffer, Bytes(64), Amount::kAll);
          socket.send(task, bench.b.pages, b_buffer, Bytes(64));
        }
      },
      options);
  REQUIRE(bench.run());
  // No interrupt, no wake-up, no switch: those alone would be 300 + 1400 + 1000 + 3500 ns a way.
  CHECK((ended - began) / kRounds < 2 * 14_us);
  CHECK(bench.a.usage.time(CpuPlane::kData, CpuCategory::kPolling) > 100_us);
}

namespace {

/// A sends two small messages, B waits for both: when it has them.
Time second_of_two(KernelBench& bench, const SocketOptions& options) {
  const VirtualAddress from = bench.a.map(Bytes(64));
  const VirtualAddress to = bench.b.map(Bytes(64));
  Time second;
  bench.connect(
      [&](CpuTask& task, TcpSocket& socket) {
        socket.send(task, bench.a.pages, from, Bytes(32));
        socket.send(task, bench.a.pages, from, Bytes(32));
      },
      [&](CpuTask& task, TcpSocket& socket) {
        socket.receive(task, bench.b.pages, to, Bytes(64), Amount::kAll);
        second = task.now() - Time::ms(2);
      },
      options);
  CHECK(bench.run());
  return second;
}

}  // namespace

TEST_CASE("With Nagle's rule a second small message waits for the delayed acknowledgement") {
  KernelBench bench;
  const Time second = second_of_two(bench, {});
  CHECK(second > 40_ms);
  CHECK(second < 41_ms);
}

TEST_CASE("Without it the second leaves at once") {
  KernelBench bench;
  SocketOptions options;
  options.nodelay = true;
  CHECK(second_of_two(bench, options) < 30_us);
}

TEST_CASE("An address that is not mapped is refused, and nothing is sent") {
  KernelBench bench;
  bench.connect(
      [&](CpuTask& task, TcpSocket& socket) {
        CHECK(socket.send(task, bench.a.pages, VirtualAddress(0x1000), Bytes(8)).error ==
              Errno::kFault);
        CHECK(socket.connection().written() == 0);
        socket.close(task);
      },
      [&](CpuTask& task, TcpSocket& socket) {
        const VirtualAddress to = bench.b.map(Bytes(8));
        CHECK(socket.receive(task, bench.b.pages, VirtualAddress(0x1000), Bytes(8)).error ==
              Errno::kFault);
        CHECK(socket.receive(task, bench.b.pages, to, Bytes(8)).value == Bytes(0));
      });
  CHECK(bench.run());
}

TEST_CASE("A poller whose frames come by another ring leaves the first to softirq") {
  KernelBenchConfig config = unmoderated();
  config.kernel.queues = 2;
  KernelBench bench(config);
  std::size_t queue = 0;
  bench.b.ethernet.steer = [&](const FrameHeaders&) { return queue; };
  const VirtualAddress from = bench.a.map(Bytes(64));
  const VirtualAddress to = bench.b.map(Bytes(64));
  SocketOptions options;
  options.busy_poll = options.nodelay = true;
  std::vector<Time> came;
  bench.connect(
      [&](CpuTask& task, TcpSocket& socket) {
        for (int i = 0; i < 3; ++i) {
          task.sleep_until(Time::ms(3 + i));
          queue = i == 1 ? 1 : 0;
          socket.send(task, bench.a.pages, from, Bytes(64));
        }
      },
      [&](CpuTask& task, TcpSocket& socket) {
        for (int i = 0; i < 3; ++i) {
          socket.receive(task, bench.b.pages, to, Bytes(64), Amount::kAll);
          came.push_back(task.now() - Time::ms(3 + i));
        }
      },
      options);
  REQUIRE(bench.run());
  REQUIRE(came.size() == 3);
  // The third comes by the ring that was polled first and has been softirq's again since.
  CHECK(came[2] < 40_us);
}

TEST_CASE("Pages of a reset connection stay pinned until the NIC has read its frames") {
  SocketOptions options;
  options.zero_copy = options.nodelay = true;
  KernelBench bench;
  const VirtualAddress first = bench.a.map(Bytes(64));
  const VirtualAddress second = bench.a.map(Bytes(8192));
  Time failed;
  Time free;
  bench.connect(
      [&](CpuTask& task, TcpSocket& socket) {
        socket.send(task, bench.a.pages, first, Bytes(64));
        task.sleep_until(Time::ms(2) + 500_us);
        bench.a.ethernet.read_latency = 5_ms;
        socket.send(task, bench.a.pages, second, Bytes(8192));
        const VirtualAddress to = bench.a.map(Bytes(8));
        CHECK(socket.receive(task, bench.a.pages, to, Bytes(8)).value == Bytes(0));
        CHECK(socket.failure() == TcpFailure::kReset);
        failed = task.now();
        CHECK_FALSE(bench.a.pages.unmap(second));
        socket.await_pages(task);
        free = task.now();
        CHECK(bench.a.pages.unmap(second));
      },
      [&](CpuTask& task, TcpSocket& socket) {
        task.sleep_until(Time::ms(3));
        socket.close(task);
      },
      options);
  REQUIRE(bench.run());
  CHECK(failed < 4_ms);
  CHECK(free > 7_ms);
}

TEST_CASE("A reset while a program copies ends its call, and leaves no memory behind") {
  KernelBench bench;
  constexpr std::size_t kBytes = 4'000'000;
  const VirtualAddress from = bench.a.map(Bytes(kBytes));
  const Bytes before = bench.a.frames.kernel_in_use();
  Bytes open;
  Bytes sent(kBytes);
  bench.connect(
      [&](CpuTask& task, TcpSocket& socket) {
        open = bench.a.frames.kernel_in_use();
        sent = socket.send(task, bench.a.pages, from, Bytes(kBytes)).value;
        CHECK(socket.failure() == TcpFailure::kReset);
        task.sleep_until(Time::ms(20));
      },
      [&](CpuTask& task, TcpSocket& socket) {
        task.sleep_until(Time::ms(2) + 100_us);
        socket.close(task);
      });
  REQUIRE(bench.run());
  CHECK(before < open);
  CHECK(sent > Bytes(0));
  CHECK(sent < Bytes(kBytes));
  CHECK(bench.a.frames.kernel_in_use() == open);
}

TEST_CASE("A socket closed with data unread resets its peer") {
  KernelBench bench;
  const VirtualAddress from = bench.a.map(Bytes(64));
  bench.connect(
      [&](CpuTask& task, TcpSocket& socket) {
        socket.send(task, bench.a.pages, from, Bytes(64));
        CHECK(socket.receive(task, bench.a.pages, from, Bytes(64)).value == Bytes(0));
        CHECK(socket.failure() == TcpFailure::kReset);
        CHECK(socket.send(task, bench.a.pages, from, Bytes(64)).value == Bytes(0));
      },
      [&](CpuTask& task, TcpSocket& socket) {
        task.sleep_until(Time::ms(3));
        socket.close(task);
        CHECK(socket.failure() == TcpFailure::kAborted);
      });
  REQUIRE(bench.run());
}

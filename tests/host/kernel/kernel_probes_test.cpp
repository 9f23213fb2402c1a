// SPDX-License-Identifier: MIT
// What the kernel's network path tells observers.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/kernel_bench.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/probe_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;
using Amount = TcpSocket::Amount;

namespace {

constexpr Time kTalk = 2_ms;  ///< programs go on then

struct Observed {
  explicit Observed(const KernelBenchConfig& config = unmoderated()) : bench(config) {
    bench.a.network.probe().attach(&a, 1);
    bench.b.network.probe().attach(&b, 2);
  }
  /// A sends, B receives; true if all came.
  bool transfer(std::size_t bytes) {
    const VirtualAddress from = KernelBench::filled(bench.a, bytes);
    const VirtualAddress to = bench.b.map(Bytes(bytes));
    bench.connect(
        [&, from, bytes](CpuTask& task, TcpSocket& socket) {
          socket.send(task, bench.a.pages, from, Bytes(bytes));
        },
        [&, to, bytes](CpuTask& task, TcpSocket& socket) {
          socket.receive(task, bench.b.pages, to, Bytes(bytes), Amount::kAll);
        });
    return bench.run() && KernelBench::holds_pattern(bench.b, to, bytes);
  }

  KernelBench bench;
  ProbeRecorder a;
  ProbeRecorder b;
};

Time begin_of(const ProbeRecord& r) { return Time::ps(static_cast<std::int64_t>(r.a)); }

std::vector<ProbeRecord> from(const ProbeRecorder& recorder, Time time) {
  std::vector<ProbeRecord> all;
  for (const ProbeRecord& r : recorder.records)
    if (r.time >= time) all.push_back(r);
  return all;
}

std::vector<ProbeKind> kinds(const std::vector<ProbeRecord>& records) {
  std::vector<ProbeKind> all;
  all.reserve(records.size());
  for (const ProbeRecord& r : records) all.push_back(r.kind);
  return all;
}

}  // namespace

TEST_CASE("A call to send is told step by step, each with its time and its stretch of the stream") {
  Observed observed;
  REQUIRE(observed.transfer(100));
  const KernelConfig k;
  const auto told = from(observed.a, kTalk);
  REQUIRE(told.size() >= 4);
  CHECK(kinds({told.begin(), told.begin() + 4}) ==
        std::vector<ProbeKind>{ProbeKind::kCopiedIn, ProbeKind::kSegmentMade,
                               ProbeKind::kSegmentRung, ProbeKind::kSocketSend});
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(told[i].component == 1);
    CHECK(told[i].segment.payload == 100);
    CHECK(told[i].segment.destination_port == KernelBench::kPort);
    CHECK(told[i].segment.sequence == told[0].segment.sequence);
  }
  // A cycle is a nanosecond.
  const auto time_of = [](Cycles cycles) {
    return 1_ns * static_cast<std::int64_t>(cycles.count());
  };
  CHECK(begin_of(told[0]) == kTalk + time_of(k.syscall));
  CHECK(begin_of(told[1]) == told[0].time);
  CHECK(told[1].time - begin_of(told[1]) == time_of(k.transmit_segment + k.skb + k.transmit));
  CHECK(begin_of(told[2]) == told[1].time);
  CHECK(told[2].time - begin_of(told[2]) == time_of(k.doorbell));
  CHECK(begin_of(told[3]) == kTalk);
  CHECK(told[3].time == told[2].time);
  CHECK(told[3].b == 100);
}

TEST_CASE("A segment is told from softirq to the program that has slept for it") {
  Observed observed;
  REQUIRE(observed.transfer(100));
  const KernelConfig k;
  const InterruptConfig interrupt;
  const auto told = from(observed.b, kTalk);
  REQUIRE(told.size() >= 5);
  CHECK(kinds({told.begin(), told.begin() + 5}) ==
        std::vector<ProbeKind>{ProbeKind::kSegmentTaken, ProbeKind::kSoftirqRound,
                               ProbeKind::kSocketWoken, ProbeKind::kCopiedOut,
                               ProbeKind::kSocketReceive});
  const auto time_of = [](Cycles cycles) {
    return 1_ns * static_cast<std::int64_t>(cycles.count());
  };
  CHECK(told[0].time - begin_of(told[0]) == time_of(k.receive_segment));
  CHECK(told[0].b == 1);
  CHECK(told[0].segment.payload == 100);
  CHECK(told[1].b == 1);
  CHECK_FALSE(told[1].segment);
  CHECK(begin_of(told[2]) == told[0].time + time_of(interrupt.wake));
  CHECK(told[2].time - begin_of(told[2]) == interrupt.wake_up + time_of(interrupt.context_switch));
  CHECK(told[2].segment.payload == 100);
  CHECK(begin_of(told[3]) == told[2].time);
  CHECK(begin_of(told[4]) == kTalk);
  CHECK(told[4].time == told[3].time);
  for (const std::size_t i : {0, 2, 3, 4})
    CHECK(told[i].segment.sequence == told[0].segment.sequence);
}

TEST_CASE("Both ends tell of their connection, and who called") {
  Observed observed;
  REQUIRE(observed.transfer(1));
  const auto a = observed.a.of(ProbeKind::kConnected);
  const auto b = observed.b.of(ProbeKind::kConnected);
  REQUIRE(a.size() == 1);
  REQUIRE(b.size() == 1);
  CHECK(a[0].b == 1);
  CHECK(b[0].b == 0);
  CHECK(begin_of(a[0]) == 1_ms);
  CHECK(a[0].segment.source_port == b[0].segment.source_port);
  CHECK(a[0].segment.destination_port == KernelBench::kPort);
}

TEST_CASE("What is sent again is told, with its reason, byte for byte as the sender counts it") {
  KernelBenchConfig config = unmoderated();
  config.tcp.min_rto = 1_ms;
  Observed observed(config);
  std::uint64_t count = 0;
  observed.bench.a.ethernet.fate = [&](const FakeEthernet::Frame&) {
    return ++count % 20 == 0 ? FakeEthernet::Fate::kLost : FakeEthernet::Fate::kArrives;
  };
  REQUIRE(observed.transfer(3'000'000));
  std::uint64_t bytes = 0;
  std::uint64_t after_duplicates = 0;
  for (const ProbeRecord& r : observed.a.of(ProbeKind::kSegmentAgain)) {
    bytes += r.segment.payload;
    after_duplicates += static_cast<TcpAgain>(r.b) == TcpAgain::kDuplicates ? 1 : 0;
  }
  CHECK(bytes != 0);
  CHECK(bytes == metrics_of(observed.bench.a.network).at("connection0.send.sent_again"));
  CHECK(after_duplicates != 0);
}

TEST_CASE("A call that nobody takes fails, and the reset is told") {
  Observed observed;
  KernelBench& bench = observed.bench;
  bench.start(bench.b.cores[0], [&](CpuTask& task) {
    bench.b.driver.bring_up(task);
    bench.b.network.open(task, bench.b.address);
  });
  bench.start(bench.a.cores[0], [&](CpuTask& task) {
    bench.a.driver.bring_up(task);
    bench.a.network.open(task, bench.a.address);
    task.sleep_until(1_ms);
    const TcpSocket& socket = bench.a.network.connect(task, {bench.b.address, 99});
    CHECK(socket.failure() == TcpFailure::kRefused);
  });
  REQUIRE(bench.run());
  CHECK(observed.a.of(ProbeKind::kConnected).empty());
  const auto failed = observed.a.of(ProbeKind::kConnectionFailed);
  REQUIRE(failed.size() == 1);
  CHECK(static_cast<TcpFailure>(failed[0].b) == TcpFailure::kRefused);
  const auto resets = observed.b.of(ProbeKind::kResetSent);
  REQUIRE(resets.size() == 1);
  CHECK(text_of(resets[0].segment) == "99 > 32768, seq 0, 0 B [RST,ACK]");
}

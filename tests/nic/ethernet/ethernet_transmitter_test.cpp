// SPDX-License-Identifier: MIT
// Sending beside pauses, and queues that go while something of theirs is under way.
#include "nic/ethernet/ethernet_transmitter.h"

#include <catch2/catch.hpp>

#include "tests/support/ethernet_bench.h"
#include "tests/support/own_process.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using abi::CommandOpcode;
using abi::CommandStatus;
using test::BenchOptions;
using test::pattern;
using test::segment_headers;
using Bench = test::EthernetBench;

namespace {

constexpr std::uint8_t kSegment = abi::EthernetTransmitDescriptor::kSegment;
constexpr std::uint8_t kChecksum = abi::EthernetTransmitDescriptor::kChecksum;
constexpr std::uint8_t kSignaled = abi::EthernetTransmitDescriptor::kSignaled;
constexpr std::uint32_t kBurst = 64 * 1024;
constexpr std::uint32_t kMss = 1460;
constexpr std::uint32_t kSegments = 45;
constexpr std::uint32_t kBuffered = 9;  // packets of 1500 B while 16 KiB have room for a frame
constexpr std::uint8_t kTcpPriority = 0;
constexpr std::uint8_t kRdmaPriority = 3;

/// Both pause a priority of the other from a time on.
BenchOptions paused(std::uint8_t priority, Time from, std::optional<Time> until = {}) {
  BenchOptions options;
  options.nic.pause_storm = {{priority, from, until}};
  options.nic.ethernet.transmit_buffer = Bytes(16 * 1024);
  return options;
}

CommandStatus status_of(Bench& bench) {
  return abi::CommandEntry::read(bench.a.driver.at(bench.a.driver.command_queue)).status;
}

}  // namespace

TEST_CASE("a queue whose priority is paused for ever can be destroyed, and made again") {
  Bench bench({}, 64, paused(kTcpPriority, 100_us));
  bench.run_until(110_us);
  bench.sender.post(0, segment_headers(0, 1, 0), pattern(kBurst), kSegment | kSignaled, kMss);
  bench.sender.ring(0);
  bench.run_until(120_us);
  // The packets that are made wait in the port, the rest has no room.
  REQUIRE(bench.a.metric("ethernet.tx_packets") == kBuffered);
  REQUIRE(bench.a.metric("ethernet.tx.stalled.transmit_buffer") == 0);  // and still stalls
  Bench::begin_command(bench.a, CommandOpcode::kDestroyEthernetQueue, 0);
  bench.run_until(130_us);
  CHECK(Bench::command_done(bench.a) < 122_us);
  CHECK(status_of(bench) == CommandStatus::kOk);
  CHECK(bench.sender.sent(0).empty());
  CHECK(bench.a.metric("ethernet.tx.stalled.transmit_buffer") > 0);
  Bench::begin_command(bench.a, CommandOpcode::kDestroyEthernetQueue, 0);
  bench.run_until(140_us);
  CHECK(status_of(bench) == CommandStatus::kBadObject);
}

TEST_CASE("what was a packet when its queue was destroyed is sent when the pause ends") {
  Bench bench({}, 64, paused(kTcpPriority, 100_us, 200_us));
  bench.run_until(110_us);
  bench.sender.post(0, segment_headers(0, 1, 0), pattern(kBurst), kSegment | kSignaled, kMss);
  bench.sender.ring(0);
  bench.run_until(120_us);
  Bench::begin_command(bench.a, CommandOpcode::kDestroyEthernetQueue, 0);
  bench.run_until(130_us);
  bench.sender.add_transmit(0);
  bench.send(segment_headers(0, 1, 100), pattern(100), kChecksum | kSignaled);
  const auto frames = bench.receiver.received(1);
  REQUIRE(frames.size() == kBuffered + 1);
  CHECK(frames[kBuffered - 1].headers.tcp.sequence == TcpSeq(1000 + (kBuffered - 1) * kMss));
  CHECK(frames[kBuffered].payload() == pattern(100));
  CHECK(bench.sender.sent(0) == std::vector<std::uint32_t>{1});
  CHECK(bench.a.nic.idle());
}

TEST_CASE("a queue that is destroyed amid a burst finishes its reads before the command") {
  BenchOptions options;
  options.rate = BitRate::gbps(10);
  options.nic.ethernet.transmit_buffer = Bytes(16 * 1024);
  Bench bench({}, 64, options);
  bench.sender.post(0, segment_headers(0, 1, 0), pattern(kBurst), kSegment | kSignaled, kMss);
  bench.sender.ring(0);
  bench.run_until(bench.scheduler.now() + 10_us);  // of 55
  const std::uint64_t made = bench.a.metric("ethernet.tx_packets");
  REQUIRE(made > kBuffered);
  Bench::begin_command(bench.a, CommandOpcode::kDestroyEthernetQueue, 0);
  bench.run();
  CHECK(status_of(bench) == CommandStatus::kOk);
  const std::uint64_t sent = bench.a.metric("ethernet.tx_packets");
  CHECK(sent >= made);
  CHECK(sent < made + 3);
  CHECK(bench.sender.sent(0).empty());
  CHECK(bench.receiver.received(1).size() == sent);
  CHECK(Bench::last_frame_access(bench.a) <= Bench::command_done(bench.a));
  CHECK(bench.a.nic.idle());
}

TEST_CASE("a receive queue that is destroyed amid a burst takes nothing after the command") {
  Bench bench;
  bench.sender.post(0, segment_headers(0, 1, 0), pattern(kBurst), kSegment | kSignaled, kMss);
  bench.sender.ring(0);
  bench.run_until(bench.scheduler.now() + 2_us);
  Bench::begin_command(bench.b, CommandOpcode::kDestroyEthernetQueue, 1);
  bench.run();
  const std::size_t came = bench.receiver.received(1).size();
  CHECK(came > 10);
  CHECK(came < 30);
  const std::uint64_t written = bench.b.metric("ethernet.rx_frames");
  CHECK(came <= written);
  CHECK(written < kSegments);
  CHECK(bench.b.metric("port.rx_packets") == kSegments);
  CHECK(Bench::last_frame_access(bench.b) <= Bench::command_done(bench.b));
  CHECK(bench.b.nic.idle());
}

TEST_CASE("a NIC that is closed has done with plain frames in host memory when it says so") {
  Bench bench;
  bench.sender.post(0, segment_headers(0, 1, 0), pattern(kBurst), kSegment | kSignaled, kMss);
  Bench::begin_command(bench.a, CommandOpcode::kCloseHca);
  bench.run_until(bench.scheduler.now() + 800_ns);
  bench.sender.ring(0);  // the command is carried out while the headers are being read
  bench.run();
  CHECK(status_of(bench) == CommandStatus::kOk);
  CHECK(bench.a.metric("ethernet.tx_descriptors") == 1);
  CHECK(bench.a.metric("ethernet.tx_packets") == 0);
  CHECK(Bench::last_frame_access(bench.a) <= Bench::command_done(bench.a));
  CHECK(bench.sender.sent(0).empty());
}

TEST_CASE("a NIC that is closed and opened writes no frames to where its queues were") {
  for (const CommandOpcode opcode : {CommandOpcode::kCloseHca, CommandOpcode::kInitHca}) {
    const std::string said = test::in_own_process([opcode] {
      Bench bench;
      bench.b.driver.tables.write(bench.b.driver.at(bench.b.driver.mailbox));
      bench.sender.post(0, segment_headers(0, 1, 0), pattern(kBurst), kSegment, kMss);
      bench.sender.ring(0);
      bench.run_until(bench.scheduler.now() + 2_us);
      Bench::begin_command(bench.b, opcode);
      bench.run();
      const std::size_t came = bench.receiver.received(1).size();
      const bool amid = came > 10 && came < 30;
      const bool quiet = Bench::last_frame_access(bench.b) <= Bench::command_done(bench.b);
      return std::string(amid ? "amid" : "not amid") + (quiet ? ", quiet" : ", not quiet");
    });
    CHECK(said == "amid, quiet");
  }
}

namespace {

/// One WRITE of 4 KiB from A to B, which B does not pause.
void post_write(Bench& bench) {
  test::QpOptions options;
  options.dscp = kRdmaPriority << 3;
  bench.connect(Qpn(1), options);
  const test::Region source = bench.a.driver.add_region(1);
  const test::Region target = bench.b.driver.add_region(1);
  test::MiniDriver::Write write;
  write.remote = target.start;
  write.rkey = target.key;
  write.gather = {{source.start, 4096, source.key}};
  bench.a.driver.post(Qpn(1), write);
}

}  // namespace

TEST_CASE("a pause of RDMA's priority does not stop TCP") {
  Bench bench({}, 64, paused(kRdmaPriority, 100_us, 200_us));
  post_write(bench);
  bench.run_until(110_us);
  bench.a.driver.ring(Qpn(1));
  bench.sender.post(0, segment_headers(0, 1, 0), pattern(kBurst), kSegment, kMss);
  bench.sender.ring(0);
  bench.run_until(130_us);
  CHECK(bench.received_payload() == pattern(kBurst));
  CHECK(bench.a.driver.poll(Cqn(1)).empty());
  bench.run_until(300_us);
  CHECK(bench.a.driver.poll(Cqn(1)).size() == 1);
}

TEST_CASE("a pause of TCP's priority does not stop RDMA") {
  Bench bench({}, 64, paused(kTcpPriority, 100_us));
  post_write(bench);
  bench.run_until(110_us);
  bench.sender.post(0, segment_headers(0, 1, 0), pattern(kBurst), kSegment, kMss);
  bench.sender.ring(0);
  bench.run_until(112_us);
  bench.a.driver.ring(Qpn(1));
  bench.run_until(130_us);
  CHECK(bench.a.driver.poll(Cqn(1)).size() == 1);
  CHECK(bench.receiver.received(1).empty());
}

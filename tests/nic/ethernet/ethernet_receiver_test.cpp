// SPDX-License-Identifier: MIT
// Frames of several buffers and merged ones, where buffers are short or their flow is steered anew.
#include "nic/ethernet/ethernet_receiver.h"

#include <catch2/catch.hpp>

#include "tests/support/ethernet_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using abi::CommandOpcode;
using test::BenchOptions;
using test::EthernetOptions;
using test::pattern;
using test::segment_headers;
using Bench = test::EthernetBench;
using Bytestring = std::vector<std::uint8_t>;

namespace {

constexpr std::uint8_t kSegment = abi::EthernetTransmitDescriptor::kSegment;
constexpr std::uint8_t kChecksum = abi::EthernetTransmitDescriptor::kChecksum;
constexpr std::uint32_t kBurst = 64 * 1024;
constexpr std::uint32_t kMss = 1460;

EthernetOptions merging(std::uint8_t log_entries = 6, std::uint32_t buffer_bytes = 2048) {
  EthernetOptions options;
  options.merge = true;
  options.log_entries = log_entries;
  options.buffer_bytes = buffer_bytes;
  return options;
}

std::vector<std::uint32_t> segments_of(const std::vector<test::ReceivedFrame>& frames) {
  std::vector<std::uint32_t> segments;
  for (const test::ReceivedFrame& frame : frames) segments.push_back(frame.completion.segments);
  return segments;
}

Bytestring payload_of(const std::vector<test::ReceivedFrame>& frames) {
  Bytestring all;
  for (const test::ReceivedFrame& frame : frames) {
    const Bytestring part = frame.payload();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

TEST_CASE("a frame of many buffers gets them though a whole read of descriptors has no room") {
  BenchOptions options;
  options.nic.ethernet.buffers_per_fetch = 64;
  Bench bench(merging(7), 128, options);
  // 20 of 64 are left of the first read, the burst takes 32.
  for (int i = 0; i < 44; ++i)
    bench.sender.post(0, segment_headers(0, 1, 100), pattern(100), kChecksum);
  bench.sender.ring(0);
  bench.run();
  REQUIRE(bench.receiver.received(1).size() == 44);
  bench.send(segment_headers(0, 1, 0), pattern(kBurst), kSegment, kMss);
  const auto frames = bench.receiver.received(1);
  CHECK(segments_of(frames) == std::vector<std::uint32_t>{44, 1});
  CHECK(payload_of(frames) == pattern(kBurst));
  CHECK(bench.b.metric("ethernet.rx_out_of_buffer") == 0);
}

TEST_CASE("of a merged frame that finds too few buffers the segments that fit are there") {
  Bench bench(merging(), 10);
  bench.send(segment_headers(0, 1, 0), pattern(kBurst), kSegment, kMss);
  const auto frames = bench.receiver.received(1);
  // 54 + 13 * 1460 B in 10 * 2048.
  REQUIRE(segments_of(frames) == std::vector<std::uint32_t>{13});
  const test::ReceivedFrame& frame = frames[0];
  CHECK(frame.completion.descriptors == 10);
  CHECK(frame.completion.bytes == 54 + 13 * kMss);
  CHECK(frame.headers.ip.total_length == 40 + 13 * kMss);
  CHECK(frame.headers.tcp.sequence == TcpSeq(1000));
  const Bytestring all = pattern(kBurst);
  CHECK(frame.payload() == Bytestring(all.begin(), all.begin() + 13 * kMss));
  CHECK(bench.b.metric("ethernet.rx_out_of_buffer") == 45 - 13);
  CHECK(bench.b.nic.idle());
}

TEST_CASE("a merged frame that needs more buffers than can be here becomes several") {
  Bench bench(merging(8, 512), 256);
  bench.send(segment_headers(0, 1, 0), pattern(kBurst), kSegment, kMss);
  const auto frames = bench.receiver.received(1);
  // 54 + 22 * 1460 B take 63 of 64.
  REQUIRE(segments_of(frames) == std::vector<std::uint32_t>{22, 22, 1});
  CHECK(frames[0].completion.descriptors == 63);
  CHECK(frames[1].headers.tcp.sequence == TcpSeq(1000 + 22 * kMss));
  CHECK(frames[1].completion.first == 63);
  CHECK(payload_of(frames) == pattern(kBurst));
  CHECK(bench.b.metric("ethernet.rx_out_of_buffer") == 0);
}

TEST_CASE("what waits to be merged leaves room in a small receive buffer for what comes") {
  BenchOptions options;
  options.nic.port.headroom = Bytes(16 * 1024);
  options.nic.mac_rx.receive_buffer = Bytes(48 * 1024);  // 16 KiB for lossy priorities
  Bench bench(merging(), 64, options);
  bench.send(segment_headers(0, 1, 0), pattern(kBurst), kSegment, kMss);
  const auto frames = bench.receiver.received(1);
  CHECK(payload_of(frames) == pattern(kBurst));
  CHECK(segments_of(frames) == std::vector<std::uint32_t>(9, 5));
  CHECK(bench.b.metric("ethernet.merge.occupancy.max") == 5 * 1518);
  CHECK(bench.b.metric("port.rx_discards_phy") == 0);
}

namespace {

/// A segment that waits for others, then a command to the receiver: whether the segment waited
/// until the command or until its time was over.
bool goes_with_command(Bench& bench, CommandOpcode opcode, std::uint32_t object) {
  SegmentHeaders headers = segment_headers(0, 1, 100);
  headers.tcp.psh = false;
  bench.sender.post(0, headers, pattern(100), kChecksum);
  bench.sender.ring(0);
  bench.scheduler.run_until(bench.scheduler.now() + 5_us);
  REQUIRE(bench.b.memory.of(DmaPurpose::kFrame).empty());
  Bench::begin_command(bench.b, opcode, object);
  bench.run();
  const auto frames = bench.b.memory.of(DmaPurpose::kFrame);
  REQUIRE(frames.size() == 1);
  return frames[0].begin == Bench::command_done(bench.b);
}

abi::EthernetFlowRule rule_to(std::uint32_t queue, std::uint16_t source_port = 40000) {
  const SegmentHeaders headers = segment_headers(0, 1, 100);
  return {headers.ip.source, headers.ip.destination, source_port, 5001, queue};
}

}  // namespace

TEST_CASE("a segment that waits goes on when a rule sends its flow to another queue") {
  Bench bench(merging());
  EthernetOptions other = merging();
  other.rss = false;
  bench.receiver.add_receive(2, 8, other);
  bench.clear_logs();
  rule_to(2).write(bench.b.driver.at(bench.b.driver.mailbox));
  CHECK(goes_with_command(bench, CommandOpcode::kSetFlowRule, 0));
  CHECK(bench.receiver.received(1).size() == 1);
  bench.clear_logs();
  // Back to queue 1.
  CHECK(goes_with_command(bench, CommandOpcode::kClearFlowRule, 0));
  CHECK(bench.receiver.received(2).size() == 1);
}

TEST_CASE("a segment stays where it waits when a rule concerns another flow") {
  Bench bench(merging());
  EthernetOptions other = merging();
  other.rss = false;
  bench.receiver.add_receive(2, 8, other);
  bench.clear_logs();
  rule_to(2, 40001).write(bench.b.driver.at(bench.b.driver.mailbox));
  CHECK_FALSE(goes_with_command(bench, CommandOpcode::kSetFlowRule, 0));
  CHECK(bench.b.metric("ethernet.merge.timeouts") == 1);
}

TEST_CASE("a segment that waits goes on when the hash finds another queue, as one is gone") {
  Bench bench(merging());
  bench.receiver.add_receive(0, 8, merging());
  bench.receiver.add_receive(2, 8, merging());
  const abi::EthernetFlowRule flow = rule_to(0);
  // The first of three queues, the second of two.
  REQUIRE(flow_hash({flow.source, flow.destination, 40000, 5001}) % 128 == 9);
  bench.clear_logs();
  CHECK(goes_with_command(bench, CommandOpcode::kDestroyEthernetQueue, 1));
  CHECK(bench.receiver.received(0).size() == 1);
}

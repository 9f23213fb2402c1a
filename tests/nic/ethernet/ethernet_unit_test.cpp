// SPDX-License-Identifier: MIT
// Whole NICs back to back, as plain Ethernet devices.
#include "nic/ethernet/ethernet_unit.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/ethernet_bench.h"
#include "tests/support/own_process.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::BenchOptions;
using Bench = test::EthernetBench;
using test::EthernetOptions;
using test::kReadLatency;
using test::kWriteLatency;
using test::pattern;
using test::segment_headers;
using Bytestring = std::vector<std::uint8_t>;

namespace {

const Clock kClock{Frequency::mhz(400)};
constexpr Time kByte = Time::ps(80);  // at 100 Gb/s
constexpr Time kCable = 15_ns;
constexpr std::uint8_t kSegment = abi::EthernetTransmitDescriptor::kSegment;
constexpr std::uint8_t kChecksum = abi::EthernetTransmitDescriptor::kChecksum;
constexpr std::uint8_t kSignaled = abi::EthernetTransmitDescriptor::kSignaled;
constexpr std::uint32_t kBurst = 64 * 1024;
constexpr std::uint32_t kMss = 1460;
constexpr std::uint32_t kSegments = 45;  // of kBurst: 44 whole ones and 1296 B

EthernetOptions merging() {
  EthernetOptions options;
  options.merge = true;
  return options;
}

}  // namespace

TEST_CASE("a frame takes the sum of its stages from doorbell to interrupt") {
  Bench bench;
  bench.receiver.arm(1);
  bench.sender.arm(0);
  bench.run();
  const Time rung = bench.scheduler.now();
  bench.send(segment_headers(0, 1, 100), pattern(100), kChecksum | kSignaled);
  // Doorbell, descriptor, headers, turn, payload, checksum.
  const Time fetched = kClock.after(rung, Cycles(8)) + kReadLatency;
  const Time read = kClock.after(fetched + kReadLatency, Cycles(20)) + kReadLatency;
  const Time start = kClock.after(read, Cycles(8));
  const std::uint32_t frame = 14 + 20 + 20 + 100 + 4;
  const Time arrival = start + kByte * (8 + frame) + kCable;
  const Time written = kClock.after(kClock.after(arrival, Cycles(8)), Cycles(20));
  const Time entry = kClock.after(written + kWriteLatency, Cycles(6));

  const auto frames = bench.b.memory.of(DmaPurpose::kFrame);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].begin == written);
  CHECK(frames[0].bytes == frame - 4);
  CHECK(bench.receiver.message_times(1) == std::vector<Time>{entry});
  CHECK(bench.sender.message_times(0) == std::vector<Time>{kClock.after(read, Cycles(6))});
  CHECK(bench.sender.sent(0) == std::vector<std::uint32_t>{1});
  const auto received = bench.receiver.received(1);
  REQUIRE(received.size() == 1);
  CHECK(received[0].payload() == pattern(100));
  CHECK(received[0].completion.flags == abi::EthernetReceiveCompletion::kChecksumGood);
  CHECK(bench.a.nic.idle());
  CHECK(bench.b.nic.idle());
}

TEST_CASE("a burst of 64 KiB leaves as 45 segments, each with its own headers") {
  Bench bench;
  bench.send(segment_headers(0, 1, 0), pattern(kBurst), kSegment | kSignaled, kMss);
  const auto received = bench.receiver.received(1);
  REQUIRE(received.size() == kSegments);
  Bytestring all;
  for (std::uint32_t i = 0; i < kSegments; ++i) {
    const test::ReceivedFrame& frame = received[i];
    const Bytestring payload = frame.payload();
    CHECK(payload.size() == (i == 44 ? 1296 : kMss));
    CHECK(frame.headers.tcp.sequence == TcpSeq(1000 + i * kMss));
    CHECK(frame.headers.tcp.psh == (i == 44));
    CHECK(frame.headers.ip.identification == 77 + i);
    CHECK(frame.headers.ip.total_length == 40 + payload.size());
    CHECK(frame.completion.flags == abi::EthernetReceiveCompletion::kChecksumGood);
    CHECK(frame.completion.segments == 1);
    CHECK(frame.completion.first == i);
    all.insert(all.end(), payload.begin(), payload.end());
  }
  CHECK(all == pattern(kBurst));
  CHECK(bench.sender.sent(0) == std::vector<std::uint32_t>{1});
  CHECK(bench.a.metric("ethernet.tx_bursts_cut") == 1);
  CHECK(bench.a.metric("ethernet.tx_packets") == kSegments);
  CHECK(bench.a.metric("ethernet.completions") == 1);
  CHECK(bench.b.metric("ethernet.completions") == kSegments);
  CHECK(bench.b.metric("port.receive_buffer.occupancy.max") > 0);
}

TEST_CASE("segments of a burst follow each other without a gap on the wire") {
  Bench bench;
  bench.b.probes.records.clear();
  bench.send(segment_headers(0, 1, 0), pattern(kBurst), kSegment, kMss);
  std::vector<Time> times;
  for (const ProbeRecord& record : bench.b.probes.of(ProbeKind::kPacketReceived))
    times.push_back(record.time);
  REQUIRE(times.size() == kSegments);
  for (std::uint32_t i = 1; i < kSegments - 1; ++i)
    CHECK(times[i] - times[i - 1] == kByte * (kMss + 54 + 4 + 8 + 12));
}

TEST_CASE("a queue that merges makes two frames of such a burst: 64 KiB of IP, and the rest") {
  Bench bench(merging());
  bench.send(segment_headers(0, 1, 0), pattern(kBurst), kSegment, kMss);
  const auto received = bench.receiver.received(1);
  REQUIRE(received.size() == 2);
  CHECK(received[0].completion.segments == 44);
  CHECK(received[0].completion.descriptors == 32);
  CHECK(received[0].headers.ip.total_length == 40 + 44 * kMss);
  CHECK_FALSE(received[0].headers.tcp.psh);
  CHECK(received[1].completion.segments == 1);
  CHECK(received[1].completion.first == 32);
  CHECK(received[1].headers.tcp.psh);
  Bytestring all = received[0].payload();
  const Bytestring rest = received[1].payload();
  all.insert(all.end(), rest.begin(), rest.end());
  CHECK(all == pattern(kBurst));
  CHECK(bench.b.metric("ethernet.merge.segments") == 44);
  CHECK(bench.b.metric("ethernet.rx_frames") == 2);
  CHECK(bench.b.nic.idle());
}

TEST_CASE("moderated by 16 frames, an armed queue interrupts at the sixteenth of a burst") {
  EthernetOptions options;
  options.frames = 16;
  options.period_us = 100;
  Bench bench(options);
  bench.receiver.arm(1);
  bench.send(segment_headers(0, 1, 0), pattern(kBurst), kSegment, kMss);
  const auto entries = bench.b.memory.of(DmaPurpose::kFrameQueue);
  std::vector<Time> written;
  for (const auto& access : entries)
    if (access.write) written.push_back(access.begin);
  REQUIRE(written.size() == kSegments);
  CHECK(bench.receiver.message_times(1) == std::vector<Time>{written[15]});
}

TEST_CASE("without checksum offload the driver's checksum travels, right or wrong") {
  Bench bench;
  SegmentHeaders headers = segment_headers(0, 1, 100);
  headers.checksum = 0x1234;
  bench.send(headers, pattern(100), 0);
  bench.send(headers, pattern(100), kChecksum);
  const auto received = bench.receiver.received(1);
  REQUIRE(received.size() == 2);
  CHECK(received[0].headers.checksum == 0x1234);
  CHECK(received[0].completion.flags == 0);
  CHECK(received[1].headers.checksum != 0x1234);
  CHECK(received[1].completion.flags == abi::EthernetReceiveCompletion::kChecksumGood);
  headers.checksum = received[1].headers.checksum;
  bench.send(headers, pattern(100), 0);
  CHECK(bench.receiver.received(1).at(0).completion.flags ==
        abi::EthernetReceiveCompletion::kChecksumGood);
  CHECK(bench.b.metric("ethernet.rx_csum_errors") == 1);
}

TEST_CASE("a frame larger than a buffer spans several") {
  EthernetOptions options;
  options.buffer_bytes = 1024;
  Bench bench(options);
  bench.send(segment_headers(0, 1, 4000), pattern(4000), kChecksum);
  bench.send(segment_headers(0, 1, 10), pattern(10), kChecksum);
  const auto received = bench.receiver.received(1);
  REQUIRE(received.size() == 2);
  CHECK(received[0].completion.descriptors == 4);
  CHECK(received[0].payload() == pattern(4000));
  CHECK(received[1].completion.first == 4);
}

TEST_CASE(
    "frames that find no posted buffer are dropped and counted, and the port's room is free") {
  Bench bench({}, 2);
  for (int i = 0; i < 3; ++i)
    bench.sender.post(0, segment_headers(0, 1, 100), pattern(100), kChecksum);
  bench.sender.ring(0);
  bench.run();
  CHECK(bench.receiver.received(1).size() == 2);
  CHECK(bench.b.metric("ethernet.rx_out_of_buffer") == 1);
  bench.receiver.post_buffers(1, 1);
  bench.send(segment_headers(0, 1, 100), pattern(100), kChecksum);
  CHECK(bench.receiver.received(1).size() == 1);
  CHECK(bench.b.nic.idle());
}

TEST_CASE("what is no segment that fits the link is dropped, and its descriptor done") {
  Bench bench;
  SegmentHeaders not_tcp = segment_headers(0, 1, 100);
  not_tcp.ip.protocol = 17;
  SegmentHeaders not_ip = segment_headers(0, 1, 100);
  not_ip.eth.ether_type = 0x806;
  bench.sender.post(0, not_tcp, pattern(100), kChecksum | kSignaled);
  bench.sender.post(0, not_ip, pattern(100), kChecksum | kSignaled);
  bench.sender.post(0, segment_headers(0, 1, 0), pattern(5000), kChecksum | kSignaled);
  bench.sender.post(0, segment_headers(0, 1, 0), pattern(9000), kSegment | kSignaled, 5000);
  bench.sender.post(0, segment_headers(0, 1, 0), pattern(100), kSegment | kSignaled, 0);
  abi::EthernetTransmitDescriptor empty;
  empty.flags = kSignaled;
  bench.sender.write_descriptor(0, empty);
  bench.sender.post(0, segment_headers(0, 1, 100), pattern(100), kChecksum | kSignaled);
  bench.sender.ring(0);
  bench.run();
  CHECK(bench.sender.sent(0) == std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7});
  CHECK(bench.received_payload() == pattern(100));
  CHECK(bench.a.metric("ethernet.tx_malformed") == 6);
}

TEST_CASE("queues take turns, a packet at a time") {
  Bench bench;
  bench.sender.add_transmit(5);
  for (const std::uint32_t queue : {0u, 5u}) {
    SegmentHeaders headers = segment_headers(0, 1, 0);
    headers.tcp.source_port = static_cast<std::uint16_t>(1000 + queue);
    bench.sender.post(queue, headers, pattern(8 * kMss), kSegment, kMss);
  }
  bench.sender.ring(0);
  bench.sender.ring(5);
  bench.run();
  std::vector<std::uint16_t> ports;
  for (const auto& frame : bench.receiver.received(1))
    ports.push_back(frame.headers.tcp.source_port);
  // The second's headers are here one cycle later, before the first's next packet.
  REQUIRE(ports.size() == 16);
  for (std::size_t i = 0; i < 16; ++i) CHECK(ports[i] == (i % 2 == 0 ? 1000 : 1005));
}

TEST_CASE("what waits for a slow wire never takes more than the transmit buffer") {
  BenchOptions options;
  options.rate = BitRate::gbps(1);
  options.nic.ethernet.transmit_buffer = Bytes(16 * 1024);
  Bench bench({}, 64, options);
  bench.send(segment_headers(0, 1, 0), pattern(kBurst), kSegment, kMss);
  CHECK(bench.received_payload() == pattern(kBurst));
  CHECK(bench.a.metric("ethernet.tx.occupancy.max") <= 16 * 1024);
  CHECK(bench.a.metric("ethernet.tx.stalled.transmit_buffer") > 0);
}

TEST_CASE("a flow goes to the queue of its rule") {
  Bench bench;
  EthernetOptions options;
  options.rss = false;
  bench.receiver.add_receive(2, 4, options);
  const SegmentHeaders headers = segment_headers(0, 1, 10);
  const abi::EthernetFlowRule rule{headers.ip.source, headers.ip.destination, 40000, 5001, 2};
  bench.send(headers, pattern(10), kChecksum);
  REQUIRE(bench.receiver.set_rule(0, rule) == abi::CommandStatus::kOk);
  bench.send(headers, pattern(10), kChecksum);
  CHECK(bench.b.driver.command(abi::CommandOpcode::kClearFlowRule, 0) == abi::CommandStatus::kOk);
  CHECK(bench.b.driver.command(abi::CommandOpcode::kClearFlowRule, 0) ==
        abi::CommandStatus::kBadObject);
  bench.send(headers, pattern(10), kChecksum);
  CHECK(bench.receiver.received(1).size() == 2);
  const auto ruled = bench.receiver.received(2);
  REQUIRE(ruled.size() == 1);
  CHECK(ruled[0].completion.hash == flow_hash({rule.source, rule.destination, 40000, 5001}));
}

TEST_CASE("a queue needs a number that is free and a ring that the NIC can keep") {
  BenchOptions options;
  options.nic.ethernet.queues = 4;
  Bench bench({}, 1, options);
  const auto make = [&](std::uint32_t number, const EthernetOptions& with = {}) {
    return bench.sender.make(number, abi::EthernetDirection::kTransmit, with);
  };
  EthernetOptions large;
  large.log_entries = 16;
  CHECK(make(4) == abi::CommandStatus::kBadObject);
  CHECK(make(0) == abi::CommandStatus::kBadObject);
  CHECK(make(1, large) == abi::CommandStatus::kBadObject);
  CHECK(make(3) == abi::CommandStatus::kOk);
}

TEST_CASE("TCP and RDMA share the port, and each has its own bytes") {
  Bench bench;
  bench.connect(Qpn(1));
  const test::Region source = bench.a.driver.add_region(3);
  const test::Region target = bench.b.driver.add_region(5);
  fill(bench.a.driver, source, 9);
  for (std::uint32_t i = 0; i < 8; ++i) {
    test::MiniDriver::Write write;
    write.remote = target.start + i * 4096;
    write.rkey = target.key;
    write.gather = {{source.start + i * 4096, 4096, source.key}};
    bench.a.driver.post(Qpn(1), write);
  }
  bench.sender.post(0, segment_headers(0, 1, 0), pattern(kBurst), kSegment, kMss);
  bench.a.driver.ring(Qpn(1));
  bench.sender.ring(0);
  bench.run();
  CHECK(bench.a.driver.poll(Cqn(1)).size() == 8);
  for (std::uint64_t i = 0; i < source.length; ++i)
    REQUIRE(*bench.a.driver.at(source.physical(source.start + i)) ==
            *bench.b.driver.at(target.physical(target.start + i)));
  CHECK(bench.received_payload() == pattern(kBurst));
  CHECK(bench.a.metric("port.tx_packets") == 8 + kSegments);
  CHECK(bench.a.nic.idle());
  CHECK(bench.b.nic.idle());
}

TEST_CASE("elided payload takes the same time and moves headers alone") {
  const auto run_with = [](bool elided) {
    return test::in_own_process([elided] {
      BenchOptions options;
      options.elided = elided;
      Bench bench(merging(), 64, options);
      bench.send(segment_headers(0, 1, 0), pattern(kBurst), kSegment, kMss);
      std::string text = std::to_string(bench.receiver.received(1).size()) + "\n";
      for (const auto& access : bench.b.memory.log)
        text += std::to_string(access.begin.ps()) + " " + std::to_string(access.bytes) + "\n";
      return text;
    });
  };
  const std::string carried = run_with(false);
  CHECK(carried.substr(0, 2) == "2\n");
  CHECK(run_with(true) == carried);
}

// SPDX-License-Identifier: MIT
#include "scenarios/engine/tcp_timeline.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

/// Of A's stream to B.
TcpMark stretch(std::uint32_t sequence, std::uint32_t bytes) {
  return {32768, 5001, TcpSeq(sequence), bytes, 0};
}

struct Recorded : TcpTimeline {
  void see(const std::string& host, ProbeKind kind, Time begin, Time end, std::uint64_t b = 0,
           const TcpMark& segment = {}) {
    record({end, 0, kind, {}, 0, static_cast<std::uint64_t>(begin.ps()), b, segment}, host);
  }
  std::vector<std::string> rows() {
    std::vector<TimelineRecord> records;
    take(records);
    std::vector<std::string> all;
    for (const TimelineRecord& r : records)
      all.push_back(fmt::format("{} {}: {}-{} x{} {}/{}/{} {} {} B", r.step, r.part,
                                r.begin.as_ns(), r.end.as_ns(), r.count, r.host, r.lane, r.block,
                                r.plane, r.bytes));
    return all;
  }
  std::uint64_t work_request() {
    std::vector<TimelineRecord> records;
    take(records);
    return records.front().work_request;
  }
};

using Rows = std::vector<std::string>;

/// A message of 2000 B, in two segments, from A's call to B's.
void see_message(Recorded& t, std::uint32_t first) {
  const TcpMark all = stretch(first, 2000);
  const TcpMark one = stretch(first, 1448);
  const TcpMark two = stretch(first + 1448, 552);
  t.see("A", ProbeKind::kCopiedIn, 100_ns, 200_ns, 2000, all);
  t.see("A", ProbeKind::kSegmentMade, 200_ns, 300_ns, 1, all);
  t.see("A", ProbeKind::kSegmentRung, 300_ns, 310_ns, 1, all);
  t.see("A", ProbeKind::kSocketSend, 90_ns, 310_ns, 2000, all);
  t.see("A", ProbeKind::kFrameRead, 400_ns, 600_ns, 1518, one);
  t.see("A", ProbeKind::kFrameRead, 410_ns, 620_ns, 622, two);
  t.see("A", ProbeKind::kPacketSent, 620_ns, 740_ns, 1518, one);
  t.see("A", ProbeKind::kPacketSent, 740_ns, 790_ns, 622, two);
  t.see("B", ProbeKind::kPacketReceived, 635_ns, 755_ns, 1518, one);
  t.see("B", ProbeKind::kPacketReceived, 755_ns, 805_ns, 622, two);
  t.see("B", ProbeKind::kFrameWritten, 800_ns, 900_ns, 1500, one);
  t.see("B", ProbeKind::kFrameInterrupt, 0_ns, 950_ns, 33);
  t.see("B", ProbeKind::kFrameWritten, 850_ns, 960_ns, 604, two);
  t.see("B", ProbeKind::kInterruptTaken, 1200_ns, 1600_ns, 33);
  t.see("B", ProbeKind::kSegmentTaken, 1700_ns, 2000_ns, 2, all);
  t.see("B", ProbeKind::kSoftirqRound, 1600_ns, 2100_ns, 2);
  t.see("B", ProbeKind::kSocketWoken, 2000_ns, 4000_ns, 0, all);
  t.see("B", ProbeKind::kCopiedOut, 4000_ns, 4100_ns, 2000, all);
  t.see("B", ProbeKind::kSocketReceive, 50_ns, 4200_ns, 2000, all);
}

}  // namespace

TEST_CASE("a message over TCP is followed from one program's call to the other's") {
  Recorded t;
  t.see("A", ProbeKind::kConnected, 10_ns, 80_ns, 1, stretch(1, 0));
  t.track(stretch(1, 2000), "A", "B", false);
  see_message(t, 1);
  // Others: the next message, an acknowledgement, an interrupt and a round for something else.
  see_message(t, 2001);
  t.see("B", ProbeKind::kInterruptTaken, 5000_ns, 5100_ns, 33);
  t.see("B", ProbeKind::kSoftirqRound, 5100_ns, 5200_ns, 1);
  t.see("A", ProbeKind::kPacketSent, 6000_ns, 6010_ns, 66, stretch(1, 0));
  t.see("C", ProbeKind::kFrameWritten, 6000_ns, 6010_ns, 66, stretch(1, 2000));
  CHECK(t.rows() == Rows{"3 connect: 10-80 x1 A/cpu/kernel.tcp control 0 B",
                         "4 copy: 100-200 x1 A/cpu/kernel.socket data 2000 B",
                         "4 doorbell: 300-310 x1 A/cpu/kernel.tcp data 8 B",
                         "4 segments: 200-300 x1 A/cpu/kernel.tcp data 2000 B",
                         "4 system call: 90-310 x1 A/cpu/kernel.socket data 2000 B",
                         "5 DMA read: 400-620 x2 A/nic/ethernet data 2140 B",
                         "6 segments: 620-805 x2 A-B/wire/port data 2140 B",
                         "7 DMA write: 800-960 x2 B/nic/ethernet data 2104 B",
                         "7 interrupt: 1200-1600 x1 B/cpu/interrupts data 0 B",
                         "7 interrupt sent: 950-950 x1 B/nic/ethernet data 4 B",
                         "8 socket buffer: 1700-2000 x1 B/cpu/kernel.tcp data 2000 B",
                         "8 softirq: 1600-2100 x1 B/cpu/kernel.softirq data 0 B",
                         "8 woken: 2000-4000 x1 B/cpu/kernel.socket data 0 B",
                         "9 copy: 4000-4100 x1 B/cpu/kernel.socket data 2000 B",
                         "9 return: 4200-4200 x1 B/cpu/kernel.socket data 2000 B"});
}

TEST_CASE("messages that share a segment both have it, and each its own number") {
  Recorded t;
  t.track(stretch(1, 100), "A", "B", false);
  t.track(stretch(101, 100), "A", "B", false);
  t.see("A", ProbeKind::kPacketSent, 10_ns, 20_ns, 266, stretch(1, 200));
  CHECK(t.rows() == Rows{"6 segments: 10-20 x1 A-B/wire/port data 266 B",
                         "6 segments: 10-20 x1 A-B/wire/port data 266 B"});
  CHECK(t.work_request() == ((std::uint64_t{32768} << 48) | (std::uint64_t{5001} << 32) | 1));
}

TEST_CASE("a message of the control plane is part of step 3, in few rows") {
  Recorded t;
  // The other end had called.
  t.see("B", ProbeKind::kConnected, 10_ns, 80_ns, 1, {5001, 32768, TcpSeq(5), 0, 0});
  t.track(stretch(1, 2000), "A", "B", true);
  see_message(t, 1);
  CHECK(t.rows() == Rows{"3 connect: 10-80 x1 B/cpu/kernel.tcp control 0 B",
                         "3 receive: 2000-4200 x1 B/cpu/kernel.socket control 0 B",
                         "3 segments: 620-805 x2 A-B/wire/port control 2140 B",
                         "3 send: 90-310 x1 A/cpu/kernel.socket control 2000 B",
                         "3 softirq: 1200-2100 x1 B/cpu/kernel.softirq control 0 B"});
  CHECK(t.work_request() == 0);
}

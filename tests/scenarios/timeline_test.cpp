// SPDX-License-Identifier: MIT
#include "scenarios/engine/timeline.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "model/headers.h"
#include "model/nic_abi.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

// Components of the probes.
constexpr std::uint32_t kHostA = 0;
constexpr std::uint32_t kNicA = 1;
constexpr std::uint32_t kHostB = 2;
constexpr std::uint32_t kNicB = 3;

const WorkRequestId kFirst(0, Qpn(5), 0);   ///< posted by A
const WorkRequestId kSecond(0, Qpn(5), 1);  ///< likewise
const WorkRequestId kOfB(1, Qpn(5), 0);     ///< posted by B

struct Recorded : Timeline {
  Recorded()
      : Timeline({{"A", "host.A", std::nullopt},
                  {"A", "host.A.nic0", 0},
                  {"B", "host.B", std::nullopt},
                  {"B", "host.B.nic0", 1}}) {}
  void see(std::uint32_t component, ProbeKind kind, Time time, WorkRequestId work_request = {},
           std::uint64_t a = 0, std::uint64_t b = 0) {
    record({time, component, kind, work_request, 0, a, b});
  }
  /// With a begin in `a`, which the record has in picoseconds.
  void see_span(std::uint32_t component, ProbeKind kind, Time begin, Time end,
                WorkRequestId work_request = {}, std::uint64_t b = 0) {
    see(component, kind, end, work_request, static_cast<std::uint64_t>(begin.ps()), b);
  }
};

/// Times in nanoseconds, of several of a kind also the end of the first and the begin of the last.
std::string text_of(const TimelineRecord& r) {
  std::string text = fmt::format("{} {}: {}-{}", r.step, r.part, r.begin.as_ns(), r.end.as_ns());
  if (r.count > 1)
    text += fmt::format(" x{} {} {}", r.count, r.first_end.as_ns(), r.last_begin.as_ns());
  return text + fmt::format(" {}/{}/{} {} {} B wr {:x} '{}'", r.host, r.lane, r.block, r.plane,
                            r.bytes, r.work_request, r.text);
}

std::vector<std::string> rows(Timeline& timeline) {
  std::vector<std::string> all;
  for (const TimelineRecord& record : timeline.take()) {
    if (record.count == 1) {
      CHECK(record.first_end == record.end);
      CHECK(record.last_begin == record.begin);
    }
    all.push_back(text_of(record));
  }
  return all;
}

using Rows = std::vector<std::string>;

std::vector<std::string> parts(Timeline& timeline) {
  std::vector<std::string> all;
  for (const TimelineRecord& r : timeline.take())
    all.push_back(fmt::format("{} {} {}", r.step, r.part, r.begin.as_ns()));
  return all;
}

}  // namespace

TEST_CASE("the control plane is steps 1 to 3, each record a row of its host, in order of begin") {
  Recorded t;
  t.see(kHostB, ProbeKind::kAppStart, 5_ns);
  t.see(kHostA, ProbeKind::kAppStart, 2_ns);
  t.see_span(kHostA, ProbeKind::kRegisterPin, 10_ns, 30_ns, {}, 8192);
  t.see_span(kHostA, ProbeKind::kRegisterTable, 30_ns, 41500_ps, {}, 16);
  t.see_span(kHostA, ProbeKind::kRegisterKey, 42_ns, 60_ns, {}, 0x305a);
  t.see_span(kHostB, ProbeKind::kControlMessage, 70_ns, 170_ns, {}, 40);
  CHECK(rows(t) ==
        Rows{"1 start: 2-2 A/app/application control 0 B wr 0 'the application starts'",
             "1 start: 5-5 B/app/application control 0 B wr 0 'the application starts'",
             "2 pin: 10-30 A/cpu/driver control 8192 B wr 0 'the kernel pins every page'",
             ("2 table: 30-41.5 A/cpu/driver control 16 B wr 0 "
              "'builds the virtual-to-physical table in host RAM'"),
             ("2 key: 42-60 A/cpu/driver control 0 B wr 0 "
              "'issues lkey and rkey, tells the NIC'"),
             ("3 hand over: 70-170 B/app/control_channel control 40 B wr 0 "
              "'over a control channel of configured latency'")});
}

TEST_CASE("a WRITE of one packet is steps 4 to 9 with the times at which each began and ended") {
  Recorded t;
  t.track(kFirst, Operation::kWrite, "A", "B");
  t.see_span(kHostA, ProbeKind::kPostSend, 100_ns, 140_ns, kFirst, 1024);
  t.see_span(kHostA, ProbeKind::kDoorbellRung, 140_ns, 150_ns, kFirst, 252);
  t.see(kNicA, ProbeKind::kWqeFetchStart, 320_ns, kFirst, 64);
  t.see(kNicA, ProbeKind::kWqeFetched, 850_ns, kFirst, 1024, 48);
  t.see_span(kNicA, ProbeKind::kTranslated, 860_ns, 880_ns, kFirst, 0);
  t.see_span(kNicA, ProbeKind::kPayloadReadEnd, 890_ns, 1500_ns, kFirst, 1024);
  t.see_span(kNicA, ProbeKind::kPacketSent, 1520_ns, 1608_ns, kFirst, 1098);
  t.see_span(kNicB, ProbeKind::kPacketReceived, 1535_ns, 1623_ns, kFirst, 1098);
  t.see_span(kNicB, ProbeKind::kKeyChecked, 1600_ns, 1610_ns, kFirst, 0);
  t.see_span(kNicB, ProbeKind::kTranslated, 1610_ns, 1630_ns, kFirst, 0);
  t.see(kNicB, ProbeKind::kPayloadWriteStart, 1640_ns, kFirst, 0, 1024);
  t.see(kNicB, ProbeKind::kAckSent, 1650_ns, kFirst, 100, 0x1f);
  t.see_span(kNicB, ProbeKind::kPacketSent, 1651_ns, 1656_ns, kFirst, 64);
  t.see_span(kNicA, ProbeKind::kPacketReceived, 1666_ns, 1671_ns, kFirst, 64);
  t.see(kNicA, ProbeKind::kAckReceived, 1680_ns, kFirst, 100, 0x1f);
  t.see_span(kHostB, ProbeKind::kPayloadLanded, 1800_ns, 2000_ns, kFirst, 1024);
  t.see_span(kNicA, ProbeKind::kCqeWritten, 1690_ns, 1950_ns, kFirst, 0);
  t.see(kHostA, ProbeKind::kCompletionPolled, 1970_ns, kFirst, 0, 1024);
  CHECK(rows(t) ==
        Rows{("4 descriptor: 100-140 A/cpu/verbs data 0 B wr 1000050000000 "
              "'descriptor into the send queue'"),
             ("4 doorbell: 140-150 A/cpu/verbs data 8 B wr 1000050000000 "
              "'doorbell: one MMIO write, no kernel'"),
             ("4 fetch: 320-850 A/nic/wqe_fetch data 64 B wr 1000050000000 "
              "'NIC reads the descriptor by DMA'"),
             ("5 lkey and address: 860-880 A/nic/key_checker data 0 B wr 1000050000000 "
              "'lkey checked, address translated'"),
             ("5 payload read: 890-1500 A/nic/requester data 1024 B wr 1000050000000 "
              "'payload read from RAM by DMA'"),
             ("6 packets: 1520-1623 A-B/wire/port data 1098 B wr 1000050000000 "
              "'packets [address + rkey | data]'"),
             ("7 rkey check: 1600-1610 B/nic/key_checker data 0 B wr 1000050000000 "
              "'rkey: valid, domain, bounds, rights'"),
             ("7 translation: 1610-1630 B/nic/translation_cache data 0 B wr 1000050000000 "
              "'virtual to physical address'"),
             ("8 DMA write: 1640-2000 B/nic/responder data 1024 B wr 1000050000000 "
              "'into the application's memory'"),
             ("9 ACK: 1650-1680 A-B/wire/responder data 0 B wr 1000050000000 "
              "'acknowledgement travels back'"),
             ("9 CQE: 1690-1950 A/nic/cqe_writer data 64 B wr 1000050000000 "
              "'completion entry into host RAM'"),
             ("9 polled: 1970-1970 A/cpu/verbs data 0 B wr 1000050000000 "
              "'the polling CPU finds it'")});
}

TEST_CASE(
    "many packets of a message are one row: first begin, last end, end of the first, begin of "
    "the last") {
  Recorded t;
  t.track(kFirst, Operation::kWrite, "A", "B");
  for (int i = 0; i < 3; ++i) {
    const Time at = 1_us + 400_ns * i;
    t.see_span(kNicA, ProbeKind::kPacketSent, at, at + 350_ns, kFirst, 4162);
    t.see(kNicB, ProbeKind::kPacketReceived, at + 365_ns, kFirst);
  }
  CHECK(rows(t) == Rows{("6 packets: 1000-2165 x3 1365 1800 A-B/wire/port data 12486 B "
                         "wr 1000050000000 'packets [address + rkey | data]; 3: first until "
                         "1.365, last from 1.800'")});
}

TEST_CASE("reads that end out of order keep the earliest end as that of the first") {
  Recorded t;
  t.track(kFirst, Operation::kWrite, "A", "B");
  t.see_span(kNicA, ProbeKind::kPayloadReadEnd, 20_ns, 90_ns, kFirst, 512);
  t.see_span(kNicA, ProbeKind::kPayloadReadEnd, 10_ns, 100_ns, kFirst, 512);
  t.see_span(kNicA, ProbeKind::kPayloadReadEnd, 15_ns, 80_ns, kFirst, 512);
  CHECK(rows(t) == Rows{("5 payload read: 10-100 x3 80 20 A/nic/requester data 1536 B "
                         "wr 1000050000000 'payload read from RAM by DMA; 3: first until 0.080, "
                         "last from 0.020'")});
}

TEST_CASE("a row of translations says how many waited for the table") {
  Recorded t;
  t.track(kFirst, Operation::kWrite, "A", "B");
  t.see_span(kNicB, ProbeKind::kTranslated, 10_ns, 20_ns, kFirst, 0);
  t.see_span(kNicB, ProbeKind::kTranslated, 20_ns, 620_ns, kFirst, 1);
  t.see_span(kNicB, ProbeKind::kTranslated, 30_ns, 630_ns, kFirst, 1);
  CHECK(rows(t) == Rows{("7 translation: 10-630 x3 20 30 B/nic/translation_cache data 0 B "
                         "wr 1000050000000 'virtual to physical address, 2 waited for the table; "
                         "3: first until 0.020, last from 0.030'")});
}

TEST_CASE("the answers of a READ are packets on the way back") {
  Recorded t;
  t.track(kFirst, Operation::kRead, "A", "B");
  t.see_span(kNicA, ProbeKind::kPacketSent, 10_ns, 20_ns, kFirst, 78);
  t.see_span(kNicB, ProbeKind::kPacketReceived, 25_ns, 35_ns, kFirst, 78);
  t.see_span(kNicB, ProbeKind::kPacketSent, 700_ns, 780_ns, kFirst, 1086);
  t.see_span(kNicA, ProbeKind::kPacketReceived, 715_ns, 795_ns, kFirst, 1086);
  CHECK(rows(t) == Rows{("6 packets: 10-35 A-B/wire/port data 78 B wr 1000050000000 "
                         "'request [address + rkey + length]'"),
                        ("6 answers: 700-795 B-A/wire/port data 1086 B wr 1000050000000 "
                         "'responses [data]'")});
}

TEST_CASE("the completion of a receive is a row beside that of its SEND") {
  Recorded t;
  t.track(kFirst, Operation::kSend, "A", "B");
  t.see_span(kNicA, ProbeKind::kPacketSent, 10_ns, 20_ns, kFirst, 78);
  t.see_span(kNicB, ProbeKind::kPacketReceived, 25_ns, 35_ns, kFirst, 78);
  t.see_span(kNicB, ProbeKind::kCqeWritten, 50_ns, 90_ns, kFirst, 0);
  t.see_span(kNicA, ProbeKind::kCqeWritten, 60_ns, 100_ns, kFirst, 0);
  CHECK(rows(t) == Rows{("6 packets: 10-35 A-B/wire/port data 78 B wr 1000050000000 "
                         "'packets [data]'"),
                        ("9 receive CQE: 50-90 B/nic/cqe_writer data 64 B wr 1000050000000 "
                         "'completion entry of the receive'"),
                        ("9 CQE: 60-100 A/nic/cqe_writer data 64 B wr 1000050000000 "
                         "'completion entry into host RAM'")});
}

constexpr std::uint64_t kCompletionOfCq3 =
    static_cast<std::uint64_t>(abi::EventType::kCompletion) << 32 | 3;

TEST_CASE(
    "with completion channels the way from the event entry to the program belongs to step 9") {
  Recorded t;
  t.track(kFirst, Operation::kSend, "A", "B");
  t.see_span(kNicA, ProbeKind::kEventWritten, 10_ns, 25_ns, kFirst, kCompletionOfCq3);
  t.see(kNicA, ProbeKind::kInterruptSent, 25_ns, kFirst, 1, 32);
  t.see_span(kHostA, ProbeKind::kInterruptTaken, 200_ns, 900_ns, kFirst, 32);
  t.see_span(kHostA, ProbeKind::kProgramWoken, 950_ns, 2_us, {}, 3);
  CHECK(rows(t) == Rows{("9 event: 10-25 A/nic/event_queue data 64 B wr 1000050000000 "
                         "'event entry into host RAM'"),
                        ("9 interrupt sent: 25-25 A/nic/event_queue data 4 B wr 1000050000000 "
                         "'MSI-X message: one posted write'"),
                        ("9 interrupt: 200-900 A/cpu/interrupts data 0 B wr 1000050000000 "
                         "'a core takes the interrupt'"),
                        ("9 woken: 950-2000 A/cpu/verbs data 0 B wr 1000050000000 "
                         "'the sleeping program is woken'")});
}

TEST_CASE("the receiver's events are rows of their own, those of other work requests none") {
  Recorded t;
  t.track(kFirst, Operation::kSend, "A", "B");
  const std::uint64_t nic_b = 1;
  t.see_span(kNicB, ProbeKind::kEventWritten, 10_ns, 25_ns, kFirst, kCompletionOfCq3);
  t.see_span(kHostB, ProbeKind::kInterruptTaken, 200_ns, 900_ns, kFirst, 32);
  t.see_span(kHostB, ProbeKind::kProgramWoken, 950_ns, 2_us, {}, nic_b << 32 | 4);
  t.see_span(kHostB, ProbeKind::kProgramWoken, 950_ns, 3_us, {}, nic_b << 32 | 3);
  t.see_span(kNicB, ProbeKind::kEventWritten, 4_us, 5_us, kSecond, kCompletionOfCq3);
  t.see_span(kHostB, ProbeKind::kProgramWoken, 6_us, 7_us, {}, nic_b << 32 | 3);
  CHECK(rows(t) == Rows{("9 receive event: 10-25 B/nic/event_queue data 64 B wr 1000050000000 "
                         "'event entry of the receive'"),
                        ("9 receive interrupt: 200-900 B/cpu/interrupts data 0 B "
                         "wr 1000050000000 'a core takes the interrupt'"),
                        ("9 receive woken: 950-3000 B/cpu/verbs data 0 B wr 1000050000000 "
                         "'the sleeping receiver is woken'")});
}

TEST_CASE("an operation on a key is of step 7, and one that is refused a fault as well") {
  Recorded t;
  t.track(kFirst, Operation::kBindWindow, "A", "B");
  t.see_span(kNicA, ProbeKind::kKeyChanged, 10_ns, 60_ns, kFirst, 0);
  t.see_span(kNicA, ProbeKind::kKeyChanged, 70_ns, 90_ns, kSecond, 1);
  t.see(kNicA, ProbeKind::kSendQueueError, 100_ns, {}, 5,
        static_cast<std::uint64_t>(CompletionStatus::kMemoryWindowBindError));
  CHECK(rows(t) == Rows{("7 key operation: 10-60 A/nic/key_operations data 0 B "
                         "wr 1000050000000 'window bound or key invalidated'"),
                        ("0 fault: 90-90 A/nic/key_operations data 0 B wr 1000050000001 "
                         "'operation on a key refused'"),
                        ("0 fault: 100-100 A/nic/completer data 0 B wr 0 "
                         "'queue pair 5 goes to SQE: memory window bind error'")});
}

TEST_CASE("what B posts leaves B, and A is its far side") {
  Recorded t;
  t.track(kOfB, Operation::kWrite, "B", "A");
  t.see_span(kNicB, ProbeKind::kPacketSent, 10_ns, 20_ns, kOfB, 64);
  t.see_span(kNicA, ProbeKind::kPacketReceived, 25_ns, 35_ns, kOfB, 64);
  t.see_span(kNicA, ProbeKind::kTranslated, 40_ns, 50_ns, kOfB, 0);
  t.see_span(kNicB, ProbeKind::kTranslated, 5_ns, 6_ns, kOfB, 0);
  t.see(kNicA, ProbeKind::kAckSent, 60_ns, kOfB, 1, 0x1f);
  CHECK(rows(t) == Rows{("5 lkey and address: 5-6 B/nic/key_checker data 0 B wr 2000050000000 "
                         "'lkey checked, address translated'"),
                        ("6 packets: 10-35 B-A/wire/port data 64 B wr 2000050000000 "
                         "'packets [address + rkey | data]'"),
                        ("7 translation: 40-50 A/nic/translation_cache data 0 B "
                         "wr 2000050000000 'virtual to physical address'"),
                        ("9 ACK: 60-60 B-A/wire/responder data 0 B wr 2000050000000 "
                         "'acknowledgement travels back'")});
}

TEST_CASE("only work requests that are tracked have rows, each its own") {
  Recorded t;
  t.track(kFirst, Operation::kWrite, "A", "B");
  t.track(kOfB, Operation::kWrite, "B", "A");
  t.see_span(kHostA, ProbeKind::kPostSend, 10_ns, 20_ns, kFirst, 8);
  t.see_span(kHostA, ProbeKind::kPostSend, 20_ns, 30_ns, kSecond, 8);
  t.see_span(kHostB, ProbeKind::kPostSend, 5_ns, 8_ns, kOfB, 8);
  t.see_span(kNicA, ProbeKind::kPacketSent, 40_ns, 50_ns);
  t.see(kNicA, ProbeKind::kWqeFetched, 60_ns, kFirst, 8, 48);  // no fetch of it began here
  CHECK(parts(t) == Rows{"4 descriptor 5", "4 descriptor 10"});
}

TEST_CASE("rows of one step come by begin, then by end") {
  Recorded t;
  t.track(kFirst, Operation::kWrite, "A", "B");
  t.track(kSecond, Operation::kWrite, "A", "B");
  t.see_span(kNicB, ProbeKind::kKeyChecked, 10_ns, 40_ns, kFirst, 0);
  t.see_span(kNicB, ProbeKind::kTranslated, 10_ns, 30_ns, kSecond, 0);
  t.see_span(kNicB, ProbeKind::kKeyChecked, 9_ns, 50_ns, kSecond, 0);
  t.see_span(kHostA, ProbeKind::kPostSend, 90_ns, 95_ns, kSecond, 8);
  CHECK(parts(t) ==
        Rows{"4 descriptor 90", "7 rkey check 9", "7 translation 10", "7 rkey check 10"});
}

TEST_CASE("faults of any work request come last, in order of time, with their reason") {
  Recorded t;
  const auto refused = static_cast<std::uint64_t>(KeyFault::kOutOfBounds);
  const auto remote = static_cast<std::uint64_t>(CompletionStatus::kRemoteAccessError);
  const auto nak = static_cast<std::uint64_t>(NakCode::kRemoteAccessError);
  t.see(kHostA, ProbeKind::kCompletionPolled, 500_ns, kSecond, remote, 0);
  t.see_span(kNicB, ProbeKind::kKeyChecked, 90_ns, 100_ns, kSecond, refused);
  t.see(kNicB, ProbeKind::kAckSent, 200_ns, kSecond, 7, nak);
  t.see(kNicA, ProbeKind::kQpError, 300_ns, kSecond, 5, remote);
  // None of these is a fault.
  t.see_span(kNicB, ProbeKind::kKeyChecked, 90_ns, 100_ns, kSecond, 0);
  t.see(kNicB, ProbeKind::kAckSent, 200_ns, kSecond, 7, 0x1f);
  t.see(kHostA, ProbeKind::kCompletionPolled, 500_ns, kSecond, 0, 8);
  t.see(kHostA, ProbeKind::kAppStart, 900_ns);
  CHECK(rows(t) ==
        Rows{"1 start: 900-900 A/app/application control 0 B wr 0 'the application starts'",
             ("0 fault: 100-100 B/nic/key_checker data 0 B wr 1000050000001 "
              "'access refused: address range outside the region'"),
             ("0 fault: 200-200 B/nic/responder data 0 B wr 1000050000001 "
              "'sends NAK: remote access error'"),
             ("0 fault: 300-300 A/nic/completer data 0 B wr 1000050000001 "
              "'queue pair 5 goes to ERR: remote access error'"),
             ("0 fault: 500-500 A/cpu/verbs data 0 B wr 1000050000001 "
              "'completion in error: remote access error'")});
}

TEST_CASE("what happens to segments of TCP on links and in the kernel is told by ports and place") {
  Recorded t;
  const TcpMark segment{32768, 5001, TcpSeq(77), 1448, 0x10};
  const auto see = [&](std::uint32_t component, ProbeKind kind, Time time, std::uint64_t b) {
    t.record({time, component, kind, {}, 0, 0, b, segment});
  };
  see(kNicA, ProbeKind::kPacketLost, 10_ns, 0);
  see(kNicA, ProbeKind::kSegmentAgain, 20_ns, 1);
  see(kNicA, ProbeKind::kSegmentAgain, 30_ns, 0);
  see(kNicA, ProbeKind::kConnectionFailed, 40_ns, 2);
  see(kNicB, ProbeKind::kResetSent, 50_ns, 0);
  CHECK(rows(t) == Rows{("0 fault: 10-10 A-B/wire/link data 0 B wr 0 "
                         "'TCP 32768 > 5001, seq 77, 1448 B [ACK], is lost'"),
                        ("0 fault: 20-20 A/cpu/kernel.tcp data 0 B wr 0 "
                         "'sends again after a timeout: 32768 > 5001, seq 77, 1448 B [ACK]'"),
                        ("0 fault: 30-30 A/cpu/kernel.tcp data 0 B wr 0 "
                         "'sends again after duplicates: 32768 > 5001, seq 77, 1448 B [ACK]'"),
                        ("0 fault: 40-40 A/cpu/kernel.tcp data 0 B wr 0 "
                         "'the connection 32768 > 5001 failed: timed out'"),
                        ("0 fault: 50-50 B/cpu/kernel.tcp data 0 B wr 0 "
                         "'resets a stranger: 32768 > 5001, seq 77, 1448 B [ACK]'")});
}

TEST_CASE("of many faults the first 64 are shown, and one row counts the rest") {
  const auto flushed = static_cast<std::uint64_t>(CompletionStatus::kFlushed);
  for (const std::size_t count : {Timeline::kMaxFaults, Timeline::kMaxFaults + 3}) {
    Recorded t;
    for (std::size_t i = 0; i < count; ++i)
      t.see(kHostA, ProbeKind::kCompletionPolled, 1_ns * static_cast<std::int64_t>(i + 1), kFirst,
            flushed);
    const std::vector<TimelineRecord> all = t.take();
    REQUIRE(all.size() == (count == Timeline::kMaxFaults ? 64 : 65));
    for (std::size_t i = 0; i < 64; ++i) {
      CHECK(all[i].begin == 1_ns * static_cast<std::int64_t>(i + 1));
      CHECK(all[i].text == "completion in error: work request flushed");
    }
    if (count > Timeline::kMaxFaults) CHECK(all[64].text == "3 more faults are not shown");
  }
}

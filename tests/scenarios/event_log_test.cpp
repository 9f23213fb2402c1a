// SPDX-License-Identifier: MIT
#include "scenarios/engine/event_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <sstream>

#include "model/headers.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

const WorkRequestId kRequest(1, Qpn(5), 7);
/// Host A has two NICs, B one.
const ProbeComponents kComponents = {{"A", "host.A", std::nullopt},
                                     {"A", "host.A.nic0", 0},
                                     {"A", "host.A.nic1", 1},
                                     {"B", "host.B", std::nullopt},
                                     {"B", "host.B.nic0", 2}};
constexpr std::uint32_t kHostA = 0;
constexpr std::uint32_t kNicA1 = 2;
constexpr std::uint32_t kHostB = 3;
constexpr std::uint32_t kNicB0 = 4;

constexpr std::uint64_t kOutOfBounds = static_cast<std::uint64_t>(KeyFault::kOutOfBounds);
constexpr std::uint64_t kFlushed = static_cast<std::uint64_t>(CompletionStatus::kFlushed);

/// A log at a time that the test sets; text() is what has been printed so far.
struct Bench {
  explicit Bench(const EventLogOptions& options = {})
      : log(std::make_unique<EventLog>(
            options, kComponents, [this] { return now; }, out)) {}
  /// Reported at `at`, dated `time`.
  void packet(Time at, Time time, std::uint64_t bytes) {
    now = at;
    log->record({time, kNicB0, ProbeKind::kPacketSent, {}, 0, 0, bytes});
  }
  /// The sizes of the packets printed so far.
  std::string sizes() const {
    std::istringstream lines(out.str());
    std::string all;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t end = line.find(" B,");
      all += line.substr(line.rfind(' ', end - 1), end - line.rfind(' ', end - 1));
    }
    return all;
  }

  Time now;
  std::ostringstream out;
  std::unique_ptr<EventLog> log;
};

std::string log_of(const EventLogOptions& options) {
  Bench bench(options);
  bench.log->record({1500_ps, kNicA1, ProbeKind::kDoorbellArrived, {}, 0, 5, 3});
  bench.log->record({100_ns, kHostA, ProbeKind::kDoorbellRung, kRequest, 0, 60'000, 252});
  bench.log->record({800_ns, kNicB0, ProbeKind::kKeyChecked, kRequest, 1, 790'000, 0});
  bench.log->record({900_ns, kNicB0, ProbeKind::kKeyChecked, kRequest, 2, 880'000, kOutOfBounds});
  bench.log.reset();
  return bench.out.str();
}

EventLogOptions with_glob(const std::string& glob, LogLevel level = LogLevel::kPacket) {
  EventLogOptions options;
  options.glob = glob;
  options.level = level;
  return options;
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

LogLevel level(ProbeKind kind, std::uint64_t a, std::uint64_t b) {
  return log_level_of({Time(), 0, kind, {}, 0, a, b});
}

}  // namespace

TEST_CASE("a line says when, which block, what, for which work request, and the details") {
  REQUIRE(log_of(with_glob("host.A.cpu.verbs")) ==
          "       100.000 ns  host.A.cpu.verbs                 doorbell rung              "
          "A.nic1 qp 5 #7     252 cycles for the whole post\n");
}

TEST_CASE("a path carries the NIC that the event belongs to") {
  CHECK(log_of(with_glob("host.A.nic1.doorbell")).find("host.A.nic1.doorbell ") !=
        std::string::npos);
  CHECK(log_of(with_glob("host.A.nic0.*")).empty());
  CHECK(lines(log_of(with_glob("host.B.nic0.key_checker"))) == 2);
}

TEST_CASE("an injected fault is the link's, seen from the packet's sender") {
  Bench bench;
  bench.log->record({100_ns, kNicB0, ProbeKind::kPacketLost, kRequest, 1, 77,
                     static_cast<std::uint64_t>(Opcode::kAcknowledge)});
  bench.log.reset();
  REQUIRE(bench.out.str() ==
          "       100.000 ns  host.B.nic0.link                 packet lost                "
          "A.nic1 qp 5 #7     psn 77 Acknowledge\n");
}

TEST_CASE("a lost packet of TCP is a segment, not an operation of verbs") {
  Bench bench;
  bench.log->record({100_ns,
                     kNicB0,
                     ProbeKind::kPacketLost,
                     {},
                     1,
                     0,
                     0,
                     TcpMark{5001, 32768, TcpSeq(77), 1448, 0x10}});
  bench.log.reset();
  REQUIRE(bench.out.str() ==
          "       100.000 ns  host.B.nic0.link                 packet lost                "
          "                   5001 > 32768, seq 77, 1448 B [ACK]\n");
}

TEST_CASE("the kernel's TCP says which stretch of which stream it is about") {
  Bench bench(with_glob("host.B.nic0.kernel*"));
  const TcpMark stretch{32768, 5001, TcpSeq(9), 100, 0};
  const auto say = [&](ProbeKind kind, std::uint64_t b, const TcpMark& mark) {
    bench.log->record({100_ns, kNicB0, kind, {}, 0, 90'000, b, mark});
  };
  say(ProbeKind::kSocketSend, 100, stretch);
  say(ProbeKind::kConnected, 1, stretch);
  say(ProbeKind::kSegmentAgain, 1, stretch);
  say(ProbeKind::kSegmentAgain, 0, stretch);
  say(ProbeKind::kSegmentAgain, 2, stretch);
  say(ProbeKind::kSegmentMade, 2, stretch);
  say(ProbeKind::kSegmentTaken, 3, stretch);
  say(ProbeKind::kSoftirqRound, 4, {});
  say(ProbeKind::kConnectionFailed, 1, stretch);
  say(ProbeKind::kConnectionClosed, 0, stretch);
  bench.log->record({100_ns, kNicB0, ProbeKind::kFrameRead, {}, 0, 90'000, 170, stretch});
  bench.log.reset();
  const auto line = [](const std::string& block, const std::string& event,
                       const std::string& details) {
    return fmt::format("       100.000 ns  {:<32} {:<26} {:<18} {}\n", block, event, "", details);
  };
  const std::string kStretch = "32768 > 5001, seq 9, 100 B";
  const std::string kTcp = "host.B.nic0.kernel.tcp";
  CHECK(bench.out.str() ==
        line("host.B.nic0.kernel.socket", "send returns", kStretch + "; took 10.000 ns") +
            line(kTcp, "connection established", kStretch + "; called, took 10.000 ns") +
            line(kTcp, "sent again", kStretch + "; after a timeout") +
            line(kTcp, "sent again", kStretch + "; after duplicates") +
            line(kTcp, "sent again", kStretch + "; to probe the tail") +
            line(kTcp, "segment made", kStretch + "; 2 descriptors, took 10.000 ns") +
            line(kTcp, "segment received", kStretch + "; 3 frames, took 10.000 ns") +
            line("host.B.nic0.kernel.softirq", "round of polling", "4 frames, took 10.000 ns") +
            line(kTcp, "connection failed", kStretch + "; reset by the peer") +
            line(kTcp, "connection closed", kStretch));
  CHECK(level(ProbeKind::kSegmentAgain, 0, 0) == LogLevel::kFault);
  CHECK(level(ProbeKind::kConnectionFailed, 0, 0) == LogLevel::kFault);
  CHECK(level(ProbeKind::kResetSent, 0, 0) == LogLevel::kFault);
  CHECK(level(ProbeKind::kSocketSend, 0, 0) == LogLevel::kMessage);
  CHECK(level(ProbeKind::kSocketReceive, 0, 0) == LogLevel::kMessage);
  CHECK(level(ProbeKind::kSocketWoken, 0, 0) == LogLevel::kMessage);
  CHECK(level(ProbeKind::kConnected, 0, 0) == LogLevel::kMessage);
  CHECK(level(ProbeKind::kSegmentMade, 0, 0) == LogLevel::kPacket);
  CHECK(level(ProbeKind::kAckTaken, 0, 0) == LogLevel::kPacket);
}

TEST_CASE("an event is told from its entry to the program that takes it") {
  Bench bench;
  bench.log->record(
      {100_ns, kNicB0, ProbeKind::kEventWritten, kRequest, 0, 90000, std::uint64_t{5} << 32 | 3});
  bench.log->record({100_ns, kNicB0, ProbeKind::kInterruptSent, kRequest, 0, 1, 33});
  bench.log->record({200_ns, kHostB, ProbeKind::kInterruptTaken, kRequest, 0, 150000, 33});
  bench.log->record(
      {300_ns, kHostB, ProbeKind::kProgramWoken, {}, 0, 250000, std::uint64_t{2} << 32 | 3});
  bench.log.reset();
  REQUIRE(bench.out.str() ==
          "       100.000 ns  host.B.nic0.event_queue          event entry written        "
          "A.nic1 qp 5 #7     error, qp 3\n"
          "       100.000 ns  host.B.nic0.event_queue          interrupt sent             "
          "A.nic1 qp 5 #7     eq 1, vector 33\n"
          "       200.000 ns  host.B.interrupts                interrupt taken            "
          "A.nic1 qp 5 #7     vector 33, took 50.000 ns\n"
          "       300.000 ns  host.B.cpu.verbs                 event taken                "
          "                   cq 3, took 50.000 ns\n");
}

TEST_CASE("a glob chooses blocks, times choose events, and nothing else is printed") {
  CHECK(lines(log_of({})) == 4);
  CHECK(lines(log_of(with_glob("host.*.nic?.*"))) == 3);
  CHECK(log_of(with_glob("host.B.*")).find("address range outside the region") !=
        std::string::npos);
  EventLogOptions part;
  part.from = 2_ns;
  part.until = 500_ns;
  CHECK(lines(log_of(part)) == 1);
  CHECK(log_of(with_glob("no such block")).empty());
}

TEST_CASE("a level shows its own events and those of the levels before it") {
  const std::string faults = log_of(with_glob("*", LogLevel::kFault));
  CHECK(lines(faults) == 1);
  CHECK(faults.find("address range outside the region") != std::string::npos);
  CHECK(lines(log_of(with_glob("*", LogLevel::kMessage))) == 3);
  CHECK(lines(log_of(with_glob("*", LogLevel::kPacket))) == 4);
  CHECK(log_level_of_name("fault") == LogLevel::kFault);
  CHECK(log_level_of_name("message") == LogLevel::kMessage);
  CHECK(log_level_of_name("packet") == LogLevel::kPacket);
  CHECK_FALSE(log_level_of_name("packets"));
  CHECK_FALSE(log_level_of_name(""));
}

TEST_CASE("what is refused or fails is a fault, whatever its kind otherwise is") {
  const std::uint64_t ack = Aeth::ack(0).syndrome;
  const std::uint64_t nak = Aeth::nak(0, NakCode::kRemoteAccessError).syndrome;
  CHECK(level(ProbeKind::kQpError, 1, kFlushed) == LogLevel::kFault);
  CHECK(level(ProbeKind::kSendQueueError, 1, kFlushed) == LogLevel::kFault);
  CHECK(level(ProbeKind::kKeyChanged, 0, 1) == LogLevel::kFault);
  CHECK(level(ProbeKind::kKeyChanged, 0, 0) == LogLevel::kMessage);
  CHECK(level(ProbeKind::kEventWritten, 0, 0) == LogLevel::kMessage);
  CHECK(level(ProbeKind::kKeyChecked, 0, kOutOfBounds) == LogLevel::kFault);
  CHECK(level(ProbeKind::kKeyChecked, 0, 0) == LogLevel::kPacket);
  CHECK(level(ProbeKind::kAckSent, 0, nak) == LogLevel::kFault);
  CHECK(level(ProbeKind::kAckSent, 0, ack) == LogLevel::kPacket);
  CHECK(level(ProbeKind::kAckReceived, 0, nak) == LogLevel::kFault);
  CHECK(level(ProbeKind::kAckReceived, 0, ack) == LogLevel::kPacket);
  CHECK(level(ProbeKind::kCqeWritten, 0, kFlushed) == LogLevel::kFault);
  CHECK(level(ProbeKind::kCqeWritten, 0, 0) == LogLevel::kMessage);
  CHECK(level(ProbeKind::kCompletionPolled, kFlushed, 64) == LogLevel::kFault);
  CHECK(level(ProbeKind::kCompletionPolled, 0, 64) == LogLevel::kMessage);
  CHECK(level(ProbeKind::kRegisterPin, 0, 4096) == LogLevel::kMessage);
  CHECK(level(ProbeKind::kWqeFetchStart, 64, 0) == LogLevel::kMessage);
  CHECK(level(ProbeKind::kPacketSent, 0, 64) == LogLevel::kPacket);
}

TEST_CASE("a record dated ahead is held back until simulated time is there") {
  Bench bench;
  bench.packet(10_ns, 50_ns, 1);
  bench.packet(10_ns, 30_ns, 2);
  bench.packet(10_ns, 10_ns, 3);
  CHECK(bench.sizes() == " 3");
  bench.packet(20_ns, 20_ns, 4);
  CHECK(bench.sizes() == " 3 4");
  bench.packet(30_ns, 60_ns, 5);
  CHECK(bench.sizes() == " 3 4 2");
  bench.packet(40_ns, 50_ns, 6);
  CHECK(bench.sizes() == " 3 4 2");
  bench.log.reset();
  CHECK(bench.sizes() == " 3 4 2 1 6 5");  // at one instant in the order of the reports
}

TEST_CASE("a record dated before its report stands at the report and names its own time") {
  Bench bench;
  bench.packet(10_ns, 60_ns, 1);
  bench.packet(50_ns, 40_ns, 2);
  CHECK(bench.sizes() == " 2");
  CHECK(bench.out.str() ==
        "        50.000 ns  host.B.nic0.port                 packet sent                "
        "                   2 B, took 40.000 ns (at 40.000 ns)\n");
  bench.packet(70_ns, 55_ns, 3);
  CHECK(bench.sizes() == " 2 1 3");
}

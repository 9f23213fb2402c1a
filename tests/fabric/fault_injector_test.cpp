// SPDX-License-Identifier: MIT
#include "fabric/fault_injector.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "fabric/link.h"
#include "model/icrc.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

constexpr Time kPropagation = Time::ns(15);  // 3 m
constexpr Time kByte = Time::ps(80);         // 100 Gb/s
constexpr Time kGap = kByte * 20;            // inter-packet gap and preamble
constexpr std::uint32_t kFrame = 1024 + 62;
constexpr Time kFrameTime = kByte * kFrame;

struct Sink : PacketSink {
  explicit Sink(Scheduler& scheduler) : scheduler(scheduler) {}
  void receive(PacketRef packet) override {
    times.push_back(scheduler.now());
    psns.push_back(packet->bth.psn.value());
    packets.push_back(std::move(packet));
  }
  Scheduler& scheduler;
  std::vector<Time> times;
  std::vector<std::uint32_t> psns;
  std::vector<PacketRef> packets;
};

FaultRule rule(FaultKind kind) {
  FaultRule rule;
  rule.kind = kind;
  return rule;
}

/// Of packet `psn` only.
FaultRule rule_for(FaultKind kind, std::uint32_t psn) {
  FaultRule one = rule(kind);
  one.psn = psn;
  return one;
}

class Counters : public MetricSink {
 public:
  void add(const std::string& path, std::uint64_t value, Unit, const char*) override {
    values[path] = value;
  }
  void add_real(const std::string&, double, Unit, const char*) override {}
  std::map<std::string, std::uint64_t> values;
};

/// Packets of 1,024 B with PSN 0, 1, 2, ... into an injector, a link behind it, and a sink.
struct Bench {
  explicit Bench(const std::vector<FaultRule>& rules)
      : injector(scheduler, pool, LinkConfig{}, rules, FaultDirection::kForward, "forward", 1) {
    injector.connect(link);
    link.connect(sink);
  }
  /// A frame whose first bit leaves at `head`, given to the injector a preamble earlier.
  Packet& send(Time head, std::uint32_t payload = 1024) {
    PacketRef packet = pool.create();
    packet->bth.opcode = Opcode::kWriteMiddle;
    packet->bth.psn = Psn(static_cast<std::uint32_t>(sent.size()));
    packet->set_payload_length(Bytes(payload));
    packet->head = head;
    packet->tail = head + kByte * static_cast<std::int64_t>(packet->frame_bytes().count());
    sent.push_back(packet);
    scheduler.at(head - kByte * 8, call<&Bench::enter>(this, sent.size() - 1));
    return *sent.back();
  }
  /// One every `period`, beginning at 100 ns.
  void send_many(int count, Time period) {
    for (int i = 0; i < count; ++i) send(100_ns + period * i);
  }
  void enter(std::uint64_t index) { injector.receive(std::move(sent[index])); }
  void run() { scheduler.run_until(Time::s(1)); }
  std::uint64_t counter(const std::string& name) {
    Counters counters;
    injector.report(MetricScope(counters, "faults"));
    return counters.values.at("faults." + name);
  }

  PacketPool pool;
  Scheduler scheduler{"scheduler"};
  Sink sink{scheduler};
  LinkDirection link{scheduler, LinkConfig{}, 1};
  FaultInjector injector;
  std::vector<PacketRef> sent;
};

/// When an undisturbed packet of 1,024 B arrives whose first bit leaves at `head`.
Time arrival(Time head) { return head + kFrameTime + kPropagation; }

using Psns = std::vector<std::uint32_t>;
using Times = std::vector<Time>;

/// PSNs that arrive of `count` packets. Needs no time, and so may be asked often in a process.
Psns survivors(const FaultRule& rule, std::uint32_t count, std::uint64_t seed = 1,
               const std::string& name = "forward") {
  static Scheduler scheduler("scheduler");
  PacketPool pool;
  Sink sink(scheduler);
  FaultInjector injector(scheduler, pool, LinkConfig{}, {rule}, FaultDirection::kForward, name,
                         seed);
  injector.connect(sink);
  for (std::uint32_t i = 0; i < count; ++i) {
    PacketRef packet = pool.create();
    packet->bth.psn = Psn(i);
    injector.receive(packet);
  }
  return sink.psns;
}

}  // namespace

TEST_CASE("A dropped packet arrives nowhere and the others come as if nothing had happened") {
  Bench bench({rule_for(FaultKind::kDrop, 1)});
  bench.send_many(3, 100_ns);
  bench.run();
  CHECK(bench.sink.psns == Psns{0, 2});
  CHECK(bench.sink.times == Times{arrival(100_ns), arrival(300_ns)});
  CHECK(bench.counter("dropped") == 1);
  CHECK(bench.counter("dropped_bytes") == kFrame);
  CHECK(bench.counter("0.fired") == 1);
  CHECK(bench.injector.entered_bytes() == Bytes(3 * kFrame));
  CHECK(bench.injector.owed_bytes() == Bytes(2 * kFrame));
  CHECK(bench.link.entered_bytes() == Bytes(2 * kFrame));
  CHECK(bench.pool.outstanding() == 2);  // those that the sink holds
}

TEST_CASE("A rule without conditions acts on every packet") {
  CHECK(survivors(rule(FaultKind::kDrop), 5).empty());
}

TEST_CASE("first, every and count choose among the packets that match") {
  FaultRule third = rule(FaultKind::kDrop);
  third.first = 3;
  third.count = 1;
  CHECK(survivors(third, 6) == Psns{0, 1, 3, 4, 5});
  FaultRule each_second = rule(FaultKind::kDrop);
  each_second.every = 2;
  CHECK(survivors(each_second, 6) == Psns{0, 2, 4});
  each_second.first = 1;
  CHECK(survivors(each_second, 6) == Psns{1, 3, 5});
  each_second.count = 2;
  CHECK(survivors(each_second, 6) == Psns{1, 3, 4, 5});
}

TEST_CASE("All conditions of a rule must hold") {
  FaultRule one = rule(FaultKind::kDrop);
  one.opcode = "rdma write *";
  one.ipv4_identification_low_byte = 0xff;
  one.from = 200_ns;
  one.until = 600_ns;
  Bench bench({one});
  bench.send_many(7, 100_ns);
  for (PacketRef& packet : bench.sent) packet->ipv4.identification = 0x1ff;
  bench.sent[2]->ipv4.identification = 0xff01;
  bench.sent[3]->bth.opcode = Opcode::kSendMiddle;
  bench.run();
  // 0 leaves before `from`, 5 at `until`.
  CHECK(bench.sink.psns == Psns{0, 2, 3, 5, 6});
}

namespace {

/// Packets of RDMA (lower case) and segments of TCP (capitals) in turn, both with the same number,
/// then a pause frame; what arrives of them. Needs no time.
std::string survivors_of_both(const FaultRule& rule) {
  static Scheduler scheduler("scheduler");
  PacketPool pool;
  Sink sink(scheduler);
  FaultInjector injector(scheduler, pool, LinkConfig{}, {rule}, FaultDirection::kForward, "forward",
                         1);
  injector.connect(sink);
  for (std::uint32_t i = 0; i < 4; ++i) {
    PacketRef packet = pool.create();
    packet->bth.opcode = Opcode::kSendFirst;
    packet->bth.psn = Psn(i);
    injector.receive(packet);
    PacketRef segment = pool.create();
    TcpHeader header;
    header.sequence = TcpSeq(i);
    segment->become_tcp(header, Bytes(100), true);
    injector.receive(segment);
  }
  PacketRef pause = pool.create();
  pause->kind = FrameKind::kPause;
  injector.receive(pause);
  std::string came;
  for (const PacketRef& packet : sink.packets) {
    if (packet->kind == FrameKind::kPause)
      came += '-';
    else if (packet->is_tcp())
      came += static_cast<char>('A' + packet->tcp().sequence.value());
    else
      came += static_cast<char>('a' + packet->bth.psn.value());
  }
  return came;
}

}  // namespace

TEST_CASE("What asks for a PSN or an opcode leaves segments of TCP alone") {
  CHECK(survivors_of_both(rule_for(FaultKind::kDrop, 0)) == "AbBcCdD-");
  FaultRule sends = rule(FaultKind::kDrop);
  sends.opcode = "send first";
  CHECK(survivors_of_both(sends) == "ABCD-");
  sends.opcode = "*";
  CHECK(survivors_of_both(sends) == "ABCD");
}

TEST_CASE("A rule for TCP drops segments, each second if it says so, and nothing else") {
  FaultRule tcp = rule(FaultKind::kDrop);
  tcp.protocol = FaultProtocol::kTcp;
  CHECK(survivors_of_both(tcp) == "abcd-");
  tcp.every = 2;
  CHECK(survivors_of_both(tcp) == "aAbcCd-");
}

TEST_CASE("A rule for RDMA drops its packets, and one for anything all frames") {
  FaultRule rdma = rule(FaultKind::kDrop);
  rdma.protocol = FaultProtocol::kRdma;
  CHECK(survivors_of_both(rdma) == "ABCD-");
  CHECK(survivors_of_both(rule(FaultKind::kDrop)).empty());
}

TEST_CASE("Segments of TCP never become packets with a wrong opcode") {
  FaultRule wrong = rule(FaultKind::kWrongOpcode);
  wrong.sent_as = "rdma write last";
  Bench bench({wrong});
  Packet& segment = bench.send(100_ns);
  segment.become_tcp(TcpHeader{}, Bytes(100), true);
  bench.run();
  CHECK(bench.counter("corrupted") == 0);
}

TEST_CASE("A damaged segment of TCP has a wrong checksum of 16 bits") {
  Bench bench({rule(FaultKind::kCorruptIcrc)});
  Packet& segment = bench.send(100_ns);
  segment.become_tcp(TcpHeader{}, Bytes(100), true);
  seal_icrc(segment);
  const std::uint32_t right = segment.icrc;
  bench.run();
  REQUIRE(bench.sink.packets.size() == 1);
  CHECK_FALSE(icrc_ok(*bench.sink.packets[0]));
  CHECK(bench.sink.packets[0]->icrc >> 16 == right >> 16);
}

TEST_CASE("A chance of one in a hundred hits about that many, and the seed says which") {
  FaultRule rare = rule(FaultKind::kDrop);
  rare.probability = 0.01;
  const Psns first = survivors(rare, 10000);
  CHECK(first.size() > 9850);
  CHECK(first.size() < 9950);
  CHECK(survivors(rare, 10000) == first);
}

TEST_CASE("Another seed, direction or name of the rule hits other packets") {
  FaultRule rare = rule(FaultKind::kDrop);
  rare.probability = 0.1;
  const Psns first = survivors(rare, 200);
  CHECK(survivors(rare, 200, 2) != first);
  CHECK(survivors(rare, 200, 1, "backward") != first);
  rare.name = "other";
  CHECK(survivors(rare, 200) != first);
}

TEST_CASE("A chance of 1 hits every packet, one of 0 none, and count bounds it") {
  FaultRule sure = rule(FaultKind::kDrop);
  sure.probability = 1;
  CHECK(survivors(sure, 50).empty());
  sure.count = 10;
  CHECK(survivors(sure, 50).size() == 40);
  sure.probability = 0;
  CHECK(survivors(sure, 50).size() == 50);
}

TEST_CASE("A rule acts on its direction only") {
  FaultRule backward = rule(FaultKind::kDrop);
  backward.direction = FaultDirection::kBackward;
  CHECK(survivors(backward, 3) == Psns{0, 1, 2});
  CHECK(backward.acts(FaultDirection::kBackward));
  CHECK_FALSE(backward.acts(FaultDirection::kForward));
}

TEST_CASE("The first rule that fires acts, and later ones do not count that packet") {
  FaultRule second = rule(FaultKind::kDrop);
  second.first = 2;
  second.count = 1;
  second.name = "second";
  Bench bench({rule_for(FaultKind::kCorruptFcs, 1), second});
  bench.send_many(4, 100_ns);
  bench.run();
  CHECK(bench.sink.psns == Psns{0, 1, 3});  // 2 is the second packet that the drop rule sees
  CHECK(bench.sink.packets[1]->bad_fcs);
  CHECK(bench.counter("0.fired") == 1);
  CHECK(bench.counter("second.fired") == 1);
}

TEST_CASE("A bad ICRC comes of one flipped bit of the payload") {
  Bench bench({rule_for(FaultKind::kCorruptIcrc, 0)});
  Packet& packet = bench.send(100_ns);
  std::fill_n(packet.payload(), 1024, std::uint8_t{0x5a});
  seal_icrc(packet);
  bench.run();
  REQUIRE(bench.sink.times == Times{arrival(100_ns)});
  const Packet& damaged = *bench.sink.packets[0];
  CHECK_FALSE(icrc_ok(damaged));
  CHECK_FALSE(damaged.bad_fcs);
  int flipped = 0;
  for (int i = 0; i < 1024; ++i) flipped += __builtin_popcount(damaged.payload()[i] ^ 0x5a);
  CHECK(flipped == 1);
  CHECK(bench.counter("corrupted") == 1);
}

TEST_CASE("Where there are no payload bytes, the ICRC itself is damaged") {
  Bench bench({rule(FaultKind::kCorruptIcrc)});
  Packet& elided = bench.send(100_ns);
  elided.payload_elided = true;
  seal_icrc(elided);
  Packet& empty = bench.send(300_ns, 0);
  empty.bth.opcode = Opcode::kAcknowledge;
  seal_icrc(empty);
  bench.run();
  REQUIRE(bench.sink.packets.size() == 2);
  CHECK_FALSE(icrc_ok(*bench.sink.packets[0]));
  CHECK_FALSE(icrc_ok(*bench.sink.packets[1]));
}

TEST_CASE("A bad FCS leaves the ICRC alone") {
  Bench bench({rule_for(FaultKind::kCorruptFcs, 0)});
  seal_icrc(bench.send(100_ns));
  bench.send(300_ns);
  bench.run();
  REQUIRE(bench.sink.packets.size() == 2);
  CHECK(bench.sink.packets[0]->bad_fcs);
  CHECK(icrc_ok(*bench.sink.packets[0]));
  CHECK_FALSE(bench.sink.packets[1]->bad_fcs);
}

TEST_CASE("A wrong opcode goes with the right ICRC, in packets whose headers keep their length") {
  FaultRule wrong = rule(FaultKind::kWrongOpcode);
  wrong.sent_as = "rdma write last";
  Bench bench({wrong});
  const std::array<Opcode, 4> sent = {Opcode::kWriteMiddle, Opcode::kWriteOnly,
                                      Opcode::kAcknowledge, Opcode::kSendFirst};
  for (std::size_t i = 0; i < sent.size(); ++i) {
    Packet& packet = bench.send(Time::us(static_cast<std::int64_t>(i + 1)));
    packet.bth.opcode = sent[i];
    seal_icrc(packet);
  }
  bench.run();
  std::vector<Opcode> came;
  for (const PacketRef& packet : bench.sink.packets) {
    came.push_back(packet->bth.opcode);
    CHECK(icrc_ok(*packet));
  }
  CHECK(came == std::vector<Opcode>{Opcode::kWriteLast, Opcode::kWriteOnly, Opcode::kAcknowledge,
                                    Opcode::kWriteLast});
  CHECK(bench.counter("corrupted") == 2);
}

TEST_CASE("A duplicate is a packet of its own, right behind the first") {
  Bench bench({rule_for(FaultKind::kDuplicate, 0)});
  Packet& packet = bench.send(100_ns);
  for (int i = 0; i < 1024; ++i) packet.payload()[i] = static_cast<std::uint8_t>(i * 7);
  packet.reth.virtual_address = VirtualAddress(0x1234);
  seal_icrc(packet);
  bench.send(1_us);
  bench.run();
  REQUIRE(bench.sink.psns == Psns{0, 0, 1});
  CHECK(bench.sink.times ==
        Times{arrival(100_ns), arrival(100_ns + kFrameTime + kGap), arrival(1_us)});
  const Packet& first = *bench.sink.packets[0];
  const Packet& copy = *bench.sink.packets[1];
  REQUIRE(&first != &copy);
  REQUIRE(first.payload() != copy.payload());
  CHECK(std::equal(first.payload(), first.payload() + 1024, copy.payload()));
  CHECK(icrc_ok(copy));
  CHECK(copy.id == first.id);
  CHECK(copy.reth.virtual_address == VirtualAddress(0x1234));
  CHECK(bench.injector.owed_bytes() == Bytes(3 * kFrame));
  CHECK(bench.link.left_bytes() == Bytes(3 * kFrame));
  CHECK(bench.counter("duplicated") == 1);
}

TEST_CASE("Frames behind a duplicate wait for it, and catch up where the line has a pause") {
  Bench bench({rule_for(FaultKind::kDuplicate, 0)});
  const Time slot = kFrameTime + kGap;
  bench.send(100_ns);
  bench.send(100_ns + slot);                 // right behind: where the copy goes
  bench.send(100_ns + slot * 2 + kGap * 2);  // two gaps of pause
  bench.send(2_us);
  bench.run();
  CHECK(bench.sink.psns == Psns{0, 0, 1, 2, 3});
  CHECK(bench.sink.times == Times{arrival(100_ns), arrival(100_ns + slot),
                                  arrival(100_ns + slot * 2), arrival(100_ns + slot * 3),
                                  arrival(2_us)});
}

TEST_CASE("A delayed packet comes so much later and is not overtaken") {
  FaultRule late = rule_for(FaultKind::kDelay, 1);
  late.delay = 250_ns;
  Bench bench({late});
  bench.send_many(3, 100_ns);
  bench.send(1_us);
  bench.run();
  CHECK(bench.sink.psns == Psns{0, 1, 2, 3});
  CHECK(bench.sink.times == Times{arrival(100_ns), arrival(450_ns),
                                  arrival(450_ns + kFrameTime + kGap), arrival(1_us)});
  CHECK(bench.sink.packets[1]->head == 450_ns + kPropagation);
  CHECK(bench.counter("delayed") == 1);
  CHECK(bench.injector.disturbed() == 0);
}

TEST_CASE("A reordered packet follows right behind the next") {
  Bench bench({rule_for(FaultKind::kReorder, 0)});
  bench.send_many(2, 100_ns);
  bench.send(1_us);
  bench.scheduler.run_until(150_ns);
  CHECK(bench.injector.held() == 1);
  CHECK(bench.injector.owed_bytes() == Bytes(0));
  bench.run();
  CHECK(bench.sink.psns == Psns{1, 0, 2});
  CHECK(bench.sink.times ==
        Times{arrival(200_ns), arrival(200_ns + kFrameTime + kGap), arrival(1_us)});
  CHECK(bench.injector.held() == 0);
  CHECK(bench.counter("reordered") == 1);
  CHECK(bench.injector.owed_bytes() == Bytes(3 * kFrame));
}

TEST_CASE("A reordered packet lets as many others go first as the rule says") {
  FaultRule back = rule_for(FaultKind::kReorder, 0);
  back.behind = 3;
  Bench bench({back, rule_for(FaultKind::kDrop, 2)});
  bench.send_many(6, 200_ns);
  bench.run();
  // A lost packet does not overtake.
  CHECK(bench.sink.psns == Psns{1, 3, 4, 0, 5});
}

TEST_CASE("Two held packets go in the order in which others let them") {
  FaultRule both = rule(FaultKind::kReorder);
  both.count = 2;
  Bench bench({both});
  bench.send_many(4, 200_ns);
  bench.run();
  CHECK(bench.sink.psns == Psns{2, 0, 1, 3});
  const Time slot = kFrameTime + kGap;
  CHECK(bench.sink.times == Times{arrival(500_ns), arrival(500_ns + slot),
                                  arrival(500_ns + slot * 2), arrival(500_ns + slot * 3)});
}

TEST_CASE("A reordered packet that nobody follows goes when its delay is over") {
  FaultRule back = rule_for(FaultKind::kReorder, 0);
  back.delay = 2_us;
  Bench bench({back});
  bench.send(100_ns);
  bench.send(3_us);
  bench.run();
  CHECK(bench.sink.psns == Psns{0, 1});
  CHECK(bench.sink.times == Times{arrival(2100_ns), arrival(3_us)});
}

TEST_CASE("A reordered packet waits for 10 us if the rule says nothing else") {
  Bench bench({rule_for(FaultKind::kReorder, 0)});
  bench.send(100_ns);
  bench.run();
  CHECK(bench.sink.times == Times{arrival(10100_ns)});
}

TEST_CASE("A link that is down loses what is sent meanwhile and delivers what was on its way") {
  FaultRule down = rule(FaultKind::kDown);
  down.from = 200_ns;
  down.until = 400_ns;
  Bench bench({down});
  bench.send(200_ns - kFrameTime);                // its last bit leaves as the link goes down
  bench.send(200_ns - kFrameTime + Time::ps(1));  // its last bit is lost
  bench.send(300_ns);
  bench.send(400_ns - Time::ps(1));
  bench.send(400_ns);
  bench.run();
  CHECK(bench.sink.psns == Psns{0, 4});
  CHECK(bench.sink.times == Times{200_ns + kPropagation, arrival(400_ns)});
  CHECK(bench.counter("dropped") == 3);
}

TEST_CASE("Undisturbed packets at an odd rate keep their times to the picosecond") {
  LinkConfig config;
  config.rate = BitRate(51562500001);
  PacketPool pool;
  Scheduler scheduler("scheduler");
  Sink sink(scheduler);
  FaultInjector injector(scheduler, pool, config, {rule_for(FaultKind::kDrop, Psn::kMask)},
                         FaultDirection::kForward, "forward", 1);
  injector.connect(sink);
  Serialiser wire(config.rate);
  const ByteTime& byte_time = wire.byte_time();
  for (int i = 0; i < 1000; ++i) {
    PacketRef packet = pool.create();
    packet->set_payload_length(Bytes(1000));
    const Time start = wire.free_at();
    const Time head = start + byte_time.of(kPreambleBytes);
    const Time tail = wire.send(start, packet->wire_bytes()) - byte_time.of(kInterPacketGapBytes);
    packet->head = head;
    packet->tail = tail;
    injector.receive(packet);
    REQUIRE(sink.packets.back()->head == head);
    REQUIRE(sink.packets.back()->tail == tail);
  }
}

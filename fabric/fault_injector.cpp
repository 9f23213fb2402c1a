// SPDX-License-Identifier: MIT
#include "fabric/fault_injector.h"

#include <algorithm>
#include <limits>

#include "model/icrc.h"

namespace rnicsim {

namespace {

/// Chances are compared in whole steps of this, which a double holds exactly.
constexpr unsigned kChanceBits = 53;

void shift(Packet& packet, Time by) {
  packet.head += by;
  packet.tail += by;
}

}  // namespace

FaultInjector::FaultInjector(Scheduler& scheduler, PacketPool& packets, const LinkConfig& link,
                             const std::vector<FaultRule>& rules, FaultDirection direction,
                             const std::string& name, std::uint64_t run_seed, LinkLayer link_layer)
    : scheduler_(scheduler),
      packets_(packets),
      gap_(ByteTime(link.rate).of(gap_bytes(link_layer) + preamble_bytes(link_layer))) {
  const std::string prefix = name + ".faults.";
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i].acts(direction)) continue;
    const std::string label = rules[i].label(i);
    rules_.push_back(make_rule(rules[i], label, seed_for(run_seed, prefix + label)));
  }
}

FaultInjector::Rule FaultInjector::make_rule(const FaultRule& config, const std::string& label,
                                             std::uint64_t seed) {
  constexpr std::uint64_t kCertain = std::uint64_t{1} << kChanceBits;
  const double chance = config.probability.value_or(1) * static_cast<double>(kCertain);
  Rule rule{config,
            label,
            Random(seed),
            {},
            config.first.value_or(config.every.value_or(1)),
            config.every.value_or(1),
            config.count.value_or(std::numeric_limits<std::uint64_t>::max()),
            static_cast<std::uint64_t>(chance)};
  for (std::size_t byte = 0; byte < rule.opcodes.size(); ++byte)
    rule.opcodes[byte] = config.selects(static_cast<Opcode>(byte));
  return rule;
}

bool FaultInjector::matches(const Rule& rule, const Packet& packet) {
  const FaultRule& config = rule.config;
  // A frame of which the line's failure leaves a part is lost as well.
  const Time reaches = config.kind == FaultKind::kDown ? packet.tail - Time::ps(1) : packet.head;
  if (config.from && reaches < *config.from) return false;
  if (config.until && packet.head >= *config.until) return false;
  if (packet.kind != FrameKind::kData)
    return !config.psn && !config.ipv4_identification_low_byte &&
           config.selects_control(packet.kind == FrameKind::kPause ? FaultRule::kPause
                                                                   : FaultRule::kFlowControl);
  if (packet.is_tcp() ? !config.selects_tcp() : !config.selects_rdma()) return false;
  if (config.psn && packet.bth.psn.value() != *config.psn) return false;
  if (config.ipv4_identification_low_byte &&
      (packet.ipv4.identification & 0xff) != *config.ipv4_identification_low_byte)
    return false;
  return packet.is_tcp() || rule.opcodes[static_cast<std::size_t>(packet.bth.opcode)];
}

bool FaultInjector::fires(Rule& rule, const Packet& packet) {
  if (!matches(rule, packet)) return false;
  const std::uint64_t nth = ++rule.matched;
  if (nth < rule.first || (nth - rule.first) % rule.every != 0 || rule.fired == rule.most)
    return false;
  if (rule.config.probability && rule.random.next() >> (64 - kChanceBits) >= rule.threshold)
    return false;
  ++rule.fired;
  return true;
}

void FaultInjector::receive(PacketRef packet) {
  entered_bytes_ += packet->frame_bytes();
  const auto rule = std::find_if(rules_.begin(), rules_.end(),
                                 [&](Rule& candidate) { return fires(candidate, *packet); });
  if (rule == rules_.end())
    pass(std::move(packet));
  else
    act(*rule, std::move(packet));
}

void FaultInjector::act(Rule& rule, PacketRef packet) {
  switch (rule.config.kind) {
    case FaultKind::kDrop:
    case FaultKind::kDown:
      tell(ProbeKind::kPacketLost, *packet);
      tap(*packet, packet->tail, PacketDirection::kInbound,
          rule.config.kind == FaultKind::kDown ? "dropped: the link was down"
                                               : "dropped on the link");
      ++dropped_;
      dropped_bytes_ += packet->frame_bytes();
      return;
    case FaultKind::kCorruptIcrc:
    case FaultKind::kCorruptFcs:
    case FaultKind::kWrongOpcode:
      tell(ProbeKind::kPacketDamaged, *packet);
      ++corrupted_;
      damage(rule, *packet);
      break;
    case FaultKind::kDuplicate: {
      tell(ProbeKind::kPacketDuplicated, *packet);
      ++duplicated_;
      duplicated_bytes_ += packet->frame_bytes();
      PacketRef copy = packets_.copy(*packet);
      put_on_cable(std::move(packet));
      pass(std::move(copy));
      return;
    }
    case FaultKind::kReorder:
      tell(ProbeKind::kPacketHeldBack, *packet);
      ++reordered_;
      hold(rule.config, std::move(packet));
      return;
    case FaultKind::kDelay:
      tell(ProbeKind::kPacketDelayed, *packet);
      ++delayed_;
      shift(*packet, *rule.config.delay);
      break;
  }
  pass(std::move(packet));
}

void FaultInjector::damage(Rule& rule, Packet& packet) {
  if (rule.config.kind == FaultKind::kCorruptFcs) {
    packet.bad_fcs = true;
  } else if (rule.config.kind == FaultKind::kWrongOpcode) {
    packet.bth.opcode = rule.config.false_opcode();
    seal_icrc(packet);
  } else if (!packet.payload_elided && packet.payload_length != Bytes(0)) {
    const std::uint64_t bit = rule.random.below(packet.payload_length.count() * 8);
    packet.payload()[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
  } else {
    packet.icrc ^= 1U << rule.random.below(packet.is_tcp() ? 16 : 32);
  }
}

void FaultInjector::hold(const FaultRule& rule, PacketRef packet) {
  shift(*packet, rule.delay.value_or(FaultRule::kReorderDelay));
  scheduler_.at(packet->head, call<&FaultInjector::expire>(this, reordered_));
  held_.push_back({std::move(packet), rule.behind.value_or(1), reordered_});
}

/// The delay of a reordered packet is over; it may have gone by then.
void FaultInjector::expire(std::uint64_t number) {
  const auto held = std::find_if(held_.begin(), held_.end(),
                                 [&](const Held& candidate) { return candidate.number == number; });
  if (held == held_.end()) return;
  put_on_cable(std::move(held->packet));
  held_.erase(held);
}

/// One more packet goes on, and behind it those that waited for it.
void FaultInjector::pass(PacketRef packet) {
  put_on_cable(std::move(packet));
  std::size_t kept = 0;
  for (Held& held : held_) {
    if (--held.ahead != 0) {
      held_[kept++] = std::move(held);
      continue;
    }
    shift(*held.packet, free_ - held.packet->head);
    put_on_cable(std::move(held.packet));
  }
  held_.resize(kept);
}

void FaultInjector::put_on_cable(PacketRef packet) {
  if (packet->head < free_) shift(*packet, free_ - packet->head);
  free_ = packet->tail + gap_;
  link_->receive(std::move(packet));
}

void FaultInjector::tell(ProbeKind kind, const Packet& packet) const {
  if (packet.is_tcp()) return probe(packet.head, kind, {}, packet.id, 0, 0, packet.tcp_mark());
  probe(packet.head, kind, packet.work_request, packet.id, packet.bth.psn.value(),
        static_cast<std::uint64_t>(packet.bth.opcode));
}

Bytes FaultInjector::owed_bytes() const {
  Bytes owed = entered_bytes_ + duplicated_bytes_ - dropped_bytes_;
  for (const Held& held : held_) owed -= held.packet->frame_bytes();
  return owed;
}

std::uint64_t FaultInjector::fired(const std::string& label) const {
  std::uint64_t sum = 0;
  for (const Rule& rule : rules_)
    if (rule.label == label) sum += rule.fired;
  return sum;
}

void FaultInjector::report(const MetricScope& scope) const {
  scope.count("dropped", dropped_, "packets lost on purpose, also because the link was down");
  scope.bytes("dropped_bytes", dropped_bytes_, "bytes of their frames, with FCS");
  scope.count("corrupted", corrupted_, "packets damaged on purpose");
  scope.count("duplicated", duplicated_, "packets sent twice on purpose");
  scope.count("reordered", reordered_, "packets held back on purpose");
  scope.count("delayed", delayed_, "packets delayed on purpose");
  for (const Rule& rule : rules_)
    scope.child(rule.label).count("fired", rule.fired, "packets that this rule acted on");
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "model/credit.h"

#include <algorithm>

#include "model/invariant.h"

namespace rnicsim {

namespace {

constexpr std::uint64_t kSymbolBytes = 4;
constexpr int kPatience = 3;
constexpr Bytes kMostLaneBuffer(kMostCredit* kCreditBlockBytes);

Bytes lane_buffer_of(Bytes memory, const CreditConfig& config) {
  return config.lane_buffer.value_or(std::min(memory / config.data_lanes, kMostLaneBuffer));
}

/// What the sender has not heard of and what stays in the buffer are half each of what a lane has
/// beside the largest packet, so that there is always credit for that.
std::uint64_t update_of(std::uint64_t capacity, std::uint64_t half, const CreditConfig& config) {
  const std::uint64_t wanted = config.update ? credit_blocks(*config.update) : capacity / 8;
  return std::max<std::uint64_t>(1, std::min(wanted, half));
}

}  // namespace

void CreditConfig::describe(Fields& fields) {
  fields.field("data_lanes", data_lanes, range(1, 8),
               "virtual lanes of every link; a service level takes the lane of its number modulo "
               "this, and lanes are scheduled as priorities are");
  fields.optional("lane_buffer", lane_buffer, range(Bytes(256), kMostLaneBuffer),
                  "what a port can receive on each lane; if not given, an equal share of the NIC's "
                  "receive buffer or of the switch's packet memory, at most 128 KiB");
  fields.optional("update", update, range(Bytes(1), kMostLaneBuffer),
                  "how much must be free again before the sender is told; if not given, an eighth "
                  "of the lane's buffer");
  fields.field("refresh", refresh, range(64, 65536),
               "symbol times after which it is told in any case");
}

CreditLink::CreditLink(const Wiring& w, const CreditConfig& config)
    : scheduler_(w.scheduler),
      name_(w.name),
      go_(w.go),
      all_(static_cast<PrioritySet>((1U << config.data_lanes) - 1)),
      capacity_(lane_buffer_of(w.memory, config).count() / kCreditBlockBytes),
      period_(ByteTime(w.rate).of(Bytes(config.refresh * kSymbolBytes))) {
  const std::uint64_t largest = credit_blocks(w.largest_packet);
  if (capacity_ < largest)
    throw ConfigError({"", 0, w.memory_field,
                       "at least " + std::to_string(largest * kCreditBlockBytes) +
                           " B for each virtual lane, the largest packet in blocks of 64 B",
                       std::to_string(capacity_ * kCreditBlockBytes) + " B", ""});
  spare_ = (capacity_ - largest) / 2;
  update_ = update_of(capacity_, spare_, config);
  scheduler_.at_daemon(scheduler_.now(), call<&CreditLink::refresh>(this));
}

CreditLink::~CreditLink() = default;

bool CreditLink::offer(std::uint8_t number, Bytes bytes, Time ready) {
  const std::uint32_t blocks = credit_blocks(bytes);
  if (admits(lanes_[number], blocks)) return true;
  stall(number, blocks, std::max(ready, scheduler_.now()));
  return false;
}

void CreditLink::stall(std::uint8_t number, std::uint32_t blocks, Time since) {
  Lane& lane = lanes_[number];
  lane.wanted = blocks;
  lane.since = since;
  ++lane.stalls;
  stalled_ = static_cast<PrioritySet>(stalled_ | priority_bit(number));
  patience_ = kPatience;
  if (!holds_) scheduler_.hold();
  holds_ = true;
}

void CreditLink::take(std::uint8_t number, Bytes bytes) {
  Lane& lane = lanes_[number];
  const std::uint32_t blocks = credit_blocks(bytes);
  lane.received += blocks;
  lane.occupied += blocks;
  lane.most_occupied = std::max(lane.most_occupied, lane.occupied);
  if (lane.occupied > capacity_)
    throw InvariantBroken(name_, scheduler_.now(),
                          "a packet of virtual lane " + std::to_string(number) +
                              " came without credit and finds no room: its buffer has " +
                              std::to_string(lane_buffer().count()) + " B, " +
                              std::to_string(occupied(number).count()) + " B are needed by now",
                          "lossless_drop");
}

void CreditLink::give_back(std::uint8_t number, Bytes bytes) {
  lanes_[number].occupied -= credit_blocks(bytes);
  announce(number);
}

void CreditLink::pass(std::uint8_t number, Bytes bytes) {
  lanes_[number].received += credit_blocks(bytes);
  announce(number);
}

/// Tells the other end if it is worth a packet.
void CreditLink::announce(std::uint8_t number) {
  const Lane& lane = lanes_[number];
  const std::uint64_t limit = lane.received + capacity_ - lane.occupied;
  if (limit < lane.told + update_ || contains(due_, number)) return;
  due_ = static_cast<PrioritySet>(due_ | priority_bit(number));
  go_();
}

void CreditLink::refresh() {
  if (patience_ > 0 && --patience_ == 0) let_go();
  scheduler_.at_daemon(scheduler_.now() + period_, call<&CreditLink::refresh>(this));
  due_ = all_;
  go_();
}

void CreditLink::let_go() {
  if (holds_) scheduler_.release();
  holds_ = false;
}

CreditPacket CreditLink::take_packet() {
  const auto number = static_cast<std::uint8_t>(__builtin_ctz(due_));
  const PrioritySet bit = priority_bit(number);
  Lane& lane = lanes_[number];
  CreditPacket packet;
  packet.operation = (told_ & bit) != 0 ? CreditPacket::kNormal : CreditPacket::kInitialise;
  packet.lane = number;
  lane.told = lane.received + capacity_ - lane.occupied;
  packet.total_sent = static_cast<std::uint16_t>(lane.sent & kCreditMask);
  packet.limit = static_cast<std::uint16_t>(lane.told & kCreditMask);
  told_ = static_cast<PrioritySet>(told_ | bit);
  due_ = static_cast<PrioritySet>(due_ & ~bit);
  ++packets_sent_;
  return packet;
}

/// Counts are modulo 4,096 and never as much as half of that apart: what lacks was lost on the way,
/// what is too much came twice.
void CreditLink::receive(const CreditPacket& packet) {
  Lane& lane = lanes_[packet.lane];
  ++packets_received_;
  const auto lost = static_cast<std::uint32_t>((packet.total_sent - lane.received) & kCreditMask);
  lane.received += lost;
  if (lost > kMostCredit) lane.received -= kCreditMask + 1;
  lane.limit = packet.limit;
  announce(packet.lane);
  if (!contains(stalled_, packet.lane) || !admits(lane, lane.wanted)) return;
  lane.total += std::max(Time(), scheduler_.now() - lane.since);
  stalled_ = static_cast<PrioritySet>(stalled_ & ~priority_bit(packet.lane));
  if (stalled_ == 0) let_go();
  go_();
}

Time CreditLink::total_stalled(std::uint8_t number) const {
  const Lane& lane = lanes_[number];
  const bool open = contains(stalled_, number) && scheduler_.now() > lane.since;
  return lane.total + (open ? scheduler_.now() - lane.since : Time());
}

void CreditLink::report(const MetricScope& scope) const {
  Time waited;
  for (std::uint8_t number = 0; number < kPriorities; ++number) {
    const Lane& lane = lanes_[number];
    if (lane.most_occupied == 0 && lane.sent == 0 && lane.stalls == 0) continue;
    const Time total = total_stalled(number);
    waited += total;
    const MetricScope at = scope.child("vl" + std::to_string(number));
    at.bytes("receive_buffer", lane_buffer(), "room for packets of this virtual lane");
    at.bytes("receive_buffer.occupancy.max", Bytes(lane.most_occupied * kCreditBlockBytes),
             "most of it that was taken, in blocks of 64 B");
    at.count("tx_stalls", lane.stalls, "times that the next packet had to wait for credit");
    at.time("tx.stalled.credit", total, "time in which it did");
  }
  scope.time("tx.stalled.credit", waited,
             "time in which a packet waited for credit, summed over lanes (port_xmit_wait)");
  scope.count("tx_flow_control", packets_sent_, "flow control packets sent");
  scope.count("rx_flow_control", packets_received_, "flow control packets received");
}

}  // namespace rnicsim

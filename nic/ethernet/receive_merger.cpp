// SPDX-License-Identifier: MIT
#include "nic/ethernet/receive_merger.h"

#include <algorithm>

namespace rnicsim {

namespace {

constexpr std::uint32_t kMaxSegments = 255;  // as a completion entry can say

/// Whether something may be merged behind it.
bool can_begin(const Packet& packet) {
  const TcpHeader& tcp = packet.tcp();
  return packet.payload_length != Bytes(0) && !tcp.syn && !tcp.rst && !tcp.fin && !tcp.psh &&
         tcp.sack_blocks == 0;
}

}  // namespace

TcpMerged merged_alone(const Packet& packet) {
  TcpMerged merged;
  merged.header = packet.tcp();
  merged.ecn = packet.ipv4.ecn;
  merged.length = merged.segment_size = static_cast<std::uint32_t>(packet.payload_length.count());
  return merged;
}

bool ReceiveMerger::take(PacketRef& packet, std::uint32_t queue, std::uint32_t hash, bool may) {
  const FlowKey flow = FlowKey::of(*packet);
  Session* session = find(flow, queue);
  if (session != nullptr && (!may || !fits(*session, *packet))) {
    close(*session);
    session = nullptr;
  }
  if (session == nullptr && (!may || !can_begin(*packet))) return false;
  const Bytes frame = packet->frame_bytes();
  if (session != nullptr) {
    session->merged.append(packet->tcp(),
                           static_cast<std::uint32_t>(packet->payload_length.count()));
  } else {
    make_room(frame);
    session = &place();
    session->open = true;
    session->flow = flow;
    session->queue = queue;
    session->hash = hash;
    session->merged = merged_alone(*packet);
    session->held = Bytes();
    session->number = opened_++;
    ++open_;
    scheduler_.hold();
    scheduler_.at_daemon(scheduler_.now() + config_.merge_timeout,
                         call<&ReceiveMerger::timeout>(this, session->number));
  }
  session->held += frame;
  held_ += frame;
  most_held_ = std::max(most_held_, held_);
  session->packets.push(std::move(packet));
  if (session->merged.is_complete()) close(*session);
  return true;
}

ReceiveMerger::Session* ReceiveMerger::find(const FlowKey& flow, std::uint32_t queue) {
  if (open_ == 0) return nullptr;
  for (Session& session : sessions_)
    if (session.open && session.queue == queue && session.flow == flow) return &session;
  return nullptr;
}

bool ReceiveMerger::fits(const Session& session, const Packet& packet) const {
  const TcpMerged& merged = session.merged;
  const auto length = static_cast<std::uint32_t>(packet.payload_length.count());
  const Bytes ip(Ipv4Header::kBytes + merged.header.bytes() + merged.length + length);
  return merged.takes(packet.tcp(), packet.ipv4.ecn, length) &&
         session.packets.front().ipv4.dscp == packet.ipv4.dscp && ip <= config_.merge_limit &&
         merged.segments < kMaxSegments && held_ + packet.frame_bytes() <= config_.merge_buffer;
}

/// The oldest go on until there is room for one more, of so many bytes.
void ReceiveMerger::make_room(Bytes frame) {
  while (open_ != 0 && (open_ == config_.merge_flows || held_ + frame > config_.merge_buffer)) {
    Session* oldest = nullptr;
    for (Session& session : sessions_)
      if (session.open && (oldest == nullptr || session.number < oldest->number)) oldest = &session;
    close(*oldest);
  }
}

ReceiveMerger::Session& ReceiveMerger::place() {
  for (Session& session : sessions_)
    if (!session.open) return session;
  return sessions_.emplace_back();
}

void ReceiveMerger::close(Session& session) {
  session.open = false;
  --open_;
  held_ -= session.held;
  if (session.merged.segments > 1) {
    ++merged_;
    segments_ += session.merged.segments;
  }
  scheduler_.release();
  client_.merged(session);
}

void ReceiveMerger::timeout(std::uint64_t number) {
  for (Session& session : sessions_) {
    if (!session.open || session.number != number) continue;
    ++timeouts_;
    close(session);
    return;
  }
}

void ReceiveMerger::report(const MetricScope& scope) const {
  scope.count("merge.frames", merged_, "frames that were merged of several segments of TCP");
  scope.count("merge.segments", segments_, "segments in these");
  scope.count("merge.timeouts", timeouts_, "times that nothing more came in time");
  scope.bytes("merge.occupancy.max", most_held_, "most bytes that waited for more");
}

}  // namespace rnicsim

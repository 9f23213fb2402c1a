// SPDX-License-Identifier: MIT
// An end of a cable that sends and counts as a NIC's port does and knows nothing else: packets of
// given flows as fast as its own wire carries them, pauses of the other end obeyed, and asked for.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/packet.h"
#include "model/pause.h"
#include "model/scheduler.h"
#include "model/units.h"

namespace rnicsim::test {

/// The addresses of end point `number`, counted from 1.
inline Ipv4Address end_address(std::uint32_t number) { return Ipv4Address(0x0a000000U + number); }
inline abi::MacAddress end_mac(std::uint32_t number) {
  return {0x02,
          0,
          0,
          static_cast<std::uint8_t>(number >> 16),
          static_cast<std::uint8_t>(number >> 8),
          static_cast<std::uint8_t>(number)};
}

class FakeEnd : public PacketSink {
 public:
  /// Frames of `payload` + 62 B.
  struct Flow {
    std::uint32_t to;
    std::uint64_t packets;
    std::uint32_t payload = 4096;
    std::uint8_t priority = 3;
    std::uint16_t source_port = 0xc000;
    std::uint64_t sent = 0;
  };
  struct Arrival {
    Time given, head, tail;
    std::uint32_t from;
    std::uint32_t psn;
    std::uint16_t source_port;
  };

  FakeEnd(Scheduler& scheduler, PacketPool& pool, std::uint32_t number, BitRate rate,
          const PauseConfig& config)
      : scheduler_(scheduler),
        pool_(pool),
        number_(number),
        wire_(rate),
        preamble_(wire_.byte_time().of(kPreambleBytes)),
        gap_(wire_.byte_time().of(kInterPacketGapBytes)),
        requester_(scheduler, config, rate, call<&FakeEnd::go>(this)),
        listener_(scheduler, config, rate, call<&FakeEnd::go>(this)) {}
  void connect(PacketSink& link) { link_ = &link; }

  /// Flows take turns, packet by packet.
  void start(const Flow& flow) {
    flows_.push_back(flow);
    go();
  }
  /// A packet that the test has made, before everything else. REQUIRES: the wire is free.
  void send(PacketRef packet) { put_on_wire(std::move(packet)); }
  /// As a flow makes it.
  PacketRef make(const Flow& flow) const {
    PacketRef packet = pool_.create();
    packet->eth.source = end_mac(number_);
    packet->eth.destination = end_mac(flow.to);
    packet->ipv4.source = end_address(number_);
    packet->ipv4.destination = end_address(flow.to);
    packet->ipv4.dscp = static_cast<std::uint8_t>(flow.priority << 3);
    packet->udp.source_port = flow.source_port;
    packet->bth.opcode = Opcode::kWriteMiddle;
    packet->bth.psn = Psn(static_cast<std::uint32_t>(flow.sent));
    packet->set_payload_length(Bytes(flow.payload));
    packet->payload_elided = true;
    packet->priority = flow.priority;
    return packet;
  }
  PauseRequester& requester() { return requester_; }
  PauseListener& listener() { return listener_; }

  void receive(PacketRef packet) override {
    if (packet->kind == FrameKind::kPause) {
      ++pauses_received;
      listener_.receive(packet->pause);
      return;
    }
    ++received_packets;
    received_bytes += packet->frame_bytes();
    if (keeps) {
      arrivals.push_back({scheduler_.now(), packet->head, packet->tail,
                          packet->ipv4.source.value() & 0xffffff, packet->bth.psn.value(),
                          packet->udp.source_port});
      last = std::move(packet);
    }
  }

  bool keeps = true;
  std::vector<Arrival> arrivals;
  PacketRef last;
  std::uint64_t sent_packets = 0;
  std::uint64_t received_packets = 0;
  Bytes sent_bytes;
  Bytes received_bytes;
  std::uint64_t pauses_sent = 0;
  std::uint64_t pauses_received = 0;

 private:
  void go() {
    if (sending_) return;
    if (requester_.frame_is_due()) return send_pause();
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      Flow& flow = flows_[(turn_ + i) % flows_.size()];
      if (flow.sent == flow.packets || listener_.is_paused(flow.priority)) continue;
      turn_ = (turn_ + i + 1) % flows_.size();
      PacketRef packet = make(flow);
      ++flow.sent;
      return put_on_wire(std::move(packet));
    }
  }
  void send_pause() {
    PacketRef packet = pool_.create();
    packet->kind = FrameKind::kPause;
    packet->eth.destination = kMacControlAddress;
    packet->pause = requester_.take_frame();
    put_on_wire(std::move(packet));
  }
  void put_on_wire(PacketRef packet) {
    if (packet->kind == FrameKind::kPause) {
      ++pauses_sent;
    } else {
      ++sent_packets;
      sent_bytes += packet->frame_bytes();
    }
    const Time begin = std::max(scheduler_.now(), wire_.free_at());
    const Time end = wire_.send(begin, packet->wire_bytes());
    packet->head = begin + preamble_;
    packet->tail = end - gap_;
    sending_ = true;
    scheduler_.at(end, call<&FakeEnd::sent>(this));
    link_->receive(std::move(packet));
  }
  void sent() {
    sending_ = false;
    go();
  }

  Scheduler& scheduler_;
  PacketPool& pool_;
  std::uint32_t number_;
  PacketSink* link_ = nullptr;
  Serialiser wire_;
  Time preamble_;
  Time gap_;
  bool sending_ = false;
  std::vector<Flow> flows_;
  std::size_t turn_ = 0;
  PauseRequester requester_;
  PauseListener listener_;
};

}  // namespace rnicsim::test

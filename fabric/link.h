// SPDX-License-Identifier: MIT
// A full-duplex cable: pure delay, one ring of packets and one armed event a direction. The sender
// owns rate and queue; a packet enters with the times of its first and last bit at the sender and
// is delivered at the receiver's, propagation later (at the last bit, or at the first 64 B to a
// sink that cuts through). Being pure delay, it stalls nobody: who waits for it waits in the
// sender.
#pragma once

#include <cstdint>
#include <string>

#include "fabric/link_config.h"
#include "model/metrics.h"
#include "model/packet.h"
#include "model/ring.h"
#include "model/scheduler.h"

namespace rnicsim {

/// One direction.
class LinkDirection : public PacketSink {
 public:
  /// `number` orders arrivals of different links at one instant.
  LinkDirection(Scheduler& scheduler, const LinkConfig& config, std::uint32_t number)
      : scheduler_(scheduler),
        propagation_(config.propagation()),
        first_64_(ByteTime(config.rate).of(kMinFrameBytes)),
        number_(number) {}
  void connect(PacketSink& sink) {
    sink_ = &sink;
    cut_through_ = sink.wants_cut_through();
  }

  void receive(PacketRef packet) override;

  std::size_t in_flight() const { return ring_.size(); }
  std::uint64_t entered_packets() const { return entered_; }
  std::uint64_t left_packets() const { return left_; }
  Bytes entered_bytes() const { return entered_bytes_; }
  Bytes left_bytes() const { return left_bytes_; }
  void report(const MetricScope& scope) const;

 private:
  Time delivery(const Packet& packet) const;
  void arm();
  void deliver();

  Scheduler& scheduler_;
  Time propagation_;
  Time first_64_;
  std::uint32_t number_;
  PacketSink* sink_ = nullptr;
  bool cut_through_ = false;
  Ring<PacketRef> ring_;
  std::uint64_t entered_ = 0;
  std::uint64_t left_ = 0;
  Bytes entered_bytes_;
  Bytes left_bytes_;
  Time busy_;
  std::size_t most_in_flight_ = 0;
};

}  // namespace rnicsim

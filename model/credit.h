// SPDX-License-Identifier: MIT
// Both ends of InfiniBand's link flow control (IBTA volume 1, 7.9), the same in a NIC's port and in
// a switch's: nobody sends a packet on a virtual lane for which the other end has no room, so that
// there is nothing to pause.
//
// Where packets are received, each lane has a buffer of its own. Flow control packets tell the
// other end up to which count of 64 B blocks it may send: one for each lane when the link comes up,
// then whenever `update` has been given back, and every 65,536 symbol times. Where packets are
// sent, a lane whose next packet is longer than what is left stalls until a flow control packet
// allows it.
//
// What a link lost or damaged was sent and never received: the count of blocks sent, which every
// flow control packet carries too, puts that right. A flow control packet that is lost is made up
// for by the next.
//
// Approximates: a symbol is four bytes, as on a 4X link. No VL 15 (management), no limit to how
// long a packet may wait at the head of a queue (head of queue lifetime). A sender that stalls
// keeps a run alive for three periods only, so that a circle of stalled ports ends it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "model/callback.h"
#include "model/config_reader.h"
#include "model/credit_packet.h"
#include "model/metrics.h"
#include "model/pause_frame.h"
#include "model/priority_arbiter.h"
#include "model/scheduler.h"
#include "model/units.h"

namespace rnicsim {

/// The same for all links of a subnet, as its manager sets them up.
struct CreditConfig {
  std::uint8_t data_lanes = 8;
  std::optional<Bytes> lane_buffer;
  std::optional<Bytes> update;
  std::uint32_t refresh = 65536;
  void describe(Fields& fields);
};

class CreditLink {
 public:
  struct Wiring {
    Scheduler& scheduler;
    BitRate rate;
    Bytes memory;              ///< of the port, for all its lanes together
    const char* memory_field;  ///< the setting that it comes from
    Bytes largest_packet;      ///< LRH to VCRC
    std::string name;
    Callback go;  ///< a packet is due, or a lane that was stalled may go on
  };
  /// Throws ConfigError if a lane's buffer cannot hold the largest packet.
  CreditLink(const Wiring& wiring, const CreditConfig& config);
  ~CreditLink();
  CreditLink(const CreditLink&) = delete;
  CreditLink& operator=(const CreditLink&) = delete;

  // Where packets are sent
  /// Whether a packet of `bytes`, ready from `ready` on, may be sent. If not, the lane is stalled
  /// until it may.
  bool offer(std::uint8_t lane, Bytes bytes, Time ready);
  PrioritySet stalled() const { return stalled_; }
  /// How long the lane has been stalled altogether.
  Time total_stalled(std::uint8_t lane) const;
  void sent(std::uint8_t lane, Bytes bytes) { lanes_[lane].sent += credit_blocks(bytes); }

  // Where they are received
  /// A packet takes its room. REQUIRES: its sender had credit; otherwise a lossless drop ends the
  /// run.
  void take(std::uint8_t lane, Bytes bytes);
  void give_back(std::uint8_t lane, Bytes bytes);
  /// A packet that needs no room: it is dropped at once.
  void pass(std::uint8_t lane, Bytes bytes);

  // Between the two
  void receive(const CreditPacket& packet);
  bool packet_is_due() const { return due_ != 0; }
  /// REQUIRES: packet_is_due().
  CreditPacket take_packet();

  Bytes lane_buffer() const { return Bytes(capacity_ * kCreditBlockBytes); }
  /// What may stay in a lane's buffer for long.
  Bytes spare_room() const { return Bytes(spare_ * kCreditBlockBytes); }
  static Bytes room_of(Bytes packet) { return Bytes(credit_blocks(packet) * kCreditBlockBytes); }
  Bytes occupied(std::uint8_t lane) const {
    return Bytes(lanes_[lane].occupied * kCreditBlockBytes);
  }
  std::uint64_t packets_sent() const { return packets_sent_; }
  void report(const MetricScope& scope) const;

 private:
  struct Lane {
    // Counts of blocks since the link came up.
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t told = 0;  ///< the last limit that the other end was told
    std::uint64_t occupied = 0;
    std::uint64_t most_occupied = 0;
    std::uint16_t limit = 0;   ///< the last that the other end told, modulo 4,096
    std::uint32_t wanted = 0;  ///< blocks of the packet that stalls
    Time since;
    Time total;
    std::uint64_t stalls = 0;
  };
  bool admits(const Lane& lane, std::uint32_t blocks) const {
    return ((lane.limit - lane.sent - blocks) & kCreditMask) <= kMostCredit;
  }
  void stall(std::uint8_t lane, std::uint32_t blocks, Time since);
  void announce(std::uint8_t lane);
  void refresh();
  void let_go();

  Scheduler& scheduler_;
  std::string name_;
  Callback go_;
  PrioritySet all_;
  std::uint64_t capacity_;   ///< of a lane, in blocks
  std::uint64_t spare_ = 0;  ///< of it, may stay for long
  std::uint64_t update_;
  Time period_;
  PrioritySet stalled_ = 0;
  PrioritySet due_ = 0;
  PrioritySet told_ = 0;  ///< lanes of which the other end was told before
  bool holds_ = false;    ///< keeps the run alive
  int patience_ = 0;      ///< periods
  std::uint64_t packets_sent_ = 0;
  std::uint64_t packets_received_ = 0;
  std::array<Lane, kPriorities> lanes_;
};

}  // namespace rnicsim

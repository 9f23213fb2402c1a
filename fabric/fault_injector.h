// SPDX-License-Identifier: MIT
// Faults of one direction of a link: stands between the sender's port and the cable, and drops,
// damages, doubles, delays or holds back what a rule chooses. A direction without rules has none.
//
// Rules that ask for an opcode or a PSN act on packets of RDMA alone.
//
// Rules are tried in order; the first that fires acts, and later ones do not see the packet. Each
// has a random generator of its own, seeded by the run's seed, the direction and the rule's name.
//
// - drop: the packet's bits leave the sender and arrive nowhere.
// - down: so do all packets of which a bit is sent between `from` and `until`; what is on its way
//   by then is delivered.
// - corrupt_icrc: a bit of the payload is flipped, or, where there are no bytes to flip, a bit of
//   the ICRC, or of TCP's checksum. corrupt_fcs: the frame is marked as one whose FCS (InfiniBand:
//   VCRC) is wrong.
// - wrong_opcode: the packet says that it is another one, and its ICRC agrees: what only a broken
//   NIC sends.
// - duplicate: a copy follows right behind, at the link's rate.
// - delay: the packet comes later; those behind it do not overtake it.
// - reorder: the packet waits until `behind` later ones have been passed on, and follows right
//   behind; or until `delay` is over.
//
// Frames never overlap: one that finds the cable taken by a frame that came late waits for its end
// and the usual gap. Approximates: that queue has no limit, and nobody is told of it (a real one
// would pause or drop); a packet that is lost takes no time of a late queue. A reordered packet's
// deadline is an event that may make a run end so much later than its work.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "fabric/fault_config.h"
#include "fabric/link_config.h"
#include "model/metrics.h"
#include "model/packet.h"
#include "model/packet_tap.h"
#include "model/probe.h"
#include "model/random.h"
#include "model/scheduler.h"

namespace rnicsim {

class FaultInjector : public PacketSink {
 public:
  /// Takes those of the link's `rules` that act on `direction`. `name`: of the direction, for
  /// seeds.
  FaultInjector(Scheduler& scheduler, PacketPool& packets, const LinkConfig& link,
                const std::vector<FaultRule>& rules, FaultDirection direction,
                const std::string& name, std::uint64_t run_seed,
                LinkLayer link_layer = LinkLayer::kRoceV2);
  void connect(PacketSink& link) { link_ = &link; }

  void receive(PacketRef packet) override;

  std::size_t held() const { return held_.size(); }
  Bytes entered_bytes() const { return entered_bytes_; }
  /// What has been given to the cable if nothing went astray in here.
  Bytes owed_bytes() const;
  /// Packets after which the receiver may see gaps, repetitions or another order.
  std::uint64_t disturbed() const { return dropped_ + corrupted_ + duplicated_ + reordered_; }

  /// How often the rule of that name has acted.
  std::uint64_t fired(const std::string& label) const;

  Probe probe;
  PacketTapPoint tap;  ///< of the receiver's port: shows what was lost on the way
  void report(const MetricScope& scope) const;

 private:
  struct Rule {
    FaultRule config;
    std::string label;
    Random random;
    std::bitset<256> opcodes;
    std::uint64_t first;      ///< matching packet, counted from 1
    std::uint64_t every;      ///< from the first on
    std::uint64_t most;       ///< times that it fires
    std::uint64_t threshold;  ///< chance in 2^-53
    std::uint64_t matched = 0;
    std::uint64_t fired = 0;
  };
  /// A packet that waits for others to go first.
  struct Held {
    PacketRef packet;
    std::uint32_t ahead;  ///< how many have yet to
    std::uint64_t number;
  };

  static Rule make_rule(const FaultRule& config, const std::string& label, std::uint64_t seed);
  static bool matches(const Rule& rule, const Packet& packet);
  static bool fires(Rule& rule, const Packet& packet);
  void act(Rule& rule, PacketRef packet);
  static void damage(Rule& rule, Packet& packet);
  void hold(const FaultRule& rule, PacketRef packet);
  void expire(std::uint64_t number);
  void pass(PacketRef packet);
  void put_on_cable(PacketRef packet);
  void tell(ProbeKind kind, const Packet& packet) const;

  Scheduler& scheduler_;
  PacketPool& packets_;
  PacketSink* link_ = nullptr;
  Time gap_;   ///< from the last bit of a frame to the first of the next
  Time free_;  ///< when the next frame's first bit may enter the cable
  std::vector<Rule> rules_;
  std::vector<Held> held_;  ///< oldest first
  Bytes entered_bytes_;
  Bytes dropped_bytes_;
  Bytes duplicated_bytes_;
  std::uint64_t dropped_ = 0;
  std::uint64_t corrupted_ = 0;
  std::uint64_t duplicated_ = 0;
  std::uint64_t reordered_ = 0;
  std::uint64_t delayed_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// A switch, of Ethernet or InfiniBand: construction, wiring, and the way of a packet through it.
//
//   port -> classify -> way -> shared_buffer -> egress queue -> port
//              |                    |  XOFF, XON
//              v                    v
//        pause frames -> listener  requester of the ingress port -> pause frames
//
// A packet is taken when its last bit has come (or, cutting through, its first 64 B), is given a
// priority and a way, takes its bytes of the shared buffer, and may leave `latency` later. One of a
// lossless priority that finds no room ends the run as a lossless drop, which says what headroom
// there was and what was needed; others are dropped and counted.
//
// Routed, the TTL is counted down and the Ethernet source becomes this router; bridged, a frame
// leaves as it came. A RoCEv1 packet at a router is refused: it has no IP header that a router
// could forward by; so is IPv6 between link-local addresses, which end at a router. Every router
// answers for all next hops, so that a packet keeps the Ethernet address of its last hop.
//
// Of InfiniBand it forwards by destination LID, always by the same of several equally good ways
// (linear forwarding), and rewrites nothing but the virtual lane. Each port has a buffer for every
// lane, of which credits tell the sender; there are no pauses and no shared buffer. A subnet
// manager, which would assign LIDs and fill the tables, is not modelled: they are there from the
// start.
//
// With a MAC table (fabric/mac_table) a destination may be unknown, and its packet flooded: a copy
// to every other port, or dropped; a router drops flooded packets that come to it, which are
// addressed to somebody else. A port in a pause storm may lose its packets (fabric/storm_watchdog).
//
// Cutting through, a frame whose FCS (VCRC) is wrong is passed on, as its end is not known when it
// leaves; otherwise it is dropped here.
//
// Approximates: the pipeline is latency only: it takes packets at the rate of its ports. Bytes are
// taken at once for the whole packet, and given back when its slot on the wire, with the gap, has
// ended (1 ns late at 100 Gb/s). Of the copies of a lossy flooded packet one is held against the
// limit of its egress queue.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/egress.h"
#include "fabric/flooding.h"
#include "fabric/neighbours.h"
#include "fabric/path_choice.h"
#include "fabric/routes.h"
#include "fabric/shared_buffer.h"
#include "fabric/storm_watchdog.h"
#include "fabric/switch_config.h"
#include "fabric/switch_counters.h"
#include "model/clock.h"
#include "model/credit.h"
#include "model/metrics.h"
#include "model/packet.h"
#include "model/packet_tap.h"
#include "model/priority_map.h"
#include "model/random.h"
#include "model/scheduler.h"
#include "model/signal.h"

namespace rnicsim {

class Switch : public sc_core::sc_module, private Egress::Owner, private StormWatchdog::Owner {
 public:
  struct Wiring {
    Scheduler& scheduler;
    PacketPool& packets;
    std::uint32_t number;  ///< run-wide, for its Ethernet address
    std::uint64_t seed;
    LinkLayer link_layer = LinkLayer::kRoceV2;
    CreditConfig credit{};  ///< of InfiniBand
  };
  /// Throws ConfigError if the buffer cannot hold the headroom of its ports.
  Switch(const sc_core::sc_module_name& name, const Wiring& wiring, const SwitchConfig& config,
         const std::vector<SwitchPortSetup>& ports);
  ~Switch() override;

  std::uint16_t ports() const { return static_cast<std::uint16_t>(ports_.size()); }
  PacketSink& port(std::uint16_t port);
  void connect(std::uint16_t port, PacketSink& link) { ports_[port]->egress.connect(link); }
  /// The ways from here, which is `node` of the topology, to each of `destinations` end points.
  /// Must outlive the switch or the next call.
  void set_routes(const Routes& routes, std::uint32_t node, std::uint32_t destinations);
  /// A port whose cable is dead is no way for packets any more, and what waits for it is dropped:
  /// returns how many. One that comes back tells its other end again what is to stop.
  std::uint64_t set_port_up(std::uint16_t port, bool up);
  /// How soon a port obeys a pause.
  Time response_time(std::uint16_t port) const { return ports_[port]->egress.response_time(); }
  abi::MacAddress mac() const { return mac_; }

  bool idle() const;
  /// Packets and bytes, for conservation.
  struct Totals {
    std::uint64_t received_packets, sent_packets, dropped_packets;
    Bytes received_bytes, sent_bytes, dropped_bytes;
  };
  Totals port_totals(std::uint16_t port) const;
  /// Packets that the port dropped because there was no room, or that the router refused.
  struct Refusals {
    std::uint64_t no_room;
    PrioritySet priorities;  ///< of those
    std::uint64_t not_routable;
  };
  Refusals refusals(std::uint16_t port) const {
    const Port& at = *ports_[port];
    return {at.counters.no_room, at.lossy_drops, at.counters.not_routable};
  }
  /// Bytes of packets that were let into the packet memory and that have left it.
  Bytes taken_bytes() const { return taken_; }
  Bytes given_bytes() const { return given_; }
  Egress& egress(std::uint16_t port) { return ports_[port]->egress; }
  const SharedBuffer& buffer() const { return buffer_; }
  /// Whether a packet waits at `port` that came by port `ingress`.
  bool holds_from(std::uint16_t port, std::uint16_t ingress, std::uint8_t priority) const;
  /// The longest that the port was paused, if that was a storm by the watchdog's time; else lasted
  /// is zero.
  PauseSpan pause_storm(std::uint16_t port, std::uint8_t priority) const;
  void attach_tap(std::uint16_t port, PacketTap* tap, std::uint32_t number);
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  struct Port final : PacketSink {
    Port(Switch& the_switch, std::uint16_t number, std::unique_ptr<CreditLink> credits,
         const Egress::Wiring& wiring, const EgressConfig& config)
        : owner(the_switch), index(number), credit(std::move(credits)), egress(wiring, config) {}
    void receive(PacketRef packet) override { owner.receive(*this, std::move(packet)); }
    bool wants_cut_through() const override { return owner.cut_through_; }

    Switch& owner;
    std::uint16_t index;
    std::unique_ptr<CreditLink> credit;  ///< null on Ethernet
    Egress egress;
    SwitchCounters counters;
    PrioritySet lossy_drops = 0;  ///< priorities of packets that found no room
    PrioritySet storming = 0;     ///< whose packets to here and from here are dropped
    bool is_up = true;
    PacketTapPoint tap;
  };

  void port_may_send(std::uint64_t port) { ports_[port]->egress.go(); }
  void add_port(const Wiring& wiring, const SwitchConfig& config, const SwitchPortSetup& setup,
                std::size_t count);
  void receive(Port& port, PacketRef packet);
  void receive_control(Port& port, const Packet& packet);
  void forward(Port& port, PacketRef packet);
  bool take(Port& port, const Packet& packet, std::uint16_t way);
  bool is_neighbour(std::uint32_t number) const;
  bool is_known(Port& port, PacketRef& packet);
  void flood(Port& port, const PacketRef& packet);
  void hear(const Port& port, const Packet& packet);
  std::uint32_t destination_of(const Packet& packet) const;
  void drop_storm(std::uint16_t port, std::uint8_t priority, bool begins) override;
  void forward_by_lid(Port& port, PacketRef packet);
  PortGroup ways_to(const Packet& packet) const;
  PortGroup living(PortGroup ways);
  std::uint16_t choose(PortGroup ways, const Packet& packet);
  void rewrite(Packet& packet) const;
  Time ready(const Packet& packet, const Egress& out) const;
  void drop(Port& port, const Packet& packet, std::uint64_t& counter);
  [[noreturn]] void overflow(const Port& port, const Packet& packet) const;
  void left(std::uint16_t port, std::uint16_t ingress, std::uint8_t priority, Bytes frame) override;
  Bytes waiting(std::uint16_t port, std::uint8_t priority) const override {
    return buffer_.egress_bytes(port, priority);
  }

  Scheduler& scheduler_;
  PacketPool& pool_;
  bool cut_through_;
  bool infiniband_;
  bool routed_;
  PathChoice path_choice_;
  Clock clock_;
  Cycles latency_;
  std::uint64_t salt_;
  Random random_;
  PriorityMap priorities_;
  SharedBuffer buffer_;
  const Routes* routes_ = nullptr;
  std::uint32_t node_ = 0;
  std::uint32_t destinations_ = 0;
  unsigned storms_ = 0;  ///< whose packets are being dropped
  std::optional<MacTableConfig> mac_config_;
  std::optional<ArpTableConfig> arp_config_;
  std::unique_ptr<Neighbours> neighbours_;  ///< null: everybody is known
  Flooding flooding_;
  StormWatchdog watchdog_;
  abi::MacAddress mac_;
  std::uint32_t dead_ports_ = 0;
  std::vector<std::uint16_t> living_;  ///< ports of the group looked at
  Bytes taken_;
  Bytes given_;
  std::vector<std::unique_ptr<Port>> ports_;
};

}  // namespace rnicsim

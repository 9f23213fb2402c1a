// SPDX-License-Identifier: MIT
// What lies between the NICs: switches and cables of a topology, wired. Construction and wiring
// only, and the sums that nobody inside can form (conservation, hops).
//
//   NIC n -> entry(n) -> [faults] -> cable -> switch -> [faults] -> cable -> ... -> NIC m
//
// Without switches a cable joins two NICs. Each direction of a cable has a number, which orders
// arrivals of one instant: 2 x its link's number in the topology, plus one for the way back.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fabric/fault_injector.h"
#include "fabric/link.h"
#include "fabric/link_config.h"
#include "fabric/link_failure_config.h"
#include "fabric/link_failures.h"
#include "fabric/routes.h"
#include "fabric/switch.h"
#include "fabric/switch_config.h"
#include "fabric/topology.h"
#include "model/metrics.h"
#include "model/packet.h"
#include "model/packet_tap.h"
#include "model/pause.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "model/units.h"

namespace rnicsim {

struct FabricConfig {
  LinkConfig host_link;    ///< of LinkClass::kHost
  LinkConfig switch_link;  ///< kFabric
  LinkConfig global_link;  ///< kGlobal
  std::vector<FaultRule> faults;
  std::vector<LinkFailure> failures;
  std::vector<SwitchConfig> switches;  ///< one for each switch of the topology, in its order
  LinkLayer link_layer = LinkLayer::kRoceV2;
  CreditConfig credit;  ///< of InfiniBand
};

class Fabric {
 public:
  struct Wiring {
    Scheduler& scheduler;
    PacketPool& packets;
    std::uint64_t seed;
  };
  /// What a NIC's port must know of its cable and of the other end.
  struct Attachment {
    BitRate rate;
    Time propagation;
    Bytes mtu;
    Time response_time;  ///< how soon the other end obeys a pause
  };

  /// `nic_response[n]`: how soon NIC n obeys a pause. Throws ConfigError if a switch's buffer
  /// cannot hold its headroom.
  Fabric(const Wiring& wiring, Topology topology, const FabricConfig& config,
         const std::vector<Time>& nic_response);
  ~Fabric();

  Attachment attachment(std::uint32_t nic) const;
  /// A cable on a path, and the switch behind it.
  struct Hop {
    BitRate rate;
    Time propagation;
    Time latency;  ///< of the switch; zero behind the last cable
    bool cut_through = false;
  };
  /// The cables of Routes::first_path; empty if there is no way.
  std::vector<Hop> first_path(std::uint32_t from_nic, std::uint32_t to_nic) const;
  /// Names of the ports of switches, as metrics begin with them: those of all, and those on any of
  /// the shortest ways.
  std::set<std::string> switch_ports() const;
  std::set<std::string> switch_ports_between(std::uint32_t from_nic, std::uint32_t to_nic) const;
  /// Where NIC n sends to.
  PacketSink& entry(std::uint32_t nic);
  /// Where NIC n receives.
  void connect(std::uint32_t nic, PacketSink& port);

  const Topology& topology() const { return topology_; }
  std::size_t switches() const { return switches_.size(); }
  /// Which priorities a switch never drops.
  PrioritySet lossless_of(std::uint32_t node) const { return lossless_[switch_index(node)]; }
  Switch& at(std::size_t index) { return *switches_[index]; }

  /// Faults of cables: each under the component of the NIC that sends into it, the others under
  /// `first_switch` plus the sending switch's number. `first_nic[n]`: of NIC n.
  void attach(ProbeSink* sink, const std::vector<std::uint32_t>& nics, std::uint32_t first_switch);
  /// What passes the ports of switches, apart from faults.
  void attach_switches(ProbeSink* sink, std::uint32_t first_switch);
  /// Packets that faults lose on their way to a NIC, as that NIC's port. With `switches` also what
  /// passes the ports of switches; their numbers follow those of the NICs, switch by switch.
  void attach_tap(PacketTap* tap, bool switches);
  /// Pauses that switches' ports obey; the tag is a node's number in the topology.
  void observe_pauses(PauseObserver* observer);
  bool idle() const;
  /// What a user should know of the network: notes of its topology, what failures cost.
  std::vector<std::string> notes() const;
  /// What keeps packets of a priority from getting from NIC to NIC now, on any of their ways: a
  /// link that is down, a switch that knows no way, a paused port; empty if nothing does.
  std::string obstacle(std::uint32_t from_nic, std::uint32_t to_nic, std::uint8_t priority) const;
  /// Ports that have paused each other for good, as text that names them and says what each waits
  /// for; empty if there are none.
  std::string deadlock() const;
  /// Packets of a priority that a switch dropped for lack of room, and routers' refusals.
  struct Refused {
    PortRef at;  ///< where they came in
    PrioritySet priorities;
    std::uint64_t no_room, not_routable;
  };
  std::vector<Refused> refused() const;
  /// Ports of switches that were paused for as long as their watchdog looks for.
  std::vector<PauseStorm> pause_storms() const;
  void report(MetricSink& sink) const;
  void add_signals(Signals& signals);
  /// What entered a cable or a switch and left it nowhere. `sent` and `received` by NIC.
  struct NicTotals {
    Bytes sent, received;
  };
  std::vector<std::string> conservation_faults(const std::vector<NicTotals>& nics) const;
  /// Packets that have crossed a cable, each cable counted.
  std::uint64_t packet_hops() const;
  /// Packets that injected faults have lost, damaged, doubled or put out of order.
  std::uint64_t disturbed_packets() const;
  /// Whether packets of a flow may come in another order than they were sent in: switches choose
  /// for each, or routes change.
  bool may_reorder() const { return may_reorder_; }
  /// Packets that switches dropped: no room, no way, damaged, a dead port.
  std::uint64_t dropped_packets() const;

 private:
  struct Direction {
    PortRef from;
    PortRef to;
    std::unique_ptr<LinkDirection> link;
    std::unique_ptr<FaultInjector> faults;  ///< null if no rule acts here
    PacketSink& entry() {
      if (faults) return *faults;
      return *link;
    }
  };
  void check_bridges(const FabricConfig& config) const;
  LinkConfig config_of(const TopologyLink& link, const FabricConfig& config) const;
  void build_links(const Wiring& wiring, const FabricConfig& config);
  void build_direction(const Wiring& wiring, PortRef from, PortRef to, std::uint32_t number,
                       const FabricConfig& config);
  void build_switches(const Wiring& wiring, const FabricConfig& config);
  bool is_nic(PortRef port) const { return !topology_.node(port.node).is_switch; }
  std::uint32_t tap_number(PortRef port) const;
  std::string obstacle_at(PortRef port, std::uint8_t priority) const;
  std::uint32_t switch_index(std::uint32_t node) const { return node - topology_.end_points(); }
  std::string direction_name(std::size_t direction) const;
  std::uint64_t lost_by(std::size_t failure) const;
  std::uint32_t outgoing(PortRef port) const;

  Topology topology_;
  Routes routes_;                         ///< with every cable up
  std::vector<LinkConfig> link_configs_;  ///< by link
  std::vector<Time> nic_response_;
  std::vector<PrioritySet> lossless_;  ///< by switch
  struct Forward {
    Time latency;
    bool cut_through = false;
  };
  std::vector<Forward> forwards_;  ///< by switch
  std::vector<std::unique_ptr<Switch>> switches_;
  std::vector<Direction> directions_;  ///< two a link: forward, backward
  LinkFailures failures_;
  bool may_reorder_;
};

}  // namespace rnicsim

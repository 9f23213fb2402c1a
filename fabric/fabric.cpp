// SPDX-License-Identifier: MIT
#include "fabric/fabric.h"

#include <algorithm>
#include <utility>

#include "fabric/pause_cycle.h"
#include "model/clock.h"
#include "model/priority_arbiter.h"
#include "model/quantity.h"

namespace rnicsim {

namespace {

/// Those that act on a link, each with the name that it has among all.
void append_rules_on(const std::string& link, const std::vector<FaultRule>& rules,
                     std::vector<FaultRule>& here) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i].acts_on(link)) continue;
    here.push_back(rules[i]);
    here.back().name = rules[i].label(i);
  }
}

/// What a topology's file says of a link.
FaultRule loss_of_file(double probability) {
  FaultRule rule;
  rule.name = "error_rate";
  rule.probability = probability;
  return rule;
}

/// With the latencies that the topology itself gives to switches.
FabricConfig with_own_latencies(FabricConfig config, const Topology& topology) {
  constexpr Uint128 kPsPerSecond = 1000000000000ULL;
  for (std::size_t i = 0; i < config.switches.size(); ++i) {
    const TopologyNode& node = topology.node(topology.end_points() + static_cast<std::uint32_t>(i));
    SwitchConfig& own = config.switches[i];
    if (node.latency)
      own.latency = Cycles(static_cast<std::uint64_t>(
          (static_cast<Uint128>(node.latency->ps()) * own.clock.hz() + kPsPerSecond - 1) /
          kPsPerSecond));
  }
  return config;
}

}  // namespace

Fabric::Fabric(const Wiring& wiring, Topology topology, const FabricConfig& given,
               const std::vector<Time>& nic_response)
    : topology_(std::move(topology)),
      routes_(topology_),
      nic_response_(nic_response),
      failures_(wiring.scheduler, topology_, switches_, given.failures),
      may_reorder_(
          !given.failures.empty() ||
          std::any_of(given.switches.begin(), given.switches.end(), [](const SwitchConfig& each) {
            return each.path_choice != PathChoice::kEcmp;
          })) {
  const FabricConfig config = with_own_latencies(given, topology_);
  check_bridges(config);
  for (const TopologyLink& link : topology_.links())
    link_configs_.push_back(config_of(link, config));
  for (const SwitchConfig& each : config.switches)
    forwards_.push_back({Clock(each.clock).duration(each.latency), each.cut_through});
  for (const SwitchConfig& each : config.switches) lossless_.push_back(each.lossless_set());
  build_switches(wiring, config);
  build_links(wiring, config);
}

Fabric::~Fabric() = default;

/// What a bridge floods would go round a loop for ever; and where routers are among bridges, frames
/// would have to be addressed to routers, which answer here for all that is behind them.
void Fabric::check_bridges(const FabricConfig& config) const {
  const auto learns = [](const SwitchConfig& each) {
    return each.mac_table && each.forwarding == Forwarding::kBridged;
  };
  const auto routes = [](const SwitchConfig& each) {
    return each.forwarding == Forwarding::kRouted;
  };
  if (std::none_of(config.switches.begin(), config.switches.end(), learns)) return;
  const auto fail = [](const char* expected, const char* found) {
    throw ConfigError({"", 0, "fabric.switch.mac_table", expected, found, ""});
  };
  if (topology_.links().size() >= topology_.nodes().size())
    fail("a topology without loops for bridges that flood; spanning trees are not modelled",
         "one with loops");
  if (std::any_of(config.switches.begin(), config.switches.end(), routes))
    fail("bridges only, if one of them has a MAC table", "routers among them");
}

LinkConfig Fabric::config_of(const TopologyLink& link, const FabricConfig& config) const {
  LinkConfig chosen = link.link_class == LinkClass::kHost     ? config.host_link
                      : link.link_class == LinkClass::kFabric ? config.switch_link
                                                              : config.global_link;
  if (link.own.rate) chosen.rate = *link.own.rate;
  if (link.own.delay) chosen.delay = *link.own.delay;
  return chosen;
}

void Fabric::build_switches(const Wiring& wiring, const FabricConfig& config) {
  const auto response_of = [&](PortRef port) {
    if (is_nic(port)) return nic_response_[port.node];
    const SwitchConfig& peer = config.switches[switch_index(port.node)];
    const std::uint32_t link = topology_.node(port.node).links[port.port];
    return pause_response_time(peer.egress.pause, link_configs_[link].rate);
  };
  for (std::uint32_t node = topology_.end_points(); node < topology_.nodes().size(); ++node) {
    const TopologyNode& here = topology_.node(node);
    std::vector<SwitchPortSetup> ports;
    for (std::uint32_t p = 0; p < here.ports(); ++p) {
      if (here.links[p] == kNoLink) {
        ports.push_back({});
        continue;
      }
      const LinkConfig& link = link_configs_[here.links[p]];
      ports.push_back({link.rate, link.propagation(), link.mtu,
                       response_of(topology_.peer({node, p})), link.length});
    }
    const std::string name = "fabric_" + here.name;
    switches_.push_back(with_path_prefix("fabric.switch.", [&] {
      return std::make_unique<Switch>(
          name.c_str(),
          Switch::Wiring{wiring.scheduler, wiring.packets, switch_index(node), wiring.seed,
                         config.link_layer, config.credit},
          config.switches[switch_index(node)], ports);
    }));
    switches_.back()->set_routes(routes_, node, topology_.end_points());
  }
}

void Fabric::build_links(const Wiring& wiring, const FabricConfig& config) {
  for (std::uint32_t i = 0; i < topology_.links().size(); ++i) {
    const TopologyLink& link = topology_.links()[i];
    build_direction(wiring, link.a, link.b, i * 2, config);
    build_direction(wiring, link.b, link.a, i * 2 + 1, config);
  }
  for (Direction& direction : directions_) {
    if (!is_nic(direction.from))
      switches_[switch_index(direction.from.node)]->connect(
          static_cast<std::uint16_t>(direction.from.port), direction.entry());
    if (!is_nic(direction.to))
      direction.link->connect(switches_[switch_index(direction.to.node)]->port(
          static_cast<std::uint16_t>(direction.to.port)));
  }
}

void Fabric::build_direction(const Wiring& wiring, PortRef from, PortRef to, std::uint32_t number,
                             const FabricConfig& fabric) {
  const LinkConfig& config = link_configs_[number / 2];
  const FaultDirection way = number % 2 == 0 ? FaultDirection::kForward : FaultDirection::kBackward;
  Direction direction{from, to, std::make_unique<LinkDirection>(wiring.scheduler, config, number),
                      nullptr};
  std::vector<FaultRule> here;
  for (std::size_t i = 0; i < fabric.failures.size(); ++i)
    if (fabric.failures[i].acts_on(topology_, number / 2))
      here.push_back(LinkFailures::rule_of(fabric.failures[i], i, config.propagation()));
  append_rules_on(topology_.link_name(number / 2), fabric.faults, here);
  const double loss = topology_.links()[number / 2].own.loss;
  if (loss > 0) here.push_back(loss_of_file(loss));
  if (std::any_of(here.begin(), here.end(),
                  [&](const FaultRule& rule) { return rule.acts(way); })) {
    direction.faults =
        std::make_unique<FaultInjector>(wiring.scheduler, wiring.packets, config, here, way,
                                        direction_name(number), wiring.seed, fabric.link_layer);
    direction.faults->connect(*direction.link);
  }
  directions_.push_back(std::move(direction));
}

std::string Fabric::direction_name(std::size_t direction) const {
  return "fabric.link" + std::to_string(direction / 2) +
         (direction % 2 == 0 ? ".forward" : ".backward");
}

/// Numbers of directions follow from the links' numbers.
std::uint32_t Fabric::outgoing(PortRef port) const {
  const std::uint32_t link = topology_.node(port.node).links[port.port];
  return link * 2 + (topology_.links()[link].a == port ? 0 : 1);
}

Fabric::Attachment Fabric::attachment(std::uint32_t nic) const {
  const PortRef port{nic, 0};
  const LinkConfig& link = link_configs_[topology_.node(nic).links[0]];
  const PortRef peer = topology_.peer(port);
  const Time response = is_nic(peer) ? nic_response_[peer.node]
                                     : switches_[switch_index(peer.node)]->response_time(
                                           static_cast<std::uint16_t>(peer.port));
  return {link.rate, link.propagation(), link.mtu, response};
}

PacketSink& Fabric::entry(std::uint32_t nic) { return directions_[outgoing({nic, 0})].entry(); }

void Fabric::connect(std::uint32_t nic, PacketSink& port) {
  directions_[outgoing({nic, 0}) ^ 1U].link->connect(port);
}

void Fabric::attach(ProbeSink* sink, const std::vector<std::uint32_t>& nics,
                    std::uint32_t first_switch) {
  for (Direction& direction : directions_) {
    if (!direction.faults) continue;
    const std::uint32_t node = direction.from.node;
    direction.faults->probe.attach(
        sink, is_nic(direction.from) ? nics[node] : first_switch + switch_index(node));
  }
}

void Fabric::attach_switches(ProbeSink* sink, std::uint32_t first_switch) {
  for (std::size_t i = 0; i < switches_.size(); ++i)
    for (std::uint16_t port = 0; port < switches_[i]->ports(); ++port)
      switches_[i]->egress(port).probe.attach(sink, first_switch + static_cast<std::uint32_t>(i));
}

std::uint32_t Fabric::tap_number(PortRef port) const {
  if (is_nic(port)) return port.node;
  std::uint32_t number = topology_.end_points() + port.port;
  for (std::uint32_t node = topology_.end_points(); node < port.node; ++node)
    number += topology_.node(node).ports();
  return number;
}

void Fabric::attach_tap(PacketTap* tap, bool switches) {
  for (Direction& direction : directions_) {
    if (direction.faults && (switches || is_nic(direction.to)))
      direction.faults->tap.attach(tap, tap_number(direction.to));
    if (switches && !is_nic(direction.to))
      switches_[switch_index(direction.to.node)]->attach_tap(
          static_cast<std::uint16_t>(direction.to.port), tap, tap_number(direction.to));
  }
}

void Fabric::observe_pauses(PauseObserver* observer) {
  for (std::uint32_t node = topology_.end_points(); node < topology_.nodes().size(); ++node)
    for (std::uint32_t p = 0; p < topology_.node(node).ports(); ++p)
      switches_[switch_index(node)]
          ->egress(static_cast<std::uint16_t>(p))
          .listener()
          .observe(observer, {node, p});
}

std::vector<Fabric::Hop> Fabric::first_path(std::uint32_t from_nic, std::uint32_t to_nic) const {
  std::vector<Hop> hops;
  for (const PortRef port : routes_.first_path(topology_, from_nic, to_nic)) {
    const LinkConfig& link = link_configs_[topology_.node(port.node).links[port.port]];
    const PortRef next = topology_.peer(port);
    Hop hop{link.rate, link.propagation(), {}, false};
    if (!is_nic(next)) {
      hop.latency = forwards_[switch_index(next.node)].latency;
      hop.cut_through = forwards_[switch_index(next.node)].cut_through;
    }
    hops.push_back(hop);
  }
  return hops;
}

bool Fabric::idle() const {
  return std::all_of(switches_.begin(), switches_.end(),
                     [](const auto& each) { return each->idle(); }) &&
         std::all_of(directions_.begin(), directions_.end(), [](const Direction& direction) {
           return direction.link->in_flight() == 0 &&
                  (!direction.faults || direction.faults->held() == 0);
         });
}

std::string Fabric::obstacle_at(PortRef port, std::uint8_t priority) const {
  const std::uint32_t link = topology_.node(port.node).links[port.port];
  if (failures_.is_down(link)) return "link " + topology_.link_name(link) + " is down";
  if (is_nic(port)) return {};
  const PauseListener& listener =
      switches_[switch_index(port.node)]->egress(static_cast<std::uint16_t>(port.port)).listener();
  if (!listener.is_paused(priority)) return {};
  return topology_.name_of(port) + " is paused in priority " + std::to_string(priority) +
         " since " + to_text(listener.paused_since(priority));
}

/// Looks along all ways, those that are the fewest links away first.
std::string Fabric::obstacle(std::uint32_t from, std::uint32_t to, std::uint8_t priority) const {
  const Routes& routes = failures_.routes() != nullptr ? *failures_.routes() : routes_;
  std::string at_end = obstacle_at({to, 0}, priority);
  if (!at_end.empty()) return at_end;
  std::vector<PortRef> ports = {{from, 0}};
  std::vector<bool> seen(topology_.nodes().size());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    std::string here = obstacle_at(ports[i], priority);
    if (!here.empty()) return here;
    const std::uint32_t next = topology_.peer(ports[i]).node;
    if (next == to || seen[next] || !topology_.node(next).is_switch) continue;
    seen[next] = true;
    const PortGroup group = routes.ports(next, to);
    if (group.empty())
      return topology_.node(next).name + " knows no way to " + topology_.node(to).name;
    for (const std::uint16_t port : group) ports.push_back({next, port});
  }
  return {};
}

std::set<std::string> Fabric::switch_ports() const {
  std::set<std::string> names;
  for (std::uint32_t node = topology_.end_points(); node < topology_.nodes().size(); ++node)
    for (std::uint32_t port = 0; port < topology_.node(node).links.size(); ++port)
      names.insert("fabric." + topology_.name_of({node, port}));
  return names;
}

std::set<std::string> Fabric::switch_ports_between(std::uint32_t from, std::uint32_t to) const {
  std::set<std::string> names;
  std::vector<std::uint32_t> nodes = {topology_.peer({from, 0}).node};
  std::vector<bool> seen(topology_.nodes().size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::uint32_t node = nodes[i];
    if (seen[node] || !topology_.node(node).is_switch) continue;
    seen[node] = true;
    for (const std::uint16_t port : routes_.ports(node, to)) {
      names.insert("fabric." + topology_.name_of({node, port}));
      nodes.push_back(topology_.peer({node, port}).node);
    }
  }
  return names;
}

std::string Fabric::deadlock() const {
  const std::vector<PausedPort> cycle = find_pause_cycle(topology_, switches_);
  std::string text;
  for (const PausedPort& at : cycle)
    text +=
        topology_.name_of(at.port) + " (priority " + std::to_string(at.priority) + ") waits for ";
  return text.empty() ? text : text + topology_.name_of(cycle.front().port);
}

std::vector<Fabric::Refused> Fabric::refused() const {
  std::vector<Refused> refused;
  for (std::uint32_t node = topology_.end_points(); node < topology_.nodes().size(); ++node) {
    const Switch& at = *switches_[switch_index(node)];
    for (std::uint16_t port = 0; port < at.ports(); ++port) {
      const Switch::Refusals here = at.refusals(port);
      if (here.no_room + here.not_routable != 0)
        refused.push_back({{node, port}, here.priorities, here.no_room, here.not_routable});
    }
  }
  return refused;
}

std::vector<PauseStorm> Fabric::pause_storms() const {
  std::vector<PauseStorm> storms;
  for (std::uint32_t node = topology_.end_points(); node < topology_.nodes().size(); ++node) {
    const Switch& at = *switches_[switch_index(node)];
    for (std::uint16_t port = 0; port < at.ports(); ++port) {
      for (std::uint8_t p = 0; p < kPriorities; ++p) {
        const PauseSpan span = at.pause_storm(port, p);
        if (span.lasted == Time()) continue;
        add_storm(storms, {"fabric." + topology_.name_of({node, port}),
                           "was paused by " + topology_.name_of(topology_.peer({node, port})), span,
                           priority_bit(p)});
      }
    }
  }
  return storms;
}

void Fabric::add_signals(Signals& signals) {
  for (std::size_t i = 0; i < switches_.size(); ++i)
    switches_[i]->signals(
        SignalScope(signals, "fabric." + topology_.node(topology_.end_points() + i).name));
}

void Fabric::report(MetricSink& sink) const {
  for (std::size_t i = 0; i < switches_.size(); ++i)
    switches_[i]->report(
        MetricScope(sink, "fabric." + topology_.node(topology_.end_points() + i).name));
  for (std::size_t i = 0; i < directions_.size(); ++i) {
    const MetricScope scope(sink, direction_name(i));
    directions_[i].link->report(scope);
    if (directions_[i].faults) directions_[i].faults->report(scope.child("faults"));
  }
  for (std::size_t i = 0; i < failures_.count(); ++i) {
    const MetricScope scope(sink, "fabric.failures." + std::to_string(i));
    scope.count("links", failures_.links(i), "links that go down");
    scope.count("lost", lost_by(i), "packets that their cables lost while they were down");
    scope.count("dropped", failures_.dropped(i),
                "packets that waited for a dead port and were dropped when it was noticed");
  }
}

std::vector<std::string> Fabric::notes() const {
  std::vector<std::string> notes = topology_.notes;
  for (std::size_t i = 0; i < failures_.count(); ++i) {
    const LinkFailure& failure = failures_.failure(i);
    notes.push_back(failure.link + " down from " + to_text(failure.at) +
                    (failure.until ? " to " + to_text(*failure.until) : " on") + ": " +
                    std::to_string(lost_by(i)) + " packets lost on it, " +
                    std::to_string(failures_.dropped(i)) + " dropped in front of it");
  }
  return notes;
}

std::uint64_t Fabric::lost_by(std::size_t failure) const {
  const std::string label = LinkFailures::label_of(failure);
  std::uint64_t lost = 0;
  for (const Direction& direction : directions_)
    if (direction.faults) lost += direction.faults->fired(label);
  return lost;
}

std::vector<std::string> Fabric::conservation_faults(const std::vector<NicTotals>& nics) const {
  std::vector<std::string> faults;
  const auto check = [&](const std::string& where, Bytes in, Bytes out) {
    if (in != out)
      faults.push_back(where + ": " + std::to_string(in.count()) + " B entered, " +
                       std::to_string(out.count()) + " B left");
  };
  const auto port_of = [&](PortRef port) {
    return switches_[switch_index(port.node)]->port_totals(static_cast<std::uint16_t>(port.port));
  };
  for (std::size_t i = 0; i < directions_.size(); ++i) {
    const Direction& direction = directions_[i];
    const LinkDirection& link = *direction.link;
    const std::string name = direction_name(i);
    const Bytes sent = is_nic(direction.from) ? nics[direction.from.node].sent
                                              : port_of(direction.from).sent_bytes;
    const Bytes received = is_nic(direction.to) ? nics[direction.to.node].received
                                                : port_of(direction.to).received_bytes;
    if (direction.faults) {
      check(name + " at its sender", sent, direction.faults->entered_bytes());
      check(name + " after its faults", direction.faults->owed_bytes(), link.entered_bytes());
    } else {
      check(name + " at its sender", sent, link.entered_bytes());
    }
    if (link.in_flight() == 0) check(name, link.entered_bytes(), link.left_bytes());
    check(name + " at its receiver", link.left_bytes(), received);
  }
  for (const auto& each : switches_)
    if (each->idle()) check(each->name(), each->taken_bytes(), each->given_bytes());
  return faults;
}

std::uint64_t Fabric::packet_hops() const {
  std::uint64_t hops = 0;
  for (const Direction& direction : directions_) hops += direction.link->left_packets();
  return hops;
}

std::uint64_t Fabric::disturbed_packets() const {
  std::uint64_t disturbed = 0;
  for (const Direction& direction : directions_)
    if (direction.faults) disturbed += direction.faults->disturbed();
  return disturbed;
}

std::uint64_t Fabric::dropped_packets() const {
  std::uint64_t dropped = 0;
  for (const auto& each : switches_)
    for (std::uint16_t p = 0; p < each->ports(); ++p)
      dropped += each->port_totals(p).dropped_packets;
  for (std::size_t i = 0; i < failures_.count(); ++i) dropped += failures_.dropped(i);
  return dropped;
}

}  // namespace rnicsim

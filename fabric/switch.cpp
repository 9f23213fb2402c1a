// SPDX-License-Identifier: MIT
#include "fabric/switch.h"

#include <algorithm>
#include <iterator>

#include "model/invariant.h"

namespace rnicsim {

namespace {

bool is_routable(const Packet& packet) {
  const bool link_local = packet.has_grh() && packet.gid_kind == GidKind::kLinkLocal;
  return packet.link_layer != LinkLayer::kRoceV1 && !link_local;
}

/// InfiniBand's ports have buffers of their own.
SharedBufferConfig shared_buffer_of(const SwitchConfig& config, LinkLayer link_layer) {
  SharedBufferConfig buffer = config.buffer;
  if (link_layer == LinkLayer::kInfiniBand) buffer.reserved = Bytes(0);
  return buffer;
}
PrioritySet lossless_of(const SwitchConfig& config, LinkLayer link_layer) {
  return link_layer == LinkLayer::kInfiniBand ? PrioritySet{0} : config.lossless_set();
}

/// Its number, counted from 1, if the address is of an end point at all.
std::uint32_t end_point_of(const abi::MacAddress& mac) {
  return static_cast<std::uint32_t>(mac[3]) << 16 | static_cast<std::uint32_t>(mac[4]) << 8 |
         mac[5];
}

/// Locally administered, beside those of the NICs.
abi::MacAddress switch_mac(std::uint32_t number) {
  return {0x02,
          0x01,
          0,
          static_cast<std::uint8_t>(number >> 16),
          static_cast<std::uint8_t>(number >> 8),
          static_cast<std::uint8_t>(number)};
}

}  // namespace

Switch::Switch(const sc_core::sc_module_name& module_name, const Wiring& wiring,
               const SwitchConfig& config, const std::vector<SwitchPortSetup>& ports)
    : sc_module(module_name),
      scheduler_(wiring.scheduler),
      pool_(wiring.packets),
      cut_through_(config.cut_through),
      infiniband_(wiring.link_layer == LinkLayer::kInfiniBand),
      routed_(config.forwarding == Forwarding::kRouted && !infiniband_),
      path_choice_(config.path_choice),
      clock_(config.clock),
      latency_(config.latency),
      salt_(seed_for(wiring.seed, name())),
      random_(seed_for(wiring.seed, std::string(name()) + ".random")),
      priorities_(PriorityMap::on(wiring.link_layer, config.priorities, wiring.credit.data_lanes)),
      buffer_(shared_buffer_of(config, wiring.link_layer), lossless_of(config, wiring.link_layer),
              config.headrooms(ports)),
      mac_config_(config.mac_table),
      arp_config_(config.arp_table),
      watchdog_(wiring.scheduler, config.watchdog, *this),
      mac_(switch_mac(wiring.number)) {
  for (const SwitchPortSetup& setup : ports) add_port(wiring, config, setup, ports.size());
}

/// One of `count`, which share the packet memory evenly if they have buffers of their own. Where
/// nothing is plugged in there is nobody to tell of them.
void Switch::add_port(const Wiring& wiring, const SwitchConfig& config,
                      const SwitchPortSetup& setup, std::size_t count) {
  const auto number = static_cast<std::uint16_t>(ports_.size());
  std::unique_ptr<CreditLink> credit;
  if (infiniband_ && setup.largest_frame != Bytes(0))
    credit = std::make_unique<CreditLink>(
        CreditLink::Wiring{wiring.scheduler, setup.rate, config.buffer.size / count, "buffer.size",
                           setup.largest_frame,
                           std::string(name()) + ".port" + std::to_string(number),
                           call<&Switch::port_may_send>(this, number)},
        wiring.credit);
  const Egress::Wiring out{wiring.scheduler, wiring.packets, *this, random_,
                           number,           setup.rate,     mac_,  wiring.link_layer,
                           credit.get()};
  ports_.push_back(std::make_unique<Port>(*this, number, std::move(credit), out, config.egress));
  watchdog_.watch(ports_.back()->egress.listener());
}

Switch::~Switch() = default;

void Switch::set_routes(const Routes& routes, std::uint32_t node, std::uint32_t destinations) {
  routes_ = &routes;
  node_ = node;
  destinations_ = destinations;
  if (!mac_config_ || neighbours_) return;
  neighbours_ = std::make_unique<Neighbours>(*mac_config_, arp_config_, destinations);
  for (std::uint32_t i = 0; i < destinations; ++i) {
    const PortGroup ways = routes.ports(node, i);
    if (!ways.empty()) neighbours_->assume(i, ways[0]);
  }
}

PacketSink& Switch::port(std::uint16_t port) { return *ports_[port]; }

void Switch::receive(Port& port, PacketRef packet) {
  ++port.counters.packets;
  port.counters.bytes += packet->frame_bytes();
  const bool damaged = packet->bad_fcs && (!cut_through_ || packet->kind != FrameKind::kData);
  port.tap(*packet, packet->tail, PacketDirection::kInbound,
           damaged ? (infiniband_ ? "dropped: wrong VCRC" : "dropped: wrong FCS") : nullptr);
  if (damaged)
    drop(port, *packet, port.counters.crc_errors);
  else if (packet->kind != FrameKind::kData)
    receive_control(port, *packet);
  else if (infiniband_)
    forward_by_lid(port, std::move(packet));
  else
    forward(port, std::move(packet));
}

void Switch::receive_control(Port& port, const Packet& packet) {
  if (packet.kind == FrameKind::kCredit)
    port.credit->receive(packet.credit);
  else
    port.egress.listener().receive(packet.pause);
}

void Switch::forward_by_lid(Port& port, PacketRef packet) {
  const std::uint8_t lane = packet->lrh.virtual_lane;
  const Lid lid = packet->lrh.destination;
  PortGroup ways = lid == 0 || lid > destinations_ ? PortGroup{} : routes_->ports(node_, lid - 1U);
  if (dead_ports_ != 0) ways = living(ways);
  if (ways.empty()) {
    port.credit->pass(lane, packet->frame_bytes());
    return drop(port, *packet, port.counters.no_way);
  }
  port.credit->take(lane, packet->frame_bytes());
  taken_ += packet->frame_bytes();
  packet->priority = priorities_.of(*packet);
  packet->ingress = port.index;
  Egress& out = ports_[ways[pick(Random(salt_ ^ lid).next(), ways.size())]]->egress;
  const Time from = ready(*packet, out);
  out.enqueue(std::move(packet), from);
}

void Switch::forward(Port& port, PacketRef packet) {
  if (routed_ && !is_routable(*packet)) return drop(port, *packet, port.counters.not_routable);
  if (routed_ && packet->ipv4.ttl <= 1) return drop(port, *packet, port.counters.expired);
  if (routed_ && packet->is_flooded()) return drop(port, *packet, port.counters.not_ours);
  if (neighbours_ && !is_known(port, packet)) return;
  PortGroup ways = ways_to(*packet);
  if (dead_ports_ != 0) ways = living(ways);
  if (ways.empty()) return drop(port, *packet, port.counters.no_way);
  const std::uint16_t way = choose(ways, *packet);
  Egress& out = ports_[way]->egress;
  packet->priority = priorities_.of(*packet);
  packet->ingress = port.index;
  if (!take(port, *packet, way)) return;
  if (routed_) rewrite(*packet);
  const Time from = ready(*packet, out);
  out.enqueue(std::move(packet), from);
}

/// Room for a packet that is to leave by `way`; false: it is dropped.
bool Switch::take(Port& port, const Packet& packet, std::uint16_t way) {
  if (storms_ != 0 && (contains(port.storming, packet.priority) ||
                       contains(ports_[way]->storming, packet.priority))) {
    drop(port, packet, port.counters.stormed);
    return false;
  }
  switch (buffer_.take(port.index, packet.priority, way, packet.frame_bytes())) {
    case SharedBuffer::Admission::kTaken:
      break;
    case SharedBuffer::Admission::kDropped:
      port.lossy_drops |= priority_bit(packet.priority);
      drop(port, packet, port.counters.no_room);
      return false;
    case SharedBuffer::Admission::kOverflow:
      overflow(port, packet);
  }
  if (buffer_.is_xoff(port.index, packet.priority)) port.egress.requester().xoff(packet.priority);
  taken_ += packet.frame_bytes();
  return true;
}

/// Whom the MAC table is asked for: of a bridge everybody, of a router who is at its own ports.
bool Switch::is_neighbour(std::uint32_t number) const {
  return !routed_ || routes_->is_home(node_, number - 1);
}

/// Learns from the packet; false: where it goes to is not known, and it has been seen to.
bool Switch::is_known(Port& port, PacketRef& packet) {
  hear(port, *packet);
  const std::uint32_t number = destination_of(*packet);
  if (number == 0 || number > destinations_ || !is_neighbour(number)) return true;
  packet->priority = priorities_.of(*packet);
  const bool lossless = buffer_.is_lossless(packet->priority);
  switch (neighbours_->judge(number - 1, lossless, scheduler_.now())) {
    case Neighbours::Verdict::kKnown:
      return true;
    case Neighbours::Verdict::kFlood:
      flood(port, packet);
      break;
    case Neighbours::Verdict::kDropUnknown:
      drop(port, *packet, port.counters.unknown);
      break;
    case Neighbours::Verdict::kDropUnresolved:
      drop(port, *packet, port.counters.unresolved);
      break;
  }
  return false;
}

/// A router's own frames, which come by the other routers, are nobody's.
void Switch::hear(const Port& port, const Packet& packet) {
  const abi::MacAddress& source = packet.eth.source;
  const std::uint32_t number = end_point_of(source);
  if (source[1] == 0 && number != 0 && number <= destinations_)
    neighbours_->heard(number - 1, port.index, scheduler_.now());
}

/// The copies share the place of one packet at the ingress port.
void Switch::flood(Port& port, const PacketRef& packet) {
  std::vector<std::uint16_t> ways;
  for (const auto& other : ports_)
    if (other->index != port.index && other->egress.is_connected() &&
        !contains(other->storming, packet->priority))
      ways.push_back(other->index);
  if (ways.empty()) return drop(port, *packet, port.counters.no_way);
  if (!take(port, *packet, ways[0])) return;
  const std::optional<std::uint16_t> number = flooding_.begin(port.index, ways.size());
  if (!number) throw InvariantBroken(name(), scheduler_.now(), "too many flooded packets wait");
  ++port.counters.flooded;
  packet->ingress = *number;
  if (routed_) rewrite(*packet);
  for (const std::uint16_t way : ways) {
    if (way != ways[0]) {
      buffer_.take_copy(packet->priority, way, packet->frame_bytes());
      taken_ += packet->frame_bytes();
    }
    Egress& out = ports_[way]->egress;
    out.enqueue(pool_.copy(*packet), ready(*packet, out));
  }
}

std::uint32_t Switch::destination_of(const Packet& packet) const {
  return routed_ ? packet.ipv4.destination.value() & 0xffffff
                 : end_point_of(packet.eth.destination);
}

/// Empty: an address that belongs to nobody, or nothing leads there.
PortGroup Switch::ways_to(const Packet& packet) const {
  const std::uint32_t number = destination_of(packet);
  if (number == 0 || number > destinations_) return {};
  if (neighbours_ && is_neighbour(number)) return neighbours_->way_to(number - 1);
  return routes_->ports(node_, number - 1);
}

PortGroup Switch::living(PortGroup ways) {
  living_.clear();
  std::copy_if(ways.begin(), ways.end(), std::back_inserter(living_),
               [this](std::uint16_t port) { return ports_[port]->is_up; });
  return {living_.data(), static_cast<std::uint32_t>(living_.size())};
}

std::uint64_t Switch::set_port_up(std::uint16_t number, bool up) {
  Port& port = *ports_[number];
  if (port.is_up == up) return 0;
  port.is_up = up;
  if (up) {
    --dead_ports_;
    port.egress.requester().repeat();
    return 0;
  }
  ++dead_ports_;
  std::uint64_t dropped = 0;
  for (std::uint8_t priority = 0; priority < kPriorities; ++priority) {
    port.egress.discard(priority, [&](const Packet& packet) {
      ++dropped;
      left(number, packet.ingress, infiniband_ ? packet.lrh.virtual_lane : priority,
           packet.frame_bytes());
    });
  }
  return dropped;
}

std::uint16_t Switch::choose(PortGroup ways, const Packet& packet) {
  if (ways.size() == 1) return ways[0];
  if (path_choice_ == PathChoice::kSpray)
    return ways[static_cast<std::uint32_t>(random_.below(ways.size()))];
  std::uint16_t best = ways[pick(flow_hash(packet, salt_), ways.size())];
  if (path_choice_ == PathChoice::kEcmp) return best;
  Bytes least = buffer_.egress_bytes(best);
  for (const std::uint16_t way : ways) {
    const Bytes waiting = buffer_.egress_bytes(way);
    if (waiting >= least) continue;
    best = way;
    least = waiting;
  }
  return best;
}

void Switch::rewrite(Packet& packet) const {
  --packet.ipv4.ttl;
  packet.eth.source = mac_;
}

/// When the first bit may leave: not before the pipeline is through, and so that the last bit has
/// come when it is to leave.
Time Switch::ready(const Packet& packet, const Egress& out) const {
  const Time now = scheduler_.now();
  const Time from = packet.tail <= now
                        ? now
                        : std::max(now, packet.tail - out.byte_time().of(packet.frame_bytes()));
  return clock_.after(from, latency_);
}

void Switch::drop(Port& port, const Packet& packet, std::uint64_t& counter) {
  ++counter;
  ++port.counters.dropped;
  port.counters.dropped_bytes += packet.frame_bytes();
}

void Switch::overflow(const Port& port, const Packet& packet) const {
  const std::uint8_t priority = packet.priority;
  throw InvariantBroken(
      std::string(name()) + ".port" + std::to_string(port.index), scheduler_.now(),
      "a packet of lossless priority " + std::to_string(priority) +
          " finds no room: the headroom is " +
          std::to_string(buffer_.headroom(port.index, priority).count()) + " B, " +
          std::to_string(
              buffer_.headroom_wanted(port.index, priority, packet.frame_bytes()).count()) +
          " B are needed by now",
      "lossless_drop");
}

void Switch::left(std::uint16_t port, std::uint16_t ingress, std::uint8_t priority, Bytes frame) {
  given_ += frame;
  if (infiniband_) return ports_[ingress]->credit->give_back(priority, frame);
  if (ingress >= Packet::kFlooded) {
    const std::uint16_t flood = ingress;
    ingress = flooding_.ingress_of(flood);
    if (!flooding_.last_left(flood)) return buffer_.give_back_copy(priority, port, frame);
  }
  if (buffer_.give_back(ingress, priority, port, frame))
    ports_[ingress]->egress.requester().xon(priority);
}

/// What waits for the port in that priority is lost with what comes from now on.
void Switch::drop_storm(std::uint16_t port, std::uint8_t priority, bool begins) {
  PrioritySet& storming = ports_[port]->storming;
  storming = static_cast<PrioritySet>(storming ^ priority_bit(priority));
  storms_ = begins ? storms_ + 1 : storms_ - 1;
  if (!begins) return;
  ports_[port]->egress.discard(priority, [&](const Packet& packet) {
    Port& from = *ports_[flooding_.ingress_of(packet)];
    drop(from, packet, from.counters.stormed);
    left(port, packet.ingress, priority, packet.frame_bytes());
  });
}

bool Switch::holds_from(std::uint16_t port, std::uint16_t ingress, std::uint8_t priority) const {
  return ports_[port]->egress.holds(
      priority, [&](const Packet& packet) { return flooding_.ingress_of(packet) == ingress; });
}

PauseSpan Switch::pause_storm(std::uint16_t port, std::uint8_t priority) const {
  const PauseSpan longest = ports_[port]->egress.listener().longest(priority);
  return longest.lasted >= watchdog_.detection_time() ? longest : PauseSpan();
}

bool Switch::idle() const {
  return std::all_of(ports_.begin(), ports_.end(),
                     [](const auto& port) { return port->egress.idle(); });
}

Switch::Totals Switch::port_totals(std::uint16_t index) const {
  const Port& port = *ports_[index];
  return {port.counters.packets, port.egress.sent_packets(), port.counters.dropped,
          port.counters.bytes,   port.egress.sent_bytes(),   port.counters.dropped_bytes};
}

void Switch::attach_tap(std::uint16_t port, PacketTap* tap, std::uint32_t number) {
  ports_[port]->tap.attach(tap, number);
  ports_[port]->egress.tap.attach(tap, number);
}

void Switch::signals(const SignalScope& scope) {
  if (!infiniband_) buffer_.signals(scope.child("buffer"));
  unsigned lossless = 0;
  for (std::uint8_t p = 0; p < kPriorities; ++p)
    if (!infiniband_ && buffer_.is_lossless(p)) lossless |= priority_bit(p);
  for (const auto& port : ports_) {
    const SignalScope at = scope.child("port" + std::to_string(port->index));
    at.level("queued", Unit::kBytes, "packets that wait to leave, in whole cells",
             [this, n = port->index] { return buffer_.egress_bytes(n).count(); });
    port->egress.signals(at, static_cast<PrioritySet>(lossless));
  }
}

void Switch::report(const MetricScope& scope) const {
  if (!infiniband_) buffer_.report(scope.child("buffer"));
  for (const auto& port : ports_) {
    const MetricScope at = scope.child("port" + std::to_string(port->index));
    port->counters.report(at, neighbours_ != nullptr);
    watchdog_.report_port(at, port->index);
    buffer_.report_port(at, port->index);
    port->egress.report(at);
  }
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "fabric/switch.h"

#include <algorithm>
#include <iterator>

#include "model/invariant.h"

namespace rnicsim {

namespace {

std::vector<Bytes> headrooms(const SwitchConfig& config,
                             const std::vector<SwitchPortSetup>& ports) {
  std::vector<Bytes> headroom;
  headroom.reserve(ports.size());
  for (const SwitchPortSetup& port : ports)
    headroom.push_back(config.headroom.value_or(
        needed_headroom({port.rate, port.propagation, port.peer_response_time, port.largest_frame,
                         Clock(config.clock).duration(config.latency), config.buffer.cell})));
  return headroom;
}

bool is_routable(const Packet& packet) {
  const bool link_local = packet.has_grh() && packet.gid_kind == GidKind::kLinkLocal;
  return packet.link_layer != LinkLayer::kRoceV1 && !link_local;
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
      cut_through_(config.cut_through),
      routed_(config.forwarding == Forwarding::kRouted),
      path_choice_(config.path_choice),
      clock_(config.clock),
      latency_(config.latency),
      salt_(seed_for(wiring.seed, name())),
      random_(seed_for(wiring.seed, std::string(name()) + ".random")),
      priorities_(config.priorities),
      buffer_(config.buffer, config.lossless_set(), headrooms(config, ports)),
      mac_(switch_mac(wiring.number)) {
  for (const SwitchPortSetup& setup : ports) {
    const auto number = static_cast<std::uint16_t>(ports_.size());
    const Egress::Wiring out{wiring.scheduler, wiring.packets, *this, random_,
                             number,           setup.rate,     mac_};
    ports_.push_back(std::make_unique<Port>(*this, number, out, config.egress));
  }
}

Switch::~Switch() = default;

PacketSink& Switch::port(std::uint16_t port) { return *ports_[port]; }

void Switch::receive(Port& port, PacketRef packet) {
  ++port.packets;
  port.bytes += packet->frame_bytes();
  const bool damaged = packet->bad_fcs && (!cut_through_ || packet->kind == FrameKind::kPause);
  port.tap(*packet, packet->tail, PacketDirection::kInbound,
           damaged ? "dropped: wrong FCS" : nullptr);
  if (damaged) {
    drop(port, *packet, port.crc_errors);
  } else if (packet->kind == FrameKind::kPause) {
    port.egress.listener().receive(packet->pause);
  } else {
    forward(port, std::move(packet));
  }
}

void Switch::forward(Port& port, PacketRef packet) {
  if (routed_ && !is_routable(*packet)) return drop(port, *packet, port.not_routable);
  if (routed_ && packet->ipv4.ttl <= 1) return drop(port, *packet, port.expired);
  PortGroup ways = ways_to(*packet);
  if (dead_ports_ != 0) ways = living(ways);
  if (ways.empty()) return drop(port, *packet, port.no_way);
  const std::uint16_t way = choose(ways, *packet);
  Egress& out = ports_[way]->egress;
  packet->priority = priorities_.of(*packet);
  packet->ingress = port.index;
  switch (buffer_.take(port.index, packet->priority, way, packet->frame_bytes())) {
    case SharedBuffer::Admission::kTaken:
      break;
    case SharedBuffer::Admission::kDropped:
      return drop(port, *packet, port.no_room);
    case SharedBuffer::Admission::kOverflow:
      overflow(port, *packet);
  }
  if (buffer_.is_xoff(port.index, packet->priority)) port.egress.requester().xoff(packet->priority);
  taken_ += packet->frame_bytes();
  if (routed_) rewrite(*packet);
  const Time from = ready(*packet, out);
  out.enqueue(std::move(packet), from);
}

/// Empty: an address that belongs to nobody, or nothing leads there.
PortGroup Switch::ways_to(const Packet& packet) const {
  const std::uint32_t number =
      routed_ ? packet.ipv4.destination.value() & 0xffffff
              : static_cast<std::uint32_t>(packet.eth.destination[3]) << 16 |
                    static_cast<std::uint32_t>(packet.eth.destination[4]) << 8 |
                    packet.eth.destination[5];
  if (number == 0 || number > destinations_) return {};
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
  return port.egress.discard();
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
  ++port.dropped;
  port.dropped_bytes += packet.frame_bytes();
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
  if (buffer_.give_back(ingress, priority, port, frame))
    ports_[ingress]->egress.requester().xon(priority);
}

bool Switch::idle() const {
  return std::all_of(ports_.begin(), ports_.end(),
                     [](const auto& port) { return port->egress.idle(); });
}

Switch::Totals Switch::port_totals(std::uint16_t index) const {
  const Port& port = *ports_[index];
  return {port.packets, port.egress.sent_packets(), port.dropped,
          port.bytes,   port.egress.sent_bytes(),   port.dropped_bytes};
}

void Switch::attach_tap(std::uint16_t port, PacketTap* tap, std::uint32_t number) {
  ports_[port]->tap.attach(tap, number);
  ports_[port]->egress.tap.attach(tap, number);
}

void Switch::report(const MetricScope& scope) const {
  buffer_.report(scope.child("buffer"));
  for (const auto& port : ports_) {
    const MetricScope at = scope.child("port" + std::to_string(port->index));
    at.count("rx_packets", port->packets, "frames received");
    at.bytes("rx_bytes", port->bytes, "bytes of frames received, with FCS");
    at.count("rx_crc_errors", port->crc_errors, "frames dropped: wrong FCS");
    at.count("rx_discards", port->no_room, "packets of lossy priorities dropped: no room");
    at.count("rx_no_route", port->no_way, "packets dropped: nothing leads to their destination");
    at.count("rx_not_routable", port->not_routable,
             "packets refused: RoCEv1 has no IP header that a router could forward by, and "
             "link-local addresses end at one");
    at.count("rx_ttl_expired", port->expired, "packets dropped: their TTL has run out");
    buffer_.report_port(at, port->index);
    port->egress.report(at);
  }
}

}  // namespace rnicsim

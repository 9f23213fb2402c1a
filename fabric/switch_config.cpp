// SPDX-License-Identifier: MIT
#include "fabric/switch_config.h"

#include "fabric/headroom.h"
#include "model/clock.h"

namespace rnicsim {

namespace {

Bytes headroom_by(const HeadroomFormulaConfig& formula, const SwitchPortSetup& port) {
  using Rule = HeadroomFormulaConfig::Rule;
  if (formula.rule == Rule::kMlx5) return mlx5_headroom(port.rate, port.length, port.largest_frame);
  const SpectrumAsic& asic = formula.rule == Rule::kSpectrum1 ? kSpectrum1 : kSpectrum2;
  return spectrum_headroom(asic, port.rate, port.length, port.largest_frame, formula.lossless_mtu,
                           formula.small_packets)
      .xoff;
}

Bytes headroom_of(const SwitchConfig& config, const SwitchPortSetup& port) {
  if (config.headroom) return *config.headroom;
  if (config.headroom_formula) return headroom_by(*config.headroom_formula, port);
  return needed_headroom({port.rate, port.propagation, port.peer_response_time, port.largest_frame,
                          Clock(config.clock).duration(config.latency), config.buffer.cell});
}

}  // namespace

void HeadroomFormulaConfig::describe(Fields& fields) {
  fields.required().choice(
      "rule", rule,
      {{"spectrum1", Rule::kSpectrum1}, {"spectrum2", Rule::kSpectrum2}, {"mlx5", Rule::kMlx5}},
      "SONiC's for Spectrum and Spectrum-2 switches, or that of Linux's mlx5 driver (40 Gb/s or "
      "more)");
  fields.field("lossless_mtu", lossless_mtu, range(Bytes(64), Bytes(9216)),
               "largest packet of a lossless priority (spectrum)");
  fields.field("small_packets", small_packets, range(0., 1.),
               "share of packets that fill the cells worst (spectrum)");
}

void SwitchConfig::describe(Fields& fields) {
  fields.field("clock", clock, range(Frequency::mhz(1), Frequency::mhz(10000)), "of its pipeline");
  fields.field(
      "latency", latency, range(Cycles(0), Cycles(100000)),
      "from the last bit in (cut-through: the first 64 B) to the first bit out, if nothing "
      "is in the way");
  fields.field("cut_through", cut_through,
               "a packet may leave before it has come whole, so that its end has come when it is "
               "to leave");
  fields.choice("forwarding", forwarding,
                {{"routed", Forwarding::kRouted}, {"bridged", Forwarding::kBridged}},
                "by IP address, as a router, or by Ethernet address, as a bridge");
  fields.choice("path_choice", path_choice,
                {{"ecmp", PathChoice::kEcmp},
                 {"spray", PathChoice::kSpray},
                 {"adaptive", PathChoice::kAdaptive}},
                "which of several shortest ways: by flow, at random for each packet, or by the "
                "least waiting");
  fields.object("priorities", priorities, "ingress classification");
  describe_priorities(fields, "lossless", lossless,
                      "priorities that are paused rather than dropped");
  fields.object("buffer", buffer, "packet memory");
  fields.optional("headroom", headroom, range(Bytes(0), Bytes(1ULL << 30)),
                  "room behind XOFF of each lossless priority of each port; if not given, what the "
                  "port's rate, cable, frame size and response time, the latency and the cell ask "
                  "for");
  fields.optional("headroom_formula", headroom_formula, "in its place, a vendor's formula");
  fields.check(!headroom || !headroom_formula, "headroom_formula",
               "given together with \"headroom\"; choose one");
  fields.object("egress", egress, "scheduling, marking and pausing at each port");
  fields.object("watchdog", watchdog, "against pause storms");
  fields.optional("mac_table", mac_table,
                  "Ethernet addresses that it learns and forgets; without it, it knows them all");
  fields.optional("arp_table", arp_table,
                  "of a router: Ethernet addresses of the IP addresses at its ports");
  fields.check(!arp_table || (mac_table && forwarding == Forwarding::kRouted), "arp_table",
               "belongs to \"forwarding\" \"routed\" with a \"mac_table\"");
}

std::vector<Bytes> SwitchConfig::headrooms(const std::vector<SwitchPortSetup>& ports) const {
  std::vector<Bytes> headrooms;
  headrooms.reserve(ports.size());
  for (const SwitchPortSetup& port : ports) headrooms.push_back(headroom_of(*this, port));
  return headrooms;
}

}  // namespace rnicsim

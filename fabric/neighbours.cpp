// SPDX-License-Identifier: MIT
#include "fabric/neighbours.h"

namespace rnicsim {

Neighbours::Neighbours(const MacTableConfig& mac, const std::optional<ArpTableConfig>& arp,
                       std::uint32_t end_points)
    : initially_known_(mac.initially_known),
      unknown_unicast_(mac.unknown_unicast),
      mac_(mac, end_points) {
  if (arp) arp_.emplace(*arp, end_points);
}

void Neighbours::assume(std::uint32_t end_point, std::uint16_t port) {
  if (initially_known_) mac_.learn(end_point, port, Time());
}

Neighbours::Verdict Neighbours::judge(std::uint32_t end_point, bool lossless, Time now) {
  const bool known = mac_.find(end_point, now) != nullptr;
  if (arp_ && !arp_->resolve(end_point, known, now)) return Verdict::kDropUnresolved;
  if (known) return Verdict::kKnown;
  const bool floods = unknown_unicast_ == UnknownUnicast::kFlood ||
                      (unknown_unicast_ == UnknownUnicast::kDropLossless && !lossless);
  return floods ? Verdict::kFlood : Verdict::kDropUnknown;
}

}  // namespace rnicsim

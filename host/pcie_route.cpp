// SPDX-License-Identifier: MIT
#include "host/pcie_route.h"

#include <algorithm>

namespace rnicsim {

PcieSwitch* PcieRoute::switch_of(const Gpu& gpu) const {
  for (const Peer& peer : peers_)
    if (peer.gpu == &gpu && peer.under_switch) return any_;
  return nullptr;
}

bool PcieRoute::stays_inside(const Gpu& gpu) const {
  return above_ != nullptr && switch_of(gpu) == above_ && !above_->config().acs_redirect;
}

PcieSpan PcieRoute::translated(PcieSpan span, const Range& range) {
  if (iommu_ == nullptr) return span;
  span.first = iommu_->translate(span.first, range.address, range.bytes);
  const Time last = std::max(span.last, span.first);
  span.held += last - span.last;
  span.last = last;
  return span;
}

PcieSpan PcieRoute::to_peer(const Gpu& gpu, const PcieSpan& span, Bytes link_bytes,
                            const Range& range) {
  if (stays_inside(gpu)) return above_->across(span, link_bytes);
  const PcieSpan forwarded =
      root_.forward(translated(to_root(span, link_bytes), range), link_bytes);
  PcieSwitch* const below = switch_of(gpu);
  return below != nullptr ? below->from_root(forwarded, link_bytes) : forwarded;
}

PcieSpan PcieRoute::from_peer(const Gpu& gpu, const PcieSpan& span, Bytes link_bytes) {
  if (stays_inside(gpu)) return above_->across(span, link_bytes);
  PcieSwitch* const below = switch_of(gpu);
  const PcieSpan up = below != nullptr ? below->to_root(span, link_bytes) : span;
  return from_root(root_.answer(up, link_bytes), link_bytes);
}

Time PcieRoute::latency_from_root() const {
  return above_ == nullptr ? Time()
                           : above_->config().hop_latency + above_->config().upstream_latency;
}

}  // namespace rnicsim

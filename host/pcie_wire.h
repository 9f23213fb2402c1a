// SPDX-License-Identifier: MIT
// A wire on a DMA request's way that is not the device's own link: the upstream link of a switch, a
// GPU's link, the path between two ports of the root complex.
//
// Cut through: the first byte goes on as soon as the wire is free, the last no earlier than it
// came. Requests take turns as they come, a request (up to 4 KiB) being a turn. Real switches give
// each port a TLP in turn: devices that keep the wire full with requests of one size get equal
// shares either way, since each device's own link bounds what it may have waiting here (its posted
// credits, its read requests); the end of a request may be off by one request of each other device.
//
// Metrics: stalled.wire sums over the requests the time that their first byte waited for the wire;
// occupancy.max counts requests that are at the wire or waiting for it.
#pragma once

#include <algorithm>

#include "model/metrics.h"
#include "model/ring.h"
#include "model/units.h"

namespace rnicsim {

/// When the first and the last byte of something are at a place.
struct PcieSpan {
  Time first;
  Time last;
  Time held{};  ///< by how much wires and devices on the way have delayed the last byte

  PcieSpan later(Time latency) const { return {first + latency, last + latency, held}; }
};

class PcieWire {
 public:
  explicit PcieWire(BitRate rate) : serialiser_(rate) {}

  PcieSpan carry(const PcieSpan& span, Bytes bytes) {
    PcieSpan out = span;
    out.first = std::max(span.first, serialiser_.free_at());
    out.last = std::max(span.last, serialiser_.send(span.first, bytes));
    out.held += out.last - span.last;
    bytes_ += bytes;
    waited_ += out.first - span.first;
    while (!ends_.empty() && ends_.front() <= span.first) ends_.pop();
    ends_.push(out.last);
    most_ = std::max(most_, ends_.size());
    return out;
  }
  void report(const MetricScope& scope, const char* what) const {
    scope.time("busy", serialiser_.byte_time().of(bytes_), what);
    scope.bytes("bytes", bytes_, what);
    scope.time("stalled.wire", waited_, "time that requests waited for those before them");
    scope.count("occupancy.max", most_, "most requests on it or waiting for it");
  }

 private:
  Serialiser serialiser_;
  Bytes bytes_;
  Time waited_;
  Ring<Time> ends_;  ///< of requests that were not through when the latest came
  std::size_t most_ = 0;
};

}  // namespace rnicsim

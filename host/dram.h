// SPDX-License-Identifier: MIT
// The DRAM of one node: channels that addresses take in turn, each a first-come first-served
// resource of whole 64 B lines.
//
// Connects to: Memory, which adds the latency. Ignores: banks, rows, refresh, the turn-around
// between reads and writes, partial lines: `bandwidth` stands for what is left after them.
// Approximates: what CPUs take (MemoryConfig::cpu_traffic) lowers the bandwidth evenly; that a busy
// channel also answers later is missing, so latency at high CPU load comes out too low.
//
// Metrics count requests, also where a cache sends single lines of one here: stalled.bandwidth is
// the time from a request's arrival to the start of its first line here, occupancy.max counts
// requests that have arrived and are not through the bandwidth (those that a cache answers whole
// are neither). A write is asked for at its last byte, so one that was through between its first
// byte and then is not seen beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "model/metrics.h"
#include "model/ring.h"
#include "model/units.h"

namespace rnicsim {

class Dram {
 public:
  static constexpr std::uint64_t kLineBytes = 64;
  /// `bandwidth`: of all channels together.
  Dram(BitRate bandwidth, std::uint32_t channels, Bytes interleave);

  struct Span {
    Time start;  ///< of the first line
    Time end;    ///< all lines are through
  };
  /// A request whole.
  Span move(Time arrival, std::uint64_t address, Bytes bytes) {
    const Span span = move_part(arrival, address, bytes);
    count_request(arrival, span);
    return span;
  }
  /// Some of its lines; the caller says when it is complete.
  Span move_part(Time arrival, std::uint64_t address, Bytes bytes);
  void count_request(Time arrival, const Span& span);
  void report(const MetricScope& scope) const;

 private:
  Span move_over_channels(Time arrival, std::uint64_t address, std::uint64_t lines);

  BitRate bandwidth_;
  Bytes interleave_;
  std::vector<Serialiser> channels_;
  Bytes lines_moved_;
  Time waited_;
  Ring<Time> ends_;  ///< of accesses that were not through when the latest arrived
  std::size_t most_ = 0;
};

}  // namespace rnicsim

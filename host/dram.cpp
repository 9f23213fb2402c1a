// SPDX-License-Identifier: MIT
#include "host/dram.h"

#include <algorithm>

namespace rnicsim {

Dram::Dram(BitRate bandwidth, std::uint32_t channels, Bytes interleave)
    : bandwidth_(bandwidth),
      interleave_(interleave),
      channels_(channels,
                Serialiser(BitRate(bandwidth.numerator(), bandwidth.denominator() * channels))) {}

Dram::Span Dram::move_part(Time arrival, std::uint64_t address, Bytes bytes) {
  const std::uint64_t lines = divide_up(bytes.count(), kLineBytes);
  Span span;
  if (channels_.size() == 1) {
    span.start = std::max(arrival, channels_[0].free_at());
    span.end = channels_[0].send(arrival, Bytes(lines * kLineBytes));
  } else {
    span = move_over_channels(arrival, address, lines);
  }
  lines_moved_ += Bytes(lines * kLineBytes);
  return span;
}

void Dram::count_request(Time arrival, const Span& span) {
  waited_ += span.start - arrival;
  while (!ends_.empty() && ends_.front() <= arrival) ends_.pop();
  ends_.push(span.end);
  most_ = std::max(most_, ends_.size());
}

Dram::Span Dram::move_over_channels(Time arrival, std::uint64_t address, std::uint64_t lines) {
  const std::uint64_t step = interleave_.count();
  std::uint64_t at = address / kLineBytes * kLineBytes;
  const std::uint64_t end = at + lines * kLineBytes;
  Span span;
  for (bool first = true; at < end; first = false) {
    const std::uint64_t piece = std::min(end, (at / step + 1) * step) - at;
    Serialiser& channel = channels_[at / step % channels_.size()];
    if (first) span.start = std::max(arrival, channel.free_at());
    span.end = std::max(span.end, channel.send(arrival, Bytes(piece)));
    at += piece;
  }
  return span;
}

void Dram::report(const MetricScope& scope) const {
  scope.time("busy", ByteTime(bandwidth_).of(lines_moved_),
             "time that DMA, and copies that share it, occupied the memory's bandwidth");
  scope.time("stalled.bandwidth", waited_, "time that requests of these waited for bandwidth");
  scope.count("occupancy.max", most_, "most of these under way or waiting for bandwidth");
}

}  // namespace rnicsim

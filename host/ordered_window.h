// SPDX-License-Identifier: MIT
// What a root complex has under way to memory of writes that must stay in order: at most so many
// bytes, so that as many pass in the time that each takes to become visible.
//
// Connects to: host/pcie_writes. Models: the window as a fluid, which a write drains at the pace of
// its own latency (a line that goes to the cache sooner than one that crosses to another node).
// Approximates: waiting for a memory's bandwidth is not in that latency; it holds the write itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "model/units.h"

namespace rnicsim {

class OrderedWindow {
 public:
  /// Without bytes there is no bound.
  explicit OrderedWindow(std::optional<Bytes> bytes) : bytes_(bytes.value_or(Bytes()).count()) {}

  bool bounded() const { return bytes_ != 0; }
  /// When the next write's first byte goes on to memory: not before the last one's last byte.
  Time begin(Time arrival) const { return std::max(arrival, free_at() - latency_); }
  /// Takes a write that memory makes visible after `latency`; returns when its last byte is.
  Time take(Time arrival, Bytes bytes, Time latency) {
    if (arrival > free_at()) {
      free_at_ = arrival;
      remainder_ = 0;
    }
    const std::uint64_t units =
        bytes.count() * static_cast<std::uint64_t>(latency.ps()) + remainder_;
    free_at_ += Time::ps(static_cast<std::int64_t>(units / bytes_));
    remainder_ = units % bytes_;
    latency_ = latency;
    return free_at();
  }

 private:
  Time free_at() const { return remainder_ == 0 ? free_at_ : free_at_ + Time::ps(1); }

  std::uint64_t bytes_;
  Time free_at_;
  std::uint64_t remainder_ = 0;  ///< in 1/bytes_ ps
  Time latency_;                 ///< of the last write
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// How a perftest program lays out its memory: for each queue pair an area to send from and one to
// receive into, of a page or of the largest message. Small messages of bandwidth programs walk
// through a page in steps of whole cache lines.
#pragma once

#include <algorithm>
#include <cstdint>

#include "scenarios/engine/perftest_plan.h"

namespace rnicsim {

class PerftestBuffer {
 public:
  /// `header`: what stands before a message where it is received.
  PerftestBuffer(const PerftestPlan& plan, Bytes header)
      : header_(header.count()),
        walks_(!plan.latency),
        area_(std::max(kPage, std::max_element(plan.sizes.begin(), plan.sizes.end())->count() +
                                  header.count())) {}

  Bytes region_size(std::uint32_t queue_pairs) const { return Bytes(2 * area_ * queue_pairs); }
  std::uint64_t send_area(std::uint32_t qp) const { return 2 * area_ * qp; }
  std::uint64_t receive_area(std::uint32_t qp) const { return send_area(qp) + area_; }

  /// Places of messages in an area, and the nth message's offset in it, header included.
  std::uint64_t places(Bytes size) const {
    const std::uint64_t whole = size.count() + header_;
    return walks_ && whole <= kPage / 2 ? kPage / step(size) : 1;
  }
  std::uint64_t place(Bytes size, std::uint64_t nth) const {
    return nth % places(size) * step(size);
  }
  std::uint64_t header() const { return header_; }
  /// Of an area, what messages of this size use.
  std::uint64_t used(Bytes size) const {
    return (places(size) - 1) * step(size) + size.count() + header_;
  }

 private:
  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::uint64_t kLine = 64;
  std::uint64_t step(Bytes size) const { return divide_up(size.count() + header_, kLine) * kLine; }

  std::uint64_t header_;
  bool walks_;
  std::uint64_t area_;
};

}  // namespace rnicsim

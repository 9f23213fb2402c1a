// SPDX-License-Identifier: MIT
// The receives that messages are being written to, shared by the packets of a message and counted:
// a place is free again when the last packet has left.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "nic/receive_queue.h"

namespace rnicsim {

class ReceivePool {
 public:
  /// 0: none.
  using Handle = std::uint32_t;

  /// One reference is the caller's.
  Handle add(const Receive& receive) {
    if (free_.empty()) {
      places_.emplace_back();
      free_.push_back(static_cast<Handle>(places_.size()));
    }
    const Handle handle = free_.back();
    free_.pop_back();
    places_[handle - 1] = {receive, 1};
    return handle;
  }
  const Receive& at(Handle handle) const { return places_[handle - 1].receive; }
  Handle share(Handle handle) {
    if (handle != 0) ++places_[handle - 1].references;
    return handle;
  }
  void drop(Handle& handle) {
    if (handle != 0 && --places_[handle - 1].references == 0) free_.push_back(handle);
    handle = 0;
  }

 private:
  struct Place {
    Receive receive;
    std::uint32_t references = 0;
  };
  std::deque<Place> places_;
  std::vector<Handle> free_;
};

}  // namespace rnicsim

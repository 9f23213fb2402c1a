// SPDX-License-Identifier: MIT
// Times in which a block takes nothing: an injected fault.
#pragma once

#include <algorithm>
#include <vector>

#include "model/units.h"

namespace rnicsim {

class Outages {
 public:
  /// Within [from, until).
  void add(Time from, Time until) {
    list_.push_back({from, until});
    std::sort(list_.begin(), list_.end(), [](const Outage& a, const Outage& b) {
      return a.from < b.from || (a.from == b.from && a.until < b.until);
    });
  }
  bool empty() const { return list_.empty(); }
  /// The first time at or after `at` that lies in none of them.
  Time end_of(Time at) const {
    for (const Outage& outage : list_)
      if (at >= outage.from && at < outage.until) at = outage.until;
    return at;
  }

 private:
  struct Outage {
    Time from;
    Time until;
  };
  std::vector<Outage> list_;  ///< by their beginnings
};

}  // namespace rnicsim

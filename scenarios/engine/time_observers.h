// SPDX-License-Identifier: MIT
// Several observers of time where the scheduler asks one.
#pragma once

#include <algorithm>
#include <vector>

#include "model/scheduler.h"

namespace rnicsim {

class TimeObservers : public TimeObserver {
 public:
  /// `after`: see Scheduler::observe().
  void add(TimeObserver& observer, Time after) { all_.push_back({&observer, after}); }
  bool empty() const { return all_.empty(); }
  Time first() const {
    Time first = Time::never();
    for (const One& one : all_) first = std::min(first, one.after);
    return first;
  }
  Time before(Time next) override {
    for (One& one : all_)
      if (next > one.after) one.after = one.observer->before(next);
    return first();
  }

 private:
  struct One {
    TimeObserver* observer;
    Time after;
  };
  std::vector<One> all_;
};

}  // namespace rnicsim

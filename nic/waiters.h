// SPDX-License-Identifier: MIT
// Those who wait for one entry of a cache. One that asks again while it waits, as a block does that
// looks at its queue's head whenever something happens, is called back once all the same: else what
// waits would be called more often with every wait.
#pragma once

#include <vector>

#include "model/callback.h"

namespace rnicsim {

inline bool is_same(const Callback& a, const Callback& b) {
  return a.function == b.function && a.object == b.object && a.argument == b.argument;
}

inline void add_waiter(std::vector<Callback>& waiters, const Callback& retry) {
  for (const Callback& waiter : waiters)
    if (is_same(waiter, retry)) return;
  waiters.push_back(retry);
}

}  // namespace rnicsim

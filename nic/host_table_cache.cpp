// SPDX-License-Identifier: MIT
#include "nic/host_table_cache.h"

namespace rnicsim {

void HostTableCacheConfig::describe(Fields& fields) {
  geometry.describe(fields);
  fields.field("hit_latency", hit_latency, range(Cycles(0), Cycles(10000)),
               "cycles of a look-up that hits");
  fields.field("interval", interval, range(Cycles(1), Cycles(10000)),
               "cycles between two look-ups of one user");
  fields.field("outstanding_misses", outstanding_misses, range(1, 4096),
               "miss registers: entries that may be fetched at once");
}

}  // namespace rnicsim

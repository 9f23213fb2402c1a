// SPDX-License-Identifier: MIT
#include "nic/host_table_cache.h"

namespace rnicsim {

void HostTableCacheConfig::describe(Fields& fields) {
  geometry.describe(fields);
  fields.field("outstanding_misses", outstanding_misses, range(1, 4096),
               "miss registers: entries that may be fetched at once");
}

}  // namespace rnicsim

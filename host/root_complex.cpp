// SPDX-License-Identifier: MIT
#include "host/root_complex.h"

namespace rnicsim {

void RootComplexConfig::describe(Fields& fields) {
  const auto rates = range(BitRate(1'000'000), BitRate::gbps(100000));
  fields.field("peer_write_rate", peer_write_rate, rates,
               "at which it passes writes and requests from one root port to another");
  fields.field("peer_read_rate", peer_read_rate, rates,
               "at which it passes completions from one root port to another");
  fields.field("peer_latency", peer_latency, range(Time(), Time::us(100)),
               "from one root port to another");
}

void RootComplex::report(const MetricScope& scope) const {
  writes_.report(scope.child("peer_writes"), "writes and requests passed from port to port");
  reads_.report(scope.child("peer_reads"), "completions passed from port to port");
}

}  // namespace rnicsim

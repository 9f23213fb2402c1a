// SPDX-License-Identifier: MIT
// Keeps every probe record, in the order in which it came.
#pragma once

#include <vector>

#include "model/probe.h"

namespace rnicsim::test {

struct ProbeRecorder : ProbeSink {
  std::vector<ProbeRecord> records;
  void record(const ProbeRecord& record) override { records.push_back(record); }
  std::vector<ProbeRecord> of(ProbeKind kind) const {
    std::vector<ProbeRecord> found;
    for (const ProbeRecord& r : records)
      if (r.kind == kind) found.push_back(r);
    return found;
  }
};

}  // namespace rnicsim::test

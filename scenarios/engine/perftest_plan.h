// SPDX-License-Identifier: MIT
// What one perftest program does, its defaults filled in as perftest fills them in: how many
// messages of which sizes, how many outstanding, how many completions, what goes inline.
#pragma once

#include <cstdint>
#include <vector>

#include "host/work_requests.h"
#include "scenarios/engine/workload_spec.h"

namespace rnicsim {

struct PerftestPlan {
  explicit PerftestPlan(const WorkloadSpec& spec);

  bool latency = false;
  Operation operation = Operation::kWrite;
  std::vector<Bytes> sizes;
  std::uint64_t iterations = 0;  ///< of each size and queue pair
  std::uint32_t tx_depth = 1;
  std::uint32_t rx_depth = 0;  ///< 0: it posts no receives
  std::uint32_t cq_moderation = 1;
  Bytes inline_size;
  bool bidirectional = false;

  /// Both programs send: the server's messages count as well.
  bool both_send() const { return bidirectional || (latency && !brings_data(operation)); }
  /// A latency program halves the time of what goes there and comes back.
  unsigned trips() const { return brings_data(operation) ? 1 : 2; }
  /// Of the client, all sizes.
  std::uint64_t messages(std::uint32_t queue_pairs) const {
    return iterations * queue_pairs * sizes.size();
  }
};

/// Of "all": powers of two from 2 B to 8 MiB, as far as they fit `most`.
std::vector<Bytes> all_perftest_sizes(Bytes most);
/// If the scenario names none.
Bytes default_perftest_size(PerftestProgram program);
bool measures_latency(PerftestProgram program);
Operation operation_of(PerftestProgram program);
/// That `from` posts, whatever the pattern.
std::uint64_t messages_of(const WorkloadSpec& spec);

}  // namespace rnicsim

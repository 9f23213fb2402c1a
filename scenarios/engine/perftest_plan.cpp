// SPDX-License-Identifier: MIT
#include "scenarios/engine/perftest_plan.h"

#include <algorithm>

namespace rnicsim {

namespace {

constexpr std::uint32_t kDepth = 128;
constexpr std::uint32_t kReceiveDepth = 512;
constexpr std::uint32_t kModeration = 100;
constexpr Bytes kUnmoderated{8192};  ///< a larger message, alone, has a completion each

Bytes default_inline(PerftestProgram program, WorkloadTransport transport) {
  if (program == PerftestProgram::kWriteLat) return Bytes(220);
  if (program == PerftestProgram::kSendLat)
    return Bytes(transport == WorkloadTransport::kUd ? 188 : 236);
  return Bytes(0);
}

std::uint32_t moderation_of(const WorkloadSpec& spec, std::uint32_t tx_depth) {
  const bool large = spec.sizes.size() == 1 && spec.sizes[0] > kUnmoderated &&
                     spec.transport != WorkloadTransport::kUd;
  return std::min(spec.cq_moderation.value_or(large ? 1 : kModeration), tx_depth);
}

}  // namespace

bool measures_latency(PerftestProgram program) {
  return program == PerftestProgram::kWriteLat || program == PerftestProgram::kReadLat ||
         program == PerftestProgram::kSendLat || program == PerftestProgram::kAtomicLat ||
         program == PerftestProgram::kTcpLat;
}

Operation operation_of(PerftestProgram program) {
  switch (program) {
    case PerftestProgram::kReadBw:
    case PerftestProgram::kReadLat:
      return Operation::kRead;
    case PerftestProgram::kSendBw:
    case PerftestProgram::kSendLat:
    case PerftestProgram::kTcpBw:
    case PerftestProgram::kTcpLat:
      return Operation::kSend;
    case PerftestProgram::kAtomicBw:
    case PerftestProgram::kAtomicLat:
      return Operation::kFetchAdd;
    case PerftestProgram::kNone:
    case PerftestProgram::kWriteBw:
    case PerftestProgram::kWriteLat:
      break;
  }
  return Operation::kWrite;
}

std::uint64_t messages_of(const WorkloadSpec& spec) {
  if (spec.pattern == WorkloadPattern::kRkeyGuessing) return spec.tries.value_or(1);
  return spec.pattern == WorkloadPattern::kPerftest ? PerftestPlan(spec).messages(spec.queue_pairs)
                                                    : spec.count;
}

std::vector<Bytes> all_perftest_sizes(Bytes most) {
  constexpr unsigned kLogSmallest = 1;
  constexpr unsigned kLogLargest = 23;
  std::vector<Bytes> sizes;
  for (unsigned log = kLogSmallest; log <= kLogLargest && Bytes(1ULL << log) <= most; ++log)
    sizes.emplace_back(1ULL << log);
  return sizes;
}

Bytes default_perftest_size(PerftestProgram program) {
  if (is_atomic(operation_of(program))) return kAtomicBytes;
  return Bytes(measures_latency(program) ? 2 : 65536);
}

PerftestPlan::PerftestPlan(const WorkloadSpec& spec)
    : latency(measures_latency(spec.test)),
      operation(operation_of(spec.test)),
      sizes(spec.sizes),
      iterations(spec.iterations.value_or(spec.test == PerftestProgram::kWriteBw ? 5000 : 1000)),
      inline_size(spec.inline_size.value_or(default_inline(spec.test, spec.transport))),
      bidirectional(spec.bidirectional) {
  const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(iterations, 32768));
  tx_depth = latency ? 1 : std::min(spec.tx_depth.value_or(kDepth), most);
  if (is_send(operation)) rx_depth = std::min(spec.receive_depth.value_or(kReceiveDepth), most);
  cq_moderation = moderation_of(spec, tx_depth);
}

}  // namespace rnicsim

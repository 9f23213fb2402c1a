// SPDX-License-Identifier: MIT
// The target's share of operations that take receives: posts them ahead, waits for what arrives,
// posts the next ones, and keeps what came.
//
// A queue pair takes as many receives in all as messages come to it, so that none is left over. The
// buffers of a queue pair lie in its share of the region, all at one place or one after the other.
// After a failed receive it posts no more on that queue pair.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/metrics.h"
#include "scenarios/engine/endpoint.h"

namespace rnicsim {

class ReceivedMessages {
 public:
  explicit ReceivedMessages(Endpoint& endpoint);

  static std::uint32_t depth(const WorkloadSpec& spec);
  /// Posts as many as the queue pairs take ahead.
  void post_ahead(CpuTask& task);
  struct Message {
    std::uint64_t place = 0;  ///< of its buffer in the region
    std::uint64_t bytes = 0;  ///< of payload
    std::uint32_t immediate = 0;
    bool with_immediate = false;
    bool with_invalidate = false;
    MemoryKey invalidated;
    bool success = false;
  };
  /// Returns when every receive has been completed or none can come any more; `taken` is called for
  /// each, with its queue pair.
  void take_all(CpuTask& task, const std::function<void(std::uint32_t, const Message&)>& taken);
  /// What came to a queue pair, in order.
  const std::vector<Message>& of(std::uint32_t qp) const { return streams_[qp].messages; }
  std::uint64_t succeeded() const { return succeeded_; }
  /// Payload bytes and GRHs that came into buffers.
  Bytes bytes() const { return bytes_; }
  bool done() const;
  void report(const MetricScope& scope) const;

 private:
  struct Stream {
    std::uint64_t wanted = 0;
    std::uint64_t posted = 0;
    bool failed = false;
    std::vector<Message> messages;
  };
  std::uint64_t place_of(std::uint32_t qp, std::uint64_t nth) const;
  void post(CpuTask& task, std::uint32_t qp, std::uint64_t count);
  void take(const WorkCompletion& completion, std::uint32_t qp);

  Endpoint& endpoint_;
  const WorkloadSpec& spec_;
  std::vector<Stream> streams_;
  std::uint64_t succeeded_ = 0;
  std::uint64_t failed_ = 0;
  std::map<std::string, std::uint64_t> by_status_;
  Bytes bytes_;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The measuring loops of perftest, as one side runs them for one size.
//
//   bandwidth          posts while fewer than tx_depth messages are outstanding, then takes up to
//   16
//                      completions; every cq_moderation-th message asks for one
//   receiving          takes receives and posts the next ones, until all have come
//   WRITE latency      writes a message whose last byte is its number, waits for the completion,
//                      then watches the last byte of its own buffer until the answer is there
//   SEND latency       sends, waits for the completion and then for a receive
//   READ, atomics      post and wait for the completion
//
// The side that begins (the client) posts first; the other answers.
// Approximates: looking at memory costs kLook cycles; reading the clock, the loop's own arithmetic
// and writing the number into the message cost nothing. Bidirectional SEND polls one completion
// queue for both directions where perftest polls two in turn.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/engine/endpoint.h"
#include "scenarios/engine/perftest_buffer.h"
#include "scenarios/engine/perftest_statistics.h"

namespace rnicsim {

/// A completion with an error ended the program, as it ends perftest.
struct PerftestFailure {
  std::string text;
};

class PerftestRun {
 public:
  using Track = std::function<void(QueuePair&)>;
  /// `elided`: no bytes move, so arrivals are counted instead of read. `track` learns of each
  /// message before it is posted.
  PerftestRun(const PerftestPlan& plan, const PerftestBuffer& buffer, Endpoint& endpoint,
              const Introduction& peer, Bytes size, bool elided, Track track);
  PerftestRun(const PerftestRun&) = delete;
  PerftestRun& operator=(const PerftestRun&) = delete;

  /// Posts receives ahead, where the operation takes them.
  void prepare(CpuTask& task);
  /// What a program that sends does.
  void send(CpuTask& task, bool begins);
  /// What a program that only receives does.
  void receive(CpuTask& task);

  const PerftestTimes& times() const { return times_; }
  const char* doing() const { return doing_; }

 private:
  void bandwidth(CpuTask& task);
  void ping_pong_writes(CpuTask& task, bool begins);
  void ping_pong_sends(CpuTask& task, bool begins);
  void ask(CpuTask& task);
  void post(CpuTask& task, std::uint32_t qp);
  void fill(SendRequest& request, std::uint32_t qp, std::uint64_t nth) const;
  void take(const WorkCompletion& completion, Time now);
  void take_receive(CpuTask& task, const WorkCompletion& completion);
  void post_receives(CpuTask& task, std::uint32_t qp, std::uint64_t count);
  WorkCompletion wait_one(CpuTask& task, CompletionQueue* cq);
  void wait_for_write(CpuTask& task, std::uint64_t number);
  void arrived();
  std::uint32_t index_of(Qpn qpn) const;
  void require_success(const WorkCompletion& completion) const;

  struct Stream {
    std::uint64_t sent = 0;
    std::uint64_t done = 0;
    std::uint64_t receives_posted = 0;
  };

  const PerftestPlan& plan_;
  const PerftestBuffer& buffer_;
  Endpoint& endpoint_;
  const Introduction& peer_;
  Bytes size_;
  bool elided_;
  Track track_;
  std::vector<Stream> streams_;
  PerftestTimes times_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t arrivals_ = 0;  ///< of last bytes, when payload is elided
  PhysicalAddress watched_;
  const char* doing_ = "posting and polling";
};

}  // namespace rnicsim

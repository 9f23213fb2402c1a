// SPDX-License-Identifier: MIT
// What became of each message of a workload: when it was posted, completed and landed, with which
// status, from where to where. Messages go round robin over the queue pairs; a completion also ends
// the unsignaled messages before it on the same queue pair. Statistics are made at the end, over
// the messages after `warm_up` that succeeded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/verbs_queues.h"
#include "model/metrics.h"
#include "model/units.h"
#include "scenarios/engine/workload_spec.h"

namespace rnicsim {

class MessageLedger {
 public:
  struct Message {
    Time posted;
    Time completed = Time::never();
    Time landed;
    CompletionStatus status = CompletionStatus::kSuccess;
    bool signaled = true;
    std::uint64_t local_offset = 0;
    std::uint64_t remote_offset = 0;
    bool succeeded() const {
      return completed != Time::never() && status == CompletionStatus::kSuccess;
    }
  };

  explicit MessageLedger(const WorkloadSpec& spec)
      : spec_(spec), messages_(spec.count), streams_(spec.queue_pairs) {}

  /// Number of the message that is posted next; spec.count when all have been.
  std::uint64_t next() const { return posted_; }
  /// Its queue pair, and the how-manieth on it that it is.
  std::uint32_t queue_pair() const { return spec_.queue_pair_of(posted_); }
  std::uint64_t nth() const { return spec_.nth_of(posted_); }
  /// How many are posted with it as a list.
  std::uint32_t list() const {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(spec_.post_list, spec_.count - posted_));
  }
  /// There is a next message and its queue pair has room for its list.
  bool may_post() const {
    return posted_ < spec_.count &&
           streams_[queue_pair()].outstanding() + list() <= spec_.queue_depth;
  }
  /// Of a queue pair, every signal_every-th message and the last ask for a completion.
  bool asks_for_completion() const {
    const std::uint64_t next = nth() + 1;
    return spec_.number_of(queue_pair(), next) >= spec_.count || next % spec_.signal_every == 0;
  }
  /// The next message has been posted. `completed`, `landed` and `status` are the ledger's.
  void post(const Message& message);
  /// completion.id is the message's number. Calls settled(number, message) for each that it ends.
  template <class Settled>
  void complete(const WorkCompletion& completion, Time now, Settled settled) {
    Stream& stream = streams_[spec_.queue_pair_of(completion.id)];
    ++by_status_[name_of(completion.status)];
    while (stream.outstanding() != 0) {
      const std::uint64_t number = stream.in_flight[stream.first++];
      settle(number, number == completion.id ? completion.status : CompletionStatus::kSuccess, now);
      settled(number, messages_[number]);
      if (number == completion.id) break;
    }
    trim(stream);
  }
  void landed(std::uint64_t number, Time time);

  std::uint64_t settled() const { return settled_; }
  std::uint64_t succeeded() const { return settled_ - failed_ - flushed_; }
  std::uint64_t unsuccessful() const { return failed_ + flushed_; }
  /// A message got no answer and was given up: it may have arrived all the same.
  bool gave_up() const { return by_status_.count(name_of(CompletionStatus::kRetryExceeded)) != 0; }
  /// Payload of the messages completed with success.
  Bytes delivered() const { return spec_.payload() * succeeded(); }
  /// In the order of posting; those that were posted.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint64_t number = 0; number < posted_; ++number) visit(number, messages_[number]);
  }
  /// Empty if every message has been posted and has exactly one fate.
  std::string fault() const;
  void report(MetricSink& sink) const;

 private:
  /// The messages of one queue pair that have no completion yet.
  struct Stream {
    std::vector<std::uint64_t> in_flight;  ///< numbers, oldest first from `first`
    std::size_t first = 0;
    std::size_t outstanding() const { return in_flight.size() - first; }
  };
  void settle(std::uint64_t number, CompletionStatus status, Time now);
  static void trim(Stream& stream);
  void report_counts(const MetricScope& scope) const;

  const WorkloadSpec& spec_;
  std::vector<Message> messages_;
  std::vector<Stream> streams_;
  std::uint64_t posted_ = 0;
  std::uint64_t settled_ = 0;  ///< messages with a final status
  std::uint64_t failed_ = 0;
  std::uint64_t flushed_ = 0;
  std::map<std::string, std::uint64_t> by_status_;
};

}  // namespace rnicsim

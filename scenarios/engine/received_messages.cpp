// SPDX-License-Identifier: MIT
#include "scenarios/engine/received_messages.h"

#include <algorithm>

namespace rnicsim {

namespace {

constexpr std::uint32_t kPollBatch = 16;

}  // namespace

ReceivedMessages::ReceivedMessages(Endpoint& endpoint)
    : endpoint_(endpoint), spec_(endpoint.spec), streams_(endpoint.spec.queue_pairs) {
  for (std::uint32_t qp = 0; qp < spec_.queue_pairs; ++qp) streams_[qp].wanted = spec_.count_of(qp);
}

std::uint32_t ReceivedMessages::depth(const WorkloadSpec& spec) {
  const std::uint64_t most = spec.count_of(0);
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(spec.receive_depth.value_or(spec.queue_depth), most));
}

/// A WRITE with immediate takes a receive, but nothing goes into its buffer.
std::uint64_t ReceivedMessages::place_of(std::uint32_t qp, std::uint64_t nth) const {
  if (spec_.remote_offset == OffsetPattern::kFixed) nth = 0;
  const std::uint64_t step = std::max(spec_.step(), Bytes(1)).count();
  const std::uint64_t places = spec_.region_size().count() / step / spec_.queue_pairs;
  return (nth % places * spec_.queue_pairs + qp) * spec_.step().count();
}

void ReceivedMessages::post(CpuTask& task, std::uint32_t qp, std::uint64_t count) {
  Stream& stream = streams_[qp];
  const bool buffer = is_send(spec_.operation) && spec_.step() != Bytes(0);
  std::vector<ScatterGather> pieces(count);
  std::vector<ReceiveRequest> requests(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    requests[i].id = stream.posted;
    if (buffer) {
      pieces[i] = endpoint_.piece(place_of(qp, stream.posted), spec_.step());
      if (spec_.receive_fault == LocalFault::kShort) pieces[i].length /= 2;
      if (spec_.receive_fault == LocalFault::kWrongKey)
        pieces[i].lkey = never_issued(pieces[i].lkey);
      requests[i].list = &pieces[i];
      requests[i].list_length = 1;
    }
    ++stream.posted;
  }
  require(
      endpoint_.process.verbs
          .post_recv(task, endpoint_.qps[qp], requests.data(), static_cast<std::uint32_t>(count))
          .error,
      "post_recv");
}

void ReceivedMessages::post_ahead(CpuTask& task) {
  for (std::uint32_t qp = 0; qp < streams_.size(); ++qp) {
    const std::uint64_t ahead = std::min<std::uint64_t>(depth(spec_), streams_[qp].wanted);
    if (ahead != 0) post(task, qp, ahead);
  }
}

bool ReceivedMessages::done() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const Stream& s) {
    return s.messages.size() == s.posted && (s.posted == s.wanted || s.failed);
  });
}

void ReceivedMessages::take(const WorkCompletion& completion, std::uint32_t qp) {
  Stream& stream = streams_[qp];
  ++by_status_[name_of(completion.status)];
  const std::uint64_t headers = spec_.transport == WorkloadTransport::kUd ? kGrhBytes.count() : 0;
  Message message;
  message.place = place_of(qp, completion.id);
  message.success = completion.status == CompletionStatus::kSuccess;
  if (message.success) {
    ++succeeded_;
    message.bytes = completion.bytes - std::min(completion.bytes, headers);
    message.with_immediate = (completion.flags & WorkCompletion::kWithImmediate) != 0;
    message.immediate = completion.immediate;
    message.with_invalidate = (completion.flags & WorkCompletion::kWithInvalidate) != 0;
    message.invalidated = completion.invalidated;
    if (is_send(spec_.operation)) bytes_ += Bytes(completion.bytes);
  } else {
    ++failed_;
    stream.failed = true;
  }
  stream.messages.push_back(message);
}

void ReceivedMessages::take_all(CpuTask& task,
                                const std::function<void(std::uint32_t, const Message&)>& taken) {
  WorkCompletion completions[kPollBatch];
  while (!done()) {
    const std::uint32_t n = endpoint_.wait(task, endpoint_.receive_cq, completions, kPollBatch);
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto qp = static_cast<std::uint32_t>(endpoint_.index_of(completions[i].qpn));
      take(completions[i], qp);
      const Stream& stream = streams_[qp];
      taken(qp, stream.messages.back());
      if (stream.posted < stream.wanted && !stream.failed) post(task, qp, 1);
    }
  }
}

void ReceivedMessages::report(const MetricScope& scope) const {
  scope.count("succeeded", succeeded_, "receives completed with success");
  for (const auto& [status, count] : by_status_) {
    std::string name = status;
    std::replace(name.begin(), name.end(), ' ', '_');
    scope.count("completions." + name, count, "receives polled with this status");
  }
  scope.count("failed", failed_, "receives that failed or were flushed");
  scope.bytes("bytes", bytes_, "what came into the receives' buffers");
}

}  // namespace rnicsim

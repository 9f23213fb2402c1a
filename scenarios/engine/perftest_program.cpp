// SPDX-License-Identifier: MIT
#include "scenarios/engine/perftest_program.h"

#include <algorithm>

#include "model/quantity.h"

namespace rnicsim {

namespace {

constexpr std::uint32_t kPollBatch = 16;
constexpr Cycles kLook{5};  ///< a load that hits the first-level cache, compare and branch

}  // namespace

PerftestRun::PerftestRun(const PerftestPlan& plan, const PerftestBuffer& buffer, Endpoint& endpoint,
                         const Introduction& peer, Bytes size, bool elided, Track track)
    : plan_(plan),
      buffer_(buffer),
      endpoint_(endpoint),
      peer_(peer),
      size_(size),
      elided_(elided),
      track_(std::move(track)),
      streams_(endpoint.qps.size()),
      total_(plan.iterations * endpoint.qps.size()) {
  times_.posted.reserve(total_);
  times_.completed.assign(total_, Time::never());
}

void PerftestRun::prepare(CpuTask& task) {
  if (is_send(plan_.operation))
    for (std::uint32_t qp = 0; qp < streams_.size(); ++qp) post_receives(task, qp, plan_.rx_depth);
  if (plan_.latency && plan_.operation == Operation::kWrite) {
    const std::uint64_t last = buffer_.receive_area(0) + size_.count() - 1;
    watched_ =
        *endpoint_.process.pages.translate(VirtualAddress(endpoint_.region.address.value() + last));
    if (elided_)
      endpoint_.process.pages.memory().watch(watched_, call<&PerftestRun::arrived>(this));
  }
}

void PerftestRun::arrived() {
  if (++arrivals_ < plan_.iterations)
    endpoint_.process.pages.memory().watch(watched_, call<&PerftestRun::arrived>(this));
}

void PerftestRun::send(CpuTask& task, bool begins) {
  if (!plan_.latency)
    bandwidth(task);
  else if (plan_.operation == Operation::kWrite)
    ping_pong_writes(task, begins);
  else if (plan_.operation == Operation::kSend)
    ping_pong_sends(task, begins);
  else
    ask(task);
}

void PerftestRun::bandwidth(CpuTask& task) {
  const std::uint64_t receives = plan_.bidirectional && is_send(plan_.operation) ? total_ : 0;
  WorkCompletion completions[kPollBatch];
  while (done_ < total_ || received_ < receives) {
    for (std::uint32_t qp = 0; qp < streams_.size(); ++qp) {
      const Stream& stream = streams_[qp];
      while (stream.sent < plan_.iterations && stream.sent - stream.done < plan_.tx_depth)
        post(task, qp);
    }
    const std::uint32_t n = endpoint_.wait(task, endpoint_.cq, completions, kPollBatch);
    for (std::uint32_t i = 0; i < n; ++i) {
      if (is_receive(completions[i].opcode))
        take_receive(task, completions[i]);
      else
        take(completions[i], task.now());
    }
  }
}

void PerftestRun::receive(CpuTask& task) {
  doing_ = "taking receives";
  WorkCompletion completions[kPollBatch];
  while (received_ < total_) {
    const std::uint32_t n = endpoint_.wait(task, endpoint_.receive_cq, completions, kPollBatch);
    for (std::uint32_t i = 0; i < n; ++i) take_receive(task, completions[i]);
  }
}

void PerftestRun::ping_pong_writes(CpuTask& task, bool begins) {
  for (std::uint64_t number = 1; number <= plan_.iterations; ++number) {
    if (!begins) wait_for_write(task, number);
    if (!elided_)
      endpoint_.image().set_byte(buffer_.send_area(0) + size_.count() - 1,
                                 static_cast<std::uint8_t>(number));
    post(task, 0);
    take(wait_one(task, endpoint_.cq), task.now());
    if (begins) wait_for_write(task, number);
  }
}

void PerftestRun::wait_for_write(CpuTask& task, std::uint64_t number) {
  doing_ = "watching its memory";
  const std::uint64_t last = buffer_.receive_area(0) + size_.count() - 1;
  task.poll_until(endpoint_.process.pages.memory(), watched_, CpuPlane::kData, kLook, [&] {
    return elided_ ? arrivals_ >= number
                   : endpoint_.image().byte(last) == static_cast<std::uint8_t>(number);
  });
  doing_ = "posting and polling";
}

void PerftestRun::ping_pong_sends(CpuTask& task, bool begins) {
  for (std::uint64_t i = 0; i < plan_.iterations; ++i) {
    if (!begins) take_receive(task, wait_one(task, endpoint_.receive_cq));
    post(task, 0);
    take(wait_one(task, endpoint_.cq), task.now());
    if (begins) take_receive(task, wait_one(task, endpoint_.receive_cq));
  }
}

void PerftestRun::ask(CpuTask& task) {
  for (std::uint64_t i = 0; i < plan_.iterations; ++i) {
    post(task, 0);
    take(wait_one(task, endpoint_.cq), task.now());
  }
}

WorkCompletion PerftestRun::wait_one(CpuTask& task, CompletionQueue* cq) {
  WorkCompletion completion;
  endpoint_.wait(task, cq, &completion, 1);
  return completion;
}

void PerftestRun::fill(SendRequest& request, std::uint32_t qp, std::uint64_t nth) const {
  const std::uint64_t place = buffer_.place(size_, nth);
  const std::uint64_t theirs = peer_.address.value();
  switch (plan_.operation) {
    case Operation::kRead:
      request.opcode = abi::WqeOpcode::kRdmaRead;
      request.remote_address = VirtualAddress(theirs + buffer_.send_area(qp) + place);
      break;
    case Operation::kFetchAdd:
      request.opcode = abi::WqeOpcode::kAtomicFetchAdd;
      request.compare_add = 1;
      request.remote_address = VirtualAddress(theirs + buffer_.send_area(qp) + place);
      break;
    case Operation::kSend:
      request.opcode = abi::WqeOpcode::kSend;
      break;
    default:
      request.opcode = abi::WqeOpcode::kRdmaWrite;
      request.remote_address = VirtualAddress(theirs + buffer_.receive_area(qp) + place);
  }
  if (has_remote_address(plan_.operation)) request.rkey = peer_.rkey;
  endpoint_.address(request, qp);
}

void PerftestRun::post(CpuTask& task, std::uint32_t qp) {
  Stream& stream = streams_[qp];
  const std::uint64_t place = buffer_.place(size_, stream.sent);
  const std::uint64_t area =
      brings_data(plan_.operation) ? buffer_.receive_area(qp) : buffer_.send_area(qp);
  const ScatterGather element = endpoint_.piece(area + place, size_);
  SendRequest request;
  request.id = stream.sent;
  request.list = &element;
  request.list_length = 1;
  request.signaled =
      (stream.sent + 1) % plan_.cq_moderation == 0 || stream.sent + 1 == plan_.iterations;
  request.inline_data = !brings_data(plan_.operation) && size_ <= plan_.inline_size;
  fill(request, qp, stream.sent);
  track_(*endpoint_.qps[qp]);
  times_.posted.push_back(task.now());
  require(endpoint_.process.verbs.post_send(task, endpoint_.qps[qp], request), "post_send");
  ++stream.sent;
}

std::uint32_t PerftestRun::index_of(Qpn qpn) const {
  std::uint32_t index = 0;
  while (endpoint_.qps[index]->qpn() != qpn) ++index;
  return index;
}

void PerftestRun::require_success(const WorkCompletion& completion) const {
  if (completion.status != CompletionStatus::kSuccess)
    throw PerftestFailure{std::string("a message of ") + to_text(size_) + " failed with " +
                          name_of(completion.status)};
}

/// A completion stands for the messages before it that asked for none.
void PerftestRun::take(const WorkCompletion& completion, Time now) {
  require_success(completion);
  Stream& stream = streams_[index_of(completion.qpn)];
  done_ += completion.id + 1 - stream.done;
  stream.done = completion.id + 1;
  times_.completed[done_ - 1] = now;
}

void PerftestRun::take_receive(CpuTask& task, const WorkCompletion& completion) {
  require_success(completion);
  ++received_;
  const std::uint32_t qp = index_of(completion.qpn);
  if (streams_[qp].receives_posted < plan_.iterations) post_receives(task, qp, 1);
}

void PerftestRun::post_receives(CpuTask& task, std::uint32_t qp, std::uint64_t count) {
  Stream& stream = streams_[qp];
  std::vector<ScatterGather> pieces;
  std::vector<ReceiveRequest> requests(count);
  pieces.reserve(count);
  for (ReceiveRequest& request : requests) {
    pieces.push_back(
        endpoint_.piece(buffer_.receive_area(qp) + buffer_.place(size_, stream.receives_posted),
                        size_ + Bytes(buffer_.header())));
    request.id = stream.receives_posted++;
    request.list = &pieces.back();
    request.list_length = 1;
  }
  require(
      endpoint_.process.verbs
          .post_recv(task, endpoint_.qps[qp], requests.data(), static_cast<std::uint32_t>(count))
          .error,
      "post_recv");
}

}  // namespace rnicsim

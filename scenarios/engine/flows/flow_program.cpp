// SPDX-License-Identifier: MIT
#include "scenarios/engine/flows/flow_program.h"

#include <algorithm>
#include <array>
#include <vector>

namespace rnicsim {
namespace {

constexpr std::uint32_t kPollBatch = 16;
constexpr std::uint32_t kPostBatch = 16;
constexpr std::uint64_t kSlotAlignment = 64;
constexpr std::uint64_t kNumberBytes = 8;

// A work request's id: which flow, whether it is its last message, and how many messages its pair
// has posted with it.
constexpr std::uint64_t kLast = std::uint64_t{1} << 63;
constexpr unsigned kFlowShift = 32;
std::uint64_t id_of(std::uint32_t flow, bool last, std::uint32_t posted) {
  return (last ? kLast : 0) | std::uint64_t{flow} << kFlowShift | posted;
}

/// What the other end may do with its region.
std::uint8_t rights_of(Operation operation) {
  if (operation == Operation::kRead) return AccessFlags::kRemoteRead;
  return operation == Operation::kWrite ? AccessFlags::kRemoteWrite : std::uint8_t{0};
}

abi::WqeOpcode opcode_of(Operation operation) {
  if (operation == Operation::kRead) return abi::WqeOpcode::kRdmaRead;
  return operation == Operation::kSend ? abi::WqeOpcode::kSend : abi::WqeOpcode::kRdmaWrite;
}

}  // namespace

FlowProgram::FlowProgram(const Setting& setting, const Place& place, ProbeSink* observer)
    : run_(setting.run),
      coordinator_(setting.coordinator),
      elided_(setting.elided),
      seed_(setting.seed),
      end_point_(place.end_point),
      role_(place.host + (place.nic == 0 ? "" : "_nic" + std::to_string(place.nic))),
      end_(setting.system, setting.spec, place.host, place.core, observer, place.nic) {}

void FlowProgram::add_flow(std::uint32_t flow) {
  if (run_.flow(flow).trigger == Flow::kNone) timed_.push_back(flow);
  ++flows_;
}

void FlowProgram::start() {
  unposted_ = unsettled_ = flows_;
  std::stable_sort(timed_.begin(), timed_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return run_.flow(a).start < run_.flow(b).start;
  });
  lay_out();
  end_.start(role_ + "_sender", [this](CpuTask& task) {
    poster_ = &task;
    set_up(task);
    if (end_.spec.operation == Operation::kSend && !incoming_.empty()) {
      takes_messages_ = true;
      end_.start(role_ + "_receiver", [this](CpuTask& other) { take_messages(other); });
    }
    if (flows_ > 0) post_flows(task);
    poster_ = nullptr;
  });
}

/// One slot behind the other: those it sends from, then those it receives in.
void FlowProgram::lay_out() {
  std::uint64_t at = 0;
  const auto place = [&](const FlowPair& pair) {
    const std::uint64_t here = at;
    at += divide_up(pair.slot.count(), kSlotAlignment) * kSlotAlignment;
    return here;
  };
  for (const std::uint32_t pair : outgoing_)
    run_.pairs()[pair].local_offset = place(run_.pairs()[pair]);
  for (const std::uint32_t pair : incoming_)
    run_.pairs()[pair].remote_offset = place(run_.pairs()[pair]);
  region_ = Bytes(at);
}

void FlowProgram::set_up(CpuTask& task) {
  const std::uint8_t remote = rights_of(end_.spec.operation);
  end_.prepare(task, region_, AccessFlags(AccessFlags::kLocalWrite | remote));
  if (!elided_) end_.image().fill(seed_);
  create_queue_pairs(task);
  connect_all(task);
  if (end_.spec.operation == Operation::kSend) post_receives(task);
  end_.doing = "waiting until all hosts are connected";
  coordinator_.connected(task);
}

void FlowProgram::create_queue_pairs(CpuTask& task) {
  end_.doing = "creating queue pairs";
  std::uint32_t sends = 0;
  for (const std::uint32_t pair : outgoing_) sends += run_.pairs()[pair].sends;
  end_.cq = end_.receive_cq =
      end_.create_cq(task, sends + static_cast<std::uint32_t>(incoming_.size()));
  if (end_.spec.operation == Operation::kSend && !incoming_.empty()) {
    std::uint32_t receives = 0;
    for (const std::uint32_t pair : incoming_) receives += receives_of(pair);
    end_.receive_cq = end_.create_cq(task, receives);
  }
  Endpoint::Plan plan;
  for (const std::uint32_t pair : outgoing_) {
    plan.sends = run_.pairs()[pair].sends;
    run_.pairs()[pair].qp = end_.add_queue_pair(task, plan);
  }
  plan.sends = 1;
  plan.access = AccessFlags(rights_of(end_.spec.operation));
  for (const std::uint32_t pair : incoming_) {
    if (end_.spec.operation == Operation::kSend) plan.receives = receives_of(pair);
    incoming_qps_.push_back(end_.add_queue_pair(task, plan));
  }
}

/// Posted ahead.
std::uint32_t FlowProgram::receives_of(std::uint32_t pair) const {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(
      end_.spec.receive_depth.value_or(end_.spec.queue_depth), run_.pairs()[pair].messages));
}

void FlowProgram::post_receives(CpuTask& task) {
  receives_.resize(incoming_.size());
  for (std::size_t i = 0; i < incoming_.size(); ++i)
    post_receives(task, i, receives_of(incoming_[i]));
}

void FlowProgram::post_receives(CpuTask& task, std::size_t incoming, std::uint64_t count) {
  const FlowPair& pair = run_.pairs()[incoming_[incoming]];
  const ScatterGather element = end_.piece(pair.remote_offset, pair.slot);
  const std::vector<ReceiveRequest> requests(count, ReceiveRequest{incoming, &element, 1});
  receives_[incoming].posted += count;
  require(end_.process.verbs
              .post_recv(task, incoming_qps_[incoming], requests.data(),
                         static_cast<std::uint32_t>(count))
              .error,
          "post_recv");
}

/// Each receive is posted again as long as more is to come.
void FlowProgram::take_messages(CpuTask& task) {
  std::array<WorkCompletion, kPollBatch> completions;
  while (!has_all_messages()) {
    const std::uint32_t n = end_.wait(task, end_.receive_cq, completions.data(), kPollBatch);
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::size_t incoming = completions[i].id;
      Receives& receives = receives_[incoming];
      if (completions[i].status != CompletionStatus::kSuccess) {
        receives.failed = true;
        continue;
      }
      ++receives.taken;
      if (!receives.failed && receives.posted < run_.pairs()[incoming_[incoming]].messages)
        post_receives(task, incoming, 1);
    }
  }
}

bool FlowProgram::has_all_messages() const {
  for (std::size_t i = 0; i < receives_.size(); ++i) {
    const FlowPair& pair = run_.pairs()[incoming_[i]];
    if (!pair.broken && !receives_[i].failed && receives_[i].taken < pair.messages) return false;
  }
  return true;
}

bool FlowProgram::finished() const {
  return end_.finished() || (takes_messages_ && end_.running() == 1 && has_all_messages());
}

/// Number of the pair, and who wants to be its other end.
void FlowProgram::introduce(CpuTask& task, std::uint32_t to, std::uint32_t pair,
                            const QueuePair& qp) {
  Introduction introduction;
  introduction.port = end_.port;
  introduction.qpns = {qp.qpn().value()};
  introduction.address =
      VirtualAddress(end_.region.address.value() + run_.pairs()[pair].remote_offset);
  introduction.length = run_.pairs()[pair].slot.count();
  introduction.rkey = end_.region.rkey;
  ControlMessage message = number_message(pair);
  const ControlMessage body = introduction.encode();
  message.insert(message.end(), body.begin(), body.end());
  coordinator_.mailbox(to).send(task, std::move(message));
}

void FlowProgram::connect_all(CpuTask& task) {
  end_.doing = "connecting queue pairs";
  for (const std::uint32_t pair : outgoing_)
    introduce(task, run_.pairs()[pair].destination, pair, *run_.pairs()[pair].qp);
  for (std::size_t i = 0; i < outgoing_.size() + incoming_.size(); ++i)
    meet(task, coordinator_.mailbox(end_point_).receive(task));
}

/// The sender introduces itself first; the answer brings the receiver's address and key.
void FlowProgram::meet(CpuTask& task, const ControlMessage& message) {
  const auto index = static_cast<std::uint32_t>(number_in(message));
  FlowPair& pair = run_.pairs()[index];
  const Introduction peer =
      Introduction::decode(ControlMessage(message.begin() + kNumberBytes, message.end()));
  const Endpoint::Peer other{peer.port, peer.qpns[0], pair.dscp};
  if (pair.source == end_point_) {
    pair.remote_address = peer.address;
    pair.rkey = peer.rkey;
    end_.connect(task, pair.qp, other);
    return;
  }
  const auto place = std::lower_bound(incoming_.begin(), incoming_.end(), index);
  QueuePair* qp = incoming_qps_[static_cast<std::size_t>(place - incoming_.begin())];
  end_.connect(task, qp, other);
  introduce(task, pair.source, index, *qp);
}

Bytes FlowProgram::received() const {
  Bytes sum;
  const bool reads = end_.spec.operation == Operation::kRead;
  for (const std::uint32_t pair : reads ? outgoing_ : incoming_)
    sum += run_.pairs()[pair].delivered;
  return sum;
}

void FlowProgram::begin_at(std::uint32_t flow, Time time) {
  triggered_.push({time, orders_++, flow});
  if (poster_ != nullptr) poster_->wake(time);
}

void FlowProgram::begin(std::uint32_t flow, Time time) {
  FlowPair& pair = run_.pair_of(flow);
  if (pair.broken) {
    --unposted_;
    return;
  }
  run_.begin(flow, time);
  pair.begun.push(flow);
  if (pair.begun.size() == 1) ready_.push(run_.pair_index(flow));
}

void FlowProgram::begin_due(Time now) {
  const Time origin = coordinator_.origin();
  while (next_timed_ < timed_.size() && origin + run_.flow(timed_[next_timed_]).start <= now) {
    const std::uint32_t flow = timed_[next_timed_++];
    begin(flow, origin + run_.flow(flow).start);
  }
  while (!triggered_.empty() && triggered_.top().time <= now) {
    const Due due = triggered_.top();
    triggered_.pop();
    begin(due.flow, due.time);
  }
}

void FlowProgram::post_flows(CpuTask& task) {
  while (task.now() < coordinator_.origin()) task.block();
  end_.start(role_ + "_completer", [this](CpuTask& other) { take_completions(other); });
  end_.doing = "posting flows";
  while (unposted_ > 0) {
    begin_due(task.now());
    if (!ready_.empty()) {
      post_batch(task, ready_.take());
      continue;
    }
    if (next_timed_ < timed_.size())
      task.wake(coordinator_.origin() + run_.flow(timed_[next_timed_]).start);
    if (!triggered_.empty()) task.wake(triggered_.top().time);
    if (unposted_ > 0) task.block();
  }
}

void FlowProgram::post_batch(CpuTask& task, std::uint32_t index) {
  FlowPair& pair = run_.pairs()[index];
  if (pair.begun.empty()) return;  // it broke
  const std::uint32_t flow = pair.begun.front();
  const Bytes bytes = run_.flow(flow).bytes;
  const std::uint32_t room = pair.sends - (pair.posted - pair.completed);
  const std::uint32_t half = std::max(1u, pair.sends / 2);
  const Operation operation = end_.spec.operation;
  std::array<SendRequest, kPostBatch> requests;
  std::array<ScatterGather, kPostBatch> elements;
  std::uint32_t n = 0;
  while (n < std::min(room, kPostBatch) && pair.posted_of_first < bytes) {
    const Bytes size = std::min(run_.message_size(), bytes - pair.posted_of_first);
    if (is_send(operation) || pair.offset + size > pair.slot) pair.offset = Bytes(0);
    pair.posted_of_first += size;
    ++pair.posted;
    const bool last = pair.posted_of_first == bytes;
    elements[n] = end_.piece(pair.local_offset + pair.offset.count(), size);
    requests[n].id = id_of(flow, last, pair.posted);
    requests[n].list = &elements[n];
    requests[n].list_length = 1;
    requests[n].opcode = opcode_of(operation);
    if (has_remote_address(operation)) {
      requests[n].remote_address =
          VirtualAddress(pair.remote_address.value() + pair.offset.count());
      requests[n].rkey = pair.rkey;
    }
    requests[n].signaled = last || pair.posted % half == 0;
    pair.offset += size;
    pair.written = std::max(pair.written, pair.offset);
    ++n;
  }
  const bool whole = pair.posted_of_first == bytes;
  if (whole) {
    pair.begun.pop();
    pair.posted_of_first = Bytes(0);
    --unposted_;
  }
  pair.waits_for_room = !pair.begun.empty() && pair.posted - pair.completed == pair.sends;
  if (!pair.begun.empty() && !pair.waits_for_room) ready_.push(index);
  if (n == 0) return;
  coordinator_.posting(pair, *pair.qp);
  require(end_.process.verbs.post_send(task, pair.qp, requests.data(), n).error, "post_send");
}

void FlowProgram::take_completions(CpuTask& task) {
  std::array<WorkCompletion, kPollBatch> completions;
  while (unsettled_ > 0) {
    const std::uint32_t n = end_.wait(task, end_.cq, completions.data(), kPollBatch);
    for (std::uint32_t i = 0; i < n; ++i) complete(task, completions[i]);
  }
}

void FlowProgram::complete(CpuTask& task, const WorkCompletion& completion) {
  const auto flow = static_cast<std::uint32_t>((completion.id & ~kLast) >> kFlowShift);
  FlowPair& pair = run_.pair_of(flow);
  if (pair.broken) return;
  if (completion.status != CompletionStatus::kSuccess) return fail(task, pair);
  pair.completed = static_cast<std::uint32_t>(completion.id);
  if ((completion.id & kLast) != 0) {
    --unsettled_;
    run_.finish(flow, task.now(), coordinator_);
    coordinator_.flow_ended();
  }
  if (!pair.waits_for_room) return;
  pair.waits_for_room = false;
  ready_.push(run_.pair_index(flow));
  poster_->wake(task.now());
}

/// No flow of this pair will end any more.
void FlowProgram::fail(CpuTask& task, FlowPair& pair) {
  unposted_ -= static_cast<std::uint32_t>(pair.begun.size());
  pair.begun.clear();
  pair.waits_for_room = false;
  unsettled_ -= run_.break_pair(pair, task.now(), coordinator_);
  if (poster_ != nullptr) poster_->wake(task.now());
}

}  // namespace rnicsim

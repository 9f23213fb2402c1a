// SPDX-License-Identifier: MIT
#include "scenarios/engine/pair_workload.h"

#include <algorithm>

namespace rnicsim {

namespace {

constexpr std::uint32_t kPollBatch = 16;
/// More than what is still under way takes when the initiator has finished.
constexpr Time kStragglers = Time::ms(1);

AccessFlags with(AccessFlags a, AccessFlags b) { return AccessFlags(a.bits() | b.bits()); }

}  // namespace

PairWorkload::PairWorkload(System& system, const WorkloadSpec& spec, const Scenario& scenario,
                           unsigned initiator_core, unsigned target_core, ProbeSink* observer,
                           Timeline* timeline)
    : system_(system),
      spec_(spec),
      elided_(scenario.engine.payload == PayloadMode::kElided),
      initiator_seed_(seed_for(scenario.seed, spec.name + ".initiator")),
      target_seed_(seed_for(scenario.seed, spec.name + ".target")),
      timeline_(timeline),
      tracked_(scenario.timeline.work_requests),
      control_(ControlPath::make(system, spec_,
                                 {initiator_core, target_core, elided_, observer, timeline})),
      to_target_(control_->forth()),
      to_initiator_(control_->back()),
      initiator_(system, spec_, spec.from, initiator_core, observer),
      target_(system, spec_, spec.to, target_core, observer),
      local_random_(seed_for(scenario.seed, spec.name + ".local_offset")),
      remote_random_(seed_for(scenario.seed, spec.name + ".remote_offset")),
      elements_(spec.post_list),
      requests_(spec.post_list),
      ledger_(spec_),
      received_(target_),
      windows_(target_, initiator_, to_initiator_),
      operation_(PairOperation::make(
          spec_, {initiator_, initiator_seed_, target_, target_seed_, windows_})) {
  target_.start("target", [this](CpuTask& task) {
    target(task);
    control_->leave(task, spec_.to);
  });
  initiator_.start("initiator", [this](CpuTask& task) {
    initiator(task);
    control_->leave(task, spec_.from);
  });
}

AccessFlags PairWorkload::region_rights() const {
  const bool right = spec_.fault != AccessFault::kNoRight;
  return with(AccessFlags(AccessFlags::kLocalWrite), right ? operation_->needs() : AccessFlags());
}

AccessFlags PairWorkload::queue_pair_rights() const {
  return spec_.remote_write ? operation_->needs() : AccessFlags();
}

void PairWorkload::target(CpuTask& task) {
  const bool receives = takes_receive(spec_.operation);
  target_.prepare(task, spec_.region_size(), region_rights());
  if (!elided_) target_.image().fill(target_seed_);
  Endpoint::Plan plan;
  plan.sends = spec_.queue_depth;
  plan.receives = receives ? ReceivedMessages::depth(spec_) : 0;
  plan.own_receive_cq = receives;
  plan.inline_up_to = spec_.inline_up_to;
  plan.access = queue_pair_rights();
  target_.create_queue_pairs(task, plan);
  target_.doing = "waiting for the initiator to introduce itself";
  control_->accept(task);
  const Introduction peer = Introduction::decode(to_target_.receive(task));
  target_.connect(task, peer);
  if (receives && spec_.receiver_delay == Time()) received_.post_ahead(task);
  Introduction introduction = target_.introduce();
  introduction.address = target_.region.address;
  introduction.length = target_.region.length;
  introduction.rkey = target_.region.rkey;
  introduction.more_keys = target_.more_keys;
  falsify(task, introduction);
  if (spec_.fault == AccessFault::kSilent) return;
  to_initiator_.send(task, introduction.encode());
  if (receives) target_.start("receiver", [this](CpuTask& receiver) { take_receives(receiver); });
  if (spec_.target_fault != TargetFault::kNone)
    target_.start("saboteur", [this](CpuTask& saboteur) { fail_target(saboteur); });
  target_.doing = receives ? "taking receives" : "asleep until the initiator has finished";
  const std::uint64_t unsuccessful = number_in(to_target_.receive(task));
  if (receives)
    end_receives(task, unsuccessful);
  else if (unsuccessful != 0)
    post_after_failure(task);
}

void PairWorkload::take_receives(CpuTask& task) {
  if (spec_.receiver_delay != Time()) {
    task.sleep_until(task.now() + spec_.receiver_delay);
    received_.post_ahead(task);
  }
  if (!spec_.receiver_polls) return;
  if (leases_windows()) windows_.bind_all(task);
  received_.take_all(task, [&](std::uint32_t qp, const ReceivedMessages::Message& message) {
    if (message.success) target_.stage(task, message.place, spec_.size, CopyDirection::kIntoGpu);
    if (leases_windows() && message.success) windows_.taken(task, qp, message.invalidated);
  });
}

void PairWorkload::fail_target(CpuTask& task) {
  task.sleep_until(task.now() + spec_.target_fault_after);
  switch (spec_.target_fault) {
    case TargetFault::kNone:
      return;
    case TargetFault::kDeregister:
      return require(target_.process.verbs.dereg_mr(task, target_.region), "dereg_mr");
    case TargetFault::kQpError:
      return target_.move_all(task, QpState::kErr);
    case TargetFault::kQpReset:
      return target_.move_all(task, QpState::kReset);
    case TargetFault::kQpDestroy:
      return target_.destroy_all(task);
  }
}

/// What failed may have left something in memory.
bool PairWorkload::disturbed() const {
  return system_.disturbed_packets() != 0 || spec_.target_fault != TargetFault::kNone ||
         !spec_.receiver_polls || ledger_.gave_up() || spec_.receive_fault != LocalFault::kNone;
}

/// Receives that no message will take any more come back flushed.
void PairWorkload::end_receives(CpuTask& task, std::uint64_t unsuccessful) {
  if (unsuccessful == 0 && spec_.transport == WorkloadTransport::kRc) return;
  task.sleep_until(task.now() + kStragglers + spec_.receiver_delay);
  target_in_error_ = target_.count_in_error(task);
  if (received_.done()) return;
  target_.move_all(task, QpState::kErr);
}

/// Makes what is handed over wrong in the way that the scenario asks for.
void PairWorkload::falsify(CpuTask& task, Introduction& introduction) {
  const std::uint64_t address = introduction.address.value();
  const std::uint64_t length = introduction.length;
  const std::uint64_t size = spec_.size.count();
  Verbs& verbs = target_.process.verbs;
  switch (spec_.fault) {
    case AccessFault::kNone:
    case AccessFault::kSilent:
    case AccessFault::kNoRight:
      break;
    case AccessFault::kWrongKey:
      introduction.rkey = never_issued(introduction.rkey);
      break;
    case AccessFault::kStaleKey:
      require(verbs.dereg_mr(task, target_.region), "dereg_mr");
      break;
    case AccessFault::kBelow:
      introduction.address = VirtualAddress(address - size);
      break;
    case AccessFault::kBelowByOne:
      introduction.address = VirtualAddress(address - 1);
      break;
    case AccessFault::kBeyond:
      introduction.address = VirtualAddress(address + length);
      break;
    case AccessFault::kBeyondByOne:
      introduction.address = VirtualAddress(address + length - size + 1);
      break;
    case AccessFault::kWrap:
      introduction.address = VirtualAddress(0 - size / 2);
      break;
    case AccessFault::kWrongPd: {
      const auto other =
          verbs.reg_mr(task, verbs.alloc_pd(task), target_.region.address, length,
                       AccessFlags(AccessFlags::kLocalWrite | operation_->needs().bits()));
      require(other.error, "reg_mr");
      introduction.rkey = other.value.rkey;
      break;
    }
  }
}

/// The target's queue pairs should be in error: what it posts now must come back flushed.
void PairWorkload::post_after_failure(CpuTask& task) {
  target_.doing = "polling for its own work after the failure";
  Verbs& verbs = target_.process.verbs;
  for (QueuePair* qp : target_.qps) {
    const auto state = verbs.query_qp_state(task, qp);
    require(state.error, "query_qp_state");
    if (state.value != QpState::kErr) continue;
    ++target_in_error_;
    const ScatterGather element = target_.piece(0, Bytes(8));
    SendRequest request;
    request.list = &element;
    request.list_length = 1;
    request.remote_address = target_.region.address;
    require(verbs.post_send(task, qp, request), "post_send");
    WorkCompletion completion;
    target_.wait(task, target_.cq, &completion, 1);
    if (completion.status == CompletionStatus::kFlushed) ++target_flushed_;
  }
}

void PairWorkload::initiator(CpuTask& task) {
  const std::uint8_t windows = is_local(spec_.operation) ? AccessFlags::kWindowBind : 0;
  initiator_.prepare(task, spec_.region_size(), AccessFlags(AccessFlags::kLocalWrite | windows));
  if (!elided_) initiator_.image().fill(initiator_seed_);
  Endpoint::Plan plan;
  plan.sends = spec_.queue_depth;
  plan.inline_up_to = spec_.inline_up_to;
  initiator_.create_queue_pairs(task, plan);
  initiator_.doing = "connecting to the target's control channel";
  control_->connect(task);
  to_target_.send(task, initiator_.introduce().encode());
  operation_->prepare(task);
  initiator_.doing = "waiting for address, length and rkey";
  const Introduction peer = Introduction::decode(to_initiator_.receive(task));
  initiator_.connect(task, peer);
  initiator_.doing = "posting and polling";
  note_activity();
  stream(task, peer);
  note_activity();
  if (leases_windows() && ledger_.unsuccessful() == 0) windows_.try_last_keys(task, peer.address);
  if (ledger_.unsuccessful() != 0) initiator_in_error_ = initiator_.count_in_error(task);
  to_target_.send(task, number_message(ledger_.unsuccessful()));
}

/// Keeps every queue pair as full as its depth allows, and waits when all are full.
void PairWorkload::stream(CpuTask& task, const Introduction& peer) {
  WorkCompletion completions[kPollBatch];
  while (ledger_.settled() < spec_.count) {
    while (post_next(task, peer)) {
    }
    const std::uint32_t n = initiator_.wait(task, initiator_.cq, completions, kPollBatch);
    for (std::uint32_t i = 0; i < n; ++i)
      ledger_.complete(completions[i], task.now(),
                       [this](std::uint64_t number, const MessageLedger::Message& message) {
                         if (!message.succeeded()) windows_.failed(spec_.queue_pair_of(number));
                         if (!elided_) operation_->settled(message);
                       });
  }
}

std::uint64_t PairWorkload::next_offset(OffsetPattern pattern, std::uint64_t nth, std::uint32_t qp,
                                        Random& random) const {
  const std::uint64_t step = std::max(spec_.step(), Bytes(1)).count();
  const std::uint64_t chunks = spec_.region_size().count() / step / spec_.queue_pairs;
  std::uint64_t chunk = 0;
  if (pattern == OffsetPattern::kSequential) chunk = nth % chunks;
  if (pattern == OffsetPattern::kRandom) chunk = random.below(chunks);
  return (chunk * spec_.queue_pairs + qp) * spec_.step().count();
}

ScatterGather PairWorkload::source(std::uint64_t offset) const {
  ScatterGather element = initiator_.piece(offset, spec_.size);
  if (spec_.local_fault == LocalFault::kWrongKey) element.lkey = never_issued(element.lkey);
  if (spec_.local_fault == LocalFault::kBeyond)
    element.address = VirtualAddress(initiator_.region.address.value() + initiator_.region.length -
                                     spec_.size.count() + 1);
  return element;
}

/// The next message's queue pair has room and, if need be, a key. Where nothing else is under way,
/// the key is waited for; a failed queue pair needs none.
bool PairWorkload::may_post(CpuTask& task) {
  if (!ledger_.may_post()) return false;
  const std::uint32_t qp = ledger_.queue_pair();
  if (!leases_windows()) return true;
  while (!windows_.has_key(qp) && !windows_.has_failed(qp)) {
    if (ledger_.settled() < ledger_.next()) return false;
    windows_.receive(task);
  }
  return true;
}

MessageLedger::Message PairWorkload::next_message(Time now) {
  const std::uint32_t qp = ledger_.queue_pair();
  // What atomics bring would else lie over one another.
  const OffsetPattern local =
      is_atomic(spec_.operation) ? OffsetPattern::kSequential : spec_.local_offset;
  MessageLedger::Message message;
  message.local_offset = next_offset(local, ledger_.nth(), qp, local_random_);
  message.remote_offset = next_offset(spec_.remote_offset, ledger_.nth(), qp, remote_random_);
  message.signaled = ledger_.asks_for_completion();
  message.posted = now;
  return message;
}

SendRequest PairWorkload::request_for(const MessageLedger::Message& message,
                                      const ScatterGather& element, const Introduction& peer) {
  SendRequest request;
  request.id = ledger_.next();
  request.list = &element;
  request.list_length = 1;
  request.remote_address = VirtualAddress(peer.address.value() + message.remote_offset);
  const std::size_t region = spec_.region_at(message.remote_offset);
  request.rkey = region == 0 ? peer.rkey : peer.more_keys[region - 1];
  request.signaled = message.signaled;
  request.fence = spec_.fence;
  request.inline_data = spec_.inline_up_to != Bytes(0) && spec_.size <= spec_.inline_up_to;
  operation_->complete(request, request.id, message.remote_offset);
  initiator_.address(request, ledger_.queue_pair());
  return request;
}

/// Posts the next list of messages if it may.
bool PairWorkload::post_next(CpuTask& task, const Introduction& peer) {
  if (!may_post(task)) return false;
  QueuePair* const qp = initiator_.qps[ledger_.queue_pair()];
  const std::uint32_t count = ledger_.list();
  for (std::uint32_t i = 0; i < count; ++i) {
    const MessageLedger::Message message = next_message(task.now());
    if (!brings_data(spec_.operation))
      initiator_.stage(task, message.local_offset, spec_.size, CopyDirection::kOutOfGpu);
    elements_[i] = source(message.local_offset);
    requests_[i] = request_for(message, elements_[i], peer);
    if (timeline_ != nullptr && requests_[i].id < tracked_)
      timeline_->track(WorkRequestId(static_cast<std::uint16_t>(initiator_.port.number), qp->qpn(),
                                     qp->next_request() + i),
                       spec_.operation, spec_.from, spec_.to);
    ledger_.post(message);
  }
  require(initiator_.process.verbs.post_send(task, qp, requests_.data(), count).error, "post_send");
  return true;
}

/// What a READ or an atomic brings lands at home, and that is no landing at the target.
void PairWorkload::landed(WorkRequestId id, Time time) {
  if (!id || id.nic() != initiator_.port.number || brings_data(spec_.operation)) return;
  const std::size_t qp = initiator_.index_of(id.qpn());
  if (qp != initiator_.qps.size())
    ledger_.landed(spec_.number_of(static_cast<std::uint32_t>(qp), id.index()), time);
}

std::vector<std::string> PairWorkload::waiting_for() const {
  std::vector<std::string> lines;
  const auto add = [&](const Endpoint& side, const std::string& more) {
    if (!side.finished())
      lines.push_back("workload " + spec_.name + " on host " + side.host + ": " + side.doing +
                      more);
  };
  add(initiator_, ", " + std::to_string(ledger_.settled()) + " of " + std::to_string(spec_.count) +
                      " messages completed");
  add(target_, "");
  control_->explain(lines);
  return lines;
}

void PairWorkload::check_completions(std::vector<Violation>& violations) const {
  const std::string fault = ledger_.fault();
  if (!fault.empty())
    violations.push_back(
        {"completion", "workload." + spec_.name, system_.scheduler().now(), fault});
}

Workload::Landed PairWorkload::landed_at(const std::string& host) const {
  const bool disturbed = this->disturbed();
  Landed landed;
  if (host == spec_.from) {
    if (brings_data(spec_.operation)) landed.least = ledger_.delivered();
    landed.exact = !disturbed;
  } else if (host == spec_.to) {
    const bool lossy = spec_.transport != WorkloadTransport::kRc;
    // What stands in a completion entry, the program copies.
    const Bytes received =
        spec_.size + Bytes(spec_.transport == WorkloadTransport::kUd ? Grh::kBytes : 0);
    const bool in_entry =
        spec_.inline_receive && !elided_ && received <= Bytes(abi::Cqe::kInlineBytes);
    if (is_send(spec_.operation))
      landed.least = in_entry ? Bytes(0) : received_.bytes();
    else if (!brings_data(spec_.operation) && !(lossy && disturbed))
      landed.least = ledger_.delivered();
    landed.exact = !disturbed || (ledger_.unsuccessful() == 0 && !lossy);
  }
  return landed;
}

void PairWorkload::verify(std::vector<Violation>& violations) {
  if (elided_ || target_.region.length == 0) return;
  PairOperation::Difference difference;
  operation_->verify({ledger_, received_, disturbed()}, difference);
  mismatched_ = difference.bytes;
  if (difference.text.empty()) return;
  violations.push_back(
      {"data_mismatch", "workload." + spec_.name, system_.scheduler().now(), difference.text});
}

WorkSpan PairWorkload::span() const {
  WorkSpan span;
  ledger_.for_each([&](std::uint64_t /*number*/, const MessageLedger::Message& message) {
    if (message.completed != Time::never()) span.include(message.posted, message.completed);
  });
  return span;
}

void PairWorkload::report(MetricSink& sink) const {
  ledger_.report(sink);
  const MetricScope scope(sink, "workload." + spec_.name);
  const MetricScope channel = scope.child("control_channel");
  control_->report(channel.child("to_target"), channel.child("to_initiator"));
  if (takes_receive(spec_.operation)) received_.report(scope.child("received"));
  if (leases_windows()) windows_.report(scope.child("windows"));
  scope.count("initiator_qps_in_error", initiator_in_error_,
              "queue pairs of the initiator that ended in ERR");
  scope.count("target_qps_in_error", target_in_error_,
              "queue pairs of the target that ended in ERR");
  scope.count("target_flushed", target_flushed_,
              "work that the target posted after a failure and that was flushed");
  scope.bytes("mismatched_bytes", Bytes(mismatched_),
              "bytes of a region that differ from what they must be");
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/latency_breakdown.h"

#include <algorithm>
#include <map>
#include <utility>

#include "model/headers.h"
#include "model/invariant.h"
#include "model/verbs_types.h"

namespace rnicsim {
namespace {

constexpr std::size_t kLeastOfWorkload = 200;
constexpr std::size_t kMostMissesOfNic = 256;
constexpr std::uint32_t kNoHost = ~std::uint32_t{0};

Time at_ps(std::uint64_t ps) { return Time::ps(static_cast<std::int64_t>(ps)); }

std::uint64_t queue_pair_key(std::uint16_t nic, std::uint32_t qpn) {
  return std::uint64_t{nic} << 32 | qpn;
}

}  // namespace

LatencyBreakdown::LatencyBreakdown(Wiring wiring) : w_(std::move(wiring)) {
  std::map<std::string, std::uint32_t> hosts;
  for (const ProbeComponent& component : w_.components) {
    const auto number = static_cast<std::uint32_t>(hosts.size());
    const std::uint32_t host =
        component.host.empty() ? kNoHost : hosts.emplace(component.host, number).first->second;
    host_of_component_.push_back(host);
    if (component.nic) {
      host_of_nic_.resize(std::max<std::size_t>(host_of_nic_.size(), *component.nic + 1U), kNoHost);
      host_of_nic_[*component.nic] = host;
      in_order_.resize(host_of_nic_.size());
    }
  }
  const std::size_t workloads = w_.workloads.size();
  const std::size_t each =
      std::max(kMostMessages / std::max<std::size_t>(workloads, 1), kLeastOfWorkload);
  samples_.assign(workloads, LatencySamples(each));
  shown_.resize(workloads);
}

LatencyBreakdown::Message* LatencyBreakdown::find(WorkRequestId id) {
  const auto found = messages_.find(id.value());
  return found == messages_.end() ? nullptr : &found->second;
}

LatencyBreakdown::QueuePair* LatencyBreakdown::queue_pair(std::uint16_t nic, std::uint32_t qpn) {
  const auto found = queue_pairs_.find(queue_pair_key(nic, qpn));
  return found == queue_pairs_.end() ? nullptr : &found->second;
}

LatencyBreakdown::QueuePair* LatencyBreakdown::queue_pair(const ProbeRecord& r) {
  return queue_pair(r.work_request.nic(), r.work_request.qpn().value());
}

bool LatencyBreakdown::at_home(const ProbeRecord& r) const {
  const std::optional<std::uint16_t> nic = w_.components[r.component].nic;
  return nic && *nic == r.work_request.nic();
}

bool LatencyBreakdown::of_home_host(const ProbeRecord& r) const {
  return host_of_component_[r.component] == host_of_nic_[r.work_request.nic()];
}

template <class Function>
void LatencyBreakdown::for_each_message(QueuePair* qp, Function function) {
  if (qp == nullptr) return;
  for (const std::uint64_t id : qp->messages) function(messages_.at(id));
}

void LatencyBreakdown::note_stopped(Message& message) {
  for (std::uint8_t priority = 0; priority < kPriorities; ++priority)
    message.stopped[priority] = w_.stopped(message.path.id().nic(), priority);
}

void LatencyBreakdown::posted(const ProbeRecord& r, std::size_t workload) {
  const std::uint64_t nth = samples_[workload].begun();
  if (!samples_[workload].wants_next() || messages_.size() >= kMostMessages) return;
  forget(r.work_request);  // the name of an old one that never ended
  Message message{MessagePath(r.work_request, r.b, at_ps(r.a), w_.is_shown(r.work_request)),
                  workload, nth};
  message.path.spend(Stage::kPosting, r.time);
  messages_.emplace(r.work_request.value(), std::move(message));
  queue_pairs_[queue_pair_key(r.work_request.nic(), r.work_request.qpn().value())]
      .messages.push_back(r.work_request.value());
}

void LatencyBreakdown::record(const ProbeRecord& r) {
  if (!r.work_request || r.kind == ProbeKind::kDoorbellRung ||
      r.kind == ProbeKind::kContextFetched || r.kind == ProbeKind::kWqeFetchStart ||
      r.kind == ProbeKind::kGoBack) {
    of_queue_pair(r);
    return;
  }
  if (r.kind == ProbeKind::kCompletionPolled) {
    polled(r);
    return;
  }
  if (r.kind == ProbeKind::kWqeFetched) {
    if (QueuePair* qp = queue_pair(r); qp != nullptr) {
      if (std::exchange(qp->fetching, false)) qp->fetch_end = r.time;
      qp->last_fetched = r.work_request.index();
    }
  }
  if (r.kind == ProbeKind::kAckSent)
    if (QueuePair* qp = queue_pair(r); qp != nullptr) qp->is_acknowledged = true;
  Message* message = find(r.work_request);
  if (message == nullptr) return;
  of_sender(r, *message);
  of_wire(r, *message);
  of_receiver(r, *message);
}

void LatencyBreakdown::of_queue_pair(const ProbeRecord& r) {
  switch (r.kind) {
    case ProbeKind::kDoorbellRung:
      return rung(r);
    case ProbeKind::kDoorbellArrived:
      return doorbell_arrived(r);
    case ProbeKind::kContextFetched:
      return context_fetched(r);
    case ProbeKind::kWqeFetchStart:
      if (QueuePair* qp = queue_pair(r); qp != nullptr) {
        qp->fetching = true;
        qp->fetch_begin = r.time;
      }
      return;
    case ProbeKind::kGoBack:
      for_each_message(queue_pair(r), [&](Message& message) {
        if (message.path.id().since(r.work_request) >= 0) message.again = true;
      });
      return;
    default:
      return;
  }
}

/// One doorbell for all that have been posted since the one before.
void LatencyBreakdown::rung(const ProbeRecord& r) {
  QueuePair* const qp = queue_pair(r);
  if (qp == nullptr) return;
  for (std::size_t i = qp->messages.size(); i-- != 0;) {
    Message& message = messages_.at(qp->messages[i]);
    if (std::exchange(message.rung, true)) return;
    message.path.spend(Stage::kPosting, at_ps(r.a));
    message.path.spend(Stage::kDoorbell, r.time);
  }
}

void LatencyBreakdown::doorbell_arrived(const ProbeRecord& r) {
  const std::optional<std::uint16_t> nic = w_.components[r.component].nic;
  QueuePair* const qp = nic ? queue_pair(*nic, static_cast<std::uint32_t>(r.a)) : nullptr;
  if (qp == nullptr) return;
  std::size_t first = qp->messages.size();
  while (first != 0 && !messages_.at(qp->messages[first - 1]).arrived) --first;
  for (std::size_t i = first; i != qp->messages.size(); ++i) {
    Message& message = messages_.at(qp->messages[i]);
    if (!message.rung || message.fetched) continue;
    message.arrived = true;
    message.behind = WorkRequestId(qp->messages[first]).index() - 1 != qp->last_fetched;
    message.path.wait(Stage::kDoorbell, r.time);
  }
}

/// Whoever missed it: all messages of the queue pair that wait for something wait for that.
void LatencyBreakdown::context_fetched(const ProbeRecord& r) {
  const std::optional<std::uint16_t> nic = w_.components[r.component].nic;
  QueuePair* qp = nullptr;
  if (r.work_request) {
    InOrder& of_nic = in_order_[nic.value()];
    std::deque<ContextMiss>& list = at_home(r) ? of_nic.answers : of_nic.requests;
    if (list.size() == kMostMissesOfNic) list.pop_front();
    list.push_back({at_ps(r.a), r.time});
    qp = queue_pair(r);
  } else if (nic) {
    qp = queue_pair(*nic, static_cast<std::uint32_t>(r.b));
  }
  for_each_message(qp, [&](Message& message) { message.path.missed_context(at_ps(r.a), r.time); });
}

/// Of what comes to the NIC of the record, as it is taken in order.
const std::deque<LatencyBreakdown::ContextMiss>& LatencyBreakdown::misses_before(
    const ProbeRecord& r) const {
  const InOrder& of_nic = in_order_[w_.components[r.component].nic.value()];
  return at_home(r) ? of_nic.answers : of_nic.requests;
}

/// A packet has come to the NIC of the record and was taken from its queue at `until`; the first
/// `queued` of that which were no miss go to rx_queue.
void LatencyBreakdown::wait_in_order(const ProbeRecord& r, MessagePath& path, Stage stage,
                                     Time until, Time queued) const {
  const std::deque<ContextMiss>& list = misses_before(r);
  const Time since = path.followed_until();
  const auto wait = [&](Time to) {
    const Time from = path.followed_until();
    const Time part = std::min(queued, to - from);
    if (part > Time()) {
      path.go_on(Stage::kRxQueue, from + part);
      queued = queued - part;
    }
    path.go_on(stage, to);
  };
  std::size_t first = list.size();
  while (first != 0 && list[first - 1].until > since) --first;
  for (; first != list.size(); ++first) {
    if (list[first].since >= until) continue;
    wait(list[first].since);
    path.go_on(Stage::kContextMiss, std::min(list[first].until, until));
  }
  wait(until);
}

/// The same of a packet whose way counts: it waited for as long as it would not have by itself.
void LatencyBreakdown::received(const ProbeRecord& r, MessagePath& path, Time until) const {
  Time passed = path.followed_until();
  Time queued = until - passed - w_.receive_time(*w_.components[r.component].nic, r.kind);
  for (const ContextMiss& miss : misses_before(r)) {
    const Time end = std::min(miss.until, until);
    if (end <= passed || miss.since >= until) continue;
    queued = queued - (end - std::max(miss.since, passed));
    passed = end;
  }
  wait_in_order(r, path, Stage::kRxPipeline, until, queued);
}

void LatencyBreakdown::of_sender(const ProbeRecord& r, Message& message) {
  PacketInMaking* const making = r.packet == 0 ? nullptr : message.path.making(r.packet);
  switch (r.kind) {
    case ProbeKind::kWqeFetched:
      return fetched(r, message);
    case ProbeKind::kTurn:
      return cut(r, message);
    case ProbeKind::kTranslated:
      if (making != nullptr)
        making->add(r.b != 0 ? Stage::kTranslationMiss : Stage::kOwnKey, r.time);
      return;
    case ProbeKind::kTranslationMissed:
    case ProbeKind::kPayloadReadStart: {
      if (at_home(r) && making == nullptr) return;
      const bool is_miss = r.kind == ProbeKind::kTranslationMissed;
      PacketInMaking& answer = making != nullptr ? *making : message.path.make(r.packet);
      if (making == nullptr) answer.answer = true;
      if (!answer.answer) return;
      answer.add(Stage::kTurn, is_miss ? at_ps(r.a) : r.time, true);
      if (is_miss) answer.add(Stage::kTranslationMiss, r.time);
      return;
    }
    case ProbeKind::kPayloadReadEnd:
      if (making != nullptr) making->add(Stage::kDmaRead, r.time);
      return;
    default:
      return;
  }
}

/// By DMA, or from the doorbell itself.
void LatencyBreakdown::fetched(const ProbeRecord& r, Message& message) {
  const QueuePair* qp = queue_pair(r);
  Stage before = message.behind ? Stage::kTurn : Stage::kDoorbell;
  if (message.fetched) before = Stage::kSentAgain;  // it had been forgotten
  if (qp->fetch_end == r.time) {
    message.path.wait(before, qp->fetch_begin);
    message.path.wait(Stage::kWqeFetch, r.time);
  } else {
    message.path.wait(before, r.time);
  }
  message.fetched = true;
  note_stopped(message);
}

void LatencyBreakdown::cut(const ProbeRecord& r, Message& message) {
  PacketInMaking& packet = message.path.make(r.packet);
  packet.priority = static_cast<std::uint8_t>(r.b & (kSentAgainBit - 1));
  packet.stopped = w_.stopped(r.work_request.nic(), packet.priority);
  const bool again = (r.b & kSentAgainBit) != 0 || message.again;
  packet.add(again ? Stage::kSentAgain : Stage::kTurn, r.time, true);
}

void LatencyBreakdown::of_wire(const ProbeRecord& r, Message& message) {
  switch (r.kind) {
    case ProbeKind::kPacketStarts:
      message.start = r;
      return;
    case ProbeKind::kPacketSent:
      return sent(r, message);
    case ProbeKind::kPacketForwarded:
      return forwarded(r, message);
    default:
      return;
  }
}

/// By a NIC. It follows at once upon kPacketStarts of the same packet.
void LatencyBreakdown::sent(const ProbeRecord& r, Message& message) {
  MessagePath& path = message.path;
  const Time ready = at_ps(message.start.a);
  const Time stopped = at_ps(message.start.b);
  const PacketInMaking* const packet = path.making(r.packet);
  if (packet != nullptr) {
    // The preamble says what the link's gap is: InfiniBand has neither.
    const Time preamble = at_ps(r.a) - message.start.time;
    MessagePath::Departure at{ready, message.start.time, stopped, r.time,
                              preamble * static_cast<std::int64_t>(kInterPacketGapBytes.count()) /
                                  static_cast<std::int64_t>(kPreambleBytes.count())};
    if (!packet->answer)
      at.stopped_while_waiting =
          std::max(Time(), packet->stopped - message.stopped[packet->priority]);
    path.depart(*packet, at);
    message.again = false;
    note_stopped(message);
    return;
  }
  if (message.acks != 0) {
    --message.acks;
    return;
  }
  const bool is_atomic = !path.is_acknowledged() && path.has_departed() && !at_home(r);
  if ((!path.is_acknowledged() && !is_atomic) || path.acknowledgement() != 0) return;
  path.set_acknowledgement(r.packet);
  path.go_on(is_atomic ? Stage::kDmaWrite : Stage::kAck, ready);
  path.go_on(Stage::kPause, ready + stopped);
  path.go_on(Stage::kAck, r.time);
}

void LatencyBreakdown::forwarded(const ProbeRecord& r, Message& message) {
  MessagePath& path = message.path;
  const bool is_ack = r.packet == path.acknowledgement();
  if (!is_ack && r.packet != path.packet()) return;
  const auto stage = [&](Stage of_data) { return is_ack ? Stage::kAck : of_data; };
  const Time ready = at_ps(message.start.a);
  path.go_on(stage(Stage::kPropagation), at_ps(r.a));
  path.go_on(stage(Stage::kSwitch), ready);
  path.go_on(Stage::kPause, ready + at_ps(message.start.b));
  path.go_on(Stage::kSwitchQueue, message.start.time);
  path.go_on(stage(Stage::kSerialisation), r.time);
}

void LatencyBreakdown::of_receiver(const ProbeRecord& r, Message& message) {
  MessagePath& path = message.path;
  if (r.kind == ProbeKind::kCqeWritten) return completed(r, message);
  if (!path.has_departed()) return;
  if (r.packet != 0 && r.packet == path.acknowledgement()) {
    if (r.kind == ProbeKind::kPacketReceived) path.go_on(Stage::kAck, r.time);
    if (r.kind == ProbeKind::kAckReceived || r.kind == ProbeKind::kAnswerReceived)
      wait_in_order(r, path, Stage::kAck, r.time);
    if (r.kind == ProbeKind::kPayloadWriteStart) {
      message.writes = true;
      path.go_on(Stage::kKeyCheck, r.time);
    }
    return;
  }
  if (r.packet != path.packet() || path.is_acknowledged()) {
    if (r.kind == ProbeKind::kAckSent) ++message.acks;
    return;
  }
  switch (r.kind) {
    case ProbeKind::kPacketReceived:
      return path.go_on(Stage::kPropagation, r.time);
    case ProbeKind::kKeyChecked:
    case ProbeKind::kTranslated:
      received(r, path, at_ps(r.a));
      return path.go_on(
          r.kind == ProbeKind::kTranslated && r.b != 0 ? Stage::kTranslationMiss : Stage::kKeyCheck,
          r.time);
    case ProbeKind::kAnswerReceived:
      return received(r, path, r.time);
    case ProbeKind::kTranslationMissed:
      path.go_on(Stage::kKeyCheck, at_ps(r.a));
      return path.go_on(Stage::kTranslationMiss, r.time);
    case ProbeKind::kPayloadWriteStart:
      message.writes = path.is_answer();
      return path.go_on(Stage::kKeyCheck, r.time);
    case ProbeKind::kPayloadHanded:
      return path.go_on(Stage::kDmaWrite, r.time);
    case ProbeKind::kAckSent:
      return path.acknowledge(r.time);
    default:
      return;
  }
}

/// Else it is done with what has happened at home.
bool LatencyBreakdown::waits_for_answer(const ProbeRecord& r, const Message& message) {
  const MessagePath& path = message.path;
  if (path.is_answer() || path.acknowledgement() != 0) return true;
  const QueuePair* qp = queue_pair(r);
  return qp != nullptr && qp->is_acknowledged && path.has_departed();
}

/// The entry of the requester's side.
void LatencyBreakdown::completed(const ProbeRecord& r, Message& message) {
  if (!at_home(r)) return;
  MessagePath& path = message.path;
  const Time begin = at_ps(r.a);
  Stage before = Stage::kCqe;
  if (waits_for_answer(r, message)) {
    path.arrive(begin);
    if (message.writes)
      before = Stage::kDmaWrite;
    else if (!path.is_answer() && path.acknowledgement() == 0)
      before = Stage::kAck;
  } else {
    path.stay_home(begin);
    if (path.has_begun()) before = Stage::kTxPipeline;
  }
  path.wait(before, begin);
  path.wait(Stage::kCqe, r.time);
}

/// By the program that posted. Those before it that have no entry of their own are done with it.
void LatencyBreakdown::polled(const ProbeRecord& r) {
  if (!of_home_host(r)) return;
  const bool success = static_cast<CompletionStatus>(r.a) == CompletionStatus::kSuccess;
  QueuePair* qp = queue_pair(r);
  while (qp != nullptr && !qp->messages.empty()) {
    const WorkRequestId id(qp->messages.front());
    if (id.since(r.work_request) > 0) return;
    Message& message = messages_.at(id.value());
    if (success && waits_for_answer(r, message)) message.path.arrive(r.time);
    if (success) finish(message, r.time);
    forget(id);
  }
}

void LatencyBreakdown::finish(Message& message, Time now) {
  MessagePath& path = message.path;
  path.spend(Stage::kPolling, now);
  if (path.cursor() != now)
    throw InvariantBroken("latency_breakdown", now, "a message did not end when it was over");
  samples_[message.workload].add(message.nth, path.times());
  if (!path.times().pieces.empty()) shown_[message.workload].push_back(path.times());
}

void LatencyBreakdown::forget(WorkRequestId id) {
  if (messages_.erase(id.value()) == 0) return;
  std::vector<std::uint64_t>& list =
      queue_pairs_[queue_pair_key(id.nic(), id.qpn().value())].messages;
  list.erase(std::find(list.begin(), list.end(), id.value()));
}

std::vector<WorkloadLatency> LatencyBreakdown::take() const {
  std::vector<WorkloadLatency> all;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    WorkloadLatency latency = samples_[i].result(w_.workloads[i]);
    if (latency.messages == 0) continue;
    latency.shown = shown_[i];
    all.push_back(std::move(latency));
  }
  return all;
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "nic/request_judge.h"

#include <algorithm>
#include <utility>

#include "nic/completer.h"
#include "nic/request_check.h"

namespace rnicsim {

bool RequestJudge::judge(InboundRequest& request) {
  const Bth& bth = request.packet->bth;
  const Qpn qpn = bth.dest_qp;
  request.verdict = Verdict::kDrop;
  if (!w_.contexts.in_range(qpn.value())) return true;
  abi::QpContext* context = w_.contexts.lookup(qpn.value(), w_.judge, request.packet->work_request);
  if (context == nullptr) return false;
  if (!receives(context->state) || bth.transport != wire_transport(context->transport)) return true;
  NicQueuePair& qp = w_.qps.at(qpn);
  switch (context->transport) {
    case Transport::kRc:
      return judge_reliable(request, qp, *context);
    case Transport::kUc:
      return judge_unreliable(request, qp, *context);
    case Transport::kUd:
      break;
  }
  return judge_datagram(request, qp, *context);
}

bool RequestJudge::judge_reliable(InboundRequest& request, NicQueuePair& qp,
                                  abi::QpContext& context) {
  const Packet& packet = *request.packet;
  request.verdict = request.again ? Verdict::kRead : Verdict::kTake;
  if (!request.check_begun) {
    if (!judge_sequence(request, qp, context)) return true;
    request.again = request.verdict == Verdict::kRead;
  }
  if (request.check_begun && is_send(packet.bth.opcode) && qp.receive == 0) {
    request.verdict = Verdict::kDrop;  // the queue pair was reset while a page was looked up
    return true;
  }
  if (!request.check_begun && !request.again) {
    if (!well_formed(packet, qp, context) || !has_resources(packet, qp, context, false)) {
      w_.messages.fail(request, qp, CompletionStatus::kFlushed);
      refuse(request, qp, context, NakCode::kInvalidRequest);
      return true;
    }
    switch (w_.messages.claim(request, qp, context)) {
      case ReceiveQueues::Taken::kReady:
        break;
      case ReceiveQueues::Taken::kWait:
        return false;
      case ReceiveQueues::Taken::kEmpty:
        answer_not_ready(request, qp, context);
        return true;
    }
    if (is_send(packet.bth.opcode) && !w_.messages.fits(packet, qp)) {
      w_.messages.fail(request, qp, CompletionStatus::kLocalLengthError);
      refuse(request, qp, context, NakCode::kInvalidRequest);
      return true;
    }
  }
  if (is_atomic(packet.bth.opcode) && atomics_claimed_ >= w_.atomics.capacity()) return false;
  if (!judge_key(request, qp, context)) return false;
  if (request.check.state == KeyCheck::State::kNak) {
    // A WRITE with immediate data that has taken a receive (IBTA 11.6.2).
    w_.messages.fail(request, qp, CompletionStatus::kLocalAccessError);
    refuse(request, qp, context, NakCode::kRemoteAccessError);
  } else if (request.check.absent) {
    ++absent_;
    answer_not_ready(request, qp, context);
  } else if (request.verdict == Verdict::kTake) {
    accept(request, qp, context);
  }
  return true;
}

/// The requester comes again after the time that the NAK names.
void RequestJudge::answer_not_ready(InboundRequest& request, NicQueuePair& qp,
                                    const abi::QpContext& context) {
  request.verdict = Verdict::kNak;
  request.ack_psn = request.packet->bth.psn;
  request.aeth = Aeth::rnr_nak(context.msn, context.min_rnr_timer);
  qp.nak_sent = true;
  if (w_.early != nullptr) w_.early->drop(qp.early_requests);
}

/// PSN check (IBTA 9.7.4.1.2). False: decided without looking further.
bool RequestJudge::judge_sequence(InboundRequest& request, NicQueuePair& qp,
                                  abi::QpContext& context) {
  const std::int32_t ahead = request.packet->bth.psn - context.expected_psn;
  if (ahead == 0) {
    qp.nak_sent = false;
    return true;
  }
  if (ahead < 0) {
    judge_duplicate(request, qp, context);
    return request.verdict == Verdict::kRead;
  }
  judge_gap(request, qp, context);
  return false;
}

void RequestJudge::judge_duplicate(InboundRequest& request, NicQueuePair& qp,
                                   abi::QpContext& context) {
  const Packet& packet = *request.packet;
  ++duplicates_;
  request.verdict = Verdict::kAcknowledge;
  request.ack_psn = context.expected_psn + Psn::kMask;  // the last one received: expected - 1
  request.aeth = Aeth::ack(context.msn);
  if (is_read(packet.bth.opcode)) {
    // Answered again, wholly from before what is expected.
    const std::uint32_t span = read_span(packet, context.path_mtu());
    const bool whole = packet.bth.psn + span - context.expected_psn <= 0;
    request.verdict =
        whole && may_answer_again(packet, qp, context) ? Verdict::kRead : Verdict::kDrop;
  } else if (is_atomic(packet.bth.opcode)) {
    request.verdict = Verdict::kDrop;
    for (std::size_t i = 0; i < qp.atomics.size(); ++i) {
      if (qp.atomics.at(i).psn != packet.bth.psn || !qp.atomics.at(i).known) continue;
      request.verdict = Verdict::kAgain;
      request.original = qp.atomics.at(i).original;
    }
  }
}

bool RequestJudge::may_answer_again(const Packet& packet, const NicQueuePair& qp,
                                    const abi::QpContext& context) const {
  return w_.early != nullptr ? qp.owed.size() < w_.early->window()
                             : has_resources(packet, qp, context, true);
}

void RequestJudge::judge_gap(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context) {
  ++out_of_sequence_;
  if (w_.early != nullptr) {
    judge_early(request, qp, context);
    return;
  }
  request.verdict = qp.nak_sent ? Verdict::kDrop : Verdict::kNak;
  if (!qp.nak_sent && w_.restarts_messages && qp.receiving) {
    context.expected_psn = qp.receive_first_psn;
    w_.contexts.mark_dirty(qp.qpn.value());
    qp.receiving = false;
  }
  request.ack_psn = context.expected_psn;
  request.aeth = Aeth::nak(context.msn, NakCode::kPsnSequenceError);
  qp.nak_sent = true;
}

void RequestJudge::judge_early(InboundRequest& request, NicQueuePair& qp,
                               const abi::QpContext& context) {
  request.verdict = Verdict::kDrop;
  if (qp.nak_sent) return;  // an RNR NAK: the requester goes back to it
  const Packet& packet = *request.packet;
  const std::uint32_t span = is_read(packet.bth.opcode) ? read_span(packet, context.path_mtu()) : 1;
  if (w_.early->hold(qp.early_requests, context.expected_psn, request.packet, span,
                     request.missing))
    request.verdict = Verdict::kKept;
}

/// An unreliable connection loses messages silently (IBTA 9.8.2): a gap ends the present one, and
/// so does the first packet of another, with which the next begins.
bool RequestJudge::judge_unreliable(InboundRequest& request, NicQueuePair& qp,
                                    abi::QpContext& context) {
  const Packet& packet = *request.packet;
  const Opcode opcode = packet.bth.opcode;
  request.verdict = Verdict::kDrop;
  if (!request.check_begun) {
    if (packet.bth.psn != context.expected_psn) {
      ++out_of_sequence_;
      context.expected_psn = packet.bth.psn;
      qp.receiving = false;
    }
    if (starts_message(opcode)) qp.receiving = false;
    const bool usable = is_defined(WireTransport::kUc, opcode) && well_formed(packet, qp, context);
    const auto taken =
        usable ? w_.messages.claim(request, qp, context) : ReceiveQueues::Taken::kEmpty;
    if (taken == ReceiveQueues::Taken::kWait) return false;
    if (taken == ReceiveQueues::Taken::kEmpty ||
        (is_send(opcode) && !w_.messages.fits(packet, qp))) {
      ++context.expected_psn;
      w_.contexts.mark_dirty(qp.qpn.value());
      qp.receiving = false;
      return true;
    }
  }
  if (!judge_key(request, qp, context)) return false;
  if (request.check.state == KeyCheck::State::kNak) {
    ++context.expected_psn;
    w_.contexts.mark_dirty(qp.qpn.value());
    qp.receiving = false;
    return true;
  }
  request.verdict = Verdict::kTake;
  accept(request, qp, context);
  return true;
}

/// A datagram (IBTA 9.8.3): qkey, a receive with room for GRH and payload; else it is dropped.
bool RequestJudge::judge_datagram(InboundRequest& request, NicQueuePair& qp,
                                  abi::QpContext& context) {
  const Packet& packet = *request.packet;
  if (!is_defined(WireTransport::kUd, packet.bth.opcode) || packet.deth.q_key != context.qkey ||
      packet.payload_length.count() > context.path_mtu())
    return true;
  const auto taken = w_.messages.claim(request, qp, context);
  if (taken == ReceiveQueues::Taken::kWait) return false;
  if (taken == ReceiveQueues::Taken::kEmpty) return true;
  if (!w_.messages.fits_datagram(packet, qp)) {
    w_.messages.fail(request, qp, CompletionStatus::kLocalLengthError);
    return true;
  }
  request.verdict = Verdict::kTake;
  w_.messages.take_datagram(request, qp, context);
  return true;
}

/// The rkey over the whole message at its first packet; later packets only translate. False: an
/// entry has to be fetched first.
bool RequestJudge::judge_key(InboundRequest& request, const NicQueuePair& qp,
                             const abi::QpContext& context) {
  const Packet& packet = *request.packet;
  const Opcode opcode = packet.bth.opcode;
  if (is_send(opcode)) return judge_receive(request, qp, context);
  if (!request.check_begun) begin_check(request, qp, context);
  // A zero-length request touches no memory and is not checked (IBTA 9.7.4.1.5).
  if (begins(opcode) && !is_atomic(opcode) && packet.reth.dma_length == 0) {
    request.check.state = KeyCheck::State::kPass;
    return true;
  }
  return w_.key_checker.run(request.check, KeyCheck::State::kTranslate, w_.judge) &&
         judge_page(request, qp, context);
}

/// Of a region paged on demand: is the page there? If not, it is asked for.
bool RequestJudge::judge_page(InboundRequest& request, const NicQueuePair& qp,
                              const abi::QpContext& context) {
  KeyCheck& check = request.check;
  const Packet& packet = *request.packet;
  const Opcode opcode = packet.bth.opcode;
  const bool on_demand =
      begins(opcode) ? check.entry.access.allows(AccessFlags::kOnDemand) : qp.receive_on_demand;
  if (!on_demand || check.decided() || request.again || context.transport != Transport::kRc)
    return true;
  std::uint64_t left = qp.receive_left;
  if (begins(opcode)) left = is_atomic(opcode) ? AtomicUnit::kBytes : packet.reth.dma_length;
  if (is_read(opcode))
    check.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, context.path_mtu()));
  if (!w_.key_checker.run(check, KeyCheck::State::kPass, w_.judge)) return false;
  if (check.absent) w_.key_checker.wait_for_page(check, left - check.length, {});
  return true;
}

/// The same of the receive that a SEND goes to, part by part. What else is wrong with a receive's
/// memory is found when it is written.
bool RequestJudge::judge_receive(InboundRequest& request, const NicQueuePair& qp,
                                 const abi::QpContext& context) {
  const Packet& packet = *request.packet;
  if (!w_.key_checker.page_faults().in_use() || context.transport != Transport::kRc ||
      w_.messages.is_inlined(packet, context))
    return true;
  KeyCheck& check = request.check;
  request.check_begun = true;
  while (request.looked_up < packet.payload_length.count()) {
    if (!std::exchange(request.part_begun, true)) {
      const Cycles spent = check.cycles;
      check = KeyCheck{};
      check.cycles = spent;
      check.not_before = w_.key_checker.enter(std::max(request.ready, w_.scheduler.now()));
      check.work_request = packet.work_request;
      check.pd = context.pd;
      w_.messages.aim(check, packet, qp, request.looked_up);
    }
    if (!w_.key_checker.run(check, KeyCheck::State::kPass, w_.judge)) return false;
    if (check.absent) {
      w_.key_checker.wait_for_page(check, check.behind(), {});
      return true;
    }
    request.looked_up += check.length;
    request.part_begun = false;
  }
  check.state = KeyCheck::State::kPass;
  return true;
}

void RequestJudge::begin_check(InboundRequest& request, const NicQueuePair& qp,
                               const abi::QpContext& context) {
  const Packet& packet = *request.packet;
  const Opcode opcode = packet.bth.opcode;
  KeyCheck& check = request.check;
  request.check_begun = true;
  check.not_before = w_.key_checker.enter(request.ready);
  request.key_since = request.ready;
  check.work_request = packet.work_request;
  check.length = is_atomic(opcode) ? AtomicUnit::kBytes
                                   : static_cast<std::uint32_t>(packet.payload_length.count());
  check.pd = context.pd;
  check.qpn = qp.qpn;
  if (begins(opcode)) {
    check.key = packet.reth.r_key;
    check.region_address = packet.reth.virtual_address;
    check.region_length = is_atomic(opcode) ? AtomicUnit::kBytes : packet.reth.dma_length;
    check.needs = right_for(opcode);
    check.qp_allows = context.access.allows(check.needs);
    check.address = packet.reth.virtual_address;
  } else {
    check.key = qp.receive_key;
    check.address = qp.receive_address;
    check.state = KeyCheck::State::kTranslate;
  }
}

/// The packet is in order and allowed: moves the queue pair's receive state past it.
void RequestJudge::accept(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context) {
  const Packet& packet = *request.packet;
  const Opcode opcode = packet.bth.opcode;
  request.ack_psn = packet.bth.psn;
  if (is_read(opcode)) {
    request.verdict = Verdict::kRead;
    context.expected_psn = context.expected_psn + read_span(packet, context.path_mtu());
    context.msn = (context.msn + 1) & Psn::kMask;
    ++reads_;
  } else if (is_atomic(opcode)) {
    request.verdict = Verdict::kAtomic;
    ++context.expected_psn;
    context.msn = (context.msn + 1) & Psn::kMask;
    ++atomics_;
    ++atomics_claimed_;
    if (qp.atomics.size() >= context.max_dest_rd_atomic && !qp.atomics.empty()) qp.atomics.pop();
    qp.atomics.push({packet.bth.psn, 0, false});
  } else {
    w_.messages.take(request, qp, context);
  }
  w_.contexts.mark_dirty(qp.qpn.value());
  request.aeth = Aeth::ack(context.msn);
}

void RequestJudge::refuse(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context,
                          NakCode code) {
  request.verdict = Verdict::kNak;
  request.ack_psn = request.packet->bth.psn;
  request.aeth = Aeth::nak(context.msn, code);
  request.fault = request.check.fault;
  w_.probe(std::max(request.ready, w_.scheduler.now()), ProbeKind::kKeyChecked,
           request.packet->work_request, request.packet->id,
           static_cast<std::uint64_t>(request.key_since.ps()),
           static_cast<std::uint64_t>(request.fault));
  completer_->enter_error(qp, context,
                          code == NakCode::kRemoteAccessError
                              ? CompletionStatus::kLocalAccessError
                              : CompletionStatus::kRemoteInvalidRequest);
}

void RequestJudge::report(const MetricScope& scope) const {
  scope.count("absent", absent_, "requests answered with RNR NAK because a page was absent");
  scope.count("rx_read_requests", reads_, "READs accepted");
  scope.count("rx_atomic_requests", atomics_, "atomics accepted");
  scope.count("duplicate_request", duplicates_, "requests received again");
  scope.count("out_of_sequence", out_of_sequence_, "requests whose PSN was ahead");
}

}  // namespace rnicsim

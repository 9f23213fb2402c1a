// SPDX-License-Identifier: MIT
#include "nic/early_answers.h"

#include <utility>

#include "nic/mac_rx.h"
#include "nic/retransmitter.h"

namespace rnicsim {

namespace {

/// Everything before is acknowledged.
Psn limit_of(const Packet& acknowledge) {
  return acknowledge.bth.psn + (acknowledge.aeth.is_ack() ? 1 : 0);
}

const OutstandingRead* first_unanswered(const NicQueuePair& qp) {
  for (std::size_t i = 0; i < qp.reads.size(); ++i)
    if (!qp.reads.at(i).answered) return &qp.reads.at(i);
  return nullptr;
}

}  // namespace

Psn EarlyAnswers::first_missing(const NicQueuePair& qp) { return first_unanswered(qp)->next_psn; }

EarlyAnswers::Order EarlyAnswers::judge(NicQueuePair& qp, const PacketRef& packet) {
  return packet->bth.opcode == Opcode::kAcknowledge ? judge_acknowledge(qp, packet)
                                                    : judge_answer(qp, packet);
}

EarlyAnswers::Order EarlyAnswers::judge_acknowledge(NicQueuePair& qp, const PacketRef& packet) {
  if (names_missing(packet->aeth)) return Order::kDue;  // acknowledges nothing
  const Psn limit = limit_of(*packet);
  const OutstandingRead* read = first_unanswered(qp);
  if (read == nullptr || read->next_psn - limit >= 0) return Order::kDue;
  ask_again(qp, buffer_.reveal(qp.early_answers, read->next_psn, limit));
  if (qp.early_acknowledge) {
    if (limit_of(*qp.early_acknowledge) - limit > 0) return Order::kUseless;
    mac_rx_->release(*qp.early_acknowledge);
  }
  qp.early_acknowledge = packet;
  return Order::kKept;
}

EarlyAnswers::Order EarlyAnswers::judge_answer(NicQueuePair& qp, const PacketRef& packet) {
  const Psn psn = packet->bth.psn;
  const OutstandingRead* read = first_unanswered(qp);
  if (read == nullptr || psn - read->next_psn < 0) return Order::kUseless;
  if (psn == read->next_psn) return Order::kDue;
  bool asked_for = false;
  for (std::size_t i = 0; i < qp.reads.size() && !asked_for; ++i)
    asked_for = psn - qp.reads.at(i).next_psn >= 0 && psn - qp.reads.at(i).last_psn <= 0;
  if (!asked_for) return Order::kUseless;
  Hole hole;
  const bool kept = buffer_.hold(qp.early_answers, read->next_psn, packet, 1, hole);
  ask_again(qp, hole);
  return kept ? Order::kKept : Order::kUseless;
}

/// PSNs of requests without an answer lie between those of answers.
void EarlyAnswers::ask_again(NicQueuePair& qp, const Hole& hole) {
  const Psn end = hole.first + hole.count;
  for (std::size_t i = 0; i < qp.reads.size(); ++i) {
    const OutstandingRead& read = qp.reads.at(i);
    const Psn from = read.next_psn - hole.first > 0 ? read.next_psn : hole.first;
    const Psn to = read.last_psn + 1 - end < 0 ? read.last_psn + 1 : end;
    if (read.answered || to - from <= 0) continue;
    ++lost_;
    retransmitter_->answers_missing(qp, {from, static_cast<std::uint32_t>(to - from)});
  }
}

PacketRef EarlyAnswers::next(NicQueuePair& qp) {
  const OutstandingRead* read = first_unanswered(qp);
  if (read != nullptr) {
    PacketRef answer = buffer_.take(qp.early_answers, read->next_psn);
    if (answer) return answer;
  } else {
    buffer_.drop(qp.early_answers);
  }
  if (!qp.early_acknowledge) return {};
  if (read != nullptr && read->next_psn - limit_of(*qp.early_acknowledge) < 0) return {};
  return std::move(qp.early_acknowledge);
}

void EarlyAnswers::forget(NicQueuePair& qp) {
  buffer_.drop(qp.early_answers);
  if (!qp.early_acknowledge) return;
  mac_rx_->release(*qp.early_acknowledge);
  qp.early_acknowledge.reset();
}

}  // namespace rnicsim

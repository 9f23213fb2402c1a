// SPDX-License-Identifier: MIT
#include "nic/repeater.h"

#include <algorithm>
#include <utility>

#include "nic/completer.h"
#include "nic/requester.h"

namespace rnicsim {

bool Repeater::want(NicQueuePair& qp, Psn psn, std::uint32_t count) {
  if (qp.repeats == nullptr) qp.repeats = std::make_unique<Repeats>();
  Ring<Repeats::Range>& wanted = qp.repeats->wanted;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted.at(i).psn == psn) return false;
  wanted.push({psn, count});
  if (wanted.size() == 1) next(qp.qpn.value());
  return true;
}

bool Repeater::is_needed(NicQueuePair& qp, const Repeats::Range& range,
                         const OutstandingMessage& message) {
  if (message.local_error != CompletionStatus::kSuccess) return false;
  if (!message.has_answer()) return range.psn - qp.acked >= 0;
  const OutstandingRead* read = qp.find_read(message.id);
  return read != nullptr && range.psn + range.count - read->next_psn > 0;
}

/// Finds the message of the first one that is still needed. False: none is.
bool Repeater::find_wanted(NicQueuePair& qp, OutstandingMessage& message) {
  Ring<Repeats::Range>& wanted = qp.repeats->wanted;
  for (; !wanted.empty(); wanted.pop()) {
    const Repeats::Range& range = wanted.front();
    if (qp.find_message(range.psn, message) && is_needed(qp, range, message)) return true;
    ++left_out_;
  }
  return false;
}

void Repeater::next(std::uint64_t qpn) {
  const auto index = static_cast<std::uint32_t>(qpn);
  NicQueuePair& qp = qps_.at(Qpn(index));
  if (qp.repeats == nullptr || qp.repeats->fetching != 0 || qp.repeat_ready) return;
  OutstandingMessage message;
  if (!find_wanted(qp, message)) return;
  if (qp.repeats->here && qp.repeats->wqe.id == message.id) {
    qp.repeat_ready = true;
    requester_->ready(qp);
    return;
  }
  if (qp.repeats->here && qp.repeats->wqe.gathering != 0) return;
  const abi::QpContext* context = contexts_.lookup(index, call<&Repeater::next>(this, qpn));
  if (context != nullptr && sends(context->state)) fetch(qp, *context, message);
}

void Repeater::fetch(NicQueuePair& qp, const abi::QpContext& context,
                     const OutstandingMessage& message) {
  Repeats& repeats = *qp.repeats;
  repeats.here = false;
  repeats.message = message;
  ++fetches_;
  const std::uint32_t ring = 1u << context.log_send_blocks;
  const std::uint32_t first = message.wqe_index & (ring - 1);
  const std::uint32_t blocks = message.wqe_blocks;
  const std::uint32_t head = std::min(blocks, ring - first);
  for (std::uint32_t done = 0, part = head; done < blocks; done += part, part = blocks - done) {
    DmaRequest request;
    request.engine = DmaEngineId::kQueueRead;
    request.purpose = DmaPurpose::kSendQueue;
    request.address =
        PhysicalAddress(context.send_ring.value() +
                        std::uint64_t{(first + done) & (ring - 1)} * abi::kWqeBlockBytes);
    request.bytes = part * abi::kWqeBlockBytes;
    request.data = repeats.bytes.data() + done * abi::kWqeBlockBytes;
    request.work_request = message.id;
    request.done = call<&Repeater::fetched>(this, qp.qpn.value());
    ++repeats.fetching;
    pcie_.submit(request);
  }
}

void Repeater::fetched(std::uint64_t qpn) {
  NicQueuePair& qp = qps_.at(Qpn(static_cast<std::uint32_t>(qpn)));
  if (--qp.repeats->fetching != 0) return;
  if (!std::exchange(qp.repeats->fetch_void, false)) decode(qp);
  next(qpn);
}

/// Takes the WQE apart that was fetched. If it is not what was sent its message fails.
void Repeater::decode(NicQueuePair& qp) {
  Repeats& repeats = *qp.repeats;
  const OutstandingMessage& message = repeats.message;
  const auto control = abi::ControlSegment::read(repeats.bytes.data());
  SendWqe wqe = SendWqe::decode(repeats.bytes.data(), control, false);
  const bool same = control.qpn == qp.qpn && control.wqe_index == message.wqe_index &&
                    control.blocks() == message.wqe_blocks && wqe.opcode == message.opcode &&
                    wqe.length == message.bytes && !wqe.malformed;
  if (!same) {
    completer_->message_failed(qp, message.id, CompletionStatus::kLocalQpOperationError);
    return;
  }
  wqe.id = message.id;
  wqe.blocks = message.wqe_blocks;
  repeats.wqe = wqe;
  repeats.here = true;
}

bool Repeater::take(NicQueuePair& qp, Repeats::Range& range) {
  qp.repeat_ready = false;
  OutstandingMessage message;
  if (!find_wanted(qp, message) || !qp.repeats->here || qp.repeats->wqe.id != message.id)
    return false;
  range = qp.repeats->wanted.take();
  ++packets_;
  return true;
}

void Repeater::report(const MetricScope& scope) const {
  scope.count("packets", packets_, "packets sent again alone");
  scope.count("fetches", fetches_, "WQEs read from the send queue for them");
  scope.count("left_out", left_out_, "packets acknowledged before their turn came");
}

}  // namespace rnicsim

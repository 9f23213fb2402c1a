// SPDX-License-Identifier: MIT
#include "nic/message_receiver.h"

#include <algorithm>

#include "nic/dma_engine.h"
#include "nic/request_check.h"

namespace rnicsim {

ReceiveQueues::Taken MessageReceiver::claim(InboundRequest& request, NicQueuePair& qp,
                                            abi::QpContext& context) {
  if (!needs_receive(request.packet->bth.opcode) || qp.receive != 0)
    return ReceiveQueues::Taken::kReady;
  Receive receive;
  const auto taken = w_.queues.take(qp, context, receive, w_.judge);
  if (taken != ReceiveQueues::Taken::kReady) return taken;
  w_.contexts.mark_dirty(qp.qpn.value());
  qp.receive = w_.pool.add(receive);
  request.ready = std::max(request.ready, receive.ready);
  return taken;
}

bool MessageReceiver::fits(const Packet& packet, const NicQueuePair& qp) const {
  const std::uint64_t before = starts_message(packet.bth.opcode) ? 0 : qp.received;
  return before + packet.payload_length.count() <= w_.pool.at(qp.receive).capacity;
}

void MessageReceiver::aim(KeyCheck& check, const Packet& packet, const NicQueuePair& qp,
                          std::uint32_t done) const {
  const std::uint64_t before = starts_message(packet.bth.opcode) ? 0 : qp.received;
  const auto length = static_cast<std::uint32_t>(packet.payload_length.count());
  DmaEngine::aim(check, w_.pool.at(qp.receive).segments.data(), before + done, length - done);
  check.needs = AccessFlags::kLocalWrite;
}

bool MessageReceiver::is_inlined(const Packet& packet, const abi::QpContext& context) const {
  const std::uint64_t before = packet.bth.transport == WireTransport::kUd ? kGrhBytes : 0;
  return (context.flags & abi::QpContext::kInlineReceive) != 0 && !w_.elided &&
         starts_message(packet.bth.opcode) && ends_message(packet.bth.opcode) &&
         before + packet.payload_length.count() <= abi::Cqe::kInlineBytes;
}

bool MessageReceiver::fits_datagram(const Packet& packet, const NicQueuePair& qp) const {
  return packet.payload_length.count() + kGrhBytes <= w_.pool.at(qp.receive).capacity;
}

void MessageReceiver::take(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context) {
  const Packet& packet = *request.packet;
  const Opcode opcode = packet.bth.opcode;
  const std::uint64_t length = packet.payload_length.count();
  if (starts_message(opcode)) {
    qp.received = 0;
    qp.receive_first_psn = packet.bth.psn;
    qp.receiving_send = is_send(opcode);
    qp.receive_key = packet.reth.r_key;
    qp.receive_on_demand = request.check.entry.access.allows(AccessFlags::kOnDemand);
    qp.receive_address = packet.reth.virtual_address;
    qp.receive_left = packet.reth.dma_length;
  }
  if (is_send(opcode)) {
    request.receive = w_.pool.share(qp.receive);
    request.offset = qp.received;
  }
  qp.received += length;
  qp.receive_address = VirtualAddress(qp.receive_address.value() + length);
  qp.receive_left -= length;
  qp.receiving = !ends_message(opcode);
  ++context.expected_psn;
  if (qp.receiving) return;
  context.msn = (context.msn + 1) & Psn::kMask;
  ++messages_;
  if (is_send(opcode) || has_immediate(opcode)) owe_completion(request, qp, context);
}

void MessageReceiver::take_datagram(InboundRequest& request, NicQueuePair& qp,
                                    const abi::QpContext& context) {
  const Packet& packet = *request.packet;
  request.receive = w_.pool.share(qp.receive);
  qp.received = packet.payload_length.count() + kGrhBytes;
  ++messages_;
  owe_completion(request, qp, context);
  request.cqe.source_qpn = packet.deth.source_qp;
  if (packet.link_layer != LinkLayer::kInfiniBand) request.cqe.flags |= abi::Cqe::kGrh;
}

/// The message is whole: its receive completes when its data have been handed to PCIe.
void MessageReceiver::owe_completion(InboundRequest& request, NicQueuePair& qp,
                                     const abi::QpContext& context) {
  const Packet& packet = *request.packet;
  const Opcode opcode = packet.bth.opcode;
  abi::Cqe& cqe = request.cqe;
  request.cqe_due = true;
  cqe.status = CompletionStatus::kSuccess;
  cqe.qpn = qp.qpn;
  cqe.wqe_counter = w_.pool.at(qp.receive).counter;
  cqe.immediate = packet.immdt.immediate;
  if (!is_send(opcode)) {
    cqe.opcode = abi::CqeOpcode::kResponseWriteImm;
    cqe.byte_count = static_cast<std::uint32_t>(qp.received);
  } else {
    cqe.opcode = has_immediate(opcode) ? abi::CqeOpcode::kResponseSendImm
                 : has_ieth(opcode)    ? abi::CqeOpcode::kResponseSendInvalidate
                                       : abi::CqeOpcode::kResponseSend;
    if (has_ieth(opcode)) {
      cqe.immediate = packet.ieth.r_key.value();
      request.invalidates = true;
    }
    cqe.byte_count = static_cast<std::uint32_t>(qp.received);
    if (is_inlined(packet, context)) {
      cqe.flags |= abi::Cqe::kInlineData;
      std::copy_n(packet.payload(), qp.received, cqe.inline_data.begin());
    }
  }
  w_.pool.drop(qp.receive);
}

void MessageReceiver::fail(InboundRequest& request, NicQueuePair& qp, CompletionStatus status) {
  if (qp.receive == 0) return;
  request.cqe_due = true;
  request.cqe.opcode = abi::CqeOpcode::kResponseError;
  request.cqe.status = status;
  request.cqe.qpn = qp.qpn;
  request.cqe.wqe_counter = w_.pool.at(qp.receive).counter;
  w_.pool.drop(qp.receive);
}

void MessageReceiver::report(const MetricScope& scope) const {
  scope.count("messages", messages_, "messages received whole");
}

}  // namespace rnicsim

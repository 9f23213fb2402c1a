// SPDX-License-Identifier: MIT
#include "nic/queue_pair.h"

#include <algorithm>

namespace rnicsim {

namespace {

bool has_remote_address(abi::WqeOpcode opcode) {
  return opcode == abi::WqeOpcode::kRdmaWrite || opcode == abi::WqeOpcode::kRdmaWriteImm ||
         is_read(opcode) || is_atomic(opcode);
}

}  // namespace

SendWqe SendWqe::decode(const std::uint8_t* wqe, const abi::ControlSegment& control,
                        bool datagram) {
  SendWqe out;
  out.block = control.wqe_index;
  out.blocks = static_cast<std::uint16_t>(control.blocks());
  out.opcode = control.opcode;
  out.signaled = (control.flags & abi::ControlSegment::kSignaled) != 0;
  out.solicited = (control.flags & abi::ControlSegment::kSolicited) != 0;
  out.fence = (control.flags & abi::ControlSegment::kFence) != 0;
  out.immediate = control.immediate;
  const std::uint32_t end =
      std::min<std::uint32_t>(control.segments * abi::kSegmentBytes, abi::kMaxWqeBytes);
  std::uint32_t at = abi::kSegmentBytes;
  // `wqe` has room for the longest entry, so what a short one lacks is read and then refused.
  if (datagram) {
    out.datagram = abi::DatagramSegment::read(wqe + at);
    at += abi::DatagramSegment::kBytes;
  }
  if (has_remote_address(out.opcode)) {
    out.remote = abi::RemoteAddressSegment::read(wqe + at);
    at += abi::kSegmentBytes;
  }
  if (is_atomic(out.opcode)) {
    out.atomic = abi::AtomicSegment::read(wqe + at);
    at += abi::kSegmentBytes;
  }
  if (out.opcode == abi::WqeOpcode::kBindWindow) {
    out.bind = abi::BindSegment::read(wqe + at);
    at += abi::BindSegment::kBytes;
  }
  out.malformed = at > end;
  while (at < end) {
    if (abi::InlineSegment::is_inline(wqe + at)) {
      const abi::InlineSegment segment = abi::InlineSegment::read(wqe + at);
      // Inline data stand alone: a WQE that mixes them with gathered segments is malformed.
      if (out.segment_count != 0 ||
          at + abi::InlineSegment::kHeaderBytes + segment.byte_count > end)
        out.malformed = true;
      out.inline_at = static_cast<std::uint16_t>(at + abi::InlineSegment::kHeaderBytes);
      out.inline_bytes = static_cast<std::uint16_t>(segment.byte_count);
      out.length = segment.byte_count;
      return out;
    }
    if (out.segment_count == kMaxSegments) {
      out.malformed = true;
      return out;
    }
    const abi::DataSegment segment = abi::DataSegment::read(wqe + at);
    out.segments[out.segment_count++] = segment;
    out.length += segment.byte_count;
    at += abi::kSegmentBytes;
  }
  return out;
}

OutstandingRead* NicQueuePair::find_read(WorkRequestId id) {
  for (std::size_t i = 0; i < reads.size(); ++i)
    if (reads.at(i).id == id) return &reads.at(i);
  return nullptr;
}

void NicQueuePair::retire_wqes() {
  while (!to_send.empty() && first_wqe != sending && to_send.front().gathering == 0) {
    const SendWqe& front = to_send.front();
    oldest_block = static_cast<std::uint16_t>(front.block + front.blocks);
    to_send.pop();
    ++first_wqe;
  }
}

void NicQueuePair::void_window() {
  ++epoch;
  for (std::size_t i = 0; i < to_send.size(); ++i) to_send.at(i).gathering = 0;
}

void NicQueuePair::void_repeats() {
  ++repeat_epoch;
  repeat_ready = recovering = false;
  if (repeats == nullptr) return;
  repeats->wanted.clear();
  repeats->wqe.gathering = 0;
  repeats->here = false;
  repeats->fetch_void = repeats->fetching != 0;
}

bool NicQueuePair::find_message(Psn psn, OutstandingMessage& message) {
  std::size_t at = 0;
  while (at < outstanding.size() && outstanding.at(at).last_psn - psn < 0) ++at;
  if (at < outstanding.size()) {
    message = outstanding.at(at);
  } else if (!partly_sent(message) || (!started && psn - resumed_at >= 0)) {
    return false;
  }
  return message.first_psn - psn <= 0;
}

bool NicQueuePair::partly_sent(OutstandingMessage& message) {
  if (started) {
    const SendWqe& wqe = this->wqe(sending);
    message = OutstandingMessage();
    message.first_psn = message_psn;
    message.wqe_index = wqe.block;
    message.wqe_blocks = wqe.blocks;
    message.opcode = wqe.opcode;
    message.bytes = static_cast<std::uint32_t>(wqe.length);
    message.id = wqe.id;
  } else if (resumed) {
    message = resumed_message;
  }
  return started || resumed;
}

void NicQueuePair::refetch_from(std::uint16_t block) {
  oldest_block = decoded_block = block;
  first_wqe += static_cast<std::uint32_t>(to_send.size());
  sending = first_wqe;
  to_send.clear();
  fetch_void = fetching;
}

void NicQueuePair::reset(std::uint16_t first_block) {
  refetch_from(first_block);
  offset = 0;
  started = resumed = send_stopped = paused = waits_for_page = false;
  ++epoch;
  ++port_epoch;
  ++scatter_epoch;
  executing_id = executed = {};
  begun = ended = 0;
  tells_drained = false;
  void_repeats();
  next_wqe_at = Time();
  since_ack_request = 0;
  outstanding.clear();
  reads.clear();
  failed = flushing = false;
  failure = CompletionStatus::kFlushed;
  deadline = Time::never();
  ++timer_generation;
  retries = rnr_retries = 0;
  receiving = receiving_send = receive_on_demand = receive_failed = nak_sent = false;
  receive = 0;
  receive_left = 0;
  owed.clear();
  ++response_epoch;
  ++answer_epoch;
  answering_first = answering_end = Psn();
  answers_under_way = 0;
  atomics.clear();
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "tests/support/mini_queue_pairs.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace rnicsim::test {

namespace {

using Write = MiniQueuePairs::Write;

bool is_send(abi::WqeOpcode opcode) {
  return opcode == abi::WqeOpcode::kSend || opcode == abi::WqeOpcode::kSendImm ||
         opcode == abi::WqeOpcode::kSendInvalidate;
}

bool is_atomic(abi::WqeOpcode opcode) {
  return opcode == abi::WqeOpcode::kAtomicCompareSwap || opcode == abi::WqeOpcode::kAtomicFetchAdd;
}

abi::DataSegment data_segment(const MiniQueuePairs::Segment& segment) {
  return {segment.bytes, segment.key, VirtualAddress(segment.address)};
}

/// What stands in a WQE behind room for its control segment.
std::vector<std::uint8_t> segments_of(const Write& write) {
  std::vector<std::uint8_t> wqe(abi::kSegmentBytes);
  const auto add = [&wqe](std::uint32_t bytes) {
    wqe.resize(wqe.size() + bytes);
    return wqe.data() + wqe.size() - bytes;
  };
  if (write.datagram != nullptr) write.datagram->write(add(abi::DatagramSegment::kBytes));
  if (!is_send(write.opcode))
    abi::RemoteAddressSegment{VirtualAddress(write.remote), write.rkey}.write(
        add(abi::kSegmentBytes));
  if (is_atomic(write.opcode)) write.atomic.write(add(abi::kSegmentBytes));
  for (const MiniQueuePairs::Segment& segment : write.gather)
    data_segment(segment).write(add(abi::kSegmentBytes));
  if (!write.inlined.empty()) {
    const std::size_t start = wqe.size();
    const auto bytes = static_cast<std::uint32_t>(write.inlined.size());
    wqe.resize(start + (abi::InlineSegment::kHeaderBytes + bytes + 15) / 16 * 16);
    abi::InlineSegment{bytes}.write(wqe.data() + start);
    std::copy(write.inlined.begin(), write.inlined.end(),
              wqe.begin() + static_cast<std::ptrdiff_t>(start + 4));
  }
  return wqe;
}

std::uint8_t flags_of(const Write& write) {
  return static_cast<std::uint8_t>((write.signaled ? abi::ControlSegment::kSignaled : 0) |
                                   (write.fence ? abi::ControlSegment::kFence : 0) |
                                   (write.solicited ? abi::ControlSegment::kSolicited : 0));
}

/// The context of a new queue pair without its rings.
abi::QpContext context_of(const QpOptions& options) {
  abi::QpContext context;
  context.access = AccessFlags(options.access);
  context.mtu_code = options.mtu_code;
  context.dscp = options.dscp;
  context.pd = options.pd;
  context.send_cqn = context.receive_cqn = options.cqn;
  context.log_send_blocks = options.log_blocks;
  context.remote_qpn = options.remote;
  context.next_send_psn = options.send_psn;
  context.expected_psn = options.expected_psn;
  context.transport = options.transport;
  context.ack_timeout = options.ack_timeout;
  context.retry_count = options.retry_count;
  context.rnr_retry = options.rnr_retry;
  context.min_rnr_timer = options.min_rnr_timer;
  context.max_rd_atomic = options.max_rd_atomic;
  context.max_dest_rd_atomic = options.max_dest_rd_atomic;
  context.qkey = options.qkey;
  context.srqn = options.srqn;
  if (options.inline_receive) context.flags |= abi::QpContext::kInlineReceive;
  return context;
}

}  // namespace

void MiniQueuePairs::add_qp(Qpn qpn, const QpOptions& options) {
  Qp& qp = qps_[qpn.value()];
  abi::QpContext& context = qp.context;
  context = context_of(options);
  context.send_ring =
      PhysicalAddress(commands_.allocate(std::uint64_t{abi::kWqeBlockBytes} << options.log_blocks));
  context.doorbell_record = PhysicalAddress(commands_.allocate(abi::DoorbellRecord::kBytes, 64));
  if (options.has_receives) {
    context.flags |= abi::QpContext::kHasReceiveQueue;
    qp.receives = make_ring(options.log_receive_entries, options.log_receive_segments);
    qp.receives.record = context.doorbell_record.value();
    context.receive_ring = PhysicalAddress(qp.receives.ring);
    context.log_receive_entries = options.log_receive_entries;
    context.log_receive_segments = options.log_receive_segments;
  }
  bring_up(qpn, options.last_state);
}

abi::CommandStatus MiniQueuePairs::modify_qp(Qpn qpn, QpState state, bool notify_drained) {
  abi::QpContext& context = qps_.at(qpn.value()).context;
  context.state = state;
  context.flags &= static_cast<std::uint8_t>(~abi::QpContext::kNotifyDrained);
  if (notify_drained) context.flags |= abi::QpContext::kNotifyDrained;
  context.write(commands_.at(commands_.mailbox));
  return commands_.command(abi::CommandOpcode::kModifyQp, qpn.value());
}

abi::QpContext MiniQueuePairs::query_qp(Qpn qpn) {
  commands_.must(abi::CommandOpcode::kQueryQp, qpn.value());
  return abi::QpContext::read(commands_.at(commands_.mailbox));
}

void MiniQueuePairs::restart_qp(Qpn qpn, QpState last) {
  Qp& qp = qps_.at(qpn.value());
  if (modify_qp(qpn, QpState::kReset) != abi::CommandStatus::kOk)
    throw std::logic_error("the queue pair cannot be reset");
  qp.producer = 0;
  qp.receives.posted = 0;
  abi::DoorbellRecord{}.write(commands_.at(qp.context.doorbell_record.value()));
  if (last != QpState::kReset) bring_up(qpn, last);
}

void MiniQueuePairs::bring_up(Qpn qpn, QpState last) {
  for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    if (modify_qp(qpn, state) != abi::CommandStatus::kOk)
      throw std::logic_error("the queue pair cannot be brought up");
    if (state == last) break;
  }
}

void MiniQueuePairs::post(Qpn qpn, const Write& write) {
  Qp& qp = qps_.at(qpn.value());
  std::vector<std::uint8_t> wqe = segments_of(write);
  qp.last = {};
  qp.last.wqe_index = qp.producer;
  qp.last.opcode = write.opcode;
  qp.last.qpn = qpn;
  qp.last.segments = static_cast<std::uint8_t>(wqe.size() / abi::kSegmentBytes);
  qp.last.flags = flags_of(write);
  qp.last.immediate = write.immediate;
  qp.last.write(wqe.data());
  put(qp, wqe);
}

void MiniQueuePairs::put(Qp& qp, std::vector<std::uint8_t>& wqe) {
  wqe.resize(qp.last.blocks() * abi::kWqeBlockBytes);
  const std::uint32_t mask = (1U << qp.context.log_send_blocks) - 1;
  for (std::uint32_t i = 0; i < qp.last.blocks(); ++i)
    std::memcpy(commands_.at(qp.context.send_ring.value() +
                             ((qp.producer + i) & mask) * abi::kWqeBlockBytes),
                wqe.data() + i * abi::kWqeBlockBytes, abi::kWqeBlockBytes);
  qp.producer = static_cast<std::uint16_t>(qp.producer + qp.last.blocks());
  abi::DoorbellRecord{qp.receives.posted, qp.producer}.write(
      commands_.at(qp.context.doorbell_record.value()));
}

void MiniQueuePairs::ring(Qpn qpn) {
  std::uint8_t control[abi::kSegmentBytes];
  qps_.at(qpn.value()).last.write(control);
  commands_.mmio(abi::kUarOffset + abi::kSendDoorbell, control, abi::kSendDoorbellBytes);
}

void MiniQueuePairs::ring_with_wqe(Qpn qpn) {
  for (std::uint32_t i = 0; i < qps_.at(qpn.value()).last.blocks(); ++i) ring_with_line(qpn, i);
}

void MiniQueuePairs::ring_with_line(Qpn qpn, std::uint32_t line) {
  const Qp& qp = qps_.at(qpn.value());
  const std::uint32_t mask = (1U << qp.context.log_send_blocks) - 1;
  const std::uint32_t block = (qp.producer - qp.last.blocks() + line) & mask;
  commands_.mmio(
      abi::kUarOffset + abi::kSendDoorbell + std::uint64_t{line} * abi::kWqeBlockBytes,
      commands_.at(qp.context.send_ring.value() + std::uint64_t{block} * abi::kWqeBlockBytes),
      abi::kWqeBlockBytes);
}

MiniQueuePairs::ReceiveRing MiniQueuePairs::make_ring(std::uint8_t log_entries,
                                                      std::uint8_t log_segments) {
  ReceiveRing ring;
  ring.ring = commands_.allocate(std::uint64_t{abi::kSegmentBytes} << (log_entries + log_segments));
  ring.log_entries = log_entries;
  ring.log_segments = log_segments;
  return ring;
}

void MiniQueuePairs::put_receive(ReceiveRing& ring, const std::vector<Segment>& scatter) {
  const std::uint64_t entry_bytes = std::uint64_t{abi::kSegmentBytes} << ring.log_segments;
  std::uint8_t* entry =
      commands_.at(ring.ring + (ring.posted & ((1U << ring.log_entries) - 1)) * entry_bytes);
  for (std::size_t i = 0; i < entry_bytes / abi::kSegmentBytes; ++i) {
    const abi::DataSegment end{0, abi::kEndOfList, {}};
    (i < scatter.size() ? data_segment(scatter[i]) : end).write(entry + i * abi::kSegmentBytes);
  }
  ++ring.posted;
}

void MiniQueuePairs::post_receive(Qpn qpn, const std::vector<Segment>& scatter) {
  Qp& qp = qps_.at(qpn.value());
  put_receive(qp.receives, scatter);
  abi::DoorbellRecord{qp.receives.posted, qp.producer}.write(commands_.at(qp.receives.record));
}

void MiniQueuePairs::add_srq(std::uint32_t srqn, std::uint8_t log_entries,
                             std::uint8_t log_segments) {
  ReceiveRing& ring = srqs_[srqn] = make_ring(log_entries, log_segments);
  ring.record = commands_.allocate(abi::DoorbellRecord::kBytes, 64);
  abi::SrqContext context;
  context.valid = true;
  context.log_entries = log_entries;
  context.log_segments = log_segments;
  context.pd = PdNumber(1);
  context.ring = PhysicalAddress(ring.ring);
  context.doorbell_record = PhysicalAddress(ring.record);
  context.write(
      commands_.at(commands_.tables.srq_contexts.value() + srqn * abi::SrqContext::kBytes));
  commands_.must(abi::CommandOpcode::kCreateSrq, srqn);
}

void MiniQueuePairs::post_shared_receive(std::uint32_t srqn, const std::vector<Segment>& scatter) {
  ReceiveRing& ring = srqs_.at(srqn);
  put_receive(ring, scatter);
  abi::DoorbellRecord{ring.posted, 0}.write(commands_.at(ring.record));
}

}  // namespace rnicsim::test

// SPDX-License-Identifier: MIT
#include "host/wqe_builder.h"

namespace rnicsim {

namespace {

using Op = abi::WqeOpcode;

constexpr std::uint64_t kMaxMessage = 1ULL << 31;    // IBTA 9.7.7
constexpr std::uint32_t kMaxDataSegment = 1u << 30;  // a data segment counts in 31 bits
constexpr std::uint64_t kAtomicBytes = 8;

bool is_atomic(Op opcode) {
  return opcode == Op::kAtomicCompareSwap || opcode == Op::kAtomicFetchAdd;
}

bool is_send(Op opcode) {
  return opcode == Op::kSend || opcode == Op::kSendImm || opcode == Op::kSendInvalidate;
}

bool is_write(Op opcode) { return opcode == Op::kRdmaWrite || opcode == Op::kRdmaWriteImm; }

bool has_remote_address(Op opcode) {
  return is_write(opcode) || opcode == Op::kRdmaRead || is_atomic(opcode);
}

bool has_key_to_invalidate(Op opcode) {
  return opcode == Op::kSendInvalidate || opcode == Op::kLocalInvalidate;
}

bool transport_has(Transport transport, Op opcode) {
  switch (opcode) {
    case Op::kNop:
    case Op::kSend:
    case Op::kSendImm:
      return true;
    case Op::kRdmaWrite:
    case Op::kRdmaWriteImm:
    case Op::kBindWindow:
    case Op::kLocalInvalidate:
      return transport != Transport::kUd;
    case Op::kSendInvalidate:
    case Op::kRdmaRead:
    case Op::kAtomicCompareSwap:
    case Op::kAtomicFetchAdd:
      return transport == Transport::kRc;
  }
  return false;
}

bool fits(const SendRequest& request, const SendQueueTraits& queue, std::uint64_t payload) {
  const Op opcode = request.opcode;
  if (request.inline_data)
    return (is_send(opcode) || is_write(opcode)) && payload <= queue.max_inline;
  if (is_atomic(opcode)) return payload == kAtomicBytes;
  if (is_send(opcode) || has_remote_address(opcode)) return payload <= kMaxMessage;
  return payload == 0;
}

std::uint8_t* add(BuiltWqe& wqe, std::uint32_t bytes) {
  std::uint8_t* at = wqe.bytes + wqe.length;
  wqe.length += bytes;
  return at;
}

void add_address_segments(BuiltWqe& wqe, Transport transport, const SendRequest& request) {
  if (transport == Transport::kUd && is_send(request.opcode)) {
    const AddressHandle& to = request.to;
    abi::DatagramSegment{
        request.remote_qkey, request.remote_qpn, to.ip, to.udp_source_port, to.dscp, to.mac, to.lid,
        to.service_level}
        .write(add(wqe, abi::DatagramSegment::kBytes));
  }
  if (has_remote_address(request.opcode))
    abi::RemoteAddressSegment{request.remote_address, request.rkey}.write(
        add(wqe, abi::kSegmentBytes));
  if (request.opcode == Op::kAtomicCompareSwap)
    abi::AtomicSegment{request.swap, request.compare_add}.write(add(wqe, abi::kSegmentBytes));
  if (request.opcode == Op::kAtomicFetchAdd)
    abi::AtomicSegment{request.compare_add, 0}.write(add(wqe, abi::kSegmentBytes));
  if (request.opcode == Op::kBindWindow) {
    const WindowBind& bind = request.bind;
    abi::BindSegment{bind.window, bind.region, bind.address, bind.length, bind.access}.write(
        add(wqe, abi::BindSegment::kBytes));
  }
}

bool add_data_segments(BuiltWqe& wqe, const ScatterGather& element) {
  // Whatever is too long for one segment's 31 bit count is described by several.
  std::uint64_t address = element.address.value();
  for (std::uint32_t left = element.length; left != 0;) {
    const std::uint32_t piece = left < 2 * kMaxDataSegment ? left : kMaxDataSegment;
    if (wqe.length + abi::kSegmentBytes > abi::kMaxWqeBytes) return false;
    abi::DataSegment{piece, element.lkey, VirtualAddress(address)}.write(
        add(wqe, abi::kSegmentBytes));
    ++wqe.data_segments;
    address += piece;
    left -= piece;
  }
  return true;
}

Errno add_inline_data(BuiltWqe& wqe, const SendRequest& request, const PageTable& pages) {
  const std::uint32_t begin = wqe.length;
  std::uint32_t end = begin + abi::InlineSegment::kHeaderBytes;
  for (std::uint32_t i = 0; i < request.list_length; ++i) {
    const ScatterGather& element = request.list[i];
    if (element.length > abi::kMaxWqeBytes - end) return Errno::kInvalid;
    if (element.length != 0 && !pages.load(element.address, wqe.bytes + end, element.length))
      return Errno::kFault;
    end += element.length;
  }
  abi::InlineSegment{static_cast<std::uint32_t>(wqe.payload)}.write(wqe.bytes + begin);
  wqe.length = static_cast<std::uint32_t>(divide_up(end, abi::kSegmentBytes)) * abi::kSegmentBytes;
  return Errno::kOk;
}

std::uint8_t flags_of(const SendRequest& request) {
  std::uint8_t flags = 0;
  if (request.signaled) flags |= abi::ControlSegment::kSignaled;
  if (request.solicited) flags |= abi::ControlSegment::kSolicited;
  if (request.fence) flags |= abi::ControlSegment::kFence;
  return flags;
}

}  // namespace

WcOpcode completed_as(abi::WqeOpcode opcode) {
  switch (opcode) {
    case Op::kNop:
      return WcOpcode::kNop;
    case Op::kSendInvalidate:
    case Op::kSend:
    case Op::kSendImm:
      return WcOpcode::kSend;
    case Op::kRdmaWrite:
    case Op::kRdmaWriteImm:
      return WcOpcode::kRdmaWrite;
    case Op::kRdmaRead:
      return WcOpcode::kRdmaRead;
    case Op::kAtomicCompareSwap:
      return WcOpcode::kCompareSwap;
    case Op::kAtomicFetchAdd:
      return WcOpcode::kFetchAdd;
    case Op::kBindWindow:
      return WcOpcode::kBindWindow;
    case Op::kLocalInvalidate:
      return WcOpcode::kLocalInvalidate;
  }
  return WcOpcode::kNop;
}

Errno build_wqe(BuiltWqe& wqe, const SendQueueTraits& queue, const SendRequest& request,
                const PageTable& pages) {
  if (!transport_has(queue.transport, request.opcode)) return Errno::kInvalid;
  for (std::uint32_t i = 0; i < request.list_length; ++i) wqe.payload += request.list[i].length;
  if (!fits(request, queue, wqe.payload)) return Errno::kInvalid;
  std::uint8_t* control = add(wqe, abi::kSegmentBytes);
  add_address_segments(wqe, queue.transport, request);
  if (request.inline_data) {
    const Errno result = add_inline_data(wqe, request, pages);
    if (result != Errno::kOk) return result;
  } else {
    for (std::uint32_t i = 0; i < request.list_length; ++i)
      if (!add_data_segments(wqe, request.list[i])) return Errno::kInvalid;
  }
  abi::ControlSegment head;
  head.wqe_index = queue.next_block;
  head.opcode = request.opcode;
  head.qpn = queue.qpn;
  head.segments = static_cast<std::uint8_t>(wqe.length / abi::kSegmentBytes);
  head.flags = flags_of(request);
  head.immediate =
      has_key_to_invalidate(request.opcode) ? request.invalidate.value() : request.immediate;
  head.write(control);
  return Errno::kOk;
}

}  // namespace rnicsim

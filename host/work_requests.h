// SPDX-License-Identifier: MIT
// What an application hands to the verbs library and gets back: send and receive requests and
// completions. Names and meanings follow ibv_send_wr, ibv_recv_wr and ibv_wc of libibverbs.
#pragma once

#include <cstdint>

#include "model/nic_abi.h"
#include "model/verbs_types.h"

namespace rnicsim {

struct ScatterGather {
  VirtualAddress address;
  std::uint32_t length = 0;
  MemoryKey lkey;
};

/// Where a datagram goes: an address handle.
struct AddressHandle {
  abi::Ipv4Address ip;
  abi::MacAddress mac{};
  std::uint16_t udp_source_port = 0;
  std::uint8_t dscp = 0;
  std::uint16_t lid = 0;  ///< of InfiniBand, which needs the next and none of the others
  std::uint8_t service_level = 0;
};

/// What a memory window of type 2 is bound to.
struct WindowBind {
  MemoryKey window;  ///< its new key: the index of its present one, a variable part of choice
  MemoryKey region;  ///< lkey of the region
  VirtualAddress address;
  std::uint64_t length = 0;  ///< 0 = unbind
  AccessFlags access;
};

struct SendRequest {
  std::uint64_t id = 0;  ///< comes back in the completion
  abi::WqeOpcode opcode = abi::WqeOpcode::kRdmaWrite;
  const ScatterGather* list = nullptr;  ///< what to send; where to put what a READ brings
  std::uint32_t list_length = 0;
  bool signaled = true;
  bool solicited = false;    ///< its receive may wake a program that waits for solicited ones
  bool fence = false;        ///< waits for earlier READs and atomics of this queue pair
  bool inline_data = false;  ///< the data go into the entry; lkeys do not matter
  std::uint32_t immediate = 0;
  MemoryKey invalidate;  ///< of SEND with invalidate (a remote key) and local invalidate
  VirtualAddress remote_address;
  MemoryKey rkey;
  std::uint64_t compare_add = 0;  ///< compare-and-swap: compare; fetch-and-add: the addend
  std::uint64_t swap = 0;
  WindowBind bind;
  AddressHandle to;  ///< this and the next two: datagrams
  Qpn remote_qpn;
  std::uint32_t remote_qkey = 0;
};

struct ReceiveRequest {
  std::uint64_t id = 0;
  const ScatterGather* list = nullptr;
  std::uint32_t list_length = 0;
};

/// What was completed, as ibv_wc_opcode says it.
enum class WcOpcode : std::uint8_t {
  kSend,
  kRdmaWrite,
  kRdmaRead,
  kCompareSwap,
  kFetchAdd,
  kBindWindow,
  kLocalInvalidate,
  kNop,
  kReceive,
  kReceiveRdmaWithImmediate,
};
WcOpcode completed_as(abi::WqeOpcode opcode);
inline bool is_receive(WcOpcode opcode) { return opcode >= WcOpcode::kReceive; }

/// After an error only id, status, vendor_syndrome, opcode and qpn mean something.
struct WorkCompletion {
  static constexpr std::uint8_t kWithImmediate = 0x01;
  static constexpr std::uint8_t kWithInvalidate = 0x02;
  static constexpr std::uint8_t kGrh = 0x04;  ///< the first 40 B of the buffer are a GRH
  std::uint64_t id = 0;
  CompletionStatus status = CompletionStatus::kSuccess;
  std::uint8_t vendor_syndrome = 0;
  WcOpcode opcode = WcOpcode::kNop;
  std::uint8_t flags = 0;
  Qpn qpn;
  std::uint64_t bytes = 0;  ///< of the request; of a receive, what arrived
  std::uint32_t immediate = 0;
  MemoryKey invalidated;       ///< the key that the sender had invalidated
  Qpn source_qpn;              ///< of a datagram
  WorkRequestId work_request;  ///< of a send request
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// What driver and NIC share, and all that they share: the layouts of registers, rings, tables and
// commands, byte by byte. Modelled on the mlx5 interface that rdma-core's providers/mlx5 documents
// (field names and WQE/CQE layouts follow it); contexts are reduced to what the model uses.
//
// All multi-byte fields are big-endian, in host RAM and in registers. Everything in host RAM is
// reached by the NIC through DMA with physical addresses. Offsets are given beside each field;
// bytes not named are reserved and zero. The structs below are decoded images: `write` produces the
// bytes, `read` takes them apart; neither knows where the bytes live.
//
// One difference from mlx5 worth knowing: the driver itself writes key entries, CQ contexts and
// translation tables into the host-resident tables and then tells the NIC by command; QP contexts
// belong to the NIC once created and change only through commands.
#pragma once

#include <array>
#include <cstdint>

#include "model/verbs_types.h"

namespace rnicsim::abi {

using ByteView = const std::uint8_t*;
using ByteSpan = std::uint8_t*;

// ---- BAR 0 -----------------------------------------------------------------------------------

inline constexpr std::uint64_t kBarSize = 0x10000;
/// u64: physical address of the command queue (one entry; a power-of-two ring may follow).
inline constexpr std::uint64_t kCommandQueueAddress = 0x10;
/// u32: writing 1 makes the NIC fetch the command entry.
inline constexpr std::uint64_t kCommandDoorbell = 0x18;
/// First user access region page; software rings send doorbells there.
inline constexpr std::uint64_t kUarOffset = 0x1000;
inline constexpr std::uint64_t kUarSize = 0x1000;
/// Within a UAR page: the first 8 bytes of the last posted WQE's control segment, or (BlueFlame)
/// all 64 B of a WQE of one basic block, which the NIC then need not fetch.
inline constexpr std::uint64_t kSendDoorbell = 0x800;
inline constexpr std::uint64_t kSendDoorbellBytes = 8;

// ---- Send queue --------------------------------------------------------------------------------

/// Send queue entries are whole basic blocks of 64 B; a WQE may span several and wrap at ring end.
inline constexpr std::uint32_t kWqeBlockBytes = 64;
inline constexpr std::uint32_t kSegmentBytes = 16;
inline constexpr std::uint32_t kMaxWqeBytes = 1024;

enum class WqeOpcode : std::uint8_t {
  kNop = 0x00,
  kRdmaWrite = 0x08,
  kRdmaWriteImm = 0x09,
  kSend = 0x0a,
  kSendImm = 0x0b,
  kRdmaRead = 0x10,
  kAtomicCompareSwap = 0x11,
  kAtomicFetchAdd = 0x12,
};

/// 16 B. 0: opmod(8) wqe_index(16) opcode(8); 4: qpn(24) segments(8); 8: signature(8) 0(16)
/// flags(8); 12: immediate(32).
struct ControlSegment {
  static constexpr std::uint8_t kSignaled = 0x08;
  static constexpr std::uint8_t kSolicited = 0x02;
  std::uint16_t wqe_index = 0;  ///< in basic blocks since the queue was created, modulo 2^16
  WqeOpcode opcode = WqeOpcode::kNop;
  Qpn qpn;
  std::uint8_t segments = 0;  ///< length of the whole WQE in 16 B segments
  std::uint8_t flags = 0;
  std::uint32_t immediate = 0;

  void write(ByteSpan at) const;
  static ControlSegment read(ByteView at);
  std::uint32_t blocks() const {
    return (segments * kSegmentBytes + kWqeBlockBytes - 1) / kWqeBlockBytes;
  }
};

/// 16 B. 0: remote address(64); 8: rkey(32); 12: 0(32).
struct RemoteAddressSegment {
  VirtualAddress address;
  MemoryKey rkey;
  void write(ByteSpan at) const;
  static RemoteAddressSegment read(ByteView at);
};

/// 16 B. 0: byte count(32, bit 31 clear); 4: lkey(32); 8: local address(64).
struct DataSegment {
  std::uint32_t byte_count = 0;
  MemoryKey lkey;
  VirtualAddress address;
  void write(ByteSpan at) const;
  static DataSegment read(ByteView at);
};

/// 4 B header, then the data, padded with zeros to a whole segment. 0: bit 31 set, byte count(31).
struct InlineSegment {
  static constexpr std::uint32_t kHeaderBytes = 4;
  static constexpr std::uint32_t kInlineFlag = 0x80000000;
  std::uint32_t byte_count = 0;
  void write(ByteSpan at) const;
  static InlineSegment read(ByteView at);
  static bool is_inline(ByteView at) { return (at[0] & 0x80) != 0; }
};

/// 8 B per QP in host RAM. 0: receive counter(32); 4: send counter(32): the low 16 bits are the
/// index of the next free basic block.
struct DoorbellRecord {
  static constexpr std::uint32_t kBytes = 8;
  std::uint32_t receive_counter = 0;
  std::uint32_t send_counter = 0;
  void write(ByteSpan at) const;
  static DoorbellRecord read(ByteView at);
};

// ---- Completion queue --------------------------------------------------------------------------

enum class CqeOpcode : std::uint8_t {
  kRequest = 0,
  kResponseWriteImm = 1,
  kResponseSend = 2,
  kResponseSendImm = 3,
  kRequestError = 13,
  kResponseError = 14,
  kInvalid = 15,
};

/// 64 B. 36: immediate(32); 44: byte count(32); 54: vendor syndrome(8); 55: syndrome(8) = status
/// of an error CQE; 56: 0(8) qpn(24); 60: wqe counter(16); 63: opcode(4) 0(3) owner(1).
/// An entry belongs to software when its owner bit equals bit `log_size` of the consumer index
/// (the sense toggles each time round) and its opcode is not kInvalid.
struct Cqe {
  static constexpr std::uint32_t kBytes = 64;
  static constexpr std::uint32_t kOwnerOffset = 63;
  CqeOpcode opcode = CqeOpcode::kInvalid;
  bool owner = false;
  CompletionStatus status = CompletionStatus::kSuccess;
  std::uint8_t vendor_syndrome = 0;
  Qpn qpn;
  std::uint16_t wqe_counter = 0;  ///< wqe_index of the completed WQE
  std::uint32_t byte_count = 0;
  std::uint32_t immediate = 0;
  void write(ByteSpan at) const;
  static Cqe read(ByteView at);
};

/// 64 B in the CQ context table, index = cqn. 0: valid(8) log_size(8); 8: ring address(64);
/// 16: doorbell record address(64) (u32 consumer index, software writes); 24: producer index(32).
struct CqContext {
  static constexpr std::uint32_t kBytes = 64;
  bool valid = false;
  std::uint8_t log_size = 0;
  PhysicalAddress ring;
  PhysicalAddress doorbell_record;
  std::uint32_t producer_index = 0;
  void write(ByteSpan at) const;
  static CqContext read(ByteView at);
};

// ---- Memory translation and protection
// -----------------------------------------------------------

/// Key entry (MPT), 64 B, index = key's upper 24 bits. 0: valid(8) access(8) levels(8)
/// log_page_size(8); 4: key(32); 8: pd(32); 16: start address(64); 24: length(64); 32: table(64).
struct KeyEntry {
  static constexpr std::uint32_t kBytes = 64;
  bool valid = false;
  AccessFlags access;
  std::uint8_t levels = 1;  ///< depth of the translation table, 1 to 3
  std::uint8_t log_page_size = 12;
  MemoryKey key;
  PdNumber pd;
  VirtualAddress start;
  std::uint64_t length = 0;
  PhysicalAddress table;  ///< root page of the translation table
  void write(ByteSpan at) const;
  static KeyEntry read(ByteView at);
};

/// Translation table (MTT): pages of 4 KiB with 512 entries of 8 B, as a radix tree of
/// KeyEntry::levels levels. The page number that indexes it is (address >> log_page_size) -
/// (start >> log_page_size); the lowest 9 bits index the leaf. An entry is the physical address of
/// the next table page or of the memory page, bit 0 set = present.
inline constexpr std::uint32_t kTableEntryBytes = 8;
inline constexpr std::uint32_t kTableEntriesLog = 9;
inline constexpr std::uint32_t kTablePageBytes = 4096;
struct TableEntry {
  bool present = false;
  PhysicalAddress address;
  void write(ByteSpan at) const;
  static TableEntry read(ByteView at);
};

// ---- Queue pair
// ----------------------------------------------------------------------------------

using MacAddress = std::array<std::uint8_t, 6>;
using Ipv4Address = Id<struct Ipv4Tag>;

/// QP context, 256 B, index = qpn. 0: state(8) transport(8) access(8) mtu_code(8); 4: pd(32);
/// 8: send cqn(32); 12: receive cqn(32); 16: send ring address(64); 24: log_send_blocks(8)
/// ack_timeout(8) retry_count(8) rnr_retry(8); 28: remote qpn(32); 32: doorbell record address(64);
/// 40: next send PSN(32); 44: expected PSN(32); 48: MSN(32); 52: remote IPv4(32); 56: remote
/// MAC(48) udp source port(16); 64: send producer(16) send consumer(16); 68: work requests
/// completed(32); 72: dscp(8).
struct QpContext {
  static constexpr std::uint32_t kBytes = 256;
  QpState state = QpState::kReset;
  Transport transport = Transport::kRc;
  AccessFlags access;         ///< what the remote side may do through this QP
  std::uint8_t mtu_code = 5;  ///< IBTA path MTU code: 1..5 = 256..4096 B
  PdNumber pd;
  Cqn send_cqn;
  Cqn receive_cqn;
  PhysicalAddress send_ring;
  std::uint8_t log_send_blocks = 0;
  std::uint8_t ack_timeout = 0;  ///< 4.096 us x 2^n, 0 = never
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;
  Qpn remote_qpn;
  PhysicalAddress doorbell_record;
  Psn next_send_psn;
  Psn expected_psn;
  std::uint32_t msn = 0;  ///< 24 bits, completed messages as the responder counts them
  Ipv4Address remote_ip;
  MacAddress remote_mac{};
  std::uint16_t udp_source_port = 0;
  std::uint16_t send_producer = 0;  ///< in basic blocks
  std::uint16_t send_consumer = 0;  ///< next basic block to fetch
  std::uint32_t work_requests = 0;  ///< fetched so far; names the work requests (WorkRequestId)
  std::uint8_t dscp = 0;
  void write(ByteSpan at) const;
  static QpContext read(ByteView at);

  std::uint32_t path_mtu() const { return 128u << mtu_code; }
};

// ---- Commands
// --------------------------------------------------------------------------------------

enum class CommandOpcode : std::uint16_t {
  kInitHca = 1,  ///< mailbox: HcaTables
  kCloseHca = 2,
  kCreateCq = 3,  ///< object = cqn; the context stands in the CQ context table
  kDestroyCq = 4,
  kModifyQp = 5,    ///< object = qpn; mailbox: QpContext with the wanted state
  kQueryQp = 6,     ///< object = qpn; the NIC writes a QpContext to the mailbox
  kEnableKey = 7,   ///< object = key index; the entry stands in the key table
  kDisableKey = 8,  ///< object = key index; the NIC forgets the entry and its translations
};

enum class CommandStatus : std::uint8_t {
  kOk = 0,
  kBadOpcode = 1,
  kBadObject = 2,
  kBadState = 3,  ///< the QP cannot go from its state to the one asked for
  kNotInitialised = 4,
};

/// 64 B in host RAM. 0: opcode(16); 4: object(32); 8: mailbox address(64); 62: status(8);
/// 63: owner(8): software sets 1 when it hands the entry over, the NIC writes 0 last.
struct CommandEntry {
  static constexpr std::uint32_t kBytes = 64;
  static constexpr std::uint32_t kStatusOffset = 62;
  static constexpr std::uint32_t kOwnerOffset = 63;
  CommandOpcode opcode = CommandOpcode::kInitHca;
  std::uint32_t object = 0;
  PhysicalAddress mailbox;
  CommandStatus status = CommandStatus::kOk;
  bool hardware_owned = false;
  void write(ByteSpan at) const;
  static CommandEntry read(ByteView at);
};

/// Mailbox of kInitHca, 64 B: where the host-resident tables are and how many entries they have.
/// 0: QP contexts(64); 8: CQ contexts(64); 16: key entries(64); 24: log counts: qp(8) cq(8) key(8).
struct HcaTables {
  static constexpr std::uint32_t kBytes = 64;
  PhysicalAddress qp_contexts;
  PhysicalAddress cq_contexts;
  PhysicalAddress key_entries;
  std::uint8_t log_qps = 0;
  std::uint8_t log_cqs = 0;
  std::uint8_t log_keys = 0;
  void write(ByteSpan at) const;
  static HcaTables read(ByteView at);
};

}  // namespace rnicsim::abi

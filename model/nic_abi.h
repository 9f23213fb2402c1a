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
using MacAddress = std::array<std::uint8_t, 6>;
using Ipv4Address = Id<struct Ipv4Tag>;

// ---- BAR 0 -----------------------------------------------------------------------------------

inline constexpr std::uint64_t kBarSize = 0x10000;
/// u64: physical address of the command queue (one entry; a power-of-two ring may follow).
inline constexpr std::uint64_t kCommandQueueAddress = 0x10;
/// u32: writing 1 makes the NIC fetch the command entry.
inline constexpr std::uint64_t kCommandDoorbell = 0x18;
/// u64: eqn(32) consumer index(32): the driver has taken the entries before it, and wants an
/// interrupt for the next one.
inline constexpr std::uint64_t kEqArm = 0x20;
/// u32: number of a page fault (Eqe): its pages are in the translation table now. (mlx5 has a
/// command for it; here the one command entry may be taken by a command that waits for the fault's
/// end.)
inline constexpr std::uint64_t kPageFaultResume = 0x28;
/// First user access region page; software rings send doorbells there.
inline constexpr std::uint64_t kUarOffset = 0x1000;
inline constexpr std::uint64_t kUarSize = 0x1000;
/// Within a UAR page: the first 8 bytes of the last posted WQE's control segment, or (BlueFlame)
/// all of a WQE of up to kBlueFlameBytes, which the NIC then need not fetch: one write of 64 B for
/// each of its basic blocks, in order and at consecutive addresses, as a write-combining CPU makes
/// them.
inline constexpr std::uint64_t kSendDoorbell = 0x800;
inline constexpr std::uint64_t kSendDoorbellBytes = 8;
inline constexpr std::uint32_t kBlueFlameBytes = 256;
/// Within a UAR page, u64: solicited only(8) consumer index(24) cqn(32): asks for one event when an
/// entry at or after that index is written (or is there already).
inline constexpr std::uint64_t kCqArm = 0x20;
/// Within a UAR page, u64: qpn(32) receive counter(32). Receives are found through the doorbell
/// record alone; software rings here only for a queue pair that it knows to be in error, so that
/// what it posts there is flushed.
inline constexpr std::uint64_t kReceiveDoorbell = 0x40;

// ---- Send queue --------------------------------------------------------------------------------

/// Send queue entries are whole basic blocks of 64 B; a WQE may span several and wrap at ring end.
inline constexpr std::uint32_t kWqeBlockBytes = 64;
inline constexpr std::uint32_t kSegmentBytes = 16;
inline constexpr std::uint32_t kMaxWqeBytes = 1024;

enum class WqeOpcode : std::uint8_t {
  kNop = 0x00,
  kSendInvalidate = 0x01,
  kRdmaWrite = 0x08,
  kRdmaWriteImm = 0x09,
  kSend = 0x0a,
  kSendImm = 0x0b,
  kRdmaRead = 0x10,
  kAtomicCompareSwap = 0x11,
  kAtomicFetchAdd = 0x12,
  kBindWindow = 0x18,
  kLocalInvalidate = 0x1b,
};

/// 16 B. 0: opmod(8) wqe_index(16) opcode(8); 4: qpn(24) segments(8); 8: signature(8) 0(16)
/// flags(8); 12: immediate(32).
struct ControlSegment {
  static constexpr std::uint8_t kSignaled = 0x08;
  static constexpr std::uint8_t kSolicited = 0x02;
  static constexpr std::uint8_t kFence = 0x80;  ///< waits for earlier READs and atomics
  std::uint16_t wqe_index = 0;  ///< in basic blocks since the queue was created, modulo 2^16
  WqeOpcode opcode = WqeOpcode::kNop;
  Qpn qpn;
  std::uint8_t segments = 0;  ///< length of the whole WQE in 16 B segments
  std::uint8_t flags = 0;
  std::uint32_t immediate = 0;  ///< or the key that a SEND or a local WQE invalidates

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

/// 16 B, behind the remote address. 0: swap or add(64); 8: compare(64).
struct AtomicSegment {
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  void write(ByteSpan at) const;
  static AtomicSegment read(ByteView at);
};

/// 48 B, as long as mlx5's, behind the control segment of an unreliable datagram: the address
/// vector. 0: qkey(32); 4: qpn(32); 8: IPv4(32); 12: udp source port(16) dscp(8) service level(8);
/// 16: MAC(48); 22: LID(16). Of InfiniBand the last two of these, of RoCE the others.
struct DatagramSegment {
  static constexpr std::uint32_t kBytes = 48;
  std::uint32_t qkey = 0;
  Qpn qpn;
  Ipv4Address ip;
  std::uint16_t udp_source_port = 0;
  std::uint8_t dscp = 0;
  MacAddress mac{};
  std::uint16_t lid = 0;
  std::uint8_t service_level = 0;
  void write(ByteSpan at) const;
  static DatagramSegment read(ByteView at);
};

/// 32 B, behind the control segment of kBindWindow. 0: new key of the window(32); 4: lkey of the
/// region(32); 8: address(64); 16: length(64), 0 = unbind; 24: access(8).
struct BindSegment {
  static constexpr std::uint32_t kBytes = 32;
  MemoryKey window;
  MemoryKey region;
  VirtualAddress address;
  std::uint64_t length = 0;
  AccessFlags access;
  void write(ByteSpan at) const;
  static BindSegment read(ByteView at);
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

// ---- Receive queue -----------------------------------------------------------------------------

/// An entry of a receive queue is 2^log_receive_segments data segments; a shorter list ends with a
/// segment of this lkey and no bytes. Receives are posted by the doorbell record alone.
inline constexpr MemoryKey kEndOfList{0x100};

/// 8 B per QP in host RAM. 0: receive counter(32): entries ever posted; 4: send counter(32): the
/// low 16 bits are the index of the next free basic block. A shared receive queue has one too and
/// uses the receive counter.
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
  kResponseSendInvalidate = 4,
  kRequestError = 13,
  kResponseError = 14,
  kInvalid = 15,
};

/// 64 B. 0: inline data(32 B); 36: immediate(32) (or the invalidated key); 44: byte count(32); 48:
/// source qpn(32) of a datagram; 52: flags(8); 54: vendor syndrome(8); 55: syndrome(8) = status
/// of an error CQE; 56: 0(8) qpn(24); 60: wqe counter(16); 63: opcode(4) 0(3) owner(1).
/// An entry belongs to software when its owner bit equals bit `log_size` of the consumer index
/// (the sense toggles each time round) and its opcode is not kInvalid.
struct Cqe {
  static constexpr std::uint32_t kBytes = 64;
  static constexpr std::uint32_t kOwnerOffset = 63;
  CqeOpcode opcode = CqeOpcode::kInvalid;
  bool owner = false;
  CompletionStatus status = CompletionStatus::kSuccess;
  static constexpr std::uint32_t kInlineBytes = 32;
  static constexpr std::uint8_t kInlineData = 0x01;  ///< the message stands in the entry
  static constexpr std::uint8_t kGrh = 0x02;         ///< 40 B of GRH stand before the datagram
  std::uint8_t vendor_syndrome = 0;
  Qpn qpn;
  std::uint16_t wqe_counter = 0;  ///< wqe_index of the completed WQE, or number of the receive
  std::uint32_t byte_count = 0;
  std::uint32_t immediate = 0;
  Qpn source_qpn;
  std::uint8_t flags = 0;
  std::array<std::uint8_t, kInlineBytes> inline_data{};
  void write(ByteSpan at) const;
  static Cqe read(ByteView at);
};

/// 64 B in the CQ context table, index = cqn. 0: valid(8) log_size(8); 8: ring address(64);
/// 16: doorbell record address(64) (u32 consumer index, software writes); 24: producer index(32);
/// 28: eqn(32), 0 = no events; 32: moderation count(16) period in us(16): an event is held back
/// until so many entries or so much time since the first; 36: overrun(8).
struct CqContext {
  static constexpr std::uint32_t kBytes = 64;
  bool valid = false;
  std::uint8_t log_size = 0;
  PhysicalAddress ring;
  PhysicalAddress doorbell_record;
  std::uint32_t producer_index = 0;
  std::uint32_t eqn = 0;
  std::uint16_t moderation_count = 0;
  std::uint16_t moderation_period_us = 0;
  bool overrun = false;  ///< an entry was lost: nothing more is written
  void write(ByteSpan at) const;
  static CqContext read(ByteView at);
};

// ---- Event queue -------------------------------------------------------------------------------

enum class EventType : std::uint8_t {
  kCompletion = 0x00,
  kSqDrained = 0x03,  ///< object = qpn
  kCqError = 0x04,    ///< overrun
  kQpError = 0x05,    ///< object = qpn
  kPageFault = 0x0c,  ///< object = number of the fault
  kSrqLimit = 0x14,   ///< fewer receives than the limit are left
  kInvalid = 0xff,
};

/// "completion, cq", "send queue drained, qp": the object's number goes behind it.
const char* name_of(EventType type);

/// An access to pages that a region paged on demand does not have: so many bytes from the first of
/// them that is absent, and so many that the message will want behind these. By a work request of
/// this side's own, or by a request of the other side.
struct PageFault {
  MemoryKey key;
  VirtualAddress address;
  std::uint32_t bytes = 0;
  std::uint32_t ahead = 0;
  bool own = false;
};

/// 64 B, written by DMA, followed by an MSI-X message. 1: type(8); 8: object(32): cqn, qpn, srqn,
/// fault; of a page fault 12: key(32); 16: address(64); 24: bytes(32); 28: bytes ahead(32); 32:
/// own(8); 63: owner(1), as a CQE's.
struct Eqe {
  static constexpr std::uint32_t kBytes = 64;
  static constexpr std::uint32_t kOwnerOffset = 63;
  EventType type = EventType::kInvalid;
  std::uint32_t object = 0;
  PageFault fault;
  bool owner = false;
  void write(ByteSpan at) const;
  static Eqe read(ByteView at);
};

/// 64 B, mailbox of kCreateEq. 0: log_size(8); 4: MSI-X data(32); 8: ring address(64); 16: MSI-X
/// address(64). The NIC keeps it inside: there are few.
struct EqContext {
  static constexpr std::uint32_t kBytes = 64;
  std::uint8_t log_size = 0;
  std::uint32_t msix_data = 0;
  PhysicalAddress ring;
  PhysicalAddress msix_address;
  void write(ByteSpan at) const;
  static EqContext read(ByteView at);
};

/// A shared receive queue, 64 B in its table, index = srqn. 0: valid(8) log_entries(8)
/// log_segments(8); 4: pd(32); 8: ring address(64); 16: doorbell record address(64); 24: entries
/// taken(32); 28: limit(16), 0 = no event.
struct SrqContext {
  static constexpr std::uint32_t kBytes = 64;
  bool valid = false;
  std::uint8_t log_entries = 0;
  std::uint8_t log_segments = 0;
  PdNumber pd;
  PhysicalAddress ring;
  PhysicalAddress doorbell_record;
  std::uint32_t consumer = 0;
  std::uint16_t limit = 0;
  void write(ByteSpan at) const;
  static SrqContext read(ByteView at);
};

// ---- Memory translation and protection
// -----------------------------------------------------------

/// Key entry (MPT), 64 B, index = key's upper 24 bits. 0: valid(8) access(8) levels(8)
/// log_page_size(8); 4: key(32); 8: pd(32); 12: qpn(24) window(8); 16: start address(64); 24:
/// length(64); 32: table(64); 40: address of the table's first page(64). A memory window of type 2
/// is an entry too: valid once a WQE of its queue pair has bound it to a part of a region, whose
/// table it then shares. An entry that is not valid any more keeps its key (0: none was ever
/// issued); the variants of an index are issued in ascending order from 1, modulo 256.
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
  VirtualAddress base;    ///< what the table's entry 0 translates lies on this address's page
  bool window = false;
  Qpn qpn;  ///< of a window that is bound: the one queue pair that may use it
  void write(ByteSpan at) const;
  static KeyEntry read(ByteView at);
};

/// Translation table (MTT): pages of 4 KiB with 512 entries of 8 B, as a radix tree of
/// KeyEntry::levels levels. The page number that indexes it is (address >> log_page_size) -
/// (base >> log_page_size); the lowest 9 bits index the leaf. An entry is the physical address of
/// the next table page or of the memory page, bit 0 set = present. All pages of a region are,
/// unless it has AccessFlags::kOnDemand.
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

/// QP context, 256 B, index = qpn. 0: state(8) transport(8) access(8) mtu_code(8); 4: pd(32);
/// 8: send cqn(32); 12: receive cqn(32); 16: send ring address(64); 24: log_send_blocks(8)
/// ack_timeout(8) retry_count(8) rnr_retry(8); 28: remote qpn(32); 32: doorbell record address(64);
/// 40: next send PSN(32); 44: expected PSN(32); 48: MSN(32); 52: remote IPv4(32); 56: remote
/// MAC(48) udp source port(16); 64: send producer(16) send consumer(16); 68: work requests
/// completed(32); 72: dscp(8) min_rnr_timer(8) max_rd_atomic(8) max_dest_rd_atomic(8); 76:
/// qkey(32); 80: receive ring address(64); 88: log_receive_entries(8) log_receive_segments(8)
/// flags(8) service level(8); 92: srqn(32), 0 = none; 96: receives taken(32); 100: remote LID(16).
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
  std::uint8_t min_rnr_timer = 0;       ///< code of IBTA table 46, sent in RNR NAKs
  std::uint8_t max_rd_atomic = 0;       ///< READs and atomics that may be outstanding
  std::uint8_t max_dest_rd_atomic = 0;  ///< that the other side may have outstanding here
  std::uint32_t qkey = 0;
  PhysicalAddress receive_ring;
  std::uint8_t log_receive_entries = 0;
  std::uint8_t log_receive_segments = 0;
  std::uint8_t flags = 0;
  static constexpr std::uint8_t kHasReceiveQueue = 0x01;
  static constexpr std::uint8_t kInlineReceive = 0x02;  ///< short messages stand in the CQE
  static constexpr std::uint8_t kNotifyDrained = 0x04;  ///< RTS to SQD: event when it has drained
  std::uint32_t srqn = 0;
  std::uint32_t receive_consumer = 0;
  std::uint16_t remote_lid = 0;    ///< of InfiniBand, in place of IP and MAC address
  std::uint8_t service_level = 0;  ///< and in place of the DSCP
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
  kEnableKey = 7,   ///< object = key index; the entry stands in the key table; modifier = 1 if its
                    ///< region is paged on demand
  kDisableKey = 8,  ///< object = key index; the NIC forgets the entry and its translations;
                    ///< of a window that is bound it writes an invalid entry
  kCreateEq = 9,    ///< object = eqn; mailbox: EqContext
  kDestroyEq = 10,  ///< object = eqn
  kCreateSrq = 11,  ///< object = srqn; the context stands in the SRQ context table
  kDestroySrq = 12,
  kArmSrq = 13,    ///< object = srqn; an event when fewer than limit are left, limit from the table
  kModifyCq = 14,  ///< object = cqn; mailbox: CqContext, of which the moderation is taken
  kCreateEthernetQueue = 15,  ///< object = its number; mailbox: EthernetQueueContext
  kDestroyEthernetQueue = 16,
  kSetFlowRule = 17,    ///< object = the rule's number; mailbox: EthernetFlowRule
  kClearFlowRule = 18,  ///< object = the rule's number
};

enum class CommandStatus : std::uint8_t {
  kOk = 0,
  kBadOpcode = 1,
  kBadObject = 2,
  kBadState = 3,  ///< the QP cannot go from its state to the one asked for
  kNotInitialised = 4,
  kBusy = 5,  ///< memory windows are bound to the region
};

/// 64 B in host RAM. 0: opcode(16); 2: modifier(8); 4: object(32); 8: mailbox address(64); 62:
/// status(8); 63: owner(8): software sets 1 when it hands the entry over, the NIC writes 0 last.
struct CommandEntry {
  static constexpr std::uint32_t kBytes = 64;
  static constexpr std::uint32_t kStatusOffset = 62;
  static constexpr std::uint32_t kOwnerOffset = 63;
  CommandOpcode opcode = CommandOpcode::kInitHca;
  std::uint8_t modifier = 0;
  std::uint32_t object = 0;
  PhysicalAddress mailbox;
  CommandStatus status = CommandStatus::kOk;
  bool hardware_owned = false;
  void write(ByteSpan at) const;
  static CommandEntry read(ByteView at);
};

/// Mailbox of kInitHca, 64 B: where the host-resident tables are and how many entries they have.
/// 0: QP contexts(64); 8: CQ contexts(64); 16: key entries(64); 24: log counts: qp(8) cq(8) key(8)
/// srq(8); 32: SRQ contexts(64).
struct HcaTables {
  static constexpr std::uint32_t kBytes = 64;
  PhysicalAddress qp_contexts;
  PhysicalAddress cq_contexts;
  PhysicalAddress key_entries;
  std::uint8_t log_qps = 0;
  std::uint8_t log_cqs = 0;
  std::uint8_t log_keys = 0;
  PhysicalAddress srq_contexts;
  std::uint8_t log_srqs = 0;
  void write(ByteSpan at) const;
  static HcaTables read(ByteView at);
};

}  // namespace rnicsim::abi

// SPDX-License-Identifier: MIT
#include "model/nic_abi.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim::abi {

const char* name_of(EventType type) {
  switch (type) {
    case EventType::kCompletion:
      return "completion, cq";
    case EventType::kSqDrained:
      return "send queue drained, qp";
    case EventType::kCqError:
      return "overrun, cq";
    case EventType::kQpError:
      return "error, qp";
    case EventType::kPageFault:
      return "page fault";
    case EventType::kSrqLimit:
      return "limit reached, srq";
    case EventType::kInvalid:
      break;
  }
  return "?";
}

// Every `write` first clears its whole image, so that reserved bytes are zero whatever was there.

void ControlSegment::write(ByteSpan at) const {
  std::fill_n(at, kSegmentBytes, std::uint8_t{0});
  store_be16(at + 1, wqe_index);
  at[3] = static_cast<std::uint8_t>(opcode);
  store_be24(at + 4, qpn.value());
  at[7] = segments;
  at[11] = flags;
  store_be32(at + 12, immediate);
}

ControlSegment ControlSegment::read(ByteView at) {
  ControlSegment segment;
  segment.wqe_index = load_be16(at + 1);
  segment.opcode = static_cast<WqeOpcode>(at[3]);
  segment.qpn = Qpn(load_be24(at + 4));
  segment.segments = at[7];
  segment.flags = at[11];
  segment.immediate = load_be32(at + 12);
  return segment;
}

void RemoteAddressSegment::write(ByteSpan at) const {
  store_be64(at, address.value());
  store_be32(at + 8, rkey.value());
  store_be32(at + 12, 0);
}

RemoteAddressSegment RemoteAddressSegment::read(ByteView at) {
  RemoteAddressSegment segment;
  segment.address = VirtualAddress(load_be64(at));
  segment.rkey = MemoryKey(load_be32(at + 8));
  return segment;
}

void AtomicSegment::write(ByteSpan at) const {
  store_be64(at, swap_or_add);
  store_be64(at + 8, compare);
}

AtomicSegment AtomicSegment::read(ByteView at) { return {load_be64(at), load_be64(at + 8)}; }

void DatagramSegment::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  store_be32(at, qkey);
  store_be32(at + 4, qpn.value());
  store_be32(at + 8, ip.value());
  store_be16(at + 12, udp_source_port);
  at[14] = dscp;
  at[15] = service_level;
  std::copy(mac.begin(), mac.end(), at + 16);
  store_be16(at + 22, lid);
}

DatagramSegment DatagramSegment::read(ByteView at) {
  DatagramSegment segment;
  segment.qkey = load_be32(at);
  segment.qpn = Qpn(load_be32(at + 4));
  segment.ip = Ipv4Address(load_be32(at + 8));
  segment.udp_source_port = load_be16(at + 12);
  segment.dscp = at[14];
  segment.service_level = at[15];
  std::copy_n(at + 16, segment.mac.size(), segment.mac.begin());
  segment.lid = load_be16(at + 22);
  return segment;
}

void BindSegment::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  store_be32(at, window.value());
  store_be32(at + 4, region.value());
  store_be64(at + 8, address.value());
  store_be64(at + 16, length);
  at[24] = access.bits();
}

BindSegment BindSegment::read(ByteView at) {
  BindSegment segment;
  segment.window = MemoryKey(load_be32(at));
  segment.region = MemoryKey(load_be32(at + 4));
  segment.address = VirtualAddress(load_be64(at + 8));
  segment.length = load_be64(at + 16);
  segment.access = AccessFlags(at[24]);
  return segment;
}

void DataSegment::write(ByteSpan at) const {
  store_be32(at, byte_count & ~InlineSegment::kInlineFlag);
  store_be32(at + 4, lkey.value());
  store_be64(at + 8, address.value());
}

DataSegment DataSegment::read(ByteView at) {
  DataSegment segment;
  segment.byte_count = load_be32(at) & ~InlineSegment::kInlineFlag;
  segment.lkey = MemoryKey(load_be32(at + 4));
  segment.address = VirtualAddress(load_be64(at + 8));
  return segment;
}

void InlineSegment::write(ByteSpan at) const { store_be32(at, byte_count | kInlineFlag); }

InlineSegment InlineSegment::read(ByteView at) {
  InlineSegment segment;
  segment.byte_count = load_be32(at) & ~kInlineFlag;
  return segment;
}

void DoorbellRecord::write(ByteSpan at) const {
  store_be32(at, receive_counter);
  store_be32(at + 4, send_counter);
}

DoorbellRecord DoorbellRecord::read(ByteView at) {
  DoorbellRecord record;
  record.receive_counter = load_be32(at);
  record.send_counter = load_be32(at + 4);
  return record;
}

void Cqe::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  std::copy(inline_data.begin(), inline_data.end(), at);
  store_be32(at + 36, immediate);
  store_be32(at + 44, byte_count);
  store_be32(at + 48, source_qpn.value());
  at[52] = flags;
  at[54] = vendor_syndrome;
  at[55] = static_cast<std::uint8_t>(status);
  store_be24(at + 57, qpn.value());
  store_be16(at + 60, wqe_counter);
  at[kOwnerOffset] =
      static_cast<std::uint8_t>(static_cast<std::uint8_t>(opcode) << 4 | (owner ? 1 : 0));
}

Cqe Cqe::read(ByteView at) {
  Cqe cqe;
  cqe.immediate = load_be32(at + 36);
  cqe.byte_count = load_be32(at + 44);
  cqe.source_qpn = Qpn(load_be32(at + 48));
  cqe.flags = at[52];
  std::copy_n(at, kInlineBytes, cqe.inline_data.begin());
  cqe.vendor_syndrome = at[54];
  cqe.status = static_cast<CompletionStatus>(at[55]);
  cqe.qpn = Qpn(load_be24(at + 57));
  cqe.wqe_counter = load_be16(at + 60);
  cqe.opcode = static_cast<CqeOpcode>(at[kOwnerOffset] >> 4);
  cqe.owner = (at[kOwnerOffset] & 1) != 0;
  return cqe;
}

void CqContext::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  at[0] = valid ? 1 : 0;
  at[1] = log_size;
  store_be64(at + 8, ring.value());
  store_be64(at + 16, doorbell_record.value());
  store_be32(at + 24, producer_index);
  store_be32(at + 28, eqn);
  store_be16(at + 32, moderation_count);
  store_be16(at + 34, moderation_period_us);
  at[36] = overrun ? 1 : 0;
}

CqContext CqContext::read(ByteView at) {
  CqContext context;
  context.valid = at[0] != 0;
  context.log_size = at[1];
  context.ring = PhysicalAddress(load_be64(at + 8));
  context.doorbell_record = PhysicalAddress(load_be64(at + 16));
  context.producer_index = load_be32(at + 24);
  context.eqn = load_be32(at + 28);
  context.moderation_count = load_be16(at + 32);
  context.moderation_period_us = load_be16(at + 34);
  context.overrun = at[36] != 0;
  return context;
}

void Eqe::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  at[1] = static_cast<std::uint8_t>(type);
  store_be32(at + 8, object);
  store_be32(at + 12, fault.key.value());
  store_be64(at + 16, fault.address.value());
  store_be32(at + 24, fault.bytes);
  store_be32(at + 28, fault.ahead);
  at[32] = fault.own ? 1 : 0;
  at[kOwnerOffset] = owner ? 1 : 0;
}

Eqe Eqe::read(ByteView at) {
  Eqe eqe;
  eqe.type = static_cast<EventType>(at[1]);
  eqe.object = load_be32(at + 8);
  eqe.fault.key = MemoryKey(load_be32(at + 12));
  eqe.fault.address = VirtualAddress(load_be64(at + 16));
  eqe.fault.bytes = load_be32(at + 24);
  eqe.fault.ahead = load_be32(at + 28);
  eqe.fault.own = at[32] != 0;
  eqe.owner = (at[kOwnerOffset] & 1) != 0;
  return eqe;
}

void EqContext::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  at[0] = log_size;
  store_be32(at + 4, msix_data);
  store_be64(at + 8, ring.value());
  store_be64(at + 16, msix_address.value());
}

EqContext EqContext::read(ByteView at) {
  EqContext context;
  context.log_size = at[0];
  context.msix_data = load_be32(at + 4);
  context.ring = PhysicalAddress(load_be64(at + 8));
  context.msix_address = PhysicalAddress(load_be64(at + 16));
  return context;
}

void SrqContext::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  at[0] = valid ? 1 : 0;
  at[1] = log_entries;
  at[2] = log_segments;
  store_be32(at + 4, pd.value());
  store_be64(at + 8, ring.value());
  store_be64(at + 16, doorbell_record.value());
  store_be32(at + 24, consumer);
  store_be16(at + 28, limit);
}

SrqContext SrqContext::read(ByteView at) {
  SrqContext context;
  context.valid = at[0] != 0;
  context.log_entries = at[1];
  context.log_segments = at[2];
  context.pd = PdNumber(load_be32(at + 4));
  context.ring = PhysicalAddress(load_be64(at + 8));
  context.doorbell_record = PhysicalAddress(load_be64(at + 16));
  context.consumer = load_be32(at + 24);
  context.limit = load_be16(at + 28);
  return context;
}

void KeyEntry::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  at[0] = valid ? 1 : 0;
  at[1] = access.bits();
  at[2] = levels;
  at[3] = log_page_size;
  store_be32(at + 4, key.value());
  store_be32(at + 8, pd.value());
  store_be24(at + 12, qpn.value());
  at[15] = window ? 1 : 0;
  store_be64(at + 16, start.value());
  store_be64(at + 24, length);
  store_be64(at + 32, table.value());
  store_be64(at + 40, base.value());
}

KeyEntry KeyEntry::read(ByteView at) {
  KeyEntry entry;
  entry.valid = at[0] != 0;
  entry.access = AccessFlags(at[1]);
  entry.levels = at[2];
  entry.log_page_size = at[3];
  entry.key = MemoryKey(load_be32(at + 4));
  entry.pd = PdNumber(load_be32(at + 8));
  entry.qpn = Qpn(load_be24(at + 12));
  entry.window = at[15] != 0;
  entry.start = VirtualAddress(load_be64(at + 16));
  entry.length = load_be64(at + 24);
  entry.table = PhysicalAddress(load_be64(at + 32));
  entry.base = VirtualAddress(load_be64(at + 40));
  return entry;
}

void TableEntry::write(ByteSpan at) const {
  store_be64(at, (address.value() & ~std::uint64_t{1}) | (present ? 1 : 0));
}

TableEntry TableEntry::read(ByteView at) {
  const std::uint64_t value = load_be64(at);
  TableEntry entry;
  entry.present = (value & 1) != 0;
  entry.address = PhysicalAddress(value & ~std::uint64_t{1});
  return entry;
}

void QpContext::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  at[0] = static_cast<std::uint8_t>(state);
  at[1] = static_cast<std::uint8_t>(transport);
  at[2] = access.bits();
  at[3] = mtu_code;
  store_be32(at + 4, pd.value());
  store_be32(at + 8, send_cqn.value());
  store_be32(at + 12, receive_cqn.value());
  store_be64(at + 16, send_ring.value());
  at[24] = log_send_blocks;
  at[25] = ack_timeout;
  at[26] = retry_count;
  at[27] = rnr_retry;
  store_be32(at + 28, remote_qpn.value());
  store_be64(at + 32, doorbell_record.value());
  store_be32(at + 40, next_send_psn.value());
  store_be32(at + 44, expected_psn.value());
  store_be32(at + 48, msn);
  store_be32(at + 52, remote_ip.value());
  std::copy(remote_mac.begin(), remote_mac.end(), at + 56);
  store_be16(at + 62, udp_source_port);
  store_be16(at + 64, send_producer);
  store_be16(at + 66, send_consumer);
  store_be32(at + 68, work_requests);
  at[72] = dscp;
  at[73] = min_rnr_timer;
  at[74] = max_rd_atomic;
  at[75] = max_dest_rd_atomic;
  store_be32(at + 76, qkey);
  store_be64(at + 80, receive_ring.value());
  at[88] = log_receive_entries;
  at[89] = log_receive_segments;
  at[90] = flags;
  at[91] = service_level;
  store_be32(at + 92, srqn);
  store_be32(at + 96, receive_consumer);
  store_be16(at + 100, remote_lid);
}

QpContext QpContext::read(ByteView at) {
  QpContext context;
  context.state = static_cast<QpState>(at[0]);
  context.transport = static_cast<Transport>(at[1]);
  context.access = AccessFlags(at[2]);
  context.mtu_code = at[3];
  context.pd = PdNumber(load_be32(at + 4));
  context.send_cqn = Cqn(load_be32(at + 8));
  context.receive_cqn = Cqn(load_be32(at + 12));
  context.send_ring = PhysicalAddress(load_be64(at + 16));
  context.log_send_blocks = at[24];
  context.ack_timeout = at[25];
  context.retry_count = at[26];
  context.rnr_retry = at[27];
  context.remote_qpn = Qpn(load_be32(at + 28));
  context.doorbell_record = PhysicalAddress(load_be64(at + 32));
  context.next_send_psn = Psn(load_be32(at + 40));
  context.expected_psn = Psn(load_be32(at + 44));
  context.msn = load_be32(at + 48);
  context.remote_ip = Ipv4Address(load_be32(at + 52));
  std::copy_n(at + 56, context.remote_mac.size(), context.remote_mac.begin());
  context.udp_source_port = load_be16(at + 62);
  context.send_producer = load_be16(at + 64);
  context.send_consumer = load_be16(at + 66);
  context.work_requests = load_be32(at + 68);
  context.dscp = at[72];
  context.min_rnr_timer = at[73];
  context.max_rd_atomic = at[74];
  context.max_dest_rd_atomic = at[75];
  context.qkey = load_be32(at + 76);
  context.receive_ring = PhysicalAddress(load_be64(at + 80));
  context.log_receive_entries = at[88];
  context.log_receive_segments = at[89];
  context.flags = at[90];
  context.service_level = at[91];
  context.srqn = load_be32(at + 92);
  context.receive_consumer = load_be32(at + 96);
  context.remote_lid = load_be16(at + 100);
  return context;
}

void CommandEntry::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  store_be16(at, static_cast<std::uint16_t>(opcode));
  at[2] = modifier;
  store_be32(at + 4, object);
  store_be64(at + 8, mailbox.value());
  at[kStatusOffset] = static_cast<std::uint8_t>(status);
  at[kOwnerOffset] = hardware_owned ? 1 : 0;
}

CommandEntry CommandEntry::read(ByteView at) {
  CommandEntry entry;
  entry.opcode = static_cast<CommandOpcode>(load_be16(at));
  entry.modifier = at[2];
  entry.object = load_be32(at + 4);
  entry.mailbox = PhysicalAddress(load_be64(at + 8));
  entry.status = static_cast<CommandStatus>(at[kStatusOffset]);
  entry.hardware_owned = at[kOwnerOffset] != 0;
  return entry;
}

void HcaTables::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  store_be64(at, qp_contexts.value());
  store_be64(at + 8, cq_contexts.value());
  store_be64(at + 16, key_entries.value());
  at[24] = log_qps;
  at[25] = log_cqs;
  at[26] = log_keys;
  at[27] = log_srqs;
  store_be64(at + 32, srq_contexts.value());
}

HcaTables HcaTables::read(ByteView at) {
  HcaTables tables;
  tables.qp_contexts = PhysicalAddress(load_be64(at));
  tables.cq_contexts = PhysicalAddress(load_be64(at + 8));
  tables.key_entries = PhysicalAddress(load_be64(at + 16));
  tables.log_qps = at[24];
  tables.log_cqs = at[25];
  tables.log_keys = at[26];
  tables.log_srqs = at[27];
  tables.srq_contexts = PhysicalAddress(load_be64(at + 32));
  return tables;
}

}  // namespace rnicsim::abi

// SPDX-License-Identifier: MIT
#include "model/nic_abi.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <vector>

namespace rnicsim::abi {
namespace {

using Image = std::vector<std::uint8_t>;

/// The bytes of an image that are not zero, by offset: what the layout's documentation lists.
Image image(std::size_t size, const std::map<std::size_t, Image>& parts) {
  Image bytes(size, 0);
  for (const auto& [offset, part] : parts) std::copy(part.begin(), part.end(), &bytes[offset]);
  return bytes;
}

/// The structure written over memory full of rubbish, with a guard byte behind it.
template <class Structure>
Image written(const Structure& structure, std::size_t size) {
  Image bytes(size + 1, 0xee);
  structure.write(bytes.data());
  REQUIRE(bytes.back() == 0xee);
  bytes.pop_back();
  return bytes;
}

/// Asserts the exact bytes, and that reading and writing them again loses nothing.
template <class Structure>
void check_image(const Structure& structure, const Image& expected) {
  REQUIRE(written(structure, expected.size()) == expected);
  REQUIRE(written(Structure::read(expected.data()), expected.size()) == expected);
}

constexpr std::uint64_t kAddress = 0x0102030405060708;
const Image kAddressBytes = {1, 2, 3, 4, 5, 6, 7, 8};

TEST_CASE("A control segment has the documented bytes") {
  ControlSegment segment;
  segment.wqe_index = 0x1234;
  segment.opcode = WqeOpcode::kRdmaWrite;
  segment.qpn = Qpn(0xabcdef);
  segment.segments = 3;
  segment.flags = ControlSegment::kSignaled | ControlSegment::kSolicited;
  segment.immediate = 0xdeadbeef;
  check_image(segment, {0, 0x12, 0x34, 0x08, 0xab, 0xcd, 0xef, 3,  //
                        0, 0, 0, 0x0a, 0xde, 0xad, 0xbe, 0xef});
  const Image bytes = written(segment, kSegmentBytes);
  const ControlSegment again = ControlSegment::read(bytes.data());
  REQUIRE(again.wqe_index == 0x1234);
  REQUIRE(again.opcode == WqeOpcode::kRdmaWrite);
  REQUIRE(again.qpn == Qpn(0xabcdef));
  REQUIRE(again.segments == 3);
  REQUIRE(again.flags == 0x0a);
  REQUIRE(again.immediate == 0xdeadbeef);
}

TEST_CASE("A control segment counts its basic blocks") {
  ControlSegment segment;
  segment.segments = 3;
  REQUIRE(segment.blocks() == 1);
  segment.segments = 4;
  REQUIRE(segment.blocks() == 1);
  segment.segments = 5;
  REQUIRE(segment.blocks() == 2);
}

TEST_CASE("A remote address segment has the documented bytes") {
  RemoteAddressSegment segment;
  segment.address = VirtualAddress(kAddress);
  segment.rkey = MemoryKey(0x112233, 0x44);
  check_image(segment, {1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x22, 0x33, 0x44, 0, 0, 0, 0});
}

TEST_CASE("A data segment has the documented bytes and never the inline flag") {
  DataSegment segment;
  segment.byte_count = 0x80010203;
  segment.lkey = MemoryKey(0xa1a2a3a4);
  segment.address = VirtualAddress(kAddress);
  check_image(segment, {0, 1, 2, 3, 0xa1, 0xa2, 0xa3, 0xa4, 1, 2, 3, 4, 5, 6, 7, 8});
  REQUIRE_FALSE(InlineSegment::is_inline(written(segment, kSegmentBytes).data()));
}

TEST_CASE("An inline segment is told from a data segment by its first bit") {
  InlineSegment segment;
  segment.byte_count = 0x2c;
  check_image(segment, {0x80, 0, 0, 0x2c});
  const Image bytes = written(segment, InlineSegment::kHeaderBytes);
  REQUIRE(InlineSegment::is_inline(bytes.data()));
  REQUIRE(InlineSegment::read(bytes.data()).byte_count == 0x2c);
}

TEST_CASE("A doorbell record has the documented bytes") {
  DoorbellRecord record;
  record.receive_counter = 0x01020304;
  record.send_counter = 0x0000fffe;
  check_image(record, {1, 2, 3, 4, 0, 0, 0xff, 0xfe});
}

TEST_CASE("A completion has the documented bytes") {
  Cqe cqe;
  cqe.opcode = CqeOpcode::kRequestError;
  cqe.owner = true;
  cqe.status = CompletionStatus::kRemoteAccessError;
  cqe.vendor_syndrome = 0x88;
  cqe.qpn = Qpn(0x00a1b2);
  cqe.wqe_counter = 0xfedc;
  cqe.byte_count = 0x00010000;
  cqe.immediate = 0x0badcafe;
  cqe.source_qpn = Qpn(0x414243);
  cqe.flags = Cqe::kInlineData | Cqe::kGrh;
  cqe.inline_data[0] = 0x51;
  cqe.inline_data[31] = 0x52;
  check_image(cqe, image(64, {{0, {0x51}},
                              {31, {0x52}},
                              {49, {0x41, 0x42, 0x43, 3}},
                              {36, {0x0b, 0xad, 0xca, 0xfe}},
                              {44, {0, 1, 0, 0}},
                              {54, {0x88, 10, 0, 0x00, 0xa1, 0xb2, 0xfe, 0xdc}},
                              {63, {0xd1}}}));
}

TEST_CASE("A fresh completion entry is invalid and not owned") {
  REQUIRE(written(Cqe{}, 64) == image(64, {{63, {0xf0}}}));
}

TEST_CASE("A completion queue context has the documented bytes") {
  CqContext context;
  context.valid = true;
  context.log_size = 7;
  context.ring = PhysicalAddress(kAddress);
  context.doorbell_record = PhysicalAddress(0x1000);
  context.producer_index = 0x90919293;
  context.eqn = 0x94959697;
  context.moderation_count = 0x0102;
  context.moderation_period_us = 0x0304;
  context.overrun = true;
  check_image(context, image(64, {{0, {1, 7}},
                                  {8, kAddressBytes},
                                  {22, {0x10, 0}},
                                  {24, {0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97}},
                                  {32, {1, 2, 3, 4, 1}}}));
}

TEST_CASE("A key entry has the documented bytes") {
  KeyEntry entry;
  entry.valid = true;
  entry.access = AccessFlags(AccessFlags::kLocalWrite | AccessFlags::kRemoteWrite);
  entry.levels = 3;
  entry.log_page_size = 21;
  entry.key = MemoryKey(0x000102, 0x7f);
  entry.pd = PdNumber(0x00c0ffee);
  entry.start = VirtualAddress(kAddress);
  entry.length = 0x4000000000;
  entry.table = PhysicalAddress(0x0000123456789000);
  entry.base = VirtualAddress(0x0102030405060000);
  entry.window = true;
  entry.qpn = Qpn(0x616263);
  check_image(entry, image(64, {{0, {1, 3, 3, 21}},
                                {4, {0, 1, 2, 0x7f}},
                                {8, {0, 0xc0, 0xff, 0xee, 0x61, 0x62, 0x63, 1}},
                                {16, kAddressBytes},
                                {24, {0, 0, 0, 0x40, 0, 0, 0, 0}},
                                {32, {0, 0, 0x12, 0x34, 0x56, 0x78, 0x90, 0}},
                                {40, {1, 2, 3, 4, 5, 6, 0, 0}}}));
}

TEST_CASE("A translation table entry is an address with a present bit") {
  TableEntry entry;
  entry.present = true;
  entry.address = PhysicalAddress(0x0000123456789000);
  check_image(entry, {0, 0, 0x12, 0x34, 0x56, 0x78, 0x90, 1});
  const Image bytes = written(entry, kTableEntryBytes);
  REQUIRE(TableEntry::read(bytes.data()).present);
  REQUIRE(TableEntry::read(bytes.data()).address == PhysicalAddress(0x0000123456789000));
  check_image(TableEntry{}, Image(8, 0));
}

TEST_CASE("A queue pair context has the documented bytes") {
  QpContext context;
  context.state = QpState::kRts;
  context.transport = Transport::kUc;
  context.access = AccessFlags(AccessFlags::kRemoteWrite);
  context.mtu_code = 3;
  context.pd = PdNumber(0x010203);
  context.send_cqn = Cqn(0x111213);
  context.receive_cqn = Cqn(0x212223);
  context.send_ring = PhysicalAddress(kAddress);
  context.log_send_blocks = 8;
  context.ack_timeout = 14;
  context.retry_count = 7;
  context.rnr_retry = 6;
  context.remote_qpn = Qpn(0x313233);
  context.doorbell_record = PhysicalAddress(0x4142434445464748);
  context.next_send_psn = Psn(0x515253);
  context.expected_psn = Psn(0x616263);
  context.msn = 0x717273;
  context.remote_ip = Ipv4Address(0x0a000102);
  context.remote_mac = {0x02, 0, 0, 0, 0x0b, 0x0c};
  context.udp_source_port = 0xc123;
  context.send_producer = 0x8182;
  context.send_consumer = 0x8384;
  context.work_requests = 0x91929394;
  context.dscp = 26;
  context.min_rnr_timer = 12;
  context.max_rd_atomic = 16;
  context.max_dest_rd_atomic = 8;
  context.qkey = 0xa1a2a3a4;
  context.receive_ring = PhysicalAddress(kAddress);
  context.log_receive_entries = 9;
  context.log_receive_segments = 2;
  context.flags = QpContext::kHasReceiveQueue | QpContext::kInlineReceive;
  context.srqn = 0xb1b2b3b4;
  context.receive_consumer = 0xc1c2c3c4;
  context.remote_lid = 0xd1d2;
  context.service_level = 11;
  check_image(context,
              image(256, {{0, {3, 1, 2, 3}},
                          {5, {1, 2, 3, 0, 0x11, 0x12, 0x13, 0, 0x21, 0x22, 0x23}},
                          {16, kAddressBytes},
                          {24, {8, 14, 7, 6, 0, 0x31, 0x32, 0x33}},
                          {32, {0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48}},
                          {41, {0x51, 0x52, 0x53, 0, 0x61, 0x62, 0x63}},
                          {49, {0x71, 0x72, 0x73, 10, 0, 1, 2}},
                          {56, {2, 0, 0, 0, 0x0b, 0x0c, 0xc1, 0x23}},
                          {64, {0x81, 0x82, 0x83, 0x84, 0x91, 0x92, 0x93, 0x94, 26, 12, 16, 8}},
                          {76, {0xa1, 0xa2, 0xa3, 0xa4}},
                          {80, kAddressBytes},
                          {88, {9, 2, 3, 11, 0xb1, 0xb2, 0xb3, 0xb4}},
                          {96, {0xc1, 0xc2, 0xc3, 0xc4, 0xd1, 0xd2}}}));
}

TEST_CASE("A command entry has the documented bytes") {
  CommandEntry entry;
  entry.opcode = CommandOpcode::kDisableKey;
  entry.object = 0x00010203;
  entry.mailbox = PhysicalAddress(kAddress);
  entry.status = CommandStatus::kBadState;
  entry.hardware_owned = true;
  check_image(entry, image(64, {{1, {8}}, {5, {1, 2, 3}}, {8, kAddressBytes}, {62, {3, 1}}}));
}

TEST_CASE("The table addresses of the NIC's initialisation have the documented bytes") {
  HcaTables tables;
  tables.qp_contexts = PhysicalAddress(kAddress);
  tables.cq_contexts = PhysicalAddress(0x1000);
  tables.key_entries = PhysicalAddress(0x2000);
  tables.log_qps = 16;
  tables.log_cqs = 15;
  tables.log_keys = 14;
  tables.log_srqs = 13;
  tables.srq_contexts = PhysicalAddress(0x3000);
  check_image(
      tables,
      image(
          64,
          {{0, kAddressBytes}, {14, {0x10}}, {22, {0x20}}, {24, {16, 15, 14, 13}}, {38, {0x30}}}));
}

TEST_CASE("An atomic segment has the documented bytes") {
  check_image(AtomicSegment{kAddress, 0x1112131415161718},
              {1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18});
}

TEST_CASE("A datagram's address vector has the documented bytes") {
  DatagramSegment segment;
  segment.qkey = 0x01020304;
  segment.qpn = Qpn(0x111213);
  segment.ip = Ipv4Address(0x0a000102);
  segment.udp_source_port = 0xc123;
  segment.dscp = 26;
  segment.mac = {0x02, 0, 0, 0, 0x0b, 0x0c};
  segment.lid = 0xd1d2;
  segment.service_level = 11;
  check_image(segment, image(48, {{0, {1, 2, 3, 4, 0, 0x11, 0x12, 0x13, 10, 0, 1, 2}},
                                  {12, {0xc1, 0x23, 26, 11}},
                                  {16, {2, 0, 0, 0, 0x0b, 0x0c, 0xd1, 0xd2}}}));
}

TEST_CASE("A bind segment has the documented bytes") {
  BindSegment segment;
  segment.window = MemoryKey(0x010203, 4);
  segment.region = MemoryKey(0x111213, 0x14);
  segment.address = VirtualAddress(kAddress);
  segment.length = 0x2122232425262728;
  segment.access = AccessFlags(AccessFlags::kRemoteWrite | AccessFlags::kRemoteRead);
  check_image(segment, image(32, {{0, {1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14}},
                                  {8, kAddressBytes},
                                  {16, {0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 6}}}));
}

TEST_CASE("An event entry and an event queue's context have the documented bytes") {
  Eqe eqe;
  eqe.type = EventType::kCqError;
  eqe.object = 0x01020304;
  eqe.owner = true;
  check_image(eqe, image(64, {{1, {4}}, {8, {1, 2, 3, 4}}, {63, {1}}}));
  EqContext context;
  context.log_size = 7;
  context.msix_data = 0x01020304;
  context.ring = PhysicalAddress(kAddress);
  context.msix_address = PhysicalAddress(0xfee00000);
  check_image(context,
              image(64, {{0, {7, 0, 0, 0, 1, 2, 3, 4}}, {8, kAddressBytes}, {20, {0xfe, 0xe0}}}));
}

TEST_CASE("A shared receive queue's context has the documented bytes") {
  SrqContext context;
  context.valid = true;
  context.log_entries = 10;
  context.log_segments = 1;
  context.pd = PdNumber(0x010203);
  context.ring = PhysicalAddress(kAddress);
  context.doorbell_record = PhysicalAddress(0x1112131415161718);
  context.consumer = 0x21222324;
  context.limit = 0x3132;
  check_image(context, image(64, {{0, {1, 10, 1, 0, 0, 1, 2, 3}},
                                  {8, kAddressBytes},
                                  {16, {0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18}},
                                  {24, {0x21, 0x22, 0x23, 0x24, 0x31, 0x32}}}));
}

}  // namespace
}  // namespace rnicsim::abi

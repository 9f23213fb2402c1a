// SPDX-License-Identifier: MIT
#include "host/wqe_builder.h"

#include <catch2/catch.hpp>
#include <vector>

#include "model/byte_order.h"
#include "tests/support/verbs_session.h"

using namespace rnicsim;
using Op = abi::WqeOpcode;
using ByteVector = std::vector<std::uint8_t>;

namespace {

struct Builder {
  test::SoftwareHost host;
  VirtualAddress buffer = *host.pages.map(Bytes(8192), PageSize::k4KiB);
  ScatterGather list[2] = {{buffer, 8, MemoryKey(0x101)}, {buffer, 0, MemoryKey(0x202)}};
  SendQueueTraits queue{Qpn(7), Transport::kRc, 220, 0x1234};
  SendRequest request;
  BuiltWqe wqe;

  Errno build(Op opcode, std::uint32_t pieces) {
    wqe = {};
    request.opcode = opcode;
    request.list = list;
    request.list_length = pieces;
    request.remote_address = VirtualAddress(0x8877665544332211);
    request.rkey = MemoryKey(0xabcd);
    return build_wqe(wqe, queue, request, host.pages);
  }
  abi::ControlSegment head() const { return abi::ControlSegment::read(wqe.bytes); }
};

}  // namespace

TEST_CASE("Every opcode has its segments in the order of the interface, and only those") {
  Builder b;
  struct Row {
    Op opcode;
    std::uint32_t pieces;
    unsigned segments;
  };
  for (const Row& row :
       {Row{Op::kNop, 0, 1}, Row{Op::kSend, 1, 2}, Row{Op::kSendImm, 1, 2},
        Row{Op::kSendInvalidate, 1, 2}, Row{Op::kRdmaWrite, 1, 3}, Row{Op::kRdmaWriteImm, 0, 2},
        Row{Op::kRdmaRead, 1, 3}, Row{Op::kAtomicCompareSwap, 1, 4}, Row{Op::kAtomicFetchAdd, 1, 4},
        Row{Op::kBindWindow, 0, 3}, Row{Op::kLocalInvalidate, 0, 1}}) {
    REQUIRE(b.build(row.opcode, row.pieces) == Errno::kOk);
    REQUIRE(b.head().segments == row.segments);
    REQUIRE(b.head().opcode == row.opcode);
    REQUIRE(b.head().wqe_index == 0x1234);
    REQUIRE(b.wqe.length == row.segments * 16);
  }
}

TEST_CASE("Compare-and-swap and fetch-and-add put their operands where the NIC looks for them") {
  Builder b;
  b.request.compare_add = 11;
  b.request.swap = 22;
  REQUIRE(b.build(Op::kAtomicCompareSwap, 1) == Errno::kOk);
  abi::AtomicSegment atomic = abi::AtomicSegment::read(b.wqe.bytes + 32);
  REQUIRE(atomic.compare == 11);
  REQUIRE(atomic.swap_or_add == 22);
  REQUIRE(b.build(Op::kAtomicFetchAdd, 1) == Errno::kOk);
  atomic = abi::AtomicSegment::read(b.wqe.bytes + 32);
  REQUIRE(atomic.swap_or_add == 11);
  REQUIRE(atomic.compare == 0);
  REQUIRE(abi::DataSegment::read(b.wqe.bytes + 48).byte_count == 8);
  b.list[0].length = 4;
  REQUIRE(b.build(Op::kAtomicFetchAdd, 1) == Errno::kInvalid);
}

TEST_CASE("Flags, immediate and the key to invalidate stand in the control segment") {
  Builder b;
  b.request.immediate = 0x01020304;
  b.request.invalidate = MemoryKey(0x0a0b0c0d);
  b.request.fence = true;
  b.request.solicited = true;
  REQUIRE(b.build(Op::kSendImm, 1) == Errno::kOk);
  REQUIRE(b.head().immediate == 0x01020304);
  REQUIRE(b.head().flags == (0x80 | 0x08 | 0x02));
  b.request.signaled = false;
  REQUIRE(b.build(Op::kSendInvalidate, 1) == Errno::kOk);
  REQUIRE(b.head().immediate == 0x0a0b0c0d);
  REQUIRE(b.head().flags == (0x80 | 0x02));
  REQUIRE(b.build(Op::kLocalInvalidate, 0) == Errno::kOk);
  REQUIRE(b.head().immediate == 0x0a0b0c0d);
}

TEST_CASE("A bind carries the window's new key and the part of the region") {
  Builder b;
  b.request.bind = {MemoryKey(0x502), MemoryKey(0x301), VirtualAddress(0x7000), 4096,
                    AccessFlags(AccessFlags::kRemoteWrite)};
  REQUIRE(b.build(Op::kBindWindow, 0) == Errno::kOk);
  const abi::BindSegment bind = abi::BindSegment::read(b.wqe.bytes + 16);
  REQUIRE(bind.window == MemoryKey(0x502));
  REQUIRE(bind.region == MemoryKey(0x301));
  REQUIRE(bind.address == VirtualAddress(0x7000));
  REQUIRE(bind.length == 4096);
  REQUIRE(bind.access.bits() == AccessFlags::kRemoteWrite);
  REQUIRE(b.build(Op::kBindWindow, 1) == Errno::kInvalid);
}

TEST_CASE("A datagram has its address vector before its data") {
  Builder b;
  b.queue.transport = Transport::kUd;
  b.request.to = {abi::Ipv4Address(0x0a000002), {2, 0, 0, 0, 0, 9}, 49152, 26};
  b.request.remote_qpn = Qpn(0x77);
  b.request.remote_qkey = 0x11111111;
  REQUIRE(b.build(Op::kSendImm, 1) == Errno::kOk);
  REQUIRE(b.head().segments == 5);
  const abi::DatagramSegment to = abi::DatagramSegment::read(b.wqe.bytes + 16);
  REQUIRE(to.qkey == 0x11111111);
  REQUIRE(to.qpn == Qpn(0x77));
  REQUIRE(to.ip == abi::Ipv4Address(0x0a000002));
  REQUIRE(to.udp_source_port == 49152);
  REQUIRE(to.dscp == 26);
  REQUIRE(to.mac == abi::MacAddress{2, 0, 0, 0, 0, 9});
  REQUIRE(abi::DataSegment::read(b.wqe.bytes + 64).byte_count == 8);
}

/// Kalia et al., "Design guidelines for high performance RDMA systems" (ATC 2016), 2.2.2 and 5.3.2.
TEST_CASE("Before inline data stand 36 B of a WRITE and 68 B of a datagram, as on a ConnectX") {
  Builder b;
  b.request.inline_data = true;
  const auto length_of = [&](Op opcode, std::uint32_t bytes) {
    b.list[0].length = bytes;
    REQUIRE(b.build(opcode, 1) == Errno::kOk);
    return b.wqe.length;
  };
  CHECK(length_of(Op::kRdmaWrite, 28) == abi::kWqeBlockBytes);
  CHECK(length_of(Op::kRdmaWrite, 29) == abi::kWqeBlockBytes + abi::kSegmentBytes);
  b.queue.transport = Transport::kUd;
  CHECK(length_of(Op::kSend, 1) == 68 + 12);
  CHECK(length_of(Op::kSend, 12) == 68 + 12);
  CHECK(length_of(Op::kSend, 13) == 68 + 28);
  CHECK(abi::kWqeBlockBytes == 64);
  CHECK(abi::kSendDoorbell == 0x800);
}

TEST_CASE("A transport has the opcodes that IBTA gives it") {
  Builder b;
  struct Row {
    Op opcode;
    std::uint32_t pieces;
    bool rc;
    bool uc;
    bool ud;
  };
  for (const Row& row :
       {Row{Op::kNop, 0, true, true, true}, Row{Op::kSend, 1, true, true, true},
        Row{Op::kSendImm, 1, true, true, true}, Row{Op::kSendInvalidate, 1, true, false, false},
        Row{Op::kRdmaWrite, 1, true, true, false}, Row{Op::kRdmaWriteImm, 1, true, true, false},
        Row{Op::kRdmaRead, 1, true, false, false},
        Row{Op::kAtomicCompareSwap, 1, true, false, false},
        Row{Op::kAtomicFetchAdd, 1, true, false, false}, Row{Op::kBindWindow, 0, true, true, false},
        Row{Op::kLocalInvalidate, 0, true, true, false}}) {
    const auto accepted = [&](Transport transport) {
      b.queue.transport = transport;
      return b.build(row.opcode, row.pieces) == Errno::kOk;
    };
    REQUIRE(accepted(Transport::kRc) == row.rc);
    REQUIRE(accepted(Transport::kUc) == row.uc);
    REQUIRE(accepted(Transport::kUd) == row.ud);
  }
}

TEST_CASE("Several pieces are as many segments, empty ones none, and an entry holds 63 of a SEND") {
  Builder b;
  b.list[1].length = 100;
  REQUIRE(b.build(Op::kSend, 2) == Errno::kOk);
  REQUIRE(b.wqe.payload == 108);
  REQUIRE(b.wqe.data_segments == 2);
  REQUIRE(abi::DataSegment::read(b.wqe.bytes + 32).lkey == MemoryKey(0x202));
  std::vector<ScatterGather> many(64, {b.buffer, 1, MemoryKey(0x101)});
  b.request.opcode = Op::kSend;
  b.request.list = many.data();
  for (const std::uint32_t pieces : {63u, 64u}) {
    b.request.list_length = pieces;
    b.wqe = {};
    REQUIRE((build_wqe(b.wqe, b.queue, b.request, b.host.pages) == Errno::kOk) == (pieces == 63));
  }
}

TEST_CASE("Inline data are gathered from all pieces, for SEND and WRITE only") {
  Builder b;
  const ByteVector data = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  b.host.pages.store(b.buffer, data.data(), data.size());
  b.request.inline_data = true;
  b.list[1] = {VirtualAddress(b.buffer.value() + 8), 2, MemoryKey()};
  REQUIRE(b.build(Op::kSend, 2) == Errno::kOk);
  REQUIRE(b.head().segments == 2);
  REQUIRE(load_be32(b.wqe.bytes + 16) == (0x80000000u | 10));
  REQUIRE(ByteVector(b.wqe.bytes + 20, b.wqe.bytes + 30) == data);
  REQUIRE(b.build(Op::kSendInvalidate, 2) == Errno::kOk);
  REQUIRE(b.build(Op::kRdmaRead, 1) == Errno::kInvalid);
  REQUIRE(b.build(Op::kAtomicFetchAdd, 1) == Errno::kInvalid);
}

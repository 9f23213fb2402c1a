// SPDX-License-Identifier: MIT
#include "nic/nic_port.h"

#include <catch2/catch.hpp>

using namespace rnicsim;

namespace {

constexpr abi::MacAddress kOurs = {2, 0, 0, 0, 0, 1};
constexpr abi::MacAddress kTheirs = {2, 0, 0, 0, 0, 9};

PortIdentity identity(std::uint32_t number) {
  return {number, kOurs, abi::Ipv4Address(0x0a000001)};
}

abi::QpContext context() {
  abi::QpContext qp;
  qp.remote_mac = kTheirs;
  qp.remote_ip = abi::Ipv4Address(0x0a000009);
  qp.remote_qpn = Qpn(0x123456);
  qp.udp_source_port = 0xc123;
  qp.dscp = 26;
  return qp;
}

}  // namespace

TEST_CASE("a packet carries the port's addresses, the queue pair's remote side, and nothing else") {
  PacketPool pool;
  NicPort port(identity(5), pool);
  const PacketRef packet = port.make(context(), RcOpcode::kWriteOnly, Psn(0xfffffe));
  CHECK(packet->eth.source == kOurs);
  CHECK(packet->eth.destination == kTheirs);
  CHECK(packet->ipv4.source == abi::Ipv4Address(0x0a000001));
  CHECK(packet->ipv4.destination == abi::Ipv4Address(0x0a000009));
  CHECK(packet->ipv4.dscp == 26);
  CHECK(packet->ipv4.ecn == Ecn::kCapable0);
  CHECK(packet->ipv4.identification == 1);
  CHECK(packet->udp.source_port == 0xc123);
  CHECK(packet->udp.destination_port == kRoceUdpPort);
  CHECK(packet->bth.opcode == RcOpcode::kWriteOnly);
  CHECK(packet->bth.dest_qp == Qpn(0x123456));
  CHECK(packet->bth.psn == Psn(0xfffffe));
  CHECK_FALSE(packet->bth.ack_req);
  CHECK(packet->payload_length == Bytes(0));
  CHECK_FALSE(packet->work_request);
  CHECK(packet->id == packet_id(5, 1));
  CHECK(port.identity().number == 5);
}

TEST_CASE("packets are numbered as they are made; of 65536 the IPv4 identification starts anew") {
  PacketPool pool;
  NicPort port(identity(5), pool);
  for (std::uint64_t n = 1; n <= 65538; ++n) {
    const PacketRef packet = port.make(context(), RcOpcode::kAcknowledge, Psn(7));
    REQUIRE(packet->id == packet_id(5, n));
    REQUIRE(packet->ipv4.identification == (n & 0xffff));
  }
  CHECK(pool.outstanding() == 0);
}

TEST_CASE("two ports number their packets apart") {
  PacketPool pool;
  NicPort one(identity(1), pool);
  NicPort two(identity(2), pool);
  CHECK(one.make(context(), RcOpcode::kWriteOnly, Psn(1))->id == packet_id(1, 1));
  CHECK(two.make(context(), RcOpcode::kWriteOnly, Psn(1))->id == packet_id(2, 1));
  CHECK(one.make(context(), RcOpcode::kWriteOnly, Psn(1))->id == packet_id(1, 2));
}

TEST_CASE("a packet of the pool brings nothing along from its last use") {
  PacketPool pool;
  NicPort port(identity(1), pool);
  {
    const PacketRef used = port.make(context(), RcOpcode::kWriteOnly, Psn(1));
    used->set_payload_length(Bytes(13));
    used->bth.ack_req = true;
    used->reth.dma_length = 13;
    used->work_request = WorkRequestId(0, Qpn(1), 1);
  }
  const PacketRef packet = port.make(abi::QpContext(), RcOpcode::kWriteOnly, Psn(2));
  CHECK(packet->payload_length == Bytes(0));
  CHECK(packet->bth.pad_count == 0);
  CHECK_FALSE(packet->bth.ack_req);
  CHECK(packet->reth.dma_length == 0);
  CHECK_FALSE(packet->work_request);
  CHECK(packet->eth.destination == abi::MacAddress{});
}

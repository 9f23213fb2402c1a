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
  const PacketRef packet = port.make(context(), Opcode::kWriteOnly, Psn(0xfffffe));
  CHECK(packet->eth.source == kOurs);
  CHECK(packet->eth.destination == kTheirs);
  CHECK(packet->ipv4.source == abi::Ipv4Address(0x0a000001));
  CHECK(packet->ipv4.destination == abi::Ipv4Address(0x0a000009));
  CHECK(packet->ipv4.dscp == 26);
  CHECK(packet->ipv4.ecn == Ecn::kNotCapable);
  CHECK(packet->ipv4.identification == 1);
  CHECK(packet->udp.source_port == 0xc123);
  CHECK(packet->udp.destination_port == kRoceUdpPort);
  CHECK(packet->bth.opcode == Opcode::kWriteOnly);
  CHECK(packet->bth.dest_qp == Qpn(0x123456));
  CHECK(packet->bth.psn == Psn(0xfffffe));
  CHECK_FALSE(packet->bth.ack_req);
  CHECK(packet->payload_length == Bytes(0));
  CHECK_FALSE(packet->work_request);
  CHECK(packet->id == packet_id(5, 1));
  CHECK(port.identity().number == 5);
}

TEST_CASE("packets are ECN capable once congestion control asks for it") {
  PacketPool pool;
  NicPort port(identity(5), pool);
  port.make_ecn_capable();
  CHECK(port.make(context(), Opcode::kWriteOnly, Psn(1))->ipv4.ecn == Ecn::kCapable0);
}

TEST_CASE("a packet has the link layer of its port, and GIDs from the addresses") {
  PacketPool pool;
  PortIdentity ours = identity(5);
  ours.link_layer = LinkLayer::kRoceV1;
  const PacketRef v1 = NicPort(ours, pool).make(context(), Opcode::kWriteOnly, Psn(1));
  CHECK(v1->ether_type() == kEtherTypeRoceV1);
  CHECK(v1->grh().source == link_local_gid(kOurs));
  CHECK(v1->grh().destination == link_local_gid(kTheirs));
  CHECK(v1->grh().next_header == kGrhNextHeaderBth);
  ours.link_layer = LinkLayer::kRoceV2;
  ours.ip_version = IpVersion::kIpv6;
  abi::DatagramSegment to;
  to.mac = kTheirs;
  to.ip = abi::Ipv4Address(0x0a000007);
  const PacketRef v6 = NicPort(ours, pool).make_datagram(context(), to, Qpn(3), Opcode::kSendOnly);
  CHECK(v6->ether_type() == kEtherTypeIpv6);
  CHECK(v6->grh().source == unique_local_gid(abi::Ipv4Address(0x0a000001)));
  CHECK(v6->grh().destination == unique_local_gid(abi::Ipv4Address(0x0a000007)));
  CHECK(v6->grh().next_header == kIpProtocolUdp);
}

TEST_CASE("a packet of InfiniBand has LIDs and service level, and no other address") {
  PacketPool pool;
  PortIdentity ours = identity(5);
  ours.link_layer = LinkLayer::kInfiniBand;
  ours.lid = 6;
  abi::QpContext qp = context();
  qp.remote_lid = 9;
  qp.service_level = 3;
  const PacketRef packet = NicPort(ours, pool).make(qp, Opcode::kWriteOnly, Psn(1));
  CHECK(packet->lrh.source == 6);
  CHECK(packet->lrh.destination == 9);
  CHECK(packet->lrh.service_level == 3);
  CHECK(packet->ipv4.source == abi::Ipv4Address());
  CHECK(packet->bth.dest_qp == Qpn(0x123456));
  abi::DatagramSegment to;
  to.lid = 7;
  to.service_level = 1;
  const PacketRef datagram =
      NicPort(ours, pool).make_datagram(context(), to, Qpn(3), Opcode::kSendOnly);
  CHECK(datagram->lrh.source == 6);
  CHECK(datagram->lrh.destination == 7);
  CHECK(datagram->lrh.service_level == 1);
}

TEST_CASE("packets are numbered as they are made; of 65536 the IPv4 identification starts anew") {
  PacketPool pool;
  NicPort port(identity(5), pool);
  for (std::uint64_t n = 1; n <= 65538; ++n) {
    const PacketRef packet = port.make(context(), Opcode::kAcknowledge, Psn(7));
    REQUIRE(packet->id == packet_id(5, n));
    REQUIRE(packet->ipv4.identification == (n & 0xffff));
  }
  CHECK(pool.outstanding() == 0);
}

TEST_CASE("two ports number their packets apart") {
  PacketPool pool;
  NicPort one(identity(1), pool);
  NicPort two(identity(2), pool);
  CHECK(one.make(context(), Opcode::kWriteOnly, Psn(1))->id == packet_id(1, 1));
  CHECK(two.make(context(), Opcode::kWriteOnly, Psn(1))->id == packet_id(2, 1));
  CHECK(one.make(context(), Opcode::kWriteOnly, Psn(1))->id == packet_id(1, 2));
}

TEST_CASE("a packet of the pool brings nothing along from its last use") {
  PacketPool pool;
  NicPort port(identity(1), pool);
  {
    const PacketRef used = port.make(context(), Opcode::kWriteOnly, Psn(1));
    used->set_payload_length(Bytes(13));
    used->bth.ack_req = true;
    used->reth.dma_length = 13;
    used->work_request = WorkRequestId(0, Qpn(1), 1);
  }
  const PacketRef packet = port.make(abi::QpContext(), Opcode::kWriteOnly, Psn(2));
  CHECK(packet->payload_length == Bytes(0));
  CHECK(packet->bth.pad_count == 0);
  CHECK_FALSE(packet->bth.ack_req);
  CHECK(packet->reth.dma_length == 0);
  CHECK_FALSE(packet->work_request);
  CHECK(packet->eth.destination == abi::MacAddress{});
}

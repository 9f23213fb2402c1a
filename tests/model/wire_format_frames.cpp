// SPDX-License-Identifier: MIT
// Writes one frame of every shape that a WRITE and its answers have to a capture file, for
// wire_format_judge.py, which holds the same list in its own words and has scapy and tshark read
// it.
//
// Usage: wire_format_frames FILE. Classic pcap with nanosecond times, Ethernet, no FCS.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "model/byte_order.h"
#include "model/icrc.h"
#include "model/packet.h"

namespace rnicsim {
namespace {

class Capture {
 public:
  explicit Capture(const std::string& path) : file_(path, std::ios::binary) {
    std::vector<std::uint8_t> header(24, 0);
    store_le32(&header[0], 0xa1b23c4d);  // nanoseconds
    store_le16(&header[4], 2);           // version 2.4
    store_le16(&header[6], 4);
    store_le32(&header[16], 65535);  // snapshot length
    store_le32(&header[20], 1);      // LINKTYPE_ETHERNET
    put(header);
  }
  void add(const Packet& packet) {
    packet.encode(frame_);
    std::vector<std::uint8_t> header(16, 0);
    store_le32(&header[4], ++count_);  // frame n at n ns
    store_le32(&header[8], static_cast<std::uint32_t>(frame_.size()));
    store_le32(&header[12], static_cast<std::uint32_t>(frame_.size()));
    put(header);
    put(frame_);
  }
  bool close() {
    file_.close();
    return !file_.fail();
  }

 private:
  void put(const std::vector<std::uint8_t>& bytes) {
    file_.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
  }
  std::ofstream file_;
  std::vector<std::uint8_t> frame_;
  std::uint32_t count_ = 0;
};

class Frames {
 public:
  explicit Frames(const std::string& path) : capture_(path) {}

  void request(RcOpcode opcode, std::uint32_t psn, std::uint64_t length, bool ack_req,
               bool elided = false) {
    PacketRef packet = pool_.create();
    address(*packet, 1, 2);
    packet->ipv4.dscp = 26;
    packet->ipv4.ecn = Ecn::kCapable0;
    packet->bth.opcode = opcode;
    packet->bth.dest_qp = Qpn(0x0a0b0c);
    packet->bth.psn = Psn(psn);
    packet->bth.ack_req = ack_req;
    packet->reth.virtual_address = VirtualAddress(0x7f0012345678);
    packet->reth.r_key = MemoryKey(0x00c0de42);
    packet->reth.dma_length = 0x00012345;
    packet->immdt.immediate = 0xcafef00d;
    packet->set_payload_length(Bytes(length));
    packet->payload_elided = elided;
    for (std::uint64_t i = 0; !elided && i < length; ++i)
      packet->payload()[i] = static_cast<std::uint8_t>(31 * i + psn);
    seal_icrc(*packet);
    capture_.add(*packet);
  }

  void answer(Aeth aeth, std::uint32_t psn) {
    PacketRef packet = pool_.create();
    address(*packet, 2, 1);
    packet->bth.opcode = RcOpcode::kAcknowledge;
    packet->bth.dest_qp = Qpn(0x000011);
    packet->bth.psn = Psn(psn);
    packet->aeth = aeth;
    seal_icrc(*packet);
    capture_.add(*packet);
  }

  /// As a switch under load leaves it: everything that the ICRC must not cover has changed.
  void changed_on_the_way(std::uint32_t psn) {
    PacketRef packet = pool_.create();
    address(*packet, 1, 2);
    packet->bth.opcode = RcOpcode::kWriteMiddle;
    packet->bth.dest_qp = Qpn(0x0a0b0c);
    packet->bth.psn = Psn(psn);
    packet->set_payload_length(Bytes(256));
    for (int i = 0; i < 256; ++i) packet->payload()[i] = static_cast<std::uint8_t>(i);
    seal_icrc(*packet);
    packet->ipv4.dscp = 10;
    packet->ipv4.ecn = Ecn::kCongestion;
    packet->ipv4.ttl = 61;
    packet->bth.fecn = true;
    capture_.add(*packet);
  }

  bool close() { return capture_.close(); }

 private:
  void address(Packet& packet, std::uint8_t from, std::uint8_t to) {
    packet.eth.source = {0x02, 0, 0, 0, 0, from};
    packet.eth.destination = {0x02, 0, 0, 0, 0, to};
    packet.ipv4.source = Ipv4Address(0x0a000000u + from);
    packet.ipv4.destination = Ipv4Address(0x0a000000u + to);
    packet.ipv4.identification = ++identification_;
    packet.udp.source_port = 0xc111;
  }

  PacketPool pool_;
  Capture capture_;
  std::uint16_t identification_ = 0;
};

bool write_frames(const std::string& path) {
  Frames frames(path);
  frames.request(RcOpcode::kWriteFirst, 0xfffffe, 4096, false);
  frames.request(RcOpcode::kWriteMiddle, 0xffffff, 4096, false);
  frames.request(RcOpcode::kWriteLast, 0, 1, true);
  frames.request(RcOpcode::kWriteLast, 1, 1022, true);
  frames.request(RcOpcode::kWriteLastImm, 2, 1023, true);
  frames.request(RcOpcode::kWriteOnly, 3, 0, true);
  frames.request(RcOpcode::kWriteOnly, 4, 1, true);
  frames.request(RcOpcode::kWriteOnly, 5, 2, false);
  frames.request(RcOpcode::kWriteOnly, 6, 3, true);
  frames.request(RcOpcode::kWriteOnly, 7, 4, true);
  frames.request(RcOpcode::kWriteOnlyImm, 8, 61, true);
  frames.request(RcOpcode::kWriteOnly, 9, 777, true, true);
  frames.request(RcOpcode::kSendOnly, 10, 0, true);
  frames.request(RcOpcode::kReadRequest, 11, 0, true);
  frames.changed_on_the_way(12);
  frames.answer(Aeth::ack(1), 0);
  frames.answer(Aeth::ack(0x123456, 7), 8);
  frames.answer(Aeth::nak(2, NakCode::kPsnSequenceError), 9);
  frames.answer(Aeth::nak(3, NakCode::kInvalidRequest), 10);
  frames.answer(Aeth::nak(4, NakCode::kRemoteAccessError), 11);
  frames.answer(Aeth::nak(5, NakCode::kRemoteOperationalError), 12);
  frames.answer(Aeth::rnr_nak(6, 14), 13);
  return frames.close();
}

}  // namespace
}  // namespace rnicsim

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: wire_format_frames FILE\n");
    return 2;
  }
  if (!rnicsim::write_frames(argv[1])) {
    std::fprintf(stderr, "wire_format_frames: cannot write %s\n", argv[1]);
    return 1;
  }
  return 0;
}

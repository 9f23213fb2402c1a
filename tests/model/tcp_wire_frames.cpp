// SPDX-License-Identifier: MIT
// Writes segments to a capture file for tcp_wire_judge.py, which holds the same list in its own
// words and has scapy and tshark read it: every flag and option, data of odd and even length, with
// its bytes and without.
//
// Usage: tcp_wire_frames FILE. Classic pcap with nanosecond times, Ethernet, no FCS.
#include <cstdint>
#include <cstdio>
#include <string>

#include "model/icrc.h"
#include "model/packet.h"
#include "tests/support/frame_file.h"

namespace rnicsim {
namespace {

class Segments {
 public:
  explicit Segments(const std::string& path) : file_(path) {}

  void add(const TcpHeader& header, std::uint64_t length = 0, Ecn ecn = Ecn::kNotCapable,
           bool elided = false) {
    const PacketRef packet = pool_.create();
    packet->eth.source = {2, 0, 0, 0, 0, 1};
    packet->eth.destination = {2, 0, 0, 0, 0, 2};
    packet->ipv4.source = Ipv4Address(0x0a000001);
    packet->ipv4.destination = Ipv4Address(0x0a000002);
    packet->ipv4.identification = ++identification_;
    packet->ipv4.ecn = ecn;
    packet->become_tcp(header, Bytes(length), elided);
    for (std::uint64_t i = 0; !elided && i < length; ++i)
      packet->payload()[i] = static_cast<std::uint8_t>(31 * i + identification_);
    seal_icrc(*packet);
    file_.add(*packet, Time::ns(identification_));
  }
  bool close() { return file_.close(); }

 private:
  PacketPool pool_;
  test::FrameFile file_;
  std::uint16_t identification_ = 0;
};

TcpHeader plain() {
  TcpHeader header;
  header.source_port = 40000;
  header.destination_port = 5001;
  header.sequence = TcpSeq(0xfffffff0);
  header.acknowledgement = TcpSeq(0x01020304);
  header.ack = true;
  header.window = 0x1234;
  return header;
}

TcpHeader stamped() {
  TcpHeader header = plain();
  header.has_timestamps = true;
  header.timestamp = 0x0a0b0c0d;
  header.timestamp_echo = 0x01000002;
  return header;
}

TcpHeader syn() {
  TcpHeader header = stamped();
  header.syn = true;
  header.ack = false;
  header.acknowledgement = TcpSeq(0);
  header.mss = 8960;
  header.sack_permitted = true;
  header.has_window_scale = true;
  header.window_scale = 7;
  header.ece = header.cwr = true;
  return header;
}

TcpHeader with_sack(TcpHeader header, std::uint8_t blocks) {
  header.sack_blocks = blocks;
  for (std::uint32_t i = 0; i < blocks; ++i)
    header.sack[i] = {TcpSeq(0x01020304 + 3000 * (i + 1)), TcpSeq(0x01020304 + 3000 * (i + 1) + 9)};
  return header;
}

bool write_segments(const std::string& path) {
  Segments segments(path);
  segments.add(syn());
  TcpHeader bare_syn = plain();
  bare_syn.syn = true;
  bare_syn.ack = false;
  bare_syn.sack_permitted = true;
  segments.add(bare_syn);
  segments.add(plain());
  segments.add(plain(), 1);
  segments.add(stamped(), 1448, Ecn::kCapable0);
  segments.add(stamped(), 8948, Ecn::kCongestion);
  segments.add(stamped(), 777, Ecn::kCapable0, true);
  TcpHeader last = stamped();
  last.psh = last.fin = last.cwr = true;
  segments.add(last, 2);
  TcpHeader reset = plain();
  reset.rst = true;
  segments.add(reset);
  TcpHeader echo = stamped();
  echo.ece = true;
  segments.add(echo);
  segments.add(with_sack(stamped(), 3));
  segments.add(with_sack(plain(), 4));
  return segments.close();
}

}  // namespace
}  // namespace rnicsim

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: tcp_wire_frames FILE\n");
    return 2;
  }
  if (!rnicsim::write_segments(argv[1])) {
    std::fprintf(stderr, "tcp_wire_frames: cannot write %s\n", argv[1]);
    return 1;
  }
  return 0;
}

// SPDX-License-Identifier: MIT
// Frames in a classic pcap file with nanosecond times, Ethernet, no FCS: for programs whose output
// tshark and scapy judge.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "model/byte_order.h"
#include "model/frame.h"
#include "model/packet.h"

namespace rnicsim::test {

class FrameFile {
 public:
  explicit FrameFile(const std::string& path) : file_(path, std::ios::binary) {
    std::vector<std::uint8_t> header(24, 0);
    store_le32(&header[0], 0xa1b23c4d);  // nanoseconds
    store_le16(&header[4], 2);           // version 2.4
    store_le16(&header[6], 4);
    store_le32(&header[16], 65535);  // snapshot length
    store_le32(&header[20], 1);      // LINKTYPE_ETHERNET
    put(header);
  }
  void add(const Packet& packet, Time time) {
    write_frame(packet, frame_);
    std::vector<std::uint8_t> header(16, 0);
    store_le32(&header[0], static_cast<std::uint32_t>(time / Time::s(1)));
    store_le32(&header[4], static_cast<std::uint32_t>(time.ps() / 1000 % 1'000'000'000));
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
};

}  // namespace rnicsim::test

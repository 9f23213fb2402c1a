// SPDX-License-Identifier: MIT
#include "nic/ethernet/segment_headers.h"

#include <catch2/catch.hpp>
#include <vector>

#include "model/frame.h"
#include "model/icrc.h"
#include "tests/support/ethernet_driver.h"

using namespace rnicsim;
using test::segment_headers;

namespace {

std::vector<std::uint8_t> bytes_of(const SegmentHeaders& headers) {
  std::vector<std::uint8_t> bytes(SegmentHeaders::kMaxBytes);
  headers.write(bytes.data());
  bytes.resize(headers.bytes());
  return bytes;
}

}  // namespace

TEST_CASE("headers in memory are those of the frame on the wire") {
  PacketPool pool;
  SegmentHeaders headers = segment_headers(0, 1, 100);
  headers.tcp.has_timestamps = true;
  headers.tcp.timestamp = 5;
  headers.ip.ecn = Ecn::kCapable0;
  headers.ip.total_length += TcpHeader::kTimestampBytes;
  std::vector<std::uint8_t> frame = bytes_of(headers);
  REQUIRE(frame.size() == 66);
  frame.resize(166);
  const PacketRef packet = pool.create();
  REQUIRE(read_frame(frame.data(), frame.size(), *packet) == nullptr);
  CHECK_FALSE(icrc_ok(*packet));
  seal_icrc(*packet);
  write_frame(*packet, frame);
  frame.resize(66);
  CHECK(bytes_of(SegmentHeaders::of(*packet)) == frame);
  SegmentHeaders again;
  REQUIRE(SegmentHeaders::read(frame.data(), frame.size(), again));
  CHECK(bytes_of(again) == frame);
}

TEST_CASE("bytes that are no headers of TCP over IPv4 are not taken for such") {
  const std::vector<std::uint8_t> good = bytes_of(segment_headers(0, 1, 100));
  SegmentHeaders headers;
  CHECK(SegmentHeaders::read(good.data(), good.size(), headers));
  CHECK_FALSE(SegmentHeaders::read(good.data(), good.size() - 1, headers));
  struct Change {
    std::size_t at;
    std::uint8_t to;
  };
  // EtherType, IPv4's version and length, protocol, TCP's data offset.
  for (const Change change :
       {Change{12, 0x86}, Change{14, 0x46}, Change{23, 17}, Change{46, 0x60}, Change{46, 0x40}}) {
    std::vector<std::uint8_t> bad = good;
    bad[change.at] = change.to;
    CHECK_FALSE(SegmentHeaders::read(bad.data(), bad.size(), headers));
  }
}

// SPDX-License-Identifier: MIT
// Against scapy and tshark: tcp_wire_judge.py.
#include "model/tcp_header.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace rnicsim;

namespace {

using Image = std::vector<std::uint8_t>;

Image written(const TcpHeader& header) {
  Image bytes(header.bytes() + 1, 0xee);
  header.write(bytes.data(), 0xabcd);
  REQUIRE(bytes.back() == 0xee);
  bytes.pop_back();
  return bytes;
}

TcpHeader read(const Image& bytes) {
  TcpHeader header;
  const char* const error = TcpHeader::read(bytes.data(), bytes.size(), header);
  CHECK(error == nullptr);
  return header;
}

std::string error_of(const Image& bytes) {
  TcpHeader header;
  const char* const error = TcpHeader::read(bytes.data(), bytes.size(), header);
  return error == nullptr ? "" : error;
}

TcpHeader header() {
  TcpHeader header;
  header.source_port = 0x1234;
  header.destination_port = 0x5678;
  header.sequence = TcpSeq(0x9abcdef0);
  header.acknowledgement = TcpSeq(0x11223344);
  header.ack = true;
  header.window = 0x5566;
  return header;
}

const Image kPlain = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x11, 0x22,
                      0x33, 0x44, 0x50, 0x10, 0x55, 0x66, 0xab, 0xcd, 0x00, 0x00};

/// A header of so many words with these options.
Image with_options(const Image& options) {
  Image bytes = kPlain;
  bytes.insert(bytes.end(), options.begin(), options.end());
  bytes[12] = static_cast<std::uint8_t>(bytes.size() / 4 << 4);
  return bytes;
}

}  // namespace

TEST_CASE("A TCP header without options is twenty bytes") {
  CHECK(written(header()) == kPlain);
  CHECK(written(read(kPlain)) == kPlain);
}

TEST_CASE("Each TCP flag has its bit") {
  const auto flags = [](auto set) {
    TcpHeader header;
    set(header);
    const Image image = written(header);
    CHECK(written(read(image)) == image);
    return image[13];
  };
  CHECK(flags([](TcpHeader& h) { h.fin = true; }) == 0x01);
  CHECK(flags([](TcpHeader& h) { h.syn = true; }) == 0x02);
  CHECK(flags([](TcpHeader& h) { h.rst = true; }) == 0x04);
  CHECK(flags([](TcpHeader& h) { h.psh = true; }) == 0x08);
  CHECK(flags([](TcpHeader& h) { h.ack = true; }) == 0x10);
  CHECK(flags([](TcpHeader& h) { h.ece = true; }) == 0x40);
  CHECK(flags([](TcpHeader& h) { h.cwr = true; }) == 0x80);
}

TEST_CASE("A SYN has its options where Linux puts them") {
  TcpHeader syn = header();
  syn.mss = 1460;
  syn.sack_permitted = true;
  syn.has_timestamps = true;
  syn.timestamp = 0x01020304;
  syn.timestamp_echo = 0x05060708;
  syn.has_window_scale = true;
  syn.window_scale = 7;
  const Image expected =
      with_options({2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 3, 3, 7});
  CHECK(syn.bytes() == 40);
  CHECK(written(syn) == expected);
  CHECK(written(read(expected)) == expected);
}

TEST_CASE("Timestamps, SACK permitted and SACK blocks are padded in front where they stand alone") {
  TcpHeader alone = header();
  alone.sack_permitted = true;
  CHECK(written(alone) == with_options({1, 1, 4, 2}));
  TcpHeader blocks = header();
  blocks.has_timestamps = true;
  blocks.timestamp = 1;
  blocks.timestamp_echo = 2;
  blocks.sack_blocks = 2;
  blocks.sack[0] = {TcpSeq(0x100), TcpSeq(0x200)};
  blocks.sack[1] = {TcpSeq(0xffffff00), TcpSeq(0x80)};
  const Image expected =
      with_options({1, 1, 8, 10, 0, 0, 0, 1, 0,    0,    0,    2, 1, 1, 5, 18,
                    0, 0, 1, 0,  0, 0, 2, 0, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0x80});
  CHECK(blocks.bytes() == 52);
  CHECK(written(blocks) == expected);
  CHECK(written(read(expected)) == expected);
}

TEST_CASE("The fullest TCP header is sixty bytes") {
  TcpHeader full = header();
  full.has_timestamps = true;
  full.sack_blocks = 3;
  CHECK(full.bytes() == 60);
  full.has_timestamps = false;
  full.sack_blocks = 4;
  CHECK(full.bytes() == 56);
}

TEST_CASE("Options are read in any order, and nothing behind their end") {
  const TcpHeader read_back = read(with_options({3, 3, 9, 1, 2, 4, 0x05, 0xb4, 0, 99, 99, 99}));
  CHECK(read_back.window_scale == 9);
  CHECK(read_back.mss == 1460);
  CHECK_FALSE(read_back.has_timestamps);
}

TEST_CASE("What is no TCP header is told apart") {
  CHECK(error_of(Image(19)) == "shorter than a TCP header");
  Image offset = kPlain;
  offset[12] = 0x40;
  CHECK(error_of(offset) == "TCP data offset does not fit the packet");
  offset[12] = 0x60;
  CHECK(error_of(offset) == "TCP data offset does not fit the packet");
  CHECK(error_of(with_options({2, 5, 0, 0})) == "TCP option that does not fit the header");
  CHECK(error_of(with_options({2, 1, 0, 0})) == "TCP option that does not fit the header");
  CHECK(error_of(with_options({1, 1, 1, 2})) == "TCP option that does not fit the header");
  CHECK(error_of(with_options({2, 3, 0, 0})) == "TCP option of the wrong length");
  CHECK(error_of(with_options({5, 2, 0, 0})) == "SACK option of no possible length");
  CHECK(error_of(with_options({5, 8, 0, 0, 0, 0, 0, 0})) == "SACK option of no possible length");
  CHECK(error_of(with_options({30, 4, 0, 0})) == "a TCP option that is not modelled");
}

TEST_CASE("Sequence numbers are compared around their wrap") {
  const TcpSeq before(0xfffffff0);
  const TcpSeq behind = before + 0x20;
  CHECK(behind.value() == 0x10);
  CHECK(before < behind);
  CHECK_FALSE(behind < before);
  CHECK(behind - before == 0x20);
  CHECK(before - behind == -0x20);
}

TEST_CASE("A segment is named to observers by its ports, place, length and flags") {
  TcpHeader named;
  named.source_port = 32768;
  named.destination_port = 5001;
  named.sequence = TcpSeq(17);
  CHECK(text_of(named.mark(0)) == "32768 > 5001, seq 17, 0 B");
  named.ack = named.psh = true;
  CHECK(text_of(named.mark(1448)) == "32768 > 5001, seq 17, 1448 B [PSH,ACK]");
  named.syn = named.fin = named.rst = named.ece = named.cwr = true;
  CHECK(text_of(named.mark(2)) == "32768 > 5001, seq 17, 2 B [SYN,FIN,RST,PSH,ACK,ECE,CWR]");
  CHECK(named.mark(0));
  CHECK_FALSE(TcpMark());
}

TEST_CASE("Stretches of one direction overlap where they have a byte in common") {
  const TcpMark message{32768, 5001, TcpSeq(0xfffffff0), 0x30, 0};
  const auto overlaps = [&](std::uint32_t sequence, std::uint32_t payload) {
    return TcpMark{32768, 5001, TcpSeq(sequence), payload, 0}.overlaps(message);
  };
  CHECK(overlaps(0xfffffff0, 0x30));
  CHECK(overlaps(0x1f, 1));
  CHECK_FALSE(overlaps(0x20, 1));
  CHECK(overlaps(0xffffffe0, 0x11));
  CHECK_FALSE(overlaps(0xffffffe0, 0x10));
  CHECK(overlaps(0xffffff00, 0x1000));
  CHECK_FALSE(overlaps(0xfffffff0, 0));
  CHECK_FALSE(TcpMark{5001, 32768, TcpSeq(0xfffffff0), 0x30, 0}.overlaps(message));
  CHECK_FALSE(TcpMark{32769, 5001, TcpSeq(0xfffffff0), 0x30, 0}.overlaps(message));
}

// SPDX-License-Identifier: MIT
#include "model/tcp_segmentation.h"

#include <catch2/catch.hpp>

using namespace rnicsim;

namespace {

TcpHeader header(std::uint32_t sequence) {
  TcpHeader header;
  header.source_port = 1;
  header.destination_port = 2;
  header.sequence = TcpSeq(sequence);
  header.acknowledgement = TcpSeq(77);
  header.ack = true;
  header.window = 500;
  header.has_timestamps = true;
  header.timestamp = 9;
  return header;
}

TcpMerged first(std::uint32_t sequence, std::uint32_t length, Ecn ecn = Ecn::kCapable0) {
  return {header(sequence), ecn, length, length, 1};
}

}  // namespace

TEST_CASE("A burst's flags stand on the slice to which they belong") {
  TcpHeader burst = header(0xffffff00);
  burst.psh = burst.fin = burst.cwr = true;
  const TcpHeader start = tcp_slice(burst, 0, false);
  CHECK(start.sequence == TcpSeq(0xffffff00));
  CHECK((start.cwr && !start.psh && !start.fin));
  const TcpHeader middle = tcp_slice(burst, 0x100, false);
  CHECK(middle.sequence == TcpSeq(0));
  CHECK((!middle.cwr && !middle.psh && !middle.fin && middle.ack));
  const TcpHeader last = tcp_slice(burst, 0x200, true);
  CHECK(last.sequence == TcpSeq(0x100));
  CHECK((!last.cwr && last.psh && last.fin));
}

TEST_CASE("What a burst was cut into becomes one segment again") {
  TcpHeader burst = header(0xfffffff0);
  burst.psh = true;
  TcpMerged merged{tcp_slice(burst, 0, false), Ecn::kCapable0, 100, 100, 1};
  for (std::uint32_t offset : {100U, 200U}) {
    const TcpHeader next = tcp_slice(burst, offset, false);
    REQUIRE(merged.takes(next, Ecn::kCapable0, 100));
    merged.append(next, 100);
    REQUIRE_FALSE(merged.is_complete());
  }
  const TcpHeader last = tcp_slice(burst, 300, true);
  REQUIRE(merged.takes(last, Ecn::kCapable0, 30));
  merged.append(last, 30);
  CHECK(merged.header.sequence == TcpSeq(0xfffffff0));
  CHECK(merged.header.psh);
  CHECK(merged.length == 330);
  CHECK(merged.segments == 4);
  CHECK(merged.is_complete());
}

TEST_CASE("Only a segment that differs in nothing but its place is merged") {
  const TcpMerged held = first(1000, 100);
  const auto takes = [&](auto change) {
    TcpHeader next = header(1100);
    change(next);
    return held.takes(next, Ecn::kCapable0, 100);
  };
  REQUIRE(takes([](TcpHeader&) {}));
  REQUIRE(takes([](TcpHeader& h) { h.psh = true; }));
  REQUIRE(takes([](TcpHeader& h) { h.fin = true; }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.sequence = TcpSeq(1101); }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.sequence = TcpSeq(1000); }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.source_port = 3; }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.destination_port = 3; }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.acknowledgement = TcpSeq(78); }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.window = 501; }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.timestamp = 10; }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.timestamp_echo = 10; }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.has_timestamps = false; }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.ece = true; }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.cwr = true; }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.syn = true; }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.rst = true; }));
  CHECK_FALSE(takes([](TcpHeader& h) { h.sack_blocks = 1; }));
  CHECK_FALSE(held.takes(header(1100), Ecn::kCongestion, 100));
  CHECK_FALSE(held.takes(header(1100), Ecn::kCapable0, 0));
  CHECK_FALSE(held.takes(header(1100), Ecn::kCapable0, 101));
  CHECK(held.takes(header(1100), Ecn::kCapable0, 99));
}

TEST_CASE("Nothing follows a short segment, PSH, FIN or an acknowledgement without data") {
  TcpMerged held = first(1000, 100);
  held.append(header(1100), 50);
  CHECK_FALSE(held.takes(header(1150), Ecn::kCapable0, 50));
  TcpMerged pushed = first(1000, 100);
  pushed.header.psh = true;
  CHECK_FALSE(pushed.takes(header(1100), Ecn::kCapable0, 100));
  TcpMerged finished = first(1000, 100);
  finished.header.fin = true;
  CHECK_FALSE(finished.takes(header(1100), Ecn::kCapable0, 100));
  CHECK_FALSE(first(1000, 0).takes(header(1000), Ecn::kCapable0, 100));
}

// SPDX-License-Identifier: MIT
#include "host/tcp/tcp_reassembly.h"

#include <catch2/catch.hpp>
#include <string>

using namespace rnicsim;
using Result = TcpReassembly::Result;

namespace {

std::string sack(const TcpReassembly& reassembly, std::size_t room = 4) {
  TcpReassembly::Range blocks[4];
  std::string text;
  const std::uint8_t count = reassembly.sack(blocks, room);
  for (std::uint8_t i = 0; i < count; ++i)
    text += std::to_string(blocks[i].first) + ".." + std::to_string(blocks[i].behind) + " ";
  return text;
}

}  // namespace

TEST_CASE("What comes in order is there at once") {
  TcpReassembly r;
  CHECK(r.add(1, 101) == Result::kInOrder);
  CHECK(r.next() == 101);
  CHECK(r.add(1, 101) == Result::kOld);
  CHECK(r.add(51, 151) == Result::kInOrder);
  CHECK(r.next() == 151);
}

TEST_CASE("What fills a gap brings what waits behind it") {
  TcpReassembly r;
  CHECK(r.add(101, 201) == Result::kOutOfOrder);
  CHECK(r.add(301, 401) == Result::kOutOfOrder);
  CHECK(r.add(101, 201) == Result::kOld);
  CHECK(r.has_gaps());
  CHECK(r.add(1, 101) == Result::kFilled);
  CHECK(r.next() == 201);
  CHECK(r.has_gaps());
  CHECK(r.add(151, 350) == Result::kFilled);
  CHECK(r.next() == 401);
  CHECK_FALSE(r.has_gaps());
}

TEST_CASE("The first SACK block has what came last, the others what came before") {
  TcpReassembly r;
  r.add(101, 201);
  r.add(501, 601);
  r.add(301, 401);
  CHECK(sack(r) == "301..401 501..601 101..201 ");
  r.add(601, 701);
  CHECK(sack(r) == "501..701 301..401 101..201 ");
  r.add(101, 151);
  CHECK(sack(r) == "101..201 501..701 301..401 ");
  CHECK(sack(r, 2) == "101..201 501..701 ");
  r.add(1, 101);
  CHECK(sack(r) == "501..701 301..401 ");
}

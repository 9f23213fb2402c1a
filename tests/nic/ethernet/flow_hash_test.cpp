// SPDX-License-Identifier: MIT
#include "nic/ethernet/flow_hash.h"

#include <catch2/catch.hpp>

using namespace rnicsim;

namespace {

constexpr std::uint32_t address(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

struct Vector {
  std::uint32_t destination;
  std::uint16_t destination_port;
  std::uint32_t source;
  std::uint16_t source_port;
  std::uint32_t hash;
};

}  // namespace

TEST_CASE("the hash of flows is that of Microsoft's verification suite") {
  const Vector vectors[] = {
      {address(161, 142, 100, 80), 1766, address(66, 9, 149, 187), 2794, 0x51ccc178},
      {address(65, 69, 140, 83), 4739, address(199, 92, 111, 2), 14230, 0xc626b0ea},
      {address(12, 22, 207, 184), 38024, address(24, 19, 198, 95), 12898, 0x5c2b394a},
      {address(209, 142, 163, 6), 2217, address(38, 27, 205, 30), 48228, 0xafc7327f},
      {address(202, 188, 127, 2), 1303, address(153, 39, 163, 191), 44251, 0x10e828a2},
  };
  for (const Vector& v : vectors)
    CHECK(flow_hash({abi::Ipv4Address(v.source), abi::Ipv4Address(v.destination), v.source_port,
                     v.destination_port}) == v.hash);
}

// SPDX-License-Identifier: MIT
#include "model/credit_packet.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "model/vcrc.h"

using namespace rnicsim;

namespace {

using Bits = std::vector<bool>;

/// The CRC as the specification has it: the remainder of the bits in the order of the wire, the
/// first sixteen inverted, by x^16 + x^12 + x^3 + x + 1; inverted; in the order of the wire again.
std::array<std::uint8_t, 2> vcrc_by_division(const std::vector<std::uint8_t>& bytes) {
  Bits bits;
  for (const std::uint8_t byte : bytes)
    for (int i = 0; i < 8; ++i) bits.push_back((byte >> i & 1) != 0);
  bits.resize(bits.size() + 16);
  for (std::size_t i = 0; i < 16; ++i) bits[i] = !bits[i];
  for (std::size_t i = 0; i + 16 < bits.size(); ++i) {
    if (!bits[i]) continue;
    for (const std::size_t power : {16, 12, 3, 1, 0}) bits[i + 16 - power] = !bits[i + 16 - power];
  }
  std::array<std::uint8_t, 2> crc{};
  for (std::size_t i = 0; i < 16; ++i)
    if (!bits[bits.size() - 16 + i])
      crc[i / 8] = static_cast<std::uint8_t>(crc[i / 8] | 1U << i % 8);
  return crc;
}

}  // namespace

TEST_CASE("the variant CRC is the remainder that polynomial division leaves") {
  std::vector<std::uint8_t> bytes;
  for (unsigned size = 2; size < 300; size += 7) {
    while (bytes.size() < size) bytes.push_back(static_cast<std::uint8_t>(bytes.size() * 37 + 11));
    const std::uint16_t crc = vcrc_of(bytes.data(), bytes.size());
    CAPTURE(size);
    CHECK(std::array<std::uint8_t, 2>{static_cast<std::uint8_t>(crc),
                                      static_cast<std::uint8_t>(crc >> 8)} ==
          vcrc_by_division(bytes));
  }
}

TEST_CASE("a flow control packet has its fields where the specification puts them") {
  const CreditPacket packet{CreditPacket::kInitialise, 0x5, 0xabc, 0x123};
  std::array<std::uint8_t, CreditPacket::kBytes> bytes{};
  packet.write(bytes.data());
  CHECK(bytes[0] == 0x1a);
  CHECK(bytes[1] == 0xbc);
  CHECK(bytes[2] == 0x51);
  CHECK(bytes[3] == 0x23);
  const auto crc = vcrc_by_division({bytes.begin(), bytes.begin() + 4});
  CHECK(bytes[4] == crc[0]);
  CHECK(bytes[5] == crc[1]);
  CreditPacket read;
  REQUIRE(CreditPacket::read(bytes.data(), bytes.size(), read) == nullptr);
  CHECK(read.operation == CreditPacket::kInitialise);
  CHECK(read.lane == 5);
  CHECK(read.total_sent == 0xabc);
  CHECK(read.limit == 0x123);
}

TEST_CASE("a flow control packet that is cut short or damaged is none") {
  std::array<std::uint8_t, CreditPacket::kBytes> bytes{};
  CreditPacket{CreditPacket::kNormal, 1, 2, 3}.write(bytes.data());
  CreditPacket read;
  CHECK(std::string(CreditPacket::read(bytes.data(), 5, read)) ==
        "not as long as a flow control packet");
  bytes[3] ^= 1;
  CHECK(std::string(CreditPacket::read(bytes.data(), 6, read)) == "wrong link packet CRC");
}

TEST_CASE("packets count in blocks of 64 B, whole ones") {
  CHECK(credit_blocks(Bytes(30)) == 1);
  CHECK(credit_blocks(Bytes(64)) == 1);
  CHECK(credit_blocks(Bytes(65)) == 2);
  CHECK(credit_blocks(Bytes(4096 + 26)) == 65);
}

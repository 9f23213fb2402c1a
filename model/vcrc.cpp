// SPDX-License-Identifier: MIT
#include "model/vcrc.h"

#include <array>

namespace rnicsim {

namespace {

constexpr std::uint16_t kReversedPolynomial = 0xd008;

constexpr std::array<std::uint16_t, 256> make_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned rest = byte;
    for (int bit = 0; bit < 8; ++bit)
      rest = rest >> 1 ^ ((rest & 1) != 0 ? kReversedPolynomial : 0);
    table[byte] = static_cast<std::uint16_t>(rest);
  }
  return table;
}
constexpr auto kTable = make_table();

}  // namespace

std::uint16_t vcrc_of(const std::uint8_t* bytes, std::size_t size) {
  unsigned crc = 0xffff;
  for (std::size_t i = 0; i < size; ++i) crc = crc >> 8 ^ kTable[(crc ^ bytes[i]) & 0xff];
  return static_cast<std::uint16_t>(crc ^ 0xffff);
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "nic/ethernet/flow_hash.h"

#include <array>

#include "model/byte_order.h"

namespace rnicsim {

namespace {

constexpr std::size_t kInputBytes = 12;
constexpr std::array<std::uint8_t, 40> kKey = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

}  // namespace

/// For every bit of the input that is set, the 32 bits of the key that begin at the same place.
std::uint32_t flow_hash(const FlowKey& flow) {
  std::array<std::uint8_t, kInputBytes> input{};
  store_be32(input.data(), flow.source.value());
  store_be32(input.data() + 4, flow.destination.value());
  store_be32(input.data() + 8, flow.ports());
  std::uint32_t hash = 0;
  for (std::size_t i = 0; i < kInputBytes; ++i) {
    const std::uint64_t window = load_be64(kKey.data() + i) >> 24;  // 40 bits
    for (unsigned bit = 0; bit < 8; ++bit)
      if ((input[i] & 0x80U >> bit) != 0) hash ^= static_cast<std::uint32_t>(window >> (8 - bit));
  }
  return hash;
}

}  // namespace rnicsim

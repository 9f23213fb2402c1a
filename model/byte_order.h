// SPDX-License-Identifier: MIT
// Numbers in bytes: loads and stores of 16 to 64 bits in big-endian (network headers, PCIe-visible
// structures of the NIC) and little-endian order (the ICRC) at any alignment. Shifts rather than
// casts: compilers turn them into one move and a byte swap, and they work at compile time.
#pragma once

#include <cstdint>

namespace rnicsim {

constexpr std::uint16_t load_be16(const std::uint8_t* at) {
  return static_cast<std::uint16_t>(at[0] << 8 | at[1]);
}
constexpr std::uint32_t load_be24(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) << 16 | static_cast<std::uint32_t>(at[1]) << 8 | at[2];
}
constexpr std::uint32_t load_be32(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) << 24 | load_be24(at + 1);
}
constexpr std::uint64_t load_be64(const std::uint8_t* at) {
  return static_cast<std::uint64_t>(load_be32(at)) << 32 | load_be32(at + 4);
}

constexpr void store_be16(std::uint8_t* at, std::uint16_t value) {
  at[0] = static_cast<std::uint8_t>(value >> 8);
  at[1] = static_cast<std::uint8_t>(value);
}
/// Stores the lower 24 bits.
constexpr void store_be24(std::uint8_t* at, std::uint32_t value) {
  at[0] = static_cast<std::uint8_t>(value >> 16);
  at[1] = static_cast<std::uint8_t>(value >> 8);
  at[2] = static_cast<std::uint8_t>(value);
}
constexpr void store_be32(std::uint8_t* at, std::uint32_t value) {
  at[0] = static_cast<std::uint8_t>(value >> 24);
  store_be24(at + 1, value);
}
constexpr void store_be64(std::uint8_t* at, std::uint64_t value) {
  store_be32(at, static_cast<std::uint32_t>(value >> 32));
  store_be32(at + 4, static_cast<std::uint32_t>(value));
}

constexpr std::uint16_t load_le16(const std::uint8_t* at) {
  return static_cast<std::uint16_t>(at[1] << 8 | at[0]);
}
constexpr std::uint32_t load_le32(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(load_le16(at + 2)) << 16 | load_le16(at);
}
constexpr std::uint64_t load_le64(const std::uint8_t* at) {
  return static_cast<std::uint64_t>(load_le32(at + 4)) << 32 | load_le32(at);
}

constexpr void store_le16(std::uint8_t* at, std::uint16_t value) {
  at[0] = static_cast<std::uint8_t>(value);
  at[1] = static_cast<std::uint8_t>(value >> 8);
}
constexpr void store_le32(std::uint8_t* at, std::uint32_t value) {
  store_le16(at, static_cast<std::uint16_t>(value));
  store_le16(at + 2, static_cast<std::uint16_t>(value >> 16));
}
constexpr void store_le64(std::uint8_t* at, std::uint64_t value) {
  store_le32(at, static_cast<std::uint32_t>(value));
  store_le32(at + 4, static_cast<std::uint32_t>(value >> 32));
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/introduction.h"

#include "model/byte_order.h"

namespace rnicsim {

namespace {

void put64(ControlMessage& message, std::uint64_t value) {
  const std::size_t at = message.size();
  message.resize(at + 8);
  store_be64(message.data() + at, value);
}

}  // namespace

ControlMessage number_message(std::uint64_t number) {
  ControlMessage message;
  put64(message, number);
  return message;
}

std::uint64_t number_in(const ControlMessage& message) { return load_be64(message.data()); }

ControlMessage Introduction::encode() const {
  ControlMessage message;
  put64(message, port.ip.value());
  std::uint64_t mac = port.lid;  // in front of it
  for (const std::uint8_t byte : port.mac) mac = mac << 8 | byte;
  put64(message, mac);
  put64(message, address.value());
  put64(message, length);
  put64(message, std::uint64_t{more_keys.size()} << 32 | rkey.value());
  for (const MemoryKey key : more_keys) put64(message, key.value());
  for (const std::uint32_t qpn : qpns) put64(message, qpn);
  return message;
}

Introduction Introduction::decode(const ControlMessage& message) {
  const auto get = [&](std::size_t i) { return load_be64(message.data() + 8 * i); };
  Introduction out;
  out.port.ip = abi::Ipv4Address(static_cast<std::uint32_t>(get(0)));
  for (std::size_t i = 0; i < out.port.mac.size(); ++i)
    out.port.mac[i] = static_cast<std::uint8_t>(get(1) >> (8 * (5 - i)));
  out.port.lid = static_cast<Lid>(get(1) >> 48);
  out.address = VirtualAddress(get(2));
  out.length = get(3);
  out.rkey = MemoryKey(static_cast<std::uint32_t>(get(4)));
  const std::size_t keys = get(4) >> 32;
  for (std::size_t i = 5; i < message.size() / 8; ++i) {
    const auto value = static_cast<std::uint32_t>(get(i));
    if (i - 5 < keys)
      out.more_keys.emplace_back(value);
    else
      out.qpns.push_back(value);
  }
  return out;
}

}  // namespace rnicsim

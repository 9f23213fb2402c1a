// SPDX-License-Identifier: MIT
#include "model/ethernet_abi.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace rnicsim;

namespace {

template <class T>
std::vector<std::uint8_t> bytes_of(const T& value) {
  std::vector<std::uint8_t> bytes(T::kBytes, 0xee);
  value.write(bytes.data());
  return bytes;
}

/// Zeros but for what stands at these places.
std::vector<std::uint8_t> image(std::size_t size,
                                std::initializer_list<std::pair<std::size_t, std::uint8_t>> set) {
  std::vector<std::uint8_t> bytes(size);
  for (const auto& [at, value] : set) bytes[at] = value;
  return bytes;
}

template <class T>
bool survives(const T& value) {
  const std::vector<std::uint8_t> bytes = bytes_of(value);
  return bytes_of(T::read(bytes.data())) == bytes;
}

}  // namespace

TEST_CASE("a queue's context stands where its comment says") {
  abi::EthernetQueueContext context;
  context.direction = abi::EthernetDirection::kReceive;
  context.log_entries = 9;
  context.merge = true;
  context.rss = true;
  context.msix_data = 0x04;
  context.msix_address = PhysicalAddress(0x0f);
  context.ring = PhysicalAddress(0x17);
  context.completions = PhysicalAddress(0x1f);
  context.moderation_frames = 0x21;
  context.moderation_us = 0x23;
  CHECK(bytes_of(context) == image(64, {{0, 2},
                                        {1, 9},
                                        {2, 1},
                                        {3, 1},
                                        {7, 0x04},
                                        {15, 0x0f},
                                        {23, 0x17},
                                        {31, 0x1f},
                                        {33, 0x21},
                                        {35, 0x23}}));
  CHECK(survives(context));
}

TEST_CASE("descriptors of plain frames stand where their comments say") {
  abi::EthernetTransmitDescriptor transmit;
  transmit.flags = transmit.kSegment | transmit.kSignaled;
  transmit.pieces = 3;
  transmit.segment_size = 0x03;
  transmit.header_bytes = 0x05;
  for (std::uint8_t i = 0; i < 3; ++i)
    transmit.piece[i] = {PhysicalAddress(std::uint64_t{0x17} + 16 * i), 0x1bU + 16U * i};
  CHECK(bytes_of(transmit) == image(64, {{0, 5},
                                         {1, 3},
                                         {3, 0x03},
                                         {5, 0x05},
                                         {23, 0x17},
                                         {27, 0x1b},
                                         {39, 0x27},
                                         {43, 0x2b},
                                         {55, 0x37},
                                         {59, 0x3b}}));
  CHECK(survives(transmit));
  const abi::EthernetReceiveDescriptor receive{PhysicalAddress(0x07), 0x0b};
  CHECK(bytes_of(receive) == image(16, {{7, 0x07}, {11, 0x0b}}));
  CHECK(survives(receive));
}

TEST_CASE("completion entries of plain frames stand where their comments say") {
  abi::EthernetTransmitCompletion transmit;
  transmit.done = 0x03;
  transmit.owner = true;
  CHECK(bytes_of(transmit) == image(16, {{3, 0x03}, {15, 1}}));
  CHECK(survives(transmit));
  abi::EthernetReceiveCompletion receive;
  receive.bytes = 0x03;
  receive.hash = 0x07;
  receive.first = 0x0b;
  receive.descriptors = 0x0d;
  receive.flags = receive.kChecksumGood;
  receive.segments = 44;
  receive.owner = true;
  CHECK(bytes_of(receive) ==
        image(32, {{3, 0x03}, {7, 0x07}, {11, 0x0b}, {13, 0x0d}, {14, 1}, {15, 44}, {31, 1}}));
  CHECK(survives(receive));
}

TEST_CASE("a flow's rule stands where its comment says") {
  const abi::EthernetFlowRule rule{abi::Ipv4Address(0x03), abi::Ipv4Address(0x07), 0x09, 0x0b,
                                   0x0f};
  CHECK(bytes_of(rule) == image(32, {{3, 3}, {7, 7}, {9, 9}, {11, 11}, {15, 15}}));
  CHECK(survives(rule));
}

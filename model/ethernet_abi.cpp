// SPDX-License-Identifier: MIT
#include "model/ethernet_abi.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim::abi {

void EthernetQueueContext::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  at[0] = static_cast<std::uint8_t>(direction);
  at[1] = log_entries;
  at[2] = merge ? 1 : 0;
  at[3] = rss ? 1 : 0;
  store_be32(at + 4, msix_data);
  store_be64(at + 8, msix_address.value());
  store_be64(at + 16, ring.value());
  store_be64(at + 24, completions.value());
  store_be16(at + 32, moderation_frames);
  store_be16(at + 34, moderation_us);
}

EthernetQueueContext EthernetQueueContext::read(ByteView at) {
  EthernetQueueContext context;
  context.direction = static_cast<EthernetDirection>(at[0]);
  context.log_entries = at[1];
  context.merge = at[2] != 0;
  context.rss = at[3] != 0;
  context.msix_data = load_be32(at + 4);
  context.msix_address = PhysicalAddress(load_be64(at + 8));
  context.ring = PhysicalAddress(load_be64(at + 16));
  context.completions = PhysicalAddress(load_be64(at + 24));
  context.moderation_frames = load_be16(at + 32);
  context.moderation_us = load_be16(at + 34);
  return context;
}

void EthernetTransmitDescriptor::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  at[0] = flags;
  at[1] = pieces;
  store_be16(at + 2, segment_size);
  store_be16(at + 4, header_bytes);
  for (std::size_t i = 0; i < kMaxPieces; ++i) {
    store_be64(at + 16 + 16 * i, piece[i].address.value());
    store_be32(at + 24 + 16 * i, piece[i].bytes);
  }
}

EthernetTransmitDescriptor EthernetTransmitDescriptor::read(ByteView at) {
  EthernetTransmitDescriptor descriptor;
  descriptor.flags = at[0];
  descriptor.pieces = at[1];
  descriptor.segment_size = load_be16(at + 2);
  descriptor.header_bytes = load_be16(at + 4);
  for (std::size_t i = 0; i < kMaxPieces; ++i) {
    descriptor.piece[i].address = PhysicalAddress(load_be64(at + 16 + 16 * i));
    descriptor.piece[i].bytes = load_be32(at + 24 + 16 * i);
  }
  return descriptor;
}

void EthernetTransmitCompletion::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  store_be32(at, done);
  at[kBytes - 1] = owner ? 1 : 0;
}

EthernetTransmitCompletion EthernetTransmitCompletion::read(ByteView at) {
  EthernetTransmitCompletion completion;
  completion.done = load_be32(at);
  completion.owner = (at[kBytes - 1] & 1) != 0;
  return completion;
}

void EthernetReceiveDescriptor::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  store_be64(at, address.value());
  store_be32(at + 8, bytes);
}

EthernetReceiveDescriptor EthernetReceiveDescriptor::read(ByteView at) {
  EthernetReceiveDescriptor descriptor;
  descriptor.address = PhysicalAddress(load_be64(at));
  descriptor.bytes = load_be32(at + 8);
  return descriptor;
}

void EthernetReceiveCompletion::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  store_be32(at, bytes);
  store_be32(at + 4, hash);
  store_be32(at + 8, first);
  store_be16(at + 12, descriptors);
  at[14] = flags;
  at[15] = segments;
  at[kBytes - 1] = owner ? 1 : 0;
}

EthernetReceiveCompletion EthernetReceiveCompletion::read(ByteView at) {
  EthernetReceiveCompletion completion;
  completion.bytes = load_be32(at);
  completion.hash = load_be32(at + 4);
  completion.first = load_be32(at + 8);
  completion.descriptors = load_be16(at + 12);
  completion.flags = at[14];
  completion.segments = at[15];
  completion.owner = (at[kBytes - 1] & 1) != 0;
  return completion;
}

void EthernetFlowRule::write(ByteSpan at) const {
  std::fill_n(at, kBytes, std::uint8_t{0});
  store_be32(at, source.value());
  store_be32(at + 4, destination.value());
  store_be16(at + 8, source_port);
  store_be16(at + 10, destination_port);
  store_be32(at + 12, queue);
}

EthernetFlowRule EthernetFlowRule::read(ByteView at) {
  EthernetFlowRule rule;
  rule.source = Ipv4Address(load_be32(at));
  rule.destination = Ipv4Address(load_be32(at + 4));
  rule.source_port = load_be16(at + 8);
  rule.destination_port = load_be16(at + 10);
  rule.queue = load_be32(at + 12);
  return rule;
}

}  // namespace rnicsim::abi

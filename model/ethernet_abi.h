// SPDX-License-Identifier: MIT
// What driver and NIC share for plain Ethernet frames (TCP/IP), byte by byte, beside model/nic_abi:
// transmit and receive queues, their descriptors and completion entries in host RAM, doorbells.
// Modelled on what server NICs have in common (a ring of buffers for each direction and core, RSS
// among the receive queues, segmentation and checksum offload); no vendor's layout.
//
// Big-endian throughout; addresses are physical. Offsets stand beside each field; bytes not named
// are reserved and zero. A queue has a ring of descriptors and a ring of completion entries of the
// same number of places; both are taken in order. An entry of either completion ring belongs to
// software when its owner bit equals bit `log_entries` of the consumer index, as a CQE's does, so
// software sets all of a ring's owner bits before it has the queue made.
#pragma once

#include <array>
#include <cstdint>

#include "model/nic_abi.h"

namespace rnicsim::abi {

enum class EthernetDirection : std::uint8_t { kTransmit = 1, kReceive = 2 };

/// 64 B, mailbox of kCreateEthernetQueue. 0: direction(8) log_entries(8) merge(8) rss(8); 4: MSI-X
/// data(32); 8: MSI-X address(64); 16: descriptor ring(64); 24: completion ring(64); 32: moderation
/// frames(16) period in us(16). A message is sent for the first completion after the queue was
/// armed, once there are so many of them or so much time has passed since the first.
struct EthernetQueueContext {
  static constexpr std::uint32_t kBytes = 64;
  EthernetDirection direction = EthernetDirection::kTransmit;
  std::uint8_t log_entries = 8;
  bool merge = false;  ///< receive: segments that follow each other become one (LRO)
  bool rss = true;     ///< receive: takes part in the spreading of flows over queues
  std::uint32_t msix_data = 0;
  PhysicalAddress msix_address;
  PhysicalAddress ring;
  PhysicalAddress completions;
  std::uint16_t moderation_frames = 1;
  std::uint16_t moderation_us = 0;
  void write(ByteSpan at) const;
  static EthernetQueueContext read(ByteView at);
};

/// A frame to send, or a burst of TCP that the NIC cuts (TSO): 64 B. 0: flags(8) pieces(8) segment
/// size(16): payload of each but the last; 4: header bytes(16); then from 16 on pieces of 16 B:
/// address(64) bytes(32) 0(32). The pieces one after the other are the frame from the destination
/// MAC address on, without FCS; the headers lie in the first.
struct EthernetTransmitDescriptor {
  static constexpr std::uint32_t kBytes = 64;
  static constexpr std::size_t kMaxPieces = 3;
  static constexpr std::uint8_t kSegment = 0x01;   ///< cut by segment_size
  static constexpr std::uint8_t kChecksum = 0x02;  ///< the NIC fills in IPv4's and TCP's checksums
  static constexpr std::uint8_t kSignaled = 0x04;  ///< wants a completion entry
  struct Piece {
    PhysicalAddress address;
    std::uint32_t bytes = 0;
  };
  std::uint8_t flags = 0;
  std::uint8_t pieces = 0;
  std::uint16_t segment_size = 0;
  std::uint16_t header_bytes = 0;
  std::array<Piece, kMaxPieces> piece{};
  void write(ByteSpan at) const;
  static EthernetTransmitDescriptor read(ByteView at);
};

/// 16 B. 0: descriptors done(32): all before this index have been read and may be used again;
/// 15: owner(1).
struct EthernetTransmitCompletion {
  static constexpr std::uint32_t kBytes = 16;
  std::uint32_t done = 0;
  bool owner = false;
  void write(ByteSpan at) const;
  static EthernetTransmitCompletion read(ByteView at);
};

/// A buffer for what comes: 16 B. 0: address(64); 8: bytes(32).
struct EthernetReceiveDescriptor {
  static constexpr std::uint32_t kBytes = 16;
  PhysicalAddress address;
  std::uint32_t bytes = 0;
  void write(ByteSpan at) const;
  static EthernetReceiveDescriptor read(ByteView at);
};

/// 32 B. 0: bytes(32) of the frame, from the destination MAC address on, without FCS; 4: RSS
/// hash(32); 8: first descriptor(32) of those that it fills; 12: descriptors(16); 14: flags(8)
/// segments(8) that were merged, 1 if none; 31: owner(1). A merged frame has the headers of its
/// first segment but for IPv4's total length and checksum, PSH and FIN; TCP's checksum is still the
/// first segment's, and the flag says that each segment's was right.
struct EthernetReceiveCompletion {
  static constexpr std::uint32_t kBytes = 32;
  static constexpr std::uint8_t kChecksumGood = 0x01;
  std::uint32_t bytes = 0;
  std::uint32_t hash = 0;
  std::uint32_t first = 0;
  std::uint16_t descriptors = 0;
  std::uint8_t flags = 0;
  std::uint8_t segments = 1;
  bool owner = false;
  void write(ByteSpan at) const;
  static EthernetReceiveCompletion read(ByteView at);
};

/// 32 B, mailbox of kSetFlowRule: what comes for these IPv4 addresses and TCP ports goes to the
/// receive queue, whatever the spreading says. 0: source address(32) destination address(32)
/// source port(16) destination port(16); 12: queue(32).
struct EthernetFlowRule {
  static constexpr std::uint32_t kBytes = 32;
  Ipv4Address source;
  Ipv4Address destination;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint32_t queue = 0;
  void write(ByteSpan at) const;
  static EthernetFlowRule read(ByteView at);
};

/// In BAR 0, u64 each: queue(32) producer(32): descriptors before that index are there.
inline constexpr std::uint64_t kEthernetDoorbell = 0x40;
/// u64: queue(32) consumer(32): software has taken the completion entries before that index and
/// wants an interrupt for the next.
inline constexpr std::uint64_t kEthernetArm = 0x48;

}  // namespace rnicsim::abi

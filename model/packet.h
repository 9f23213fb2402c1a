// SPDX-License-Identifier: MIT
// One RoCEv2 packet of the fabric, the pool it comes from, and the one interface that takes it.
//
// A packet carries its headers decoded and by value, its payload in a buffer of its own that the
// pool keeps with it from use to use, and what only the simulation knows: the times when its first
// and last bit pass the point of delivery, the work request that it serves, a run-wide number. A
// packet whose payload is elided has the same length and the same times, and no bytes. Nothing is
// allocated per packet once a run is warm.
//
// Left out: frames that are no RoCEv2 over IPv4, and the extension headers that headers.h leaves
// out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/headers.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

class PacketPool;

/// What is reset when a packet is created, and may be copied from one packet to another.
struct PacketFields {
  EthernetHeader eth;
  Ipv4Header ipv4;  ///< total_length is not kept: it follows from the packet when bytes are wanted
  UdpHeader udp;    ///< nor is length
  Bth bth;
  Reth reth;    ///< present if has_reth(bth.opcode)
  Aeth aeth;    ///< present if has_aeth(bth.opcode)
  ImmDt immdt;  ///< present if has_immediate(bth.opcode)
  /// Without pad. Set through set_payload_length.
  Bytes payload_length;
  /// The invariant CRC on the wire, as model/icrc computes it. Of a packet with elided payload: how
  /// it differs (xor) from the right one, so that 0 is undamaged and nobody need read bytes.
  std::uint32_t icrc = 0;
  bool payload_elided = false;
  bool bad_fcs = false;  ///< damaged on a link; the next port drops it
  std::uint8_t priority = 0;
  Time head;  ///< first bit of the frame passes the point of delivery
  Time tail;  ///< last bit
  WorkRequestId work_request;
  std::uint64_t id = 0;  ///< run-wide, from packet_id; the sender assigns it
};

class Packet : public PacketFields {
 public:
  static constexpr std::size_t kMaxPayloadBytes = 4096;
  /// IPv4 to the longest extension headers.
  static constexpr std::size_t kMaxHeaderBytes =
      Ipv4Header::kBytes + UdpHeader::kBytes + Bth::kBytes + Reth::kBytes + ImmDt::kBytes;

  Packet() = default;
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;

  /// Sets the length and the pad that makes it a multiple of four. REQUIRES: <= kMaxPayloadBytes.
  void set_payload_length(Bytes length) {
    payload_length = length;
    bth.pad_count = static_cast<std::uint8_t>(-length.count() & 3);
  }
  /// Room for kMaxPayloadBytes, with the content of the buffer's last use. Not for elided payloads,
  /// which do without.
  std::uint8_t* payload() {
    if (payload_ == nullptr) allocate_payload();
    return payload_.get();
  }
  /// Null if nothing was ever written.
  const std::uint8_t* payload() const { return payload_.get(); }

  /// Length of the IPv4 packet: headers, payload, pad, ICRC.
  Bytes ip_bytes() const {
    constexpr std::size_t kFixed = Ipv4Header::kBytes + UdpHeader::kBytes + Bth::kBytes;
    return Bytes(kFixed + extension_bytes(bth.opcode)) + payload_length + Bytes(bth.pad_count) +
           kIcrcBytes;
  }
  /// Ethernet frame with FCS, without preamble and gap; at least 64 B.
  Bytes frame_bytes() const {
    return std::max(Bytes(EthernetHeader::kBytes) + ip_bytes() + kFcsBytes, kMinFrameBytes);
  }
  /// What the frame takes of the wire: with preamble and gap.
  Bytes wire_bytes() const { return frame_bytes() + kPreambleBytes + kInterPacketGapBytes; }

  /// Writes IPv4 header to last extension header, lengths and checksum filled in, to at most
  /// kMaxHeaderBytes; returns how many bytes it wrote.
  std::size_t write_headers(std::uint8_t* at) const;
  /// Replaces `frame` by the bytes of the Ethernet frame without FCS; an elided payload reads
  /// zeros.
  void encode(std::vector<std::uint8_t>& frame) const;

 private:
  friend class PacketPool;
  friend class PacketRef;
  void allocate_payload();

  std::uint32_t references_ = 0;
  PacketPool* pool_ = nullptr;
  Packet* next_free_ = nullptr;
  std::unique_ptr<std::uint8_t[]> payload_;
};

/// Run-wide number of the `count`-th packet that a port sends: 24 bits of port, 40 of count.
constexpr std::uint64_t packet_id(std::uint32_t port, std::uint64_t count) {
  return static_cast<std::uint64_t>(port) << 40 | (count & ((std::uint64_t{1} << 40) - 1));
}

/// A counted reference: the last one returns the packet to its pool. Not for several threads.
class PacketRef {
 public:
  PacketRef() = default;
  PacketRef(const PacketRef& other) : packet_(other.packet_) {
    if (packet_ != nullptr) ++packet_->references_;
  }
  PacketRef(PacketRef&& other) noexcept : packet_(std::exchange(other.packet_, nullptr)) {}
  PacketRef& operator=(PacketRef other) noexcept {
    std::swap(packet_, other.packet_);
    return *this;
  }
  ~PacketRef() { reset(); }

  inline void reset();
  Packet* get() const { return packet_; }
  Packet* operator->() const { return packet_; }
  Packet& operator*() const { return *packet_; }
  explicit operator bool() const { return packet_ != nullptr; }
  friend bool operator==(const PacketRef& a, const PacketRef& b) { return a.packet_ == b.packet_; }
  friend bool operator!=(const PacketRef& a, const PacketRef& b) { return a.packet_ != b.packet_; }

 private:
  friend class PacketPool;
  explicit PacketRef(Packet* packet) : packet_(packet) { ++packet_->references_; }
  Packet* packet_ = nullptr;
};

/// Owns all packets of a partition of the simulation. Must outlive every PacketRef to them.
class PacketPool {
 public:
  PacketPool() = default;
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  /// A packet with every field at its default.
  PacketRef create() {
    if (free_ == nullptr) grow();
    Packet* packet = free_;
    free_ = packet->next_free_;
    static_cast<PacketFields&>(*packet) = kFresh;
    ++outstanding_;
    return PacketRef(packet);
  }
  /// Packets that somebody still refers to.
  std::size_t outstanding() const { return outstanding_; }
  /// Packets ever made.
  std::size_t capacity() const { return chunks_.size() * kChunkPackets; }

 private:
  friend class PacketRef;
  static constexpr std::size_t kChunkPackets = 64;
  /// Defined out of sight: copying it is 16 B moves, while a default that the compiler sees becomes
  /// `rep stos`, three times slower at this size.
  static const PacketFields kFresh;
  void grow();
  void take_back(Packet* packet) {
    packet->next_free_ = free_;
    free_ = packet;
    --outstanding_;
  }

  std::vector<std::unique_ptr<Packet[]>> chunks_;
  Packet* free_ = nullptr;
  std::size_t outstanding_ = 0;
};

inline void PacketRef::reset() {
  if (packet_ != nullptr && --packet_->references_ == 0) packet_->pool_->take_back(packet_);
  packet_ = nullptr;
}

/// Takes packets: the far end of a link. The only interface between NIC, link and switch.
///
/// Never refuses: who cannot hold a packet drops it and says so, or has paused its sender in time.
/// Each packet is delivered exactly once, with `head` and `tail` set to the times at this sink: at
/// `tail`, or, to a sink that wants cut-through, when the first 64 B of the frame (or all of a
/// shorter rest) have arrived; the sink then must not count on the remaining bytes before `tail`.
class PacketSink {
 public:
  virtual ~PacketSink() = default;
  virtual void receive(PacketRef packet) = 0;
  /// Asked once, at elaboration.
  virtual bool wants_cut_through() const { return false; }
};

}  // namespace rnicsim

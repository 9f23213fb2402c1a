// SPDX-License-Identifier: MIT
// One packet of the fabric, the pool it comes from, and the one interface that takes it.
//
// A packet carries its headers decoded and by value, its payload in a buffer of its own that the
// pool keeps with it from use to use, and what only the simulation knows: the times when its first
// and last bit pass the point of delivery, the work request that it serves, a run-wide number. A
// packet whose payload is elided has the same length and the same times, and no bytes. Nothing is
// allocated per packet once a run is warm.
//
// A packet is RoCEv2 over IPv4, RoCEv2 over IPv6, RoCEv1 or InfiniBand. The first three keep what
// they have in common in the same fields, under the names that it has in the first; InfiniBand has
// an LRH in place of Ethernet, and nothing between that and the BTH. Or it is a frame of MAC
// control that pauses the other end's sender, with Ethernet addresses, `pause`, and no more; or
// InfiniBand's flow control packet, which is `credit` alone.
//
// Or it is a segment of TCP over IPv4 (is_tcp): Ethernet and IPv4 as in RoCEv2, TCP's ports in
// `udp`, where switches look for them, the whole header in a place of its own, no BTH nor what
// belongs to it, and in `icrc` TCP's checksum.
//
// Left out: GIDs other than those that follow from a port's addresses; InfiniBand's GRH, which only
// packets between subnets need.
// Approximates: the symbols with which InfiniBand's physical layer delimits packets count as part
// of its line code, as rates are data rates (2 B a packet: 0.05 % at 4 KiB).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/credit_packet.h"
#include "model/headers.h"
#include "model/pause_frame.h"
#include "model/tcp_header.h"
#include "model/telemetry.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

class PacketPool;

enum class FrameKind : std::uint8_t {
  kData,
  kPause,   ///< MAC control
  kCredit,  ///< flow control of InfiniBand
};
enum class LinkLayer : std::uint8_t { kRoceV2, kRoceV1, kInfiniBand };
enum class IpVersion : std::uint8_t { kIpv4, kIpv6 };
/// How a port's GID follows from its addresses.
enum class GidKind : std::uint8_t { kIpv4Mapped, kLinkLocal, kUniqueLocal };

/// Of GRH, or IP and UDP.
constexpr std::size_t network_header_bytes(LinkLayer link_layer, IpVersion ip_version) {
  if (link_layer == LinkLayer::kRoceV1) return Grh::kBytes;
  if (link_layer == LinkLayer::kInfiniBand) return 0;
  return UdpHeader::kBytes + (ip_version == IpVersion::kIpv6 ? Grh::kBytes : Ipv4Header::kBytes);
}
/// Around that: Ethernet header and FCS, or LRH and VCRC.
constexpr Bytes link_header_bytes(LinkLayer link_layer) {
  return link_layer == LinkLayer::kInfiniBand ? Bytes(Lrh::kBytes) + kVcrcBytes
                                              : Bytes(EthernetHeader::kBytes) + kFcsBytes;
}
/// What the wire carries before and behind each frame.
constexpr Bytes preamble_bytes(LinkLayer link_layer) {
  return link_layer == LinkLayer::kInfiniBand ? Bytes(0) : kPreambleBytes;
}
constexpr Bytes gap_bytes(LinkLayer link_layer) {
  return link_layer == LinkLayer::kInfiniBand ? Bytes(0) : kInterPacketGapBytes;
}
constexpr Bytes min_frame_bytes(LinkLayer link_layer) {
  return link_layer == LinkLayer::kInfiniBand ? Bytes(0) : kMinFrameBytes;
}

/// An AtomicETH without the address and the key, which it has in common with a RETH.
struct AtomicOperands {
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
};

/// What is reset when a packet is created, and may be copied from one packet to another.
struct PacketFields {
  PacketFields() {
  }  // NOLINT(modernize-use-equals-default): the union's members have initial values

  union {
    EthernetHeader eth{};  ///< ether_type is not kept: it follows from link layer and IP version
    Lrh lrh;               ///< of InfiniBand; nor is its length
  };
  FrameKind kind = FrameKind::kData;
  bool tagged = false;  ///< has an 802.1Q tag
  VlanTag vlan;
  LinkLayer link_layer = LinkLayer::kRoceV2;
  IpVersion ip_version = IpVersion::kIpv4;  ///< of RoCEv2
  std::uint8_t priority = 0;                ///< traffic class in the port or switch that holds it
  bool bad_fcs = false;                     ///< or VCRC: damaged on a link; the next port drops it
  /// total_length is not kept: it follows from the packet when bytes are wanted. Of IPv6 and
  /// RoCEv1: DSCP and ECN are the traffic class, ttl the hop limit, the addresses those behind
  /// mapped GIDs.
  union {
    Ipv4Header ipv4{};
    PauseFrame pause;     ///< of FrameKind::kPause, which has none
    CreditPacket credit;  ///< of FrameKind::kCredit
  };
  /// Nor is length. The flow label of IPv6 and RoCEv1 follows from the source port, so that one
  /// field tells flows apart in all three.
  UdpHeader udp;
  Bth bth;
  Reth reth;    ///< present if has_reth(bth.opcode); address and key also if has_atomic_eth
  Aeth aeth;    ///< present if has_aeth(bth.opcode)
  ImmDt immdt;  ///< present if has_immediate(bth.opcode)
  Ieth ieth;    ///< present if has_ieth(bth.opcode)
  AtomicOperands atomic;  ///< present if has_atomic_eth(bth.opcode), behind reth's address and key
  AtomicAckEth atomic_ack;  ///< present if has_atomic_ack_eth(bth.opcode)
  Deth deth;                ///< present if has_deth(bth)
  /// Without pad. Set through set_payload_length.
  Bytes payload_length;
  /// The invariant CRC on the wire, as model/icrc computes it. Of a packet with elided payload: how
  /// it differs (xor) from the right one, so that 0 is undamaged and nobody need read bytes.
  std::uint32_t icrc = 0;
  /// Port by which the switch that holds it took it in; from kFlooded on the number of its copies.
  std::uint16_t ingress = 0;
  bool payload_elided = false;
  GidKind gid_kind = GidKind::kIpv4Mapped;  ///< of RoCEv1 and RoCEv2 over IPv6
  Time head;                                ///< first bit of the frame passes the point of delivery
  Time tail;                                ///< last bit
  WorkRequestId work_request;
  std::uint64_t id = 0;  ///< run-wide, from packet_id; the sender assigns it
};

class Packet : public PacketFields {
 public:
  static constexpr std::size_t kMaxPayloadBytes = 4096;
  /// IPv6, which is longer than an LRH, to the longest extension headers.
  static constexpr std::size_t kMaxHeaderBytes =
      Grh::kBytes + UdpHeader::kBytes + Bth::kBytes + kMaxExtensionBytes;
  static constexpr std::size_t kMaxHops = 15;  ///< four bits of the telemetry's header

  /// Last bit left the sender's port; of an acknowledgement, that of what it answers: stands for
  /// the table of departures that a NIC keeps by PSN.
  Time departed = Time::never();
  /// How long its priority had been stopped at the port where it waits, when it came there. Kept
  /// only for observers.
  Time stopped_before;
  /// Of in-band telemetry, behind the IP packet; 0: carries none.
  std::uint8_t telemetry_bytes = 0;

  static constexpr std::uint16_t kFlooded = 0x8000;

  Packet() = default;
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;

  /// Sets the length and the pad that makes it a multiple of four. REQUIRES: <= kMaxPayloadBytes.
  void set_payload_length(Bytes length) {
    payload_length = length;
    bth.pad_count = static_cast<std::uint8_t>(-length.count() & 3);
  }
  /// Room for kMaxPayloadBytes, or the length of a segment, with the content of the buffer's last
  /// use. Not for elided payloads, which do without.
  std::uint8_t* payload() {
    if (payload_ == nullptr) allocate_payload(kMaxPayloadBytes);
    return payload_.get();
  }
  /// Null if nothing was ever written.
  const std::uint8_t* payload() const { return payload_.get(); }

  /// The last switch did not know where to, so that it has come to others as well.
  bool is_flooded() const { return ingress >= kFlooded; }

  /// Makes a fresh packet a segment. Its addresses and ECN field are the caller's, as ever.
  void become_tcp(const TcpHeader& header, Bytes length, bool elided);
  bool is_tcp() const { return kind == FrameKind::kData && ipv4.protocol == kIpProtocolTcp; }
  /// REQUIRES: is_tcp().
  const TcpHeader& tcp() const { return *tcp_; }
  /// For observers; empty if it is none of TCP.
  TcpMark tcp_mark() const {
    return is_tcp() ? tcp_->mark(static_cast<std::uint32_t>(payload_length.count())) : TcpMark();
  }

  AtomicEth atomic_eth() const {
    return {reth.virtual_address, reth.r_key, atomic.swap_or_add, atomic.compare};
  }
  void set_atomic_eth(const AtomicEth& header) {
    reth.virtual_address = header.virtual_address;
    reth.r_key = header.r_key;
    atomic = {header.swap_or_add, header.compare};
  }
  std::uint16_t ether_type() const {
    if (kind == FrameKind::kPause) return kEtherTypeMacControl;
    if (link_layer == LinkLayer::kRoceV1) return kEtherTypeRoceV1;
    return ip_version == IpVersion::kIpv6 ? kEtherTypeIpv6 : kEtherTypeIpv4;
  }
  bool has_grh() const {
    return link_layer == LinkLayer::kRoceV1 ||
           (ip_version == IpVersion::kIpv6 && link_layer != LinkLayer::kInfiniBand);
  }
  /// GRH of RoCEv1, IPv6 header of RoCEv2, with lengths. REQUIRES: has_grh().
  Grh grh() const;
  std::size_t network_header_bytes() const {
    return rnicsim::network_header_bytes(link_layer, ip_version);
  }

  /// Length of the IP packet, or what is one elsewhere: headers, payload, pad, ICRC.
  Bytes ip_bytes() const {
    if (is_tcp()) return Bytes(Ipv4Header::kBytes + tcp_->bytes()) + payload_length;
    return Bytes(network_header_bytes() + Bth::kBytes + extension_bytes(bth)) + payload_length +
           Bytes(bth.pad_count) + kIcrcBytes;
  }
  /// Destination address to EtherType, with the 802.1Q tag.
  Bytes ethernet_bytes() const {
    return Bytes(EthernetHeader::kBytes + (tagged ? VlanTag::kBytes : 0));
  }
  /// Ethernet frame with FCS, without preamble and gap; at least 64 B. Of InfiniBand the packet
  /// with LRH and VCRC.
  Bytes frame_bytes() const {
    if (kind != FrameKind::kData)
      return kind == FrameKind::kPause ? kMinFrameBytes : Bytes(CreditPacket::kBytes);
    if (link_layer == LinkLayer::kInfiniBand) return Bytes(Lrh::kBytes) + ip_bytes() + kVcrcBytes;
    return std::max(ethernet_bytes() + ip_bytes() + Bytes(telemetry_bytes) + kFcsBytes,
                    kMinFrameBytes);
  }
  /// What the frame takes of the wire: with preamble and gap.
  Bytes wire_bytes() const {
    return frame_bytes() + preamble_bytes(link_layer) + gap_bytes(link_layer);
  }

  /// From now on each switch adds a record.
  void begin_telemetry() {
    if (telemetry_ == nullptr) telemetry_ = std::make_unique<HopTelemetry::Record[]>(kMaxHops);
    telemetry_bytes = HopTelemetry::kHeaderBytes;
  }
  /// As another packet has it.
  void copy_telemetry(const Packet& from) {
    if (from.telemetry_bytes == 0) return;
    begin_telemetry();
    telemetry_bytes = from.telemetry_bytes;
    std::copy_n(from.telemetry_.get(), hops(), telemetry_.get());
  }
  std::size_t hops() const { return telemetry_bytes / HopTelemetry::kRecordBytes; }
  HopTelemetry::Record hop(std::size_t index) const { return telemetry_[index]; }
  /// REQUIRES: telemetry_bytes != 0. A packet that has met kMaxHops takes no more.
  void add_hop(HopTelemetry::Record record) {
    if (hops() == kMaxHops) return;
    telemetry_[hops()] = record;
    telemetry_bytes = static_cast<std::uint8_t>(telemetry_bytes + HopTelemetry::kRecordBytes);
  }

  /// Writes LRH, IP header or GRH to last extension header, lengths and checksum filled in, to at
  /// most kMaxHeaderBytes; returns how many bytes it wrote.
  std::size_t write_headers(std::uint8_t* at) const;

 private:
  friend class PacketPool;
  friend class PacketQueue;
  friend class PacketRef;
  void allocate_payload(std::size_t bytes);

  std::uint32_t references_ = 0;
  PacketPool* pool_ = nullptr;
  Packet* next_ = nullptr;  ///< in the pool's list of free ones, or in a PacketQueue
  std::unique_ptr<std::uint8_t[]> payload_;
  std::size_t payload_room_ = 0;
  std::unique_ptr<TcpHeader> tcp_;
  std::unique_ptr<HopTelemetry::Record[]> telemetry_;
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
  friend class PacketQueue;
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
    free_ = packet->next_;
    static_cast<PacketFields&>(*packet) = kFresh;
    packet->departed = Time::never();
    packet->telemetry_bytes = 0;
    ++outstanding_;
    return PacketRef(packet);
  }
  /// Another packet with the same fields and payload.
  PacketRef copy(const Packet& packet);
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
    packet->next_ = free_;
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

/// First in, first out, linked through the packets themselves: two words, and no memory however
/// many wait. A packet is in one queue at most.
class PacketQueue {
 public:
  PacketQueue() = default;
  PacketQueue(const PacketQueue&) = delete;
  PacketQueue& operator=(const PacketQueue&) = delete;
  ~PacketQueue() {
    while (!empty()) take();
  }
  bool empty() const { return first_ == nullptr; }
  Packet& front() const { return *first_; }
  void push(PacketRef ref) {
    Packet* const packet = std::exchange(ref.packet_, nullptr);
    packet->next_ = nullptr;
    (first_ == nullptr ? first_ : last_->next_) = packet;
    last_ = packet;
  }
  /// Whether any of them is such a one; looks at all.
  template <class Predicate>
  bool any(Predicate predicate) const {
    for (const Packet* packet = first_; packet != nullptr; packet = packet->next_)
      if (predicate(*packet)) return true;
    return false;
  }
  PacketRef take() {
    PacketRef ref;
    ref.packet_ = std::exchange(first_, first_->next_);
    // In a long queue the next one has left the processor's caches since it came.
    if (first_ != nullptr) {
      __builtin_prefetch(first_);
      __builtin_prefetch(&first_->bth);
      __builtin_prefetch(&first_->head);
      __builtin_prefetch(&first_->next_);
    }
    return ref;
  }

 private:
  Packet* first_ = nullptr;
  Packet* last_ = nullptr;
};

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

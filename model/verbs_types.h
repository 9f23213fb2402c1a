// SPDX-License-Identifier: MIT
// The nouns of the verbs: queue pair numbers, keys, packet sequence numbers, states, access rights,
// completion statuses. Values are those of the InfiniBand Architecture Specification, volume 1
// (IBTA), and, where that leaves them open, those of libibverbs.
#pragma once

#include <cstdint>

namespace rnicsim {

/// A number that names one thing and cannot be mistaken for the number of another.
template <class Tag, class Rep = std::uint32_t>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  friend constexpr bool operator==(Id a, Id b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(Id a, Id b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(Id a, Id b) { return a.value_ < b.value_; }

 private:
  Rep value_ = 0;
};

using Qpn = Id<struct QpnTag>;      ///< 24 bits
using Cqn = Id<struct CqnTag>;      ///< 24 bits
using PdNumber = Id<struct PdTag>;  ///< 24 bits
using PhysicalAddress = Id<struct PhysicalAddressTag, std::uint64_t>;
using VirtualAddress = Id<struct VirtualAddressTag, std::uint64_t>;

/// An lkey or rkey: index of the memory key table entry (24 bits) and a variable part (8 bits) that
/// tells a key from the previous user of the same entry.
class MemoryKey {
 public:
  constexpr MemoryKey() = default;
  constexpr explicit MemoryKey(std::uint32_t value) : value_(value) {}
  constexpr MemoryKey(std::uint32_t index, std::uint8_t variant) : value_(index << 8 | variant) {}
  constexpr std::uint32_t value() const { return value_; }
  constexpr std::uint32_t index() const { return value_ >> 8; }
  constexpr std::uint8_t variant() const { return static_cast<std::uint8_t>(value_); }
  friend constexpr bool operator==(MemoryKey a, MemoryKey b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(MemoryKey a, MemoryKey b) { return a.value_ != b.value_; }

 private:
  std::uint32_t value_ = 0;
};

/// Packet sequence number, modulo 2^24 (IBTA 9.7.1). `a - b` is the signed distance in
/// [-2^23, 2^23): negative means that a precedes b.
class Psn {
 public:
  static constexpr std::uint32_t kMask = 0xffffff;
  constexpr Psn() = default;
  constexpr explicit Psn(std::uint32_t value) : value_(value & kMask) {}
  constexpr std::uint32_t value() const { return value_; }
  friend constexpr Psn operator+(Psn a, std::uint32_t n) { return Psn(a.value_ + n); }
  friend constexpr std::int32_t operator-(Psn a, Psn b) {
    const std::uint32_t distance = (a.value_ - b.value_) & kMask;
    return distance < 0x800000 ? static_cast<std::int32_t>(distance)
                               : static_cast<std::int32_t>(distance) - 0x1000000;
  }
  constexpr Psn& operator++() { return *this = *this + 1; }
  friend constexpr bool operator==(Psn a, Psn b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(Psn a, Psn b) { return a.value_ != b.value_; }

 private:
  std::uint32_t value_ = 0;
};

/// Run-wide name of one work request: which NIC, which queue pair, the how-manieth on its send
/// queue. Software and NIC count work requests alike, so neither has to tell the other. 16 bits of
/// NIC, 20 of queue pair, 28 of count: later ones of a queue pair get the names of its first again.
class WorkRequestId {
 public:
  constexpr WorkRequestId() = default;
  constexpr explicit WorkRequestId(std::uint64_t value) : value_(value) {}
  constexpr WorkRequestId(std::uint16_t nic, Qpn qpn, std::uint32_t index)
      : value_(static_cast<std::uint64_t>(nic + 1) << (kQpnBits + kIndexBits) |
               static_cast<std::uint64_t>(qpn.value() & kQpnMask) << kIndexBits |
               (index & kIndexMask)) {}
  constexpr std::uint64_t value() const { return value_; }
  constexpr explicit operator bool() const { return value_ != 0; }
  /// Run-wide number of the NIC that it was posted to. REQUIRES a work request.
  constexpr std::uint16_t nic() const {
    return static_cast<std::uint16_t>((value_ >> (kQpnBits + kIndexBits)) - 1);
  }
  constexpr Qpn qpn() const {
    return Qpn(static_cast<std::uint32_t>(value_ >> kIndexBits) & kQpnMask);
  }
  constexpr std::uint32_t index() const { return static_cast<std::uint32_t>(value_) & kIndexMask; }
  /// How many of its queue pair's work requests lie between `other` and this one; negative if this
  /// one is the earlier. REQUIRES: the same queue pair, less than 2^27 apart.
  constexpr std::int32_t since(WorkRequestId other) const {
    constexpr unsigned kShift = 32 - kIndexBits;
    return static_cast<std::int32_t>((index() - other.index()) << kShift) >> kShift;
  }
  friend constexpr bool operator==(WorkRequestId a, WorkRequestId b) {
    return a.value_ == b.value_;
  }
  friend constexpr bool operator!=(WorkRequestId a, WorkRequestId b) {
    return a.value_ != b.value_;
  }

 private:
  static constexpr unsigned kQpnBits = 20;
  static constexpr unsigned kIndexBits = 28;
  static constexpr std::uint32_t kQpnMask = (1U << kQpnBits) - 1;
  static constexpr std::uint32_t kIndexMask = (1U << kIndexBits) - 1;
  std::uint64_t value_ = 0;  ///< 0: no work request
};

enum class QpState : std::uint8_t { kReset, kInit, kRtr, kRts, kSqd, kSqe, kErr };
const char* name_of(QpState state);
/// Whether a queue pair may be modified from one state to another (IBTA 10.3.1, figure 124).
bool may_modify(QpState from, QpState to);

enum class Transport : std::uint8_t { kRc, kUc, kUd };

/// Access rights of a memory region or a queue pair (bit values of libibverbs).
class AccessFlags {
 public:
  static constexpr std::uint8_t kLocalWrite = 1;
  static constexpr std::uint8_t kRemoteWrite = 2;
  static constexpr std::uint8_t kRemoteRead = 4;
  static constexpr std::uint8_t kRemoteAtomic = 8;
  static constexpr std::uint8_t kWindowBind = 16;
  static constexpr std::uint8_t kOnDemand = 64;  ///< no right: pages come when first used
  constexpr AccessFlags() = default;
  constexpr explicit AccessFlags(std::uint8_t bits) : bits_(bits) {}
  constexpr std::uint8_t bits() const { return bits_; }
  constexpr bool allows(std::uint8_t flag) const { return (bits_ & flag) == flag; }

 private:
  std::uint8_t bits_ = 0;
};

/// Completion status (IBTA 11.6.2; order and values of libibverbs).
enum class CompletionStatus : std::uint8_t {
  kSuccess = 0,
  kLocalLengthError = 1,
  kLocalQpOperationError = 2,
  kLocalProtectionError = 4,
  kFlushed = 5,
  kMemoryWindowBindError = 6,
  kBadResponse = 7,
  kLocalAccessError = 8,
  kRemoteInvalidRequest = 9,
  kRemoteAccessError = 10,
  kRemoteOperationError = 11,
  kRetryExceeded = 12,
  kRnrRetryExceeded = 13,
};
const char* name_of(CompletionStatus status);

/// Why a key check refused (nic/key_checker); travels to the report, never over the wire.
enum class KeyFault : std::uint8_t {
  kNone,
  kUnknownKey,     ///< never issued: no such entry, or never with this variable part
  kStaleKey,       ///< issued once; its region was deregistered since
  kWrongPd,        ///< the entry belongs to another protection domain
  kOutOfBounds,    ///< below the region, beyond it, or wrapping past 2^64
  kNoAccessRight,  ///< region or queue pair lacks the right
  kNotPresent,     ///< the translation table has no page there
};
const char* name_of(KeyFault fault);

}  // namespace rnicsim

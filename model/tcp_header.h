// SPDX-License-Identifier: MIT
// The TCP header, decoded (RFC 9293), with the options that hosts use: maximum segment size, window
// scale and timestamps (RFC 7323), SACK permitted and SACK blocks (RFC 2018); and arithmetic of
// sequence numbers, which wrap.
//
// `write` produces the bytes of the wire with the options in the places where Linux puts them,
// padded by NOPs in front; `read` takes any order. Neither knows where the bytes live.
//
// Left out: urgent data (the flag and its pointer read as they are not there), other options.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rnicsim {

inline constexpr std::uint8_t kIpProtocolTcp = 6;

/// A sequence number: comparisons hold while both are within 2^31 of each other.
class TcpSeq {
 public:
  constexpr TcpSeq() = default;
  constexpr explicit TcpSeq(std::uint32_t value) : value_(value) {}
  constexpr std::uint32_t value() const { return value_; }
  friend constexpr TcpSeq operator+(TcpSeq a, std::uint32_t n) { return TcpSeq(a.value_ + n); }
  friend constexpr TcpSeq operator-(TcpSeq a, std::uint32_t n) { return TcpSeq(a.value_ - n); }
  /// How far `a` is ahead of `b`.
  friend constexpr std::int32_t operator-(TcpSeq a, TcpSeq b) {
    return static_cast<std::int32_t>(a.value_ - b.value_);
  }
  friend constexpr bool operator==(TcpSeq a, TcpSeq b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(TcpSeq a, TcpSeq b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(TcpSeq a, TcpSeq b) { return a - b < 0; }

 private:
  std::uint32_t value_ = 0;
};

/// What names a segment to observers: whose it is, which bytes of the stream it has, its flags.
struct TcpMark {
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  TcpSeq sequence;
  std::uint32_t payload = 0;
  std::uint8_t flags = 0;  ///< as on the wire
  /// There is a segment.
  explicit operator bool() const { return destination_port != 0; }
  /// Of the same direction of a connection, as far as ports tell, and with a byte in common.
  bool overlaps(const TcpMark& other) const {
    const std::int64_t ahead = sequence - other.sequence;
    return source_port == other.source_port && destination_port == other.destination_port &&
           payload != 0 && ahead < other.payload && ahead + payload > 0;
  }
};
/// "32768 > 5001, seq 17, 1448 B [ACK,PSH]"
std::string text_of(const TcpMark& mark);

struct TcpHeader {
  static constexpr std::size_t kBytes = 20;     ///< without options
  static constexpr std::size_t kMaxBytes = 60;  ///< four bits of words
  static constexpr std::size_t kChecksumOffset = 16;
  static constexpr std::size_t kTimestampBytes = 12;  ///< with its padding
  static constexpr std::uint8_t kMaxWindowScale = 14;
  static constexpr std::size_t kMaxSackBlocks = 4;  ///< three beside timestamps

  struct SackBlock {
    TcpSeq first;
    TcpSeq behind;
  };

  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  TcpSeq sequence;
  TcpSeq acknowledgement;
  bool fin = false;
  bool syn = false;
  bool rst = false;
  bool psh = false;
  bool ack = false;
  bool ece = false;
  bool cwr = false;
  std::uint16_t window = 0;  ///< as it is on the wire

  // Options
  std::uint16_t mss = 0;  ///< 0: none
  bool has_window_scale = false;
  std::uint8_t window_scale = 0;
  bool sack_permitted = false;
  bool has_timestamps = false;
  std::uint32_t timestamp = 0;
  std::uint32_t timestamp_echo = 0;
  std::uint8_t sack_blocks = 0;
  std::array<SackBlock, kMaxSackBlocks> sack{};

  /// With options.
  std::size_t bytes() const;
  /// Of a segment with so many bytes of data.
  TcpMark mark(std::uint32_t payload) const;
  void write(std::uint8_t* at, std::uint16_t checksum) const;
  /// Null, or what makes the bytes no header that this can stand for. The checksum is not looked
  /// at.
  static const char* read(const std::uint8_t* at, std::size_t size, TcpHeader& header);
};

}  // namespace rnicsim

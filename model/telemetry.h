// SPDX-License-Identifier: MIT
// In-band telemetry: what each switch tells, in the packet itself, of the port by which it leaves
// (Li et al., HPCC, SIGCOMM 2019, section 4.1): a header of two bytes with the number of hops in
// its top four bits, then eight bytes a hop: rate class (4 bits), nanoseconds (24), bytes sent in
// units of 128 (20), bytes waiting in units of 80 (16). Counters wrap.
//
// They stand behind the IP packet in the Ethernet frame, where neither lengths nor ICRC see them,
// though a switch adds to them; real ones stand behind the UDP header and need another ICRC.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/units.h"

namespace rnicsim {

struct HopTelemetry {
  using Record = std::uint64_t;
  static constexpr std::uint8_t kHeaderBytes = 2;
  static constexpr std::uint8_t kRecordBytes = 8;
  static constexpr std::uint64_t kTimeMask = (1ULL << 24) - 1;
  static constexpr std::uint64_t kSentMask = (1ULL << 20) - 1;
  static constexpr std::uint64_t kWaitingMask = (1ULL << 16) - 1;
  static constexpr std::uint64_t kSentUnit = 128;
  static constexpr std::uint64_t kWaitingUnit = 80;
  /// Gb/s of each class.
  static constexpr std::array<std::uint16_t, 16> kRates = {1,  2,  5,   10,  20,  25,  40,  50,
                                                           56, 80, 100, 200, 300, 400, 800, 1600};

  std::uint8_t rate_class = 0;
  std::uint32_t time = 0;     ///< ns
  std::uint32_t sent = 0;     ///< kSentUnit bytes
  std::uint16_t waiting = 0;  ///< kWaitingUnit bytes

  /// The fastest class that is not above a rate (the slowest, if all are).
  static constexpr std::uint8_t class_of(BitRate rate) {
    std::uint8_t best = 0;
    for (std::size_t i = 0; i < kRates.size(); ++i)
      if (kRates[i] * 1'000'000'000ULL <= rate.numerator() / rate.denominator())
        best = static_cast<std::uint8_t>(i);
    return best;
  }
  static constexpr HopTelemetry of(std::uint8_t rate_class, Time now, Bytes sent, Bytes waiting) {
    const std::uint64_t units = waiting.count() / kWaitingUnit;
    HopTelemetry hop;
    hop.rate_class = rate_class;
    hop.time = static_cast<std::uint32_t>(static_cast<std::uint64_t>(now.ps()) / 1000 & kTimeMask);
    hop.sent = static_cast<std::uint32_t>(sent.count() / kSentUnit & kSentMask);
    hop.waiting = static_cast<std::uint16_t>(units < kWaitingMask ? units : kWaitingMask);
    return hop;
  }
  constexpr Record encode() const {
    return static_cast<std::uint64_t>(rate_class) << 60 | static_cast<std::uint64_t>(time) << 36 |
           static_cast<std::uint64_t>(sent) << 16 | waiting;
  }
  static constexpr HopTelemetry decode(Record record) {
    HopTelemetry hop;
    hop.rate_class = static_cast<std::uint8_t>(record >> 60);
    hop.time = static_cast<std::uint32_t>(record >> 36 & kTimeMask);
    hop.sent = static_cast<std::uint32_t>(record >> 16 & kSentMask);
    hop.waiting = static_cast<std::uint16_t>(record & kWaitingMask);
    return hop;
  }
  constexpr std::uint64_t bits_per_second() const { return kRates[rate_class] * 1'000'000'000ULL; }
  constexpr Bytes waiting_bytes() const { return Bytes(waiting * kWaitingUnit); }
  /// Since an earlier record of the same port, as far as counters tell.
  constexpr Bytes sent_since(const HopTelemetry& before) const {
    return Bytes(((sent - before.sent) & kSentMask) * kSentUnit);
  }
  constexpr Time time_since(const HopTelemetry& before) const {
    return Time::ns(static_cast<std::int64_t>((time - before.time) & kTimeMask));
  }
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The contract of a congestion control: how fast a queue pair may send, and how much of it may be
// under way, by what its packets meet on their way.
//
// An algorithm is one file pair and one line in the table of congestion_unit.cpp. It keeps what it
// knows of a queue pair in a record of its own, derived from CongestionFlow and made once, and says
// what it allows through two fields of that, which the senders look at: `rate` and `window`. What
// it needs of the rest of the NIC (ECN, telemetry, how often an acknowledgement) it says in
// needs().
//
// Calls come from congestion_unit, always with the record that make() made. sent() and
// acknowledged() are on the path of every packet: no allocation there. An algorithm that wants time
// to pass arms daemon entries of the scheduler, and none for a queue pair that is not limited; if
// it raises a rate there, it says so, so that the next packet need not wait as long as the old rate
// said.
#pragma once

#include <cstdint>
#include <memory>

#include "model/metrics.h"
#include "model/packet.h"
#include "model/ring.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

/// What a congestion control allows a queue pair, and what is known of its packets.
struct CongestionFlow {
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  explicit CongestionFlow(Qpn number) : qpn(number) {}
  virtual ~CongestionFlow() = default;
  Qpn qpn;

  // The algorithm's
  std::uint64_t rate = 0;             ///< bits per second of the wire; 0: line rate, not paced
  std::uint64_t window = kUnlimited;  ///< payload bytes that may be under way

  // congestion_unit's
  Time next_send;           ///< the next packet may have its turn
  Time paced_from;          ///< when that time began to run
  Bytes paced_bytes;        ///< what the last packet takes of the wire
  std::uint64_t sent = 0;   ///< payload bytes of reliable requests, ever
  std::uint64_t acked = 0;  ///< of these, known to have arrived
  struct Mark {
    Psn psn;             ///< of a packet that asks for an acknowledgement
    std::uint64_t sent;  ///< with it
  };
  Ring<Mark> marks;
  bool closed = false;  ///< held up by the window
  Time next_cnp;        ///< notification point: no CNP before

  std::uint64_t in_flight() const { return sent - acked; }
  /// One packet may always be under way, or nothing would ever open the window again.
  bool window_is_open() const { return sent == acked || in_flight() < window; }
};

class CongestionControl {
 public:
  struct Needs {
    bool ecn = false;        ///< packets are ECN capable; what is marked is answered with a CNP
    bool telemetry = false;  ///< requests collect it, acknowledgements bring it back
    std::uint32_t ack_interval = ~std::uint32_t{0};  ///< packets, at most
  };
  /// What an acknowledgement tells.
  struct Acknowledged {
    Time now;
    std::uint64_t bytes = 0;  ///< payload that it is the first to acknowledge
    /// Last bit of a packet out to last bit of its acknowledgement in; never(): not known.
    Time rtt = Time::never();
    const Packet* packet = nullptr;  ///< which may carry telemetry; null: something else said so
  };

  virtual ~CongestionControl() = default;
  virtual Needs needs() const = 0;
  virtual std::unique_ptr<CongestionFlow> make(Qpn qpn) = 0;
  /// As after make(): the queue pair has been reset. What it had in the scheduler may still come.
  virtual void begin(CongestionFlow& flow) = 0;
  /// A packet of a flow that has a rate has had its turn, which takes so many bytes of the wire.
  virtual void sent(CongestionFlow& /*flow*/, Bytes /*wire*/) {}
  virtual void acknowledged(CongestionFlow& /*flow*/, const Acknowledged& /*news*/) {}
  /// A CNP has come. False: it does not matter here.
  virtual bool notified(CongestionFlow& /*flow*/) { return false; }
  /// Something was lost, and is sent again.
  virtual void lost(CongestionFlow& /*flow*/) {}
  virtual void report(const MetricScope& /*scope*/) const {}
};

/// For rules that are in real numbers: doubles, which come out the same on every machine as long as
/// only what IEEE 754 rounds exactly is used (+ - * / and square root).
inline double real_ps(Time time) { return static_cast<double>(time.ps()); }
inline double real_seconds(Time time) { return real_ps(time) / 1e12; }
/// Bits per second.
constexpr std::uint64_t whole_rate(BitRate rate) { return rate.numerator() / rate.denominator(); }
/// The rate at which `fraction / one` of `rate` goes.
constexpr std::uint64_t share_of(std::uint64_t rate, std::uint64_t fraction, std::uint64_t one) {
  return static_cast<std::uint64_t>(static_cast<Uint128>(rate) * fraction / one);
}

}  // namespace rnicsim

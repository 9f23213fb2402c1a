// SPDX-License-Identifier: MIT
// The contract of a TCP congestion control: one for each connection, which says how many bytes may
// be in flight (`window`) and is told what becomes of them.
//
// Common to all is what RFC 5681 has outside congestion avoidance: slow start up to a threshold,
// one segment after a timeout, the initial window after idle time. An algorithm is one file pair
// and one line in the table of tcp_congestion.cpp: it says how the window grows above the
// threshold, and what a loss, a timeout or a mark leaves of it.
//
// Growth counts bytes, so that one acknowledgement of many segments counts like many of one.
// The caller (tcp_sender) calls grow() only if the window was what held it back, never during
// recovery, nor for an acknowledgement that echoes a mark or of what was in flight when one cut.
#pragma once

#include <cstdint>
#include <memory>

#include "host/tcp/tcp_config.h"
#include "model/units.h"

namespace rnicsim {

class TcpCongestion {
 public:
  enum class Cause : std::uint8_t { kLoss, kTimeout, kMark };
  /// What an acknowledgement tells that is the first to acknowledge something.
  struct Acknowledged {
    Time now;
    std::uint64_t bytes = 0;
    bool marked = false;     ///< it echoes a mark
    Time rtt;                ///< smoothed; 0: not known
    std::uint64_t una = 0;   ///< position that it acknowledges
    std::uint64_t high = 0;  ///< position behind all that has been sent
  };

  virtual ~TcpCongestion() = default;
  /// The marks of each packet are to be echoed as they came (RFC 8257), not until answered.
  virtual bool wants_each_mark() const { return false; }

  void begin(std::uint64_t mss, std::uint32_t initial_segments);
  std::uint64_t window() const { return window_; }
  std::uint64_t threshold() const { return threshold_; }
  bool in_slow_start() const { return window_ < threshold_; }

  /// Of every such acknowledgement, before anything else.
  virtual void observe(const Acknowledged& /*news*/) {}
  void grow(const Acknowledged& news);
  /// Something in flight was lost or marked; once a window, says the caller.
  void cut(Cause cause, std::uint64_t in_flight, Time now);
  /// One segment, and a new threshold if this is the first timeout of what timed out.
  void time_out(std::uint64_t in_flight, Time now, bool first);
  /// Nothing was sent for a timeout: no more than the initial window (RFC 5681, 4.1).
  void restart();
  /// After recovery without SACK: no burst (RFC 6582, 3.2 step 3).
  void limit(std::uint64_t window);

 protected:
  virtual void started() {}
  /// What is left of the window.
  virtual std::uint64_t reduced(Cause cause, std::uint64_t in_flight, Time now) = 0;
  /// So many bytes of an acknowledgement, above the threshold; returns the new window.
  virtual std::uint64_t avoid(std::uint64_t bytes, const Acknowledged& news) = 0;
  std::uint64_t mss() const { return mss_; }
  /// The window is the threshold from now on.
  void leave_slow_start() { threshold_ = window_; }

 private:
  std::uint64_t mss_ = 1;
  std::uint64_t initial_ = 1;
  std::uint64_t window_ = 1;
  std::uint64_t threshold_ = ~std::uint64_t{0};
};

std::unique_ptr<TcpCongestion> make_tcp_congestion(const TcpConfig& config);

}  // namespace rnicsim

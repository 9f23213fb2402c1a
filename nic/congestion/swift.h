// SPDX-License-Identifier: MIT
// Delay control in the manner of Swift (Kumar et al., SIGCOMM 2020, algorithm 1): a window that
// grows while round trips are below a target and shrinks, at most once a round trip, by how far
// they are above it.
//
//   target = base_target + per_hop x hops + flow scaling, which grows as the window shrinks:
//            fs_range (1/sqrt(w) - 1/sqrt(w_max)) / (1/sqrt(w_min) - 1/sqrt(w_max)), in
//            0..fs_range, with w the window, w_min and w_max fs_min_window and fs_max_window
//   rtt < target    window += increase x acknowledged / window; below one packet, x acknowledged /
//   packet else            window *= max(1 - beta (rtt - target) / rtt, 1 - max_cut) a loss window
//   *= 1 - max_cut, at most once a round trip
//
// Hops are what the acknowledgement's TTL has lost. A window below a packet is a pace: a packet
// each rtt x packet / window. Approximates: one delay, that of the wire and the responder; Swift
// keeps a second window for the receiving host's delay. Paces only below one packet. A queue pair
// begins with max_window.
#pragma once

#include "model/config_reader.h"
#include "nic/congestion/congestion_control.h"

namespace rnicsim {

struct SwiftConfig {
  Time base_target{Time::us(25)};
  Time per_hop{Time::us(1)};
  Time fs_range{Time::us(50)};
  Bytes fs_min_window{410};
  Bytes fs_max_window{409'600};
  Bytes packet{4096};
  Bytes increase{4096};
  double beta = 0.8;
  double max_cut = 0.5;
  Bytes min_window{41};
  Bytes max_window{1024 * 1024};
  std::uint32_t ack_interval = 1;
  void describe(Fields& fields);
};

class Swift final : public CongestionControl {
 public:
  struct Flow : CongestionFlow {
    using CongestionFlow::CongestionFlow;
    double size = 0;  ///< as `window`, which is whole
    Time last_cut;
    Time rtt = Time::never();  ///< the last
  };
  Swift(std::uint64_t line_rate, const SwiftConfig& config);

  Needs needs() const override;
  std::unique_ptr<CongestionFlow> make(Qpn qpn) override;
  void begin(CongestionFlow& flow) override;
  void acknowledged(CongestionFlow& flow, const Acknowledged& news) override;
  void lost(CongestionFlow& flow) override;
  void report(const MetricScope& scope) const override;

  /// For a window and a number of hops.
  Time target(double window, unsigned hops) const;

 private:
  void set(Flow& flow, double size);

  SwiftConfig config_;
  std::uint64_t line_;
  double scale_;  ///< of flow scaling, in ps
  double offset_;
  std::uint64_t cuts_ = 0;
  std::uint64_t increases_ = 0;
  Time now_;  ///< of the last news
  double smallest_;
  Time longest_;
};

}  // namespace rnicsim

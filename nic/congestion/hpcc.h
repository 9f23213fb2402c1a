// SPDX-License-Identifier: MIT
// HPCC (Li et al., SIGCOMM 2019, algorithm 1): a window by the load of the busiest port on the way,
// which switches tell in the packets themselves (model/telemetry) and acknowledgements bring back.
// Of each port, since the acknowledgement before, over `dt`, with B its rate and T = base_rtt:
//
//   u = min(bytes waiting now, then) / (B T) + bytes sent / (B dt);   U, of the largest u,
//   smoothed: U = (1 - dt/T) U + dt/T u U >= eta, or max_stage round trips without:  W = Wc eta / U
//   + ai_window else                                         W = Wc + ai_window
//
// Wc is W of the last acknowledgement that answers something sent after the one before was set: a
// round trip. Packets are paced at W / T. Window and pace begin with, and never exceed, line rate.
// Connects to: requests of reliable connections collect telemetry; each is acknowledged.
// Approximates: of a path that changes (other hops than before) the first acknowledgement only sets
// what later ones are compared with. Ports of a rate between two classes count as the slower.
#pragma once

#include <array>

#include "model/config_reader.h"
#include "nic/congestion/congestion_control.h"

namespace rnicsim {

struct HpccConfig {
  double eta = 0.95;
  std::uint32_t max_stage = 5;
  Bytes ai_window{80};
  Time base_rtt{Time::us(13)};
  BitRate min_rate{100'000'000};
  std::uint32_t ack_interval = 1;
  void describe(Fields& fields);
};

class Hpcc final : public CongestionControl {
 public:
  struct Flow : CongestionFlow {
    using CongestionFlow::CongestionFlow;
    double reference = 0;  ///< Wc
    double load = 0;       ///< U
    std::uint32_t stage = 0;
    std::uint64_t round = 0;  ///< `sent` when Wc was set
    std::size_t hops = 0;
    std::array<HopTelemetry, Packet::kMaxHops> before;
  };
  Hpcc(std::uint64_t line_rate, const HpccConfig& config);

  Needs needs() const override;
  std::unique_ptr<CongestionFlow> make(Qpn qpn) override;
  void begin(CongestionFlow& flow) override;
  void acknowledged(CongestionFlow& flow, const Acknowledged& news) override;
  void lost(CongestionFlow& flow) override;
  void report(const MetricScope& scope) const override;

 private:
  bool measure(Flow& flow, const Packet& packet);
  void set(Flow& flow, double window);

  HpccConfig config_;
  std::uint64_t line_;
  double largest_;  ///< window
  double smallest_;
  double lowest_;  ///< window of any queue pair, ever
  std::uint64_t updates_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// TIMELY (Mittal et al., SIGCOMM 2015, algorithm 1): a rate by round trip times and their gradient.
// At each sample, rtt, with d its smoothed difference from the one before and g = d / min_rtt:
//
//   rtt < t_low    rate += ai_rate
//   rtt > t_high   rate *= 1 - beta (1 - t_high / rtt)
//   g <= 0         rate += ai_rate, `hai_after` times that from the hai_after-th time in a row on
//   g > 0          rate *= 1 - beta g
//
// A sample is an acknowledgement: `ack_interval` packets are the segment of the paper. Times are
// those of the wire: from a packet's last bit out to its acknowledgement's in, so that a packet's
// own time on the first wire is not counted, as the paper has it.
// A queue pair begins at line rate (the paper's at a share of it); a cut never takes all.
#pragma once

#include "model/config_reader.h"
#include "nic/congestion/congestion_control.h"

namespace rnicsim {

struct TimelyConfig {
  Time t_low{Time::us(50)};
  Time t_high{Time::us(500)};
  Time min_rtt{Time::us(20)};
  BitRate ai_rate{10'000'000};
  double beta = 0.8;
  double ewma = 0.875;
  std::uint32_t hai_after = 5;
  BitRate min_rate{10'000'000};
  std::uint32_t ack_interval = 16;
  void describe(Fields& fields);
};

class Timely final : public CongestionControl {
 public:
  struct Flow : CongestionFlow {
    using CongestionFlow::CongestionFlow;
    std::uint64_t speed = 0;    ///< as `rate`, which is 0 at line rate
    Time last = Time::never();  ///< round trip
    double difference = 0;      ///< smoothed, ps
    std::uint32_t falling = 0;  ///< samples in a row without a positive gradient
  };
  Timely(std::uint64_t line_rate, const TimelyConfig& config);

  Needs needs() const override;
  std::unique_ptr<CongestionFlow> make(Qpn qpn) override;
  void begin(CongestionFlow& flow) override;
  void acknowledged(CongestionFlow& flow, const Acknowledged& news) override;
  void report(const MetricScope& scope) const override;

 private:
  void raise(Flow& flow, std::uint32_t steps);
  void lower(Flow& flow, double factor);

  TimelyConfig config_;
  std::uint64_t line_;
  std::uint64_t min_;
  std::uint64_t raised_ = 0;
  std::uint64_t lowered_ = 0;
  std::uint64_t lowest_;
  Time longest_;
};

}  // namespace rnicsim

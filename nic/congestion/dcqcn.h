// SPDX-License-Identifier: MIT
// DCQCN, the reaction point (Zhu et al., SIGCOMM 2015, section 3): a CNP cuts the rate of its queue
// pair, time and bytes without one raise it again. The notification point, which sends CNPs, is
// notification_point; the congestion point is the switch's ECN marking.
//
//   CNP:          Rt = Rc,  Rc = Rc (1 - alpha / 2),  alpha = (1 - g) alpha + g
//   alpha timer:  alpha = (1 - g) alpha, each `alpha_timer` without a CNP
//   increase:     each `rate_timer` and each `byte_counter` since the CNP, T and B counting them:
//                   fast recovery    T and B <= threshold   Rc = (Rt + Rc) / 2
//                   hyper increase   T and B > threshold    Rt += hai_rate, then the same
//                   additive         else                   Rt += ai_rate, then the same
//
// What NICs add: a least time between two cuts, a cut limited to a share, a rate to begin with at
// the first CNP, and whether the target follows the rate at every cut (`clamp_target`) or only if
// the rate has been raised since the last one: by bytes, or also by time (`clamp_after_timer`).
//
// A queue pair at line rate has no limiter and no timers. Its limiter ends when its rate is within
// 1/1024 of line rate again (the formulas come close only), and the next one begins with
// `initial_alpha`.
//
// Numbers are integers: rates in bit/s, alpha in 2^-30. Sources differ in whether the threshold-th
// round is still fast recovery; here it is. Hyper increase adds hai_rate each time, as simulators
// and NICs do, not i times that in its i-th round.
#pragma once

#include <optional>

#include "model/config_reader.h"
#include "model/scheduler.h"
#include "nic/congestion/congestion_control.h"
#include "nic/queue_pair.h"

namespace rnicsim {

struct DcqcnConfig {
  double g = 1. / 256;
  double initial_alpha = 1;
  Time alpha_timer{Time::us(55)};
  Time rate_timer{Time::us(55)};
  Bytes byte_counter{10'000'000};
  std::uint32_t threshold = 5;
  BitRate ai_rate{40'000'000};
  BitRate hai_rate{200'000'000};
  BitRate min_rate{10'000'000};
  double max_cut = 1;
  Time cut_interval{};
  std::optional<BitRate> rate_on_first_cnp;
  bool clamp_target = true;
  bool clamp_after_timer = true;
  void describe(Fields& fields);
};

class Dcqcn final : public CongestionControl {
 public:
  static constexpr std::uint64_t kOne = 1ULL << 30;  ///< of alpha

  struct Flow : CongestionFlow {
    using CongestionFlow::CongestionFlow;
    std::uint64_t target = 0;
    std::uint64_t alpha = 0;
    Bytes bytes;  ///< since the byte counter last ran out
    std::uint32_t by_time = 0;
    std::uint32_t by_bytes = 0;
    Time next_cut;
    /// A deadline that moves, and one entry of the scheduler that looks after it.
    struct Timer {
      Time deadline = Time::never();
      bool armed = false;
    };
    Timer alpha_timer;
    Timer rate_timer;
  };

  /// `raised` runs, with the queue pair's number, when time or bytes have raised its rate.
  Dcqcn(Scheduler& scheduler, QueuePairTable& qps, std::uint64_t line_rate,
        const DcqcnConfig& config, Callback raised = {});

  Needs needs() const override;
  std::unique_ptr<CongestionFlow> make(Qpn qpn) override;
  void begin(CongestionFlow& flow) override;
  void sent(CongestionFlow& flow, Bytes wire) override;
  bool notified(CongestionFlow& flow) override;
  void report(const MetricScope& scope) const override;

 private:
  bool follows(const Flow& flow) const;
  void cut(Flow& flow);
  void increase(Flow& flow);
  void start(Flow& flow);
  void end(Flow& flow);
  void arm_alpha(Flow& flow);
  void arm_rate(Flow& flow);
  void alpha_due(std::uint64_t qpn);
  void rate_due(std::uint64_t qpn);
  Flow& flow_of(std::uint64_t qpn);

  Scheduler& scheduler_;
  QueuePairTable& qps_;
  DcqcnConfig config_;
  Callback raised_;
  std::uint64_t line_;
  std::uint64_t full_;  ///< rates from here on are line rate
  std::uint64_t min_;
  std::uint64_t g_;
  std::uint64_t least_share_;  ///< of the rate that a cut leaves, in kOne
  std::uint64_t cuts_ = 0;
  std::uint64_t increases_ = 0;
  std::uint64_t recovered_ = 0;
  std::uint64_t limited_ = 0;
  std::uint64_t most_limited_ = 0;
  std::uint64_t lowest_;
};

}  // namespace rnicsim

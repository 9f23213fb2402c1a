// SPDX-License-Identifier: MIT
#include "nic/congestion/timely.h"

#include <algorithm>

namespace rnicsim {

void TimelyConfig::describe(Fields& fields) {
  const auto rates = range(BitRate(1'000'000), BitRate::gbps(1600));
  const auto times = range(Time::ns(1), Time::ms(100));
  fields.field("t_low", t_low, times, "round trips below it always raise the rate");
  fields.field("t_high", t_high, times, "round trips above it always lower the rate");
  fields.field("min_rtt", min_rtt, times, "what the gradient is divided by");
  fields.field("ai_rate", ai_rate, rates, "step of additive increase");
  fields.field("beta", beta, range(0., 1.), "weight of a decrease");
  fields.field("ewma", ewma, range(0., 1.), "weight of the newest difference of round trips");
  fields.field("hai_after", hai_after, range(1, 1000),
               "falling round trips in a row from which on a step is this many times as large");
  fields.field("min_rate", min_rate, rates, "no decrease goes below");
  fields.field("ack_interval", ack_interval, range(1, 1 << 20), "packets a sample");
  fields.check(t_low <= t_high, "t_low", "must not be above t_high");
}

Timely::Timely(std::uint64_t line_rate, const TimelyConfig& config)
    : config_(config),
      line_(line_rate),
      min_(std::min(whole_rate(config.min_rate), line_rate)),
      lowest_(line_rate) {}

CongestionControl::Needs Timely::needs() const {
  Needs needs;
  needs.ack_interval = config_.ack_interval;
  return needs;
}

std::unique_ptr<CongestionFlow> Timely::make(Qpn qpn) {
  auto flow = std::make_unique<Flow>(qpn);
  begin(*flow);
  return flow;
}

void Timely::begin(CongestionFlow& base) {
  auto& flow = static_cast<Flow&>(base);
  flow.speed = line_;
  flow.rate = 0;
  flow.last = Time::never();
  flow.difference = 0;
  flow.falling = 0;
}

void Timely::acknowledged(CongestionFlow& base, const Acknowledged& news) {
  if (news.rtt == Time::never()) return;
  auto& flow = static_cast<Flow&>(base);
  longest_ = std::max(longest_, news.rtt);
  const double newest = flow.last == Time::never() ? 0 : real_ps(news.rtt) - real_ps(flow.last);
  flow.last = news.rtt;
  flow.difference = (1 - config_.ewma) * flow.difference + config_.ewma * newest;
  const double gradient = flow.difference / real_ps(config_.min_rtt);
  flow.falling = gradient <= 0 ? flow.falling + 1 : 0;
  if (news.rtt < config_.t_low)
    raise(flow, 1);
  else if (news.rtt > config_.t_high)
    lower(flow, 1 - config_.beta * (1 - real_ps(config_.t_high) / real_ps(news.rtt)));
  else if (gradient <= 0)
    raise(flow, flow.falling >= config_.hai_after ? config_.hai_after : 1);
  else
    lower(flow, 1 - config_.beta * std::min(gradient, 1.));
}

void Timely::raise(Flow& flow, std::uint32_t steps) {
  if (flow.speed == line_) return;
  ++raised_;
  flow.speed = std::min(line_, flow.speed + steps * whole_rate(config_.ai_rate));
  flow.rate = flow.speed == line_ ? 0 : flow.speed;
}

void Timely::lower(Flow& flow, double factor) {
  ++lowered_;
  flow.speed = std::max(min_, static_cast<std::uint64_t>(static_cast<double>(flow.speed) * factor));
  flow.rate = flow.speed;
  lowest_ = std::min(lowest_, flow.speed);
}

void Timely::report(const MetricScope& scope) const {
  scope.count("increases", raised_, "round trips that raised a rate");
  scope.count("cuts", lowered_, "round trips that lowered a rate");
  scope.rate("lowest_rate", static_cast<double>(lowest_), "lowest that a queue pair's rate was");
  scope.time("rtt.max", longest_, "longest round trip");
}

}  // namespace rnicsim

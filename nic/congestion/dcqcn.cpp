// SPDX-License-Identifier: MIT
#include "nic/congestion/dcqcn.h"

#include <algorithm>
#include <cmath>

namespace rnicsim {

namespace {

std::uint64_t fixed(double share) {
  return static_cast<std::uint64_t>(std::llround(share * static_cast<double>(Dcqcn::kOne)));
}

constexpr std::uint64_t kFullShare = 1024;

}  // namespace

void DcqcnConfig::describe(Fields& fields) {
  const auto rates = range(BitRate(1'000'000), BitRate::gbps(1600));
  fields.field("g", g, range(0., 1.), "weight of the newest period in alpha");
  fields.field("initial_alpha", initial_alpha, range(0., 1.), "alpha at the first CNP");
  fields.field("alpha_timer", alpha_timer, range(Time::ns(100), Time::ms(100)),
               "time without a CNP after which alpha shrinks");
  fields.field("rate_timer", rate_timer, range(Time::ns(100), Time::ms(100)),
               "time without a CNP after which the rate is raised");
  fields.field("byte_counter", byte_counter, range(Bytes(0), Bytes(1ULL << 40)),
               "bytes sent without a CNP after which the rate is raised; 0: time alone counts");
  fields.field("threshold", threshold, range(1, 1000), "rounds of fast recovery");
  fields.field("ai_rate", ai_rate, rates, "step of additive increase");
  fields.field("hai_rate", hai_rate, rates, "step of hyper increase");
  fields.field("min_rate", min_rate, rates, "no cut goes below");
  fields.field("max_cut", max_cut, range(0.01, 1.), "largest share that one cut takes");
  fields.field("cut_interval", cut_interval, range(Time(), Time::ms(10)),
               "least time between two cuts of a queue pair");
  fields.optional("rate_on_first_cnp", rate_on_first_cnp, rates,
                  "rate that the first CNP sets, if lower; if not given it cuts like others");
  fields.field("clamp_target", clamp_target, "every cut sets the target to the rate before it");
  fields.field("clamp_after_timer", clamp_after_timer,
               "without clamp_target: it does after an increase by time, not only by bytes");
}

Dcqcn::Dcqcn(Scheduler& scheduler, QueuePairTable& qps, std::uint64_t line_rate,
             const DcqcnConfig& config, Callback raised)
    : scheduler_(scheduler),
      qps_(qps),
      config_(config),
      raised_(raised),
      line_(line_rate),
      full_(line_rate - line_rate / kFullShare),
      min_(std::min(whole_rate(config.min_rate), line_rate)),
      g_(fixed(config.g)),
      least_share_(kOne - fixed(config.max_cut)),
      lowest_(line_rate) {}

CongestionControl::Needs Dcqcn::needs() const {
  Needs needs;
  needs.ecn = true;
  return needs;
}

std::unique_ptr<CongestionFlow> Dcqcn::make(Qpn qpn) { return std::make_unique<Flow>(qpn); }

void Dcqcn::begin(CongestionFlow& flow) {
  if (flow.rate != 0) end(static_cast<Flow&>(flow));
}

Dcqcn::Flow& Dcqcn::flow_of(std::uint64_t qpn) {
  return static_cast<Flow&>(*qps_.at(Qpn(static_cast<std::uint32_t>(qpn))).flow);
}

bool Dcqcn::notified(CongestionFlow& base) {
  auto& flow = static_cast<Flow&>(base);
  const Time now = scheduler_.now();
  const bool first = flow.rate == 0;
  if (first)
    start(flow);
  else if (now < flow.next_cut)
    return true;
  if (follows(flow)) flow.target = flow.rate;
  if (first && config_.rate_on_first_cnp)
    flow.rate = std::clamp(whole_rate(*config_.rate_on_first_cnp), min_, line_);
  else
    cut(flow);
  lowest_ = std::min(lowest_, flow.rate);
  ++cuts_;
  flow.alpha = flow.alpha - share_of(flow.alpha, g_, kOne) + g_;
  flow.next_cut = now + config_.cut_interval;
  flow.by_time = flow.by_bytes = 0;
  flow.bytes = Bytes();
  flow.alpha_timer.deadline = now + config_.alpha_timer;
  flow.rate_timer.deadline = now + config_.rate_timer;
  arm_alpha(flow);
  arm_rate(flow);
  return true;
}

/// Whether the target becomes what the rate is before a cut.
bool Dcqcn::follows(const Flow& flow) const {
  return config_.clamp_target || flow.by_bytes != 0 ||
         (config_.clamp_after_timer && flow.by_time != 0);
}

void Dcqcn::cut(Flow& flow) {
  const std::uint64_t share = std::max(kOne - flow.alpha / 2, least_share_);
  flow.rate = std::max(share_of(flow.rate, share, kOne), min_);
}

/// A limiter, still at line rate.
void Dcqcn::start(Flow& flow) {
  flow.rate = flow.target = line_;
  flow.alpha = fixed(config_.initial_alpha);
  most_limited_ = std::max(most_limited_, ++limited_);
}

void Dcqcn::end(Flow& flow) {
  flow.rate = 0;
  flow.by_time = flow.by_bytes = 0;
  flow.bytes = Bytes();
  flow.next_cut = Time();
  flow.alpha_timer.deadline = flow.rate_timer.deadline = Time::never();
  --limited_;
}

void Dcqcn::sent(CongestionFlow& base, Bytes wire) {
  if (config_.byte_counter == Bytes()) return;
  auto& flow = static_cast<Flow&>(base);
  flow.bytes += wire;
  if (flow.bytes < config_.byte_counter) return;
  flow.bytes -= config_.byte_counter;
  ++flow.by_bytes;
  increase(flow);
}

void Dcqcn::increase(Flow& flow) {
  ++increases_;
  if (std::min(flow.by_time, flow.by_bytes) > config_.threshold)
    flow.target += whole_rate(config_.hai_rate);
  else if (std::max(flow.by_time, flow.by_bytes) > config_.threshold)
    flow.target += whole_rate(config_.ai_rate);
  flow.target = std::min(flow.target, line_);
  flow.rate = (flow.rate + flow.target + 1) / 2;
  if (flow.rate >= full_) {
    ++recovered_;
    end(flow);
  }
  if (raised_) raised_.function(raised_.object, flow.qpn.value());
}

void Dcqcn::arm_alpha(Flow& flow) {
  if (flow.alpha_timer.armed) return;
  flow.alpha_timer.armed = true;
  scheduler_.at_daemon(flow.alpha_timer.deadline, call<&Dcqcn::alpha_due>(this, flow.qpn.value()));
}

void Dcqcn::arm_rate(Flow& flow) {
  if (flow.rate_timer.armed) return;
  flow.rate_timer.armed = true;
  scheduler_.at_daemon(flow.rate_timer.deadline, call<&Dcqcn::rate_due>(this, flow.qpn.value()));
}

void Dcqcn::alpha_due(std::uint64_t qpn) {
  Flow& flow = flow_of(qpn);
  flow.alpha_timer.armed = false;
  if (flow.alpha_timer.deadline == Time::never()) return;
  if (scheduler_.now() == flow.alpha_timer.deadline) {
    flow.alpha -= share_of(flow.alpha, g_, kOne);
    flow.alpha_timer.deadline += config_.alpha_timer;
  }
  arm_alpha(flow);
}

void Dcqcn::rate_due(std::uint64_t qpn) {
  Flow& flow = flow_of(qpn);
  flow.rate_timer.armed = false;
  if (flow.rate_timer.deadline == Time::never()) return;
  if (scheduler_.now() == flow.rate_timer.deadline) {
    flow.rate_timer.deadline += config_.rate_timer;
    ++flow.by_time;
    increase(flow);
    if (flow.rate == 0) return;
  }
  arm_rate(flow);
}

void Dcqcn::report(const MetricScope& scope) const {
  scope.count("cuts", cuts_, "times that a CNP cut a queue pair's rate");
  scope.count("increases", increases_, "times that bytes or time raised it again");
  scope.count("recovered", recovered_, "rate limiters that came back to line rate");
  scope.count("limited", limited_, "queue pairs below line rate at the end");
  scope.count("limited.max", most_limited_, "most of them at once");
  scope.rate("lowest_rate", static_cast<double>(lowest_), "lowest that a queue pair's rate was");
}

}  // namespace rnicsim

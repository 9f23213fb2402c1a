// SPDX-License-Identifier: MIT
#include "nic/congestion/hpcc.h"

#include <algorithm>

namespace rnicsim {

void HpccConfig::describe(Fields& fields) {
  fields.field("eta", eta, range(0.1, 1.), "load of the busiest port that is aimed at");
  fields.field("max_stage", max_stage, range(0, 100),
               "round trips of additive increase before the window is set by the load again");
  fields.field("ai_window", ai_window, range(Bytes(1), Bytes(1 << 20)),
               "step of additive increase");
  fields.field("base_rtt", base_rtt, range(Time::ns(100), Time::ms(10)),
               "round trip without queues, the same for all: a window of line rate times this");
  fields.field("min_rate", min_rate, range(BitRate(1'000'000), BitRate::gbps(1600)),
               "the window is not below this times base_rtt");
  fields.field("ack_interval", ack_interval, range(1, 1 << 20), "packets an acknowledgement");
}

Hpcc::Hpcc(std::uint64_t line_rate, const HpccConfig& config) : config_(config), line_(line_rate) {
  const double seconds = real_seconds(config.base_rtt);
  largest_ = static_cast<double>(line_rate) / 8 * seconds;
  smallest_ = std::min(largest_, static_cast<double>(whole_rate(config.min_rate)) / 8 * seconds);
  lowest_ = largest_;
}

CongestionControl::Needs Hpcc::needs() const {
  Needs needs;
  needs.telemetry = true;
  needs.ack_interval = config_.ack_interval;
  return needs;
}

std::unique_ptr<CongestionFlow> Hpcc::make(Qpn qpn) {
  auto flow = std::make_unique<Flow>(qpn);
  begin(*flow);
  return flow;
}

void Hpcc::begin(CongestionFlow& base) {
  auto& flow = static_cast<Flow&>(base);
  flow.reference = largest_;
  flow.load = 1;
  flow.stage = 0;
  flow.round = 0;
  flow.hops = 0;
  set(flow, largest_);
}

void Hpcc::acknowledged(CongestionFlow& base, const Acknowledged& news) {
  auto& flow = static_cast<Flow&>(base);
  if (news.packet == nullptr || news.packet->hops() == 0 || !measure(flow, *news.packet)) return;
  ++updates_;
  const bool by_load = flow.load >= config_.eta || flow.stage >= config_.max_stage;
  const double window = (by_load ? flow.reference * config_.eta / flow.load : flow.reference) +
                        static_cast<double>(config_.ai_window.count());
  set(flow, window);
  if (flow.acked <= flow.round) return;
  flow.round = flow.sent;
  flow.stage = by_load ? 0 : flow.stage + 1;
  flow.reference = std::clamp(window, smallest_, largest_);
}

/// What was sent since the round began may count as not sent now.
void Hpcc::lost(CongestionFlow& base) {
  auto& flow = static_cast<Flow&>(base);
  flow.round = std::min(flow.round, flow.sent);
}

/// The load of the busiest port. False: there is nothing to compare with.
bool Hpcc::measure(Flow& flow, const Packet& packet) {
  const double base = real_seconds(config_.base_rtt);
  const bool same = flow.hops == packet.hops();
  double most = 0;
  double over = base;
  for (std::size_t i = 0; i < packet.hops(); ++i) {
    const HopTelemetry now = HopTelemetry::decode(packet.hop(i));
    const HopTelemetry before = flow.before[i];
    flow.before[i] = now;
    const Time passed = now.time_since(before);
    if (!same || passed == Time()) continue;
    const double bytes_per_second = static_cast<double>(now.bits_per_second()) / 8;
    const auto waiting =
        static_cast<double>(std::min(now.waiting_bytes(), before.waiting_bytes()).count());
    const double sent = static_cast<double>(now.sent_since(before).count());
    const double load = (waiting / base + sent / real_seconds(passed)) / bytes_per_second;
    if (load <= most) continue;
    most = load;
    over = real_seconds(passed);
  }
  flow.hops = packet.hops();
  if (!same) return false;
  const double share = std::min(over, base) / base;
  flow.load = (1 - share) * flow.load + share * most;
  return true;
}

void Hpcc::set(Flow& flow, double window) {
  const double size = std::clamp(window, smallest_, largest_);
  lowest_ = std::min(lowest_, size);
  flow.window = static_cast<std::uint64_t>(size);
  const auto rate = static_cast<std::uint64_t>(size * 8 / real_seconds(config_.base_rtt));
  flow.rate = rate >= line_ || size == largest_ ? 0 : rate;
}

void Hpcc::report(const MetricScope& scope) const {
  scope.count("updates", updates_, "acknowledgements that set a window");
  scope.bytes("smallest_window", Bytes(static_cast<std::uint64_t>(lowest_)), "of a queue pair");
  scope.rate("lowest_rate", lowest_ * 8 / real_seconds(config_.base_rtt),
             "lowest that a queue pair's rate was");
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "nic/congestion/swift.h"

#include <algorithm>
#include <cmath>

namespace rnicsim {

namespace {

double count(Bytes bytes) { return static_cast<double>(bytes.count()); }

}  // namespace

void SwiftConfig::describe(Fields& fields) {
  const auto sizes = range(Bytes(1), Bytes(1ULL << 32));
  fields.field("base_target", base_target, range(Time::ns(1), Time::ms(100)),
               "round trip that is aimed at, without hops and flow scaling");
  fields.field("per_hop", per_hop, range(Time(), Time::ms(1)), "more of it for each hop");
  fields.field("fs_range", fs_range, range(Time(), Time::ms(100)),
               "most that flow scaling adds to it");
  fields.field("fs_min_window", fs_min_window, sizes, "window up to which it adds all of that");
  fields.field("fs_max_window", fs_max_window, sizes, "window from which on it adds nothing");
  fields.field("packet", packet, sizes, "payload of a packet");
  fields.field("increase", increase, sizes, "what the window grows in a round trip");
  fields.field("beta", beta, range(0., 1.), "weight of a decrease");
  fields.field("max_cut", max_cut, range(0.01, 0.99), "largest share that one decrease takes");
  fields.field("min_window", min_window, sizes, "smallest window");
  fields.field("max_window", max_window, sizes, "largest window");
  fields.field("ack_interval", ack_interval, range(1, 1 << 20), "packets an acknowledgement");
  fields.check(fs_min_window < fs_max_window, "fs_min_window", "must be below fs_max_window");
  fields.check(min_window <= max_window, "min_window", "must not be above max_window");
}

Swift::Swift(std::uint64_t line_rate, const SwiftConfig& config)
    : config_(config), line_(line_rate), smallest_(count(config.max_window)) {
  const double least = 1 / std::sqrt(count(config.fs_max_window));
  scale_ = real_ps(config.fs_range) / (1 / std::sqrt(count(config.fs_min_window)) - least);
  offset_ = scale_ * least;
}

CongestionControl::Needs Swift::needs() const {
  Needs needs;
  needs.ack_interval = config_.ack_interval;
  return needs;
}

std::unique_ptr<CongestionFlow> Swift::make(Qpn qpn) {
  auto flow = std::make_unique<Flow>(qpn);
  begin(*flow);
  return flow;
}

void Swift::begin(CongestionFlow& base) {
  auto& flow = static_cast<Flow&>(base);
  flow.size = count(config_.max_window);
  flow.window = config_.max_window.count();
  flow.rate = 0;
  flow.last_cut = Time();
  flow.rtt = Time::never();
}

Time Swift::target(double window, unsigned hops) const {
  const double scaling =
      std::clamp(scale_ / std::sqrt(window) - offset_, 0., real_ps(config_.fs_range));
  return config_.base_target + config_.per_hop * hops +
         Time::ps(static_cast<std::int64_t>(scaling));
}

void Swift::acknowledged(CongestionFlow& base, const Acknowledged& news) {
  now_ = news.now;
  if (news.rtt == Time::never()) return;
  auto& flow = static_cast<Flow&>(base);
  flow.rtt = news.rtt;
  longest_ = std::max(longest_, news.rtt);
  const unsigned hops = Ipv4Header().ttl - news.packet->ipv4.ttl;
  const Time aim = target(flow.size, hops);
  if (news.rtt < aim) {
    ++increases_;
    const double whole = std::max(flow.size, count(config_.packet));
    set(flow, flow.size + count(config_.increase) * static_cast<double>(news.bytes) / whole);
  } else if (news.now - flow.last_cut >= news.rtt) {
    ++cuts_;
    flow.last_cut = news.now;
    const double factor = std::max(1 - config_.beta * real_ps(news.rtt - aim) / real_ps(news.rtt),
                                   1 - config_.max_cut);
    set(flow, flow.size * factor);
  }
}

void Swift::lost(CongestionFlow& base) {
  auto& flow = static_cast<Flow&>(base);
  if (flow.rtt == Time::never() || now_ - flow.last_cut < flow.rtt) return;
  ++cuts_;
  flow.last_cut = now_;
  set(flow, flow.size * (1 - config_.max_cut));
}

void Swift::set(Flow& flow, double size) {
  flow.size = std::clamp(size, count(config_.min_window), count(config_.max_window));
  flow.window = static_cast<std::uint64_t>(flow.size);
  smallest_ = std::min(smallest_, flow.size);
  flow.rate = 0;
  if (flow.size >= count(config_.packet)) return;
  flow.rate = std::clamp<std::uint64_t>(
      static_cast<std::uint64_t>(flow.size * 8e12 / real_ps(flow.rtt)), 1'000'000, line_);
}

void Swift::report(const MetricScope& scope) const {
  scope.count("increases", increases_, "acknowledgements that widened a window");
  scope.count("cuts", cuts_, "times that a window was narrowed");
  scope.bytes("smallest_window", Bytes(static_cast<std::uint64_t>(smallest_)), "of a queue pair");
  scope.time("rtt.max", longest_, "longest round trip");
}

}  // namespace rnicsim

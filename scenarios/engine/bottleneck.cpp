// SPDX-License-Identifier: MIT
#include "scenarios/engine/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "scenarios/engine/bottleneck_resource.h"
#include "scenarios/engine/perftest_plan.h"

namespace rnicsim {
namespace {

/// Shares below these are not named.
constexpr double kWorthNaming = 0.01;
constexpr double kBusyAtAll = 0.001;

/// Stalls that say that a block had as much under way as it can have.
constexpr const char* kFullStalls[] = {"miss_registers", "locks", "outstanding", "tags",
                                       "read_buffer"};

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool begins_with(const std::string& text, const std::string& begin) {
  return text.compare(0, begin.size(), begin) == 0;
}

std::string duration_text(Time time) {
  const double us = static_cast<double>(time.ps()) / 1e6;
  if (us >= 1000) return fmt::format("{:.4g} ms", us / 1000);
  if (us >= 1) return fmt::format("{:.4g} us", us);
  return fmt::format("{:.4g} ns", us * 1000);
}

class Judge {
 public:
  Judge(const WorkloadSpec& workload, const WorkSpan& span, const WorkloadEvidence& evidence)
      : workload_(workload), span_(span), evidence_(evidence), metrics_(evidence.metrics) {}

  Bottleneck verdict() {
    gather();
    std::sort(shares_.begin(), shares_.end(), [](const Share& a, const Share& b) {
      return a.part != b.part ? a.part > b.part : a.path < b.path;
    });
    if (!shares_.empty() && shares_.front().part >= kSaturated) return used_up(shares_.front(), 1);
    if (serial_ && serial_->part >= kSerial) return serial();
    if (backlog_ && backlog_->part >= kSaturated) return used_up(*backlog_, 0);
    return waiting();
  }

 private:
  struct Share {
    double part = 0;
    std::string path;
    const char* verb = "";  ///< "busy", "stalled"
  };

  double value(const std::string& path) const {
    const auto it = metrics_.find(path);
    return it == metrics_.end() ? 0 : it->second.as_real();
  }
  double part_of(double ps) const {
    return std::min(1.0, ps / static_cast<double>((span_.end - span_.begin).ps()));
  }

  bool uses(const std::string& host) const {
    return is_of_flows(workload_.pattern) || host == workload_.from || host == workload_.to;
  }

  void gather() {
    for (const auto& [path, metric] : metrics_) {
      if (metric.unit != Unit::kPicoseconds || metric.value == 0) continue;
      if (begins_with(path, "fabric.") && ends_with(path, ".tx.busy") &&
          evidence_.switch_ports.count(path.substr(0, path.size() - 8)) != 0)
        add(path, "busy");
      if (begins_with(path, "host.")) gather_at_host(path, metric);
    }
    for (const auto& [host, cores] : evidence_.cores) {
      if (!uses(host)) continue;
      for (std::size_t i = 0; i < cores.size(); ++i)
        shares_.push_back({part_of(static_cast<double>(cores[i].ps())),
                           fmt::format("host.{}.cpu.core{}.busy", host, i), "busy"});
    }
  }

  void gather_at_host(const std::string& path, const Metric& metric) {
    if (!uses(path.substr(5, path.find('.', 5) - 5))) return;
    if (path.find(".cpu.") != std::string::npos) return;  // the cores' work is known better
    if (ends_with(path, ".busy")) {
      // A block that says "time with at least one ..." is not used up by having one.
      if (begins_with(metric.description, "time with "))
        note_serial(path);
      else
        add(path, "busy");
    } else if (ends_with(path, ".copying")) {  // of a GPU: CPUs are known already
      add(path, "busy");
    } else if (ends_with(path, "_pause_duration")) {
      add(path, "stopped");
    } else if (ends_with(path, ".stalled.window")) {
      note_backlog(path);
    } else {
      for (const char* stall : kFullStalls)
        if (ends_with(path, std::string(".stalled.") + stall)) add(path, "full");
    }
  }

  void add(const std::string& path, const char* verb) {
    shares_.push_back({part_of(value(path)), path, verb});
  }

  void note_serial(const std::string& path) {
    const std::string block = path.substr(0, path.rfind('.'));
    if (value(block + ".occupancy.max") != 1 || ends_with(block, ".command_unit")) return;
    const Share share{part_of(value(path)), path, "at work"};
    if (!serial_ || share.part > serial_->part) serial_ = share;
  }

  void note_backlog(const std::string& path) {
    const Share share{part_of(value(path)), path, "full"};
    if (!backlog_ || share.part > backlog_->part) backlog_ = share;
  }

  Bottleneck made(const std::string& kind, const std::string& resource, double part,
                  std::string text) const {
    Bottleneck made{workload_.name, kind, resource, part, std::move(text)};
    made.span = span_.end - span_.begin;
    made.over_sizes = workload_.sizes.size() > 1;
    return made;
  }
  Bottleneck with_next(Bottleneck made, std::size_t index, double least) const {
    if (index >= shares_.size() || shares_[index].part < least) return made;
    made.next = shares_[index].path;
    made.next_part = shares_[index].part;
    return made;
  }

  static std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }
  std::string span_text() const { return duration_text(span_.end - span_.begin); }

  std::string of_several_sizes() const {
    return workload_.sizes.size() > 1 ? ", over all sizes" : "";
  }

  /// The next best, of another kind of resource than the wire's other end.
  std::string next_text(std::size_t index) const {
    if (index >= shares_.size() || shares_[index].part < kWorthNaming) return "";
    return fmt::format("; next: {}, {}", words_of(shares_[index].path),
                       percent(shares_[index].part));
  }

  Bottleneck used_up(const Share& most, std::size_t next) const {
    return with_next(made(most.verb, most.path, most.part,
                          fmt::format("{}: {} {} of {}{} ({}){}", words_of(most.path), most.verb,
                                      percent(most.part), span_text(), of_several_sizes(),
                                      most.path, next_text(next))),
                     next, kWorthNaming);
  }

  Bottleneck serial() const {
    return with_next(
        made("one_at_a_time", serial_->path, serial_->part,
             fmt::format("round trips of {}: one at a time, under way {} of {}{} ({}){}",
                         words_of(serial_->path), percent(serial_->part), span_text(),
                         of_several_sizes(), serial_->path, next_text(0))),
        0, kWorthNaming);
  }

  /// Messages that may be under way at once; 0: the workload has no such limit.
  double window() const {
    if (workload_.pattern == WorkloadPattern::kPerftest)
      return measures_latency(workload_.test) ? 1 : 0;
    if (workload_.pattern != WorkloadPattern::kPairs) return 0;
    if (workload_.is_over_tcp())
      return workload_.tcp->response == Bytes(0) ? 0 : workload_.queue_pairs;
    return static_cast<double>(workload_.queue_depth) * workload_.queue_pairs;
  }

  std::string busiest() const {
    if (shares_.empty() || shares_.front().part < kBusyAtAll) return "nothing was busy";
    return fmt::format("nothing busy above {} ({})", percent(shares_.front().part),
                       words_of(shares_.front().path));
  }

  static std::string each(Time latency) {
    return latency == Time() ? "" : ", " + duration_text(latency) + " each";
  }

  double sum_at_hosts(const std::string& leaf) const {
    double sum = 0;
    for (const auto& [path, metric] : metrics_)
      if (begins_with(path, "host.") && ends_with(path, leaf) &&
          uses(path.substr(5, path.find('.', 5) - 5)))
        sum += metric.as_real();
    return sum;
  }

  /// Its messages are READs or atomics, which max_rd_atomic bounds.
  bool reads() const {
    if (workload_.pattern == WorkloadPattern::kRkeyGuessing) return true;
    return brings_data(workload_.pattern == WorkloadPattern::kPerftest
                           ? operation_of(workload_.test)
                           : workload_.operation);
  }

  /// Nothing was used up: each message waited for itself.
  Bottleneck waiting() const {
    const std::string path = "workload." + workload_.name + '.';
    const double latency_ps = value(path + "latency.mean");
    const Time latency = Time::ps(std::llround(latency_ps));
    const double flying = value(path + "message_rate") * latency_ps / 1e12;
    if (value(path + "messages") == 1)
      return waited("latency", path + "latency.mean", "latency (one message)", 0, 1, latency);
    if (window() == 1)
      return waited("latency", path + "latency.mean",
                    "latency: one message at a time" + each(latency), 1, 0, latency);
    const double held = reads() ? sum_at_hosts(".requester.read_limited") : 0;
    if (held != 0)
      return waited("max_rd_atomic", "requester.read_limited",
                    fmt::format("max_rd_atomic: of each queue pair at most {} READs or atomics "
                                "were under way, {:.0f} turns waited for one to end",
                                workload_.max_rd_atomic, held),
                    workload_.max_rd_atomic, held, latency);
    if (const double cnps = sum_at_hosts(".congestion_control.rp_cnp_handled"); cnps != 0)
      return waited(
          "congestion_control", "congestion_control.rp_cnp_handled",
          fmt::format("congestion control: {:.0f} congestion notifications lowered rates", cnps), 0,
          cnps, latency);
    if (window() != 0 && flying >= kSaturated * window())
      return waited("window", path + "latency.mean",
                    fmt::format("the window: {:.0f} of the {:.0f} messages that may be under way "
                                "were, {} each",
                                flying, window(), duration_text(latency)),
                    window(), flying, latency);
    return with_next(made("none", "", busiest_part(),
                          fmt::format("no resource{}: {}", of_several_sizes(), busiest())),
                     0, kBusyAtAll);
  }

  double busiest_part() const { return shares_.empty() ? 0 : shares_.front().part; }

  Bottleneck waited(const std::string& kind, const std::string& resource, const std::string& text,
                    double limit, double count, Time latency) const {
    Bottleneck bottleneck =
        made(kind, resource, busiest_part(), fmt::format("{}; {}", text, busiest()));
    bottleneck.limit = static_cast<std::uint64_t>(limit);
    bottleneck.count = static_cast<std::uint64_t>(std::llround(count));
    bottleneck.each = latency;
    return with_next(bottleneck, 0, kBusyAtAll);
  }

  const WorkloadSpec& workload_;
  const WorkSpan& span_;
  const WorkloadEvidence& evidence_;
  const std::map<std::string, Metric>& metrics_;
  std::vector<Share> shares_;
  std::optional<Share> serial_;
  std::optional<Share> backlog_;
};

}  // namespace

Bottleneck find_bottleneck(const WorkloadSpec& workload, const WorkSpan& span,
                           const WorkloadEvidence& evidence) {
  return Judge(workload, span, evidence).verdict();
}

}  // namespace rnicsim

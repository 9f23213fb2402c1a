// SPDX-License-Identifier: MIT
#include "scenarios/engine/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "scenarios/engine/perftest_plan.h"

namespace rnicsim {
namespace {

/// Stalls that say that a block had as much under way as it can have.
constexpr const char* kFullStalls[] = {"miss_registers", "locks", "outstanding", "tags",
                                       "read_buffer"};

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool begins_with(const std::string& text, const std::string& begin) {
  return text.compare(0, begin.size(), begin) == 0;
}

/// "host.A.nic0.pcie.upstream.busy" without host, NIC and leaf: "pcie.upstream".
struct Place {
  std::string host;   ///< empty: in the fabric
  std::string block;  ///< below the NIC, the host or the fabric
};

Place place_of(const std::string& path) {
  const std::string block = path.substr(0, path.rfind('.'));
  if (begins_with(path, "fabric.")) return {"", block.substr(7)};
  const std::size_t host_end = block.find('.', 5);
  if (host_end == std::string::npos) return {block.substr(5), ""};
  Place place{block.substr(5, host_end - 5), block.substr(host_end + 1)};
  if (begins_with(place.block, "nic")) {
    const std::size_t nic_end = place.block.find('.');
    if (place.block.compare(0, nic_end, "nic0") != 0)
      place.host += '.' + place.block.substr(0, nic_end);
    place.block.erase(0, nic_end == std::string::npos ? nic_end : nic_end + 1);
  }
  return place;
}

/// A wire behind the NIC's own link, of `owner`; empty: it is none.
std::string words_of_wire(const std::string& block, const std::string& owner) {
  if (block == "pcie_switch.upstream")
    return "the upstream link of the PCIe switch of " + owner + " towards its memory";
  if (block == "pcie_switch.downstream")
    return "the upstream link of the PCIe switch of " + owner + " from its memory";
  if (block == "root_complex.peer_writes")
    return "the root complex of " + owner + " that passes writes from port to port";
  if (block == "root_complex.peer_reads")
    return "the root complex of " + owner + " that passes completions from port to port";
  const std::string gpu = block.substr(0, block.find('.')) + " of " + owner;
  if (ends_with(block, ".link_in")) return "PCIe to " + gpu;
  if (ends_with(block, ".link_out")) return "PCIe from " + gpu;
  if (ends_with(block, ".bar_writes")) return "the BAR of " + gpu + " that takes writes";
  if (ends_with(block, ".bar_reads")) return "the BAR of " + gpu + " that answers reads";
  return "";
}

/// In words, with the metric that says so left to the caller.
std::string words_of(const std::string& path) {
  const Place place = place_of(path);
  const std::string of_host = " of " + place.host;
  if (place.host.empty()) return "the wire out of " + place.block.substr(0, place.block.rfind('.'));
  if (place.block == "port.tx") return "the wire out of " + place.host;
  if (ends_with(path, "_pause_duration"))
    return path.find(".port.rx_") != std::string::npos
               ? "pauses that " + place.host + " was told to make"
               : "pauses that " + place.host + " asked for, its NIC being full";
  if (place.block == "pcie.upstream")
    return "PCIe from the NIC of " + place.host + " to its memory";
  if (place.block == "pcie.downstream")
    return "PCIe from the memory of " + place.host + " to its NIC";
  if (place.block == "memory") return "the memory bandwidth" + of_host;
  if (begins_with(place.block, "memory.numa")) return "the way between the memory nodes" + of_host;
  if (place.block == "page_faults") return "page faults in regions" + of_host;
  if (place.block == "iommu") return "page walks of the IOMMU" + of_host;
  if (begins_with(place.block, "cpu.core")) return "the CPU core" + of_host + " that works on data";
  if (std::string wire = words_of_wire(place.block, place.host); !wire.empty()) return wire;
  if (ends_with(path, "translation_cache.stalled.miss_registers"))
    return "walks of the translation table" + of_host + "'s NIC, no miss register being free";
  if (ends_with(path, "atomic_unit.stalled.locks"))
    return "atomics on one address" + of_host + ", one after the other";
  if (ends_with(path, "pcie_endpoint.stalled.tags"))
    return "PCIe reads of the NIC" + of_host + ", all tags being out";
  if (ends_with(path, ".stalled.window"))
    return "writes into the memory" + of_host + ", as many being under way as its NIC allows";
  std::string block = place.block;
  std::replace(block.begin(), block.end(), '_', ' ');
  if (ends_with(path, ".copying")) return "the copy engine of " + block + of_host;
  const std::size_t stall = block.find(".stalled");
  if (stall != std::string::npos) block.resize(stall);
  std::replace(block.begin(), block.end(), '.', ' ');
  return "the " + block + of_host;
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
    return {workload_.name, kind, resource, part, std::move(text)};
  }

  static std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }
  std::string span_text() const { return duration_text(span_.end - span_.begin); }

  std::string of_several_sizes() const {
    return workload_.sizes.size() > 1 ? ", over all sizes" : "";
  }

  /// The next best, of another kind of resource than the wire's other end.
  std::string next_text(std::size_t index) const {
    if (index >= shares_.size() || shares_[index].part < 0.01) return "";
    return fmt::format("; next: {}, {}", words_of(shares_[index].path),
                       percent(shares_[index].part));
  }

  Bottleneck used_up(const Share& most, std::size_t next) const {
    return made(
        most.verb, most.path, most.part,
        fmt::format("{}: {} {} of {}{} ({}){}", words_of(most.path), most.verb, percent(most.part),
                    span_text(), of_several_sizes(), most.path, next_text(next)));
  }

  Bottleneck serial() const {
    return made("one_at_a_time", serial_->path, serial_->part,
                fmt::format("round trips of {}: one at a time, under way {} of {}{} ({}){}",
                            words_of(serial_->path), percent(serial_->part), span_text(),
                            of_several_sizes(), serial_->path, next_text(0)));
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
    if (shares_.empty() || shares_.front().part < 0.001) return "nothing was busy";
    return fmt::format("nothing busy above {} ({})", percent(shares_.front().part),
                       words_of(shares_.front().path));
  }

  static std::string each(double latency_ps) {
    if (latency_ps == 0) return "";
    return ", " + duration_text(Time::ps(std::llround(latency_ps))) + " each";
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
    const double busiest_part = shares_.empty() ? 0 : shares_.front().part;
    const std::string path = "workload." + workload_.name + '.';
    const double latency = value(path + "latency.mean");
    const double flying = value(path + "message_rate") * latency / 1e12;
    if (value(path + "messages") == 1)
      return made("latency", path + "latency.mean", busiest_part,
                  "latency (one message); " + busiest());
    if (window() == 1)
      return made("latency", path + "latency.mean", busiest_part,
                  "latency: one message at a time" + each(latency) + "; " + busiest());
    const double held = reads() ? sum_at_hosts(".requester.read_limited") : 0;
    if (held != 0)
      return made("max_rd_atomic", "requester.read_limited", busiest_part,
                  fmt::format("max_rd_atomic: of each queue pair at most {} READs or atomics were "
                              "under way, {:.0f} turns waited for one to end; {}",
                              workload_.max_rd_atomic, held, busiest()));
    if (const double cnps = sum_at_hosts(".congestion_control.rp_cnp_handled"); cnps != 0)
      return made(
          "congestion_control", "congestion_control.rp_cnp_handled", busiest_part,
          fmt::format("congestion control: {:.0f} congestion notifications lowered rates; {}", cnps,
                      busiest()));
    if (window() != 0 && flying >= kSaturated * window())
      return made(
          "window", path + "latency.mean", busiest_part,
          fmt::format("the window: {:.0f} of the {:.0f} messages that may be under way were, "
                      "{} each; {}",
                      flying, window(), duration_text(Time::ps(std::llround(latency))), busiest()));
    return made("none", "", busiest_part, "no resource" + of_several_sizes() + ": " + busiest());
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

// SPDX-License-Identifier: MIT
#include "tools/export/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/export/finding_text.h"
#include "tools/export/labels.h"
#include "tools/export/operation_text.h"
#include "tools/export/perftest_table.h"
#include "tools/export/timeline_view.h"
#include "tools/export/value_text.h"

namespace rnicsim {
namespace {

using Relation = ExpectationSpec::Relation;

/// What is measured, in the file's words.
std::string subject_of(const ExpectationSpec& spec) {
  if (spec.violation) return "violations " + *spec.violation;
  if (spec.difference_to) return *spec.metric + " - " + *spec.difference_to;
  return spec.ratio_to ? *spec.metric + " / " + *spec.ratio_to : *spec.metric;
}

class Summary {
 public:
  Summary(const JudgedRun& run, const TerminalStyle& style) : run_(run), style_(style) {}

  std::string draw() {
    out_ += inked(style_, Ink::kHeading, "SUMMARY") + '\n';
    for (const WorkloadSpec& workload : run_.setup.workload) {
      describe(workload);
      for (const Bottleneck& bottleneck : run_.result.bottlenecks)
        if (bottleneck.workload == workload.name) line("", "limited by " + bottleneck.text);
    }
    describe_wire();
    for (const std::string& note : run_.result.notes) line("note", note);
    for (const HostSpec& host : run_.setup.hosts) describe(host);
    return std::move(out_);
  }

 private:
  const Metric* find(const std::string& path) const {
    const auto it = run_.result.metrics.find(path);
    return it == run_.result.metrics.end() ? nullptr : &it->second;
  }
  double value(const std::string& path) const {
    const Metric* metric = find(path);
    return metric == nullptr ? 0 : metric->as_real();
  }
  std::string text(const std::string& path) const {
    const Metric* metric = find(path);
    return metric == nullptr ? "?" : short_text(metric->as_real(), metric->unit);
  }

  void line(const std::string& name, const std::string& text) {
    constexpr std::size_t kLabel = 14;
    const std::string label = wrapped(name, kTerminalColumns / 2).front();
    const std::size_t width = std::max(kLabel, width_of(label) + 2);
    std::string left =
        "  " + inked(style_, Ink::kStep, label) + std::string(width - width_of(label), ' ');
    for (const std::string& part : wrapped(text, kTerminalColumns - 2 - width)) {
      out_ += left + part + '\n';
      left = std::string(2 + width, ' ');
    }
  }

  void describe(const WorkloadSpec& workload) {
    const std::string path = "workload." + workload.name + '.';
    if (is_of_flows(workload.pattern)) {
      describe_flows(workload, path + "flows.");
      return;
    }
    if (workload.pattern == WorkloadPattern::kPcieBench) {
      describe_pcie_bench(workload, path);
      return;
    }
    const double messages = value(path + "messages");
    line(workload.name, fmt::format("{}: {} of {} {} completed", deed_text(workload),
                                    count_text(value(path + "completed")), count_text(messages),
                                    messages == 1 ? "message" : "messages"));
    troubles(path);
    if (workload.pattern == WorkloadPattern::kRkeyGuessing) {
      describe_guessing(path);
      return;
    }
    if (value(path + "completed") == 0) return;
    if (workload.pattern == WorkloadPattern::kRegistration) {
      line("",
           fmt::format("registration {} ({} a page), deregistration {} ({} a page)",
                       text(path + "registration.mean"), text(path + "registration.per_page"),
                       text(path + "deregistration.mean"), text(path + "deregistration.per_page")));
      return;
    }
    if (workload.pattern == WorkloadPattern::kPerftest) {
      for (const std::string& row : perftest_table(workload, run_.result.metrics))
        out_ += "  " + row + '\n';
      return;
    }
    if (messages <= 1) {
      const char* span = workload.is_over_tcp() ? ", call to send to last byte received"
                                                : ", post_send to completion polled";
      line("", "latency " + text(path + "latency.mean") + span +
                   (find(path + "landing.mean") == nullptr
                        ? ""
                        : "; all in " + workload.to + "'s memory after " +
                              text(path + "landing.mean")));
      return;
    }
    line("", fmt::format("latency p50 {}, p99 {}, min {}, max {}", text(path + "latency.p50"),
                         text(path + "latency.p99"), text(path + "latency.min"),
                         text(path + "latency.max")));
    line("", fmt::format("goodput {}, {} messages/s", text(path + "goodput"),
                         count_text(std::round(value(path + "message_rate")))));
  }

  void describe_flows(const WorkloadSpec& workload, const std::string& path) {
    line(workload.name,
         fmt::format("{}: {} of {} flows ended", deed_text(workload),
                     count_text(value(path + "finished")), count_text(value(path + "count"))));
    troubles(path);
    if (value(path + "finished") == 0) return;
    line("", fmt::format("completion time p50 {}, p99 {}, max {}", text(path + "fct.p50"),
                         text(path + "fct.p99"), text(path + "fct.max")));
    line("", fmt::format("slowdown p50 {}, p99 {}, max {}", text(path + "slowdown.p50"),
                         text(path + "slowdown.p99"), text(path + "slowdown.max")));
    line("",
         fmt::format("goodput {}, fairness {}", text(path + "goodput"), text(path + "fairness")));
  }

  void describe_pcie_bench(const WorkloadSpec& workload, const std::string& path) {
    line(workload.name, fmt::format("{}: {} of {} measurements done", deed_text(workload),
                                    count_text(value(path + "completed")),
                                    count_text(value(path + "measurements"))));
    const PcieBenchSpec& bench = *workload.pcie_bench;
    for (const PcieBenchOperation operation : bench.operations)
      for (const Bytes size : bench.sizes)
        for (const Bytes window : bench.windows) {
          const std::string at = fmt::format("{}{}.size_{}.window_{}.", path, name_of(operation),
                                             size.count(), window.count());
          const std::string what = fmt::format("{} of {} over {}: ", name_of(operation),
                                               short_text(size), short_text(window));
          if (find(at + "bandwidth") != nullptr)
            line("", fmt::format("{}{}", what, text(at + "bandwidth")));
          else if (find(at + "latency.typical") != nullptr)
            line("", fmt::format("{}{} typical, {} at 99.9 %", what, text(at + "latency.typical"),
                                 text(at + "latency.p999")));
        }
  }

  void describe_guessing(const std::string& path) {
    line("", fmt::format("{} tries, {} refused; each puts the queue pairs of both ends in error",
                         count_text(value(path + "tries")), count_text(value(path + "naks"))));
    if (find(path + "time_per_try") == nullptr) return;
    line("", fmt::format("{} a try with connecting again; a hit is to be expected after {} with "
                         "keys in sequence, {} with random keys",
                         text(path + "time_per_try"), text(path + "expected_time.sequential"),
                         text(path + "expected_time.random")));
  }

  /// What the packets are made of, and where they may go.
  void describe_wire() {
    const FabricSpec& fabric = run_.setup.fabric;
    double frames = 0;
    double headers = 0;
    for (const HostSpec& host : run_.setup.hosts)
      for (const std::string& name : host.machine_names())
        for (std::size_t i = 0; i < host.nics.size(); ++i) {
          const std::string port = fmt::format("host.{}.nic{}.port.", name, i);
          frames += value(port + "tx_bytes");
          headers += value(port + "tx_header_bytes");
        }
    line("wire", fmt::format("{}; headers {} of {} sent", packets_text(fabric),
                             short_text(headers, Unit::kBytes), short_text(frames, Unit::kBytes)));
  }

  std::string packets_text(const FabricSpec& fabric) const {
    bool tcp = false;
    bool rdma = false;
    for (const WorkloadSpec& workload : run_.setup.workload)
      (workload.is_over_tcp() ? tcp : rdma) = true;
    std::string of_rdma =
        fmt::format("{}; routable: {}", packet_format_name(fabric), routable_text(fabric));
    if (!tcp) return of_rdma;
    return rdma ? "TCP over IPv4 and " + of_rdma : "TCP over IPv4; routable: yes";
  }

  static const char* routable_text(const FabricSpec& fabric) {
    if (is_routable(fabric)) return "yes";
    return fabric.link_layer == LinkLayer::kInfiniBand ? "no (one subnet)"
                                                       : "no (RoCEv1 has no IP header)";
  }

  void troubles(const std::string& path) {
    std::string all;
    const auto add = [&](const char* name, const char* words) {
      if (value(path + name) == 0) return;
      all += (all.empty() ? "" : ", ") + text(path + name) + words;
    };
    add("failed", " failed");
    add("flushed", " flushed");
    add("mismatched_bytes", " of payload arrived wrong");
    if (!all.empty()) line("", all);
  }

  /// What a plane's time went into, the largest share first.
  std::string shares_of(const std::string& plane) const {
    std::vector<std::pair<double, std::string>> shares;
    for (auto at = run_.result.metrics.lower_bound(plane);
         at != run_.result.metrics.end() && at->first.compare(0, plane.size(), plane) == 0; ++at) {
      std::string name = at->first.substr(plane.size());
      if (name == "busy" || name.find('.') != std::string::npos || at->second.as_real() == 0 ||
          at->second.unit != Unit::kPicoseconds)
        continue;
      std::replace(name.begin(), name.end(), '_', ' ');
      shares.emplace_back(-at->second.as_real(),
                          name + ' ' + short_text(at->second.as_real(), at->second.unit));
    }
    std::sort(shares.begin(), shares.end());
    std::string words;
    for (const auto& share : shares) words += (words.empty() ? ": " : ", ") + share.second;
    return words;
  }

  /// A host's two planes: what setting up cost it, and what the messages did.
  void describe(const HostSpec& host) {
    const std::string path = "host." + host.name + ".cpu.";
    const Metric* control = find(path + "control.busy");
    const Metric* data = find(path + "data.busy");
    if (control == nullptr || data == nullptr) return;
    line("CPU of " + host.name,
         "control plane " + text(path + "control.busy") + shares_of(path + "control."));
    std::string words = "data plane " + text(path + "data.busy") + shares_of(path + "data.");
    if (data->as_real() == 0 && is_only_target(host.name))
      words += ": it slept through every message";
    const double messages = completed_at(host.name);
    if (messages > 1 && data->as_real() != 0)
      words += "; a message " + short_text(data->as_real() / messages, data->unit);
    line("", words);
  }

  /// Messages that this host posted or that were for it.
  double completed_at(const std::string& host) const {
    double messages = 0;
    for (const WorkloadSpec& workload : run_.setup.workload)
      if (workload.from == host || workload.to == host)
        messages += value("workload." + workload.name + ".completed");
    return messages;
  }

  bool is_only_target(const std::string& host) const {
    bool received = false;
    for (const WorkloadSpec& workload : run_.setup.workload) {
      if (workload.from == host) return false;
      received = received || value("workload." + workload.name + ".completed") > 0;
    }
    return received;
  }

  const JudgedRun& run_;
  TerminalStyle style_;
  std::string out_;
};

/// Failed expectations and violations, each with a mark; the others only counted.
std::string verdict(const JudgedRun& run, const TerminalStyle& style) {
  std::string out;
  const auto passed = std::count_if(run.expectations.begin(), run.expectations.end(),
                                    [](const ExpectationResult& e) { return e.accepted(); });
  const bool all = passed == static_cast<std::ptrdiff_t>(run.expectations.size());
  if (!run.judged)
    out += inked(style, Ink::kHeading, "EXPECTATIONS") +
           " not judged: the run came to no proper end\n";
  else if (!run.expectations.empty())
    out += inked(style, Ink::kHeading, "EXPECTATIONS") + ' ' +
           inked(style, all ? Ink::kGood : Ink::kBad,
                 fmt::format("{} of {} met", passed, run.expectations.size())) +
           '\n';
  const auto item = [&](Ink ink, const std::string& text) {
    for (const std::string& line : wrapped(text, kTerminalColumns - 2))
      out += "  " + inked(style, ink, line) + '\n';
  };
  for (const Violation& violation : run.result.violations)
    if (run.expects(violation))
      item(Ink::kGood, fmt::format("expected {} at {}, {}: {}", violation.kind, violation.where,
                                   short_text(violation.when), violation.text));
  for (const std::string& line : failure_lines(run)) item(Ink::kBad, line);
  return out;
}

std::string title_of_variant(const Scenario& setup) {
  for (const VariantSpec& variant : setup.variants)
    if (variant.name == setup.variant) return variant.title;
  for (const AblationSpec& ablation : setup.ablate)
    if (ablation.name == setup.variant) return ablation.title;
  return {};
}

std::string title(const JudgedRun& run, const TerminalStyle& style) {
  const std::string variant = run.setup.variant.empty() ? "" : ", variant " + run.setup.variant;
  const std::string name = run.scenario + variant + ", seed " + std::to_string(run.setup.seed);
  std::string out;
  for (const std::string& line :
       wrapped(run.setup.title.empty() ? name : run.setup.title, kTerminalColumns))
    out += inked(style, Ink::kHeading, line) + '\n';
  if (!run.setup.title.empty())
    for (const std::string& line : wrapped(name, kTerminalColumns)) out += line + '\n';
  for (const std::string& line : wrapped(title_of_variant(run.setup), kTerminalColumns))
    if (!line.empty()) out += line + '\n';
  return out;
}

}  // namespace

std::string expected_text(const ExpectationSpec& spec, Language language) {
  const auto with = [&](Label word) {
    return fmt::format(fmt::runtime(label(word, language)), spec.low.text);
  };
  switch (spec.relation) {
    case Relation::kEquals:
      return spec.low.text +
             (spec.tolerance != nullptr ? " +- " + spec.tolerance->text() : std::string());
    case Relation::kAtLeast:
      return with(Label::kAtLeast);
    case Relation::kAtMost:
      return with(Label::kAtMost);
    case Relation::kBetween:
      break;
  }
  return fmt::format(fmt::runtime(label(Label::kFromTo, language)), spec.low.text, spec.high.text);
}

std::vector<std::string> failure_lines(const JudgedRun& run, Language language) {
  std::vector<std::string> lines;
  for (const ExpectationResult& e : run.expectations)
    if (!e.accepted())
      lines.push_back(fmt::format(
          fmt::runtime(label(e.passed ? Label::kMissedNoLonger : Label::kMissed, language)),
          subject_of(e.spec), expected_text(e.spec, language), exact_text(e.measured, e.unit)));
  for (const Violation& v : run.result.violations)
    if (!run.expects(v))
      lines.push_back(fmt::format(fmt::runtime(label(Label::kViolated, language)),
                                  violation_label(v.kind, language), v.where, short_text(v.when),
                                  finding_text(v.text, language)));
  return lines;
}

std::string terminal_view(const JudgedRun& run, const TerminalStyle& style) {
  return title(run, style) + timeline_view(run, style) + Summary(run, style).draw() +
         verdict(run, style);
}

}  // namespace rnicsim

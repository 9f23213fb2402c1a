// SPDX-License-Identifier: MIT
#include "tools/export/timeline_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/engine/perftest_plan.h"
#include "tools/export/operation_text.h"
#include "tools/export/value_text.h"

namespace rnicsim {
namespace {

using Records = std::vector<TimelineRecord>;

constexpr std::size_t kBarCells = 16;
constexpr std::size_t kIndent = 4;
constexpr std::size_t kMaxLane = 16;
constexpr int kFault = 0;

Records select(const Records& all, bool (*wanted)(const TimelineRecord&)) {
  Records chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), wanted);
  return chosen;
}

/// Which part of the row's span a record covers, in cells.
std::string bar_of(const TimelineRecord& r, Time begin, Time end) {
  const std::int64_t span = std::max<std::int64_t>(1, (end - begin).ps());
  const auto cell = [&](Time t) {
    return static_cast<std::size_t>(static_cast<Uint128>((t - begin).ps()) * kBarCells /
                                    static_cast<Uint128>(span));
  };
  const std::size_t first = std::min(cell(r.begin), kBarCells - 1);
  const std::size_t last = std::min(std::max(cell(r.end - Time::ps(1)), first), kBarCells - 1);
  return std::string(first, ' ') + std::string(last - first + 1, '#') +
         std::string(kBarCells - 1 - last, ' ');
}

class View {
 public:
  View(const JudgedRun& run, const TerminalStyle& style) : style_(style) {
    const std::vector<WorkloadSpec>& workload = run.setup.workload;
    const bool one_way = std::all_of(workload.begin(), workload.end(), [&](const auto& w) {
      return w.from == workload.front().from && w.to == workload.front().to;
    });
    for (const WorkloadSpec& w : workload) messages_ += messages_of(w);
    for (const HostSpec& host : run.setup.hosts)
      for (const std::string& name : host.machine_names()) hosts_.push_back(name);
    const bool named = !workload.empty() && !is_of_flows(workload.front().pattern) && one_way;
    from_ = !named ? "the writer" : workload.front().from;
    to_ = !named ? "the target" : workload.front().to;
    if (!workload.empty()) {
      over_tcp_ = workload.front().is_over_tcp();
      operation_ = operation_in(workload.front());
      handed_over_ = handed_over_text(workload.front());
    }
    for (const TimelineRecord& r : merged(run.result.timeline))
      lane_width_ = std::min(std::max(lane_width_, width_of(lane_of(r))), kMaxLane);
  }

  std::string draw(const Records& records) {
    const Records timeline = merged(records);
    if (style_.timeline) {
      control_plane(select(
          timeline, [](const TimelineRecord& r) { return r.step != kFault && r.plane != "data"; }));
      data_plane(select(
          timeline, [](const TimelineRecord& r) { return r.step != kFault && r.plane == "data"; }));
    }
    faults(select(timeline, [](const TimelineRecord& r) { return r.step == kFault; }));
    return std::move(out_);
  }

 private:
  std::size_t place_of(const std::string& host) const {
    return static_cast<std::size_t>(std::find(hosts_.begin(), hosts_.end(), host) - hosts_.begin());
  }

  /// In the order of steps, times and hosts; what both sides do alike at the same time is one row.
  Records merged(const Records& records) const {
    Records sorted = records;
    std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
      if (a.step != b.step) return a.step < b.step;
      return a.begin != b.begin ? a.begin < b.begin : place_of(a.host) < place_of(b.host);
    });
    Records rows;
    std::string latest;  // host of the row's last record: several programs of one are named once
    for (TimelineRecord& r : sorted) {
      TimelineRecord* last = rows.empty() ? nullptr : &rows.back();
      const bool alike = last != nullptr && r.work_request == 0 && r.step != kFault &&
                         last->step == r.step && last->part == r.part && last->lane == r.lane &&
                         last->begin == r.begin && last->end == r.end && last->bytes == r.bytes &&
                         last->text == r.text;
      const std::string host = r.host;
      if (!alike)
        rows.push_back(std::move(r));
      else if (host != latest)
        last->host += ", " + host;
      latest = host;
    }
    return rows;
  }

  static std::string lane_of(const TimelineRecord& r) { return r.host + ' ' + r.lane; }

  /// Of messages over TCP, beside those that all have.
  std::string title_over_tcp(int step) const {
    switch (step) {
      case 3:
        return from_ + " connects to " + to_;
      case 4:
        return from_ + "'s kernel copies, makes segments and rings its NIC's doorbell";
      case 5:
        return from_ + "'s NIC fetches what to send";
      case 7:
        return to_ + "'s NIC writes into the kernel's memory and interrupts a core";
      case 8:
        return to_ + "'s kernel takes the segments and wakes the program";
      default:
        return to_ + "'s program gets the message";
    }
  }

  std::string title_of(int step) const {
    if (over_tcp_ && step >= 3 && step != 6) return title_over_tcp(step);
    switch (step) {
      case 1:
        return "Both applications start";
      case 2:
        return "Each side registers memory: pages pinned, translation table built, keys issued";
      case 3:
        return to_ + " tells " + from_ + ' ' + handed_over_;
      case 4:
        return from_ + " writes one descriptor and rings its NIC's doorbell";
      case 5:
        return source() + "'s NIC fetches the payload from " + source() + "'s memory";
      case 6:
        return "Packets cross the wire";
      case 7:
        if (is_local(operation_)) return from_ + "'s NIC changes a key";
        return to_ + "'s NIC " + (is_send(operation_) ? "takes a receive" : "checks the rkey") +
               " and translates the address";
      case 8:
        return sink() + "'s NIC writes into the application's memory" +
               (takes_receive(operation_) ? "" : "; no CPU of " + to_ + " is asked");
      default:
        return from_ + " learns that it is done";
    }
  }

  /// Between whose memories payload moves.
  const std::string& source() const { return brings_data(operation_) ? to_ : from_; }
  const std::string& sink() const { return brings_data(operation_) ? from_ : to_; }

  void heading(const std::string& title, const std::string& remark, const std::string& right) {
    const std::string left = title + remark;
    out_ += inked(style_, Ink::kHeading, title) + remark;
    if (!right.empty()) {
      const std::size_t gap = kTerminalColumns - std::min(kTerminalColumns - 1, width_of(left));
      out_ += padded_left(right, gap);
    }
    out_ += '\n';
  }

  void column_names(bool bars) {
    std::string line = std::string(kIndent, ' ') + padded("", lane_width_) +
                       fmt::format(" {:>10} {:>8} {:>9}  ", "begins, us", "takes", "bytes");
    if (bars) line += "first" + padded_left("last ", kBarCells - 5);
    out_ += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }

  void control_plane(const Records& records) {
    if (records.empty()) return;
    heading("CONTROL PLANE", ": once, before any message; kernel and CPUs at work", "");
    column_names(false);
    steps(records, Time(), Time(), false);
  }

  /// Each message by itself: its steps overlap, messages would blur that.
  void data_plane(const Records& records) {
    std::vector<std::uint64_t> messages;
    for (const TimelineRecord& r : records)
      if (std::find(messages.begin(), messages.end(), r.work_request) == messages.end())
        messages.push_back(r.work_request);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      Records of_one;
      for (const TimelineRecord& r : records)
        if (r.work_request == messages[i]) of_one.push_back(r);
      Time begin = of_one.front().begin;
      Time end = of_one.front().end;
      for (const TimelineRecord& r : of_one) {
        begin = std::min(begin, r.begin);
        end = std::max(end, r.end);
      }
      const std::string which =
          messages_ == 1 ? "per message" : fmt::format("message {} of {}", i + 1, messages_);
      const bool interrupted = std::any_of(of_one.begin(), of_one.end(),
                                           [](const auto& r) { return r.block == "interrupts"; });
      const char* remark = over_tcp_     ? ", both kernels and NICs at work; their steps overlap"
                           : interrupted ? ", kernel only to wake; their steps overlap"
                                         : ", no kernel; NICs at work, their steps overlap";
      heading("DATA PLANE", ": " + which + remark, "all of it: " + short_text(end - begin));
      column_names(true);
      steps(of_one, begin, end, true);
    }
  }

  void steps(const Records& records, Time begin, Time end, bool bars) {
    int step = -1;
    for (const TimelineRecord& r : records) {
      if (r.step != step) {
        step = r.step;
        const std::string number = step <= 8 ? std::to_string(step) : "*";
        for (const std::string& line :
             wrapped(number + "  " + title_of(step), kTerminalColumns - 1))
          out_ += ' ' + inked(style_, Ink::kStep, line) + '\n';
      }
      row(r, bars ? bar_of(r, begin, end) : std::string());
    }
  }

  void row(const TimelineRecord& r, const std::string& bar) {
    const bool instant = r.begin == r.end;
    const std::string left = fmt::format(
        "{}{} {:>10.3f} {:>8} {:>9}  ", std::string(kIndent, ' '),
        padded(wrapped(lane_of(r), lane_width_).front(), lane_width_), r.begin.as_us(),
        instant ? "" : short_text(r.end - r.begin), r.bytes == 0 ? "" : short_text(Bytes(r.bytes)));
    const std::string shown = bar.empty() ? "" : inked(style_, Ink::kBar, bar) + "  ";
    const std::size_t bar_width = bar.empty() ? 0 : kBarCells + 2;
    text_behind(left + shown, width_of(left) + bar_width, r.text);
  }

  void text_behind(const std::string& left, std::size_t left_width, const std::string& text) {
    bool first = true;
    for (const std::string& line : wrapped(text, kTerminalColumns - left_width)) {
      out_ += (first ? left : std::string(left_width, ' ')) + line + '\n';
      first = false;
    }
  }

  void faults(const Records& records) {
    if (records.empty()) return;
    out_ += inked(style_, Ink::kBad, "FAULTS") + '\n';
    for (const TimelineRecord& r : records) {
      const std::string left = fmt::format(
          "{}{} {:>10.3f}  ", std::string(kIndent, ' '),
          padded(wrapped(lane_of(r), lane_width_).front(), lane_width_), r.begin.as_us());
      text_behind(left, width_of(left), r.block + ": " + r.text);
    }
  }

  TerminalStyle style_;
  std::string from_;
  std::string to_;
  bool over_tcp_ = false;  ///< the first workload
  Operation operation_ = Operation::kWrite;
  std::string handed_over_ = "where it may write: address, length and rkey";
  std::vector<std::string> hosts_;
  std::uint64_t messages_ = 0;
  std::size_t lane_width_ = 6;
  std::string out_;
};

}  // namespace

std::string timeline_view(const JudgedRun& run, const TerminalStyle& style) {
  return View(run, style).draw(run.result.timeline);
}

}  // namespace rnicsim

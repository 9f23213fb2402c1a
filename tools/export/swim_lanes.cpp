// SPDX-License-Identifier: MIT
#include "tools/export/swim_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/export/operation_text.h"
#include "tools/export/value_text.h"

namespace rnicsim {
namespace {

using Records = std::vector<TimelineRecord>;

constexpr int kTop = 84;        // of the first phase, below the title
constexpr int kHeading = 56;    // of a phase: its title and its steps
constexpr int kAxis = 26;       // below a phase's lanes
constexpr int kGap = 26;        // between phases
constexpr int kRow = 22;        // of bars in a lane
constexpr int kPadding = 5;     // above and below a lane's rows
constexpr int kEmptyLane = 26;  // without bars
constexpr int kLeastWidth = 3;  // of a bar
constexpr int kBadge = 22;      // a step's number before its label
constexpr int kSpace = 6;
constexpr std::size_t kMaxFaultLabels = 8;  // in a phase

std::string time_text(Time t) {
  std::string text = short_text(t);
  const std::size_t micro = text.find("us");
  return micro == std::string::npos ? text : text.replace(micro, 2, "µs");
}

Time next_of_1_2_5(Time t) {
  std::int64_t unit = 1;
  while (unit * 10 <= t.ps()) unit *= 10;
  for (const int times : {1, 2, 5})
    if (Time::ps(unit * times) >= t) return Time::ps(unit * times);
  return Time::ps(unit * 10);
}

/// Of hosts in pairs the initiator and the target; of others those that the timeline names first.
struct Ends {
  std::string from;
  std::string to;
};

Ends ends_of(const JudgedRun& run) {
  const std::vector<WorkloadSpec>& workload = run.setup.workload;
  if (!workload.empty() && !is_of_flows(workload.front().pattern) && !workload.front().from.empty())
    return {workload.front().from, workload.front().to};
  Ends ends;
  for (const TimelineRecord& r : run.result.timeline) {
    if (r.lane == "wire" || r.host == ends.from) continue;
    if (ends.from.empty())
      ends.from = r.host;
    else if (ends.to.empty())
      ends.to = r.host;
  }
  return ends;
}

SwimLane lane_of(const std::string& host, const std::string& kind, Language language) {
  SwimLane lane;
  lane.name = lane_label(host, kind, language);
  lane.host = kind == "wire" ? "" : host;
  lane.kind = kind;
  return lane;
}

class Layout {
 public:
  Layout(const JudgedRun& run, Language language)
      : run_(run), language_(language), ends_(ends_of(run)) {
    const std::vector<WorkloadSpec>& workload = run.setup.workload;
    over_tcp_ = !workload.empty() && workload.front().is_over_tcp();
    picture_.language = language;
  }

  SwimLanes draw() {
    headline();
    Records control;
    std::vector<const TimelineRecord*> data;
    for (const TimelineRecord& r : run_.result.timeline) {
      if (r.step == 0)
        faults_.push_back(r);
      else if (r.plane != "data")
        control.push_back(r);
      else
        data.push_back(&r);
    }
    const std::vector<Records> messages = by_message(data);
    y_ = kTop;
    if (!control.empty()) phase(control, control_phase());
    const std::size_t drawn = std::min(messages.size(), SwimLanes::kMostMessages);
    for (std::size_t i = 0; i < drawn; ++i)
      phase(messages[i], data_phase(messages[i], i, messages.size()));
    write_note(messages.size() - drawn);
    picture_.height = y_ + (picture_.note.empty() ? 0 : kGap);
    return std::move(picture_);
  }

 private:
  static std::vector<Records> by_message(const std::vector<const TimelineRecord*>& records) {
    std::vector<Records> messages;
    std::map<std::uint64_t, std::size_t> places;  // by work request
    for (const TimelineRecord* r : records) {
      const auto [place, is_new] = places.emplace(r->work_request, messages.size());
      if (is_new) messages.emplace_back();
      messages[place->second].push_back(*r);
    }
    return messages;
  }

  void write_note(std::size_t not_drawn) {
    if (picture_.phases.empty())
      picture_.note = label(Label::kNothing, language_);
    else if (!faults_.empty())
      picture_.note =
          fmt::format(fmt::runtime(label(Label::kElsewhere, language_)), faults_.size());
    if (not_drawn == 0) return;
    if (!picture_.note.empty()) picture_.note += " · ";
    picture_.note += fmt::format(fmt::runtime(label(Label::kNotDrawn, language_)), not_drawn);
  }

  void headline() {
    picture_.title = run_.setup.title.empty() ? run_.scenario : run_.setup.title;
    picture_.subtitle = run_.scenario;
    if (!run_.setup.variant.empty()) picture_.subtitle += ", " + run_.setup.variant;
    if (!run_.setup.workload.empty())
      picture_.subtitle += ": " + deed_text(run_.setup.workload.front(), language_);
  }

  SwimPhase control_phase() const {
    SwimPhase phase;
    phase.control = true;
    phase.title = label(Label::kControlPlane, language_);
    phase.remark = label(Label::kControlRemark, language_);
    return phase;
  }

  SwimPhase data_phase(const Records& message, std::size_t which, std::size_t of) const {
    SwimPhase phase;
    phase.title = label(Label::kDataPlane, language_);
    const bool interrupted = std::any_of(message.begin(), message.end(),
                                         [](const auto& r) { return r.block == "interrupts"; });
    phase.remark = label(over_tcp_     ? Label::kDataRemarkTcp
                         : interrupted ? Label::kDataRemarkEvents
                                       : Label::kDataRemark,
                         language_);
    if (of > 1)
      phase.remark = fmt::format(
          "{} · {}", fmt::format(fmt::runtime(label(Label::kMessage, language_)), which + 1, of),
          phase.remark);
    return phase;
  }

  void phase(const Records& records, SwimPhase phase) {
    phase.begin = records.front().begin;
    phase.end = records.front().end;
    for (const TimelineRecord& r : records) {
      phase.begin = std::min(phase.begin, r.begin);
      phase.end = std::max(phase.end, r.end);
    }
    phase.span = fmt::format(fmt::runtime(label(Label::kSpan, language_)), time_text(phase.begin),
                             time_text(phase.end - phase.begin));
    phase.y = y_;
    y_ += kHeading;
    Records all = records;
    take_faults(phase, all);
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.step < b.step;
    });
    name_steps(phase, records);
    make_lanes(phase, all);
    for (SwimLane& lane : phase.lanes) place(lane, phase);
    if (!phase.control) link(phase, all);
    phase.axis_y = y_;
    put_ticks(phase);
    y_ += kAxis + kGap;
    picture_.phases.push_back(std::move(phase));
  }

  /// Those in the phase's time become records of it.
  void take_faults(const SwimPhase& phase, Records& records) {
    const auto within = [&](const TimelineRecord& r) {
      return r.begin >= phase.begin && r.end <= phase.end;
    };
    std::copy_if(faults_.begin(), faults_.end(), std::back_inserter(records), within);
    faults_.erase(std::remove_if(faults_.begin(), faults_.end(), within), faults_.end());
  }

  void name_steps(SwimPhase& phase, const Records& records) const {
    std::vector<int> steps;
    for (const TimelineRecord& r : records)
      if (std::find(steps.begin(), steps.end(), r.step) == steps.end()) steps.push_back(r.step);
    std::sort(steps.begin(), steps.end());
    int x = SwimLanes::kLeft;
    for (const int number : steps) {
      SwimStep step{number, step_label(number, over_tcp_, language_), x};
      x += kBadge + text_width(step.name) + 3 * kSpace;
      phase.steps.push_back(std::move(step));
    }
  }

  void make_lanes(SwimPhase& phase, const Records& records) const {
    for (const char* kind : {"app", "cpu", "nic"})
      phase.lanes.push_back(lane_of(ends_.from, kind, language_));
    phase.lanes.push_back(lane_of("", "wire", language_));
    if (!ends_.to.empty())
      for (const char* kind : {"nic", "cpu", "app"})
        phase.lanes.push_back(lane_of(ends_.to, kind, language_));
    std::size_t fault_labels = 0;
    for (const TimelineRecord& r : records) {
      SwimBar bar;
      bar.record = r;
      if (!bar.is_fault() || ++fault_labels <= kMaxFaultLabels) bar.label = label_of(r);
      lane_for(phase, r).bars.push_back(std::move(bar));
    }
    for (SwimLane& lane : phase.lanes) lane.asleep = !phase.control && slept(lane);
  }

  SwimLane& lane_for(SwimPhase& phase, const TimelineRecord& r) const {
    for (SwimLane& lane : phase.lanes)
      if (lane.kind == r.lane && (r.lane == "wire" || lane.host == r.host)) return lane;
    return phase.lanes.emplace_back(lane_of(r.host, r.lane, language_));
  }

  bool slept(const SwimLane& lane) const {
    if (lane.kind != "cpu" || !lane.bars.empty()) return false;
    const auto busy = run_.result.metrics.find("host." + lane.host + ".cpu.data.busy");
    return busy != run_.result.metrics.end() && busy->second.as_real() == 0;
  }

  std::string label_of(const TimelineRecord& r) const {
    std::string text = part_label(r, language_);
    if (r.count > 1) text = fmt::format("{} ×{}", text, r.count);
    if (r.bytes != 0) text = fmt::format("{} · {}", text, short_text(Bytes(r.bytes)));
    if (r.end > r.begin) text = fmt::format("{} · {}", text, time_text(r.end - r.begin));
    return text;
  }

  /// Each bar into the first row where it and its label have room.
  void place(SwimLane& lane, const SwimPhase& phase) {
    std::vector<int> free_from;  // by row
    for (SwimBar& bar : lane.bars) {
      bar.x = std::min(phase.x_of(bar.record.begin), SwimLanes::kRight - kLeastWidth);
      bar.width = std::max(phase.x_of(bar.record.end) - bar.x, kLeastWidth);
      bar.first_end = phase.x_of(bar.record.first_end);
      bar.last_begin = phase.x_of(bar.record.last_begin);
      int left = bar.x;
      int right = bar.x + bar.width;
      if (!bar.label.empty()) {
        const int label = kBadge + text_width(bar.label);
        bar.place = place_of(bar, label);
        if (bar.place == LabelPlace::kRight) right += kSpace + label;
        if (bar.place == LabelPlace::kLeft) left -= kSpace + label;
      }
      auto row = std::find_if(free_from.begin(), free_from.end(),
                              [left](int from) { return from <= left; });
      if (row == free_from.end()) row = free_from.insert(row, 0);
      *row = right + 2 * kSpace;
      bar.y = y_ + kPadding + kRow * static_cast<int>(row - free_from.begin()) +
              (kRow - SwimLanes::kBarHeight) / 2;
    }
    lane.y = y_;
    lane.height =
        free_from.empty() ? kEmptyLane : 2 * kPadding + kRow * static_cast<int>(free_from.size());
    y_ += lane.height;
  }

  static LabelPlace place_of(const SwimBar& bar, int label) {
    if (label + 2 * kSpace <= bar.width) return LabelPlace::kInside;
    const bool room = bar.x + bar.width + kSpace + label <= SwimLanes::kRight;
    return room ? LabelPlace::kRight : LabelPlace::kLeft;
  }

  static const SwimBar* bar_of(const SwimPhase& phase, const TimelineRecord& r) {
    for (const SwimLane& lane : phase.lanes)
      for (const SwimBar& bar : lane.bars)
        if (bar.record.step == r.step && bar.record.part == r.part && bar.record.host == r.host &&
            bar.record.begin == r.begin)
          return &bar;
    return nullptr;
  }

  static void link(SwimPhase& phase, const Records& records) {
    const TimelineRecord* before = nullptr;
    for (const TimelineRecord& r : records) {
      if (r.step == 0) continue;
      const TimelineRecord* last = before;
      before = &r;
      if (last == nullptr || (last->lane == r.lane && last->host == r.host)) continue;
      // What tells of the end follows the last of many; everything else the first.
      const Time from = std::min(r.step == 9 ? last->end : last->first_end, r.begin);
      if (r.step != 9 && last->first_end > r.begin) continue;
      const SwimBar* const a = bar_of(phase, *last);
      const SwimBar* const b = bar_of(phase, r);
      phase.links.push_back({from, r.begin, phase.x_of(from), a->y + SwimLanes::kBarHeight / 2,
                             phase.x_of(r.begin), b->y + SwimLanes::kBarHeight / 2});
    }
  }

  static void put_ticks(SwimPhase& phase) {
    const Time span = phase.end - phase.begin;
    if (span == Time()) return;
    const Time step = next_of_1_2_5(span / 12 + Time::ps(1));
    for (Time t; t <= span; t += step)
      phase.ticks.push_back({phase.x_of(phase.begin + t), t == Time() ? "0" : time_text(t)});
  }

  const JudgedRun& run_;
  Language language_;
  Ends ends_;
  bool over_tcp_ = false;
  Records faults_;
  SwimLanes picture_;
  int y_ = 0;
};

}  // namespace

int SwimPhase::x_of(Time t) const {
  const std::int64_t span = std::max<std::int64_t>(1, (end - begin).ps());
  const auto room = static_cast<Uint128>(SwimLanes::kRight - SwimLanes::kLeft);
  return SwimLanes::kLeft + static_cast<int>((static_cast<Uint128>((t - begin).ps()) * room +
                                              static_cast<Uint128>(span / 2)) /
                                             static_cast<Uint128>(span));
}

int text_width(const std::string& text) {
  int width = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      width += 7;
    else if (byte >= 0xe0)  // begins a character of three bytes: as wide as high
      width += 12;
    else if (byte >= 0xc0)
      width += 7;
  }
  return width;
}

SwimLanes swim_lanes(const JudgedRun& run, Language language) {
  return Layout(run, language).draw();
}

}  // namespace rnicsim

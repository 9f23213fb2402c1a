// SPDX-License-Identifier: MIT
// The eight steps of a message as swim lanes: where each bar and label of the picture goes.
//
// Phases stand below each other, each with lanes and a time axis of its own: the control plane,
// which happens once, then the data plane of the first messages that the timeline followed. The
// lanes are those of the first workload's two hosts around the wire; other hosts have lanes where
// something happened there. A record of the timeline is a bar of whole pixels; one that stands for
// many has two marks, where the first ended and the last began. The CPU of a host is shown asleep
// in a data plane if it measured no work there ("cpu.data.busy"). A link joins one bar to the next
// on another lane if that began when the first of these had ended: a message's way through the
// blocks.
//
// Faults are bars of the phase in whose time they happened; what happened at other times is
// counted. Approximates: widths of texts, from how wide characters are in common fonts.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/expectations.h"
#include "tools/export/labels.h"

namespace rnicsim {

enum class LabelPlace : std::uint8_t { kInside, kRight, kLeft };

struct SwimBar {
  TimelineRecord record;
  std::string label;
  int x = 0;
  int y = 0;
  int width = 0;
  int first_end = 0;  ///< marks, of a record that stands for many
  int last_begin = 0;
  LabelPlace place = LabelPlace::kRight;
  bool is_fault() const { return record.step == 0; }
};

struct SwimLane {
  std::string name;
  std::string host;  ///< "" of the wire
  std::string kind;  ///< app, cpu, nic, wire
  int y = 0;
  int height = 0;
  bool asleep = false;
  std::vector<SwimBar> bars;
};

/// From a bar's middle at one time to another's at another.
struct SwimLink {
  Time from;
  Time to;
  int x1 = 0;
  int y1 = 0;
  int x2 = 0;
  int y2 = 0;
};

struct SwimTick {
  int x = 0;
  std::string text;
};

struct SwimStep {
  int number = 0;  ///< 1 to 9
  std::string name;
  int x = 0;
};

struct SwimPhase {
  bool control = false;
  std::string title;
  std::string remark;
  std::string span;  ///< "begins at 137.5 us, takes 10.2 us"
  Time begin;
  Time end;
  int y = 0;       ///< of its heading
  int axis_y = 0;  ///< below the last lane
  std::vector<SwimStep> steps;
  std::vector<SwimTick> ticks;
  std::vector<SwimLane> lanes;
  std::vector<SwimLink> links;
  int x_of(Time t) const;
};

struct SwimLanes {
  // Pixels.
  static constexpr int kWidth = 1280;
  static constexpr int kLeft = 112;  ///< of the time axis
  static constexpr int kRight = 1256;
  static constexpr int kBarHeight = 16;
  static constexpr std::size_t kMostMessages = 8;  ///< of which the data plane is drawn

  Language language = Language::kEnglish;
  std::string title;
  std::string subtitle;
  std::string note;  ///< below everything
  int height = 0;
  std::vector<SwimPhase> phases;
};

SwimLanes swim_lanes(const JudgedRun& run, Language language);

/// As a picture for documents: SVG 1.1 with nothing but shapes, text and tooltips.
std::string swim_lanes_svg(const SwimLanes& picture);

/// Pixels that a text of 12 pixels' height takes, rather too many.
int text_width(const std::string& text);

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "tools/export/record_text.h"
#include "tools/export/swim_lanes.h"

namespace rnicsim {
namespace {

constexpr const char* kInk = "#1c2430";
constexpr const char* kSoft = "#5d6878";
constexpr const char* kControl = "#d97706";
constexpr const char* kData = "#2563c9";
constexpr const char* kBad = "#c22f3a";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:  // control characters, which a title may have, are no XML
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
  }
  return out;
}

class Drawing {
 public:
  explicit Drawing(const SwimLanes& picture) : picture_(picture) {}

  std::string draw() {
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"swim\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"{2}\" lang=\"{3}\" font-family=\"{4}\" "
        "font-size=\"12\" fill=\"{5}\">\n",
        SwimLanes::kWidth, picture_.height, escaped(picture_.title), name_of(picture_.language),
        "Helvetica, Arial, 'Noto Sans CJK JP', 'Hiragino Sans', 'Yu Gothic', sans-serif", kInk);
    add("<defs><pattern id=\"asleep\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect class=\"hatch\" width=\"3\" height=\"8\" "
        "fill=\"#c9d0da\"/></pattern></defs>\n");
    add("<rect class=\"ground\" width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n", SwimLanes::kWidth,
        picture_.height);
    add("<text class=\"title\" x=\"24\" y=\"38\" font-size=\"22\" font-weight=\"bold\">{}</text>\n",
        escaped(picture_.title));
    add("<text class=\"soft\" x=\"24\" y=\"60\" font-size=\"14\" fill=\"{}\">{}</text>\n", kSoft,
        escaped(picture_.subtitle));
    for (const SwimPhase& phase : picture_.phases) draw(phase);
    if (!picture_.note.empty())
      add("<text class=\"note\" x=\"24\" y=\"{}\" font-size=\"14\">{}</text>\n",
          picture_.height - 16, escaped(picture_.note));
    return out_ + "</svg>\n";
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void draw(const SwimPhase& phase) {
    const char* const colour = phase.control ? kControl : kData;
    add("<g class=\"phase {}\" data-begin=\"{}\" data-end=\"{}\">\n",
        phase.control ? "control" : "data", phase.begin.ps(), phase.end.ps());
    add("<rect class=\"flag\" x=\"24\" y=\"{}\" width=\"6\" height=\"20\" fill=\"{}\"/>\n",
        phase.y - 2, colour);
    add("<text y=\"{}\" font-size=\"15\"><tspan class=\"plane\" x=\"40\" font-weight=\"bold\" "
        "fill=\"{}\">{}</tspan><tspan class=\"soft\" dx=\"10\" font-size=\"13\" fill=\"{}\">{}"
        "</tspan></text>\n",
        phase.y + 13, colour, escaped(phase.title), kSoft, escaped(phase.remark));
    add("<text class=\"soft\" x=\"{}\" y=\"{}\" font-size=\"13\" text-anchor=\"end\" fill=\"{}\">{}"
        "</text>\n",
        SwimLanes::kRight, phase.y + 13, kSoft, escaped(phase.span));
    for (const SwimStep& step : phase.steps) {
      add("<g class=\"step\" data-step=\"{}\">", step.number);
      badge(step.number, step.x + 8, phase.y + 38, colour, "#ffffff");
      add("<text x=\"{}\" y=\"{}\">{}</text></g>\n", step.x + 20, phase.y + 42, escaped(step.name));
    }
    for (const SwimLane& lane : phase.lanes) ground(lane);
    axis(phase);
    for (const SwimLink& link : phase.links)
      add("<path class=\"link\" data-from=\"{}\" data-to=\"{}\" data-y1=\"{}\" data-y2=\"{}\" "
          "d=\"M{} {}L{} {}\" stroke=\"#8a94a3\" stroke-width=\"1.2\" stroke-dasharray=\"4 3\" "
          "fill=\"none\"/>\n",
          link.from.ps(), link.to.ps(), link.y1, link.y2, link.x1, link.y1, link.x2, link.y2);
    for (const SwimLane& lane : phase.lanes)
      for (const SwimBar& bar : lane.bars) draw(bar, bar.is_fault() ? kBad : colour);
    add("</g>\n");
  }

  void ground(const SwimLane& lane) {
    const char* const tint = lane.kind == "wire" ? "#eef0f4" : "#f7f8fa";
    add("<g class=\"lane{}\" data-kind=\"{}\" data-host=\"{}\">", lane.asleep ? " asleep" : "",
        lane.kind, escaped(lane.host));
    add("<rect class=\"lane-ground\" x=\"24\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" "
        "stroke=\"#d9dee6\"/>",
        lane.y, SwimLanes::kRight - 24 + 12, lane.height, tint);
    add("<text class=\"lane-name\" x=\"34\" y=\"{}\" font-size=\"13\" "
        "font-weight=\"bold\">{}</text>",
        lane.y + lane.height / 2 + 5, escaped(lane.name));
    if (lane.asleep) {
      const std::string text = label(Label::kAsleep, picture_.language);
      const int width = text_width(text) + 60;
      const int middle = (SwimLanes::kLeft + SwimLanes::kRight) / 2;
      const int y = lane.y + lane.height / 2;
      add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"url(#asleep)\"/>",
          SwimLanes::kLeft, lane.y + 4, SwimLanes::kRight - SwimLanes::kLeft, lane.height - 8);
      add("<rect class=\"lane-ground\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"9\" "
          "fill=\"#ffffff\" stroke=\"#c9d0da\"/>",
          middle - width / 2, y - 10, width, 20);
      add("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-style=\"italic\">z z z   {}</text>",
          middle, y + 4, escaped(text));
    }
    add("</g>\n");
  }

  void axis(const SwimPhase& phase) {
    const int top = phase.lanes.front().y;
    add("<g class=\"axis\" data-y1=\"{}\" data-y2=\"{}\">", top, phase.axis_y);
    for (const SwimTick& tick : phase.ticks) {
      add("<line x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#d9dee6\"/>", tick.x, top,
          phase.axis_y + 4);
      add("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"11\" fill=\"{}\">{}</text>",
          tick.x, phase.axis_y + 17, kSoft, tick.text);
    }
    add("</g>\n");
  }

  void draw(const SwimBar& bar, const char* colour) {
    const TimelineRecord& r = bar.record;
    const int height = SwimLanes::kBarHeight;
    add("<g class=\"bar{}\" data-step=\"{}\" data-part=\"{}\" data-begin=\"{}\" data-end=\"{}\" "
        "data-first-end=\"{}\" data-last-begin=\"{}\">",
        bar.is_fault() ? " fault" : "", r.step, escaped(r.part), r.begin.ps(), r.end.ps(),
        r.first_end.ps(), r.last_begin.ps());
    add("<title>{}</title>", escaped(details(r)));
    add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" fill=\"{}\"/>", bar.x, bar.y,
        bar.width, height, std::min(3, bar.width / 2), colour);
    if (r.count > 1)
      for (const int x : {bar.first_end, bar.last_begin})
        add("<line class=\"mark\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#ffffff\" "
            "stroke-width=\"1.5\" opacity=\"0.75\"/>",
            x, bar.y, bar.y + height);
    if (!bar.label.empty()) label_of(bar, colour);
    add("</g>\n");
  }

  void label_of(const SwimBar& bar, const char* colour) {
    const bool inside = bar.place == LabelPlace::kInside;
    const int middle = bar.y + SwimLanes::kBarHeight / 2;
    int x = bar.x + bar.width + 6;
    if (inside) x = bar.x + (bar.width - 22 - text_width(bar.label)) / 2;
    if (bar.place == LabelPlace::kLeft) x = bar.x - 6;
    add("<g class=\"label\">");
    // Left of a bar a text ends at the number, so that nothing depends on how wide it is.
    const bool left = bar.place == LabelPlace::kLeft;
    badge(bar.record.step, left ? x - 8 : x + 8, middle, inside ? "#ffffff" : colour,
          inside ? colour : "#ffffff");
    add("<text x=\"{}\" y=\"{}\"{}{}>{}</text></g>", left ? x - 22 : x + 22, middle + 4,
        left ? " text-anchor=\"end\"" : "", inside ? " fill=\"#ffffff\"" : "", escaped(bar.label));
  }

  /// A step's number in a disc; what follows the eight steps has a tick, a fault "!".
  void badge(int step, int x, int y, const char* ground, const char* ink) {
    const std::string text = step == 0 ? "!" : step == 9 ? "✓" : std::to_string(step);
    add("<circle cx=\"{}\" cy=\"{}\" r=\"8\" fill=\"{}\"/><text class=\"number\" x=\"{}\" y=\"{}\" "
        "text-anchor=\"middle\" font-size=\"11\" font-weight=\"bold\" fill=\"{}\">{}</text>",
        x, y, ground, x, y + 4, ink, text);
  }

  std::string details(const TimelineRecord& r) const {
    return fmt::format("{} ({})\n{:.3f} – {:.3f} µs\n{}", part_label(r, picture_.language), r.block,
                       r.begin.as_us(), r.end.as_us(), record_text(r, picture_.language));
  }

  const SwimLanes& picture_;
  std::string out_;
};

}  // namespace

std::string swim_lanes_svg(const SwimLanes& picture) { return Drawing(picture).draw(); }

}  // namespace rnicsim

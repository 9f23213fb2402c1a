// SPDX-License-Identifier: MIT
#include <algorithm>

#include "tools/export/comparison_views.h"

namespace rnicsim {
namespace {

constexpr std::size_t kWidestLabel = 30;  ///< as long as columns need the room
constexpr std::size_t kNarrowest = 6;
/// Sentences are broken, at the first width rather than into another block, never beyond the
/// second.
constexpr std::size_t kNarrowWords = 12;
constexpr std::size_t kWideWords = 30;
constexpr std::size_t kGap = 2;

/// What limited a run is told at length; the first part of it, without its metric, says which.
std::string in_short(const std::string& text) {
  std::string part = text.substr(0, text.find(';'));
  const std::size_t metric = part.rfind(" (");
  if (metric != std::string::npos && part.back() == ')') part.erase(metric);
  return part;
}

std::string short_cell(const ComparisonRow& row, std::size_t column) {
  const std::string text = cell_text(row, column);
  return limited_workload(row.metric).empty() ? text : in_short(text);
}

class TableDrawer {
 public:
  TableDrawer(const ComparisonTable& table, const TerminalStyle& style)
      : table_(table), style_(style) {
    for (const ComparisonRow& row : table.rows)
      label_ = std::max(label_, kGap + width_of(row.title));
    std::size_t needed = 0;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      least_.push_back(least_width(c));
      most_.push_back(most_width(c));
      needed += kGap + least_.back();
    }
    const std::size_t room = kTerminalColumns - std::min(kTerminalColumns, needed);
    label_ = std::min(label_, std::max(room, kWidestLabel));
  }

  std::string draw() {
    for (const std::string& line : wrapped(table_.title, kTerminalColumns))
      if (!line.empty()) out_ += inked(style_, Ink::kHeading, line) + '\n';
    for (std::size_t begin = 0; begin < table_.columns.size();) {
      const std::size_t end = block_from(begin);
      if (begin != 0) out_ += '\n';
      draw_block(begin, end);
      begin = end;
    }
    return std::move(out_);
  }

 private:
  std::string title_of(std::size_t column) const {
    const ComparisonColumn& c = table_.columns[column];
    return c.error.empty() ? c.title : c.title + " FAILED";
  }

  /// A number must not be broken, and neither should a word.
  std::size_t least_width(std::size_t column) const {
    std::size_t width = std::max(kNarrowest, longest_word(title_of(column)));
    for (const ComparisonRow& row : table_.rows) {
      const std::string text = short_cell(row, column);
      const bool number = row.cells[column].words.empty();
      width = std::max(width, number ? width_of(text) : std::min(kNarrowWords, width_of(text)));
    }
    return std::min(width, kTerminalColumns - kWidestLabel - kGap);
  }
  std::size_t most_width(std::size_t column) const {
    std::size_t width = std::max(least_[column], width_of(title_of(column)));
    for (const ComparisonRow& row : table_.rows)
      width = std::max(width, std::min(kWideWords, width_of(short_cell(row, column))));
    return width;
  }
  static std::size_t longest_word(const std::string& text) {
    std::size_t longest = 0;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(' ', begin), text.size());
      longest = std::max(longest, width_of(text.substr(begin, end - begin)));
      begin = end + 1;
    }
    return longest;
  }

  /// As many columns as fit; their widths, with what room is left shared out.
  std::size_t block_from(std::size_t begin) {
    std::size_t room = kTerminalColumns - label_;
    std::size_t end = begin;
    widths_.clear();
    while (end < table_.columns.size() && kGap + least_[end] <= room) {
      room -= kGap + least_[end];
      widths_.push_back(least_[end++]);
    }
    for (std::size_t c = begin; c < end; ++c) {
      const std::size_t share = room / (end - c);
      const std::size_t more = std::min(share, most_[c] - least_[c]);
      widths_[c - begin] += more;
      room -= more;
    }
    return end;
  }

  void draw_block(std::size_t begin, std::size_t end) {
    std::vector<std::vector<std::string>> heads;
    for (std::size_t c = begin; c < end; ++c)
      heads.push_back(wrapped(title_of(c), widths_[c - begin]));
    draw_line({""}, heads, [](std::size_t) { return Ink::kHeading; });
    std::string group;
    for (const ComparisonRow& row : table_.rows) {
      if (row.group != group && !row.group.empty())
        out_ += inked(style_, Ink::kStep, wrapped(row.group, kTerminalColumns).front()) + '\n';
      group = row.group;
      std::vector<std::vector<std::string>> cells;
      for (std::size_t c = begin; c < end; ++c)
        cells.push_back(wrapped(short_cell(row, c), widths_[c - begin]));
      draw_line(wrapped(row.title, label_ - kGap), cells, [&](std::size_t i) {
        return row.is_best(begin + i) ? std::optional<Ink>(Ink::kGood) : std::nullopt;
      });
    }
  }

  template <class InkOf>
  void draw_line(const std::vector<std::string>& label,
                 const std::vector<std::vector<std::string>>& cells, const InkOf& ink_of) {
    std::size_t height = label.size();
    for (const auto& cell : cells) height = std::max(height, cell.size());
    for (std::size_t y = 0; y < height; ++y) {
      std::string line = padded(y < label.size() ? "  " + label[y] : "", label_);
      std::size_t blanks = 0;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string& text = y < cells[i].size() ? cells[i][y] : kNothing;
        blanks += kGap + widths_[i] - width_of(text);
        if (text.empty()) continue;
        const std::optional<Ink> ink = ink_of(i);
        line += std::string(blanks, ' ') + (ink ? inked(style_, *ink, text) : text);
        blanks = 0;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out_ += line + '\n';
    }
  }

  static inline const std::string kNothing;

  const ComparisonTable& table_;
  const TerminalStyle& style_;
  std::string out_;
  std::size_t label_ = 2 * kGap;
  std::vector<std::size_t> least_;   ///< of each column
  std::vector<std::size_t> most_;    ///< what it would like
  std::vector<std::size_t> widths_;  ///< in the block that is drawn
};

}  // namespace

std::string comparison_table(const Comparison& comparison, const TerminalStyle& style) {
  std::string out;
  for (const ComparisonTable& table : comparison.tables) {
    if (!out.empty()) out += '\n';
    out += TableDrawer(table, style).draw();
  }
  return out;
}

}  // namespace rnicsim

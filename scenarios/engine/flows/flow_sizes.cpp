// SPDX-License-Identifier: MIT
#include "scenarios/engine/flows/flow_sizes.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "fabric/text_lines.h"

namespace rnicsim {
namespace {

using Points = std::vector<FlowSizes::Point>;

constexpr double kPercent = 100;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 50;

struct BuiltIn {
  const char* name;
  Points points;  ///< in percent
};

const std::vector<BuiltIn>& built_ins() {
  static const std::vector<BuiltIn> kAll = {
      {"WebSearch",
       {{0, 0},
        {10000, 15},
        {20000, 20},
        {30000, 30},
        {50000, 40},
        {80000, 53},
        {200000, 60},
        {1000000, 70},
        {2000000, 80},
        {5000000, 90},
        {10000000, 97},
        {30000000, 100}}},
      {"AliStorage2019",
       {{0, 0},
        {4000, 22.93},
        {8000, 69.21},
        {16000, 80.61},
        {32000, 90.47},
        {64000, 93.53},
        {128000, 96.77},
        {256000, 97.53},
        {2000000, 100}}},
      {"FbHadoop", {{0, 0},       {100, 1},     {200, 2},        {300, 5},      {350, 15},
                    {400, 20},    {500, 30},    {600, 40},       {700, 50},     {1000, 60},
                    {2000, 67},   {7000, 70},   {30000, 72},     {50000, 82},   {80000, 87},
                    {120000, 90}, {300000, 95}, {1000000, 97.5}, {2000000, 99}, {10000000, 100}}}};
  return kAll;
}

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '-' && c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

Points as_shares(Points points, double whole) {
  for (FlowSizes::Point& point : points) point.share /= whole;
  return points;
}

double share_in(const TextLines& lines) {
  const auto& words = lines.words();
  double value = 0;
  bool good = words.size() == 2;
  if (good) {
    const char* end = words[1].data() + words[1].size();
    const auto result = std::from_chars(words[1].data(), end, value);
    good = result.ec == std::errc() && result.ptr == end && value >= 0 && value <= kPercent;
  }
  if (!good)
    throw lines.error(
        "size_bytes and cumulative share, 0 to 100",
        words.size() == 2 ? in_quotes(words[1]) : std::to_string(words.size()) + " words");
  return value;
}

}  // namespace

std::optional<FlowSizes> FlowSizes::built_in(std::string_view name) {
  for (const BuiltIn& each : built_ins())
    if (plain(each.name) == plain(name)) return FlowSizes(as_shares(each.points, kPercent));
  return std::nullopt;
}

std::vector<std::string> FlowSizes::built_in_names() {
  std::vector<std::string> names;
  for (const BuiltIn& each : built_ins()) names.emplace_back(each.name);
  return names;
}

FlowSizes FlowSizes::read(std::string_view text, const std::string& file) {
  TextLines lines(text, file);
  Points points;
  while (lines.next_with_words()) {
    const std::uint64_t bytes = lines.whole_number(0, kMaxBytes, "a size in bytes");
    const double share = share_in(lines);
    if (!points.empty() && (bytes < points.back().bytes || share < points.back().share))
      throw lines.error("sizes and shares that ascend",
                        in_quotes(lines.words()[bytes < points.back().bytes ? 0 : 1]));
    if (points.empty() && share != 0)
      throw lines.error("share 0 at the first size", in_quotes(lines.words()[1]));
    points.push_back({bytes, share});
  }
  if (points.size() < 2)
    throw lines.error("at least two points, from share 0 to 100 or to 1",
                      std::to_string(points.size()));
  const double whole = points.back().share;
  if (whole != kPercent && whole != 1.0)
    throw lines.error("a last share of 100 (percent) or 1 (fraction)",
                      in_quotes(std::to_string(whole)));
  if (points.back().bytes == 0) throw lines.error("a largest size above 0", "0");
  return FlowSizes(as_shares(std::move(points), whole));
}

FlowSizes FlowSizes::always(Bytes bytes) {
  return FlowSizes({{bytes.count(), 0}, {bytes.count(), 1}});
}

Bytes FlowSizes::draw(Random& random) const {
  constexpr unsigned kMantissa = 53;
  const double u = static_cast<double>(random.next() >> (64 - kMantissa)) /
                   static_cast<double>(std::uint64_t{1} << kMantissa);
  // The first point that is reached beyond u: the last one always is.
  const auto above =
      std::upper_bound(points_.begin() + 1, points_.end() - 1, u,
                       [](double share, const Point& point) { return share < point.share; });
  const Point& b = *above;
  const Point& a = *(above - 1);
  const double part = b.share > a.share ? (u - a.share) / (b.share - a.share) : 0;
  const auto more = static_cast<std::uint64_t>(part * static_cast<double>(b.bytes - a.bytes));
  return Bytes(std::max<std::uint64_t>(1, a.bytes + more));
}

double FlowSizes::mean() const {
  double sum = 0;
  for (std::size_t i = 1; i < points_.size(); ++i)
    sum += (points_[i].share - points_[i - 1].share) *
           (static_cast<double>(points_[i].bytes) + static_cast<double>(points_[i - 1].bytes)) / 2;
  return std::max(1.0, sum);
}

}  // namespace rnicsim

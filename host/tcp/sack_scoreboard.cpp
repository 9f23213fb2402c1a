// SPDX-License-Identifier: MIT
#include "host/tcp/sack_scoreboard.h"

#include <algorithm>

namespace rnicsim {

std::uint64_t SackScoreboard::add(std::uint64_t first, std::uint64_t behind) {
  if (first >= behind) return 0;
  const std::uint64_t news = missing(first, behind);
  if (news == 0) return 0;
  const auto begin =
      std::lower_bound(ranges_.begin(), ranges_.end(), first,
                       [](const Range& r, std::uint64_t at) { return r.behind < at; });
  auto end = begin;
  Range whole{first, behind};
  for (; end != ranges_.end() && end->first <= behind; ++end) {
    whole.first = std::min(whole.first, end->first);
    whole.behind = std::max(whole.behind, end->behind);
  }
  if (begin == end) {
    ranges_.insert(begin, whole);
  } else {
    *begin = whole;
    ranges_.erase(begin + 1, end);
  }
  return news;
}

void SackScoreboard::acknowledge(std::uint64_t position) {
  auto keep = ranges_.begin();
  while (keep != ranges_.end() && keep->behind <= position) ++keep;
  ranges_.erase(ranges_.begin(), keep);
  if (!empty()) ranges_.front().first = std::max(ranges_.front().first, position);
}

bool SackScoreboard::contains(std::uint64_t position) const {
  return missing(position, position + 1) == 0;
}

std::uint64_t SackScoreboard::missing(std::uint64_t from, std::uint64_t to) const {
  if (from >= to) return 0;
  std::uint64_t total = to - from;
  for (const Range& range : ranges_) {
    if (range.first >= to) break;
    const std::uint64_t first = std::max(range.first, from);
    const std::uint64_t behind = std::min(range.behind, to);
    if (first < behind) total -= behind - first;
  }
  return total;
}

SackScoreboard::Range SackScoreboard::first_missing(std::uint64_t from, std::uint64_t to) const {
  for (const Range& range : ranges_) {
    if (range.behind <= from) continue;
    if (range.first > from) return {from, std::max(from, std::min(range.first, to))};
    from = range.behind;
  }
  return {from, std::max(from, to)};
}

std::uint64_t SackScoreboard::lost_before(std::uint32_t threshold, std::uint64_t mss) const {
  std::uint32_t pieces = 0;
  std::uint64_t bytes = 0;
  for (auto range = ranges_.rbegin(); range != ranges_.rend(); ++range) {
    bytes += range->behind - range->first;
    if (++pieces >= threshold || bytes > (threshold - 1) * mss) return range->first;
  }
  return 0;
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "host/tcp/tcp_reassembly.h"

#include <algorithm>

namespace rnicsim {

TcpReassembly::Result TcpReassembly::add(std::uint64_t first, std::uint64_t behind) {
  if (behind <= next_ || first >= behind) return Result::kOld;
  if (first > next_) return keep(first, behind);
  const bool filled = has_gaps();
  next_ = behind;
  auto piece = pieces_.begin();
  for (; piece != pieces_.end() && piece->first <= next_; ++piece)
    next_ = std::max(next_, piece->behind);
  pieces_.erase(pieces_.begin(), piece);
  return filled ? Result::kFilled : Result::kInOrder;
}

TcpReassembly::Result TcpReassembly::keep(std::uint64_t first, std::uint64_t behind) {
  const auto begin =
      std::lower_bound(pieces_.begin(), pieces_.end(), first,
                       [](const Piece& p, std::uint64_t at) { return p.behind < at; });
  Piece whole{first, behind, ++stamps_};
  if (begin != pieces_.end() && begin->first <= first && behind <= begin->behind) {
    begin->stamp = whole.stamp;
    return Result::kOld;
  }
  auto end = begin;
  for (; end != pieces_.end() && end->first <= behind; ++end) {
    whole.first = std::min(whole.first, end->first);
    whole.behind = std::max(whole.behind, end->behind);
  }
  if (begin == end) {
    pieces_.insert(begin, whole);
  } else {
    *begin = whole;
    pieces_.erase(begin + 1, end);
  }
  return Result::kOutOfOrder;
}

std::uint8_t TcpReassembly::sack(Range* blocks, std::size_t room) const {
  std::uint8_t count = 0;
  std::uint64_t below = stamps_ + 1;
  while (count < room) {
    const Piece* latest = nullptr;
    for (const Piece& piece : pieces_)
      if (piece.stamp < below && (latest == nullptr || piece.stamp > latest->stamp))
        latest = &piece;
    if (latest == nullptr) break;
    blocks[count++] = {latest->first, latest->behind};
    below = latest->stamp;
  }
  return count;
}

}  // namespace rnicsim

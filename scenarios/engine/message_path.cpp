// SPDX-License-Identifier: MIT
#include "scenarios/engine/message_path.h"

#include <algorithm>

namespace rnicsim {
namespace {

/// Packets that became void before they left are forgotten beyond these.
constexpr std::size_t kMostInMaking = 1024;
/// Misses of the past are of no more use.
constexpr std::size_t kMostMisses = 64;

}  // namespace

void PacketInMaking::add(Stage stage, Time until, bool waits) {
  if (steps != 0 && (step[steps - 1].stage == stage || steps == kMostSteps)) --steps;
  step[steps++] = {stage, until, waits};
}

MessagePath::MessagePath(WorkRequestId id, std::uint64_t bytes, Time begin, bool with_pieces)
    : with_pieces_(with_pieces) {
  times_.work_request = id.value();
  times_.bytes = bytes;
  times_.begin = times_.end = begin;
}

void MessagePath::spend(Stage stage, Time until) {
  if (until <= times_.end) return;
  times_.stages[static_cast<std::size_t>(stage)] += until - times_.end;
  if (with_pieces_) {
    std::vector<StagePiece>& pieces = times_.pieces;
    if (!pieces.empty() && pieces.back().stage == stage && pieces.back().end == times_.end)
      pieces.back().end = until;
    else if (pieces.size() < kMostPieces)
      pieces.push_back({stage, times_.end, until});
  }
  times_.end = until;
}

void MessagePath::wait(Stage stage, Time until) {
  for (const Span& miss : misses_) {
    if (miss.until <= times_.end || miss.since >= until) continue;
    spend(stage, miss.since);
    spend(Stage::kContextMiss, std::min(miss.until, until));
  }
  spend(stage, until);
  if (misses_.size() > kMostMisses) misses_.erase(misses_.begin());
}

PacketInMaking& MessagePath::make(std::uint64_t packet) {
  if (making_.size() == kMostInMaking) making_.erase(making_.begin());
  PacketInMaking& made = making_.emplace_back();
  made.packet = packet;
  return made;
}

PacketInMaking* MessagePath::making(std::uint64_t packet) {
  for (PacketInMaking& made : making_)
    if (made.packet == packet) return &made;
  return nullptr;
}

void MessagePath::settle(Time limit) {
  for (const PathStep& step : ahead_) take(step, limit);
  ahead_.clear();
}

void MessagePath::take(const PathStep& step, Time limit) {
  const Time until = std::min(step.until, limit);
  if (step.waits)
    wait(step.stage, until);
  else
    spend(step.stage, until);
}

void MessagePath::stay_home(Time limit) {
  if (!ahead_.empty()) ahead_.resize(1);
  settle(limit);
  for (const PacketInMaking& packet : making_)
    for (std::size_t i = 0; i < packet.steps; ++i) take(packet.step[i], limit);
}

void MessagePath::depart(const PacketInMaking& packet, const Departure& at) {
  // Of packets that follow each other the way of the former does not count, of an answer that of
  // the request does.
  const bool follows = packet.answer == answer_ && !ahead_.empty();
  if (follows) ahead_.resize(1);
  settle(Time::never());
  if (follows) spend(Stage::kSerialisation, std::min(gap_until_, at.begin));
  for (std::size_t i = 0; i < packet.steps; ++i) {
    const PathStep& step = packet.step[i];
    if (i == 0 && at.stopped_while_waiting != Time())
      spend(Stage::kPause, std::min(cursor() + at.stopped_while_waiting, step.until));
    take(step, Time::never());
  }
  spend(Stage::kTxPipeline, at.ready);
  spend(Stage::kPause, std::min(at.begin, std::max(cursor(), at.ready) + at.stopped));
  spend(Stage::kPortQueue, at.begin);
  packet_ = packet.packet;
  answer_ = packet.answer;
  acknowledged_ = false;
  acknowledgement_ = 0;
  gap_until_ = at.last_bit + at.gap;
  ahead_.push_back({Stage::kSerialisation, at.last_bit, false});
  making_.erase(std::remove_if(making_.begin(), making_.end(),
                               [&](const PacketInMaking& m) { return m.packet == packet_; }),
                making_.end());
}

}  // namespace rnicsim

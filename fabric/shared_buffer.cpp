// SPDX-License-Identifier: MIT
#include "fabric/shared_buffer.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace rnicsim {

namespace {

constexpr unsigned kFraction = 16;

std::uint64_t fixed(double factor) {
  return static_cast<std::uint64_t>(std::llround(factor * (1U << kFraction)));
}
std::uint64_t times(std::uint64_t cells, std::uint64_t factor) {
  return static_cast<std::uint64_t>(static_cast<Uint128>(cells) * factor >> kFraction);
}

}  // namespace

void SharedBufferConfig::describe(Fields& fields) {
  fields.field("size", size, range(Bytes(16 * 1024), Bytes(1ULL << 32)),
               "packet memory of the switch: reserves, headroom and the shared pool");
  fields.field("cell", cell, range(Bytes(1), Bytes(4096)),
               "bytes are taken in whole cells of this size");
  fields.choice("model", model,
                {{"dynamic", BufferModel::kDynamic}, {"static", BufferModel::kStatic}},
                "what an ingress port and priority may hold of the shared pool: alpha times what "
                "is free of it, or a fixed threshold");
  fields.field("reserved", reserved, range(Bytes(0), Bytes(1 << 24)),
               "reserved for each ingress port and priority");
  fields.field("alpha", alpha, range(1. / 1024., 64.),
               "lossless priorities' share of what is free (dynamic)");
  fields.field("lossy_alpha", lossy_alpha, range(1. / 1024., 64.),
               "lossy priorities' share of what is free (dynamic)");
  fields.field(
      "egress_alpha", egress_alpha, range(1. / 1024., 64.),
      "what may wait of a lossy priority for one egress queue, as a share of what is free");
  fields.field("threshold", threshold, range(Bytes(0), Bytes(1ULL << 32)),
               "what an ingress port and priority may hold beyond its reserve (static)");
  fields.field("xon_offset", xon_offset, range(Bytes(0), Bytes(1ULL << 24)),
               "XON at so much below the threshold for XOFF");
}

SharedBuffer::SharedBuffer(const SharedBufferConfig& config, std::uint8_t lossless,
                           const std::vector<Bytes>& headroom)
    : cell_(config.cell.count()),
      model_(config.model),
      reserved_(divide_up(config.reserved, config.cell)),
      alpha_(fixed(config.alpha)),
      lossy_alpha_(fixed(config.lossy_alpha)),
      egress_alpha_(fixed(config.egress_alpha)),
      static_threshold_(config.threshold / config.cell),
      xon_offset_(divide_up(config.xon_offset, config.cell)),
      groups_(headroom.size() * kPriorities),
      egress_(headroom.size() * kPriorities) {
  std::uint64_t set_aside = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    group.lossless = (lossless >> i % kPriorities & 1) != 0;
    if (group.lossless) group.headroom_limit = divide_up(headroom[i / kPriorities].count(), cell_);
    set_aside += reserved_ + group.headroom_limit;
  }
  const std::uint64_t cells = config.size / config.cell;
  if (set_aside >= cells)
    throw ConfigError({"", 0, "buffer.size",
                       "more than the " + std::to_string(set_aside * cell_) +
                           " B of reserves and headroom of " + std::to_string(headroom.size()) +
                           " ports, so that a shared pool is left",
                       std::to_string(config.size.count()) + " B", ""});
  shared_limit_ = cells - set_aside;
}

std::uint64_t SharedBuffer::threshold_cells(bool lossless) const {
  if (model_ == BufferModel::kStatic) return static_threshold_;
  return times(shared_free(), lossless ? alpha_ : lossy_alpha_);
}

Bytes SharedBuffer::threshold(std::uint8_t priority) const {
  return Bytes(threshold_cells(groups_[priority].lossless) * cell_);
}

void SharedBuffer::note_xoff(Group& group, std::uint64_t held) {
  if (group.at_first_xoff == 0) group.at_first_xoff = held;
}

SharedBuffer::Admission SharedBuffer::take(std::uint32_t port, std::uint8_t priority,
                                           std::uint32_t egress, Bytes bytes) {
  Group& group = groups_[index(port, priority)];
  std::uint64_t& queue = egress_[index(egress, priority)];
  const std::uint64_t cells = cells_of(bytes);
  const std::uint64_t in_pool = group.cells - group.headroom_cells;
  const std::uint64_t threshold = threshold_cells(group.lossless);
  const std::uint64_t grown = beyond(in_pool + cells) - beyond(in_pool);
  // Whoever is below the threshold may cross it, by one packet.
  const bool fits = in_pool + cells <= reserved_ ||
                    (beyond(in_pool) < threshold && shared_ + grown <= shared_limit_);
  if (!group.lossless) {
    if (!fits || queue + cells > std::max(reserved_, times(shared_free(), egress_alpha_)))
      return Admission::kDropped;
    shared_ += grown;
  } else if (fits && !group.xoff) {
    shared_ += grown;
    group.xoff = beyond(in_pool + cells) >= std::max<std::uint64_t>(threshold, 1);
    if (group.xoff) note_xoff(group, in_pool + cells);
  } else {
    if (group.headroom_cells + cells > group.headroom_limit) return Admission::kOverflow;
    group.headroom_cells += cells;
    group.most_headroom = std::max(group.most_headroom, group.headroom_cells);
    if (!group.xoff) note_xoff(group, in_pool);
    group.xoff = true;
  }
  group.cells += cells;
  group.most = std::max(group.most, group.cells);
  total_ += cells;
  most_ = std::max(most_, total_);
  most_shared_ = std::max(most_shared_, shared_);
  queue += cells;
  return Admission::kTaken;
}

bool SharedBuffer::give_back(std::uint32_t port, std::uint8_t priority, std::uint32_t egress,
                             Bytes bytes) {
  Group& group = groups_[index(port, priority)];
  const std::uint64_t cells = cells_of(bytes);
  group.cells -= cells;
  total_ -= cells;
  egress_[index(egress, priority)] -= cells;
  // The headroom empties first: what waits in it moves into the room that became free.
  const std::uint64_t from_headroom = std::min(cells, group.headroom_cells);
  group.headroom_cells -= from_headroom;
  const std::uint64_t in_pool = group.cells - group.headroom_cells;
  shared_ -= beyond(in_pool + (cells - from_headroom)) - beyond(in_pool);
  if (!group.xoff || group.headroom_cells != 0) return false;
  const std::uint64_t threshold = threshold_cells(true);
  if (beyond(in_pool) > (threshold > xon_offset_ ? threshold - xon_offset_ : 0)) return false;
  group.xoff = false;
  return true;
}

Bytes SharedBuffer::egress_bytes(std::uint32_t port) const {
  std::uint64_t cells = 0;
  for (std::uint8_t p = 0; p < kPriorities; ++p) cells += egress_[index(port, p)];
  return Bytes(cells * cell_);
}

void SharedBuffer::signals(const SignalScope& scope) {
  scope.level("occupancy", Unit::kBytes, "bytes held, in whole cells",
              [this] { return total_ * cell_; });
  scope.level(
      "shared", Unit::kBytes, "of these, of the shared pool", [this] { return shared_ * cell_; },
      shared_limit_ * cell_);
}

void SharedBuffer::report(const MetricScope& scope) const {
  scope.bytes("size", Bytes(shared_limit_ * cell_),
              "the shared pool, without reserves and headroom");
  scope.bytes("occupancy.max", Bytes(most_ * cell_), "most bytes held at once, in whole cells");
  scope.bytes("shared.occupancy.max", Bytes(most_shared_ * cell_),
              "most of the shared pool that was taken");
}

void SharedBuffer::report_port(const MetricScope& scope, std::uint32_t port) const {
  for (std::uint8_t p = 0; p < kPriorities; ++p) {
    const Group& group = this->group(port, p);
    if (group.most == 0) continue;
    const std::string name = "prio" + std::to_string(p);
    scope.bytes(name + ".occupancy.max", Bytes(group.most * cell_),
                "most that packets of this priority that came in here held at once");
    if (!group.lossless) continue;
    scope.bytes(name + ".headroom", Bytes(group.headroom_limit * cell_), "room behind XOFF");
    scope.bytes(name + ".first_xoff", Bytes(group.at_first_xoff * cell_),
                "what it held when it first asked for XOFF; zero: it never did");
    scope.bytes(name + ".headroom.occupancy.max", Bytes(group.most_headroom * cell_),
                "most of it that was taken");
  }
}

}  // namespace rnicsim

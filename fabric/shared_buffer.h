// SPDX-License-Identifier: MIT
// The packet memory of a switch and who may have how much of it (as IEEE 802.1Q leaves it to
// implementations, and as shared-memory switches do it): per ingress port and priority a reserved
// part, then the shared pool up to a threshold, then, of a lossless priority, the headroom behind
// XOFF. Accounting in cells.
//
// Thresholds, by name: "dynamic": alpha times what is free of the shared pool (Choudhury and
// Hahne); "static": a fixed number of bytes. The packet that reaches the threshold is taken and
// asks for XOFF; falling `xon_offset` below it asks for XON. A lossy priority is dropped at its
// threshold, at ingress or, by `egress_alpha`, where too much waits for one egress queue.
//
// Bytes are taken when the packet has come whole (or its first 64 B, in a switch that cuts through)
// and given back when its last bit has left. A lossless packet that finds no room even in the
// headroom is what must never be: `Admission::kOverflow`.
//
// Approximates: a paused class looks at the dynamic threshold when one of its own packets leaves,
// not whenever the pool's level changes (late by at most one of its packets).
#pragma once

#include <cstdint>
#include <vector>

#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pause_frame.h"
#include "model/signal.h"
#include "model/units.h"

namespace rnicsim {

enum class BufferModel : std::uint8_t { kDynamic, kStatic };

struct SharedBufferConfig {
  Bytes size{12 * 1024 * 1024};
  Bytes cell{208};
  BufferModel model = BufferModel::kDynamic;
  Bytes reserved{1248};
  double alpha = 0.125;
  double lossy_alpha = 0.5;
  double egress_alpha = 0.5;
  Bytes threshold{100 * 1024};
  Bytes xon_offset{2496};
  void describe(Fields& fields);
};

class SharedBuffer {
 public:
  enum class Admission : std::uint8_t {
    kTaken,
    kDropped,   ///< of a lossy class
    kOverflow,  ///< of a lossless class: the headroom is full
  };
  /// One (ingress port, priority).
  struct Group {
    std::uint64_t cells = 0;  ///< all that it holds
    std::uint64_t headroom_cells = 0;
    std::uint64_t headroom_limit = 0;
    std::uint64_t most = 0;
    std::uint64_t most_headroom = 0;
    std::uint64_t at_first_xoff = 0;  ///< what it held of reserve and pool then
    bool lossless = false;
    bool xoff = false;
  };

  /// `ports` x kPriorities groups. `headroom[port]`: of each lossless priority of that port.
  /// Throws ConfigError if reserves and headroom leave no shared pool.
  SharedBuffer(const SharedBufferConfig& config, std::uint8_t lossless,
               const std::vector<Bytes>& headroom);

  /// Room for a packet of `bytes`. After kTaken, is_xoff() of its group tells whether to pause.
  Admission take(std::uint32_t port, std::uint8_t priority, std::uint32_t egress, Bytes bytes);
  /// Its last bit has left. Returns true if its group, which was XOFF, may go on.
  bool give_back(std::uint32_t port, std::uint8_t priority, std::uint32_t egress, Bytes bytes);

  /// Another copy of a packet that was taken waits for an egress queue, or no longer does.
  void take_copy(std::uint8_t priority, std::uint32_t egress, Bytes bytes) {
    egress_[index(egress, priority)] += cells_of(bytes);
  }
  void give_back_copy(std::uint8_t priority, std::uint32_t egress, Bytes bytes) {
    egress_[index(egress, priority)] -= cells_of(bytes);
  }

  bool is_lossless(std::uint8_t priority) const { return groups_[priority].lossless; }
  bool is_xoff(std::uint32_t port, std::uint8_t priority) const {
    return group(port, priority).xoff;
  }
  /// What waits for an egress queue, in whole cells.
  Bytes egress_bytes(std::uint32_t port, std::uint8_t priority) const {
    return Bytes(egress_[index(port, priority)] * cell_);
  }
  /// What waits for an egress port.
  Bytes egress_bytes(std::uint32_t port) const;
  Bytes occupied() const { return Bytes(total_ * cell_); }
  Bytes headroom(std::uint32_t port, std::uint8_t priority) const {
    return Bytes(group(port, priority).headroom_limit * cell_);
  }
  /// Headroom that the overflowing packet would have needed in all.
  Bytes headroom_wanted(std::uint32_t port, std::uint8_t priority, Bytes bytes) const {
    return Bytes((group(port, priority).headroom_cells + cells_of(bytes)) * cell_);
  }
  /// The threshold at which a group of this priority pauses or drops now.
  Bytes threshold(std::uint8_t priority) const;

  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);
  void report_port(const MetricScope& scope, std::uint32_t port) const;

 private:
  static std::size_t index(std::uint32_t port, std::uint8_t priority) {
    return std::size_t{port} * kPriorities + priority;
  }
  const Group& group(std::uint32_t port, std::uint8_t priority) const {
    return groups_[index(port, priority)];
  }
  static void note_xoff(Group& group, std::uint64_t held);
  std::uint64_t cells_of(Bytes bytes) const { return divide_up(bytes.count(), cell_); }
  std::uint64_t threshold_cells(bool lossless) const;
  std::uint64_t shared_free() const {
    return shared_limit_ > shared_ ? shared_limit_ - shared_ : 0;
  }
  std::uint64_t beyond(std::uint64_t cells) const {
    return cells > reserved_ ? cells - reserved_ : 0;
  }

  std::uint64_t cell_;
  BufferModel model_;
  std::uint64_t reserved_;
  std::uint64_t alpha_;  ///< in 2^-16, of lossless groups
  std::uint64_t lossy_alpha_;
  std::uint64_t egress_alpha_;
  std::uint64_t static_threshold_;
  std::uint64_t xon_offset_;
  std::uint64_t shared_limit_ = 0;
  std::uint64_t shared_ = 0;  ///< cells beyond the groups' reserves, without headroom
  std::uint64_t total_ = 0;
  std::uint64_t most_ = 0;
  std::uint64_t most_shared_ = 0;
  std::vector<Group> groups_;
  std::vector<std::uint64_t> egress_;
};

}  // namespace rnicsim

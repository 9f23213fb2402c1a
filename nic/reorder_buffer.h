// SPDX-License-Identifier: MIT
// Selective repeat: keeps packets that came before others of smaller PSN, and says which PSNs they
// show to be missing. One piece for both sides: requests that the responder has yet to judge in
// order, READ responses that the completer has yet to take in order.
//
// Of each queue pair and side a window of PSNs from the expected one on; over all of them so many
// bytes. What is kept goes on occupying the port's receive buffer, so `room` must leave enough of
// that for what is on its way; over InfiniBand, where a missing packet needs credit of its lane,
// the room for the largest packet is left in any case. A packet that finds no place is dropped,
// and told of as missing when a later one is heard of. Each missing PSN is told of once: who asks
// for it in vain has a timeout.
//
// Defaults: 128 packets of 1 KiB are 100 Gb/s times 10 us, what a sender has on its way in a round
// trip; 512 KiB are half of the default receive buffer.
//
// Models no time of its own: a packet passes its pipeline when it comes and again when it is taken
// out, and the memory is part of the receive buffer.
#pragma once

#include <vector>

#include "model/config_reader.h"
#include "model/headers.h"
#include "model/metrics.h"
#include "model/packet.h"

namespace rnicsim {

class MacRx;

struct ReorderBufferConfig {
  std::uint32_t window = 128;
  Bytes room{512 * 1024};
  void describe(Fields& fields);
};

/// PSNs that have not come, and nobody has asked for again.
struct Hole {
  Psn first;
  std::uint32_t count = 0;
};

/// What a queue pair has in the buffer on one side.
struct ReorderWindow {
  std::vector<PacketRef> slots;  ///< by PSN; made when first needed
  std::uint32_t held = 0;
  bool open = false;  ///< `heard` is ahead of what is expected
  Psn heard;          ///< what is missing before it has been told of
};

class ReorderBuffer {
 public:
  ReorderBuffer(MacRx& mac_rx, const ReorderBufferConfig& config);

  /// Takes a packet in that stands for `span` PSNs. REQUIRES: its PSN is ahead of `expected`.
  /// False: the caller still has it, to drop it. `hole`: what is missing before it and was not
  /// known to be.
  bool hold(ReorderWindow& window, Psn expected, const PacketRef& packet, std::uint32_t span,
            Hole& hole);
  /// Something is known to have come after `limit` - 1: what is missing before.
  Hole reveal(ReorderWindow& window, Psn expected, Psn limit);
  /// The packet that is expected now goes out, if it is here; null otherwise. Call for every new
  /// expected PSN.
  PacketRef take(ReorderWindow& window, Psn expected);
  /// PSNs in [first, limit) before the first that is here.
  static std::uint32_t missing_run(const ReorderWindow& window, Psn first, Psn limit);
  /// Drops what is kept: the queue pair goes back, fails or is reset.
  void drop(ReorderWindow& window);
  bool empty() const { return occupied_ == Bytes(0); }
  std::uint32_t window() const { return config_.window; }

  void report(const MetricScope& scope) const;

 private:
  PacketRef& slot(ReorderWindow& window, Psn psn) const;
  void evict(ReorderWindow& window, PacketRef& slot);

  MacRx& mac_rx_;
  ReorderBufferConfig config_;
  Bytes occupied_;
  Bytes most_occupied_;
  std::uint64_t held_ = 0;
  std::uint64_t holes_ = 0;
  std::uint64_t missing_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t outside_ = 0;
  std::uint64_t no_room_ = 0;
};

}  // namespace rnicsim

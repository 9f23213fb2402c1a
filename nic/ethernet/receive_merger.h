// SPDX-License-Identifier: MIT
// Merges segments of TCP that follow each other into larger ones (LRO, by the rules of
// model/tcp_segmentation), of several flows at once. A merged one goes on when a segment ends it
// (PSH, FIN, a short one), the next does not fit behind it, it is as large as it may become, its
// time since the first segment is over, or another flow needs its place.
//
// Approximates: segments that wait stay whole in the receive buffer, of which they may take
// `merge_buffer` (no more than ethernet_receiver allows), and are written to host memory together;
// NICs write payload as it comes. So a merged segment is there later, by at most what writing it
// takes.
#pragma once

#include <cstdint>
#include <deque>

#include "model/metrics.h"
#include "model/packet.h"
#include "model/scheduler.h"
#include "model/tcp_segmentation.h"
#include "nic/ethernet/ethernet_config.h"
#include "nic/ethernet/flow_hash.h"

namespace rnicsim {

/// A segment by itself, to which others may be appended.
TcpMerged merged_alone(const Packet& packet);

class ReceiveMerger {
 public:
  struct Session {
    bool open = false;
    FlowKey flow;
    std::uint32_t queue = 0;
    std::uint32_t hash = 0;
    TcpMerged merged;
    PacketQueue packets;
    Bytes held;                ///< frames
    std::uint64_t number = 0;  ///< of all that were opened
  };
  class Client {
   public:
    virtual ~Client() = default;
    /// Takes the packets of one that goes on, or of what became of one.
    virtual void merged(Session& session) = 0;
  };

  ReceiveMerger(Scheduler& scheduler, const EthernetConfig& config, Client& client)
      : scheduler_(scheduler), config_(config), client_(client) {}

  /// Takes a segment for a queue if others may follow it or it follows others; false: it does not
  /// wait, and those of its flow that did have gone on. `may`: it can be merged at all.
  bool take(PacketRef& packet, std::uint32_t queue, std::uint32_t hash, bool may);
  /// All that waits goes on of which `moved(session)` is true.
  template <class Moved>
  void flush(Moved moved) {
    for (Session& session : sessions_)
      if (session.open && moved(static_cast<const Session&>(session))) close(session);
  }
  bool idle() const { return open_ == 0; }
  void report(const MetricScope& scope) const;

 private:
  Session* find(const FlowKey& flow, std::uint32_t queue);
  bool fits(const Session& session, const Packet& packet) const;
  void make_room(Bytes frame);
  Session& place();
  void close(Session& session);
  void timeout(std::uint64_t number);

  Scheduler& scheduler_;
  EthernetConfig config_;
  Client& client_;
  std::deque<Session> sessions_;
  std::uint32_t open_ = 0;
  std::uint64_t opened_ = 0;
  Bytes held_;
  Bytes most_held_;
  std::uint64_t merged_ = 0;
  std::uint64_t segments_ = 0;
  std::uint64_t timeouts_ = 0;
};

}  // namespace rnicsim

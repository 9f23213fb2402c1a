// SPDX-License-Identifier: MIT
// Takes messages apart from packets that are in order and allowed: finds a message its receive at
// the packet that needs one (SEND first, or immediate data), says where each packet's payload goes
// and moves the queue pair's receive state past it, and makes the completion entry of the receive
// when the message is whole, or when it fails.
//
// Connects to: the request judge, which asks in this order; receive_queue, receive_pool.
// Models: inline receives: a SEND of one packet that fits stands in the completion entry itself.
#pragma once

#include "model/callback.h"
#include "model/metrics.h"
#include "nic/inbound_request.h"
#include "nic/queue_pair.h"
#include "nic/receive_pool.h"
#include "nic/receive_queue.h"

namespace rnicsim {

class MessageReceiver {
 public:
  struct Wiring {
    QpContextCache& contexts;
    ReceiveQueues& queues;
    ReceivePool& pool;
    bool elided;     ///< payload bytes are accounted, not moved
    Callback judge;  ///< a receive may be here now
  };
  explicit MessageReceiver(const Wiring& wiring) : w_(wiring) {}

  /// Finds the message its receive, if it needs one and has none yet.
  ReceiveQueues::Taken claim(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context);
  /// Whether the receive has room for a SEND's packet, and for a datagram with what stands before
  /// it. REQUIRES: claim() was kReady.
  bool fits(const Packet& packet, const NicQueuePair& qp) const;
  /// Points a check at the part of the receive that byte `done` of the packet goes to. REQUIRES:
  /// claimed, fits.
  void aim(KeyCheck& check, const Packet& packet, const NicQueuePair& qp, std::uint32_t done) const;
  /// Whether the message, a SEND of one packet, stands in its completion entry.
  bool is_inlined(const Packet& packet, const abi::QpContext& context) const;
  bool fits_datagram(const Packet& packet, const NicQueuePair& qp) const;
  /// A packet of a SEND or WRITE is accepted.
  void take(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context);
  void take_datagram(InboundRequest& request, NicQueuePair& qp, const abi::QpContext& context);
  /// The receive that the message has taken completes in error.
  void fail(InboundRequest& request, NicQueuePair& qp, CompletionStatus status);
  void report(const MetricScope& scope) const;

 private:
  void owe_completion(InboundRequest& request, NicQueuePair& qp, const abi::QpContext& context);

  Wiring w_;
  std::uint64_t messages_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// SEND with invalidate at the responder: when the SEND's data have been handed to PCIe
// the key goes, then its receive completes; requests of the same queue pair behind it, which alone
// could use the key, are judged after that.
//
// A key that may not be invalidated is a fault of class J (IBTA 9.9.3, as in Linux' rdma_rxe): the
// receive completes in error, the queue pair is in error, the SEND is acknowledged.
//
// Connects to: the responder, which owns it; key_operations, which checks and invalidates.
// Likely error: READs that are still owed when the key goes are refused; who sends it fences (IBTA
// 10.8.3.3).
#pragma once

#include "model/callback.h"
#include "model/ring.h"
#include "nic/inbound_request.h"
#include "nic/key_operations.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class Completer;

class RemoteInvalidation {
 public:
  struct Wiring {
    QpContextCache& contexts;
    QueuePairTable& qps;
    KeyOperations& key_operations;
    Ring<InboundRequest>& requests;
    Callback drain;  ///< the oldest request may leave now
    Callback judge;  ///< and those that it held up be judged
  };
  explicit RemoteInvalidation(const Wiring& wiring) : w_(wiring) {}
  void connect(Completer& completer) { completer_ = &completer; }

  /// A request was accepted that takes a key away.
  void expect() { ++expected_; }
  /// Whether `next` has to wait until a key has gone.
  bool holds_up(const InboundRequest& next) const {
    return expected_ != 0 && takes_key_before(next);
  }
  /// What the oldest request, whose data are there, does to its key. False: not done yet.
  bool carry_out(InboundRequest& request) {
    return request.invalidates ? invalidate(request) : fail(request);
  }

 private:
  using Verdict = InboundRequest::Verdict;
  bool takes_key_before(const InboundRequest& next) const;
  bool invalidate(InboundRequest& request);
  void ended();
  bool fail(InboundRequest& request);

  Wiring w_;
  Completer* completer_ = nullptr;
  std::uint32_t expected_ = 0;  ///< requests that have yet to take a key away
};

}  // namespace rnicsim

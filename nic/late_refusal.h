// SPDX-License-Identifier: MIT
// Requests that were accepted and cannot be carried out: the key was invalidated after the message
// began, its table lacks the page, or a receive's memory may not be written. Such a request ends
// with a NAK when it is the oldest, counting what came before it, and its queue pair is in error;
// of an unreliable connection the message is lost in silence. Requests of the queue pair that were
// accepted behind it are not carried out.
//
// Connects to: the responder, which owns it; request_judge (NAK), message_receiver (receives).
#pragma once

#include "model/callback.h"
#include "nic/inbound_request.h"
#include "nic/message_receiver.h"
#include "nic/queue_pair.h"
#include "nic/request_judge.h"

namespace rnicsim {

class LateRefusal {
 public:
  struct Wiring {
    QpContextCache& contexts;
    QueuePairTable& qps;
    MessageReceiver& messages;
    RequestJudge& judge;
    Callback drain;  ///< the oldest request may leave now
  };
  explicit LateRefusal(const Wiring& wiring) : w_(wiring) {}
  void connect(Completer& completer) { completer_ = &completer; }

  /// Request `sequence` was refused.
  void refuse(InboundRequest& request, std::uint64_t sequence, KeyFault fault);
  /// One before it was refused: it is not carried out.
  void cancel(InboundRequest& request);
  /// The refused request is the oldest. False: the context has to be fetched first.
  bool answer(InboundRequest& request);

 private:
  using Verdict = InboundRequest::Verdict;
  Wiring w_;
  Completer* completer_ = nullptr;
};

}  // namespace rnicsim

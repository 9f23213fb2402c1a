// SPDX-License-Identifier: MIT
// Decides what becomes of a request: packet and state (nic/request_check), PSN (IBTA 9.7.4.1.2:
// expected, duplicate, or ahead of a gap), the receive, the rkey over the whole RETH DMA length at
// a message's first packet, 9.8 for unreliable services. Moves the queue pair's receive state past
// what is accepted; a refusal is a NAK and puts the queue pair in error (9.9.3).
//
// Duplicates: WRITEs and SENDs are acknowledged again and written nowhere, READs answered again,
// atomics answered from the saved result. Of a gap one NAK is sent; with selective repeat what
// comes behind it is kept (reorder_buffer), each PSN of it is named by a NAK of its own, and READs
// may be asked for again in parts, as many at once as packets may be kept. What is kept is judged
// as if it came when its turn has come. An RNR NAK has all behind it sent again, so nothing is kept
// then.
//
// Memory of regions paged on demand (nic/page_faults) has to be there before a packet is accepted:
// its page, or the receive's, is looked up here (of a READ that of its first answer), and if it is
// absent the answer is RNR NAK, as when there is no receive. From the first such region of the NIC
// on, every receive of a SEND is looked up here and once more when its payload is written.
//
// Differs: of an unreliable connection with a shared receive queue, too, a message that is cut off
// leaves its receive to the next one (IBTA: it completes in error).
// Connects to: the responder, which owns it and asks in order; message_receiver; key_checker; the
// completer (errors). What has to be fetched first is asked again when it is there.
// Likely error: a change made before a packet's last look-up that does not stand being made twice.
#pragma once

#include "model/callback.h"
#include "model/metrics.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "nic/atomic_unit.h"
#include "nic/inbound_request.h"
#include "nic/key_checker.h"
#include "nic/message_receiver.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class Completer;

class RequestJudge {
 public:
  struct Wiring {
    Scheduler& scheduler;
    QpContextCache& contexts;
    QueuePairTable& qps;
    KeyChecker& key_checker;
    const AtomicUnit& atomics;
    MessageReceiver& messages;
    const Probe& probe;
    ReorderBuffer* early;    ///< selective repeat; else null
    bool restarts_messages;  ///< go_back_0: after a gap a message is taken from its first packet
    Callback judge;          ///< the request may be judged now
  };
  explicit RequestJudge(const Wiring& wiring) : w_(wiring) {}
  void connect(Completer& completer) { completer_ = &completer; }

  /// Sets the verdict. False: an entry has to be fetched first; the same request is judged again.
  bool judge(InboundRequest& request);
  /// NAK, and the queue pair is in error (IBTA 9.9.3, class C).
  void refuse(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context, NakCode code);
  /// An atomic that was accepted has been executed, or will not be.
  void atomic_ended() { --atomics_claimed_; }
  void report(const MetricScope& scope) const;

 private:
  using Verdict = InboundRequest::Verdict;
  bool judge_reliable(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context);
  bool judge_unreliable(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context);
  bool judge_datagram(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context);
  bool judge_sequence(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context);
  void judge_duplicate(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context);
  void judge_gap(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context);
  void judge_early(InboundRequest& request, NicQueuePair& qp, const abi::QpContext& context);
  bool may_answer_again(const Packet& packet, const NicQueuePair& qp,
                        const abi::QpContext& context) const;
  bool judge_key(InboundRequest& request, const NicQueuePair& qp, const abi::QpContext& context);
  bool judge_page(InboundRequest& request, const NicQueuePair& qp, const abi::QpContext& context);
  bool judge_receive(InboundRequest& request, const NicQueuePair& qp,
                     const abi::QpContext& context);
  void answer_not_ready(InboundRequest& request, NicQueuePair& qp, const abi::QpContext& context);
  void begin_check(InboundRequest& request, const NicQueuePair& qp, const abi::QpContext& context);
  void accept(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context);

  Wiring w_;
  Completer* completer_ = nullptr;
  std::uint64_t atomics_claimed_ = 0;  ///< accepted, and not yet through
  std::uint64_t reads_ = 0;
  std::uint64_t atomics_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t out_of_sequence_ = 0;
  std::uint64_t absent_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// Answers requests that are through, in order (IBTA 9.7.5.1): ACKs, NAKs and RNR NAKs go to the
// port, or, if the queue pair owes answers before them, behind those to the read responder; READs
// and atomics go there as owed answers. Of acknowledgements of a queue pair that are due at once
// only the last is sent (coalescing). A READ that is asked for again replaces what was owed from it
// on. With selective repeat it is answered before what is owed of greater PSN, nothing of which is
// forgotten; and NAKs that name missing PSNs acknowledge nothing, so they go before what is owed.
//
// Pipeline: an acknowledgement passes `ack_pipeline`. One that finds the port's response queue full
// waits, and every request behind it.
// Connects to: the responder, which owns it; nic_port and mac_tx; read_responder.
#pragma once

#include "model/callback.h"
#include "model/clock.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "nic/inbound_request.h"
#include "nic/mac_tx.h"
#include "nic/nic_port.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class ReadResponder;

class Acknowledger {
 public:
  struct Wiring {
    Scheduler& scheduler;
    const Clock& clock;
    QpContextCache& contexts;
    QueuePairTable& qps;
    NicPort& port;
    MacTx& mac_tx;
    const Probe& probe;
    bool selective;  ///< what is lost is sent again alone
    Callback drain;  ///< the oldest request may be answered now
  };
  Acknowledger(const Wiring& wiring, const PipelineConfig& pipeline)
      : w_(wiring), pipeline_(wiring.clock, pipeline) {}
  void connect(ReadResponder& read_responder) { read_responder_ = &read_responder; }

  /// Answers the oldest request. `next`: the one behind it, if it is through as well, else null.
  /// False: the port's queue is full, or the context has to be fetched first.
  bool answer(InboundRequest& request, const InboundRequest* next);
  /// The port's response queue has room again.
  void response_started();
  void report(const MetricScope& scope) const;

 private:
  using Verdict = InboundRequest::Verdict;
  void owe_answer(const InboundRequest& request, NicQueuePair& qp);
  static void owe_in_place(NicQueuePair& qp, const OwedResponse& owed);
  static void forget_answers(NicQueuePair& qp, Psn psn);
  static bool is_coalesced(const InboundRequest& request, const InboundRequest* next);
  bool name_missing(InboundRequest& request);
  bool wait_for_port(const abi::QpContext& context);
  void transmit(const InboundRequest& request, const abi::QpContext& context, Psn psn, Aeth aeth,
                Time ready);
  bool send_acknowledge(const InboundRequest& request, NicQueuePair& qp,
                        const abi::QpContext& context);

  Wiring w_;
  ReadResponder* read_responder_ = nullptr;
  Pipeline pipeline_;
  bool waits_for_port_ = false;
  Time port_since_;
  Time stalled_port_;
  std::uint64_t acks_ = 0;
  std::uint64_t coalesced_ = 0;
  std::uint64_t naks_ = 0;
  std::uint64_t rnr_naks_ = 0;
};

}  // namespace rnicsim

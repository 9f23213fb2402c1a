// SPDX-License-Identifier: MIT
// The completer: what the responder answers comes in, completions go out (IBTA 9.7.5, 9.9.2). An
// ACK acknowledges every message up to its PSN; a NAK or a gap has things sent again
// (retransmitter), or fails the message it names and puts the queue pair in error. Here queue pairs
// go to error, whoever finds the fault: what they have on its way becomes void, their work is
// flushed.
//
// Its parts: read_response_receiver (the data of READs and atomics go to memory), send_completions
// (messages complete in the order in which they were posted, or are flushed). With selective repeat
// early_answers stands in front: what it keeps is taken in its turn and passes the pipeline again.
//
// Packets that wait here occupy the receive buffer; at most `window` READ responses are being
// scattered.
#pragma once

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "nic/congestion/congestion_unit.h"
#include "nic/cqe_writer.h"
#include "nic/early_answers.h"
#include "nic/mac_rx.h"
#include "nic/queue_pair.h"
#include "nic/read_response_receiver.h"
#include "nic/send_completions.h"

namespace rnicsim {

class Requester;
class Responder;
class Retransmitter;
class WqeFetch;

/// States in which answers to what has been sent are still waited for (SQD: the send queue drains).
constexpr bool sends(QpState state) { return state == QpState::kRts || state == QpState::kSqd; }

struct CompleterConfig {
  PipelineConfig pipeline{Cycles(10), Cycles(2)};
  std::uint32_t window = 32;
  std::uint32_t prefetch_contexts = 0;  ///< of so many packets that wait
  void describe(Fields& fields);
};

class Completer : public ParsedPacketSink {
 public:
  struct Wiring {
    Scheduler& scheduler;
    const Clock& clock;
    PcieEndpoint& pcie;
    QpContextCache& contexts;
    QueuePairTable& qps;
    KeyChecker& key_checker;
    CqeWriter& cqe_writer;
    EventQueue& event_queue;
    ReorderBuffer& reorder_buffer;
    CongestionUnit& congestion;
    bool selective;  ///< what is lost is sent again alone
    bool elided;     ///< payload bytes are accounted, not moved
  };
  Completer(const Wiring& wiring, const CompleterConfig& config);
  void connect(WqeFetch& wqe_fetch, MacRx& mac_rx, Requester& requester, Responder& responder,
               Retransmitter& retransmitter);

  /// A response, from the parser.
  void receive(PacketRef packet, Time ready) override;
  /// The last packet of an unreliable message leaves: that is all there is to it.
  void sent(NicQueuePair& qp, Psn psn, Time ready);
  /// Completes what can be, in order.
  void advance(NicQueuePair& qp) { completions_.advance(qp, w_.scheduler.now()); }
  /// A send queue that drains: has it?
  void check_drained(NicQueuePair& qp) { completions_.check_drained(qp); }
  /// Everything before `limit` has been acknowledged.
  void acknowledge(NicQueuePair& qp, Psn limit, Time ready);
  /// A message failed at home (requester); it completes in error once those before it have
  /// completed. `id` is in outstanding, or is the one being sent.
  void message_failed(NicQueuePair& qp, WorkRequestId id, CompletionStatus status);
  /// The oldest message that is not complete fails at `ready` (>= now); the queue pair goes to
  /// error.
  void fail(NicQueuePair& qp, abi::QpContext& context, CompletionStatus status, Time ready);
  /// The queue pair goes to error, not for any of its own messages: all its work is flushed.
  void enter_error(NicQueuePair& qp, abi::QpContext& context, CompletionStatus cause) {
    enter_error(qp, context, cause, w_.scheduler.now());
  }
  /// The queue pair is about to be reset.
  void forget(NicQueuePair& qp);
  /// A completion queue was overrun: the queue pairs that complete there go to error.
  void cq_overrun(std::uint64_t cqn);
  /// The CQE writer has room again.
  void go_on() { completions_.go_on(); }
  bool idle() const {
    return waiting_.empty() && !due_.packet && completions_.idle() && answers_.idle();
  }
  /// For quiescing: see Requester::made.
  std::uint64_t scattered() const { return answers_.scattered(); }
  bool has_passed(std::uint64_t scattered) const { return answers_.has_passed(scattered); }

  Probe probe;
  /// A fault: takes nothing within [from, until).
  void block(Time from, Time until) { pipeline_.block(from, until); }
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  struct Waiting {
    PacketRef packet;
    Time ready;
    bool entered = false;  ///< has passed the pipeline
  };
  void serve();
  bool take(NicQueuePair& qp, abi::QpContext& context, const PacketRef& packet, Time ready);
  void take_acknowledge(NicQueuePair& qp, abi::QpContext& context, const Packet& packet,
                        Time ready);
  void answers_have_room();
  void enter_error(NicQueuePair& qp, abi::QpContext& context, CompletionStatus cause, Time ready);
  void stop_sending(NicQueuePair& qp, abi::QpContext& context, QpState state,
                    CompletionStatus cause);
  void fail_for_overrun(std::uint64_t qpn);
  void look_ahead();
  void next_waiting();

  Wiring w_;
  MacRx* mac_rx_ = nullptr;
  Responder* responder_ = nullptr;
  Retransmitter* retransmitter_ = nullptr;
  Pipeline& context_port_;
  Pipeline pipeline_;
  std::uint32_t most_ahead_;
  std::uint32_t looked_ahead_ = 0;  ///< of waiting_: contexts have been asked for
  EarlyAnswers early_;
  ReadResponseReceiver answers_;
  SendCompletions completions_;
  Waiting due_;  ///< with a packet that came early: before those that wait
  Ring<Waiting> waiting_;
  std::size_t most_waiting_ = 0;
  Time context_since_ = Time::never();
  Time stalled_context_;
  Time window_since_ = Time::never();
  Time stalled_window_;
  std::uint64_t acks_ = 0;
  std::uint64_t naks_ = 0;
  std::uint64_t unexpected_ = 0;
};

}  // namespace rnicsim

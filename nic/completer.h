// SPDX-License-Identifier: MIT
// The completer: what the responder answers comes in, completions go out (IBTA 9.7.5, 9.9.2). An
// ACK acknowledges every message up to its PSN; the data of READs and atomics are scattered into
// host memory (dma_engine, lkey with local write right); a NAK or a gap has things sent again
// (retransmitter), or fails the message it names and puts the queue pair in error. Messages
// complete in the order in which they were posted, a READ when its data have been handed to PCIe.
// A send queue that has drained (SQD) is told by an event behind the entries of what it completed.
// Work behind a failure is flushed in order. Unsignaled work requests complete silently unless they
// fail.
//
// A full CQE writer holds up completions of the queue pairs that have some, not acknowledgements.
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
#include "nic/cqe_writer.h"
#include "nic/dma_engine.h"
#include "nic/mac_rx.h"
#include "nic/queue_pair.h"

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
  void describe(Fields& fields);
};

class Completer : public ParsedPacketSink, private DmaEngine::Client {
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
    bool elided;  ///< payload bytes are accounted, not moved
  };
  Completer(const Wiring& wiring, const CompleterConfig& config);
  void connect(WqeFetch& wqe_fetch, MacRx& mac_rx, Requester& requester, Responder& responder,
               Retransmitter& retransmitter) {
    wqe_fetch_ = &wqe_fetch;
    mac_rx_ = &mac_rx;
    requester_ = &requester;
    responder_ = &responder;
    retransmitter_ = &retransmitter;
  }

  /// A response, from the parser.
  void receive(PacketRef packet, Time ready) override;
  /// The last packet of an unreliable message leaves: that is all there is to it.
  void sent(NicQueuePair& qp, Psn psn, Time ready);
  /// Completes what can be, in order.
  void advance(NicQueuePair& qp) { advance(qp, w_.scheduler.now()); }
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
  /// A send queue that drains, if software asked for it: has it ended what it had begun?
  void check_drained(NicQueuePair& qp);
  /// The queue pair is about to be reset.
  void forget(NicQueuePair& qp);
  /// A completion queue was overrun: the queue pairs that complete there go to error.
  void cq_overrun(std::uint64_t cqn);
  /// The CQE writer has room again.
  void go_on();
  bool idle() const { return waiting_.empty() && completing_.empty() && dma_.idle(); }
  /// For quiescing: see Requester::made.
  std::uint64_t scattered() const { return dma_.next(); }
  bool has_passed(std::uint64_t scattered) const { return dma_.first() >= scattered; }

  Probe probe;
  /// A fault: takes nothing within [from, until).
  void block(Time from, Time until) { pipeline_.block(from, until); }
  void report(const MetricScope& scope) const;

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
  void take_answer(NicQueuePair& qp, abi::QpContext& context, const PacketRef& packet, Time ready);
  bool fits(const OutstandingRead& read, const abi::QpContext& context, const Packet& packet) const;
  bool answer_lost(NicQueuePair& qp, abi::QpContext& context, Psn limit, Time ready);
  void scatter(NicQueuePair& qp, const abi::QpContext& context, const PacketRef& packet,
               OutstandingRead& read, std::uint32_t bytes, Time ready);
  void acknowledge(NicQueuePair& qp, Psn limit, Time ready);
  void advance(NicQueuePair& qp, Time ready);
  void enter_error(NicQueuePair& qp, abi::QpContext& context, CompletionStatus cause, Time ready);
  void stop_sending(NicQueuePair& qp, abi::QpContext& context, QpState state,
                    CompletionStatus cause);
  void fail_for_overrun(std::uint64_t qpn);
  void retry_failed(std::uint64_t qpn);
  bool complete_some(NicQueuePair& qp, Time ready);
  bool flush_unsent(NicQueuePair& qp, Time ready);
  bool wait_for_writer();
  void complete(const NicQueuePair& qp, const OutstandingMessage& message, CompletionStatus status,
                Time ready);
  static bool is_scattering(NicQueuePair& qp, const OutstandingMessage& message);
  static OutstandingRead* find_read(NicQueuePair& qp, WorkRequestId id);

  void begin_part(const DmaEngine::Job& job, std::uint32_t moved, KeyCheck& check) override;
  bool may_move(std::uint64_t, DmaEngine::Job&) override { return true; }
  void refused(std::uint64_t sequence, DmaEngine::Job& job, KeyFault fault) override;
  void part(const DmaEngine::Job& job, std::uint32_t moved, const KeyCheck& check) override;
  void issued(const DmaEngine::Job&) override {}
  void done(const DmaEngine::Job&, Time) override {}
  bool leave(std::uint64_t sequence, DmaEngine::Job& job) override;
  void left() override;
  void prefix(const DmaEngine::Job& job, std::uint8_t* to) override;

  Wiring w_;
  CompleterConfig config_;
  WqeFetch* wqe_fetch_ = nullptr;
  MacRx* mac_rx_ = nullptr;
  Requester* requester_ = nullptr;
  Responder* responder_ = nullptr;
  Retransmitter* retransmitter_ = nullptr;
  Pipeline& context_port_;
  Pipeline pipeline_;
  DmaEngine dma_;
  Ring<Waiting> waiting_;
  Ring<NicQueuePair*> completing_;  ///< with completions that wait for the CQE writer
  std::size_t most_waiting_ = 0;
  Time context_since_ = Time::never();
  Time stalled_context_;
  Time window_since_ = Time::never();
  Time stalled_window_;
  Time writer_since_ = Time::never();
  Time stalled_writer_;
  std::uint64_t acks_ = 0;
  std::uint64_t naks_ = 0;
  std::uint64_t answers_ = 0;
  Bytes answered_;
  std::uint64_t lost_answers_ = 0;
  std::uint64_t unexpected_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t flushed_ = 0;
};

}  // namespace rnicsim

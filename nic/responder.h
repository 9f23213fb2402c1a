// SPDX-License-Identifier: MIT
// The responder: takes request packets (IBTA 9.7.4 for reliable connections, 9.8 for unreliable
// ones) in arrival order, has them judged, has the payload of accepted ones written straight into
// host memory (dma_engine), has atomics executed (atomic_unit), writes the completion entries of
// receives, has the answers sent.
//
// One pipeline for all queue pairs. Packets are judged one after another; one that waits for an
// entry holds up those behind it. Up to `window` translate and write at once, their DMA is issued
// in order, and they leave in order: with the completion entry of a receive, and with an
// acknowledgement, which is sent when the payload has been handed to PCIe in order: a posted write
// has no completion, so this is no landing. An acknowledgement that finds the port's response queue
// full waits, and everything behind it; so does a completion entry that finds the CQE writer full.
//
// With selective repeat packets that came early are kept; each is taken in its turn, before
// anything newer, and passes the pipeline once more.
//
// Its parts: request_judge (PSN, opcodes, keys; with request_check and message_receiver),
// late_refusal (accepted, but cannot be carried out), remote_invalidation (SEND with invalidate),
// acknowledger (ACK, NAK, coalescing), receive_flusher (queue pairs in error). What they know of a
// packet is an inbound_request. READs, and what must stay behind them, go to the read responder.
#pragma once

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "nic/acknowledger.h"
#include "nic/congestion/congestion_unit.h"
#include "nic/dma_engine.h"
#include "nic/inbound_request.h"
#include "nic/late_refusal.h"
#include "nic/mac_rx.h"
#include "nic/message_receiver.h"
#include "nic/queue_pair.h"
#include "nic/receive_flusher.h"
#include "nic/receive_pool.h"
#include "nic/remote_invalidation.h"
#include "nic/request_judge.h"

namespace rnicsim {

class Completer;
class ReadResponder;

struct ResponderConfig {
  PipelineConfig pipeline{Cycles(20), Cycles(4)};
  PipelineConfig ack_pipeline{Cycles(8), Cycles(2)};
  std::uint32_t window = 32;
  std::uint32_t prefetch_contexts = 0;  ///< of so many packets that wait
  void describe(Fields& fields);
};

class Responder : public ParsedPacketSink, private DmaEngine::Client {
 public:
  struct Wiring {
    Scheduler& scheduler;
    const Clock& clock;
    PcieEndpoint& pcie;
    QpContextCache& contexts;
    QueuePairTable& qps;
    KeyChecker& key_checker;
    NicPort& port;
    MacTx& mac_tx;
    MacRx& mac_rx;
    CqeWriter& cqe_writer;
    ReceiveQueues& receives;
    AtomicUnit& atomics;
    KeyOperations& key_operations;
    CongestionUnit& congestion;
    ReorderBuffer* reorder_buffer;  ///< selective repeat; else null
    bool elided;
    bool restarts_messages;  ///< go_back_0: after a gap a message is taken from its first packet
  };
  Responder(const Wiring& wiring, const ResponderConfig& config);
  void connect(Completer& completer, ReadResponder& read_responder);

  void receive(PacketRef packet, Time ready) override;
  /// The port's response queue has room again.
  void response_started() { acknowledger_.response_started(); }
  /// The CQE writer has room again.
  void go_on();
  /// The queue pair is in error: the receives posted to it complete as flushed, in order, behind
  /// what is under way.
  void flush_receives(NicQueuePair& qp);
  /// The queue pair is about to be reset.
  void forget(NicQueuePair& qp);
  /// Software posted receives to a queue pair that it knows to be in error.
  void receives_posted(std::uint64_t qpn);
  /// What has been judged so far: what was judged by a key that is gone is through when
  /// has_passed(judged()) holds.
  std::uint64_t judged() const { return dma_.next(); }
  bool has_passed(std::uint64_t judged) const { return dma_.first() >= judged; }
  bool idle() const { return arrivals_.empty() && !due_ && requests_.empty() && flusher_.idle(); }

  Probe probe;
  /// A fault: takes nothing within [from, until).
  void block(Time from, Time until) { pipeline_.block(from, until); }
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  using Verdict = InboundRequest::Verdict;
  /// A packet that has come from the parser and has not had its turn.
  struct Arrival {
    PacketRef packet;
    Time ready;
  };

  void pump();
  void look_ahead();
  InboundRequest* next_to_judge();
  void take_early(Qpn qpn);
  void drop_early(NicQueuePair& qp);
  void hand_over(InboundRequest& request);

  void begin_part(const DmaEngine::Job& job, std::uint32_t moved, KeyCheck& check) override;
  bool may_move(std::uint64_t sequence, DmaEngine::Job& job) override;
  bool take_over(std::uint64_t sequence, DmaEngine::Job& job) override;
  void refused(std::uint64_t sequence, DmaEngine::Job& job, KeyFault fault) override;
  void part(const DmaEngine::Job& job, std::uint32_t moved, const KeyCheck& check) override;
  void issued(const DmaEngine::Job&) override {}
  void done(const DmaEngine::Job& job, Time since) override;
  bool leave(std::uint64_t sequence, DmaEngine::Job& job) override;
  void left() override { pump(); }
  void prefix(const DmaEngine::Job& job, std::uint8_t* to) override;

  void executed(std::uint64_t sequence);
  bool write_completion(InboundRequest& request);
  void drain() { dma_.drain(); }
  InboundRequest& request(std::uint64_t sequence) { return requests_.at(sequence - dma_.first()); }

  Wiring w_;
  ResponderConfig config_;
  Completer* completer_ = nullptr;
  Pipeline pipeline_;
  Pipeline& context_port_;
  DmaEngine dma_;
  ReceivePool pool_;
  PacketRef due_;  ///< one that came early: before the arrivals
  Ring<Arrival> arrivals_;
  std::uint32_t looked_ahead_ = 0;  ///< of arrivals_: contexts have been asked for
  Ring<InboundRequest> requests_;   ///< the jobs of dma_ and, behind them, the one being judged
  MessageReceiver messages_;
  RequestJudge judge_;
  LateRefusal refusals_;
  RemoteInvalidation invalidation_;
  Acknowledger acknowledger_;
  ReceiveFlusher flusher_;
  bool pumping_ = false;
  bool waits_for_writer_ = false;
  Time waits_since_ = Time::never();
  Time writer_since_;
  Time stalled_window_;
  Time stalled_writer_;
  std::uint64_t received_ = 0;
  std::uint64_t dropped_ = 0;
  Bytes written_;
  std::size_t most_inside_ = 0;
};

}  // namespace rnicsim

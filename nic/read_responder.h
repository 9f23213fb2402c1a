// SPDX-License-Identifier: MIT
// Sends what queue pairs owe to their requesters in PSN order (IBTA 9.7.5.1): the data of READs, a
// packet a turn and round robin among queue pairs, the results of atomics, and acknowledgements
// that must not overtake them. (An acknowledgement of a queue pair that owes nothing else goes
// straight to the port.)
//
// Pipeline: a turn passes `pipeline`; the payload is gathered by dma_engine by the rkey that the
// responder has checked (each packet still sees a key that was invalidated meanwhile: NAK, and the
// queue pair is in error); `buffer` bounds the payload between turn and port. Packets leave in the
// order of turns, so a translation miss holds up those behind it. A queue pair whose priority has
// its share of the port's response queue full waits for its turn, and no other with it: a paused
// priority does not hold up the answers of another.
#pragma once

#include <array>

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "nic/congestion/congestion_unit.h"
#include "nic/dma_engine.h"
#include "nic/mac_tx.h"
#include "nic/nic_port.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class Completer;

struct ReadResponderConfig {
  PipelineConfig pipeline{Cycles(20), Cycles(4)};
  Bytes buffer{64 * 1024};
  void describe(Fields& fields);
};

class ReadResponder : private DmaEngine::Client {
 public:
  struct Wiring {
    Scheduler& scheduler;
    const Clock& clock;
    PcieEndpoint& pcie;
    QpContextCache& contexts;
    QueuePairTable& qps;
    KeyChecker& key_checker;
    CongestionUnit& congestion;
    NicPort& port;
    MacTx& mac_tx;
    bool elided;  ///< payload bytes are accounted, not moved
  };
  ReadResponder(const Wiring& wiring, const ReadResponderConfig& config);
  void connect(Completer& completer) { completer_ = &completer; }

  /// The queue pair owes something (NicQueuePair::owed).
  void owes(NicQueuePair& qp);
  /// Congestion control lets the queue pair answer from `from` on, sooner than it had said.
  void hurry(NicQueuePair& qp, Time from);
  /// The port's response queue may have room again.
  void response_started();
  bool idle() const { return dma_.idle() && waiting_ == 0 && in_pipeline_ == 0; }
  /// For quiescing: see Requester::made.
  std::uint64_t made() const { return dma_.next(); }
  bool has_passed(std::uint64_t made) const { return dma_.first() >= made; }

  Probe probe;
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  static constexpr std::uint32_t kMaxPathMtu = 4096;
  void wait(NicQueuePair& qp, Time until);
  void due(std::uint64_t qpn);
  void queue(NicQueuePair& qp);
  void kick();
  void turn();
  void begin_turn(std::size_t priority);
  void end_turn(std::uint64_t qpn);
  void serve(NicQueuePair& qp, const abi::QpContext& context);
  static void begin_answers(NicQueuePair& qp, const abi::QpContext& context,
                            const OwedResponse& owed);
  PacketRef build(NicQueuePair& qp, const abi::QpContext& context, OwedResponse& owed,
                  DmaEngine::Job& job);
  int next_priority() const;
  /// For the turns in the pipeline and one more.
  bool has_room() const {
    return buffered_ + Bytes(kMaxPathMtu) * (in_pipeline_ + 1) <= config_.buffer;
  }

  void begin_part(const DmaEngine::Job&, std::uint32_t, KeyCheck&) override {}
  bool may_move(std::uint64_t, DmaEngine::Job&) override { return true; }
  void refused(std::uint64_t sequence, DmaEngine::Job& job, KeyFault fault) override;
  void part(const DmaEngine::Job& job, std::uint32_t moved, const KeyCheck& check) override;
  void issued(const DmaEngine::Job&) override {}
  void done(const DmaEngine::Job& job, Time since) override;
  bool leave(std::uint64_t sequence, DmaEngine::Job& job) override;
  bool answer_refused(DmaEngine::Job& job);
  void drain() { dma_.drain(); }

  Wiring w_;
  ReadResponderConfig config_;
  Completer* completer_ = nullptr;
  Pipeline pipeline_;
  Pipeline& context_port_;
  DmaEngine dma_;
  struct Turn {
    NicQueuePair* qp = nullptr;
    std::uint64_t order = 0;
  };
  std::array<Ring<Turn>, kPriorities> turns_;
  PrioritySet waiting_ = 0;  ///< priorities that have turns
  std::uint64_t orders_ = 0;
  bool turn_armed_ = false;  ///< the next turn waits for the pipeline
  std::uint64_t in_pipeline_ = 0;
  Time stalled_interval_;
  bool waits_for_port_ = false;
  Bytes buffered_;
  Bytes most_buffered_;
  Time room_since_ = Time::never();
  Time stalled_buffer_;
  Time port_since_;
  Time stalled_port_;
  std::uint64_t packets_ = 0;
  Bytes payload_;
};

}  // namespace rnicsim

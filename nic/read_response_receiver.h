// SPDX-License-Identifier: MIT
// Takes the answers that bring data home, READ responses and the results of atomics (IBTA
// 9.7.5.2.2), and has them scattered into host memory (dma_engine, lkey with local write right).
// An answer must be the next of the oldest READ or atomic that is not answered; as answers keep
// their order, one that is passed over is lost and asked for again. Memory that may not be written
// fails the READ at home. An answer whose page is absent (nic/page_faults) is dropped, and what
// follows it: the READ goes on from there when the page is there (not with selective repeat).
//
// Connects to: the completer, which owns it, asks while it has room (`window`) and is told what is
// acknowledged, done or failed by an answer; retransmitter. A packet that is being written occupies
// the receive buffer.
#pragma once

#include "model/callback.h"
#include "model/clock.h"
#include "model/metrics.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "nic/dma_engine.h"
#include "nic/mac_rx.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class Completer;
class Retransmitter;

class ReadResponseReceiver : private DmaEngine::Client {
 public:
  struct Wiring {
    Scheduler& scheduler;
    const Clock& clock;
    PcieEndpoint& pcie;
    QpContextCache& contexts;
    KeyChecker& key_checker;
    Completer& completer;
    const Probe& probe;
    bool selective;     ///< READs may be asked for again in parts
    bool elided;        ///< payload bytes are accounted, not moved
    Callback has_room;  ///< fewer answers are being written
  };
  ReadResponseReceiver(const Wiring& wiring, std::uint32_t window);
  void connect(MacRx& mac_rx, Retransmitter& retransmitter) {
    mac_rx_ = &mac_rx;
    retransmitter_ = &retransmitter;
  }

  bool has_room() const { return dma_.size() < window_; }
  /// Takes an answer. True: the packet still needs its place in the receive buffer.
  bool take(NicQueuePair& qp, abi::QpContext& context, const PacketRef& packet, Time ready);
  /// True: an answer that belongs before `limit` has not come; it has been asked for again.
  bool notice_loss(NicQueuePair& qp, abi::QpContext& context, Psn limit, Time ready);
  bool idle() const { return dma_.idle(); }
  /// For quiescing: see Requester::made.
  std::uint64_t scattered() const { return dma_.next(); }
  bool has_passed(std::uint64_t scattered) const { return dma_.first() >= scattered; }
  /// Times that answers were missing.
  std::uint64_t lost() const { return lost_answers_; }
  /// Answers that answer nothing outstanding.
  std::uint64_t unexpected() const { return unexpected_; }
  void report(const MetricScope& scope) const;

 private:
  bool fits(const OutstandingRead& read, const abi::QpContext& context, const Packet& packet) const;
  void scatter(NicQueuePair& qp, const abi::QpContext& context, const PacketRef& packet,
               OutstandingRead& read, std::uint32_t bytes, Time ready);

  void begin_part(const DmaEngine::Job& job, std::uint32_t moved, KeyCheck& check) override;
  bool may_move(std::uint64_t, DmaEngine::Job&) override { return true; }
  void refused(std::uint64_t sequence, DmaEngine::Job& job, KeyFault fault) override;
  bool take_back(DmaEngine::Job& job) override;
  void part(const DmaEngine::Job& job, std::uint32_t moved, const KeyCheck& check) override;
  void issued(const DmaEngine::Job&) override {}
  void done(const DmaEngine::Job&, Time) override {}
  bool leave(std::uint64_t sequence, DmaEngine::Job& job) override;
  bool leave_for_page(DmaEngine::Job& job);
  void drain() { dma_.drain(); }
  void left() override { w_.has_room(); }
  void prefix(const DmaEngine::Job& job, std::uint8_t* to) override;

  Wiring w_;
  MacRx* mac_rx_ = nullptr;
  Retransmitter* retransmitter_ = nullptr;
  std::uint32_t window_;
  DmaEngine dma_;
  std::uint64_t answers_ = 0;
  Bytes answered_;
  std::uint64_t lost_answers_ = 0;
  std::uint64_t unexpected_ = 0;
};

}  // namespace rnicsim

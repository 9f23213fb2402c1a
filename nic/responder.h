// SPDX-License-Identifier: MIT
// The responder: takes request packets (IBTA 9.7.4 for reliable connections, 9.8 for unreliable
// ones), checks PSN and opcode sequence, finds a receive for SENDs and immediate data, checks the
// rkey over the whole RETH DMA length at a message's first packet, has the payload written straight
// into host memory (dma_engine), executes atomics (atomic_unit), and answers.
//
// One pipeline for all queue pairs. Packets are judged in arrival order; up to `window` of them
// translate and write at once, their DMA is issued in order, and they leave in order: with the
// completion entry of a receive, and with an acknowledgement, which is sent when the payload has
// been handed to PCIe in order: a posted write has no completion, so this is no landing. Of
// acknowledgements that are due at once only the last is sent. READs, and what must stay behind
// them, are handed to the read responder. A refused access writes nothing: NAK, then the queue pair
// is in error and its receives are flushed. Duplicates: WRITEs and SENDs are acknowledged again and
// written nowhere, READs answered again, atomics answered from the saved result.
//
// SEND with invalidate: when its data have been handed to PCIe the key goes (key_operations), then
// the receive completes; requests of the same queue pair behind it, which alone could use the key,
// are judged after that. READs that are still owed then are refused: who sends it fences (IBTA
// 10.8.3.3). A key that may not be invalidated is a fault of class J (IBTA 9.9.3, as in Linux'
// rdma_rxe): the receive completes in error, the queue pair is in error, the SEND is acknowledged.
//
// Differs: of an unreliable connection with a shared receive queue, too, a message that is cut off
// leaves its receive to the next one (IBTA: it completes in error).
//
// An acknowledgement that finds the port's response queue full waits, and everything behind it; so
// does a completion entry that finds the CQE writer full.
#pragma once

#include <vector>

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/atomic_unit.h"
#include "nic/cqe_writer.h"
#include "nic/dma_engine.h"
#include "nic/key_operations.h"
#include "nic/mac_rx.h"
#include "nic/mac_tx.h"
#include "nic/nic_port.h"
#include "nic/queue_pair.h"
#include "nic/receive_pool.h"
#include "nic/receive_queue.h"

namespace rnicsim {

class Completer;
class ReadResponder;

struct ResponderConfig {
  PipelineConfig pipeline{Cycles(20), Cycles(4)};
  PipelineConfig ack_pipeline{Cycles(8), Cycles(2)};
  std::uint32_t window = 32;
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
    bool elided;
    bool restarts_messages;  ///< go_back_0: after a gap a message is taken from its first packet
  };
  Responder(const Wiring& wiring, const ResponderConfig& config);
  void connect(Completer& completer, ReadResponder& read_responder) {
    completer_ = &completer;
    read_responder_ = &read_responder;
  }

  void receive(PacketRef packet, Time ready) override;
  /// The port's response queue has room again.
  void response_started();
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
  bool idle() const { return slots_.empty() && flushing_.empty(); }

  Probe probe;
  /// A fault: takes nothing within [from, until).
  void block(Time from, Time until) { pipeline_.block(from, until); }
  void report(const MetricScope& scope) const;

 private:
  enum class Verdict : std::uint8_t { kTake, kAcknowledge, kNak, kRead, kAtomic, kAgain, kDrop };
  /// A packet between the parser and its answer.
  struct Slot {
    PacketRef packet;
    Time ready;  ///< when its present stage is done
    KeyCheck check;
    bool entered = false;  ///< has passed the pipeline
    bool check_begun = false;
    bool again = false;         ///< a READ that has been answered before
    bool refused_late = false;  ///< its key went, or its memory cannot be written
    bool cqe_due = false;
    bool executed = false;      ///< an atomic
    bool invalidates = false;   ///< takes a key away, and has not yet
    bool invalidating = false;  ///< the operation is under way
    bool class_j = false;       ///< it was refused
    Verdict verdict = Verdict::kTake;
    KeyFault fault = KeyFault::kNone;
    Aeth aeth;
    Psn ack_psn;
    Time key_since;
    VirtualAddress address;  ///< where its payload goes
    ReceivePool::Handle receive;
    std::uint64_t offset = 0;  ///< of a SEND's payload in its message
    abi::Cqe cqe;
    AtomicUnit::Ticket ticket = 0;
    std::uint64_t original = 0;
  };
  /// A queue pair whose receives are flushed once the packets before `behind` are through.
  struct Flushing {
    NicQueuePair* qp;
    std::uint64_t behind;
  };

  void pump();
  bool judge(Slot& slot);
  bool judge_reliable(Slot& slot, NicQueuePair& qp, abi::QpContext& context);
  bool judge_unreliable(Slot& slot, NicQueuePair& qp, abi::QpContext& context);
  bool judge_datagram(Slot& slot, NicQueuePair& qp, abi::QpContext& context);
  bool judge_sequence(Slot& slot, NicQueuePair& qp, abi::QpContext& context);
  void judge_duplicate(Slot& slot, NicQueuePair& qp, abi::QpContext& context);
  void judge_gap(Slot& slot, NicQueuePair& qp, abi::QpContext& context);
  bool well_formed(const Packet& packet, const NicQueuePair& qp,
                   const abi::QpContext& context) const;
  bool length_fits(const Packet& packet, const NicQueuePair& qp, std::uint32_t mtu) const;
  bool has_resources(const Packet& packet, NicQueuePair& qp, const abi::QpContext& context,
                     bool again) const;
  static bool needs_receive(const Packet& packet);
  bool fits_receive(const Packet& packet, const NicQueuePair& qp) const;
  ReceiveQueues::Taken claim(Slot& slot, NicQueuePair& qp, abi::QpContext& context);
  bool judge_key(Slot& slot, const NicQueuePair& qp, const abi::QpContext& context);
  void begin_check(Slot& slot, const NicQueuePair& qp, const abi::QpContext& context);
  void accept(Slot& slot, NicQueuePair& qp, abi::QpContext& context);
  void accept_payload(Slot& slot, NicQueuePair& qp, abi::QpContext& context);
  void owe_completion(Slot& slot, NicQueuePair& qp, const abi::QpContext& context);
  void refuse(Slot& slot, NicQueuePair& qp, abi::QpContext& context, NakCode code);
  void fail_receive(Slot& slot, NicQueuePair& qp, CompletionStatus status);
  void hand_over(Slot& slot);
  static std::uint32_t read_span(const Packet& packet, std::uint32_t mtu);

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

  void cancel(Slot& slot);
  void executed(std::uint64_t sequence);
  void drain() { dma_.drain(); }
  bool refuse_late(Slot& slot);
  bool write_completion(Slot& slot);
  bool answer(Slot& slot);
  static void forget_answers(NicQueuePair& qp, Psn psn);
  bool is_coalesced(const Slot& slot);
  bool send_acknowledge(Slot& slot, NicQueuePair& qp, const abi::QpContext& context);
  bool waits_for_key(const Slot& next);
  bool invalidate(Slot& slot);
  void invalidated();
  bool fail_invalidation(Slot& slot);
  void flush_waiting();
  bool flush_some(NicQueuePair& qp);
  Slot& slot(std::uint64_t sequence) { return slots_.at(sequence - dma_.first()); }

  Wiring w_;
  ResponderConfig config_;
  Completer* completer_ = nullptr;
  ReadResponder* read_responder_ = nullptr;
  Pipeline pipeline_;
  Pipeline& context_port_;
  Pipeline ack_pipeline_;
  DmaEngine dma_;
  ReceivePool receives_;
  Ring<Slot> slots_;  ///< those judged are the jobs of dma_, in order
  Ring<Flushing> flushing_;
  bool pumping_ = false;
  Time waits_since_ = Time::never();
  bool waits_for_port_ = false;
  bool waits_for_writer_ = false;
  Time port_since_;
  Time writer_since_;

  std::uint64_t requests_ = 0;
  std::uint64_t messages_ = 0;
  Bytes written_;
  std::uint64_t acks_ = 0;
  std::uint64_t coalesced_ = 0;
  std::uint64_t naks_ = 0;
  std::uint64_t rnr_naks_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t atomics_ = 0;
  std::uint32_t invalidating_ = 0;     ///< slots that have yet to take a key away
  std::uint64_t atomics_claimed_ = 0;  ///< judged, and not yet through
  std::uint64_t duplicates_ = 0;
  std::uint64_t out_of_sequence_ = 0;
  std::uint64_t flushed_ = 0;
  std::uint64_t dropped_ = 0;
  Time stalled_window_;
  Time stalled_port_;
  Time stalled_writer_;
  std::size_t most_slots_ = 0;
};

}  // namespace rnicsim

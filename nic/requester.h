// SPDX-License-Identifier: MIT
// The requester: turns WQEs into packets (IBTA 9.4, 9.7). Cuts messages by the path MTU, has the
// payload gathered (lkey check of each data segment, translation, DMA: dma_engine), has headers
// built (request_builder), numbers packets (a READ takes as many PSNs as it has responses), asks
// for acknowledgements, and gives the packets to the port in order.
//
// Pipeline: one packet a turn (tx_scheduler) through `pipeline`; of each priority the payload reads
// of up to `transmit_buffer` bytes are under way at once, so that a paused one stops no other. Of
// several that may send, the one goes that has waited longest. A packet whose payload has come
// passes `header_pipeline` and queues at the port. All packets of the NIC leave in the order of
// their turns, so a translation miss of one queue pair holds up those behind it. Of one queue pair,
// WQEs start at least `wqe_interval` apart (the per-QP processing time that bounds the message rate
// of a single queue pair); a READ takes the pipeline for `read_interval`, which bounds the rate of
// READs of all queue pairs together. A fence waits for the answers to earlier READs and atomics,
// and so does a READ or atomic beyond max_rd_atomic, and a local invalidate. What is to be sent
// again alone (repeater) takes the next turn of its queue pair before anything new, even where that
// has to wait. Operations on keys (key_operations) have no packet; what is behind one starts when
// it is done. Congestion control may have a queue pair wait for its turn, or for its window. In SQD
// only WQEs that had their turn before are sent, again if need be. A packet of a reliable
// connection whose payload lies on an absent page (nic/page_faults) is taken back with those behind
// it, and its queue pair sends nothing new until the page is there.
#pragma once

#include <algorithm>
#include <array>

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "nic/congestion/congestion_unit.h"
#include "nic/dma_engine.h"
#include "nic/key_operations.h"
#include "nic/mac_tx.h"
#include "nic/nic_port.h"
#include "nic/pcie_endpoint.h"
#include "nic/queue_pair.h"
#include "nic/request_builder.h"
#include "nic/tx_scheduler.h"

namespace rnicsim {

class Completer;
class Repeater;
class Retransmitter;
class WqeFetch;

struct RequesterConfig {
  PipelineConfig pipeline{Cycles(20), Cycles(4)};
  PipelineConfig header_pipeline{Cycles(8), Cycles(2)};
  Time wqe_interval = Time::ns(140);
  Time read_interval{};
  Bytes transmit_buffer{64 * 1024};
  std::uint32_t ack_request_interval = 64;
  void describe(Fields& fields);
};

class Requester : private DmaEngine::Client {
 public:
  struct Wiring {
    Scheduler& scheduler;
    const Clock& clock;
    PcieEndpoint& pcie;
    QpContextCache& contexts;
    QueuePairTable& qps;
    KeyChecker& key_checker;
    KeyOperations& key_operations;
    CongestionUnit& congestion;
    NicPort& port;
    MacTx& mac;
    bool elided;  ///< payload bytes are accounted, not moved
  };
  Requester(const Wiring& wiring, const RequesterConfig& config);
  void connect(Completer& completer, WqeFetch& wqe_fetch, Retransmitter& retransmitter,
               Repeater& repeater) {
    repeater_ = &repeater;
    completer_ = &completer;
    wqe_fetch_ = &wqe_fetch;
    retransmitter_ = &retransmitter;
  }

  /// The queue pair has decoded WQEs (or may send again).
  void ready(NicQueuePair& qp);
  /// Congestion control lets the queue pair send from `from` on, sooner than it had said.
  void hurry(NicQueuePair& qp, Time from) { tx_scheduler_.hurry(qp, from); }
  /// The port began to send a request packet: its buffer is free. `packed`: MacTx::Started.
  void packet_started(std::uint64_t packed);
  /// Packets made so far: those are through when has_passed(made()) holds.
  std::uint64_t made() const { return dma_.next(); }
  bool has_passed(std::uint64_t made) const { return dma_.first() >= made; }
  bool idle() const { return dma_.idle(); }

  Probe probe;
  /// A fault: takes nothing within [from, until).
  void block(Time from, Time until) { pipeline_.block(from, until); }
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  static constexpr std::uint32_t kMaxPathMtu = 4096;
  /// In place of a WQE's number: a packet that the repeater sends again.
  static constexpr std::uint32_t kRepeated = ~std::uint32_t{0};

  void wait_for_turn(NicQueuePair& qp, Time since);
  void kick();
  void turn();
  void retry_turn(std::uint64_t qpn);
  void serve(NicQueuePair& qp, abi::QpContext& context);
  bool may_start(NicQueuePair& qp, const abi::QpContext& context);
  CompletionStatus judge(const abi::QpContext& context, const SendWqe& wqe) const;
  bool start_message(NicQueuePair& qp, abi::QpContext& context, const SendWqe& wqe);
  void fail_at_home(NicQueuePair& qp, WorkRequestId id, CompletionStatus status);
  void make_local(NicQueuePair& qp, const abi::QpContext& context, const SendWqe& wqe);
  void finish_local(NicQueuePair& qp, const SendWqe& wqe);
  void executed(std::uint64_t qpn);
  void make_packet(NicQueuePair& qp, abi::QpContext& context);
  void make_again(NicQueuePair& qp, const abi::QpContext& context);
  void add_job(NicQueuePair& qp, const abi::QpContext& context, WorkRequestId id,
               DmaEngine::Job job);
  PacketRef build(NicQueuePair& qp, abi::QpContext& context, const SendWqe& wqe,
                  std::uint32_t length);
  PacketRef build_request(NicQueuePair& qp, abi::QpContext& context, const SendWqe& wqe);
  void charge_read();
  void expect_answer(NicQueuePair& qp, const SendWqe& wqe, Psn first, Psn last);
  void finish_wqe(NicQueuePair& qp, const SendWqe& wqe, Psn last_psn);
  static SendWqe& wqe_of(const DmaEngine::Job& job);
  bool has_room(std::uint8_t priority) const {
    return buffered_[priority] + Bytes(kMaxPathMtu) <= config_.transmit_buffer;
  }
  int next_priority() const;
  Time ready_since(std::uint8_t priority) const {
    return std::max(tx_scheduler_.ready_since(priority), room_since_[priority]);
  }

  void begin_part(const DmaEngine::Job& job, std::uint32_t moved, KeyCheck& check) override;
  bool may_move(std::uint64_t, DmaEngine::Job&) override { return true; }
  void refused(std::uint64_t sequence, DmaEngine::Job& job, KeyFault fault) override;
  bool take_back(DmaEngine::Job& job) override;
  void part(const DmaEngine::Job& job, std::uint32_t moved, const KeyCheck& check) override;
  void issued(const DmaEngine::Job& job) override;
  void done(const DmaEngine::Job& job, Time since) override;
  bool leave(std::uint64_t sequence, DmaEngine::Job& job) override;
  bool leave_for_page(std::uint64_t sequence);
  void give_up_room(const Packet& packet);
  void drain() { dma_.drain(); }

  Wiring w_;
  RequesterConfig config_;
  Completer* completer_ = nullptr;
  WqeFetch* wqe_fetch_ = nullptr;
  Retransmitter* retransmitter_ = nullptr;
  Repeater* repeater_ = nullptr;
  RequestBuilder builder_;
  Pipeline pipeline_;
  Pipeline& context_port_;
  Pipeline header_pipeline_;
  TxScheduler tx_scheduler_;
  DmaEngine dma_;
  bool turn_armed_ = false;
  Time entered_;    ///< when the present turn entered the pipeline
  Time read_free_;  ///< when the last READ has had its interval
  std::uint8_t turn_priority_ = 0;
  std::array<Time, kPriorities> room_since_{};  ///< when the buffer last stopped being full
  std::array<Bytes, kPriorities> buffered_{};
  Bytes most_buffered_;
  std::uint64_t packets_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t fenced_ = 0;
  std::uint64_t read_limited_ = 0;
  Time stalled_buffer_;
  Time stalled_since_ = Time::never();
};

}  // namespace rnicsim

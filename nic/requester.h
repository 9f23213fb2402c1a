// SPDX-License-Identifier: MIT
// The requester: turns WQEs into packets (IBTA 9.4, 9.7). Cuts messages by the path MTU, checks the
// lkey of each data segment, translates, has the payload read from host RAM, builds RETH and PSN,
// asks for acknowledgements, and gives the packets to the port in order.
//
// Pipeline: one packet a turn (tx_scheduler) through `pipeline`; the payload reads of up to
// `transmit_buffer` bytes are under way at once, issued in the order of the packets; look-ups of
// later packets overlap, so misses do. A packet whose payload has come passes
// `header_pipeline` and queues at the port. All packets of the NIC leave in the order of their
// turns, so a translation miss of one queue pair holds up those behind it.
// Of one queue pair, WQEs start at least `wqe_interval` apart (the per-QP processing time that
// bounds the message rate of a single queue pair).
#pragma once

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/key_checker.h"
#include "nic/mac_tx.h"
#include "nic/nic_port.h"
#include "nic/pcie_endpoint.h"
#include "nic/queue_pair.h"
#include "nic/tx_scheduler.h"

namespace rnicsim {

class Completer;
class WqeFetch;

struct RequesterConfig {
  PipelineConfig pipeline{Cycles(20), Cycles(4)};
  PipelineConfig header_pipeline{Cycles(8), Cycles(2)};
  Time wqe_interval = Time::ns(140);
  Bytes transmit_buffer{64 * 1024};
  std::uint32_t ack_request_interval = 64;
  void describe(Fields& fields);
};

class Requester {
 public:
  struct Wiring {
    Scheduler& scheduler;
    const Clock& clock;
    PcieEndpoint& pcie;
    QpContextCache& contexts;
    QueuePairTable& qps;
    KeyChecker& key_checker;
    NicPort& port;
    MacTx& mac;
    bool elided;  ///< payload bytes are accounted, not moved
  };
  Requester(const Wiring& wiring, const RequesterConfig& config);
  void connect(Completer& completer, WqeFetch& wqe_fetch) {
    completer_ = &completer;
    wqe_fetch_ = &wqe_fetch;
  }

  /// The queue pair has decoded WQEs (or may send again).
  void ready(NicQueuePair& qp);
  /// The port began to send a request packet with this much payload: its buffer is free.
  void packet_started(std::uint64_t payload_bytes);
  /// Packets made so far: those are through when has_passed(made()) holds.
  std::uint64_t made() const { return first_ + window_.size(); }
  bool has_passed(std::uint64_t made) const { return first_ >= made; }
  bool idle() const { return window_.empty(); }

  Probe probe;
  void report(const MetricScope& scope) const;

 private:
  static constexpr std::uint32_t kMaxPathMtu = 4096;
  /// Of a packet's gathering. A part is as much of its payload as lies in one data segment.
  enum class Stage : std::uint8_t {
    kNew,
    kChecking,  ///< the part's key or translation may have to be fetched
    kChecked,   ///< waits for the packets before it
    kIssuing,   ///< an entry is armed for its reads
    kGathered,  ///< every read has been issued, or there is none
  };
  /// A packet between its turn and the port.
  struct Slot {
    PacketRef packet;
    NicQueuePair* qp = nullptr;
    std::uint32_t epoch = 0;
    std::uint32_t wqe = 0;  ///< its number in the queue pair's to_send
    WorkRequestId id;
    std::uint32_t length = 0;    ///< payload bytes
    std::uint32_t gathered = 0;  ///< bytes whose reads have been issued
    std::uint32_t reading = 0;   ///< DMA reads outstanding
    std::uint64_t offset = 0;    ///< of the payload in the message
    Time made;
    Time read_since;
    KeyCheck check;
    Stage stage = Stage::kGathered;
    Time ready;  ///< when the present part may be read
    CompletionStatus failed = CompletionStatus::kSuccess;
    bool complete() const { return reading == 0 && stage == Stage::kGathered; }
    bool is_void() const { return epoch != qp->epoch; }
  };

  void wait_for_turn(NicQueuePair& qp, Time since);
  void kick();
  void turn();
  void retry_turn(std::uint64_t qpn);
  bool start_message(NicQueuePair& qp, const SendWqe& wqe);
  void make_packet(NicQueuePair& qp, abi::QpContext& context);
  PacketRef build(NicQueuePair& qp, abi::QpContext& context, const SendWqe& wqe,
                  std::uint32_t length);
  void finish_wqe(NicQueuePair& qp, const SendWqe& wqe, Psn last_psn);
  void copy_inline(NicQueuePair& qp, const SendWqe& wqe, Slot& slot);
  void advance(std::uint64_t sequence);
  void begin_check(Slot& slot, const SendWqe& wqe);
  void issue_in_order();
  void issue_reads(std::uint64_t sequence);
  void read_part(Slot& slot, std::uint64_t sequence);
  void set_gathered(Slot& slot);
  void serve(NicQueuePair& qp, abi::QpContext& context);
  bool has_room() const { return buffered_ + Bytes(kMaxPathMtu) <= config_.transmit_buffer; }
  void payload_read(std::uint64_t sequence);
  void drain_window();
  Slot& slot(std::uint64_t sequence) { return window_.at(sequence - first_); }

  Wiring w_;
  RequesterConfig config_;
  Completer* completer_ = nullptr;
  WqeFetch* wqe_fetch_ = nullptr;
  Pipeline pipeline_;
  Pipeline& context_port_;
  Pipeline header_pipeline_;
  TxScheduler tx_scheduler_;
  Ring<Slot> window_;
  std::uint64_t first_ = 0;    ///< sequence number of window_.front()
  std::uint64_t issuing_ = 0;  ///< first packet with reads to issue
  Time last_issue_;
  bool turn_armed_ = false;
  Time entered_;     ///< when the present turn entered the pipeline
  Time room_since_;  ///< when the transmit buffer last stopped being full
  Bytes buffered_;
  Bytes most_buffered_;
  std::uint64_t packets_ = 0;
  std::uint64_t messages_ = 0;
  Time stalled_buffer_;
  Time stalled_since_ = Time::never();
};

}  // namespace rnicsim

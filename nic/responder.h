// SPDX-License-Identifier: MIT
// The responder: takes request packets in order (IBTA 9.7.4), checks PSN and opcode sequence, the
// rkey over the whole RETH DMA length at a message's first packet, translates, writes the payload
// straight into host memory by DMA, and acknowledges.
//
// One pipeline for all queue pairs. Packets are judged in arrival order; up to `window` of them
// translate and write at once, their DMA writes are issued in order. An acknowledgement is sent
// when the payload has been handed to PCIe in order: a posted write has no completion, so this is
// no landing; an acknowledgement that finds the port's response queue full waits, and everything
// behind it. A refused access writes nothing: NAK, then the queue pair is in error. Duplicates are
// acknowledged again and written nowhere. Transport services and operations other than RC WRITE are
// refused as invalid requests.
#pragma once

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/key_checker.h"
#include "nic/mac_rx.h"
#include "nic/mac_tx.h"
#include "nic/nic_port.h"
#include "nic/pcie_endpoint.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class Completer;

struct ResponderConfig {
  PipelineConfig pipeline{Cycles(20), Cycles(4)};
  PipelineConfig ack_pipeline{Cycles(8), Cycles(2)};
  std::uint32_t window = 32;
  void describe(Fields& fields);
};

class Responder : public ParsedPacketSink {
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
  };
  Responder(const Wiring& wiring, const ResponderConfig& config);
  void connect(Completer& completer) { completer_ = &completer; }

  void receive(PacketRef packet, Time ready) override;
  /// The port's response queue has room again.
  void response_started() {
    if (!waits_for_port_) return;
    waits_for_port_ = false;
    stalled_port_ += w_.scheduler.now() - port_since_;
    retire();
  }
  /// What has been judged so far: what was judged by a key that is gone is through when
  /// has_passed(judged()) holds.
  std::uint64_t judged() const { return judged_; }
  bool has_passed(std::uint64_t judged) const { return first_ >= judged; }
  bool idle() const { return slots_.empty(); }

  Probe probe;
  void report(const MetricScope& scope) const;

 private:
  enum class Verdict : std::uint8_t { kWrite, kAcknowledge, kNak, kDrop };
  /// A packet between the parser and its acknowledgement.
  struct Slot {
    PacketRef packet;
    Time ready;  ///< when its present stage is done
    KeyCheck check;
    bool entered = false;  ///< has passed the pipeline
    bool check_begun = false;
    bool key_reported = false;
    bool translated = false;
    bool done = false;  ///< handed to PCIe, or nothing to hand
    std::uint8_t writing = 0;
    Verdict verdict = Verdict::kWrite;
    Aeth aeth;
    Psn ack_psn;
    Time key_since;
    Time write_since;
    VirtualAddress address;  ///< where its payload goes
  };

  void pump();
  bool judge(Slot& slot);
  bool judge_sequence(Slot& slot, NicQueuePair& qp, abi::QpContext& context);
  bool judge_opcode(Slot& slot, NicQueuePair& qp, abi::QpContext& context);
  bool judge_length(const Packet& packet, const NicQueuePair& qp, std::uint32_t mtu) const;
  bool judge_key(Slot& slot, const NicQueuePair& qp, const abi::QpContext& context);
  void begin_check(Slot& slot, const NicQueuePair& qp, const abi::QpContext& context);
  void accept(Slot& slot, NicQueuePair& qp, abi::QpContext& context);
  void refuse(Slot& slot, NicQueuePair& qp, abi::QpContext& context, NakCode code);
  void translate(std::uint64_t sequence);
  bool refuse_late(Slot& slot, std::uint64_t sequence);
  void schedule_issues();
  void issue(std::uint64_t sequence);
  void handed(std::uint64_t sequence);
  void retire();
  bool waits_for_port();
  bool needs_response(const Slot& slot) const;
  void respond(const Slot& slot, const abi::QpContext& context);
  Slot& slot(std::uint64_t sequence) { return slots_.at(sequence - first_); }

  Wiring w_;
  ResponderConfig config_;
  Completer* completer_ = nullptr;
  Pipeline pipeline_;
  Pipeline& context_port_;
  Pipeline ack_pipeline_;
  Ring<Slot> slots_;
  std::uint64_t first_ = 0;      ///< sequence number of slots_.front()
  std::uint64_t judged_ = 0;     ///< first not yet judged
  std::uint64_t scheduled_ = 0;  ///< first whose issue has not been scheduled
  bool pumping_ = false;
  Time last_issue_;
  Time waits_since_ = Time::never();
  bool waits_for_port_ = false;
  Time port_since_;
  Time stalled_port_;

  std::uint64_t requests_ = 0;
  std::uint64_t messages_ = 0;
  Bytes written_;
  std::uint64_t acks_ = 0;
  std::uint64_t naks_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t out_of_sequence_ = 0;
  std::uint64_t dropped_ = 0;
  Time stalled_window_;
  std::size_t most_slots_ = 0;
};

}  // namespace rnicsim

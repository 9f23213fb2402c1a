// SPDX-License-Identifier: MIT
// What a NIC has for congestion control: the algorithm of its choice (congestion_control, one of a
// table in the .cpp), the notification point, and between these and the queue pairs the accounts:
// when a queue pair's next packet may have its turn, how much of it is under way, what has been
// acknowledged and how long that took.
//
//   requester, read_responder --sent--> account --> algorithm --> rate, window of the queue pair
//   completer ------acknowledged-----------^            ^
//   mac_rx -----------CNP-------------------------------'
//   responder, completer --marked--> notification_point --CNP--> mac_tx
//
// Packets of a queue pair with a rate enter the requester's pipeline at least their time on the
// wire at that rate apart, rounded up to the clock without adding up. A higher rate counts at once,
// a lower one from the packet after the next. READ responses are paced likewise, with the same
// rate, but no window holds them. The window counts payload of requests of reliable connections,
// from a packet's turn to its acknowledgement; the packet that fills it asks for one.
//
// Without an algorithm queue pairs have no record here, and that null pointer is all it costs.
#pragma once

#include <algorithm>
#include <memory>

#include "model/clock.h"
#include "model/metrics.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "nic/congestion/congestion_config.h"
#include "nic/congestion/congestion_control.h"
#include "nic/congestion/notification_point.h"
#include "nic/mac_rx.h"
#include "nic/mac_tx.h"
#include "nic/nic_port.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class ReadResponder;
class Requester;

class CongestionUnit : public ParsedPacketSink {
 public:
  struct Wiring {
    Scheduler& scheduler;
    const Clock& clock;
    QpContextCache& contexts;
    QueuePairTable& qps;
    NicPort& port;
    MacTx& mac_tx;
    BitRate rate;  ///< of the port
  };
  CongestionUnit(const Wiring& wiring, const CongestionControlConfig& config);
  void connect(Requester& requester, ReadResponder& read_responder) {
    requester_ = &requester;
    read_responder_ = &read_responder;
  }

  /// After how many packets an acknowledgement is asked for, if `otherwise` else.
  std::uint32_t ack_interval(std::uint32_t otherwise) const {
    return std::min(needs_.ack_interval, otherwise);
  }
  /// A request packet that had its turn at `turn`. `again`: alone, because it was lost.
  void sent(NicQueuePair& qp, Packet& packet, Time turn, bool again) {
    if (algorithm_ != nullptr) count(qp, packet, turn, again);
  }
  /// A READ response or what goes with them.
  void sent_response(NicQueuePair& qp, const Packet& packet, Time turn) {
    if (algorithm_ != nullptr) pace(record_of(qp), packet, turn);
  }
  /// The next packet of `length` fills the window: it has to ask for an acknowledgement.
  static bool fills_window(const NicQueuePair& qp, std::uint32_t length) {
    return qp.flow != nullptr && qp.flow->in_flight() + length >= qp.flow->window;
  }
  /// Everything before `limit` has been acknowledged, by `packet` or, if null, by implication.
  /// What the window held back may have its turn from `ready` on.
  void acknowledged(NicQueuePair& qp, Psn limit, const Packet* packet, Time ready) {
    if (qp.flow != nullptr) settle(qp, limit, packet, ready);
  }
  /// All that is not acknowledged is sent again.
  void went_back(NicQueuePair& qp);
  /// `payload` from `psn` on is made again later: nothing was lost.
  void took_back(NicQueuePair& qp, Psn psn, Bytes payload);
  /// Something is sent again alone.
  void lost(NicQueuePair& qp) {
    if (qp.flow != nullptr) algorithm_->lost(*qp.flow);
  }
  /// The queue pair is about to be reset.
  void forget(NicQueuePair& qp);
  /// A packet to one of the queue pairs was taken. A CNP for it, if it is marked, may leave from
  /// `ready` on.
  void taken(const Packet& packet, Time ready) {
    if (packet.ipv4.ecn == Ecn::kCongestion) marked(packet, ready);
  }
  /// A CNP, from the parser.
  void receive(PacketRef packet, Time ready) override;
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope) const;

 private:
  CongestionFlow& record_of(NicQueuePair& qp) {
    if (qp.flow == nullptr) qp.flow = algorithm_->make(qp.qpn);
    return *qp.flow;
  }
  std::uint64_t lowest_rate() const;
  std::uint64_t smallest_window() const;
  void count(NicQueuePair& qp, Packet& packet, Time turn, bool again);
  void pace(CongestionFlow& flow, const Packet& packet, Time turn);
  void settle(NicQueuePair& qp, Psn limit, const Packet* packet, Time ready);
  void marked(const Packet& packet, Time ready);
  void notified(std::uint64_t qpn);
  void raised(std::uint64_t qpn);

  Wiring w_;
  Time cycle_;
  Requester* requester_ = nullptr;
  ReadResponder* read_responder_ = nullptr;
  std::unique_ptr<CongestionControl> algorithm_;
  CongestionControl::Needs needs_;
  NotificationPoint notification_point_;
  std::uint64_t handled_ = 0;
  std::uint64_t ignored_ = 0;
  std::uint64_t window_closed_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// What a reliable connection sends again, and when (IBTA 9.7.5, 9.9.2.1): local ACK timeout of
// 4.096 us x 2^n (the timer is per queue pair, restarted by progress), sequence-error NAK, RNR NAK
// with its timer, a READ response that did not come; retry counters and what happens when they are
// exhausted.
//
// Going back to a PSN means: packets on their way to the port become void, the WQE that holds the
// PSN and those behind it are fetched from the send queue in host RAM again, and are cut again from
// there on. `go_back_n` begins at the first PSN that is missing. `go_back_0`, as older NICs did it,
// begins at the first packet of its message; the responder of such a NIC asks for that packet.
//
// `selective_repeat` does not go back (but for an RNR NAK): the responder keeps what has overtaken
// a lost packet (reorder_buffer) and names each missing PSN once by a sequence-error NAK, which in
// this mode acknowledges nothing; that packet alone is sent again (repeater). READ responses
// likewise: a READ request asks again for the missing ones only. Both ends must run it. After a
// timeout the oldest packet alone is sent again; as long as acknowledgements then stop short of
// what had been sent when the timeout came, the next one after each, without another timeout. Only
// timeouts count as retries: a NAK names a PSN once, so it cannot repeat without progress.
//
// A request whose page is absent at home (nic/page_faults) is not sent, and what follows it
// neither; a READ answer is not written and counts as not received. The queue pair is put back to
// its PSN and goes on when the page is there. That is no retry: nothing was lost.
//
// Approximates: the mode is this NIC's own, no vendor's protocol; the wire format is IBTA's. The
// timeout is exact (IBTA allows up to 4 times as long); one deadline entry a
// queue pair, moved lazily.
#pragma once

#include <array>

#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "nic/congestion/congestion_unit.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class Completer;
class Repeater;
class Requester;
class WqeFetch;

enum class Retransmission : std::uint8_t { kGoBackN, kGoBack0, kSelectiveRepeat };

struct RetransmitterConfig {
  Retransmission mode = Retransmission::kGoBackN;
  bool is_selective() const { return mode == Retransmission::kSelectiveRepeat; }
  void describe(Fields& fields);
};

/// IBTA table 46: what the 5-bit timer code of an RNR NAK asks for.
Time rnr_timer(std::uint8_t code);
/// 4.096 us x 2^code; never for code 0.
Time ack_timeout(std::uint8_t code);

class Retransmitter {
 public:
  Retransmitter(Scheduler& scheduler, QpContextCache& contexts, QueuePairTable& qps,
                CongestionUnit& congestion, const RetransmitterConfig& config)
      : scheduler_(scheduler),
        contexts_(contexts),
        qps_(qps),
        congestion_(congestion),
        config_(config) {}
  void connect(Completer& completer, Requester& requester, WqeFetch& wqe_fetch,
               Repeater& repeater) {
    repeater_ = &repeater;
    completer_ = &completer;
    requester_ = &requester;
    wqe_fetch_ = &wqe_fetch;
  }

  /// A packet of a reliable connection has been given to the port: its answer is waited for.
  void sent(NicQueuePair& qp) {
    if (qp.deadline == Time::never() && qp.timeout != Time::never()) start_timer(qp);
  }
  /// Something was acknowledged: retry counters begin anew, and so does the timer if work is left.
  void progress(NicQueuePair& qp);
  /// The responder, or a gap in READ responses, says that `psn` is missing.
  void missing(NicQueuePair& qp, abi::QpContext& context, Psn psn);
  /// Selective repeat: READ responses that did not come, or the answer to an atomic.
  void answers_missing(NicQueuePair& qp, const Hole& hole);
  /// Selective repeat: an ACK has come, or a READ's last response. After a timeout, what it stops
  /// short of is sent again.
  void recover(NicQueuePair& qp);
  /// The responder was not ready to receive `psn`.
  void not_ready(NicQueuePair& qp, abi::QpContext& context, Psn psn, std::uint8_t timer);
  /// The page of the packet or READ answer `psn` is absent at home.
  /// `taken_back`: payload of requests from there on that has not left.
  void page_missing(NicQueuePair& qp, abi::QpContext& context, Psn psn, Bytes taken_back);
  /// They have left, and are made again.
  static constexpr Bytes kAllUnderWay{~std::uint64_t{0}};
  /// It may be there.
  void page_is_here(std::uint64_t qpn);
  /// go_back_0: `psn` is the first of the oldest message, which the responder wants once more.
  bool restarts(NicQueuePair& qp, Psn psn) const;
  /// Nothing is waited for any more.
  void stop_timer(NicQueuePair& qp);

  Probe probe;
  void report(const MetricScope& scope) const;

 private:
  void start_timer(NicQueuePair& qp);
  void arm(NicQueuePair& qp);
  void expired(std::uint64_t qpn);
  void timed_out(std::uint64_t qpn);
  void ready_again(std::uint64_t qpn);
  static Psn oldest(NicQueuePair& qp);
  bool exhausted(NicQueuePair& qp, abi::QpContext& context);
  void repeat(NicQueuePair& qp, Psn psn, std::uint32_t count);
  void repeat_request(NicQueuePair& qp, Psn psn);
  void repeat_oldest(NicQueuePair& qp);
  void again(NicQueuePair& qp, abi::QpContext& context, Psn psn);
  void go_back(NicQueuePair& qp, abi::QpContext& context, Psn psn);
  void put_back(NicQueuePair& qp, abi::QpContext& context, Psn psn,
                const OutstandingMessage& message);
  bool forget_from(NicQueuePair& qp, Psn psn, OutstandingMessage& message);

  Scheduler& scheduler_;
  QpContextCache& contexts_;
  QueuePairTable& qps_;
  CongestionUnit& congestion_;
  RetransmitterConfig config_;
  Completer* completer_ = nullptr;
  Requester* requester_ = nullptr;
  WqeFetch* wqe_fetch_ = nullptr;
  Repeater* repeater_ = nullptr;
  std::uint64_t timeouts_ = 0;
  std::uint64_t sequence_naks_ = 0;
  std::uint64_t rnr_naks_ = 0;
  std::uint64_t exhausted_ = 0;
  std::uint64_t packets_again_ = 0;
};

}  // namespace rnicsim

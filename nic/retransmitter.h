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
// Approximates: the timeout is exact (IBTA allows up to 4 times as long); one deadline entry a
// queue pair, moved lazily.
#pragma once

#include <array>

#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class Completer;
class Requester;
class WqeFetch;

enum class Retransmission : std::uint8_t { kGoBackN, kGoBack0 };

struct RetransmitterConfig {
  Retransmission mode = Retransmission::kGoBackN;
  void describe(Fields& fields);
};

/// IBTA table 46: what the 5-bit timer code of an RNR NAK asks for.
Time rnr_timer(std::uint8_t code);
/// 4.096 us x 2^code; never for code 0.
Time ack_timeout(std::uint8_t code);

class Retransmitter {
 public:
  Retransmitter(Scheduler& scheduler, QpContextCache& contexts, QueuePairTable& qps,
                const RetransmitterConfig& config)
      : scheduler_(scheduler), contexts_(contexts), qps_(qps), config_(config) {}
  void connect(Completer& completer, Requester& requester, WqeFetch& wqe_fetch) {
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
  /// The responder was not ready to receive `psn`.
  void not_ready(NicQueuePair& qp, abi::QpContext& context, Psn psn, std::uint8_t timer);
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
  void again(NicQueuePair& qp, abi::QpContext& context, Psn psn);
  void go_back(NicQueuePair& qp, abi::QpContext& context, Psn psn);
  bool forget_from(NicQueuePair& qp, Psn psn, OutstandingMessage& message);

  Scheduler& scheduler_;
  QpContextCache& contexts_;
  QueuePairTable& qps_;
  RetransmitterConfig config_;
  Completer* completer_ = nullptr;
  Requester* requester_ = nullptr;
  WqeFetch* wqe_fetch_ = nullptr;
  std::uint64_t timeouts_ = 0;
  std::uint64_t sequence_naks_ = 0;
  std::uint64_t rnr_naks_ = 0;
  std::uint64_t exhausted_ = 0;
  std::uint64_t packets_again_ = 0;
};

}  // namespace rnicsim

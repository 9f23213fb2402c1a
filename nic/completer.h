// SPDX-License-Identifier: MIT
// The completer: acknowledgements come in, completions go out (IBTA 9.7.5, 9.9.2). An ACK completes
// every message up to its PSN, a NAK completes those before it, fails the one it names and puts the
// queue pair in error; work behind it is flushed in order. Unsignaled work requests complete
// silently unless they fail. A full CQE writer holds up acknowledgements and flushing; packets that
// wait here occupy the receive buffer.
//
// Behaves as a requester whose retry counters are zero: a sequence-error NAK fails the message with
// "retry exceeded" at once. There are no timeouts.
#pragma once

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/cqe_writer.h"
#include "nic/mac_rx.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class WqeFetch;

class Completer : public ParsedPacketSink {
 public:
  Completer(Scheduler& scheduler, const Clock& clock, QpContextCache& contexts, QueuePairTable& qps,
            CqeWriter& cqe_writer, const PipelineConfig& config)
      : scheduler_(scheduler),
        contexts_(contexts),
        context_port_(contexts.add_port(clock)),
        qps_(qps),
        cqe_writer_(cqe_writer),
        pipeline_(clock, config) {}
  void connect(WqeFetch& wqe_fetch, MacRx& mac_rx) {
    wqe_fetch_ = &wqe_fetch;
    mac_rx_ = &mac_rx;
  }

  /// An acknowledgement, from the parser.
  void receive(PacketRef packet, Time ready) override;
  /// A message failed at home (requester); it completes in error once those before it have
  /// completed. `id` is in outstanding, or is the one being sent.
  void message_failed(NicQueuePair& qp, WorkRequestId id, CompletionStatus status);
  /// The queue pair goes to error for `cause`: all its send work is flushed.
  void enter_error(NicQueuePair& qp, abi::QpContext& context, CompletionStatus cause);
  /// Completes all work of a queue pair in error as flushed, in order.
  void flush(NicQueuePair& qp, const abi::QpContext& context);
  /// The CQE writer has room again.
  void go_on();
  bool idle() const { return acks_waiting_.empty() && flushing_.empty(); }

  Probe probe;
  void report(const MetricScope& scope) const;

 private:
  struct Waiting {
    PacketRef packet;
    Time ready;
    bool entered = false;   ///< has passed the pipeline
    bool reported = false;  ///< to the probe
  };
  void serve();
  void pop_ack();
  bool acknowledge(NicQueuePair& qp, abi::QpContext& context, Waiting& waiting, Time ready);
  bool complete_before(NicQueuePair& qp, const abi::QpContext& context, Psn limit, Time ready);
  bool fail_front(NicQueuePair& qp, abi::QpContext& context, CompletionStatus status, Time ready);
  void retry_failed(std::uint64_t qpn);
  void flush_waiting();
  bool flush_some(NicQueuePair& qp);
  bool wait_for_writer();
  void complete(const NicQueuePair& qp, Cqn cqn, const OutstandingMessage& message,
                CompletionStatus status, Time ready);

  Scheduler& scheduler_;
  QpContextCache& contexts_;
  Pipeline& context_port_;
  QueuePairTable& qps_;
  CqeWriter& cqe_writer_;
  WqeFetch* wqe_fetch_ = nullptr;
  MacRx* mac_rx_ = nullptr;
  Pipeline pipeline_;
  Ring<Waiting> acks_waiting_;
  Ring<std::uint64_t> failing_;   ///< queue pairs whose oldest message failed at home
  Ring<NicQueuePair*> flushing_;  ///< in error, with work left to flush
  Time context_since_ = Time::never();
  Time stalled_context_;
  Time writer_since_ = Time::never();
  Time stalled_writer_;
  std::size_t most_waiting_ = 0;
  std::uint64_t acks_ = 0;
  std::uint64_t naks_ = 0;
  std::uint64_t unexpected_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t flushed_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The completer: acknowledgements come in, completions go out (IBTA 9.7.5, 9.9.2). An ACK completes
// every message up to its PSN, a NAK completes those before it, fails the one it names and puts the
// queue pair in error; work behind it is flushed in order. Unsignaled work requests complete
// silently unless they fail.
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
        qps_(qps),
        cqe_writer_(cqe_writer),
        pipeline_(clock, config) {}
  void connect(WqeFetch& wqe_fetch) { wqe_fetch_ = &wqe_fetch; }

  /// An acknowledgement, from the parser.
  void receive(PacketRef packet, Time ready) override;
  /// A message failed at home (requester); it completes in error once those before it have
  /// completed. `id` is in outstanding, or is the one being sent.
  void message_failed(NicQueuePair& qp, WorkRequestId id, CompletionStatus status);
  /// The queue pair goes to error for `cause`: all its send work is flushed.
  void enter_error(NicQueuePair& qp, abi::QpContext& context, CompletionStatus cause);
  /// Completes all work of a queue pair in error as flushed, in order.
  void flush(NicQueuePair& qp, const abi::QpContext& context);
  bool idle() const { return acks_waiting_.empty(); }

  Probe probe;
  void report(const MetricScope& scope) const;

 private:
  struct Waiting {
    PacketRef packet;
    Time ready;
  };
  void serve();
  void acknowledge(NicQueuePair& qp, abi::QpContext& context, const Packet& packet, Time ready);
  void complete_before(NicQueuePair& qp, const abi::QpContext& context, Psn limit, Time ready);
  void fail_front(NicQueuePair& qp, abi::QpContext& context, CompletionStatus status, Time ready);
  void retry_failed(std::uint64_t qpn);
  void complete(const NicQueuePair& qp, const abi::QpContext& context, const OutstandingMessage& m,
                CompletionStatus status, Time ready);

  Scheduler& scheduler_;
  QpContextCache& contexts_;
  QueuePairTable& qps_;
  CqeWriter& cqe_writer_;
  WqeFetch* wqe_fetch_ = nullptr;
  Pipeline pipeline_;
  Ring<Waiting> acks_waiting_;
  std::size_t most_waiting_ = 0;
  std::uint64_t acks_ = 0;
  std::uint64_t naks_ = 0;
  std::uint64_t unexpected_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t flushed_ = 0;
};

}  // namespace rnicsim

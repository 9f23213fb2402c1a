// SPDX-License-Identifier: MIT
// Completes the receives of queue pairs in error as flushed (IBTA 10.3.1): the one that a message
// has begun to fill, then those posted, in order. It begins when the packets that had come before
// are through, as some of them still complete receives; queue pairs take their turns one after
// another. Receives of a shared queue stay there.
//
// Connects to: the responder, which owns it and tells when packets are through; receive_queue
// (entries), cqe_writer. A full CQE writer, a context or an entry that has to be fetched hold it
// up. Ignores: the time that this takes in hardware; it takes as long as its completion entries.
#pragma once

#include "model/metrics.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/cqe_writer.h"
#include "nic/dma_engine.h"
#include "nic/queue_pair.h"
#include "nic/receive_pool.h"
#include "nic/receive_queue.h"

namespace rnicsim {

class ReceiveFlusher {
 public:
  struct Wiring {
    Scheduler& scheduler;
    QpContextCache& contexts;
    CqeWriter& cqe_writer;
    ReceiveQueues& queues;
    ReceivePool& pool;
    const DmaEngine& requests;  ///< its jobs are the responder's packets
  };
  explicit ReceiveFlusher(const Wiring& wiring) : w_(wiring) {}

  /// Flushes the queue pair's receives once the packets before number `behind` are through.
  void flush(NicQueuePair& qp, std::uint64_t behind);
  /// Goes on where it was held up: packets are through, or the CQE writer has room.
  void go_on() {
    if (!waiting_.empty()) serve();
  }
  bool idle() const { return waiting_.empty(); }
  void report(const MetricScope& scope) const;

 private:
  struct Waiting {
    NicQueuePair* qp;
    std::uint64_t behind;
  };
  void serve();
  bool flush_some(NicQueuePair& qp);

  Wiring w_;
  Ring<Waiting> waiting_;
  std::uint64_t flushed_ = 0;
};

}  // namespace rnicsim

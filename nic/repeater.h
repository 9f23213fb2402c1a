// SPDX-License-Identifier: MIT
// Selective repeat, the sending end: sends packets again that were lost, each alone, while new ones
// go on being cut behind it. The retransmitter says which PSNs; the WQE of the first one's message
// is read from the send queue in host RAM again (one DMA read, two across the ring's end) and stays
// for the others of the same message; the packet takes a turn of the requester, before anything
// new of its queue pair, and passes its pipelines, payload read and port queue as any other.
// Every packet sent again asks for an acknowledgement.
//
// One WQE a queue pair at a time, in the order in which PSNs were asked for. What has been
// acknowledged by the time its turn comes is left out. A message whose WQE has been overwritten
// meanwhile fails.
//
// Approximates: taking the WQE apart again takes no time; no table of places in host memory as NICs
// may keep to save the read of the WQE.
#pragma once

#include "model/metrics.h"
#include "nic/pcie_endpoint.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class Completer;
class Requester;

class Repeater {
 public:
  Repeater(PcieEndpoint& pcie, QpContextCache& contexts, QueuePairTable& qps)
      : pcie_(pcie), contexts_(contexts), qps_(qps) {}
  void connect(Completer& completer, Requester& requester) {
    completer_ = &completer;
    requester_ = &requester;
  }

  /// Sends `count` PSNs from `psn` on again: one packet, or one request for so many responses of a
  /// READ. False: it is about to be.
  bool want(NicQueuePair& qp, Psn psn, std::uint32_t count);
  /// The queue pair's turn has come: what to cut from `repeats->wqe`. False: nothing after all.
  bool take(NicQueuePair& qp, Repeats::Range& range);
  /// The next one may be possible: one has been cut, or no DMA needs the present WQE any more.
  void go_on(NicQueuePair& qp) { next(qp.qpn.value()); }

  void report(const MetricScope& scope) const;

 private:
  void next(std::uint64_t qpn);
  static bool is_needed(NicQueuePair& qp, const Repeats::Range& range,
                        const OutstandingMessage& message);
  bool find_wanted(NicQueuePair& qp, OutstandingMessage& message);
  void fetch(NicQueuePair& qp, const abi::QpContext& context, const OutstandingMessage& message);
  void fetched(std::uint64_t qpn);
  void decode(NicQueuePair& qp);

  PcieEndpoint& pcie_;
  QpContextCache& contexts_;
  QueuePairTable& qps_;
  Completer* completer_ = nullptr;
  Requester* requester_ = nullptr;
  std::uint64_t fetches_ = 0;
  std::uint64_t packets_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace rnicsim

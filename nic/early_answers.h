// SPDX-License-Identifier: MIT
// Selective repeat, the completer's order: READ responses and answers to atomics that came before
// others of smaller PSN are kept (reorder_buffer), and those that are missing are asked for again,
// each once: of a READ by a request for just that range. An acknowledgement of work behind a READ
// whose responses are missing shows the end of the READ to be missing, and is kept, too: of several
// the last one, which says it all. Both tell that what was sent before the missing answer has come.
#pragma once

#include "nic/queue_pair.h"
#include "nic/reorder_buffer.h"

namespace rnicsim {

class MacRx;
class Retransmitter;

class EarlyAnswers {
 public:
  enum class Order : std::uint8_t { kDue, kKept, kUseless };
  explicit EarlyAnswers(ReorderBuffer& buffer) : buffer_(buffer) {}
  void connect(MacRx& mac_rx, Retransmitter& retransmitter) {
    mac_rx_ = &mac_rx;
    retransmitter_ = &retransmitter;
  }

  /// A NAK of this mode: a request packet has not come. It acknowledges nothing.
  static bool names_missing(const Aeth& aeth) {
    return aeth.is_nak() && aeth.nak_code() == NakCode::kPsnSequenceError;
  }
  /// A response of the far side: is it its turn?
  Order judge(NicQueuePair& qp, const PacketRef& packet);
  /// PSN of the answer that is waited for. REQUIRES: there is one.
  static Psn first_missing(const NicQueuePair& qp);
  /// The one that is kept and whose turn it is now; null if there is none. Call after each that was
  /// taken.
  PacketRef next(NicQueuePair& qp);
  /// The queue pair fails or is reset.
  void forget(NicQueuePair& qp);
  /// Times that answers were missing.
  std::uint64_t lost() const { return lost_; }

 private:
  Order judge_acknowledge(NicQueuePair& qp, const PacketRef& packet);
  Order judge_answer(NicQueuePair& qp, const PacketRef& packet);
  void ask_again(NicQueuePair& qp, const Hole& hole);

  ReorderBuffer& buffer_;
  MacRx* mac_rx_ = nullptr;
  Retransmitter* retransmitter_ = nullptr;
  std::uint64_t lost_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// What verbs promise, as a trivial model: the operations of a queue pair take effect in the order
// of their posting, each once. Each operation is carried out here when it is made; what the
// simulation says and leaves in memory is held against that, and a difference throws Mismatch.
//
// A reliable connection keeps the promise whole. Unreliable transports promise less:
//   - A message arrives whole or not at all, in no receive but its own. Of a message that was lost
//     in its middle an unreliable connection may leave bytes in a receive or a window, all of them
//     such as somebody has sent there.
//   - Messages arrive in the order in which the network brings them: in that of their posting
//     unless it puts packets out of order.
//   - One arrives once, or twice if the network copies packets: nobody tells a datagram's copy, or
//     that of an unreliable connection's single packet, from a message (IBTA 9.8.2.2, 9.8.3).
#pragma once

#include "tests/scenarios/stress/two_servers.h"

namespace rnicsim::stress {

class ReferenceModel {
 public:
  explicit ReferenceModel(const Settings& settings);

  /// The ends are connected and their memory is as they will find it.
  void begin(TwoServers& servers);
  /// The effect of an operation on the peer's memory, and what it brings.
  void carry_out(End& end, Operation& op) const;
  /// A request ended, and with it those before it.
  void send_completed(End& end, const WorkCompletion& done) const;
  /// The receive in `slot` of the end's queue ended.
  void receive_completed(End& end, std::uint32_t slot, const WorkCompletion& done) const;
  /// Nothing is under way any more.
  void judge_memory(TwoServers& servers) const;
  /// All that was promised to an end has come.
  bool has_all_messages(const End& end) const;

 private:
  struct Promise {
    bool all = true;       ///< each message arrives
    bool in_order = true;  ///< of their posting
    unsigned most = 1;     ///< times that one arrives
  };
  static Promise promise_of(const Settings& settings);

  void carry_out_atomic(End& end, Operation& op) const;
  void flushed(End& end, const WorkCompletion& done) const;
  void retire(End& end) const;
  void receive_ended_badly(End& end, CompletionStatus status) const;
  std::uint32_t message_of(End& end, const WorkCompletion& done) const;
  void judge_receive(End& end, const Operation& op, std::uint32_t slot,
                     const WorkCompletion& done) const;
  void note_allowed(End& end) const;
  void judge_window(End& end) const;
  void judge_received(const End& end) const;
  void judge_shared(Side& side) const;

  const Settings& s_;
  Promise promise_;
};

}  // namespace rnicsim::stress

// SPDX-License-Identifier: MIT
// The operations of the workload pattern "pairs": what of a work request is the operation's own,
// which rights it needs, and what both memories must hold at the end.
//
//   WRITE    the target's region holds the initiator's bytes where messages went
//   READ     the initiator's region holds the target's bytes
//   SEND     the target's receive buffers hold the initiator's bytes, in the order of sending;
//            of SEND with invalidate, each came with the key that was due (window_leases)
//   bind     the initiator's queue pairs bind a window each to their own region, and free it
//   atomics  each place of the target's region counts what was done to it, and each answer is the
//            value before: for fetch-and-add of 1, the first value and the number of those before;
//            compare-and-swap replaces, each time, what the one before it has put there
#pragma once

#include <map>
#include <memory>
#include <string>

#include "host/work_requests.h"
#include "scenarios/engine/endpoint.h"
#include "scenarios/engine/message_ledger.h"
#include "scenarios/engine/received_messages.h"
#include "scenarios/engine/window_leases.h"

namespace rnicsim {

class PairOperation {
 public:
  /// What the two sides' memories were filled with, and whose they are.
  struct Sides {
    Endpoint& initiator;
    std::uint64_t initiator_seed;
    Endpoint& target;
    std::uint64_t target_seed;
    WindowLeases& windows;
  };
  /// How the run went.
  struct Outcome {
    const MessageLedger& ledger;
    const ReceivedMessages& received;
    bool disturbed;  ///< links have lost or damaged packets, or the target has cut messages off
  };
  /// What a comparison found.
  struct Difference {
    std::uint64_t bytes = 0;
    std::string text;  ///< where the first is; empty if there is none
    void add(const RegionImage& image, const std::string& host);
    void add(std::uint64_t count, const std::string& what);
  };

  static std::unique_ptr<PairOperation> make(const WorkloadSpec& spec, const Sides& sides);
  PairOperation(const WorkloadSpec& spec, const Sides& sides) : spec_(spec), sides_(sides) {}
  virtual ~PairOperation() = default;

  /// The initiator has its queue pairs: what else it needs is made.
  virtual void prepare(CpuTask& /*task*/) {}
  /// What the target's region and queue pairs must permit.
  virtual AccessFlags needs() const = 0;
  /// Fills in what is the operation's own; place and piece are there already.
  virtual void complete(SendRequest& request, std::uint64_t number,
                        std::uint64_t remote_offset) = 0;
  /// The program has seen that a message ended.
  virtual void settled(const MessageLedger::Message& /*message*/) {}
  virtual void verify(const Outcome& outcome, Difference& difference) = 0;

 protected:
  bool unreliable() const { return spec_.transport != WorkloadTransport::kRc; }

  const WorkloadSpec& spec_;
  Sides sides_;
};

}  // namespace rnicsim

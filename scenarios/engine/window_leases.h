// SPDX-License-Identifier: MIT
// The memory windows of the operation "send_invalidate": the target binds one to its region for
// each message that may be outstanding and hands the keys to the initiator; each message of the
// initiator, a SEND with invalidate, takes one away, whereupon the target binds that window anew,
// with a new key, for a later message. At the end the initiator tries the last key that it gave
// back once more: its WRITE must be refused.
//
// The nth message of a queue pair takes the nth key handed out for it; windows are bound on the
// target's end of that queue pair, so no other can use them. Keys travel by the control channel.
// Ignores: failures on the target's side; a queue pair of the initiator that has failed goes on
// with the key it had, to see its messages flushed.
#pragma once

#include <cstdint>
#include <vector>

#include "host/control_channel.h"
#include "model/metrics.h"
#include "scenarios/engine/endpoint.h"

namespace rnicsim {

class WindowLeases {
 public:
  /// What regions and queue pairs must permit.
  static AccessFlags rights() {
    return AccessFlags(AccessFlags::kRemoteWrite | AccessFlags::kWindowBind);
  }

  WindowLeases(Endpoint& target, Endpoint& initiator, ControlChannel& to_initiator);

  // The target.
  void bind_all(CpuTask& task);
  /// A message of the queue pair has taken this key away.
  void taken(CpuTask& task, std::uint32_t qp, MemoryKey key);

  // The initiator.
  bool has_key(std::uint32_t qp) const { return !leases_[qp].keys.empty(); }
  /// Sleeps until a key has come.
  void receive(CpuTask& task);
  /// The key for its next message; without one, the last.
  MemoryKey next_key(std::uint32_t qp);
  void failed(std::uint32_t qp) { leases_[qp].failed = true; }
  bool has_failed(std::uint32_t qp) const { return leases_[qp].failed; }
  /// A WRITE on each queue pair with the last key that it gave back. REQUIRES: all messages
  /// succeeded.
  void try_last_keys(CpuTask& task, VirtualAddress address);

  /// Messages that took another key than was due, and WRITEs with a key that is gone that were not
  /// refused.
  std::uint64_t wrong() const { return wrong_; }
  void report(const MetricScope& scope) const;

 private:
  struct Lease {
    std::uint64_t wanted = 0;        ///< keys in all
    std::vector<MemoryKey> windows;  ///< with the key that each was bound with last
    std::uint64_t bound = 0;         ///< keys handed out
    std::uint64_t given_back = 0;    ///< by messages that the target has got
    Ring<MemoryKey> keys;            ///< of the initiator, for its next messages
    MemoryKey last;                  ///< that it used
    bool failed = false;
  };
  void bind(CpuTask& task, std::uint32_t qp);

  Endpoint& target_;
  Endpoint& initiator_;
  ControlChannel& to_initiator_;
  std::vector<Lease> leases_;
  std::uint64_t bound_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t wrong_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The host's interrupt controller: turns a device's MSI-X message into a handler that runs on a
// core, and says what sleeping and waking cost there.
//
// Connects to: the root complex (host/pcie_link), which hands over each message at the instant of
// its arrival, ordered behind the device's earlier writes; a driver, which allocates a vector.
// Models: delivery latency, the core's cycles of entry and exit, one pending message per vector (a
// message that comes before the handler has begun is merged with the one before it).
// Approximates: no preemption: the handler waits for the stretch of work that the core is in, and
// a program that has charged cycles ahead is not interrupted within them; polling gives way.
// Ignores: priorities, remapping, moving a vector to another core.
#pragma once

#include <cstdint>
#include <vector>

#include "host/cpu_core.h"
#include "model/callback.h"
#include "model/metrics.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

class Fields;

struct InterruptConfig {
  Time latency = Time::ns(300);   ///< message at the root complex -> the core takes it
  Cycles entry{1400};             ///< into the handler and back, both ways
  Time wake_up = Time::ns(1000);  ///< a sleeper is woken -> it runs, if its core is idle
  Cycles wake{600};               ///< of who wakes a sleeper
  Cycles context_switch{3500};    ///< of the core, for a program that sleeps and comes back
  void describe(Fields& fields);
};

/// Says whose work an interrupt is when the core takes it.
class InterruptOwner {
 public:
  virtual ~InterruptOwner() = default;
  virtual CpuPlane plane_of_interrupt() = 0;
};

class InterruptController {
 public:
  /// Where messages go on x86.
  static constexpr std::uint64_t kFirstAddress = 0xfee00000;
  static constexpr std::uint64_t kLastAddress = 0xfeefffff;
  static constexpr unsigned kMessageBytes = 4;

  struct Message {
    PhysicalAddress address;
    std::uint32_t data = 0;
  };

  InterruptController(Scheduler& scheduler, const InterruptConfig& config)
      : scheduler_(scheduler), config_(config) {}
  InterruptController(const InterruptController&) = delete;
  InterruptController& operator=(const InterruptController&) = delete;

  static bool is_message(PhysicalAddress address, Bytes bytes) {
    return bytes == Bytes(kMessageBytes) && address.value() >= kFirstAddress &&
           address.value() + (kMessageBytes - 1) <= kLastAddress;
  }
  /// A vector whose `handler` runs when the core has entered it; what it does more it charges to
  /// the core itself. Returns the message that a device has to send. `owner` null: data.
  Message allocate(CpuCore& core, Callback handler, InterruptOwner* owner = nullptr);
  /// A message arrives now. `cause`: for observers, what the device sent it for.
  void raise(const Message& message, WorkRequestId cause = {});

  Probe& probe() { return probe_; }

  const InterruptConfig& config() const { return config_; }
  std::uint64_t handled() const { return handled_; }
  /// Under `scope` (".interrupts"): messages, handled, merged, spurious.
  void report(const MetricScope& scope) const;

 private:
  struct Vector {
    CpuCore* core;
    Callback handler;
    InterruptOwner* owner;
    bool pending;
    Time arrived;  ///< the message that is pending
    WorkRequestId cause;
  };
  void take(std::uint64_t vector);

  Scheduler& scheduler_;
  InterruptConfig config_;
  std::vector<Vector> vectors_;
  Probe probe_;
  std::uint64_t messages_ = 0;
  std::uint64_t handled_ = 0;
  std::uint64_t merged_ = 0;
  std::uint64_t spurious_ = 0;
};

}  // namespace rnicsim

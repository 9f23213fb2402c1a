// SPDX-License-Identifier: MIT
// Tells software what became of plain frames: takes entries of transmit and receive queues through
// one pipeline into the queues' completion rings (posted writes, in order, behind the data that
// were handed to PCIe before them), and interrupts.
//
// A queue that software has armed gets one MSI-X message: when as many entries that software has
// not seen are there as the queue's context says, or its period after the first of them (that one
// is not waited for where no period is set, or one entry is enough). The next message needs the
// queue to be armed again. While a message is held back its timer keeps the run alive.
// Approximates: of entries that were there when the queue was armed the period counts from then on.
// Ignores: a ring that software lets run full, which it cannot do while each entry stands for a
// descriptor that it posts again only afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/clock.h"
#include "model/ethernet_abi.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/pcie_endpoint.h"

namespace rnicsim {

class EthernetCompletions {
 public:
  EthernetCompletions(Scheduler& scheduler, const Clock& clock, PcieEndpoint& pcie,
                      const PipelineConfig& pipeline, const Probe& probe)
      : scheduler_(scheduler), pcie_(pcie), pipeline_(clock, pipeline), probe_(probe) {}

  void open(std::uint32_t queue, const abi::EthernetQueueContext& context);
  /// What waits for it goes nowhere.
  void close(std::uint32_t queue);
  /// Software has taken the entries before `consumer`. False: there is no such queue.
  bool arm(std::uint32_t queue, std::uint32_t consumer);

  /// An entry of which all is known now; its owner bit is set here.
  template <class Entry>
  void write(std::uint32_t queue, const Entry& entry) {
    static_assert(Entry::kBytes <= kMaxBytes);
    Waiting& waiting = waiting_.push();
    waiting.queue = queue;
    waiting.bytes = Entry::kBytes;
    entry.write(waiting.entry.data());
    enter();
  }
  bool idle() const { return waiting_.empty() && holding_ == 0; }
  /// Whether entries of the queue wait.
  bool has_waiting(std::uint32_t queue) const;
  void report(const MetricScope& scope) const;

 private:
  static constexpr std::size_t kMaxBytes = 32;
  struct Waiting {
    std::uint32_t queue;
    std::uint32_t bytes;
    std::array<std::uint8_t, kMaxBytes> entry;
  };
  struct State {
    bool valid = false;
    bool armed = false;
    bool held = false;  ///< a message is due when the period is over
    abi::EthernetQueueContext context;
    std::uint32_t producer = 0;
    std::uint32_t seen = 0;        ///< by software, when it armed
    std::uint32_t generation = 0;  ///< of the timer that counts
  };
  void enter();
  void serve();
  void check(std::uint32_t queue, State& state);
  void hold(std::uint32_t queue, State& state);
  void stop_holding(State& state);
  void period_over(std::uint64_t timer);
  void send_message(std::uint32_t queue, State& state);

  Scheduler& scheduler_;
  PcieEndpoint& pcie_;
  Pipeline pipeline_;
  const Probe& probe_;
  std::vector<State> states_;  ///< by number of the queue
  Ring<Waiting> waiting_;
  std::uint64_t entries_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t held_back_ = 0;
  std::uint32_t holding_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The descriptor rings of a NIC as PCIe traffic: what a driver and its NIC tell each other for each
// packet, with a wire that is never the limit. pcie-bench's model counts the same for three styles
// of NICs (pcie-model, nic_bw.py).
//
//   transmit    the host stores the tail; descriptors are read; a packet is read; descriptors are
//   (host->NIC) written back; an interrupt; the host reads the head
//   receive     the host stores the tail; descriptors are read; a packet is written; descriptors
//   (NIC->host) are written back; an interrupt; the host reads the head
//
// Each of these once for so many packets as the ring's settings say, or never. Both rings at a time
// handle equally many packets. A ring's entry is the host's again when all that tells it of the
// packet has happened, and the host posts it anew at once.
//
// Connects to: the exerciser's PCIe endpoint, through Host the other side's stores and loads.
// Models: prefetching (a fetch waits for all its descriptors to be posted, unless none is here),
// as many packets under way as the endpoint has tags. Moves no bytes (all transfers are elided).
// Approximates: an interrupt is a write of 4 B to the ring's memory; at the end of a measurement no
// more is posted, so that a ring's worth of tails is missing from it. Ignores: what host and NIC
// themselves need for a packet, descriptors of several packets, the wire.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "model/callback.h"
#include "model/scheduler.h"
#include "model/units.h"
#include "nic/pcie_endpoint.h"

namespace rnicsim {

class Fields;

/// Counts are packets; 0: never.
struct DescriptorRingStyle {
  std::uint32_t entries = 512;
  std::uint32_t tail_every = 1;
  std::uint32_t fetch_every = 1;
  std::uint32_t write_back_every = 1;
  std::uint32_t interrupt_every = 1;
  std::uint32_t head_every = 1;
  void describe(Fields& fields);
};

class RingExerciser {
 public:
  static constexpr std::uint32_t kDescriptorBytes = 16;
  /// The memory that a job's rings take.
  static constexpr std::uint64_t kRingBytes = std::uint64_t{1} << 20;
  static constexpr std::uint32_t kPointerBytes = 4;
  enum Direction : std::uint8_t { kTransmit, kReceive };

  /// The driver's way to the device's registers.
  class Host {
   public:
    virtual ~Host() = default;
    virtual void store_tail(Direction ring) = 0;
    virtual void load_head(Direction ring, Callback done) = 0;
  };
  struct Job {
    std::array<std::optional<DescriptorRingStyle>, 2> rings;  ///< by direction
    PhysicalAddress memory;                                   ///< of both rings
    std::uint32_t bytes = 64;                                 ///< of a packet
    std::uint64_t count = 1;                                  ///< packets of each ring
    std::function<PhysicalAddress()> next;                    ///< where a packet goes
    Host* host = nullptr;
  };
  struct Outcome {
    Time lasted;                ///< from the end of the first fifth of the packets on
    std::uint64_t packets = 0;  ///< of each ring, in that time
  };

  RingExerciser(Scheduler& scheduler, PcieEndpoint& pcie, std::uint32_t tags)
      : scheduler_(scheduler), pcie_(pcie), tags_(tags) {}

  bool is_running() const { return static_cast<bool>(done_); }
  /// REQUIRES: none is running. `done` runs when all has ended.
  void run(Job job, Callback done);
  const Outcome& outcome() const { return outcome_; }
  /// A store to the tail of that ring has come.
  void tail_stored(Direction direction);

 private:
  /// Packets by how far they have come; each count is at most the one before.
  struct Ring {
    DescriptorRingStyle style;
    PhysicalAddress memory;
    std::uint64_t announced = 0;  ///< tails that the host has stored
    std::uint64_t posted = 0;     ///< tails that have come
    std::uint64_t asked = 0;
    std::uint64_t here = 0;
    std::uint64_t started = 0;
    std::uint64_t finished = 0;
    // What tells the host that a packet is finished:
    std::uint64_t written_back = 0;
    std::uint64_t interrupted = 0;
    std::uint64_t head_read = 0;
    std::uint64_t returned() const;
  };

  void go(std::uint64_t direction);
  void announce(Ring& ring, Direction direction);
  void fetch(Ring& ring, Direction direction);
  void start(Ring& ring, Direction direction);
  bool may_start(const Ring& ring, Direction direction) const;
  void fetched(std::uint64_t count_and_direction);
  void finished(std::uint64_t direction);
  void tell(Ring& ring, Direction direction);
  void written_back(std::uint64_t direction);
  void interrupted(std::uint64_t direction);
  void head_read(std::uint64_t direction);
  void told(std::uint64_t direction);
  void submit(bool write, DmaPurpose purpose, PhysicalAddress address, std::uint32_t bytes,
              Callback done);

  Scheduler& scheduler_;
  PcieEndpoint& pcie_;
  std::uint32_t tags_;
  Job job_;
  Callback done_;
  std::array<std::optional<Ring>, 2> rings_;
  std::uint64_t telling_ = 0;       ///< write-backs, interrupts and loads under way
  std::uint64_t all_finished_ = 0;  ///< packets of both rings
  Time begun_;
  Outcome outcome_;
};

}  // namespace rnicsim

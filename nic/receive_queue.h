// SPDX-License-Identifier: MIT
// Brings receives from the rings in host RAM, those of queue pairs and shared ones.
//
// Receives are posted by the doorbell record alone (model/nic_abi), so the NIC learns of them when
// it needs one: it reads the record (8 B), then up to `entries_per_fetch` entries by one DMA read,
// never past the ring's end nor past what the record said, and keeps up to kPrefetchEntries of a
// queue. More are fetched when a whole batch has room, or none is left. That none is posted is said
// only after a record read that began after the question: what an earlier one said may be old. One
// read of a queue is under way at a time, `outstanding` of all queues, beyond which they wait their
// turn.
//
// Connects to: the responder and the flushing of queue pairs (take, take_for_flush), the command
// unit (tables, reset, SRQ commands), the event queues (a limit that was passed).
// Models: contexts of shared receive queues in a cache over their table; of a changed one only the
// number of receives taken is written back, as the rest is the driver's.
// Approximates: prefetched entries and an armed limit stay inside the NIC when a context is
// evicted. Taking an entry that is here costs only the look-up of a shared queue's context.
// Ignores: a doorbell record that is more than the ring's size ahead or behind gives no receives.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "model/callback.h"
#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/nic_abi.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/host_table_cache.h"
#include "nic/pcie_endpoint.h"
#include "nic/queue_pair.h"

namespace rnicsim {

using SrqContextCache = HostTableCache<abi::SrqContext>;

struct ReceiveQueuesConfig {
  std::uint32_t entries_per_fetch = 8;
  std::uint32_t outstanding = 32;
  void describe(Fields& fields);
};

/// An entry of a receive queue taken apart.
struct Receive {
  static constexpr std::uint32_t kMaxSegments = 32;
  std::uint16_t counter = 0;  ///< number of the receive in its ring, as completions name it
  std::uint8_t segment_count = 0;
  std::array<abi::DataSegment, kMaxSegments> segments;
  std::uint64_t capacity = 0;  ///< bytes of all segments
  Time ready;                  ///< may be used from then on
};

class ReceiveQueues {
 public:
  static constexpr std::uint32_t kPrefetchEntries = 16;
  static constexpr std::uint8_t kMaxLogEntries = 15;
  static constexpr std::uint8_t kMaxLogSegments = 5;

  enum class Taken : std::uint8_t {
    kReady,
    kWait,   ///< something has to be fetched: `retry` runs when asking again may help
    kEmpty,  ///< none is posted
  };

  ReceiveQueues(Scheduler& scheduler, const Clock& clock, PcieEndpoint& pcie, SrqContextCache& srqs,
                const ReceiveQueuesConfig& config);
  /// `srq_limit` runs with the number of a shared queue as its argument: fewer receives than its
  /// limit are left.
  void connect(Callback srq_limit) { srq_limit_ = srq_limit; }

  /// The next receive posted for a queue pair. Who is told to wait asks again when `retry` runs;
  /// one packet of a queue pair asks at a time. Advances the count of receives taken: in `context`,
  /// which the caller then marks dirty, or in the shared queue's.
  Taken take(NicQueuePair& qp, abi::QpContext& context, Receive& out, Callback retry);
  /// The same for a queue pair in error, whose receives are flushed: the entry is not looked at.
  /// REQUIRES: no shared receive queue.
  Taken take_for_flush(NicQueuePair& qp, abi::QpContext& context, std::uint16_t& counter,
                       Callback retry);
  /// The queue pair went to RESET or INIT: its ring starts anew. What it waited for is retried.
  void reset(NicQueuePair& qp);

  // Commands (nic/command_unit)
  void set_table(PhysicalAddress base, std::uint32_t count) { srqs_.set_table(base, count); }
  bool knows_srq(std::uint32_t srqn) const { return srqn != 0 && srqs_.in_range(srqn); }
  /// A shared queue was created or destroyed.
  void forget_srq(std::uint32_t srqn);
  /// Reads the limit from the context table; `done` runs when it is in force. One at a time.
  void arm_srq(std::uint32_t srqn, Callback done);

  bool idle() const { return in_flight_ == 0 && arming_ == 0; }
  void report(const MetricScope& scope) const;

 private:
  enum class Reading : std::uint8_t { kNothing, kEntries, kRecord };
  struct Queue {
    // From the context
    std::uint32_t srqn = 0;  ///< 0: of a queue pair
    PhysicalAddress ring;
    PhysicalAddress record_address;
    std::uint32_t ring_entries = 1;
    std::uint32_t entry_bytes = abi::kSegmentBytes;
    // Numbers of receives since the queue was created, modulo 2^32
    std::uint32_t taken = 0;
    std::uint32_t fetched = 0;
    std::uint32_t posted = 0;  ///< as the record last said
    bool started = false;

    Reading reading = Reading::kNothing;
    bool stale = false;     ///< what is being read is void
    bool flushing = false;  ///< the entries themselves are not needed any more
    bool waits_for_turn = false;
    std::uint32_t fetching = 0;  ///< entries being read
    std::uint64_t records_begun = 0;
    std::uint64_t records_read = 0;
    std::uint64_t record_wanted = 0;  ///< somebody waits for the read of the record of this number
    std::uint16_t limit = 0;
    std::vector<std::uint8_t> prefetch;  ///< of kPrefetchEntries, by number of the receive
    std::uint8_t record[abi::DoorbellRecord::kBytes] = {};
    std::vector<Callback> waiters;

    std::uint32_t not_fetched() const;
    std::uint32_t left() const { return fetched - taken + not_fetched(); }
    bool below_limit() const { return left() < limit; }
  };

  std::uint32_t own_queue(NicQueuePair& qp, const abi::QpContext& context);
  std::uint32_t shared_queue(std::uint32_t srqn, const abi::SrqContext& context);
  static void start(Queue& queue, std::uint8_t log_entries, std::uint8_t log_segments,
                    std::uint32_t taken);
  Taken take_shared(NicQueuePair& qp, std::uint32_t srqn, Receive& out, Callback retry);
  Taken take_from(std::uint32_t index, std::uint64_t& asked, Receive& out, Callback retry);
  static bool none_posted(Queue& queue, std::uint64_t& asked);
  static void decode(const Queue& queue, Receive& out);
  void pump(std::uint64_t index);
  std::uint32_t entries_to_fetch(const Queue& queue) const;
  bool may_read(std::uint32_t index);
  void fetch(std::uint32_t index, std::uint32_t entries);
  void read_record(std::uint32_t index);
  void submit(std::uint32_t index, DmaRequest request);
  void read_ended(std::uint64_t index);
  void record_came(Queue& queue);
  void serve_turns();
  void wake(std::uint64_t index);
  void restart(std::uint32_t index);
  void look_up_for_limit();
  void limit_came();

  Scheduler& scheduler_;
  PcieEndpoint& pcie_;
  SrqContextCache& srqs_;
  Pipeline& srq_port_;
  ReceiveQueuesConfig config_;
  Callback srq_limit_;
  std::deque<Queue> queues_;            ///< addresses must not move while DMA writes into them
  std::vector<std::uint32_t> by_srqn_;  ///< place in queues_ + 1, 0: none yet
  std::uint32_t arming_ = 0;            ///< shared queue whose limit is being read, 0: none
  Callback armed_;
  std::uint8_t arming_entry_[abi::SrqContext::kBytes] = {};
  std::vector<Callback> serving_;
  Ring<std::uint32_t> turns_;  ///< queues that may read when another read has ended
  std::uint32_t in_flight_ = 0;
  std::uint32_t most_in_flight_ = 0;
  Time busy_;
  Time busy_since_;
  Time stalled_outstanding_;
  Time waiting_since_;
  std::uint64_t fetches_ = 0;
  std::uint64_t receives_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t found_none_ = 0;
  std::uint64_t limits_ = 0;
};

}  // namespace rnicsim

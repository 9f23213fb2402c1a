// SPDX-License-Identifier: MIT
// Page faults of the NIC: accesses to pages that a region registered with on-demand paging
// (AccessFlags::kOnDemand) does not have in its translation table. A fault takes one of
// `outstanding` records, the firmware works on it for `latency`, then an event (event_queue) tells
// the driver, which puts the pages into the table and writes the fault's number to a doorbell
// (resume). Whoever has asked for the page is called and looks again. A page has one fault at a
// time: others who miss it join. Without a free record the access is looked up again when one is,
// but for a responder's: there the other side comes again.
//
// What an access that faults does meanwhile is its block's matter: the requester takes the packet
// back and its queue pair waits (nic/requester); so does a queue pair whose READ answer finds its
// memory absent (nic/read_response_receiver); the responder answers RNR NAK, and the other side
// comes again (nic/request_judge). Where none of these is possible (unreliable services, what is
// sent again alone, answers to READs beyond the first packet, memory that went between judgement
// and use) the packet waits in its DMA engine, and those behind it.
// Likely error: such a wait holds up other queue pairs, too, for the length of a fault; real NICs
// suspend the one queue pair.
//
// Connects to: key_checker (which sees the missing page), event_queue, doorbell (resume),
// command_unit (regions that come and go).
// Ignores: faults that the driver cannot mend; memory windows on such regions (binding one is
// refused); pages that are taken away again while the region stands.
#pragma once

#include <vector>

#include "model/callback.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/nic_abi.h"
#include "model/scheduler.h"
#include "nic/event_queue.h"

namespace rnicsim {

struct PageFaultsConfig {
  std::uint32_t outstanding = 64;
  Time latency = Time::us(1);
  void describe(Fields& fields);
};

class PageFaults {
 public:
  PageFaults(Scheduler& scheduler, EventQueue& events, const PageFaultsConfig& config)
      : scheduler_(scheduler), events_(events), config_(config), records_(config.outstanding) {}

  /// `fault.address` lies on an absent page of 2^log_page bytes. `again` (may be empty) runs when
  /// that page may be there, or its region is not any more.
  void raise(const abi::PageFault& fault, unsigned log_page, WorkRequestId cause, Callback again);
  /// The driver has put a fault's pages into the table. A number that is not in use is counted and
  /// ignored.
  void resume(std::uint32_t number);
  /// A region paged on demand comes.
  void expect() { in_use_ = true; }
  /// The tables are new.
  void reset();
  /// How many faults are over: what was looked up when there were fewer may be out of date.
  std::uint64_t ended() const { return ended_; }
  /// A key goes: who waits for its pages looks again, and finds no key.
  void forget(std::uint32_t key_index);
  /// Whether there ever was such a region; if not, nobody need look for absent pages.
  bool in_use() const { return in_use_; }
  bool idle() const { return active_ == 0; }
  void report(const MetricScope& scope) const;

 private:
  struct Record {
    bool active = false;
    std::uint16_t generation = 0;  ///< how often it was used: part of the fault's number
    std::uint32_t key_index = 0;
    std::uint64_t page = 0;
    abi::PageFault fault;
    WorkRequestId cause;
    std::vector<Callback> waiters;
  };
  static constexpr unsigned kSlotBits = 16;
  Record* find(std::uint32_t key_index, std::uint64_t page);
  void tell(std::uint64_t number);
  void end(Record& record);

  Scheduler& scheduler_;
  EventQueue& events_;
  PageFaultsConfig config_;
  std::vector<Record> records_;
  std::vector<Callback> without_record_;
  bool in_use_ = false;
  std::uint32_t active_ = 0;
  std::uint32_t most_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t faults_ = 0;
  std::uint64_t joined_ = 0;
  std::uint64_t full_ = 0;
  std::uint64_t strays_ = 0;
  Time busy_;
  Time busy_since_;
};

}  // namespace rnicsim

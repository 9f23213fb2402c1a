// SPDX-License-Identifier: MIT
// Moves packets' payload between host memory and packets, in order: gathers what is to be sent
// (requester, responses to READs) or scatters what has come (responder, READ responses at home).
//
// A job is one packet. Its payload is moved part by part, a part being as much of it as lies in one
// data segment: the client says where the next part is, the key checker checks and translates it,
// its DMA requests follow (what stands before the payload, a GRH, has one of its own). Look-ups of
// later jobs overlap, so misses do; DMA requests are issued in the order of the jobs, and jobs are
// given back in that order, when all their DMA has been done: data are there (gather), or have been
// handed to PCIe in order (scatter; a posted write has no completion). So a job that waits for a
// translation holds up those behind it, as does one that waits for a page (nic/page_faults), unless
// its client takes it back.
//
// A packet may still be arriving when it is to be scattered (mac_rx.cut_through): then a part's DMA
// begins when all that is left of the packet comes sooner than PCIe could take it, and a job that
// moves nothing is through no earlier than at the packet's last bit.
//
// Bounded by its client, which has a transmit buffer or a window.
#pragma once

#include "model/clock.h"
#include "model/packet.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/epoch.h"
#include "nic/key_checker.h"
#include "nic/pcie_endpoint.h"

namespace rnicsim {

struct NicQueuePair;

class DmaEngine {
 public:
  enum class Direction : std::uint8_t { kGather, kScatter };
  struct Job {
    PacketRef packet;  ///< null: nothing to move
    NicQueuePair* qp = nullptr;
    Epoch epoch;                ///< the job is void once it is over
    std::uint32_t message = 0;  ///< the client's number of the message it is part of
    std::uint32_t bytes = 0;    ///< to move: prefix and payload
    std::uint32_t prefix = 0;   ///< bytes in front of the payload that are not the packet's
    std::uint64_t offset = 0;   ///< of the payload in the message
    WorkRequestId id;
    Time ready;      ///< when its first part may be looked up
    KeyCheck check;  ///< of its first part, if `check_set`
    bool check_set = false;
    CompletionStatus failed =
        CompletionStatus::kSuccess;  ///< the client's word; then nothing moves
    bool absent = false;             ///< taken back by the client for want of a page
    bool is_void() const { return epoch.is_over(); }
  };
  class Client {
   public:
    virtual ~Client() = default;
    /// Sets up the check of the part that begins `moved` bytes into the job.
    virtual void begin_part(const Job& job, std::uint32_t moved, KeyCheck& check) = 0;
    /// In order, before a job's first DMA. False: it is not to move anything after all.
    virtual bool may_move(std::uint64_t sequence, Job& job) = 0;
    /// In order, of the first part: true if the client moves the bytes itself and calls finished().
    virtual bool take_over(std::uint64_t, Job&) { return false; }
    /// In order: the key checker refused a part.
    virtual void refused(std::uint64_t sequence, Job& job, KeyFault fault) = 0;
    /// In order: a part's page is absent. True: the client takes the job back, nothing more of it
    /// moves; false: it waits for the page.
    virtual bool take_back(Job&) { return false; }
    /// The DMA of a part is about to be issued. `moved`: bytes of the job before it.
    virtual void part(const Job& job, std::uint32_t moved, const KeyCheck& check) = 0;
    /// All DMA of the job has been issued.
    virtual void issued(const Job& job) = 0;
    /// All of it has been done; not in order, and not for jobs that moved nothing.
    virtual void done(const Job& job, Time since) = 0;
    /// The oldest job is through, and leaves when this returns true; else drain() is to be called.
    virtual bool leave(std::uint64_t sequence, Job& job) = 0;
    /// Some jobs have left.
    virtual void left() {}
    /// The job's prefix.
    virtual void prefix(const Job&, std::uint8_t*) {}
  };

  struct Wiring {
    Scheduler& scheduler;
    const Clock& clock;
    PcieEndpoint& pcie;
    KeyChecker& key_checker;
    bool elided;  ///< payload bytes are accounted, not moved
  };
  static constexpr std::uint32_t kMaxPrefix = 40;

  DmaEngine(const Wiring& wiring, Direction direction, Client& client)
      : w_(wiring), direction_(direction), client_(client) {}

  /// Points a check at the part of a segment list that begins `offset` bytes into the list: as much
  /// of `left` bytes as lies in one segment. Returns where in its segment that is. REQUIRES: offset
  /// lies within the list.
  static std::uint32_t aim(KeyCheck& check, const abi::DataSegment* segments, std::uint64_t offset,
                           std::uint32_t left);

  /// Numbers count up from 0.
  std::uint64_t add(Job&& job);
  /// A job that was taken over is done.
  void finished(std::uint64_t sequence) { dma_done(sequence); }
  /// Whether all DMA of a job has been done.
  bool is_through(std::uint64_t sequence) { return slot(sequence).through(); }
  /// Lets the oldest jobs that are through leave.
  void drain();
  bool idle() const { return slots_.empty(); }
  std::size_t size() const { return slots_.size(); }
  /// Number of the oldest job, and of the next that is added.
  std::uint64_t first() const { return first_; }
  std::uint64_t next() const { return first_ + slots_.size(); }
  Job& job(std::uint64_t sequence) { return slots_.at(sequence - first_).job; }

 private:
  enum class Stage : std::uint8_t {
    kNew,
    kChecking,  ///< the part's key or translation may have to be fetched
    kChecked,   ///< waits for the jobs before it
    kIssuing,   ///< an entry is armed for its DMA
    kIssued,    ///< all DMA has been issued, or there is none
  };
  struct Slot {
    Job job;
    std::uint32_t moved = 0;    ///< bytes whose DMA has been issued
    std::uint32_t pending = 0;  ///< DMA requests outstanding
    Stage stage = Stage::kNew;
    Time ready;  ///< when the present part may be moved
    Time since;  ///< first DMA
    bool through() const { return pending == 0 && stage == Stage::kIssued; }
    void release() { job.packet = {}; }
  };
  void advance(std::uint64_t sequence);
  Time whole(const Job& job) const;
  void wait_until_ready(Slot& slot);
  void issue_in_order();
  void issue(std::uint64_t sequence);
  void move_part(Slot& slot, std::uint64_t sequence);
  void set_issued(Slot& slot);
  void dma_done(std::uint64_t sequence);
  Slot& slot(std::uint64_t sequence) { return slots_.at(sequence - first_); }

  Wiring w_;
  Direction direction_;
  Client& client_;
  Ring<Slot> slots_;
  std::uint64_t first_ = 0;    ///< sequence number of slots_.front()
  std::uint64_t issuing_ = 0;  ///< first job with DMA to issue
  Time last_issue_;
  bool draining_ = false;
};

}  // namespace rnicsim

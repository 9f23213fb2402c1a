// SPDX-License-Identifier: MIT
// The verbs library of one process (user space): what an application calls to use the NIC.
//
// Kernel objects (regions, queues, queue pairs) are made by the driver; the data path bypasses it:
// post_send writes work queue entries into the send queue in host RAM (host/wqe_builder), updates
// the doorbell record and rings the doorbell with one 8 B MMIO store; post_recv writes entries and
// a doorbell record only (host/user_receive_queue); poll_cq reads completion entries and their
// owner bit from host RAM, and copies what came inline to where its receive wanted it.
//
// Nothing here knows who calls: an application is calls with a CpuTask, and memory. The cycles of a
// call depend on the number of entries, segments and inline bytes, never on the message's size.
// Models: cycles by call (VerbsConfig), ring space, owner bits, flushed and failed entries.
// With `blue_flame` a lone entry of up to 256 B is stored to the doorbell register whole, in one
// store for each write-combined line of 64 B; the further lines cost the core nothing (8 stores of
// 8 B each are some 2 ns). No other call's lines come between them: the library locks the register.
// The first failed completion of a queue pair rings its receive doorbell, for receives that were
// posted after the NIC had flushed the queue and before the program knew.
// Ignores: locks, cleaning a completion queue: before a move to RESET or destroy_qp the application
// polls what is still coming, or it will read entries of a queue pair that has forgotten them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/cpu_core.h"
#include "host/driver.h"
#include "host/memory.h"
#include "host/mmio.h"
#include "host/page_table.h"
#include "host/result.h"
#include "host/verbs_config.h"
#include "host/verbs_queues.h"
#include "model/nic_abi.h"
#include "model/probe.h"
#include "model/ring.h"

namespace rnicsim {

class Verbs {
 public:
  /// Opens the device; REQUIRES that the driver has brought it up before the first call.
  Verbs(const VerbsConfig& config, Driver& driver, PageTable& pages, MmioPort& mmio)
      : config_(config),
        driver_(driver),
        pages_(pages),
        memory_(pages.memory()),
        mmio_(mmio),
        async_(driver.events().interrupts(), driver.config().syscall, CpuPlane::kControl) {}
  Verbs(const Verbs&) = delete;
  Verbs& operator=(const Verbs&) = delete;

  // Control path: system calls.
  PdNumber alloc_pd(CpuTask& task) { return driver_.alloc_pd(task); }
  Result<MemoryRegion> reg_mr(CpuTask& task, PdNumber pd, VirtualAddress address,
                              std::uint64_t length, AccessFlags access) {
    if (access.allows(AccessFlags::kOnDemand)) {
      const Errno opened = driver_.open_events(task);
      if (opened != Errno::kOk) return opened;
    }
    return driver_.regions().add(task, pages_, pd, address, length, access);
  }
  Errno dereg_mr(CpuTask& task, const MemoryRegion& region) {
    return driver_.regions().remove(task, region.lkey);
  }
  Result<MemoryWindow> alloc_mw(CpuTask& task, PdNumber pd) {
    return driver_.regions().add_window(task, pd);
  }
  Errno dealloc_mw(CpuTask& task, const MemoryWindow& window) {
    return driver_.regions().remove_window(task, window.rkey);
  }
  Result<CompletionChannel*> create_comp_channel(CpuTask& task);
  /// kBusy while a completion queue uses it.
  Errno destroy_comp_channel(CpuTask& task, CompletionChannel* channel);
  /// Room for at least `entries`. The library owns the queue until destroy_cq.
  Result<CompletionQueue*> create_cq(CpuTask& task, std::uint32_t entries,
                                     CompletionChannel* channel = nullptr);
  /// Interrupt moderation: one event for `count` entries, or `period_us` after the first.
  Errno modify_cq(CpuTask& task, CompletionQueue* cq, std::uint16_t count,
                  std::uint16_t period_us) {
    return driver_.modify_cq(task, cq->cqn(), count, period_us);
  }
  /// kBusy while a queue pair uses it or an event of it is not acknowledged.
  Errno destroy_cq(CpuTask& task, CompletionQueue* cq);
  Result<SharedReceiveQueue*> create_srq(CpuTask& task, PdNumber pd, std::uint32_t max_requests,
                                         std::uint32_t max_segments = 1);
  /// kBusy while a queue pair uses it.
  Errno destroy_srq(CpuTask& task, SharedReceiveQueue* srq);
  /// Asks for one event when fewer than `limit` receives are left; 0 = none.
  Errno arm_srq(CpuTask& task, SharedReceiveQueue* srq, std::uint32_t limit) {
    return driver_.shared_receives().arm(task, srq->srqn(), limit);
  }
  Result<QueuePair*> create_qp(CpuTask& task, const QueuePairInit& init);
  Errno destroy_qp(CpuTask& task, QueuePair* qp);
  /// A move to RESET also empties the library's send queue.
  Errno modify_qp(CpuTask& task, QueuePair* qp, const QpAttributes& attributes);
  Result<QpState> query_qp_state(CpuTask& task, const QueuePair* qp);

  // Data path: no system call.
  /// Posts a list, in order, with one doorbell at its end. Stops at the first that is refused
  /// (kNoMemory: no room in the send queue; kInvalid) and rings for those before it.
  struct PostResult {
    Errno error = Errno::kOk;
    std::uint32_t posted = 0;
  };
  PostResult post_send(CpuTask& task, QueuePair* qp, const SendRequest* requests,
                       std::uint32_t count);
  Errno post_send(CpuTask& task, QueuePair* qp, const SendRequest& request) {
    return post_send(task, qp, &request, 1).error;
  }
  /// Posts receives, in order: entries in the ring, then once the doorbell record. No MMIO store,
  /// unless the queue pair is known to be in error. Stops as post_send does.
  PostResult post_recv(CpuTask& task, QueuePair* qp, const ReceiveRequest* requests,
                       std::uint32_t count);
  Errno post_recv(CpuTask& task, QueuePair* qp, const ReceiveRequest& request) {
    return post_recv(task, qp, &request, 1).error;
  }
  PostResult post_srq_recv(CpuTask& task, SharedReceiveQueue* srq, const ReceiveRequest* requests,
                           std::uint32_t count) {
    return post_receives(task, srq->receives(), requests, count);
  }
  /// Takes up to `capacity` completions that are there now; returns how many.
  std::uint32_t poll_cq(CpuTask& task, CompletionQueue* cq, WorkCompletion* out,
                        std::uint32_t capacity);
  /// As poll_cq called again and again until it returns at least one, computed instead of executed.
  /// REQUIRES: capacity > 0.
  std::uint32_t wait_cq(CpuTask& task, CompletionQueue* cq, WorkCompletion* out,
                        std::uint32_t capacity);

  // Events.
  /// Asks for one event when an entry comes that poll_cq has not taken yet (solicited_only: of a
  /// SEND that its sender marked, or of an error). kInvalid: it has no channel.
  Errno req_notify_cq(CpuTask& task, CompletionQueue* cq, bool solicited_only = false);
  /// Sleeps until one of the channel's queues has an event, which is to be acknowledged.
  CompletionQueue* get_cq_event(CpuTask& task, CompletionChannel* channel);
  void ack_cq_events(CompletionQueue* cq, std::uint32_t count) { cq->acknowledge(count); }
  /// What happened to this process's queues and queue pairs: overrun, error, limit. Nothing that
  /// happened before the driver's event queue was made (driver_event_queue).
  Result<std::optional<DeviceEvent>> poll_async_event(CpuTask& task);
  /// Sleeps until there is one.
  Result<DeviceEvent> get_async_event(CpuTask& task);

  /// kPostSend, kDoorbellRung, kCompletionPolled, kProgramWoken.
  Probe& probe() { return probe_; }

 private:
  struct Posting;
  Errno add_request(CpuTask& task, QueuePair& qp, const SendRequest& request, Posting& posting);
  void ring_doorbell(CpuTask& task, QueuePair& qp, const Posting& posting);
  PostResult post_receives(CpuTask& task, UserReceiveQueue& queue, const ReceiveRequest* requests,
                           std::uint32_t count);
  void ring_receive_doorbell(CpuTask& task, QueuePair& qp);
  bool entry_ready(const CompletionQueue& cq) const;
  std::uint32_t take_entries(CpuTask& task, CompletionQueue& cq, WorkCompletion* out,
                             std::uint32_t capacity);
  WorkCompletion complete(CpuTask& task, const abi::Cqe& cqe);
  void complete_send(QueuePair& qp, const abi::Cqe& cqe, WorkCompletion& completion);
  void complete_receive(CpuTask& task, QueuePair& qp, const abi::Cqe& cqe,
                        WorkCompletion& completion);
  void note_failure(QueuePair& qp);

  VerbsConfig config_;
  Driver& driver_;
  PageTable& pages_;
  Memory& memory_;
  MmioPort& mmio_;
  Probe probe_;
  EventChannel async_;
  std::vector<std::unique_ptr<CompletionChannel>> channels_;
  std::vector<std::unique_ptr<CompletionQueue>> cqs_;
  std::vector<std::unique_ptr<SharedReceiveQueue>> srqs_;
  std::vector<std::unique_ptr<QueuePair>> qps_;  ///< by number; null where not ours
  Ring<QueuePair*> newly_failed_;                ///< their receives need a doorbell
};

}  // namespace rnicsim

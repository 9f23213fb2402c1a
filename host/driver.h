// SPDX-License-Identifier: MIT
// The kernel driver of the NIC: brings it up and owns everything that the NIC reads from host RAM.
//
// It shares only model/nic_abi with the NIC: it writes tables, contexts and rings into RAM and
// gives commands (command_channel); no C++ call reaches the NIC. Every call is a system call: it
// charges its cycles to the caller's core and waits for the NIC's answer.
//
// Models: protection domains, completion queues, queue pairs with their states (IBTA 10.3.1) and
// modify by command (only attributes that the transport has), memory regions and windows
// (memory_registration, demand_paging), shared receive queues (shared_receives), events
// (driver_event_queue). Ignores: resizing, address handles, per-process protection of objects.
// Rings are physically contiguous kernel memory that the process maps, so they need no translation
// table of their own (mlx5 pages them).
#pragma once

#include <cstdint>
#include <optional>

#include "host/command_channel.h"
#include "host/cpu_core.h"
#include "host/demand_paging.h"
#include "host/driver_config.h"
#include "host/driver_event_queue.h"
#include "host/frame_allocator.h"
#include "host/memory.h"
#include "host/memory_registration.h"
#include "host/mmio.h"
#include "host/numbered.h"
#include "host/result.h"
#include "host/shared_receives.h"
#include "host/user_receive_queue.h"
#include "model/ethernet_abi.h"
#include "model/metrics.h"
#include "model/nic_abi.h"
#include "model/probe.h"

namespace rnicsim {

/// Rings of a completion queue, as the process maps them.
struct CqRings {
  Cqn cqn;
  std::uint8_t log_size = 0;
  PhysicalAddress ring;
  PhysicalAddress doorbell_record;  ///< u32 consumer index
};

/// Rings of a queue pair, as the process maps them.
struct QpRings {
  Qpn qpn;
  std::uint8_t log_send_blocks = 0;
  PhysicalAddress send_ring;
  PhysicalAddress doorbell_record;
  std::optional<ReceiveMapping> receive;  ///< with the same doorbell record
};

struct QpInit {
  PdNumber pd;
  Cqn send_cq;
  Cqn receive_cq;
  Transport transport = Transport::kRc;
  std::uint8_t log_send_blocks = 7;  ///< at most 15: block indices have 16 bits
  bool has_receive_queue = false;
  std::uint8_t log_receive_entries = 0;
  std::uint8_t log_receive_segments = 0;
  std::uint32_t srqn = 0;  ///< 0 = none
  bool inline_receive = false;
};

/// What modify changes; absent = as it was.
struct QpAttributes {
  std::optional<QpState> state;
  std::optional<AccessFlags> access;
  std::optional<std::uint32_t> path_mtu;  ///< 256, 512, 1024, 2048 or 4096
  std::optional<Qpn> remote_qpn;
  std::optional<abi::Ipv4Address> remote_ip;
  std::optional<abi::MacAddress> remote_mac;
  std::optional<std::uint16_t> udp_source_port;
  std::optional<std::uint16_t> remote_lid;  ///< of InfiniBand
  std::optional<Psn> receive_psn;           ///< first PSN expected
  std::optional<Psn> send_psn;              ///< first PSN sent
  std::optional<std::uint8_t> ack_timeout;
  std::optional<std::uint8_t> retry_count;
  std::optional<std::uint8_t> rnr_retry;
  std::optional<std::uint8_t> dscp;
  std::optional<std::uint8_t> service_level;       ///< of InfiniBand
  std::optional<std::uint8_t> min_rnr_timer;       ///< code of IBTA table 46
  std::optional<std::uint8_t> max_rd_atomic;       ///< READs and atomics outstanding, at most 16
  std::optional<std::uint8_t> max_dest_rd_atomic;  ///< of the other side, here
  std::optional<std::uint32_t> qkey;
  bool notify_drained = false;  ///< to SQD: an event when what was begun is complete
};

class Driver {
 public:
  /// `nic`: the NIC's number in the run, part of every work request's name. `guard` learns of the
  /// memory regions.
  Driver(const DriverConfig& config, std::uint16_t nic, Memory& memory, FrameAllocator& frames,
         MmioPort& mmio, DmaGuard& guard, InterruptController& interrupts);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Allocates the tables and tells the NIC (kInitHca). Once, before everything else; a call while
  /// it runs or after it does nothing but wait for its end.
  Errno bring_up(CpuTask& task);

  PdNumber alloc_pd(CpuTask& task);
  /// `events`: it may be armed; needs open_events() before.
  Result<CqRings> create_cq(CpuTask& task, std::uint8_t log_size, bool events = false);
  /// An event is held back until there are `count` entries or `period_us` since the first of them.
  Errno modify_cq(CpuTask& task, Cqn cqn, std::uint16_t count, std::uint16_t period_us);
  Errno destroy_cq(CpuTask& task, Cqn cqn);
  Result<QpRings> create_qp(CpuTask& task, const QpInit& init);
  Errno modify_qp(CpuTask& task, Qpn qpn, const QpAttributes& attributes);
  /// The context as the NIC has it now.
  Result<abi::QpContext> query_qp(CpuTask& task, Qpn qpn);
  Errno destroy_qp(CpuTask& task, Qpn qpn);
  MemoryRegistration& regions() { return registration_; }
  /// What watches the NIC's DMA; it learns of memory for plain frames by those who lend it.
  DmaGuard& guard() { return guard_; }
  SharedReceives& shared_receives() { return shared_receives_; }
  /// Makes the event queue if there is none yet.
  Errno open_events(CpuTask& task) { return events_.open(task, mailbox_); }
  DriverEventQueue& events() { return events_; }
  /// Of plain Ethernet; `number` is the caller's choice.
  Errno create_ethernet_queue(CpuTask& task, std::uint32_t number,
                              const abi::EthernetQueueContext& context);
  /// What comes of this flow goes to the rule's receive queue; `number` is the caller's choice.
  Errno set_flow_rule(CpuTask& task, std::uint32_t number, const abi::EthernetFlowRule& rule);
  /// No longer.
  Errno clear_flow_rule(CpuTask& task, std::uint32_t number);
  const DriverConfig& config() const { return config_; }

  std::uint16_t nic() const { return nic_; }
  /// Where the NIC's tables stand in host RAM.
  const abi::HcaTables& tables() const { return tables_; }
  /// kRegisterPin, kRegisterTable, kRegisterKey, kPagesBrought.
  Probe& probe() { return probe_; }
  /// Under `scope`, below its NIC as there is one instance for each ("host.A.nic0.driver"):
  /// commands, regions, translation_table.bytes.
  void report(const MetricScope& scope) const;

 private:
  Errno allocate_tables();
  Errno execute(CpuTask& task, abi::CommandOpcode opcode, std::uint32_t object,
                const std::uint8_t* mailbox, std::size_t bytes);
  Errno modify(CpuTask& task, std::uint32_t qpn, abi::QpContext wanted);
  /// Allocates the rings; nothing if there is no memory or no number left.
  std::optional<abi::QpContext> make_qp_context(const QpInit& init);
  void free_rings(const abi::QpContext& context);
  void write_cq_context(Cqn cqn, const abi::CqContext& context);

  DriverConfig config_;
  std::uint16_t nic_;
  Memory& memory_;
  FrameAllocator& frames_;
  DmaGuard& guard_;
  CommandChannel commands_;
  Probe probe_;
  MemoryRegistration registration_;
  DemandPaging paging_;
  SharedReceives shared_receives_;
  DriverEventQueue events_;
  abi::HcaTables tables_;
  PhysicalAddress mailbox_;
  bool up_ = false;
  std::uint32_t next_pd_ = 1;
  Numbered<CqRings> cqs_;
  /// The driver's image of each context. 0 and 1 belong to management (IBTA 3.9.1).
  Numbered<abi::QpContext> qps_{2};
};

}  // namespace rnicsim

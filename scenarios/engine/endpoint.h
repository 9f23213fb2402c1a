// SPDX-License-Identifier: MIT
// One program's end of a connection: its process and thread, its memory region, its queues and
// queue pairs, and how it sets them up and connects them, through the verbs library only.
//
// What the scenario got wrong and only a call can tell (memory that does not suffice) is bad input;
// any other call that fails is a fault of the simulator.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/gpu_copy.h"
#include "host/host.h"
#include "model/probe.h"
#include "scenarios/engine/introduction.h"
#include "scenarios/engine/programs.h"
#include "scenarios/engine/region_image.h"
#include "scenarios/engine/system.h"
#include "scenarios/engine/workload_spec.h"

namespace rnicsim {

/// InfiniBand's service level for the class selector of a workload's DSCP.
inline std::uint8_t service_level_of(std::uint8_t dscp) { return dscp >> 3; }

class Endpoint {
 public:
  /// What its queue pairs are for.
  struct Plan {
    std::uint32_t sends = 1;     ///< outstanding send requests of a queue pair
    std::uint32_t receives = 0;  ///< and receives
    bool own_receive_cq = false;
    Bytes inline_up_to;
    AccessFlags access;  ///< what the peer may do through them
  };

  Endpoint(System& system, const WorkloadSpec& spec, const std::string& host, unsigned core,
           ProbeSink* observer, unsigned nic = 0);

  /// Starts a program of this process on its core, now or when the run begins.
  void start(const std::string& role, const std::function<void(CpuTask&)>& body) {
    programs_.start(core_, role, body);
  }
  /// All of them.
  bool finished() const { return programs_.finished(); }
  /// How many of its programs have not ended.
  std::size_t running() const { return programs_.running(); }

  /// A buffer in the process's memory, registered, as so many regions as the workload says.
  void prepare(CpuTask& task, Bytes length, AccessFlags access);
  /// One more, of the same protection domain.
  MemoryRegion add_region(CpuTask& task, Bytes length, AccessFlags access);
  void create_queue_pairs(CpuTask& task, const Plan& plan);
  /// With as many places as the workload says, or `entries`.
  CompletionQueue* create_cq(CpuTask& task, std::uint32_t entries);
  /// One more, in INIT. REQUIRES: `cq` and `receive_cq` are there.
  QueuePair* add_queue_pair(CpuTask& task, const Plan& plan);
  /// What a queue pair's packets go to.
  struct Peer {
    PortIdentity port;
    std::uint32_t qpn = 0;
    std::uint8_t dscp = 0;
  };
  /// INIT -> RTR -> RTS of one of them.
  void connect(CpuTask& task, QueuePair* qp, const Peer& peer);
  Introduction introduce() const;
  /// INIT -> RTR -> RTS.
  void connect(CpuTask& task, const Introduction& peer);
  /// To RESET, whatever state they are in, and to INIT, so as to connect again. REQUIRES: nothing
  /// is left to be polled.
  void reset(CpuTask& task);
  /// Which of `qps` has this number; their count if none has.
  std::size_t index_of(Qpn qpn) const;
  /// Every queue pair; there are none after the second.
  void move_all(CpuTask& task, QpState state);
  void destroy_all(CpuTask& task);
  /// How many of its queue pairs are in ERR.
  std::uint64_t count_in_error(CpuTask& task);

  /// Takes completions, at least one, by polling or asleep, as the workload says.
  std::uint32_t wait(CpuTask& task, CompletionQueue* cq, WorkCompletion* out,
                     std::uint32_t capacity);
  /// Copies a message between this side's GPU and the place of the buffer that stands in for it, if
  /// the workload stages; the program waits for it.
  void stage(CpuTask& task, std::uint64_t offset, Bytes bytes, CopyDirection direction);
  /// As datagrams to the queue pair's peer need it.
  void address(SendRequest& request, std::size_t qp) const;
  ScatterGather piece(std::uint64_t offset, Bytes bytes) const {
    const std::size_t nth = spec.region_at(offset);
    return {VirtualAddress(region.address.value() + offset),
            static_cast<std::uint32_t>(bytes.count()), nth == 0 ? region.lkey : more_keys[nth - 1]};
  }
  RegionImage image() { return {process.pages, region.address, region.length}; }

  const WorkloadSpec& spec;
  std::string host;
  Process process;
  PortIdentity port;
  PdNumber pd;
  MemoryRegion region;               ///< of several, all of the memory and the first one's keys
  std::vector<MemoryKey> more_keys;  ///< those of the further ones
  CompletionQueue* cq = nullptr;
  CompletionQueue* receive_cq = nullptr;  ///< the same, unless the plan wants its own
  std::vector<QueuePair*> qps;
  const char* doing = "starting";

 private:
  VirtualAddress map(Bytes length);
  void register_pieces(CpuTask& task, VirtualAddress address, Bytes length, AccessFlags access);
  MemoryRegion register_memory(CpuTask& task, VirtualAddress address, Bytes length,
                               AccessFlags access);
  void to_init(CpuTask& task, QueuePair* qp, AccessFlags access);
  QpAttributes ready_to_receive(const QueuePair& qp, const Peer& peer) const;
  QpAttributes ready_to_send(const QueuePair& qp) const;
  [[noreturn]] void out_of_memory(const std::string& what) const;

  Host& machine_;
  unsigned nic_;
  CpuCore& core_;
  Probe probe_;
  std::optional<Introduction> peer_;
  AccessFlags access_;
  std::unordered_map<std::uint32_t, std::size_t> by_number_;
  Programs programs_;
};

/// A key like this one that no region ever had.
inline MemoryKey never_issued(MemoryKey key) { return {key.index() + 1000, 0x5a}; }

/// A call that must not fail.
void require(Errno error, const char* call);

}  // namespace rnicsim

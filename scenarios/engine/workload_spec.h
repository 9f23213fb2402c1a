// SPDX-License-Identifier: MIT
// One entry of a scenario's `workload`: which programs run on two hosts and what they do.
//
// `pairs` takes the keys from `operation` on; `perftest` (scenarios/engine/perftest_plan) those
// from `test` on, `rkey_guessing` those from `tries` on, `pcie_bench` its own object of that name.
// Connection, transport and reliability belong to all. The patterns of flows
// (scenarios/engine/flows) name lists of hosts and share some keys with `pairs`: operation, size,
// count, queue_depth, region, completion.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/config_reader.h"
#include "model/units.h"
#include "model/verbs_types.h"
#include "nic/ring_exerciser.h"

namespace rnicsim {

/// How two programs talk: by verbs over a transport service, or through sockets.
enum class WorkloadTransport : std::uint8_t { kRc, kUc, kUd, kTcp };

enum class WorkloadPattern : std::uint8_t {
  kPairs,
  kPerftest,
  kRkeyGuessing,
  kRegistration,
  kPcieBench,
  // Of flows:
  kIncast,
  kPermutation,
  kAllToAll,
  kPoisson,
  kClosedLoop,
  kFlowFile,
  kFlowList,
};
constexpr bool is_of_flows(WorkloadPattern pattern) { return pattern >= WorkloadPattern::kIncast; }
enum class Operation : std::uint8_t {
  kWrite,
  kWriteImm,
  kRead,
  kSend,
  kSendImm,
  kSendInvalidate,
  kCompareSwap,
  kFetchAdd,
  kBindWindow,
};
enum class CompletionMode : std::uint8_t {
  kPolling,
  kEvents,  ///< asleep until the completion channel has an event
};
/// Where in its region each message goes to or comes from, in steps of the message size.
enum class OffsetPattern : std::uint8_t { kFixed, kSequential, kRandom };

/// How the address or key that B hands to A is falsified.
enum class AccessFault : std::uint8_t {
  kNone,
  kWrongKey,     ///< a key that was never issued
  kStaleKey,     ///< the key of a region that has been deregistered
  kBelow,        ///< an address below the region
  kBelowByOne,   ///< one byte below
  kBeyond,       ///< an address beyond the region
  kBeyondByOne,  ///< the last byte is one beyond
  kWrap,         ///< address + length passes 2^64
  kNoRight,      ///< the region was registered without the right to the operation
  kWrongPd,      ///< the key belongs to another protection domain
  kSilent,       ///< it never hands anything over: the initiator waits for ever
};

/// What is wrong with the memory that a work request of the initiator, or a receive, names.
enum class LocalFault : std::uint8_t {
  kNone,
  kWrongKey,  ///< an lkey that was never issued
  kBeyond,    ///< the last byte lies beyond the region
  kShort,     ///< of receives: half of what comes fits
};

/// What the target does to itself while messages are under way.
enum class TargetFault : std::uint8_t {
  kNone,
  kDeregister,  ///< its region
  kQpError,     ///< moves its queue pairs to ERR
  kQpReset,
  kQpDestroy,
};

/// The memory that regions stand in unless a workload says otherwise.
inline constexpr const char* kHostMemory = "host";
/// Whose regions are paged on demand.
enum class OnDemand : std::uint8_t { kNone, kFrom, kTo, kBoth };
/// How RDMA gets at a GPU's memory.
enum class GpuPath : std::uint8_t {
  kDirect,   ///< the NIC reads and writes it (GPUDirect RDMA)
  kStaged,   ///< through a buffer in host memory, copied by the GPU
  kCpuCopy,  ///< the same, copied by the program's core
};

/// Which of a host's NICs its flows take.
enum class NicChoice : std::uint8_t { kFirst, kRoundRobin };

/// One of a list of flows.
struct FlowSpec {
  std::optional<std::string> name;
  std::string from;
  std::string to;
  Bytes size{65536};
  Time start;
  std::vector<std::string> after;  ///< names of others
  std::optional<std::uint8_t> priority;
  void describe(Fields& f);
};

enum class PerftestProgram : std::uint8_t {
  kNone,
  kWriteBw,
  kWriteLat,
  kReadBw,
  kReadLat,
  kSendBw,
  kSendLat,
  kAtomicBw,
  kAtomicLat,
  kTcpBw,
  kTcpLat,
};
constexpr bool is_of_sockets(PerftestProgram program) {
  return program == PerftestProgram::kTcpBw || program == PerftestProgram::kTcpLat;
}

/// How two programs hand each other addresses and keys.
enum class ControlKind : std::uint8_t { kFixed, kTcp };

/// What programs that talk over TCP do with their sockets.
struct TcpWorkloadSpec {
  Bytes response;
  std::optional<Bytes> receive_size;
  std::optional<std::uint16_t> port;  ///< once checked, the first one
  bool nodelay = false;
  bool zero_copy = false;
  bool busy_poll = false;
  void describe(Fields& f);
};

enum class PcieBenchOperation : std::uint8_t {
  kRead,
  kWrite,
  kReadWrite,
  kLatencyRead,
  kLatencyWriteRead,
  kLatencyStore,
  // Of descriptor rings:
  kNicTx,
  kNicRx,
  kNicBidirectional,
};
constexpr bool is_of_rings(PcieBenchOperation operation) {
  return operation >= PcieBenchOperation::kNicTx;
}
enum class PcieBenchCache : std::uint8_t { kCold, kWarm };

/// How driver and NIC work with their rings.
struct PcieBenchRings {
  DescriptorRingStyle transmit;
  DescriptorRingStyle receive;
  void describe(Fields& f);
};

/// What the pattern pcie_bench measures: each operation with each size over each window, one after
/// the other.
struct PcieBenchSpec {
  AnyJson operations_rule;  ///< as the file has it
  AnyJson sizes_rule;
  AnyJson windows_rule;
  bool engine = true;
  PcieBenchCache cache = PcieBenchCache::kWarm;
  bool random = true;
  Bytes offset;
  std::uint64_t count = 2000;
  std::optional<PcieBenchRings> rings;
  void describe(Fields& f);

  std::vector<PcieBenchOperation> operations;  ///< of the rules, or the defaults
  std::vector<Bytes> sizes;
  std::vector<Bytes> windows;
};

constexpr bool is_atomic(Operation operation) {
  return operation == Operation::kCompareSwap || operation == Operation::kFetchAdd;
}
constexpr bool is_send(Operation operation) {
  return operation == Operation::kSend || operation == Operation::kSendImm ||
         operation == Operation::kSendInvalidate;
}
/// Done by the initiator's NIC alone: nothing goes over the wire.
constexpr bool is_local(Operation operation) { return operation == Operation::kBindWindow; }
/// It names memory of the target.
constexpr bool has_remote_address(Operation operation) {
  return !is_send(operation) && !is_local(operation);
}
/// The target has to post a receive for each.
constexpr bool takes_receive(Operation operation) {
  return is_send(operation) || operation == Operation::kWriteImm;
}
/// The answer is data, which the initiator's NIC keeps room for.
constexpr bool brings_data(Operation operation) {
  return operation == Operation::kRead || is_atomic(operation);
}

constexpr Bytes kAtomicBytes{8};
/// What stands before the payload in the receive buffer of a datagram.
constexpr Bytes kGrhBytes{40};

struct WorkloadSpec {
  std::string name;
  WorkloadPattern pattern = WorkloadPattern::kPairs;
  WorkloadTransport transport = WorkloadTransport::kRc;
  AnyJson from_rule;  ///< as the file has it
  AnyJson to_rule;
  std::string from;  ///< of one host; patterns of flows have `senders` and `receivers`
  std::string to;
  std::uint32_t queue_pairs = 1;
  Bytes path_mtu{4096};
  Time start;
  ControlKind control = ControlKind::kFixed;
  std::optional<std::uint16_t> control_port;  ///< once checked, if it is TCP: where `to` listens
  Time control_latency = Time::us(10);
  std::uint8_t max_rd_atomic = 16;
  std::uint8_t max_dest_rd_atomic = 16;
  std::uint8_t ack_timeout = 14;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t min_rnr_timer = 12;
  std::uint8_t dscp = 26;
  std::optional<std::uint32_t> receive_depth;

  Operation operation = Operation::kWrite;
  Bytes size{65536};
  std::uint64_t count = 1;
  std::uint64_t warm_up = 0;        ///< of count, the first that statistics leave out
  std::uint32_t queue_depth = 128;  ///< outstanding work requests of a queue pair
  std::uint32_t signal_every = 1;
  std::uint32_t post_list = 1;  ///< messages of one call of post_send, with one doorbell
  AnyJson inline_rule;          ///< as the file has it
  Bytes inline_up_to;           ///< messages up to this size travel in their WQE; 0: none
  OffsetPattern remote_offset = OffsetPattern::kFixed;
  OffsetPattern local_offset = OffsetPattern::kFixed;
  std::optional<Bytes> region;
  std::uint32_t regions = 1;     ///< that each side's memory is registered as
  std::optional<Bytes> spacing;  ///< from one place to the next
  bool inline_receive = false;
  std::optional<std::string> memory;
  std::optional<std::string> from_memory;  ///< once checked, `memory` if it says nothing
  std::optional<std::string> to_memory;
  OnDemand on_demand = OnDemand::kNone;
  GpuPath path = GpuPath::kDirect;
  bool fence = false;
  CompletionMode completion = CompletionMode::kPolling;
  Time receiver_delay;
  bool remote_write = true;
  AccessFault fault = AccessFault::kNone;
  LocalFault local_fault = LocalFault::kNone;
  LocalFault receive_fault = LocalFault::kNone;
  TargetFault target_fault = TargetFault::kNone;
  Time target_fault_after;
  std::optional<std::uint32_t> cq_entries;
  bool receiver_polls = true;

  PerftestProgram test = PerftestProgram::kNone;
  AnyJson sizes_rule;  ///< as the file has it
  std::optional<std::uint32_t> tx_depth;
  std::optional<std::uint32_t> cq_moderation;
  std::optional<Bytes> inline_size;
  std::optional<std::uint32_t> iterations;
  bool bidirectional = false;
  std::vector<Bytes> sizes;  ///< of `sizes_rule`, or the program's default

  std::optional<std::uint32_t> tries;
  std::optional<std::uint32_t> target_regions;

  std::optional<PcieBenchSpec> pcie_bench;
  std::optional<TcpWorkloadSpec> tcp;  ///< once checked, there if it goes over TCP

  std::optional<std::uint32_t> in_flight;
  std::optional<Bytes> message_size;
  std::optional<double> load;
  std::optional<Time> duration;
  std::optional<std::string> cdf;
  std::optional<std::string> file;
  std::optional<Time> think_time;
  NicChoice nic_choice = NicChoice::kFirst;
  std::vector<FlowSpec> flows;
  std::vector<std::uint32_t> senders;  ///< end points, ascending
  std::vector<std::uint32_t> receivers;
  std::string folder;  ///< of the scenario: `cdf` and `file` are relative to it

  void describe(Fields& f);

  bool is_over_tcp() const { return transport == WorkloadTransport::kTcp; }
  /// REQUIRES: it goes by verbs.
  Transport service() const { return static_cast<Transport>(transport); }
  /// Whether a side's regions are paged on demand.
  bool pages_on_demand(const std::string& host) const {
    return on_demand == OnDemand::kBoth ||
           on_demand == (host == from ? OnDemand::kFrom : OnDemand::kTo);
  }
  /// The number of the GPU that a side's region stands in, if it does.
  std::optional<unsigned> gpu_of(const std::string& host) const;
  /// What a message carries.
  Bytes payload() const { return is_local(operation) ? Bytes(0) : size; }
  /// From one message's place in a region to the next one's.
  Bytes step() const {
    return spacing.value_or(transport == WorkloadTransport::kUd ? size + kGrhBytes : size);
  }
  /// Of either side's region: at least one message for each queue pair, and of atomics one answer
  /// for each that may be outstanding.
  Bytes region_size() const {
    const std::uint64_t places = is_atomic(operation) ? queue_depth : 1;
    const Bytes least = std::max(step(), Bytes(1)) * (queue_pairs * places);
    return std::max(region.value_or(least), least);
  }

  /// Of each region but the last, which has the rest too.
  Bytes region_length() const {
    return regions == 1 ? region_size()
                        : step() * (region_size().count() / step().count() / regions);
  }
  /// Which region a place is in.
  std::size_t region_at(std::uint64_t offset) const {
    if (regions == 1) return 0;
    return std::min<std::uint64_t>(offset / region_length().count(), regions - 1);
  }

  // Messages go round robin over the queue pairs, a list at a time.
  std::uint32_t queue_pair_of(std::uint64_t number) const {
    return static_cast<std::uint32_t>(number / post_list % queue_pairs);
  }
  /// The how-manieth on its queue pair it is.
  std::uint64_t nth_of(std::uint64_t number) const {
    return number / post_list / queue_pairs * post_list + number % post_list;
  }
  std::uint64_t number_of(std::uint32_t queue_pair, std::uint64_t nth) const {
    return (nth / post_list * queue_pairs + queue_pair) * post_list + nth % post_list;
  }
  /// How many go over one queue pair.
  std::uint64_t count_of(std::uint32_t queue_pair) const {
    const std::uint64_t round = std::uint64_t{queue_pairs} * post_list;
    const std::uint64_t before = std::uint64_t{queue_pair} * post_list;
    const std::uint64_t rest = count % round;
    return count / round * post_list +
           std::min<std::uint64_t>(rest - std::min(rest, before), post_list);
  }

 private:
  void describe_connection(Fields& f);
  void describe_pairs(Fields& f);
  void describe_faults(Fields& f);
  void describe_perftest(Fields& f);
  void describe_rkey_guessing(Fields& f);
  void describe_flows(Fields& f);
};

/// As scenario files write it.
const char* name_of(WorkloadPattern pattern);
const char* name_of(WorkloadTransport transport);
const char* name_of(PerftestProgram program);
const char* name_of(Operation operation);
const char* name_of(PcieBenchOperation operation);

}  // namespace rnicsim

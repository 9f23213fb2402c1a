// SPDX-License-Identifier: MIT
// A scenario file as checked structs: hosts with their NICs, the fabric between them, the workload,
// variants, and what is expected of a run. Each struct describes its own keys; what the blocks can
// be set to comes from the blocks' own configurations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/fault_config.h"
#include "fabric/link_config.h"
#include "host/host_config.h"
#include "model/config_reader.h"
#include "model/packet.h"
#include "model/units.h"
#include "nic/nic_config.h"
#include "scenarios/engine/expectation_spec.h"

namespace rnicsim {

enum class PayloadMode : std::uint8_t {
  kCarried,  ///< bytes are read, carried, written and compared
  kElided,   ///< the same times without the bytes
};

struct EngineSpec {
  bool run_ahead = true;
  PayloadMode payload = PayloadMode::kCarried;
  void describe(Fields& f);
};

struct NicSpec {
  std::optional<std::string> preset;
  NicConfig config;  ///< its keys stand beside "preset"
  void describe(Fields& f);
};

struct HostSpec {
  std::string name;
  std::optional<std::string> preset;
  HostConfig config;  ///< its keys stand beside "name"
  std::vector<NicSpec> nics{1};
  void describe(Fields& f);
};

struct LinkSpec {
  std::optional<std::string> preset;
  LinkConfig config;  ///< its keys stand beside "preset"
  std::vector<FaultRule> faults;
  void describe(Fields& f);
};

enum class Topology : std::uint8_t { kBackToBack };

struct FabricSpec {
  Topology topology = Topology::kBackToBack;
  LinkLayer link_layer = LinkLayer::kRoceV2;
  LinkSpec link;
  void describe(Fields& f);
};

enum class WorkloadPattern : std::uint8_t { kPairs };
enum class Operation : std::uint8_t { kWrite };
enum class TransportKind : std::uint8_t { kRc };
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
  kNoRight,      ///< the region was registered without remote write
  kWrongPd,      ///< the key belongs to another protection domain
  kSilent,       ///< it never hands anything over: the initiator waits for ever
};

struct WorkloadSpec {
  std::string name;
  WorkloadPattern pattern = WorkloadPattern::kPairs;
  Operation operation = Operation::kWrite;
  TransportKind transport = TransportKind::kRc;
  std::string from;
  std::string to;
  Bytes size{65536};
  std::uint64_t count = 1;
  std::uint64_t warm_up = 0;  ///< of count, the first that statistics leave out
  std::uint32_t queue_pairs = 1;
  std::uint32_t queue_depth = 128;  ///< outstanding work requests of a queue pair
  std::uint32_t signal_every = 1;
  Bytes path_mtu{4096};
  AnyJson inline_rule;  ///< as the file has it
  Bytes inline_up_to;   ///< messages up to this size travel in their WQE; 0: none
  Time start;
  Time control_latency = Time::us(10);
  OffsetPattern remote_offset = OffsetPattern::kFixed;
  OffsetPattern local_offset = OffsetPattern::kFixed;
  std::optional<Bytes> region;
  bool remote_write = true;
  AccessFault fault = AccessFault::kNone;
  void describe(Fields& f);

  /// Of either side's region: at least one message for each queue pair.
  Bytes region_size() const {
    const Bytes least = std::max(size, Bytes(1)) * queue_pairs;
    return std::max(region.value_or(least), least);
  }
};

struct TimelineSpec {
  std::uint32_t work_requests = 1;
  void describe(Fields& f);
};

struct VariantSpec {
  std::string name;
  std::string title;
  AnyJson set;  ///< object: path -> value
  void describe(Fields& f);
};

struct Scenario {
  std::string title;
  std::uint64_t seed = 1;
  Time stop_at = Time::s(1);
  EngineSpec engine;
  std::vector<HostSpec> hosts;
  FabricSpec fabric;
  std::vector<WorkloadSpec> workload;
  TimelineSpec timeline;
  std::vector<VariantSpec> variants;
  std::vector<ExpectationSpec> expect;
  void describe(Fields& f);

  std::string variant;  ///< which one this is; empty: the scenario itself
};

}  // namespace rnicsim

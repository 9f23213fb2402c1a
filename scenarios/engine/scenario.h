// SPDX-License-Identifier: MIT
// A scenario file as checked structs: hosts with their NICs, the fabric between them, the workload,
// variants, and what is expected of a run. Each struct describes its own keys; what the blocks can
// be set to comes from the blocks' own configurations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/fault_config.h"
#include "fabric/link_config.h"
#include "fabric/link_failure_config.h"
#include "fabric/switch_config.h"
#include "fabric/topology_config.h"
#include "host/host_config.h"
#include "model/config_reader.h"
#include "model/credit.h"
#include "model/packet.h"
#include "model/units.h"
#include "nic/dma_exerciser.h"
#include "nic/nic_config.h"
#include "scenarios/engine/comparison_spec.h"
#include "scenarios/engine/expectation_spec.h"
#include "scenarios/engine/workload_spec.h"

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

struct ExerciserSpec {
  std::optional<std::string> preset;
  DmaExerciserConfig config;  ///< its keys stand beside "preset"
  void describe(Fields& f);
};

struct HostSpec {
  std::string name;
  std::optional<std::string> preset;
  std::uint32_t count = 1;  ///< above 1: hosts name0, name1, ...
  HostConfig config;        ///< its keys stand beside "name"
  std::vector<NicSpec> nics{1};
  std::optional<ExerciserSpec> exerciser;
  void describe(Fields& f);
  std::vector<std::string> machine_names() const;
};

struct LinkSpec {
  std::optional<std::string> preset;
  LinkConfig config;  ///< its keys stand beside "preset"
  std::vector<FaultRule> faults;
  void describe(Fields& f);
};

/// A cable that differs from `link`: what is not said is as it is there.
struct OtherLinkSpec {
  std::optional<std::string> preset;
  LinkConfig config;
  void describe(Fields& f);
};

struct SwitchSpec {
  std::optional<std::string> preset;
  SwitchConfig config;  ///< its keys stand beside "preset"
  void describe(Fields& f);
};

/// Switches that differ from `switch`: what is not said is as it is there.
struct OtherSwitchSpec {
  std::string name;  ///< a glob
  SwitchSpec spec;   ///< its keys stand beside "name"
  void describe(Fields& f);
};

struct FabricSpec {
  TopologyConfig topology;  ///< its keys stand here
  LinkLayer link_layer = LinkLayer::kRoceV2;
  IpVersion ip_version = IpVersion::kIpv4;  ///< of RoCEv2
  std::optional<CreditConfig> infiniband;
  LinkSpec link;
  std::optional<OtherLinkSpec> switch_link;  ///< between switches
  std::optional<OtherLinkSpec> global_link;  ///< between groups of a dragonfly
  SwitchSpec switch_default;                 ///< key "switch"
  std::vector<OtherSwitchSpec> switches;
  std::vector<LinkFailure> failures;
  std::string folder;  ///< of the scenario: a topology's file is relative to it
  void describe(Fields& f);
  Bytes smallest_mtu() const;
  /// Of the switch of that name: the last entry that names it, or the default.
  const SwitchConfig& switch_config(const std::string& name) const;
};
/// "RoCEv2 over IPv4"
const char* packet_format_name(const FabricSpec& fabric);
/// Whether a router can forward its packets.
inline bool is_routable(const FabricSpec& fabric) {
  return fabric.link_layer == LinkLayer::kRoceV2;
}

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

/// Takes a mechanism away, to show that what is expected depends on it. Only `rnicsim validate`
/// runs it by itself.
struct AblationSpec {
  std::string name;
  std::string title;
  AnyJson set;                     ///< as of a variant; laid over the runs that the rows need
  std::vector<std::string> fails;  ///< ids of expectations
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
  std::vector<AblationSpec> ablate;
  std::optional<ComparisonSpec> compare;
  void describe(Fields& f);

  std::string variant;  ///< which one this is; empty: the scenario itself

  /// The runs that an ablation has to repeat to judge its rows, each once.
  std::vector<std::string> variants_for(const AblationSpec& of) const;

  /// What a VLAN tag adds to frames, if any NIC sends one.
  Bytes tag_bytes() const;
  /// One a host, `count` taken apart.
  std::vector<HostSpec> machines() const;
};

/// Names of the NICs in the fabric, in the order of their numbers: "A", or "A.nic1" of a host with
/// several.
std::vector<std::string> end_point_names(const std::vector<HostSpec>& machines);

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/scenario.h"

#include <fnmatch.h>

#include <algorithm>

namespace rnicsim {

void EngineSpec::describe(Fields& f) {
  f.field("run_ahead", run_ahead,
          "run ahead of the kernel to its next activity; off: one instant at a time, same results");
  f.choice("payload", payload,
           {{"carried", PayloadMode::kCarried}, {"elided", PayloadMode::kElided}},
           "whether payload bytes are moved and compared, or only their times");
}

void NicSpec::describe(Fields& f) {
  f.optional("preset", preset, "name of a file in presets/nic that this is merged over");
  config.describe(f);
}

void ExerciserSpec::describe(Fields& f) {
  f.optional("preset", preset, "name of a file in presets/exerciser that this is merged over");
  config.describe(f);
}

void HostSpec::describe(Fields& f) {
  f.required().identifier("name", name, "name of the host");
  f.field("count", count, range(1, 65536), "above 1: as many hosts, name0, name1, ...");
  f.optional("preset", preset, "name of a file in presets/host that this is merged over");
  config.describe(f);
  f.list("nics", nics, ListLimits{1, 8, "nic"}, "the RDMA NICs");
  f.optional("exerciser", exerciser,
             "a raw DMA device on a PCIe link of its own, for the pattern \"pcie_bench\"");
}

void LinkSpec::describe(Fields& f) {
  f.optional("preset", preset, "name of a file in presets/link that this is merged over");
  config.describe(f);
  f.list("faults", faults, ListLimits{0, 1024},
         "injected faults: of these rules, the first that fires acts on a packet");
}

void OtherLinkSpec::describe(Fields& f) {
  f.optional("preset", preset, "name of a file in presets/link that this is merged over");
  config.describe(f);
}

void SwitchSpec::describe(Fields& f) {
  f.optional("preset", preset, "name of a file in presets/switch that this is merged over");
  config.describe(f);
}

void OtherSwitchSpec::describe(Fields& f) {
  f.required().field("name", name, "which ones, with * for any characters: \"leaf0\", \"spine*\"");
  spec.describe(f);
}

void FabricSpec::describe(Fields& f) {
  topology.describe(f);
  f.choice("link_layer", link_layer,
           {{"rocev2", LinkLayer::kRoceV2},
            {"rocev1", LinkLayer::kRoceV1},
            {"infiniband", LinkLayer::kInfiniBand}},
           "what carries RDMA: UDP over IP, which routers forward, Ethernet and a GRH alone, or "
           "InfiniBand's own links");
  f.choice("ip_version", ip_version, {{"ipv4", IpVersion::kIpv4}, {"ipv6", IpVersion::kIpv6}},
           "which IP it is, of RoCEv2");
  f.optional("infiniband", infiniband, "virtual lanes and credits, of link_layer \"infiniband\"");
  f.object("link", link, "the cables");
  f.optional("switch_link", switch_link, "those between switches, where they differ from `link`");
  f.optional("global_link", global_link,
             "those between groups of a dragonfly, where they differ from `switch_link`");
  f.object("switch", switch_default, "the switches");
  f.list("switches", switches, ListLimits{0, 65536},
         "switches that differ from `switch`, by name; of several that name one the last counts");
  f.list("failures", failures, ListLimits{0, 1024},
         "links that go down at a given time, and what switches do about it");
}

Bytes FabricSpec::smallest_mtu() const {
  Bytes least = link.config.mtu;
  if (switch_link) least = std::min(least, switch_link->config.mtu);
  if (global_link) least = std::min(least, global_link->config.mtu);
  return least;
}

const SwitchConfig& FabricSpec::switch_config(const std::string& name) const {
  for (auto other = switches.rbegin(); other != switches.rend(); ++other)
    if (fnmatch(other->name.c_str(), name.c_str(), 0) == 0) return other->spec.config;
  return switch_default.config;
}

const char* packet_format_name(const FabricSpec& fabric) {
  if (fabric.link_layer == LinkLayer::kRoceV1) return "RoCEv1";
  if (fabric.link_layer == LinkLayer::kInfiniBand) return "InfiniBand";
  return fabric.ip_version == IpVersion::kIpv6 ? "RoCEv2 over IPv6" : "RoCEv2 over IPv4";
}

void TimelineSpec::describe(Fields& f) {
  f.field("work_requests", work_requests, range(0, 1'000'000),
          "how many of each workload's first work requests the timeline shows");
}

void VariantSpec::describe(Fields& f) {
  f.required().identifier("name", name, "name of the variant");
  f.field("title", title, "one line for people");
  f.required().any("set", set, {"object"}, "path -> value, laid over the scenario");
}

void AblationSpec::describe(Fields& f) {
  f.required().identifier("name", name, "name of the ablation");
  f.field("title", title, "one line for people");
  f.required().any("set", set, {"object"}, "path -> value, laid over the runs of its rows");
  f.required().list("fails", fails, ListLimits{1, 1024},
                    "ids of expectations that must then fail; if one still holds, rnicsim "
                    "validate exits with 1");
}

void Scenario::describe(Fields& f) {
  f.field("title", title, "one line for people");
  f.field("seed", seed, "of all random choices; the same seed gives the same bytes");
  f.field("stop_at", stop_at, range(Time::ps(1), Time::s(1000)),
          "end of simulated time for a run that does not end by itself");
  f.object("engine", engine, "how the simulator works; changes no result");
  f.required().list("hosts", hosts, ListLimits{1, 65536}, "the servers");
  f.object("fabric", fabric, "what connects them");
  f.required().list("workload", workload, ListLimits{1, 65536}, "what the applications do");
  f.object("timeline", timeline, "how much of it the timeline shows");
  f.list("variants", variants, "runs of their own, each with some values changed");
  f.list("expect", expect, "what must come out; a run that fails it exits with 1");
  f.list("ablate", ablate,
         "mechanisms taken away to show that expectations depend on them: runs of rnicsim "
         "validate, or of --variant NAME");
  f.optional("compare", compare, "how rnicsim compare lays the runs side by side");
}

std::vector<std::string> HostSpec::machine_names() const {
  if (count == 1) return {name};
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) names.push_back(name + std::to_string(i));
  return names;
}

Bytes Scenario::tag_bytes() const {
  for (const HostSpec& host : hosts)
    for (const NicSpec& nic : host.nics)
      if (nic.config.port.vlan) return Bytes(VlanTag::kBytes);
  return Bytes(0);
}

std::vector<HostSpec> Scenario::machines() const {
  std::vector<HostSpec> machines;
  for (const HostSpec& host : hosts) {
    for (std::string& name : host.machine_names()) {
      machines.push_back(host);
      machines.back().name = std::move(name);
      machines.back().count = 1;
    }
  }
  return machines;
}

std::vector<std::string> Scenario::variants_for(const AblationSpec& of) const {
  std::vector<std::string> needed;
  const auto add = [&](const std::string& name) {
    if (std::find(needed.begin(), needed.end(), name) == needed.end()) needed.push_back(name);
  };
  for (const ExpectationSpec& row : expect) {
    if (!row.id || std::find(of.fails.begin(), of.fails.end(), *row.id) == of.fails.end()) continue;
    add(row.measured.variant);
    if (row.ratio_to || row.difference_to) add(row.reference.variant);
  }
  return needed;
}

std::vector<std::string> end_point_names(const std::vector<HostSpec>& machines) {
  std::vector<std::string> names;
  for (const HostSpec& machine : machines)
    for (std::size_t i = 0; i < machine.nics.size(); ++i)
      names.push_back(machine.nics.size() == 1 ? machine.name
                                               : machine.name + ".nic" + std::to_string(i));
  return names;
}

}  // namespace rnicsim

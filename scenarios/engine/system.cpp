// SPDX-License-Identifier: MIT
#include "scenarios/engine/system.h"

#include <algorithm>

#include "fabric/topology_builder.h"
#include "model/priority_arbiter.h"
#include "model/random.h"

namespace rnicsim {

namespace {

PortIdentity port_identity(std::uint16_t nic, const FabricSpec& fabric) {
  const std::uint32_t number = nic + 1U;
  PortIdentity identity;
  identity.number = nic;
  identity.mac = {
      0x02,  // locally administered
      0,    0, 0, static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)};
  identity.ip = abi::Ipv4Address(10u << 24 | number);
  identity.lid = static_cast<Lid>(number);
  identity.link_layer = fabric.link_layer;
  identity.ip_version = fabric.ip_version;
  return identity;
}

FabricConfig fabric_config(const FabricSpec& spec, const Topology& topology) {
  FabricConfig config;
  config.host_link = spec.link.config;
  config.switch_link = spec.switch_link ? spec.switch_link->config : config.host_link;
  config.global_link = spec.global_link ? spec.global_link->config : config.switch_link;
  config.faults = spec.link.faults;
  config.failures = spec.failures;
  config.link_layer = spec.link_layer;
  config.credit = spec.infiniband.value_or(CreditConfig{});
  for (const TopologyNode& node : topology.nodes())
    if (node.is_switch) config.switches.push_back(spec.switch_config(node.name));
  return config;
}

}  // namespace

System::System(const sc_core::sc_module_name& name, const Scenario& scenario)
    : sc_module(name), scheduler_("scheduler", scenario.engine.run_ahead) {
  const std::vector<HostSpec> machines = scenario.machines();
  build_fabric(scenario, machines);
  for (const HostSpec& machine : machines) build_host(machine, scenario);
  first_switch_ = static_cast<std::uint32_t>(components_.size());
  for (const TopologyNode& node : fabric_->topology().nodes())
    if (node.is_switch) components_.push_back({"", "fabric." + node.name, std::nullopt});
  for (Server& server : servers_) connect(server);
}

System::~System() = default;

void System::build_fabric(const Scenario& scenario, const std::vector<HostSpec>& machines) {
  std::vector<Time> nic_response;
  for (const HostSpec& machine : machines)
    for (const NicSpec& nic : machine.nics) {
      nic_response.push_back(
          pause_response_time(nic.config.port.pause, scenario.fabric.link.config.rate));
      lossless_nics_.push_back(nic.config.port.lossless_set());
    }
  Topology topology =
      build_topology(scenario.fabric.topology, end_point_names(machines), scenario.fabric.folder);
  const FabricConfig config = fabric_config(scenario.fabric, topology);
  fabric_ = std::make_unique<Fabric>(Fabric::Wiring{scheduler_, packets_, scenario.seed},
                                     std::move(topology), config, nic_response);
}

void System::build_host(const HostSpec& spec, const Scenario& scenario) {
  Server server;
  server.name = spec.name;
  server.component = static_cast<std::uint32_t>(components_.size());
  const std::string path = "host." + spec.name;
  components_.push_back({spec.name, path, std::nullopt});
  server.host = std::make_unique<Host>(
      spec.name.c_str(), scheduler_, spec.config, seed_for(scenario.seed, "host." + spec.name),
      nic_count_, static_cast<unsigned>(spec.nics.size()), spec.exerciser.has_value());
  for (std::size_t i = 0; i < spec.nics.size(); ++i) {
    const PortIdentity identity = port_identity(nic_count_, scenario.fabric);
    const std::string name = spec.name + "_nic" + std::to_string(i);
    const Fabric::Attachment cable = fabric_->attachment(nic_count_);
    const NicWiring wiring{scheduler_,
                           packets_,
                           identity,
                           nic_count_,
                           cable.rate,
                           spec.config.pcie.max_read_request,
                           scenario.engine.payload == PayloadMode::kElided,
                           scenario.seed,
                           cable.propagation,
                           cable.mtu,
                           cable.response_time,
                           scenario.fabric.infiniband.value_or(CreditConfig{}),
                           spec.config.pcie.rate()};
    NicConfig config = spec.nics[i].config;
    config.pcie.tags = std::min(config.pcie.tags, spec.config.pcie.max_tags());
    auto nic = with_path_prefix("hosts." + spec.name + ".nics." + std::to_string(i) + ".", [&] {
      return std::make_unique<Nic>(name.c_str(), wiring, config);
    });
    PcieLink& pcie = server.host->pcie(static_cast<unsigned>(i));
    nic->dma.bind(pcie.dma_socket);
    pcie.mmio().socket.bind(nic->bar);
    server.nics.push_back(std::move(nic));
    server.ports.push_back(identity);
    components_.push_back({spec.name, path + ".nic" + std::to_string(i), nic_count_});
    ++nic_count_;
  }
  if (spec.exerciser) build_exerciser(server, spec);
  server_of_.emplace(server.name, servers_.size());
  servers_.push_back(std::move(server));
}

void System::build_exerciser(Server& server, const HostSpec& spec) {
  const std::string name = spec.name + "_exerciser";
  DmaExerciserConfig config = spec.exerciser->config;
  config.pcie.tags = std::min(config.pcie.tags, spec.config.pcie.max_tags());
  server.exerciser = std::make_unique<DmaExerciser>(name.c_str(), scheduler_, config,
                                                    spec.config.pcie.max_read_request);
  PcieLink& pcie = server.host->exerciser_pcie();
  server.exerciser->dma().bind(pcie.dma_socket);
  pcie.mmio().socket.bind(server.exerciser->bar);
}

void System::connect(Server& server) {
  for (std::size_t i = 0; i < server.nics.size(); ++i) {
    const std::uint32_t number = server.ports[i].number;
    server.nics[i]->connect(fabric_->entry(number));
    fabric_->connect(number, server.nics[i]->port());
  }
}

System::Server& System::server(const std::string& name) { return servers_[server_of_.at(name)]; }

void System::attach(ProbeSink* sink) {
  std::vector<std::uint32_t> nic_components;
  for (Server& server : servers_) {
    std::uint32_t nic_component = server.component + 1;
    server.host->attach(sink, nic_component);
    for (auto& nic : server.nics) {
      nic_components.push_back(nic_component);
      nic->attach(sink, nic_component++);
    }
  }
  fabric_->attach(sink, nic_components, first_switch_);
}

void System::attach_tap(PacketTap* tap, bool switches) {
  for (Server& server : servers_)
    for (std::size_t i = 0; i < server.nics.size(); ++i)
      server.nics[i]->attach_tap(tap, server.ports[i].number);
  fabric_->attach_tap(tap, switches);
}

void System::observe_pauses(PauseObserver* observer) {
  for (Server& server : servers_)
    for (std::size_t i = 0; i < server.nics.size(); ++i)
      server.nics[i]->observe_pauses(observer, {server.ports[i].number, 0});
  fabric_->observe_pauses(observer);
}

bool System::idle() const {
  for (const Server& server : servers_) {
    if (!server.host->idle()) return false;
    for (const auto& nic : server.nics)
      if (!nic->idle()) return false;
    if (server.exerciser != nullptr && !server.exerciser->idle()) return false;
  }
  return fabric_->idle();
}

Signals System::signals() {
  Signals signals;
  for (Server& server : servers_) {
    const SignalScope host(signals, "host." + server.name);
    server.host->signals(host);
    for (std::size_t i = 0; i < server.nics.size(); ++i)
      server.nics[i]->signals(host.child("nic" + std::to_string(i)));
  }
  fabric_->add_signals(signals);
  return signals;
}

void System::report(MetricSink& sink) {
  for (Server& server : servers_) {
    const MetricScope host(sink, "host." + server.name);
    server.host->report(host);
    if (server.exerciser != nullptr) server.exerciser->report(host.child("exerciser"));
    for (std::size_t i = 0; i < server.nics.size(); ++i)
      server.nics[i]->report(host.child("nic" + std::to_string(i)));
  }
  fabric_->report(sink);
}

PrioritySet System::lossless_at(std::uint32_t node) const {
  return node < lossless_nics_.size() ? lossless_nics_[node] : fabric_->lossless_of(node);
}

/// A priority that is dropped in one place and lossless next to it is a mistake of whoever set the
/// fabric up: its senders take losses for what they never meet.
std::vector<System::Finding> System::findings() const {
  const Topology& topology = fabric_->topology();
  std::vector<Finding> findings;
  for (const Fabric::Refused& refused : fabric_->refused()) {
    const std::string where = "fabric." + topology.name_of(refused.at);
    if (refused.not_routable != 0)
      findings.push_back({"not_routable", where,
                          std::to_string(refused.not_routable) +
                              " packets were refused: this switch is a router, and RoCEv1 has no "
                              "IP header that it could forward by, nor do link-local addresses "
                              "lead beyond it; RoCEv2 would pass, or forwarding \"bridged\""});
    const PortRef peer = topology.peer(refused.at);
    const auto missing = static_cast<PrioritySet>(refused.priorities & lossless_at(peer.node));
    if (missing != 0)
      findings.push_back({"pfc_missing", where,
                          std::to_string(refused.no_room) +
                              " packets were dropped for lack of "
                              "room, of priority " +
                              text_of(missing) + ", which " + topology.node(peer.node).name +
                              " takes for lossless: this switch does not pause it"});
  }
  return findings;
}

std::vector<std::string> System::notes() const {
  std::vector<std::string> notes;
  for (const Server& server : servers_) {
    const PcieConfig& pcie = server.host->config().pcie;
    const auto text = [](std::uint32_t generation, std::uint32_t lanes) {
      return "Gen" + std::to_string(generation) + " x" + std::to_string(lanes);
    };
    if (pcie.is_trained_down())
      notes.push_back("host." + server.name + ": the PCIe link of its NICs runs at " +
                      text(pcie.active_generation(), pcie.active_lanes()) + ", below its " +
                      text(pcie.generation, pcie.lanes));
  }
  for (std::string& note : fabric_->notes()) notes.push_back(std::move(note));
  return notes;
}

std::vector<PauseStorm> System::pause_storms() const {
  std::vector<PauseStorm> storms = fabric_->pause_storms();
  for (const Server& server : servers_) {
    for (std::size_t i = 0; i < server.nics.size(); ++i) {
      const std::string where = "host." + server.name + ".nic" + std::to_string(i) + ".port";
      for (std::uint8_t p = 0; p < kPriorities; ++p) {
        const auto [obeyed, stopped] = server.nics[i]->pause_storm(p);
        if (obeyed.lasted != Time())
          add_storm(storms, {where, "was paused by the other end", obeyed, priority_bit(p)});
        if (stopped.lasted != Time())
          add_storm(storms, {where, "paused the other end, and its watchdog ended that,", stopped,
                             priority_bit(p)});
      }
    }
  }
  std::stable_sort(storms.begin(), storms.end(), [](const PauseStorm& a, const PauseStorm& b) {
    return a.span.since < b.span.since;
  });
  return storms;
}

std::vector<std::string> System::conservation_faults() const {
  std::vector<Fabric::NicTotals> totals;
  for (const Server& server : servers_) {
    for (const auto& nic : server.nics) {
      const Nic::PortTotals port = nic->totals();
      totals.push_back({Bytes(port.sent_bytes), Bytes(port.received_bytes)});
    }
  }
  return fabric_->conservation_faults(totals);
}

std::uint64_t System::packet_hops() const { return fabric_->packet_hops(); }

std::uint64_t System::disturbed_packets() const {
  return fabric_->disturbed_packets() + fabric_->dropped_packets();
}

}  // namespace rnicsim

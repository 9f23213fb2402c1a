// SPDX-License-Identifier: MIT
#include "scenarios/engine/system.h"

#include <algorithm>

#include "model/random.h"

namespace rnicsim {

namespace {

PortIdentity port_identity(std::uint8_t nic, const FabricSpec& fabric) {
  PortIdentity identity;
  identity.number = nic;
  identity.mac = {0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(nic + 1)};  // locally administered
  identity.ip = abi::Ipv4Address(10u << 24 | (nic + 1u));
  identity.link_layer = fabric.link_layer;
  identity.ip_version = fabric.ip_version;
  return identity;
}

}  // namespace

System::System(const sc_core::sc_module_name& name, const Scenario& scenario)
    : sc_module(name), scheduler_("scheduler", scenario.engine.run_ahead) {
  for (const HostSpec& spec : scenario.hosts) build_host(spec, scenario);
  build_link(scenario);
}

System::~System() = default;

void System::build_host(const HostSpec& spec, const Scenario& scenario) {
  Server server;
  server.name = spec.name;
  server.component = static_cast<std::uint32_t>(components_.size());
  const std::string path = "host." + spec.name;
  components_.push_back({spec.name, path, std::nullopt});
  server.host = std::make_unique<Host>(spec.name.c_str(), scheduler_, spec.config,
                                       seed_for(scenario.seed, "host." + spec.name), nic_count_,
                                       static_cast<unsigned>(spec.nics.size()));
  for (std::size_t i = 0; i < spec.nics.size(); ++i) {
    const PortIdentity identity = port_identity(nic_count_, scenario.fabric);
    const std::string name = spec.name + "_nic" + std::to_string(i);
    const NicWiring wiring{scheduler_,
                           packets_,
                           identity,
                           nic_count_,
                           scenario.fabric.link.config.rate,
                           spec.config.pcie.max_read_request,
                           scenario.engine.payload == PayloadMode::kElided,
                           scenario.seed};
    auto nic = std::make_unique<Nic>(name.c_str(), wiring, spec.nics[i].config);
    PcieLink& pcie = server.host->pcie(static_cast<unsigned>(i));
    nic->dma.bind(pcie.dma_socket);
    pcie.mmio().socket.bind(nic->bar);
    server.nics.push_back(std::move(nic));
    server.ports.push_back(identity);
    components_.push_back({spec.name, path + ".nic" + std::to_string(i), nic_count_});
    ++nic_count_;
  }
  servers_.push_back(std::move(server));
}

void System::build_link(const Scenario& scenario) {
  Nic& a = *servers_[0].nics[0];
  Nic& b = *servers_[1].nics[0];
  connect(0, a, b, scenario);
  connect(1, b, a, scenario);
}

void System::connect(std::size_t direction, Nic& from, Nic& to, const Scenario& scenario) {
  const LinkSpec& spec = scenario.fabric.link;
  links_.push_back(std::make_unique<LinkDirection>(scheduler_, spec.config,
                                                   static_cast<std::uint32_t>(direction)));
  links_.back()->connect(to.port());
  const FaultDirection way =
      direction % 2 == 0 ? FaultDirection::kForward : FaultDirection::kBackward;
  const bool faulty = std::any_of(spec.faults.begin(), spec.faults.end(),
                                  [&](const FaultRule& rule) { return rule.acts(way); });
  faults_.push_back(
      faulty ? std::make_unique<FaultInjector>(scheduler_, packets_, spec.config, spec.faults, way,
                                               direction_name(direction), scenario.seed)
             : nullptr);
  if (faulty) {
    faults_.back()->connect(*links_.back());
    from.connect(*faults_.back());
  } else {
    from.connect(*links_.back());
  }
}

std::string System::direction_name(std::size_t direction) {
  return "fabric.link" + std::to_string(direction / 2) +
         (direction % 2 == 0 ? ".forward" : ".backward");
}

System::Server& System::server(const std::string& name) {
  return *std::find_if(servers_.begin(), servers_.end(),
                       [&](const Server& server) { return server.name == name; });
}

void System::attach(ProbeSink* sink) {
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    Server& server = servers_[i];
    std::uint32_t nic_component = server.component + 1;
    server.host->attach(sink, nic_component);
    if (faults_[i]) faults_[i]->probe.attach(sink, nic_component);
    for (auto& nic : server.nics) nic->attach(sink, nic_component++);
  }
}

void System::attach_tap(PacketTap* tap) {
  for (Server& server : servers_)
    for (std::size_t i = 0; i < server.nics.size(); ++i)
      server.nics[i]->attach_tap(tap, server.ports[i].number);
  for (std::size_t i = 0; i < faults_.size(); ++i)
    if (faults_[i]) faults_[i]->tap.attach(tap, servers_[1 - i % 2].ports[0].number);
}

bool System::idle() const {
  for (const Server& server : servers_) {
    if (!server.host->idle()) return false;
    for (const auto& nic : server.nics)
      if (!nic->idle()) return false;
  }
  for (const auto& faults : faults_)
    if (faults && faults->held() != 0) return false;
  return std::all_of(links_.begin(), links_.end(),
                     [](const auto& link) { return link->in_flight() == 0; });
}

void System::report(MetricSink& sink) {
  for (Server& server : servers_) {
    const MetricScope host(sink, "host." + server.name);
    server.host->report(host);
    for (std::size_t i = 0; i < server.nics.size(); ++i)
      server.nics[i]->report(host.child("nic" + std::to_string(i)));
  }
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const MetricScope direction(sink, direction_name(i));
    links_[i]->report(direction);
    if (faults_[i]) faults_[i]->report(direction.child("faults"));
  }
}

std::vector<std::string> System::conservation_faults() const {
  std::vector<std::string> faults;
  const auto check = [&](const std::string& where, Bytes in, Bytes out) {
    if (in != out)
      faults.push_back(where + ": " + std::to_string(in.count()) + " B entered, " +
                       std::to_string(out.count()) + " B left");
  };
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Nic::PortTotals from = servers_[i % 2].nics[0]->totals();
    const Nic::PortTotals to = servers_[1 - i % 2].nics[0]->totals();
    const LinkDirection& link = *links_[i];
    const std::string name = direction_name(i);
    if (faults_[i]) {
      check(name + " at its sender", Bytes(from.sent_bytes), faults_[i]->entered_bytes());
      check(name + " after its faults", faults_[i]->owed_bytes(), link.entered_bytes());
    } else {
      check(name + " at its sender", Bytes(from.sent_bytes), link.entered_bytes());
    }
    if (link.in_flight() == 0) check(name, link.entered_bytes(), link.left_bytes());
    check(name + " at its receiver", link.left_bytes(), Bytes(to.received_bytes));
  }
  return faults;
}

std::uint64_t System::packet_hops() const {
  std::uint64_t hops = 0;
  for (const auto& link : links_) hops += link->left_packets();
  return hops;
}

std::uint64_t System::disturbed_packets() const {
  std::uint64_t disturbed = 0;
  for (const auto& faults : faults_)
    if (faults) disturbed += faults->disturbed();
  return disturbed;
}

}  // namespace rnicsim

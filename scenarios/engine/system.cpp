// SPDX-License-Identifier: MIT
#include "scenarios/engine/system.h"

#include <algorithm>

#include "model/random.h"

namespace rnicsim {

namespace {

PortIdentity port_identity(std::uint8_t nic) {
  PortIdentity identity;
  identity.number = nic;
  identity.mac = {0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(nic + 1)};  // locally administered
  identity.ip = abi::Ipv4Address(10u << 24 | (nic + 1u));
  return identity;
}

}  // namespace

System::System(const sc_core::sc_module_name& name, const Scenario& scenario)
    : sc_module(name), scheduler_("scheduler", scenario.engine.run_ahead) {
  for (const HostSpec& spec : scenario.hosts) build_host(spec, scenario);
  build_link(scenario.fabric.link.config);
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
    const PortIdentity identity = port_identity(nic_count_);
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

void System::build_link(const LinkConfig& config) {
  Nic& a = *servers_[0].nics[0];
  Nic& b = *servers_[1].nics[0];
  links_.push_back(std::make_unique<LinkDirection>(scheduler_, config, 0));
  links_.push_back(std::make_unique<LinkDirection>(scheduler_, config, 1));
  a.connect(*links_[0]);
  links_[0]->connect(b.port());
  b.connect(*links_[1]);
  links_[1]->connect(a.port());
}

System::Server& System::server(const std::string& name) {
  return *std::find_if(servers_.begin(), servers_.end(),
                       [&](const Server& server) { return server.name == name; });
}

void System::attach(ProbeSink* sink) {
  for (Server& server : servers_) {
    std::uint32_t nic_component = server.component + 1;
    server.host->attach(sink, nic_component);
    for (auto& nic : server.nics) nic->attach(sink, nic_component++);
  }
}

bool System::idle() const {
  for (const Server& server : servers_) {
    if (!server.host->idle()) return false;
    for (const auto& nic : server.nics)
      if (!nic->idle()) return false;
  }
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
  const MetricScope fabric(sink, "fabric");
  for (std::size_t i = 0; i < links_.size(); ++i)
    links_[i]->report(
        fabric.child("link" + std::to_string(i / 2)).child(i % 2 == 0 ? "forward" : "backward"));
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
    const std::string name =
        "fabric.link" + std::to_string(i / 2) + (i % 2 == 0 ? ".forward" : ".backward");
    check(name + " at its sender", Bytes(from.sent_bytes), link.entered_bytes());
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

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// From a checked scenario to modules and wires: hosts with their NICs, the cable between them. The
// only place that knows host, nic and fabric together. Construction and binding only; programs are
// the workload's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabric/link.h"
#include "host/host.h"
#include "model/packet.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "nic/nic.h"
#include "scenarios/engine/probe_component.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

class System : public sc_core::sc_module {
 public:
  System(const sc_core::sc_module_name& name, const Scenario& scenario);
  ~System() override;

  struct Server {
    std::string name;
    std::uint32_t component = 0;  ///< the host's number for probes; its NIC i has component + 1 + i
    std::unique_ptr<Host> host;
    std::vector<std::unique_ptr<Nic>> nics;
    std::vector<PortIdentity> ports;
  };

  Scheduler& scheduler() { return scheduler_; }
  std::vector<Server>& servers() { return servers_; }
  /// REQUIRES: the scenario has such a host.
  Server& server(const std::string& name);

  /// Programs attach their own probes, under their server's component.
  void attach(ProbeSink* sink);
  const ProbeComponents& components() const { return components_; }

  bool idle() const;
  void report(MetricSink& sink);
  /// What bytes were sent and have arrived nowhere; empty if none are missing.
  std::vector<std::string> conservation_faults() const;
  std::uint64_t packet_hops() const;

 private:
  void build_host(const HostSpec& spec, const Scenario& scenario);
  void build_link(const LinkConfig& config);

  PacketPool packets_;  // first: everything that holds packets dies before it
  Scheduler scheduler_;
  std::vector<Server> servers_;
  ProbeComponents components_;
  std::vector<std::unique_ptr<LinkDirection>> links_;  ///< two a cable: forward, backward
  std::uint8_t nic_count_ = 0;
};

}  // namespace rnicsim

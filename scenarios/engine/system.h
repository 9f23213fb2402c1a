// SPDX-License-Identifier: MIT
// From a checked scenario to modules and wires: hosts with their NICs, the fabric between them. The
// only place that knows host, nic and fabric together. Construction and binding only; programs are
// the workload's.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "fabric/fabric.h"
#include "host/host.h"
#include "model/packet.h"
#include "model/packet_tap.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "nic/dma_exerciser.h"
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
    std::unique_ptr<DmaExerciser> exerciser;  ///< null: it has none
  };

  Scheduler& scheduler() { return scheduler_; }
  std::vector<Server>& servers() { return servers_; }
  /// REQUIRES: the scenario has such a host.
  Server& server(const std::string& name);

  /// Programs attach their own probes, under their server's component.
  void attach(ProbeSink* sink);
  /// What passes the ports of switches, too.
  void attach_switches(ProbeSink* sink) { fabric_->attach_switches(sink, first_switch_); }
  /// Port numbers count all NICs, host by host; with `switches` those of switches follow.
  void attach_tap(PacketTap* tap, bool switches);
  /// Every port's: nodes as the topology numbers them.
  void observe_pauses(PauseObserver* observer);
  const ProbeComponents& components() const { return components_; }

  bool idle() const;
  /// What switches refused that a look at the configuration explains.
  struct Finding {
    const char* kind;
    std::string where;
    std::string text;
  };
  std::vector<Finding> findings() const;
  /// What to know of the machines and the network: links that were trained down, and the fabric's.
  std::vector<std::string> notes() const;
  /// Ports that were paused for as long as a watchdog looks for, the first to be so first.
  std::vector<PauseStorm> pause_storms() const;
  void report(MetricSink& sink);
  /// Of every block, to read while the system lives.
  Signals signals();
  /// What bytes were sent and have arrived nowhere; empty if none are missing.
  std::vector<std::string> conservation_faults() const;
  std::uint64_t packet_hops() const;
  /// Packets that injected faults have lost, damaged, doubled or put out of order, and that
  /// switches have dropped.
  std::uint64_t disturbed_packets() const;
  Fabric& fabric() { return *fabric_; }
  const Fabric& fabric() const { return *fabric_; }

 private:
  void build_fabric(const Scenario& scenario, const std::vector<HostSpec>& machines);
  void build_host(const HostSpec& spec, const Scenario& scenario);
  void build_exerciser(Server& server, const HostSpec& spec);
  void connect(Server& server);
  PrioritySet lossless_at(std::uint32_t node) const;

  PacketPool packets_;  // first: everything that holds packets dies before it
  Scheduler scheduler_;
  std::unique_ptr<Fabric> fabric_;
  std::vector<Server> servers_;
  std::unordered_map<std::string, std::size_t> server_of_;  ///< by name
  ProbeComponents components_;
  std::vector<PrioritySet> lossless_nics_;  ///< by NIC
  std::uint32_t first_switch_ = 0;          ///< its component
  std::uint16_t nic_count_ = 0;
};

}  // namespace rnicsim

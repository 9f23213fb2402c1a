// SPDX-License-Identifier: MIT
#include "scenarios/engine/tcp_checks.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "model/packet.h"
#include "model/quantity.h"
#include "scenarios/engine/scenario_checks.h"

namespace rnicsim {
namespace {

constexpr std::uint32_t kFirstPort = 5001;
constexpr std::uint32_t kFirstControlPort = 18515;  ///< perftest's
constexpr std::uint32_t kLastPort = 32767;          ///< above them connections have theirs

class TcpChecker {
 public:
  TcpChecker(const JsonNode& document, Scenario& scenario)
      : document_(document), scenario_(scenario) {}

  void run() {
    for (std::size_t i = 0; i < scenario_.workload.size(); ++i) {
      const WorkloadSpec& workload = scenario_.workload[i];
      if (workload.is_over_tcp() && workload.tcp->port)
        take_ports(i, *workload.tcp->port, workload.queue_pairs);
    }
    for (std::size_t i = 0; i < scenario_.workload.size(); ++i) {
      WorkloadSpec& workload = scenario_.workload[i];
      const bool controls = workload.control == ControlKind::kTcp;
      if (!workload.is_over_tcp() && !controls) continue;
      if (controls) workload.control_port = give_ports(i, kFirstControlPort, 1);
      if (workload.is_over_tcp() && !workload.tcp->port)
        workload.tcp->port = give_ports(i, kFirstPort, workload.queue_pairs);
      check_host(workload.from);
      check_host(workload.to);
    }
  }

 private:
  using Taken = std::map<std::uint32_t, std::size_t>;  ///< port -> workload

  void take_ports(std::size_t number, std::uint32_t first, std::uint32_t count) {
    const WorkloadSpec& workload = scenario_.workload[number];
    const std::string path = "workload." + std::to_string(number) + ".tcp.port";
    if (first + count - 1 > kLastPort)
      fail_check(document_, path,
                 std::to_string(count) + " connections from port " + std::to_string(first) +
                     " on do not fit below " + std::to_string(kLastPort + 1));
    Taken& taken = taken_[workload.to];
    for (std::uint32_t port = first; port < first + count; ++port) {
      const auto [other, is_new] = taken.emplace(port, number);
      if (!is_new)
        fail_check(document_, path,
                   "port " + std::to_string(port) + " of host " + in_quotes(workload.to) +
                       " is that of workload." + std::to_string(other->second));
    }
  }

  /// The first run of free ports that is long enough.
  std::uint16_t give_ports(std::size_t number, std::uint32_t first, std::uint32_t count) {
    const Taken& taken = taken_[scenario_.workload[number].to];
    for (auto next = taken.lower_bound(first); next != taken.end() && next->first < first + count;
         ++next)
      first = next->first + 1;
    take_ports(number, first, count);
    return static_cast<std::uint16_t>(first);
  }

  void check_host(const std::string& machine) const {
    for (std::size_t i = 0; i < scenario_.hosts.size(); ++i)
      for (const std::string& name : scenario_.hosts[i].machine_names())
        if (name == machine) check_kernel(scenario_.hosts[i], "hosts." + std::to_string(i));
  }

  /// What the kernel wants of its NIC.
  void check_kernel(const HostSpec& host, const std::string& path) const {
    const KernelConfig& kernel = host.config.kernel;
    const EthernetConfig& nic = host.nics.front().config.ethernet;
    const auto require = [&](bool holds, const char* key, const std::string& problem) {
      if (!holds) fail_check(document_, path + ".kernel." + key, problem);
    };
    require(kernel.queues <= nic.queues, "queues",
            std::to_string(kernel.queues) + " queues, and the NIC keeps " +
                std::to_string(nic.queues) + " (nics.0.ethernet.queues)");
    require(!kernel.flow_steering || nic.flow_rules != 0, "flow_steering",
            "the NIC keeps no rules for flows (nics.0.ethernet.flow_rules)");
    check_kernel_mtu(host, path);
  }

  /// The NIC drops frames that do not fit the link.
  void check_kernel_mtu(const HostSpec& host, const std::string& path) const {
    const bool tagged = host.nics.front().config.port.vlan.has_value();
    const Bytes around = Bytes(EthernetHeader::kBytes + (tagged ? VlanTag::kBytes : 0)) + kFcsBytes;
    const Bytes link = scenario_.fabric.smallest_mtu();
    const Bytes mtu = host.config.kernel.mtu;
    if (mtu + around > link)
      fail_check(document_, path + ".kernel.mtu",
                 fmt::format("packets of {} and {} around them do not fit fabric.link.mtu, {}; "
                             "expected at most {}",
                             to_text(mtu), to_text(around), to_text(link), to_text(link - around)));
  }

  const JsonNode& document_;
  Scenario& scenario_;
  std::map<std::string, Taken> taken_;  ///< by host
};

}  // namespace

void check_tcp(const JsonNode& document, Scenario& scenario) {
  TcpChecker(document, scenario).run();
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/infiniband_checks.h"

#include <algorithm>
#include <string>

#include "model/json_path.h"
#include "model/quantity.h"
#include "scenarios/engine/scenario_checks.h"

namespace rnicsim {
namespace {

struct Setting {
  const char* path;
  const char* instead;
};
constexpr const char* kCredits = "its links have credits";
constexpr const char* kLanes = "priorities are virtual lanes there, chosen by service level";
constexpr const char* kLinear = "its switches forward by LID, each by one port";
constexpr const char* kLaneBuffers = "every virtual lane of a port has a buffer of its own there";
constexpr const char* kNoMarks = "it has no IP header to mark";

constexpr Setting kOfPort[] = {{"port.priorities", kLanes}, {"port.lossless", kCredits},
                               {"port.pause", kCredits},    {"port.headroom", kCredits},
                               {"port.watchdog", kCredits}, {"port.vlan", kLanes},
                               {"pause_storm", kCredits}};
constexpr Setting kOfSwitch[] = {{"forwarding", kLinear},
                                 {"priorities", kLanes},
                                 {"lossless", kCredits},
                                 {"headroom", kCredits},
                                 {"headroom_formula", kCredits},
                                 {"watchdog", kCredits},
                                 {"mac_table", kLinear},
                                 {"arp_table", kLinear},
                                 {"buffer.cell", kLaneBuffers},
                                 {"buffer.model", kLaneBuffers},
                                 {"buffer.reserved", kLaneBuffers},
                                 {"buffer.alpha", kLaneBuffers},
                                 {"buffer.lossy_alpha", kLaneBuffers},
                                 {"buffer.egress_alpha", kLaneBuffers},
                                 {"buffer.threshold", kLaneBuffers},
                                 {"buffer.xon_offset", kLaneBuffers},
                                 {"egress.ecn", kNoMarks},
                                 {"egress.pause", kCredits}};

class Checker {
 public:
  Checker(const JsonNode& document, const Scenario& scenario)
      : document_(document), scenario_(scenario) {}

  void run() const {
    if (scenario_.fabric.ip_version == IpVersion::kIpv6)
      fail("fabric.ip_version", "belongs to link_layer \"rocev2\": InfiniBand has no IP header");
    for (std::size_t i = 0; i < scenario_.hosts.size(); ++i) check_host(i);
    check_switch("fabric.switch", scenario_.fabric.switch_default.config);
    for (std::size_t i = 0; i < scenario_.fabric.switches.size(); ++i)
      check_switch("fabric.switches." + std::to_string(i),
                   scenario_.fabric.switches[i].spec.config);
    check_lids();
    check_lane_buffer();
  }

 private:
  [[noreturn]] void fail(const std::string& path, std::string problem) const {
    fail_check(document_, path, std::move(problem));
  }

  template <std::size_t kCount>
  void reject(const std::string& path, const Setting (&settings)[kCount]) const {
    for (const Setting& setting : settings) {
      const std::string full = path + '.' + setting.path;
      if (has_node(document_, full))
        fail(full, std::string("has no meaning over InfiniBand: ") + setting.instead);
    }
  }

  void check_host(std::size_t index) const {
    const std::string path = "hosts." + std::to_string(index);
    const auto& nics = scenario_.hosts[index].nics;
    const bool alone = has_node(document_, path + ".nic");
    for (std::size_t n = 0; n < nics.size(); ++n) {
      const std::string nic = path + (alone ? ".nic" : ".nics." + std::to_string(n));
      reject(nic, kOfPort);
      check_congestion_control(nic, nics[n].config.congestion_control.config.algorithm);
    }
  }

  void check_congestion_control(const std::string& nic, CongestionAlgorithm algorithm) const {
    if (const char* needs = what_it_needs(algorithm))
      fail(nic + ".congestion_control",
           std::string("cannot work over InfiniBand: it needs ") + needs);
  }

  /// That InfiniBand has not.
  static const char* what_it_needs(CongestionAlgorithm algorithm) {
    switch (algorithm) {
      case CongestionAlgorithm::kDcqcn:
        return "marks in the IP header";
      case CongestionAlgorithm::kSwift:
        return "the hops that the IP header tells";
      case CongestionAlgorithm::kHpcc:
        return "telemetry behind the IP packet";
      case CongestionAlgorithm::kNone:
      case CongestionAlgorithm::kTimely:
        break;
    }
    return nullptr;
  }

  void check_switch(const std::string& path, const SwitchConfig& config) const {
    reject(path, kOfSwitch);
    if (config.path_choice != PathChoice::kEcmp)
      fail(path + ".path_choice", std::string("has no meaning over InfiniBand: ") + kLinear);
  }

  void check_lids() const {
    std::size_t ports = 0;
    for (const HostSpec& host : scenario_.hosts) ports += host.count * host.nics.size();
    if (ports > kLastUnicastLid)
      fail("hosts", std::to_string(ports) + " ports, and a subnet has " +
                        std::to_string(kLastUnicastLid) + " LIDs");
  }

  void check_lane_buffer() const {
    const FabricSpec& fabric = scenario_.fabric;
    if (!fabric.infiniband || !fabric.infiniband->lane_buffer) return;
    Bytes mtu = fabric.link.config.mtu;
    if (fabric.switch_link) mtu = std::max(mtu, fabric.switch_link->config.mtu);
    if (fabric.global_link) mtu = std::max(mtu, fabric.global_link->config.mtu);
    const Bytes needed(credit_blocks(mtu) * kCreditBlockBytes);
    if (*fabric.infiniband->lane_buffer < needed)
      fail("fabric.infiniband.lane_buffer",
           to_text(*fabric.infiniband->lane_buffer) + " cannot hold a packet of " + to_text(mtu) +
               " (fabric.link.mtu) in blocks of 64 B; at least " + to_text(needed) + " are needed");
  }

  const JsonNode& document_;
  const Scenario& scenario_;
};

}  // namespace

void check_infiniband(const JsonNode& document, const Scenario& scenario) {
  Checker(document, scenario).run();
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/packet_capture.h"

#include <fnmatch.h>

#include <limits>

#include "fabric/topology_builder.h"
#include "model/frame.h"

namespace rnicsim {

namespace {

constexpr auto kNotCaptured = std::numeric_limits<std::uint32_t>::max();

std::vector<std::string> names_of(const Scenario& scenario,
                                  const std::vector<std::uint32_t>& ports) {
  const std::vector<std::string> all = port_names(scenario);
  std::vector<std::string> names;
  names.reserve(ports.size());
  for (const std::uint32_t port : ports) names.push_back(all[port]);
  return names;
}

}  // namespace

std::vector<std::string> port_names(const Scenario& scenario) {
  std::vector<std::string> names;
  const std::vector<HostSpec> machines = scenario.machines();
  for (const HostSpec& host : machines)
    for (std::size_t i = 0; i < host.nics.size(); ++i)
      names.push_back("host." + host.name + ".nic" + std::to_string(i));
  const Topology topology =
      build_topology(scenario.fabric.topology, end_point_names(machines), scenario.fabric.folder);
  for (std::uint32_t node = topology.end_points(); node < topology.nodes().size(); ++node)
    for (std::uint32_t port = 0; port < topology.node(node).ports(); ++port)
      names.push_back("fabric." + topology.name_of({node, port}));
  return names;
}

std::vector<std::uint32_t> ports_matching(const Scenario& scenario, const std::string& glob) {
  const std::vector<std::string> names = port_names(scenario);
  std::vector<std::uint32_t> ports;
  for (std::uint32_t port = 0; port < names.size(); ++port)
    if (fnmatch(glob.c_str(), names[port].c_str(), 0) == 0) ports.push_back(port);
  return ports;
}

PacketCapture::PacketCapture(const Scheduler& scheduler, const Scenario& scenario,
                             const CaptureOptions& options)
    : scheduler_(scheduler),
      interface_of_port_(port_names(scenario).size(), kNotCaptured),
      file_(options.unfinished, options.file,
            names_of(scenario, ports_matching(scenario, options.port_glob))) {
  const std::size_t nics = end_point_names(scenario.machines()).size();
  std::uint32_t interfaces = 0;
  for (const std::uint32_t port : ports_matching(scenario, options.port_glob)) {
    interface_of_port_[port] = interfaces++;
    has_switches_ = has_switches_ || port >= nics;
  }
}

void PacketCapture::packet(std::uint32_t port, const Packet& packet, Time time,
                           PacketDirection direction, const char* comment) {
  write_until(scheduler_.now());
  const std::uint32_t interface = interface_of_port_[port];
  if (interface == kNotCaptured) return;
  Record record{time, shown_++, interface, direction, {}, comment == nullptr ? "" : comment};
  write_frame(packet, record.frame);
  waiting_.push(std::move(record));
}

void PacketCapture::close() {
  write_until(Time::never());
  file_.close();
}

/// Whatever is shown from now on comes later than `time`, or at it and after those shown before.
void PacketCapture::write_until(Time time) {
  for (; !waiting_.empty() && waiting_.top().time <= time; waiting_.pop()) {
    const Record& record = waiting_.top();
    file_.add(record.interface, record.time, record.direction, record.frame, record.comment);
  }
}

}  // namespace rnicsim

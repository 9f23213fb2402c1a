// SPDX-License-Identifier: MIT
#include "scenarios/engine/packet_capture.h"

#include <fnmatch.h>

#include <limits>

#include "fabric/topology_builder.h"
#include "model/byte_order.h"
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

CaptureLink link_of(const Scenario& scenario) {
  return scenario.fabric.link_layer == LinkLayer::kInfiniBand ? CaptureLink::kErf
                                                              : CaptureLink::kEthernet;
}

/// Puts a packet of InfiniBand into a record (Endace, ERF types reference). A flow control packet
/// is as long there as on the wire, with its delimiters.
void wrap_in_record(FrameKind kind, Time time, std::vector<std::uint8_t>& frame) {
  constexpr std::uint8_t kInfiniBand = 21;
  constexpr std::uint8_t kInfiniBandLink = 25;
  constexpr std::uint8_t kLengthsVary = 0x04;
  constexpr std::size_t kHeaderBytes = 16;
  constexpr std::size_t kDelimiterBytes = 2;
  constexpr Uint128 kPsPerSecond = 1000000000000ULL;
  if (kind == FrameKind::kCredit) frame.resize(frame.size() + kDelimiterBytes);
  const std::size_t bytes = frame.size();
  frame.insert(frame.begin(), kHeaderBytes, 0);
  // Seconds as a binary fixed-point number, 32 bits each side, least significant byte first.
  const auto seconds =
      static_cast<std::uint64_t>((static_cast<Uint128>(time.ps()) << 32) / kPsPerSecond);
  store_le32(frame.data(), static_cast<std::uint32_t>(seconds));
  store_le32(frame.data() + 4, static_cast<std::uint32_t>(seconds >> 32));
  frame[8] = kind == FrameKind::kCredit ? kInfiniBandLink : kInfiniBand;
  frame[9] = kLengthsVary;
  store_be16(frame.data() + 10, static_cast<std::uint16_t>(frame.size()));
  store_be16(frame.data() + 14, static_cast<std::uint16_t>(bytes));
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
      infiniband_(link_of(scenario) == CaptureLink::kErf),
      interface_of_port_(port_names(scenario).size(), kNotCaptured),
      file_(options.unfinished, options.file,
            names_of(scenario, ports_matching(scenario, options.port_glob)), link_of(scenario)) {
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
  if (infiniband_) wrap_in_record(packet.kind, time, record.frame);
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

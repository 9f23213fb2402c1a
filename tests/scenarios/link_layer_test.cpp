// SPDX-License-Identifier: MIT
// What carries RDMA, from the scenario's word to the bytes in a receiver's memory.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "model/byte_order.h"
#include "scenarios/engine/pair_workload.h"
#include "scenarios/engine/system.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

constexpr std::uint64_t kMemory = 64 << 20;
constexpr std::uint64_t kMessage = 61;

/// A sends B one datagram of 61 B.
Scenario one_datagram(LinkLayer link_layer, IpVersion ip_version) {
  Scenario scenario;
  scenario.hosts.resize(2);
  scenario.hosts[0].name = "A";
  scenario.hosts[1].name = "B";
  for (HostSpec& host : scenario.hosts) {
    host.config.memory.size = Bytes(kMemory);
    host.config.driver.log_qps = host.config.driver.log_cqs = host.config.driver.log_keys = 10;
  }
  scenario.fabric.link_layer = link_layer;
  scenario.fabric.ip_version = ip_version;
  WorkloadSpec& workload = scenario.workload.emplace_back();
  workload.name = "w0";
  workload.from = "A";
  workload.to = "B";
  workload.operation = Operation::kSend;
  workload.transport = WorkloadTransport::kUd;
  workload.size = Bytes(kMessage);
  return scenario;
}

/// The 40 B before the datagram in B's memory, which the two addresses at their end give away.
std::vector<std::uint8_t> prefix_with(const Scenario& scenario,
                                      const std::vector<std::uint8_t>& addresses) {
  System system("system", scenario);
  PairWorkload workload(system, scenario.workload[0], scenario, 0, 0, nullptr, nullptr);
  system.scheduler().run_until(Time::s(1));
  REQUIRE(workload.waiting_for().empty());
  std::vector<std::uint8_t> memory(kMemory);
  system.server("B").host->memory().load(PhysicalAddress(0), memory.data(), memory.size());
  const auto found = std::search(memory.begin(), memory.end(), addresses.begin(), addresses.end());
  REQUIRE(found != memory.end());
  REQUIRE(std::search(found + 1, memory.end(), addresses.begin(), addresses.end()) == memory.end());
  const auto end = found + static_cast<std::ptrdiff_t>(addresses.size());
  return {end - 40, end};
}

/// With the source port's last 14 bits as flow label, which are the queue pair's number.
std::vector<std::uint8_t> header(std::uint8_t next_header, std::uint16_t length,
                                 const std::vector<std::uint8_t>& addresses,
                                 const std::vector<std::uint8_t>& received) {
  std::vector<std::uint8_t> bytes = {0x66, 0x80, received[2], received[3], 0, 0, next_header, 64};
  store_be16(&bytes[4], length);
  bytes.insert(bytes.end(), addresses.begin(), addresses.end());
  return bytes;
}

}  // namespace

TEST_CASE("a datagram of RoCEv1 has its GRH before it in the receiver's memory") {
  const std::vector<std::uint8_t> gids = {0xfe, 0x80, 0, 0, 0, 0,    0,    0, 0, 0, 0,
                                          0xff, 0xfe, 0, 0, 1, 0xfe, 0x80, 0, 0, 0, 0,
                                          0,    0,    0, 0, 0, 0xff, 0xfe, 0, 0, 2};
  const auto prefix = prefix_with(one_datagram(LinkLayer::kRoceV1, IpVersion::kIpv4), gids);
  // BTH, DETH, payload, pad and ICRC.
  CHECK(prefix == header(0x1b, 12 + 8 + kMessage + 3 + 4, gids, prefix));
}

TEST_CASE("a datagram of RoCEv2 over IPv6 has its IPv6 header before it") {
  const std::vector<std::uint8_t> gids = {
      0xfd, 0x72, 0x6e, 0x69, 0x63, 0x73, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1,
      0xfd, 0x72, 0x6e, 0x69, 0x63, 0x73, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2};
  const auto prefix = prefix_with(one_datagram(LinkLayer::kRoceV2, IpVersion::kIpv6), gids);
  CHECK(prefix == header(17, 8 + 12 + 8 + kMessage + 3 + 4, gids, prefix));
}

TEST_CASE("a datagram of InfiniBand has 40 B before it that mean nothing") {
  const Scenario scenario = one_datagram(LinkLayer::kInfiniBand, IpVersion::kIpv4);
  System system("system", scenario);
  PairWorkload workload(system, scenario.workload[0], scenario, 0, 0, nullptr, nullptr);
  system.scheduler().run_until(Time::s(1));
  REQUIRE(workload.waiting_for().empty());
  std::vector<Violation> violations;
  workload.verify(violations);
  CHECK(violations.empty());
  CHECK(system.server("B").host->memory().written(DmaPurpose::kPayload) == Bytes(40 + kMessage));
}

TEST_CASE("a datagram of RoCEv2 over IPv4 has 20 B of zeros and its IPv4 header before it") {
  const std::vector<std::uint8_t> addresses = {64, 17, 0x26, 0x0e, 10, 0, 0, 1, 10, 0, 0, 2};
  const auto prefix = prefix_with(one_datagram(LinkLayer::kRoceV2, IpVersion::kIpv4), addresses);
  std::vector<std::uint8_t> expected(20, 0);
  const std::uint8_t length = 20 + 8 + 12 + 8 + kMessage + 3 + 4;
  const std::vector<std::uint8_t> start = {0x45, 0x68, 0, length, 0, 1, 0x40, 0};
  expected.insert(expected.end(), start.begin(), start.end());
  expected.insert(expected.end(), addresses.begin(), addresses.end());
  CHECK(prefix == expected);
}

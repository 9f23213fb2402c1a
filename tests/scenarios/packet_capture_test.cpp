// SPDX-License-Identifier: MIT
// What tshark makes of a capture: tests/tools/pcap_test.py. Here: what no run of the program shows.
#include "scenarios/engine/packet_capture.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "model/byte_order.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

class TemporaryFile {
 public:
  TemporaryFile() { close(mkstemp(path_.data())); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/rnicsim_capture_XXXXXX";
};

Scenario two_hosts() {
  Scenario scenario;
  for (const char* name : {"A", "B"}) {
    HostSpec host;
    host.name = name;
    host.nics.resize(2);
    scenario.hosts.push_back(std::move(host));
  }
  return scenario;
}

struct Block {
  std::uint32_t type;
  std::vector<std::uint8_t> bytes;  ///< all of it
  Time time() const {
    return Time::ps(static_cast<std::int64_t>(
        static_cast<std::uint64_t>(load_le32(&bytes[12])) << 32 | load_le32(&bytes[16])));
  }
  std::uint32_t interface() const { return load_le32(&bytes[8]); }
  bool contains(const std::string& text) const {
    return std::string(bytes.begin(), bytes.end()).find(text) != std::string::npos;
  }
};

std::vector<Block> blocks_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<std::uint8_t> file{std::istreambuf_iterator<char>(in), {}};
  std::vector<Block> blocks;
  for (std::size_t at = 0; at < file.size();) {
    REQUIRE(file.size() - at >= 12);
    const std::uint32_t size = load_le32(&file[at + 4]);
    REQUIRE(size % 4 == 0);
    REQUIRE(size >= 12);
    REQUIRE(size <= file.size() - at);
    REQUIRE(load_le32(&file[at + size - 4]) == size);
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
    blocks.push_back({load_le32(&file[at]), {begin, begin + size}});
    at += size;
  }
  return blocks;
}

}  // namespace

TEST_CASE("Ports are numbered host by host, and a glob picks some") {
  const Scenario scenario = two_hosts();
  REQUIRE(port_names(scenario) ==
          std::vector<std::string>{"host.A.nic0", "host.A.nic1", "host.B.nic0", "host.B.nic1"});
  REQUIRE(ports_matching(scenario, "host.*.nic1") == std::vector<std::uint32_t>{1, 3});
  REQUIRE(ports_matching(scenario, "host.C.*").empty());
}

TEST_CASE("Ports of switches are numbered behind those of NICs") {
  Scenario scenario = two_hosts();
  scenario.fabric.topology.kind = TopologyKind::kStar;
  const std::vector<std::string> names = port_names(scenario);
  REQUIRE(names.size() == 8);
  CHECK(names[3] == "host.B.nic1");
  CHECK(names[4] == "fabric.switch0.port0");
  CHECK(names[7] == "fabric.switch0.port3");
  CHECK(ports_matching(scenario, "fabric.switch*.port2") == std::vector<std::uint32_t>{6});
  CHECK(ports_matching(scenario, CaptureOptions::kNicPorts) ==
        std::vector<std::uint32_t>{0, 1, 2, 3});
}

TEST_CASE(
    "A capture is in the order of times, whatever was shown first, and holds its ports only") {
  const Scenario scenario = two_hosts();
  const TemporaryFile file;
  Scheduler scheduler("scheduler");
  PacketPool pool;
  PacketCapture capture(scheduler, scenario, {"x", file.path(), "host.*.nic1"});
  const PacketRef packet = pool.create();
  capture.packet(1, *packet, 30_ns, PacketDirection::kOutbound, nullptr);
  capture.packet(0, *packet, 20_ns, PacketDirection::kOutbound, nullptr);
  capture.packet(3, *packet, 10_ns, PacketDirection::kInbound, nullptr);
  capture.packet(3, *packet, 30_ns, PacketDirection::kInbound, "lost on the way");
  capture.close();
  const std::vector<Block> blocks = blocks_of(file.path());
  REQUIRE(blocks.size() == 1 + 2 + 3);
  CHECK(blocks[1].contains("host.A.nic1"));
  CHECK(blocks[2].contains("host.B.nic1"));
  CHECK(blocks[3].time() == 10_ns);
  CHECK(blocks[3].interface() == 1);
  CHECK(blocks[4].time() == 30_ns);
  CHECK(blocks[4].interface() == 0);
  CHECK_FALSE(blocks[4].contains("lost on the way"));
  CHECK(blocks[5].time() == 30_ns);
  CHECK(blocks[5].interface() == 1);
  CHECK(blocks[5].contains("lost on the way"));
}

TEST_CASE("A capture on a full disk is bad input, not a short file") {
  const Scenario scenario = two_hosts();
  Scheduler scheduler("scheduler");
  PacketPool pool;
  PacketCapture capture(scheduler, scenario, {"x.pcapng", "/dev/full", "*"});
  capture.packet(0, *pool.create(), 10_ns, PacketDirection::kOutbound, nullptr);
  REQUIRE_THROWS_WITH(capture.close(), "x.pcapng: cannot be written: No space left on device");
}

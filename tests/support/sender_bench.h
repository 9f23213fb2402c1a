// SPDX-License-Identifier: MIT
// A NIC that sends: queue pair 1 connected to nobody, one region of patterned bytes, and the wire's
// packets to look at.
#pragma once

#include <vector>

#include "tests/support/nic_bench.h"

namespace rnicsim::test {

inline constexpr std::uint64_t kRemote = 0xabcd0000;
inline constexpr MemoryKey kRemoteKey(7, 7);

struct SenderBench : OneNic {
  explicit SenderBench(const BenchOptions& options = {}, const QpOptions& qp = {},
                       const RegionOptions& region_options = {})
      : OneNic(options) {
    driver().add_qp(Qpn(1), qp);
    region = driver().add_region(3, region_options);
    fill(driver(), region, 1);
    host.memory.log.clear();
  }
  MiniDriver::Write write(std::uint64_t offset, std::uint32_t bytes) {
    MiniDriver::Write w;
    w.remote = kRemote + offset;
    w.rkey = kRemoteKey;
    if (bytes != 0) w.gather = {{region.start + offset, bytes, region.key}};
    return w;
  }
  void send(const MiniDriver::Write& w) {
    driver().post(Qpn(1), w);
    driver().ring(Qpn(1));
    run();
  }
  /// The bytes of the region from `offset`.
  std::vector<std::uint8_t> bytes_of(std::uint64_t offset, std::uint32_t count) {
    std::vector<std::uint8_t> bytes;
    for (std::uint32_t i = 0; i < count; ++i)
      bytes.push_back(*driver().at(region.physical(region.start + offset + i)));
    return bytes;
  }
  /// All payloads on the wire from packet `first` on, in order.
  std::vector<std::uint8_t> sent(std::size_t first = 0) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = first; i < wire.packets.size(); ++i) {
      const Packet& p = *wire.packets[i];
      bytes.insert(bytes.end(), p.payload(), p.payload() + p.payload_length.count());
    }
    return bytes;
  }
  /// When the first bit of the preamble of packet i left.
  Time start(std::size_t i) { return wire.packets[i]->head - Time::ps(80) * 8; }
  Region region;
};

inline QpOptions with_mtu(std::uint8_t code) {
  QpOptions options;
  options.mtu_code = code;
  return options;
}

}  // namespace rnicsim::test

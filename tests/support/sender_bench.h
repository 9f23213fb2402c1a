// SPDX-License-Identifier: MIT
// A NIC that sends: queue pair 1 connected to nobody, one region of patterned bytes, and the wire's
// packets to look at.
#pragma once

#include <vector>

#include "tests/support/nic_bench.h"

namespace rnicsim::test {

inline constexpr std::uint64_t kRemote = 0xabcd0000;
inline constexpr MemoryKey kRemoteKey(7, 7);

struct SenderBench : OneQueuePair {
  explicit SenderBench(const BenchOptions& options = {}, const QpOptions& qp = {},
                       const RegionOptions& region_options = {})
      : OneQueuePair(options, qp, region_options) {}
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
};

inline QpOptions with_mtu(std::uint8_t code) {
  QpOptions options;
  options.mtu_code = code;
  return options;
}

}  // namespace rnicsim::test

// SPDX-License-Identifier: MIT
// What the root complex does with requests from one root port to another (peer to peer): it passes
// them on, slower than a link, because it cuts them to cache lines and was built to serve memory.
//
// Measured: three NVMe drives that write to a GPU through one E5-2650 v4 got 7.1 GB/s where 9.6
// were expected (NVIDIA developer forum, thread 55564): 62.1 Gb/s with the headers of TLPs of 256
// B, the default rate. Reads are slower still (about half on Ivy Bridge by NVIDIA's early GPUDirect
// tables); the default read rate is that ratio, an assumption. The way to memory is
// host/pcie_link's.
#pragma once

#include "host/pcie_wire.h"
#include "model/config_reader.h"
#include "model/metrics.h"

namespace rnicsim {

struct RootComplexConfig {
  BitRate peer_write_rate = BitRate(62'100'000'000);
  BitRate peer_read_rate = BitRate(31'000'000'000);
  Time peer_latency = Time::ns(100);
  void describe(Fields& fields);
};

class RootComplex {
 public:
  explicit RootComplex(const RootComplexConfig& config)
      : config_(config), writes_(config.peer_write_rate), reads_(config.peer_read_rate) {}

  /// Posted writes and read requests.
  PcieSpan forward(const PcieSpan& span, Bytes link_bytes) {
    return writes_.carry(span, link_bytes).later(config_.peer_latency);
  }
  /// Completions.
  PcieSpan answer(const PcieSpan& span, Bytes link_bytes) {
    return reads_.carry(span, link_bytes).later(config_.peer_latency);
  }
  void report(const MetricScope& scope) const;

 private:
  RootComplexConfig config_;
  PcieWire writes_;
  PcieWire reads_;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// Settings of the NIC as a plain Ethernet device (nic/ethernet/).
#pragma once

#include <cstdint>

#include "model/config_reader.h"
#include "model/pipeline.h"
#include "model/units.h"

namespace rnicsim {

struct EthernetConfig {
  std::uint32_t queues = 256;
  std::uint32_t descriptors_per_fetch = 4;
  std::uint32_t buffers_per_fetch = 16;
  Bytes transmit_buffer{64 * 1024};
  PipelineConfig transmit_pipeline{Cycles(20), Cycles(4)};
  PipelineConfig header_pipeline{Cycles(8), Cycles(2)};
  PipelineConfig receive_pipeline{Cycles(20), Cycles(4)};
  PipelineConfig completion_pipeline{Cycles(6), Cycles(2)};
  bool receive_checksum = true;
  bool rss = true;
  std::uint32_t flow_rules = 8192;
  Time merge_timeout = Time::us(32);
  Bytes merge_limit{65535};
  std::uint32_t merge_flows = 64;
  Bytes merge_buffer{256 * 1024};
  void describe(Fields& fields);
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "host/pcie_link_layer.h"

#include <cmath>

#include "host/pcie_arithmetic.h"

namespace rnicsim {

namespace {

constexpr std::uint64_t kDllpBytes = 8;

double bits_per_second(const BitRate& rate) {
  return static_cast<double>(rate.numerator()) / static_cast<double>(rate.denominator());
}

std::uint64_t rounded(double n) { return static_cast<std::uint64_t>(std::llround(n)); }

}  // namespace

PcieLinkLayer::PcieLinkLayer(const PcieConfig& config, Bytes tlps) {
  const unsigned generation = config.active_generation();
  const unsigned lanes = config.active_lanes();
  const double lines = bits_per_second(pcie_raw_rate(generation, lanes));
  const double bytes = static_cast<double>(tlps.count()) * lines / bits_per_second(config.rate());
  raw = Bytes(rounded(bytes));
  if (generation >= kFirstFlitGeneration || config.accounting == PcieAccounting::kAtc16) return;
  acks = updates = rounded(bytes / pcie_update_interval(generation, lanes, config.max_payload));
  skips = Bytes(rounded(bytes * kPcieSkipBytes / kPcieSkipInterval));
}

void report_link_layer(const MetricScope& scope, const PcieConfig& config, Bytes tlps) {
  const PcieLinkLayer layer(config, tlps);
  scope.bytes("raw_bytes", layer.raw, "what the lines carried while the link was busy");
  scope.count("acks", layer.acks, "ACK DLLPs among these");
  scope.count("flow_control_updates", layer.updates, "flow-control DLLPs");
  scope.bytes("dllp_bytes", Bytes((layer.acks + layer.updates) * kDllpBytes), "of both");
  scope.bytes("skip_bytes", layer.skips, "SKP ordered sets");
  const double busy = ByteTime(config.rate()).of(tlps).as_s();
  if (busy == 0) return;
  scope.rate("raw_rate", static_cast<double>(layer.raw.count()) * 8 / busy,
             "of the lines, while busy");
  scope.rate("tlp_rate", static_cast<double>(tlps.count()) * 8 / busy, "of TLPs, while busy");
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "fabric/headroom.h"

#include <cmath>

#include "model/pause.h"

namespace rnicsim {

SpectrumHeadroom spectrum_headroom(const SpectrumAsic& asic, BitRate rate, Length cable,
                                   Bytes port_mtu, Bytes lossless_mtu, double small_packets) {
  constexpr double kLight = 1.98e8;      // m/s
  constexpr double kUnitSlip = 1.024;    // the script divides by 1,024, where 1,000 is meant
  constexpr double kQuantumBytes = 64.;  // 512 bit times
  const double bits_per_second = rate.as_gbps() * 1e9;
  const double on_cable =
      2. * static_cast<double>(cable.mm()) / 1e3 * bits_per_second / 8. / kLight / kUnitSlip;
  const auto cell = static_cast<double>(asic.cell);
  const double worst = asic.cell > 128 ? cell / 64. : 2. * cell / (1. + cell);
  const double occupancy = 1. + small_packets * (worst - 1.);
  const double propagation = static_cast<double>(port_mtu.count()) + on_cable + asic.mac_phy_delay +
                             pause_response_quanta(rate) * kQuantumBytes;
  const double xoff = static_cast<double>(lossless_mtu.count()) + propagation * occupancy;
  return {Bytes(asic.pipeline_latency),
          Bytes(static_cast<std::uint64_t>(std::ceil(xoff / 1024.)) * 1024)};
}

Bytes mlx5_headroom(BitRate rate, Length cable, Bytes mtu) {
  const double metres = static_cast<double>(cable.mm()) / 1e3;
  return Bytes(static_cast<std::uint64_t>(std::ceil((301. + 2.16 * metres) * rate.as_gbps() +
                                                    2.72 * static_cast<double>(mtu.count()))));
}

}  // namespace rnicsim

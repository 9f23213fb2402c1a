// SPDX-License-Identifier: MIT
#include "fabric/headroom.h"

#include <algorithm>
#include <cmath>

#include "model/headers.h"
#include "model/pause.h"

namespace rnicsim {

namespace {

/// Bytes that pass at `rate` within `time`, rounded up.
Bytes bytes_within(BitRate rate, Time time) {
  const Uint128 bits = static_cast<Uint128>(rate.numerator()) * static_cast<Uint128>(time.ps());
  const Uint128 unit = static_cast<Uint128>(8) * 1000000000000ULL * rate.denominator();
  return Bytes(static_cast<std::uint64_t>((bits + unit - 1) / unit));
}

/// Bytes of whole cells that a packet takes.
Bytes in_cells(Bytes bytes, Bytes cell) { return cell * divide_up(bytes, cell); }

/// The most that packets which take `wire` bytes of the wire take of the memory: the shortest
/// frames, or those one byte longer than so many cells hold; longer ones waste less.
Bytes worst_in_cells(Bytes wire, Bytes cell) {
  const Bytes overhead = kPreambleBytes + kInterPacketGapBytes;
  const auto filled = [&](Bytes frame) {
    const Bytes each = in_cells(frame, cell);
    return each * wire.count() / (frame + overhead).count() + each;
  };
  return std::max(
      {wire, filled(kMinFrameBytes), filled(in_cells(kMinFrameBytes, cell) + Bytes(1))});
}

}  // namespace

Bytes needed_headroom(const HeadroomDemand& demand) {
  const Bytes overhead = kPreambleBytes + kInterPacketGapBytes;
  const Bytes ours = demand.largest_frame + overhead;
  const Bytes pause = kMinFrameBytes + overhead;
  const Time time = demand.latency + demand.propagation * 2 + demand.response_time;
  return worst_in_cells(ours + pause + bytes_within(demand.rate, time), demand.cell) +
         in_cells(demand.largest_frame, demand.cell) * 2;
}

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

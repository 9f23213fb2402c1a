// SPDX-License-Identifier: MIT
// How much buffer a lossless class needs behind its XOFF threshold by the formulas with which two
// vendors' drivers set up their hardware, exact to the byte: to compare with what the mechanisms of
// this model ask for (model/pause, needed_headroom).
#pragma once

#include "model/units.h"

namespace rnicsim {

/// A switch of NVIDIA's Spectrum family.
struct SpectrumAsic {
  std::uint64_t cell;              ///< bytes
  std::uint64_t pipeline_latency;  ///< bytes
  double mac_phy_delay;            ///< bytes
};
inline constexpr SpectrumAsic kSpectrum1{96, 19 * 1024, 0.8 * 1024};
inline constexpr SpectrumAsic kSpectrum2{144, 19 * 1024, 0.8 * 1024};  ///< and Spectrum-3

struct SpectrumHeadroom {
  Bytes xon;
  Bytes xoff;
  Bytes size() const { return xon + xoff; }
};
/// SONiC's headroom calculation (cfgmgr/buffer_headroom_mellanox.lua) with the constants of its
/// asic_table.j2. `small_packets`: share of packets that fill the cells worst, 0 to 1. Light goes
/// 1.98e8 m/s there; bytes on the cable come out 1.024 times too small, as in the script.
SpectrumHeadroom spectrum_headroom(const SpectrumAsic& asic, BitRate rate, Length cable,
                                   Bytes port_mtu, Bytes lossless_mtu, double small_packets);

/// NVIDIA's NICs (Linux, mlx5 en/port_buffer.c): the bytes behind XOFF. REQUIRES: 40 Gb/s or more.
Bytes mlx5_headroom(BitRate rate, Length cable, Bytes mtu);

}  // namespace rnicsim

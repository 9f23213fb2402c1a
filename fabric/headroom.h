// SPDX-License-Identifier: MIT
// How much buffer a lossless class needs behind its XOFF threshold, so that nothing is lost while
// the pause travels and takes effect. Three ways to reckon it: what the mechanisms of this model
// ask for, and the formulas by which two vendors' drivers set up their hardware, exact to the byte.
#pragma once

#include "model/units.h"

namespace rnicsim {

/// What arrives after a buffer has asked for a pause, at most.
struct HeadroomDemand {
  BitRate rate;
  Time propagation;     ///< of the cable, one way
  Time response_time;   ///< of the sender
  Bytes largest_frame;  ///< both that the pause frame waits for and that the sender has just begun
  Time latency;         ///< of our pipeline, in which the packet may be that the pause waits for
  Bytes cell{1};        ///< bytes take whole cells of this size
};
/// A packet of our own that the pause frame waits for, the pause frame, the cable both ways and the
/// response time, all at the link's rate and in packets that fill the cells worst; the packet that
/// has just begun; and the one that asks for the pause, where the pool has no room left for it.
Bytes needed_headroom(const HeadroomDemand& demand);

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

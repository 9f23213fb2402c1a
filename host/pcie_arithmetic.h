// SPDX-License-Identifier: MIT
// What a PCIe link can carry: rates by generation and width, and the TLPs that a DMA request of any
// address and length becomes. Pure arithmetic, no simulated time passes here.
//
// Models: line coding, the bytes that each TLP adds to its payload (framing, sequence number,
// header, LCRC, optional ECRC), splitting by MPS, MRRS, RCB and the 4 KiB boundary (PCIe Base
// Specification 2.2.7, 2.3.1.1). ACK and flow-control DLLPs and SKP ordered sets are a reduction of
// the rate, as in the published model of pcie-bench, not events: one of each per interval that the
// specification's tables recommend (tables 2-46 to 2-48 and 3-7 to 3-9 of revision 5.0). Generation
// 6 and above run in FLIT mode (revision 6.0, 4.2.3): of 256 B 236 B are TLPs, the other 20 B carry
// DLLPs, CRC and FEC, so TLPs have neither framing nor LCRC and no DLLP takes room from them. The
// published model knows no FLIT mode and gives generation 6 the intervals of generation 5:
// pcie_tlp_rate has its numbers, and no link uses them. Ignores: padding of unaligned payloads to
// whole double words (at most 6 B per request), the NOPs that fill a FLIT's last bytes when the
// link runs empty.
#pragma once

#include <cstdint>

#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

/// The unit of data credits (PCIe Base Specification 2.6.1).
inline constexpr std::uint32_t kPcieCreditBytes = 16;
/// No TLP crosses a boundary of this many bytes.
inline constexpr std::uint32_t kPciePageBytes = 4096;

/// An SKP ordered set of so many bytes is sent every so many (3.0: at most 1538 symbol times).
inline constexpr std::uint32_t kPcieSkipBytes = 4;
inline constexpr std::uint32_t kPcieSkipInterval = 1538;

/// Bits per second of TLP, DLLP and ordered-set bytes. REQUIRES generation 1 to 7.
BitRate pcie_raw_rate(unsigned generation, unsigned lanes);
/// Bytes between two ACK DLLPs and between two flow-control updates. REQUIRES lanes 1, 2, 4, 8, 16
/// or 32 and a payload size of 128 to 4096 B, a power of two.
std::uint32_t pcie_update_interval(unsigned generation, unsigned lanes, Bytes max_payload);
/// Bits per second that are left for TLPs.
BitRate pcie_tlp_rate(unsigned generation, unsigned lanes, Bytes max_payload);
/// The first generation that runs in FLIT mode.
inline constexpr unsigned kFirstFlitGeneration = 6;
/// Bits per second that FLITs leave for TLPs.
BitRate pcie_flit_rate(unsigned generation, unsigned lanes);

/// What a link of either kind has for TLPs.
BitRate pcie_link_rate(unsigned generation, unsigned lanes, Bytes max_payload);

/// How requests become TLPs.
struct PcieFormat {
  Bytes max_payload{256};              ///< MPS
  Bytes max_read_request{512};         ///< MRRS
  Bytes read_completion_boundary{64};  ///< RCB
  Bytes max_completion{4096};          ///< completer's own limit below MPS, e.g. 64 B chunks
  Bytes write_overhead{24};            ///< bytes of a memory write TLP besides its payload
  Bytes read_overhead{24};             ///< bytes of a memory read TLP
  Bytes completion_overhead{20};       ///< bytes of a completion besides its payload

  Bytes completion_payload() const {
    return max_completion < max_payload ? max_completion : max_payload;
  }
  /// The overheads of the specification: 2 B framing, 6 B sequence number and LCRC, then the
  /// header.
  static PcieFormat standard(bool address_64, bool ecrc);
  /// Those of FLIT mode: the header alone.
  static PcieFormat flit(bool address_64, bool ecrc);
  /// The accounting of Kalia, Kaminsky and Andersen, "Design guidelines for high performance RDMA
  /// systems" (USENIX ATC 2016): 26 B per request, 22 B per completion, completions of 128 B.
  static PcieFormat atc16();
};

/// A request as it crosses the link in one direction.
struct TlpSplit {
  std::uint32_t tlps = 0;
  std::uint32_t data_credits = 0;
  Bytes link_bytes;  ///< payload and overhead
};

TlpSplit split_write(const PcieFormat& format, PhysicalAddress address, Bytes bytes);
/// The memory read requests; no payload.
TlpSplit split_read(const PcieFormat& format, PhysicalAddress address, Bytes bytes);
/// The completions that answer `split_read`'s requests: each but a request's last ends at an RCB.
TlpSplit split_completion(const PcieFormat& format, PhysicalAddress address, Bytes bytes);

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The variant CRC of InfiniBand (IBTA volume 1, 7.8.2), made anew for each link: x^16 + x^12 + x^3
// + x + 1, bits in the order of the wire (least significant of each byte first), from ones,
// complemented. Over LRH to ICRC; over the first four bytes of a flow control packet, where it is
// called link packet CRC. Stored least significant byte first, as the ICRC.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rnicsim {

std::uint16_t vcrc_of(const std::uint8_t* bytes, std::size_t size);

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "model/credit_packet.h"

#include "model/byte_order.h"
#include "model/vcrc.h"

namespace rnicsim {

void CreditPacket::write(std::uint8_t* at) const {
  store_be16(at, static_cast<std::uint16_t>(operation << 12 | (total_sent & kCreditMask)));
  store_be16(at + 2, static_cast<std::uint16_t>(lane << 12 | (limit & kCreditMask)));
  store_le16(at + 4, vcrc_of(at, 4));
}

const char* CreditPacket::read(const std::uint8_t* at, std::size_t size, CreditPacket& packet) {
  if (size != kBytes) return "not as long as a flow control packet";
  if (load_le16(at + 4) != vcrc_of(at, 4)) return "wrong link packet CRC";
  packet.operation = at[0] >> 4;
  packet.total_sent = load_be16(at) & kCreditMask;
  packet.lane = at[2] >> 4;
  packet.limit = load_be16(at + 2) & kCreditMask;
  return nullptr;
}

}  // namespace rnicsim

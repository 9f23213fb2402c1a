// SPDX-License-Identifier: MIT
// Turns a send request into a work queue entry (model/nic_abi), as the verbs library does.
//
// Models: the layout by opcode and transport; which opcodes a transport has (man ibv_post_send; UC
// has no packet for SEND with invalidate, so it is refused there); limits of message, inline data
// and entry. Ignores: checks that the NIC makes anyhow (keys, alignment of atomics, datagrams
// longer than the MTU).
#pragma once

#include <cstdint>

#include "host/page_table.h"
#include "host/result.h"
#include "host/work_requests.h"
#include "model/nic_abi.h"
#include "model/units.h"

namespace rnicsim {

struct BuiltWqe {
  std::uint8_t bytes[abi::kMaxWqeBytes] = {};
  std::uint32_t length = 0;         ///< whole segments
  std::uint32_t data_segments = 0;  ///< inline data not counted
  std::uint64_t payload = 0;

  std::uint32_t blocks() const {
    return static_cast<std::uint32_t>(divide_up(length, abi::kWqeBlockBytes));
  }
};

/// What the entry depends on besides its request.
struct SendQueueTraits {
  Qpn qpn;
  Transport transport = Transport::kRc;
  std::uint32_t max_inline = 0;
  std::uint16_t next_block = 0;
};

/// EINVAL: not an opcode of this transport, too long, data where none belong. EFAULT: inline data
/// that are not mapped.
Errno build_wqe(BuiltWqe& wqe, const SendQueueTraits& queue, const SendRequest& request,
                const PageTable& pages);

}  // namespace rnicsim

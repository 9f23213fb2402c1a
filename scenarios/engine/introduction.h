// SPDX-License-Identifier: MIT
// What two programs tell each other over their control channel: whom to connect to and, of memory
// that the other may access, where it is and its key.
#pragma once

#include <cstdint>
#include <vector>

#include "host/control_channel.h"
#include "model/verbs_types.h"
#include "nic/nic_port.h"

namespace rnicsim {

struct Introduction {
  PortIdentity port;
  std::vector<std::uint32_t> qpns;
  VirtualAddress address;
  std::uint64_t length = 0;
  MemoryKey rkey;
  std::vector<MemoryKey> more_keys;  ///< of further regions, one after the other
  ControlMessage encode() const;
  static Introduction decode(const ControlMessage& message);
};

/// A message that is one number.
ControlMessage number_message(std::uint64_t number);
std::uint64_t number_in(const ControlMessage& message);

}  // namespace rnicsim

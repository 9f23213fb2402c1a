// SPDX-License-Identifier: MIT
#include "model/opcode.h"

namespace rnicsim {

namespace {

/// In the order of opcode_table::kTraits.
constexpr std::array<const char*, opcode_table::kTraits.size()> kOpcodeNames = {
    "SEND First",
    "SEND Middle",
    "SEND Last",
    "SEND Last with Immediate",
    "SEND Only",
    "SEND Only with Immediate",
    "RDMA WRITE First",
    "RDMA WRITE Middle",
    "RDMA WRITE Last",
    "RDMA WRITE Last with Immediate",
    "RDMA WRITE Only",
    "RDMA WRITE Only with Immediate",
    "RDMA READ Request",
    "RDMA READ response First",
    "RDMA READ response Middle",
    "RDMA READ response Last",
    "RDMA READ response Only",
    "Acknowledge",
    "ATOMIC Acknowledge",
    "CmpSwap",
    "FetchAdd",
    "reserved",
    "SEND Last with Invalidate",
    "SEND Only with Invalidate",
};

constexpr std::array<const char*, 5> kTransportNames = {"RC", "UC", "RD", "UD", "CNP"};

}  // namespace

const char* name_of(Opcode opcode) {
  const auto index = static_cast<std::size_t>(opcode);
  return index < kOpcodeNames.size() ? kOpcodeNames[index] : "reserved";
}

const char* name_of(WireTransport transport) {
  const auto index = static_cast<std::size_t>(transport);
  return index < kTransportNames.size() ? kTransportNames[index] : "reserved";
}

}  // namespace rnicsim

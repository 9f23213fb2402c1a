// SPDX-License-Identifier: MIT
#include "model/pause_frame.h"

#include "model/byte_order.h"

namespace rnicsim {

namespace {

constexpr std::uint16_t kPriorityOpcode = 0x0101;
constexpr std::uint16_t kGlobalOpcode = 0x0001;

}  // namespace

void PauseFrame::write(std::uint8_t* at) const {
  if (kind == Kind::kGlobal) {
    store_be16(at, kGlobalOpcode);
    store_be16(at + 2, quanta[0]);
    return;
  }
  store_be16(at, kPriorityOpcode);
  store_be16(at + 2, classes);
  for (std::size_t p = 0; p < kPriorities; ++p) store_be16(at + 4 + 2 * p, quanta[p]);
}

const char* PauseFrame::read(const std::uint8_t* at, std::size_t size, PauseFrame& frame) {
  if (size < 2) return "shorter than a MAC control opcode";
  const std::uint16_t opcode = load_be16(at);
  if (opcode == kGlobalOpcode) {
    if (size < kGlobalBytes) return "shorter than a PAUSE frame";
    frame.kind = Kind::kGlobal;
    frame.classes = 0;
    frame.quanta = {load_be16(at + 2)};
    return nullptr;
  }
  if (opcode != kPriorityOpcode) return "no MAC control opcode for pausing";
  if (size < kPriorityBytes) return "shorter than a PFC frame";
  frame.kind = Kind::kPriority;
  frame.classes = static_cast<std::uint8_t>(load_be16(at + 2));
  for (std::size_t p = 0; p < kPriorities; ++p) frame.quanta[p] = load_be16(at + 4 + 2 * p);
  return nullptr;
}

}  // namespace rnicsim

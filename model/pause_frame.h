// SPDX-License-Identifier: MIT
// The MAC control frames that stop a link's sender: priority-based flow control (IEEE 802.1Qbb,
// 802.3 annex 31D) and PAUSE of the whole link (802.3 annex 31B). A timer counts quanta of 512 bit
// times of the link; zero lets the sender go on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/nic_abi.h"
#include "model/units.h"

namespace rnicsim {

/// IEEE 802.1p priorities, which are the classes of priority-based flow control.
inline constexpr std::size_t kPriorities = 8;

inline constexpr std::uint16_t kEtherTypeMacControl = 0x8808;
/// Reserved multicast address of MAC control: bridges do not forward it.
inline constexpr abi::MacAddress kMacControlAddress = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
inline constexpr std::uint64_t kPauseQuantumBits = 512;

struct PauseFrame {
  enum class Kind : std::uint8_t {
    kPriority,  ///< opcode 0x0101: a timer for each class that is enabled
    kGlobal,    ///< opcode 0x0001: one timer, quanta[0]
  };
  /// Of MAC control parameters: opcode, class enable vector, eight timers; or opcode, timer. The
  /// rest of a frame of 64 B is zero.
  static constexpr std::size_t kPriorityBytes = 2 + 2 + 2 * kPriorities;
  static constexpr std::size_t kGlobalBytes = 2 + 2;

  Kind kind = Kind::kPriority;
  std::uint8_t classes = 0;  ///< bit p: quanta[p] counts
  std::array<std::uint16_t, kPriorities> quanta{};

  std::size_t bytes() const { return kind == Kind::kPriority ? kPriorityBytes : kGlobalBytes; }
  void write(std::uint8_t* at) const;
  /// Null, or why the bytes behind the EtherType are no pause frame.
  static const char* read(const std::uint8_t* at, std::size_t size, PauseFrame& frame);
};

}  // namespace rnicsim

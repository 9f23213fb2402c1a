// SPDX-License-Identifier: MIT
// A rule by which a link loses, damages, falsifies, doubles, delays or reorders packets: which
// packets (all conditions that are given must hold), which of those (every, first, count or
// probability), and what happens to them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/config_reader.h"
#include "model/headers.h"
#include "model/units.h"

namespace rnicsim {

enum class FaultKind : std::uint8_t {
  kDrop,
  kCorruptIcrc,  ///< a bit that the ICRC covers is flipped; the frame's FCS is right
  kCorruptFcs,   ///< the frame's FCS is wrong
  kWrongOpcode,  ///< as a NIC that is broken sends it: another opcode, all else right
  kDuplicate,
  kReorder,
  kDelay,
  kDown,  ///< nothing that is sent gets through
};

/// Whose packets: kAny has pause frames and flow control packets too.
enum class FaultProtocol : std::uint8_t { kAny, kRdma, kTcp };

/// Forward leads from the link's first port to its second.
enum class FaultDirection : std::uint8_t { kForward, kBackward, kBoth };

struct FaultRule {
  FaultKind kind = FaultKind::kDrop;
  std::optional<std::string> name;
  FaultDirection direction = FaultDirection::kBoth;

  FaultProtocol protocol = FaultProtocol::kAny;
  std::optional<std::string> link;    ///< a glob of link names, "A-switch0"
  std::optional<std::string> opcode;  ///< a glob of opcode names, see selects
  std::optional<std::uint32_t> psn;
  std::optional<std::uint8_t> ipv4_identification_low_byte;
  std::optional<Time> from;
  std::optional<Time> until;

  std::optional<double> probability;
  std::optional<std::uint64_t> every;
  std::optional<std::uint64_t> first;
  std::optional<std::uint64_t> count;

  std::optional<Time> delay;
  std::optional<std::uint32_t> behind;
  std::optional<std::string> sent_as;  ///< name of an opcode

  void describe(Fields& fields);

  /// What a reordered packet waits for at most if no delay is given.
  static constexpr Time kReorderDelay = Time::us(10);

  bool acts(FaultDirection one_direction) const {
    return direction == FaultDirection::kBoth || direction == one_direction;
  }
  bool acts_on(const std::string& link_name) const;
  /// Whether the opcode's name matches the glob; capitals and small letters are the same.
  bool selects(Opcode one_opcode) const;
  /// Frames that have no opcode are called so.
  static constexpr const char* kPause = "Pause";
  static constexpr const char* kFlowControl = "Flow Control";
  bool selects_control(const char* frame) const;
  /// Whether it may act on segments of TCP, which have neither opcode nor PSN.
  bool selects_tcp() const;
  bool selects_rdma() const { return protocol != FaultProtocol::kTcp; }
  /// What stands in the packet instead of its opcode. REQUIRES: kind kWrongOpcode.
  Opcode false_opcode() const;
  /// Its name in metrics: the one given, or its place among the link's rules.
  std::string label(std::size_t index) const { return name.value_or(std::to_string(index)); }

 private:
  bool selects_any() const;
};

}  // namespace rnicsim

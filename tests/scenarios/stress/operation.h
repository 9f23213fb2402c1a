// SPDX-License-Identifier: MIT
// One operation of a random program, and where in a queue pair's memory operations go.
#pragma once

#include <cstdint>
#include <vector>

#include "host/verbs.h"
#include "tests/scenarios/stress/draws.h"

namespace rnicsim::stress {

enum Kind : unsigned { kWrite, kWriteImm, kRead, kSend, kSendImm, kCompareSwap, kFetchAdd, kKinds };

inline constexpr abi::WqeOpcode kOpcodes[kKinds] = {
    abi::WqeOpcode::kRdmaWrite,     abi::WqeOpcode::kRdmaWriteImm,
    abi::WqeOpcode::kRdmaRead,      abi::WqeOpcode::kSend,
    abi::WqeOpcode::kSendImm,       abi::WqeOpcode::kAtomicCompareSwap,
    abi::WqeOpcode::kAtomicFetchAdd};
inline constexpr WcOpcode kCompletedAs[kKinds] = {
    WcOpcode::kRdmaWrite, WcOpcode::kRdmaWrite,   WcOpcode::kRdmaRead, WcOpcode::kSend,
    WcOpcode::kSend,      WcOpcode::kCompareSwap, WcOpcode::kFetchAdd};

inline bool is_atomic(Kind kind) { return kind == kCompareSwap || kind == kFetchAdd; }
inline bool is_write(Kind kind) { return kind == kWrite || kind == kWriteImm; }
inline bool is_send(Kind kind) { return kind == kSend || kind == kSendImm; }
inline bool takes_receive(Kind kind) { return is_send(kind) || kind == kWriteImm; }
inline bool with_immediate(Kind kind) { return kind == kSendImm || kind == kWriteImm; }

// One side's memory of one queue pair, as offsets into its region.
inline constexpr std::uint32_t kWindow = 8192;       ///< from 0: the peer WRITEs and READs there
inline constexpr std::uint32_t kCounters = kWindow;  ///< of the peer's atomics
inline constexpr std::uint32_t kCounterCount = 8;
/// One more counter, of all queue pairs, in the first's region.
inline constexpr std::uint32_t kShared = kCounters + 8 * kCounterCount;
inline constexpr std::uint32_t kReferenced = kShared;
inline constexpr std::uint32_t kSource = 12288;  ///< what WRITEs and SENDs take, never changed
inline constexpr std::uint32_t kSourceBytes = 8192;
inline constexpr std::uint32_t kTargets = kSource + kSourceBytes;  ///< of READs and atomics
inline constexpr std::uint32_t kTargetSlots = 64;
inline constexpr std::uint32_t kMaxLength = 6144;
inline constexpr std::uint32_t kRegion = kTargets + kTargetSlots * kMaxLength;

struct Piece {
  std::uint32_t offset;
  std::uint32_t length;
};

struct Operation {
  Kind kind = kWrite;
  std::vector<Piece> pieces;
  std::uint32_t length = 0;
  std::uint32_t remote = 0;
  bool signaled = true;
  bool fence = false;
  bool inlined = false;
  bool wrong_lkey = false;
  bool wrong_rkey = false;
  bool shared = false;          ///< a fetch-and-add to the counter that all share
  std::uint32_t immediate = 0;  ///< its number
  std::uint64_t compare = 0;
  std::uint64_t swap_or_add = 0;
  Data data;  ///< what it sends, or must bring
};

}  // namespace rnicsim::stress

// SPDX-License-Identifier: MIT
// Where the time of messages went, as latency_breakdown found it: numbers only, for views.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/units.h"

namespace rnicsim {

/// What a message waits for, or has done to it, in the order in which a WRITE meets them first.
enum class Stage : std::uint8_t {
  kPosting,          ///< the CPU writes descriptors
  kDoorbell,         ///< from the CPU's MMIO write until the NIC acts on it
  kWqeFetch,         ///< the NIC reads the descriptor
  kContextMiss,      ///< a NIC fetches the queue pair's context
  kTurn,             ///< waits for its turn in a NIC: scheduling, rates, windows, who was before it
  kSentAgain,        ///< until a packet that was lost or refused is sent again
  kOwnKey,           ///< lkey check and translation at the sender
  kTranslationMiss,  ///< a NIC fetches a translation
  kDmaRead,          ///< payload from memory
  kTxPipeline,       ///< headers
  kPortQueue,        ///< waits for the wire of its NIC
  kPause,            ///< its priority is paused, or its lane without credit
  kSerialisation,    ///< first bit to last bit, at each port on the way
  kPropagation,      ///< cables
  kSwitch,           ///< pipelines of switches
  kSwitchQueue,      ///< waits for the wire of a switch
  kRxQueue,          ///< waits in the receiving NIC for those before it
  kRxPipeline,       ///< the receiving NIC
  kKeyCheck,         ///< key check and translation at the receiver
  kDmaWrite,         ///< payload to memory, as far as the answer waits for it
  kAck,              ///< acknowledgement, or its way back
  kCqe,              ///< completion entry
  kPolling,          ///< until the program has it
};
inline constexpr std::size_t kStages = static_cast<std::size_t>(Stage::kPolling) + 1;

/// "wqe_fetch".
const char* name_of(Stage stage);
std::optional<Stage> stage_of_name(std::string_view name);

using StageTimes = std::array<Time, kStages>;

/// A stretch of a message's time that went to one stage.
struct StagePiece {
  Stage stage = Stage::kPosting;
  Time begin;
  Time end;
};

/// One message. Its stages add up to its time exactly.
struct MessageTimes {
  std::uint64_t work_request = 0;
  std::uint64_t bytes = 0;
  Time begin;
  Time end;
  StageTimes stages{};
  /// In order, without a gap; of messages that the timeline shows. The first kMostPieces of them.
  std::vector<StagePiece> pieces;
  Time whole() const { return end - begin; }
};

/// One stage over many messages, those included that did not have it: nearest rank.
struct StageSpread {
  std::uint64_t messages = 0;  ///< that had it
  Time mean;
  Time p50;
  Time p90;
  Time p99;
  Time max;
  double share = 0;  ///< of the time of all messages together
};

/// The messages of one workload.
struct WorkloadLatency {
  std::string workload;
  std::uint64_t messages = 0;  ///< that were followed to their end
  std::uint64_t left_out = 0;  ///< not followed, without an entry of their own, or failed
  StageSpread whole;
  std::array<StageSpread, kStages> stages;
  /// Those whose whole time is the 50, 90 and 99 % and the longest of all.
  std::vector<MessageTimes> ranked;
  std::vector<MessageTimes> shown;  ///< that the timeline shows
};

}  // namespace rnicsim

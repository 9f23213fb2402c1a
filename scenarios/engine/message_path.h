// SPDX-License-Identifier: MIT
// The time of one message while it is under way, cut into stages: a cursor that only moves forward,
// and what it passes goes to one stage, so that stages add up to the whole exactly.
//
// Up to the sender's wire every packet counts, with what it adds after the packet before it was
// through: of two that wait at the same time only one counts. What a packet meets beyond the wire
// is kept aside: only that of the last packet (or of the one that was sent again last) counts, as
// what the others met there passed while their successors were sent. The answers of a READ are
// packets in their turn, behind the way of the request.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/priority_arbiter.h"
#include "model/verbs_types.h"
#include "scenarios/engine/latency_result.h"

namespace rnicsim {

/// One thing after the other that a packet meets: `stage` until then, whatever was before.
struct PathStep {
  Stage stage = Stage::kTurn;
  Time until;
  bool waits = false;  ///< a miss of the context may be in it
};

/// A packet that is being made.
struct PacketInMaking {
  static constexpr std::size_t kMostSteps = 8;
  std::uint64_t packet = 0;
  bool answer = false;
  std::uint8_t priority = 0;
  Time stopped;  ///< how long the port had been stopped when it was cut
  std::size_t steps = 0;
  std::array<PathStep, kMostSteps> step;

  void add(Stage stage, Time until, bool waits = false);
};

class MessagePath {
 public:
  static constexpr std::size_t kMostPieces = 400;

  /// `with_pieces`: keeps them.
  MessagePath(WorkRequestId id, std::uint64_t bytes, Time begin, bool with_pieces);

  WorkRequestId id() const { return WorkRequestId(times_.work_request); }
  Time cursor() const { return times_.end; }

  /// All up to `until` that has not been counted goes to `stage`.
  void spend(Stage stage, Time until);
  /// The same, but what the context was missed for goes to that.
  void wait(Stage stage, Time until);
  /// A NIC had to fetch the context of the message's queue pair.
  void missed_context(Time since, Time until) { misses_.push_back({since, until}); }

  PacketInMaking& make(std::uint64_t packet);
  PacketInMaking* making(std::uint64_t packet);

  /// A packet takes the wire, which it could have taken at `ready`, was stopped for `stopped` and
  /// could begin at `begin`; its last bit leaves at `last_bit`. `stopped_while_waiting`: how long
  /// the port was stopped before the packet was cut and since the one before it.
  struct Departure {
    Time ready;
    Time begin;
    Time stopped;
    Time last_bit;
    Time gap{};  ///< that follows on the wire
    Time stopped_while_waiting{};
  };
  void depart(const PacketInMaking& packet, const Departure& at);
  bool has_departed() const { return packet_ != 0; }
  /// The packet whose way counts.
  std::uint64_t packet() const { return packet_; }
  bool is_answer() const { return answer_; }

  /// That packet, or its acknowledgement, goes on.
  void go_on(Stage stage, Time until, bool waits = false) {
    ahead_.push_back({stage, until, waits});
  }
  void acknowledge(Time until) {
    go_on(Stage::kAck, until);
    acknowledged_ = true;
  }
  /// An acknowledgement of that packet has been sent.
  bool is_acknowledged() const { return acknowledged_; }
  std::uint64_t acknowledgement() const { return acknowledgement_; }
  void set_acknowledgement(std::uint64_t packet) { acknowledgement_ = packet; }

  /// What was met beyond the wire counts, as far as it was before `limit`.
  void arrive(Time limit) { settle(limit); }
  /// Or only what has been done to packets at home: who sends does not wait for more.
  void stay_home(Time limit);
  /// Something has been done for a packet, at least.
  bool has_begun() const { return packet_ != 0 || !making_.empty(); }

  const MessageTimes& times() const { return times_; }

 private:
  struct Span {
    Time since;
    Time until;
  };
  void settle(Time limit);
  void take(const PathStep& step, Time limit);

  MessageTimes times_;  ///< `end` is the cursor
  bool with_pieces_;
  std::vector<Span> misses_;
  std::vector<PacketInMaking> making_;
  std::vector<PathStep> ahead_;  ///< the first: its own serialisation
  Time gap_until_;
  std::uint64_t packet_ = 0;
  std::uint64_t acknowledgement_ = 0;
  bool answer_ = false;
  bool acknowledged_ = false;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// Who sends when in one direction of a PCIe link: trains of TLPs that share a serial wire under
// flow control. No events here: host/pcie_direction says when to decide, and delivers.
//
// Trains of one stream go first in, first out; streams take turns round robin, a turn being the
// TLPs that fit into one of the largest size (so eight 24 B read requests are one turn, and a train
// of sixteen 280 B writes is sixteen). There is no step per TLP: whole trains or whole rounds are
// decided at once.
//
// Decisions are final (committed) up to the present, as whatever arrives later is eligible no
// earlier; beyond that they are looked at on a copy of the state. In the usual case, one stream
// with credits for all of its train, the look ahead is a plan that is worked out once and committed
// as it is when its time has come, unless something arrived that it knows nothing of.
//
// Exact: bytes, times to the picosecond from the start of each busy period (the remainder is
// carried), credits per TLP. Approximated: all TLPs of a train but its last have one size, so the
// boundaries of completions to an unaligned address are off by up to one TLP, their end is not.
// Credits come back in order: where two streams of one class send together, up to a round late.
//
// Ordering (PCIe Base Specification 2.4.1): a posted train passes a non-posted one that lacks
// credits; non-posted trains and completions queued behind a posted one that lacks credits wait for
// it, whatever their stream. What must never pass a posted train at all shares its stream.
// Completions need no credits.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "host/pcie_credits.h"
#include "host/pcie_replay.h"
#include "host/pcie_train.h"
#include "model/metrics.h"
#include "model/ring.h"
#include "model/units.h"

namespace rnicsim {

struct PcieDirectionConfig {
  BitRate rate;           ///< left for TLPs
  Bytes max_tlp{280};     ///< the largest TLP with its payload: one turn
  PcieCredits posted;     ///< REQUIRES enough for two TLPs
  PcieCredits nonposted;  ///< data unused: reads carry none
  Time credit_return;     ///< last byte of a TLP sent -> its credits are here again
  PcieReplayConfig replay;
  Time replay_round_trip;  ///< a TLP's way and its NAK's
  std::uint64_t replay_seed = 0;
  /// Of each stream: last byte sent -> delivery is called. REQUIRES one to eight streams.
  std::vector<Time> delivery_delay;
};

class PcieArbiter {
 public:
  static constexpr unsigned kMaxStreams = 8;
  /// A train that has been sent.
  struct Sent {
    TrainReceiver receiver;
    std::uint64_t cookie = 0;
    TrainTimes times;
  };

  explicit PcieArbiter(const PcieDirectionConfig& config);
  PcieArbiter(const PcieArbiter&) = delete;
  PcieArbiter& operator=(const PcieArbiter&) = delete;

  /// Queues a train behind those of its stream that are eligible no later. False if it is to be
  /// sent behind another of its stream, and so delivered after it.
  bool queue(unsigned stream, const Train& train, Time eligible);
  /// No posted credits come back before `time`.
  void hold_posted_credits(Time time);

  /// Takes all decisions before `limit`, for good.
  void commit(Time limit);
  /// The earliest delivery of a train that has been sent.
  Time next_delivery() const;
  /// The least of `best` and the earliest delivery (or time to look again) of those that will be
  /// sent, if nothing else arrives.
  Time look_ahead(Time best);
  /// Hands out the earliest of the trains that are due for delivery by `now`; false if none is.
  bool take_due(Time now, Sent& sent);

  Bytes bytes() const { return bytes_; }
  const ByteTime& byte_time() const { return byte_time_; }
  void report(const MetricScope& scope) const;

 private:
  struct Queued {
    Train train;
    std::uint64_t sequence = 0;
    std::uint32_t turn_bytes = 0;
    PcieCredits turn_credits;
    TrainTimes times;
  };
  using Instant = WireInstant;
  static constexpr Instant kNever = WireInstant::never();
  /// Everything that advancing changes, small enough to copy for a look ahead.
  struct Head {
    std::uint32_t index = 0;      ///< in the stream's ring, of the train being sent
    std::uint32_t remaining = 0;  ///< bytes; 0: not started
    PcieCredits needed;           ///< by what remains
  };
  struct State {
    Instant now;               ///< the wire is free
    std::uint32_t active = 0;  ///< streams with trains that have not been sent, as bits
    std::uint32_t turn = 0;    ///< stream whose turn is next
    std::uint32_t owed = 0;    ///< posted streams that lacked credits and go first now, as bits
    std::array<Head, kMaxStreams> heads;
    std::array<CreditReturns::View, 2> credits;  ///< posted, non-posted
  };
  /// What the streams could do at the state's time.
  struct Choice {
    std::uint32_t ready = 0;           ///< bits
    std::uint32_t posted_blocked = 0;  ///< bits
    bool nonposted_blocked = false;
    bool blind = false;     ///< looking ahead: credits may be back that the state does not know of
    Instant next = kNever;  ///< earliest time at which another stream may become ready
  };
  /// All that is left of the train of the only active stream, sent without a pause.
  struct Plan {
    bool valid = false;
    std::uint32_t stream = 0;
    Instant start;
    std::uint32_t full_turns = 0;  ///< before the last one
    std::uint32_t last_bytes = 0;
    Instant last_turn;  ///< its start
    Instant end;
    PcieCredits needed;
  };

  template <bool kCommit>
  Time advance(State& state, Plan& plan, Time limit, Time best);
  Choice choose(const State& state) const;
  bool ready(const State& state, unsigned stream, Choice& choice) const;
  void withhold_behind_blocked(const State& state, Choice& choice) const;
  PcieCredits turn_needs(const State& state, unsigned stream) const;
  void take_returns(State& state) const;
  Plan plan_alone(const State& state) const;
  Plan plan_train(const State& state, unsigned stream, Instant start) const;
  template <bool kCommit>
  void consume_turns(State& state, const Queued& queued, const Plan& plan);
  template <bool kCommit>
  void send_planned(State& state, const Plan& plan);
  enum class Alone : std::uint8_t { kServed, kLater, kNo };
  template <bool kCommit>
  Alone serve_alone(State& state, Plan& plan, Time limit);
  template <bool kCommit>
  bool skip_rounds(State& state, const Choice& choice, Time limit);
  std::uint32_t rounds_possible(const State& state, const Choice& choice, Time limit) const;
  template <bool kCommit>
  Time serve(State& state, unsigned stream);
  template <bool kCommit>
  void end_train(State& state, unsigned stream, Time end);
  void start(State& state, unsigned stream);
  template <bool kCommit>
  void consume(State& state, TlpClass kind, const CreditReturns::Ramp& when) {
    const auto index = static_cast<unsigned>(kind);
    returns_[index].consume<kCommit>(state.credits[index], when);
  }
  Instant after(const Instant& start, std::uint64_t bytes) const {
    return rnicsim::after(byte_time_, start, bytes);
  }
  void note_idle(const Choice& choice, Time from, Time until);

  const Queued& head(const State& state, unsigned stream) const {
    return streams_[stream].at(state.heads[stream].index);
  }
  Time delivery_of_first(unsigned stream) const {
    return streams_[stream].front().times.end + delivery_delay_[stream];
  }
  Time delivery(const Plan& plan) const {
    return plan.end.rounded_up() + delivery_delay_[plan.stream];
  }
  Time shortest_delay(std::uint32_t streams) const;

  std::uint32_t max_tlp_;
  ByteTime byte_time_;
  std::array<Time, kMaxStreams> delivery_delay_;
  std::array<Ring<Queued>, kMaxStreams> streams_;  ///< sent but undelivered trains in front
  std::uint32_t sent_ = 0;                         ///< streams with such trains, as bits
  State state_;
  Plan plan_;                             ///< from the committed state on
  std::array<CreditReturns, 2> returns_;  ///< posted, non-posted
  std::uint64_t sequence_ = 0;

  std::array<std::uint64_t, kTlpClasses> tlps_{};
  Bytes bytes_;
  Time stalled_posted_;
  Time stalled_nonposted_;
};

}  // namespace rnicsim

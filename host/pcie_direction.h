// SPDX-License-Identifier: MIT
// One direction of a PCIe link: trains of TLPs that share a serial wire under flow control.
//
// A train is all TLPs of one DMA request in this direction. Trains of one stream go first in, first
// out; streams take turns round robin, a turn being the TLPs that fit into one of the largest size
// (so eight 24 B read requests are one turn, and a train of sixteen 280 B writes is sixteen). There
// is no event per TLP: the state lags behind time and is advanced, whole rounds at once, when a
// delivery is due or an arrival could change one; one scheduler entry is armed for the earliest
// delivery, on the assumption that nothing else arrives. When something does and delays it, the
// entry finds nothing due and is armed again.
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
#include "model/metrics.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "model/units.h"

namespace rnicsim {

enum class TlpClass : std::uint8_t { kPosted, kNonPosted, kCompletion };
inline constexpr unsigned kTlpClasses = 3;

struct PcieDirectionConfig {
  BitRate rate;           ///< left for TLPs
  Bytes max_tlp{280};     ///< the largest TLP with its payload: one turn
  PcieCredits posted;     ///< REQUIRES enough for two TLPs
  PcieCredits nonposted;  ///< data unused: reads carry none
  Time credit_return;     ///< last byte of a TLP sent -> its credits are here again
  /// Of each stream: last byte sent -> delivery is called.
  std::vector<Time> delivery_delay;
};

/// When the bytes of a train left the sender.
struct TrainTimes {
  Time start;      ///< first byte
  Time first_end;  ///< last byte of the first TLP
  Time end;        ///< last byte of the last TLP
};

/// Who is told that a train arrived.
struct TrainReceiver {
  void (*function)(void* object, std::uint64_t cookie, const TrainTimes& times) = nullptr;
  void* object = nullptr;
};

template <auto Method, class T>
TrainReceiver deliver_to(T* object) {
  return {[](void* o, std::uint64_t cookie, const TrainTimes& times) {
            (static_cast<T*>(o)->*Method)(cookie, times);
          },
          object};
}

/// All TLPs but the last are of the largest size: a write across a 4 KiB boundary is two trains.
struct Train {
  TlpClass kind = TlpClass::kPosted;
  std::uint32_t tlps = 0;
  std::uint32_t bytes = 0;         ///< payload and overhead of all TLPs
  std::uint32_t data_credits = 0;  ///< of all TLPs
  std::uint32_t tlp_bytes = 0;     ///< of the largest TLP of the train
  std::uint32_t tlp_credits = 0;   ///< data credits of the largest TLP
  Time eligible;                   ///< not before this time; a past one means now
  TrainReceiver receiver;
  std::uint64_t cookie = 0;
};

class PcieDirection {
 public:
  static constexpr unsigned kMaxStreams = 8;

  PcieDirection(Scheduler& scheduler, const PcieDirectionConfig& config);
  PcieDirection(const PcieDirection&) = delete;
  PcieDirection& operator=(const PcieDirection&) = delete;

  /// Queues a train behind those of its stream that are eligible no later.
  void send(unsigned stream, const Train& train);
  /// The receiver takes no posted data out of its buffer before `time`: no credits come back
  /// earlier.
  void hold_posted_credits(Time time);

  bool idle() const { return undelivered_ == 0; }
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
  using Ramp = CreditReturns::Ramp;
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

  template <bool kCommit>
  Time advance(State& state, Time limit, Time best);
  Choice choose(const State& state) const;
  bool ready(const State& state, unsigned stream, Choice& choice) const;
  void withhold_behind_blocked(const State& state, Choice& choice) const;
  PcieCredits turn_needs(const State& state, unsigned stream) const;
  void take_returns(State& state) const;
  enum class Alone : std::uint8_t { kServed, kLater, kNo };
  template <bool kCommit>
  Alone serve_alone(State& state, Time limit, Time& best);
  template <bool kCommit>
  bool skip_rounds(State& state, const Choice& choice, Time limit);
  std::uint32_t rounds_possible(const State& state, const Choice& choice, Time limit) const;
  template <bool kCommit>
  Time serve(State& state, unsigned stream);
  template <bool kCommit>
  void end_train(State& state, unsigned stream, Time end);
  void start(State& state, unsigned stream);
  template <bool kCommit>
  void consume(State& state, TlpClass kind, const Ramp& when) {
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
  Time shortest_delay(std::uint32_t streams) const;
  std::size_t enqueue(unsigned stream, const Train& train);
  void commit();
  void fire(std::uint64_t generation);
  bool deliver_due();
  Time next_delivery() const;
  void arm();

  Scheduler& scheduler_;
  PcieDirectionConfig config_;
  ByteTime byte_time_;
  std::array<Ring<Queued>, kMaxStreams> streams_;  ///< sent but undelivered trains in front
  State state_;
  std::array<CreditReturns, 2> returns_;  ///< posted, non-posted
  Time armed_ = Time::never();
  std::uint64_t generation_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t undelivered_ = 0;
  bool firing_ = false;

  std::array<std::uint64_t, kTlpClasses> tlps_{};
  Bytes bytes_;
  Time stalled_posted_;
  Time stalled_nonposted_;
  std::uint64_t most_undelivered_ = 0;
};

}  // namespace rnicsim

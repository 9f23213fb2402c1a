// SPDX-License-Identifier: MIT
#include "host/pcie_direction.h"

#include <algorithm>

#include "model/invariant.h"

namespace rnicsim {

namespace {

/// Calls visit(stream) for each bit, lowest first.
template <class Visit>
void for_each_stream(std::uint32_t bits, Visit visit) {
  while (bits != 0) {
    visit(static_cast<unsigned>(__builtin_ctz(bits)));
    bits &= bits - 1;
  }
}

/// The first stream at or after `turn`, in a circle. REQUIRES bits != 0.
unsigned next_in_turn(std::uint32_t bits, std::uint32_t turn) {
  const std::uint32_t later = bits & ~((1U << turn) - 1);
  return static_cast<unsigned>(__builtin_ctz(later != 0 ? later : bits));
}

bool covers(PcieCredits available, PcieCredits needed) {
  return available.headers >= needed.headers && available.data >= needed.data;
}

}  // namespace

PcieDirection::PcieDirection(Scheduler& scheduler, const PcieDirectionConfig& config)
    : scheduler_(scheduler),
      config_(config),
      byte_time_(config.rate),
      returns_{CreditReturns(byte_time_, config.credit_return),
               CreditReturns(byte_time_, config.credit_return)} {
  if (config.delivery_delay.empty() || config.delivery_delay.size() > kMaxStreams)
    throw InvariantBroken(scheduler.name(), Time(), "a PCIe direction needs one to eight streams");
  state_.credits[0].available = config.posted;
  state_.credits[1].available = config.nonposted;
}

void PcieDirection::send(unsigned stream, const Train& train) {
  const bool was_active = (state_.active >> stream & 1) != 0;
  const std::size_t place = enqueue(stream, train);
  state_.active |= 1U << stream;
  if (firing_) return;
  // Behind others of its stream it is delivered after them, and one of those is armed for.
  if (was_active && place > state_.heads[stream].index) return;
  const Time earliest = streams_[stream].at(place).train.eligible +
                        byte_time_.of(Bytes(train.bytes)) + config_.delivery_delay[stream];
  if (armed_ > earliest) arm();
}

/// Returns the train's place in its stream's ring.
std::size_t PcieDirection::enqueue(unsigned stream, const Train& train) {
  Queued queued;
  queued.train = train;
  queued.train.eligible = std::max(train.eligible, scheduler_.now());
  queued.sequence = ++sequence_;
  const auto per_turn = std::max<std::uint32_t>(
      1, static_cast<std::uint32_t>(config_.max_tlp.count()) / train.tlp_bytes);
  queued.turn_bytes = per_turn * train.tlp_bytes;
  queued.turn_credits = {per_turn, per_turn * train.tlp_credits};

  Ring<Queued>& ring = streams_[stream];
  ring.push(queued);
  ++undelivered_;
  most_undelivered_ = std::max(most_undelivered_, undelivered_);
  // Only a train that is eligible later, hence not before now, and so has not started, is
  // overtaken.
  const Head& head = state_.heads[stream];
  std::size_t place = ring.size() - 1;
  while (place > head.index + (head.remaining != 0 ? 1U : 0U) &&
         ring.at(place - 1).train.eligible > queued.train.eligible) {
    std::swap(ring.at(place - 1), ring.at(place));
    --place;
  }
  return place;
}

void PcieDirection::hold_posted_credits(Time time) { returns_[0].hold(time); }

/// Takes all decisions before `limit`; returns the least of `best` and the earliest delivery found.
/// Looking ahead (not kCommit) it ends as soon as nothing earlier can come.
template <bool kCommit>
Time PcieDirection::advance(State& state, Time limit, Time best) {
  while (state.active != 0 && state.now.time < limit) {
    if (!kCommit && state.now.time + shortest_delay(state.active) >= best) break;
    const Alone alone = serve_alone<kCommit>(state, limit, best);
    if (alone == Alone::kServed) continue;
    if (alone == Alone::kLater) break;
    take_returns(state);
    const Choice choice = choose(state);
    if (choice.blind) {
      best = std::min(best, state.now.rounded_up());  // look again then
      break;
    }
    state.owed |= choice.posted_blocked;
    if (choice.ready == 0) {
      if (choice.next.time >= limit) break;
      if (kCommit) note_idle(choice, state.now.time, choice.next.time);
      state.now = choice.next;
      continue;
    }
    const std::uint32_t first = choice.ready & state.owed;
    if (first == 0 && skip_rounds<kCommit>(state, choice, limit)) continue;
    const unsigned stream = next_in_turn(first != 0 ? first : choice.ready, state.turn);
    state.owed &= ~(1U << stream);
    const Time end = serve<kCommit>(state, stream);
    if (!kCommit && end != Time::never())
      best = std::min(best, end + config_.delivery_delay[stream]);
  }
  return best;
}

PcieDirection::Choice PcieDirection::choose(const State& state) const {
  Choice choice;
  for_each_stream(state.active, [&](unsigned stream) {
    if (ready(state, stream, choice)) choice.ready |= 1U << stream;
  });
  if (choice.posted_blocked != 0) withhold_behind_blocked(state, choice);
  return choice;
}

bool PcieDirection::ready(const State& state, unsigned stream, Choice& choice) const {
  const Train& train = head(state, stream).train;
  if (train.eligible > state.now.time) {
    choice.next = std::min(choice.next, Instant{train.eligible, 0});
    return false;
  }
  if (train.kind == TlpClass::kCompletion) return true;
  const auto kind = static_cast<unsigned>(train.kind);
  if (covers(state.credits[kind].available, turn_needs(state, stream))) return true;
  if (kind == 0)
    choice.posted_blocked |= 1U << stream;
  else
    choice.nonposted_blocked = true;
  const Instant next = returns_[kind].next(state.credits[kind]);
  choice.next = std::min(choice.next, next);
  if (next <= state.now) choice.blind = true;
  return false;
}

/// Takes from the ready streams what came after a posted train that lacks credits.
void PcieDirection::withhold_behind_blocked(const State& state, Choice& choice) const {
  std::pair<Time, std::uint64_t> oldest{Time::never(), 0};
  const auto rank = [&](unsigned stream) {
    const Queued& queued = head(state, stream);
    return std::pair{queued.train.eligible, queued.sequence};
  };
  for_each_stream(choice.posted_blocked,
                  [&](unsigned stream) { oldest = std::min(oldest, rank(stream)); });
  for_each_stream(choice.ready, [&](unsigned stream) {
    if (head(state, stream).train.kind != TlpClass::kPosted && oldest < rank(stream))
      choice.ready &= ~(1U << stream);
  });
}

/// Credits of the next turn. Of read requests, as many go as there are credits.
PcieCredits PcieDirection::turn_needs(const State& state, unsigned stream) const {
  const Queued& queued = head(state, stream);
  const Head& head = state.heads[stream];
  const bool started = head.remaining != 0;
  PcieCredits needs =
      started ? head.needed : PcieCredits{queued.train.tlps, queued.train.data_credits};
  const std::uint32_t remaining = started ? head.remaining : queued.train.bytes;
  if (remaining > queued.turn_bytes)
    needs = {std::min(needs.headers, queued.turn_credits.headers),
             std::min(needs.data, queued.turn_credits.data)};
  if (queued.train.kind == TlpClass::kNonPosted)
    needs.headers = std::clamp<std::uint32_t>(state.credits[1].available.headers, 1, needs.headers);
  return needs;
}

void PcieDirection::take_returns(State& state) const {
  for (unsigned kind = 0; kind < 2; ++kind) returns_[kind].take(state.credits[kind], state.now);
}

/// Whole rounds in which every ready stream has its turn and none ends its train.
template <bool kCommit>
bool PcieDirection::skip_rounds(State& state, const Choice& choice, Time limit) {
  const std::uint32_t rounds = rounds_possible(state, choice, limit);
  if (rounds < 2) return false;
  std::uint32_t round_bytes = 0;
  for_each_stream(choice.ready, [&](unsigned s) { round_bytes += head(state, s).turn_bytes; });
  std::uint32_t before = 0;
  std::uint32_t left = choice.ready;
  while (left != 0) {
    const unsigned stream = next_in_turn(left, state.turn);
    left &= ~(1U << stream);
    state.turn = (stream + 1) % kMaxStreams;
    const Queued& queued = head(state, stream);
    before += queued.turn_bytes;
    state.heads[stream].remaining -= rounds * queued.turn_bytes;
    const PcieCredits each = queued.turn_credits;
    state.heads[stream].needed.headers -= rounds * each.headers;
    state.heads[stream].needed.data -= rounds * each.data;
    if (queued.train.kind != TlpClass::kCompletion)
      consume<kCommit>(state, queued.train.kind,
                       {after(state.now, before), round_bytes, rounds, each});
  }
  state.now = after(state.now, static_cast<std::uint64_t>(rounds) * round_bytes);
  return true;
}

std::uint32_t PcieDirection::rounds_possible(const State& state, const Choice& choice,
                                             Time limit) const {
  std::uint32_t rounds = 0xffffffff;
  for_each_stream(choice.ready, [&](unsigned stream) {
    if (state.heads[stream].remaining <= 2 * head(state, stream).turn_bytes) rounds = 0;
  });
  if (rounds == 0) return 0;
  std::uint64_t round_bytes = 0;
  std::array<PcieCredits, kTlpClasses> needs{};
  for_each_stream(choice.ready, [&](unsigned stream) {
    const Queued& queued = head(state, stream);
    const Head& head = state.heads[stream];
    const PcieCredits each = queued.turn_credits;
    round_bytes += queued.turn_bytes;
    rounds = std::min({rounds, (head.remaining - 1) / queued.turn_bytes,
                       head.needed.headers / each.headers,
                       each.data == 0 ? rounds : head.needed.data / each.data});
    needs[static_cast<unsigned>(queued.train.kind)].headers += each.headers;
    needs[static_cast<unsigned>(queued.train.kind)].data += each.data;
  });
  for (unsigned kind = 0; kind < 2; ++kind) {
    const PcieCredits available = state.credits[kind].available;
    if (needs[kind].headers != 0)
      rounds = std::min(rounds, available.headers / needs[kind].headers);
    if (needs[kind].data != 0) rounds = std::min(rounds, available.data / needs[kind].data);
  }
  if (rounds < 2) return 0;
  const Time span = std::min(limit, choice.next.time) - state.now.time;
  if (byte_time_.of(Bytes(rounds * round_bytes)) <= span) return rounds;
  const std::uint64_t bytes = static_cast<std::uint64_t>(
      static_cast<Uint128>(span.ps()) * byte_time_.denominator() / byte_time_.numerator());
  return static_cast<std::uint32_t>(bytes / round_bytes);
}

/// One turn of one stream; returns the end of its train, or never if more of it remains.
template <bool kCommit>
Time PcieDirection::serve(State& state, unsigned stream) {
  const Queued& queued = head(state, stream);
  Head& position = state.heads[stream];
  const PcieCredits each = turn_needs(state, stream);
  if (position.remaining == 0) {
    position.remaining = queued.train.bytes;
    position.needed = {queued.train.tlps, queued.train.data_credits};
    if (kCommit) start(state, stream);
  }
  const std::uint32_t bytes = queued.train.kind == TlpClass::kNonPosted
                                  ? each.headers * queued.train.tlp_bytes
                                  : std::min(queued.turn_bytes, position.remaining);
  const Instant before = state.now;
  state.now = after(before, bytes);
  state.turn = (stream + 1) % kMaxStreams;
  const Time end = state.now.rounded_up();
  if (queued.train.kind == TlpClass::kPosted)
    consume<kCommit>(state, TlpClass::kPosted, {state.now, 0, 1, each});
  if (queued.train.kind == TlpClass::kNonPosted) {
    const std::uint32_t tlp = queued.train.tlp_bytes;
    consume<kCommit>(state, TlpClass::kNonPosted, {after(before, tlp), tlp, each.headers, {1, 0}});
  }
  position.needed.headers -= each.headers;
  position.needed.data -= each.data;
  position.remaining -= bytes;
  if (position.remaining != 0) return Time::never();
  end_train<kCommit>(state, stream, end);
  return end;
}

template <bool kCommit>
void PcieDirection::end_train(State& state, unsigned stream, Time end) {
  Head& position = state.heads[stream];
  if (kCommit) {
    Queued& queued = streams_[stream].at(position.index);
    queued.times.end = end;
    tlps_[static_cast<unsigned>(queued.train.kind)] += queued.train.tlps;
    bytes_ += Bytes(queued.train.bytes);
  }
  position.remaining = 0;
  if (++position.index == streams_[stream].size()) state.active &= ~(1U << stream);
}

/// The usual case: one stream has something to send, and credits for all that is left of its train.
/// Its turns then need no decision until another stream has something, so the train is sent whole,
/// or, as long as its last turn does not begin before `limit`, left for later whole.
template <bool kCommit>
PcieDirection::Alone PcieDirection::serve_alone(State& state, Time limit, Time& best) {
  if ((state.active & (state.active - 1)) != 0) return Alone::kNo;
  const auto stream = static_cast<unsigned>(__builtin_ctz(state.active));
  const Queued& queued = head(state, stream);
  const Train& train = queued.train;
  if (train.eligible > state.now.time) {
    if (train.eligible >= limit) return Alone::kLater;
    state.now = {train.eligible, 0};
  }
  const Head position = state.heads[stream];
  const bool started = position.remaining != 0;
  const PcieCredits needed =
      started ? position.needed : PcieCredits{train.tlps, train.data_credits};
  // Left for later only with its credits in hand: what comes back meanwhile is not for it.
  if (train.kind != TlpClass::kCompletion) {
    take_returns(state);
    if (!covers(state.credits[static_cast<unsigned>(train.kind)].available, needed))
      return Alone::kNo;
  }
  const std::uint32_t remaining = started ? position.remaining : train.bytes;
  const std::uint32_t full_turns = (remaining - 1) / queued.turn_bytes;
  const std::uint32_t full_bytes = full_turns * queued.turn_bytes;
  const PcieCredits each = queued.turn_credits;
  const PcieCredits full{each.headers * full_turns, each.data * full_turns};
  if (!covers(needed, full)) return Alone::kNo;
  const Instant last_turn = after(state.now, full_bytes);
  if (last_turn.time >= limit) return Alone::kLater;
  const Instant end = after(last_turn, remaining - full_bytes);
  if (train.kind == TlpClass::kNonPosted) {
    const std::uint32_t tlp = train.tlp_bytes;
    consume<kCommit>(state, train.kind, {after(state.now, tlp), tlp, needed.headers, {1, 0}});
  } else if (train.kind == TlpClass::kPosted) {
    const std::uint32_t turn = queued.turn_bytes;
    if (full_turns != 0)
      consume<kCommit>(state, train.kind, {after(state.now, turn), turn, full_turns, each});
    const PcieCredits last{needed.headers - full.headers, needed.data - full.data};
    consume<kCommit>(state, train.kind, {end, 0, 1, last});
  }
  if (kCommit && !started) start(state, stream);
  state.now = end;
  state.turn = (stream + 1) % kMaxStreams;
  state.owed &= ~(1U << stream);
  end_train<kCommit>(state, stream, end.rounded_up());
  if (!kCommit) best = std::min(best, end.rounded_up() + config_.delivery_delay[stream]);
  return Alone::kServed;
}

void PcieDirection::start(State& state, unsigned stream) {
  Queued& queued = streams_[stream].at(state.heads[stream].index);
  queued.times.start = state.now.rounded_up();
  queued.times.first_end =
      queued.times.start +
      byte_time_.of(Bytes(std::min(queued.train.tlp_bytes, queued.train.bytes)));
}

void PcieDirection::note_idle(const Choice& choice, Time from, Time until) {
  if (choice.posted_blocked != 0)
    stalled_posted_ += until - from;
  else if (choice.nonposted_blocked)
    stalled_nonposted_ += until - from;
}

Time PcieDirection::shortest_delay(std::uint32_t streams) const {
  Time shortest = Time::never();
  for_each_stream(streams,
                  [&](unsigned s) { shortest = std::min(shortest, config_.delivery_delay[s]); });
  return shortest;
}

/// Decisions up to now are final: whatever arrives from here on is eligible no earlier.
void PcieDirection::commit() {
  advance<true>(state_, scheduler_.now(), Time::never());
  for (unsigned kind = 0; kind < 2; ++kind) returns_[kind].forget_taken(state_.credits[kind]);
}

void PcieDirection::fire(std::uint64_t generation) {
  if (generation != generation_) return;  // an earlier delivery was armed for meanwhile
  armed_ = Time::never();
  firing_ = true;
  commit();
  while (deliver_due()) {
  }
  firing_ = false;
  if (undelivered_ != 0) arm();
}

/// Delivers one train that is due; false if none is.
bool PcieDirection::deliver_due() {
  Time earliest = Time::never();
  unsigned stream = 0;
  for (unsigned s = 0; s < config_.delivery_delay.size(); ++s) {
    if (state_.heads[s].index == 0) continue;
    const Time due = streams_[s].front().times.end + config_.delivery_delay[s];
    if (due < earliest) {
      earliest = due;
      stream = s;
    }
  }
  if (earliest > scheduler_.now()) return false;
  const Queued done = streams_[stream].take();
  --state_.heads[stream].index;
  --undelivered_;
  done.train.receiver.function(done.train.receiver.object, done.train.cookie, done.times);
  return true;
}

Time PcieDirection::next_delivery() const {
  Time earliest = Time::never();
  for (unsigned s = 0; s < config_.delivery_delay.size(); ++s) {
    if (state_.heads[s].index == 0) continue;
    earliest = std::min(earliest, streams_[s].front().times.end + config_.delivery_delay[s]);
  }
  return earliest;
}

void PcieDirection::arm() {
  commit();
  State ahead = state_;
  const Time next = advance<false>(ahead, Time::never(), next_delivery());
  if (next >= armed_) return;
  armed_ = next;
  scheduler_.at(next, call<&PcieDirection::fire>(this, ++generation_));
}

void PcieDirection::report(const MetricScope& scope) const {
  scope.time("busy", byte_time_.of(bytes_), "time that the link carried TLPs");
  scope.bytes("bytes", bytes_, "bytes of TLPs, overhead included");
  scope.count("tlps_posted", tlps_[0], "memory writes and messages sent");
  scope.count("tlps_nonposted", tlps_[1], "read requests sent");
  scope.count("tlps_completion", tlps_[2], "completions sent");
  scope.time("stalled.posted_credits", stalled_posted_,
             "time that the link stood idle because a write lacked flow-control credits");
  scope.time("stalled.nonposted_credits", stalled_nonposted_,
             "time that the link stood idle because a read request lacked flow-control credits");
  scope.count("occupancy.max", most_undelivered_, "most requests queued or in flight");
}

}  // namespace rnicsim

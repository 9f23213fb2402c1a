// SPDX-License-Identifier: MIT
#include "host/pcie_arbiter.h"

#include <algorithm>

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

PcieCredits operator*(std::uint32_t n, PcieCredits credits) {
  return {n * credits.headers, n * credits.data};
}

bool covers(PcieCredits available, PcieCredits needed) {
  return available.headers >= needed.headers && available.data >= needed.data;
}

}  // namespace

PcieArbiter::PcieArbiter(const PcieDirectionConfig& config)
    : max_tlp_(static_cast<std::uint32_t>(config.max_tlp.count())),
      byte_time_(config.rate),
      returns_{CreditReturns(byte_time_, config.credit_return),
               CreditReturns(byte_time_, config.credit_return)} {
  std::copy(config.delivery_delay.begin(), config.delivery_delay.end(), delivery_delay_.begin());
  state_.credits[0].available = config.posted;
  state_.credits[1].available = config.nonposted;
}

bool PcieArbiter::queue(unsigned stream, const Train& train, Time eligible) {
  Ring<Queued>& ring = streams_[stream];
  Queued& queued = ring.push();
  queued.train = train;
  queued.train.eligible = eligible;
  queued.sequence = ++sequence_;
  const std::uint32_t per_turn = std::max<std::uint32_t>(1, max_tlp_ / train.tlp_bytes);
  queued.turn_bytes = per_turn * train.tlp_bytes;
  queued.turn_credits = {per_turn, per_turn * train.tlp_credits};

  // Only a train that is eligible later, hence not before now, and so has not started, is
  // overtaken.
  const Head& head = state_.heads[stream];
  std::size_t place = ring.size() - 1;
  while (place > head.index + (head.remaining != 0 ? 1U : 0U) &&
         ring.at(place - 1).train.eligible > eligible) {
    std::swap(ring.at(place - 1), ring.at(place));
    --place;
  }
  const std::uint32_t bit = 1U << stream;
  const bool behind = (state_.active & bit) != 0 && place > head.index;
  state_.active |= bit;
  if (!behind) plan_.valid = false;
  return !behind;
}

void PcieArbiter::hold_posted_credits(Time time) {
  returns_[0].hold(time);
  plan_.valid = false;
}

void PcieArbiter::commit(Time limit) {
  advance<true>(state_, plan_, limit, Time::never());
  for (unsigned kind = 0; kind < 2; ++kind) returns_[kind].forget_taken(state_.credits[kind]);
}

Time PcieArbiter::look_ahead(Time best) {
  if (state_.active == 0) return best;
  if (!plan_.valid) plan_ = plan_alone(state_);
  if (plan_.valid) return std::min(best, delivery(plan_));
  State ahead = state_;
  Plan plan;
  return advance<false>(ahead, plan, Time::never(), best);
}

/// Takes all decisions before `limit`; returns the least of `best` and the earliest delivery found.
/// Looking ahead (not kCommit) it ends as soon as nothing earlier can come.
template <bool kCommit>
Time PcieArbiter::advance(State& state, Plan& plan, Time limit, Time best) {
  while (state.active != 0 && state.now.time < limit) {
    if (!kCommit && state.now.time + shortest_delay(state.active) >= best) break;
    const Alone alone = serve_alone<kCommit>(state, plan, limit);
    if (alone == Alone::kLater) break;
    if (alone == Alone::kServed) {
      if (!kCommit) best = std::min(best, delivery(plan));
      continue;
    }
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
    if (!kCommit && end != Time::never()) best = std::min(best, end + delivery_delay_[stream]);
  }
  return best;
}

PcieArbiter::Choice PcieArbiter::choose(const State& state) const {
  Choice choice;
  for_each_stream(state.active, [&](unsigned stream) {
    if (ready(state, stream, choice)) choice.ready |= 1U << stream;
  });
  if (choice.posted_blocked != 0) withhold_behind_blocked(state, choice);
  return choice;
}

bool PcieArbiter::ready(const State& state, unsigned stream, Choice& choice) const {
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
void PcieArbiter::withhold_behind_blocked(const State& state, Choice& choice) const {
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
PcieCredits PcieArbiter::turn_needs(const State& state, unsigned stream) const {
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

void PcieArbiter::take_returns(State& state) const {
  for (unsigned kind = 0; kind < 2; ++kind) returns_[kind].take(state.credits[kind], state.now);
}

/// Whole rounds in which every ready stream has its turn and none ends its train.
template <bool kCommit>
bool PcieArbiter::skip_rounds(State& state, const Choice& choice, Time limit) {
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

std::uint32_t PcieArbiter::rounds_possible(const State& state, const Choice& choice,
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
Time PcieArbiter::serve(State& state, unsigned stream) {
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
void PcieArbiter::end_train(State& state, unsigned stream, Time end) {
  Head& position = state.heads[stream];
  if (kCommit) {
    Queued& queued = streams_[stream].at(position.index);
    queued.times.end = end;
    tlps_[static_cast<unsigned>(queued.train.kind)] += queued.train.tlps;
    bytes_ += Bytes(queued.train.bytes);
    sent_ |= 1U << stream;
  }
  position.remaining = 0;
  if (++position.index == streams_[stream].size()) state.active &= ~(1U << stream);
}

/// The usual case: one stream has something to send, and credits for all that is left of its train.
/// Its turns then need no decision until another stream has something, so the train is sent whole,
/// or, as long as its last turn does not begin before `limit`, left for later whole. `plan` is kept
/// until then.
template <bool kCommit>
PcieArbiter::Alone PcieArbiter::serve_alone(State& state, Plan& plan, Time limit) {
  if (!plan.valid) plan = plan_alone(state);
  if (!plan.valid) return Alone::kNo;
  if (plan.start.time >= limit) return Alone::kLater;
  state.now = plan.start;
  // Left for later only with its credits in hand: what comes back meanwhile is not for it.
  if (head(state, plan.stream).train.kind != TlpClass::kCompletion) take_returns(state);
  if (plan.last_turn.time >= limit) return Alone::kLater;
  plan.valid = false;
  send_planned<kCommit>(state, plan);
  return Alone::kServed;
}

PcieArbiter::Plan PcieArbiter::plan_alone(const State& state) const {
  if ((state.active & (state.active - 1)) != 0) return {};
  const auto stream = static_cast<unsigned>(__builtin_ctz(state.active));
  const Train& train = head(state, stream).train;
  const Instant start = train.eligible > state.now.time ? Instant{train.eligible, 0} : state.now;
  if (train.kind == TlpClass::kCompletion) return plan_train(state, stream, start);
  const auto kind = static_cast<unsigned>(train.kind);
  const Plan plan = plan_train(state, stream, start);
  if (covers(state.credits[kind].available, plan.needed)) return plan;
  CreditReturns::View view = state.credits[kind];
  returns_[kind].take(view, start);
  return covers(view.available, plan.needed) ? plan : Plan();
}

/// What is left of the stream's train, from `start` on, with credits for all of it.
PcieArbiter::Plan PcieArbiter::plan_train(const State& state, unsigned stream,
                                          Instant start) const {
  const Queued& queued = head(state, stream);
  const Train& train = queued.train;
  const Head& position = state.heads[stream];
  const bool started = position.remaining != 0;
  const std::uint32_t remaining = started ? position.remaining : train.bytes;
  Plan plan;
  plan.stream = stream;
  plan.start = start;
  plan.needed = started ? position.needed : PcieCredits{train.tlps, train.data_credits};
  plan.full_turns = (remaining - 1) / queued.turn_bytes;
  plan.last_turn = start;
  if (plan.full_turns != 0) plan.last_turn = after(start, plan.full_turns * queued.turn_bytes);
  plan.last_bytes = remaining - plan.full_turns * queued.turn_bytes;
  plan.end = after(plan.last_turn, plan.last_bytes);
  plan.valid = covers(plan.needed, plan.full_turns * queued.turn_credits);
  return plan;
}

/// The credits of a posted train's turns; a last turn like the others goes with them.
template <bool kCommit>
void PcieArbiter::consume_turns(State& state, const Queued& queued, const Plan& plan) {
  const PcieCredits each = queued.turn_credits;
  const PcieCredits full = plan.full_turns * each;
  const PcieCredits last{plan.needed.headers - full.headers, plan.needed.data - full.data};
  const bool alike = plan.last_bytes == queued.turn_bytes && last.headers == each.headers &&
                     last.data == each.data;
  const std::uint32_t turns = plan.full_turns + (alike ? 1 : 0);
  if (turns != 0)
    consume<kCommit>(state, TlpClass::kPosted,
                     {after(plan.start, queued.turn_bytes), queued.turn_bytes, turns, each});
  if (!alike) consume<kCommit>(state, TlpClass::kPosted, {plan.end, 0, 1, last});
}

template <bool kCommit>
void PcieArbiter::send_planned(State& state, const Plan& plan) {
  const Queued& queued = head(state, plan.stream);
  const TlpClass kind = queued.train.kind;
  if (kind == TlpClass::kNonPosted) {
    const std::uint32_t tlp = queued.train.tlp_bytes;
    consume<kCommit>(state, kind, {after(plan.start, tlp), tlp, plan.needed.headers, {1, 0}});
  } else if (kind == TlpClass::kPosted) {
    consume_turns<kCommit>(state, queued, plan);
  }
  if (kCommit && state.heads[plan.stream].remaining == 0) start(state, plan.stream);
  state.now = plan.end;
  state.turn = (plan.stream + 1) % kMaxStreams;
  state.owed &= ~(1U << plan.stream);
  end_train<kCommit>(state, plan.stream, plan.end.rounded_up());
}

void PcieArbiter::start(State& state, unsigned stream) {
  Queued& queued = streams_[stream].at(state.heads[stream].index);
  queued.times.start = state.now.rounded_up();
  queued.times.first_end =
      queued.times.start +
      byte_time_.of(Bytes(std::min(queued.train.tlp_bytes, queued.train.bytes)));
}

void PcieArbiter::note_idle(const Choice& choice, Time from, Time until) {
  if (choice.posted_blocked != 0)
    stalled_posted_ += until - from;
  else if (choice.nonposted_blocked)
    stalled_nonposted_ += until - from;
}

Time PcieArbiter::shortest_delay(std::uint32_t streams) const {
  Time shortest = Time::never();
  for_each_stream(streams, [&](unsigned s) { shortest = std::min(shortest, delivery_delay_[s]); });
  return shortest;
}

Time PcieArbiter::next_delivery() const {
  Time earliest = Time::never();
  for_each_stream(sent_, [&](unsigned s) { earliest = std::min(earliest, delivery_of_first(s)); });
  return earliest;
}

bool PcieArbiter::take_due(Time now, Sent& sent) {
  Time earliest = Time::never();
  unsigned stream = 0;
  for_each_stream(sent_, [&](unsigned s) {
    const Time due = delivery_of_first(s);
    if (due < earliest) {
      earliest = due;
      stream = s;
    }
  });
  if (earliest > now) return false;
  const Queued& first = streams_[stream].front();
  sent = {first.train.receiver, first.train.cookie, first.times};
  streams_[stream].pop();
  if (--state_.heads[stream].index == 0) sent_ &= ~(1U << stream);
  return true;
}

void PcieArbiter::report(const MetricScope& scope) const {
  scope.time("busy", byte_time_.of(bytes_), "time that the link carried TLPs");
  scope.bytes("bytes", bytes_, "bytes of TLPs, overhead included");
  scope.count("tlps_posted", tlps_[0], "memory writes and messages sent");
  scope.count("tlps_nonposted", tlps_[1], "read requests sent");
  scope.count("tlps_completion", tlps_[2], "completions sent");
  scope.time("stalled.posted_credits", stalled_posted_,
             "time that the link stood idle because a write lacked flow-control credits");
  scope.time("stalled.nonposted_credits", stalled_nonposted_,
             "time that the link stood idle because a read request lacked flow-control credits");
}

}  // namespace rnicsim

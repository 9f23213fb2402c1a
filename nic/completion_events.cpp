// SPDX-License-Identifier: MIT
#include "nic/completion_events.h"

#include <algorithm>

namespace rnicsim {

namespace {

/// The 32-bit index that has these low 24 bits and lies nearest to `producer`.
std::uint32_t extend(std::uint32_t index, std::uint32_t producer) {
  const std::uint32_t behind = (producer - index) << 8;
  return producer - static_cast<std::uint32_t>(static_cast<std::int32_t>(behind) / 256);
}

bool is_after(std::uint32_t end, std::uint32_t index) {
  return static_cast<std::int32_t>(end - index) > 0;
}

}  // namespace

CompletionEvents::State& CompletionEvents::state(std::uint32_t cqn) {
  if (cqn >= states_.size()) states_.resize(cqn + 1);
  return states_[cqn];
}

void CompletionEvents::arm(Cqn cqn, std::uint32_t consumer, bool solicited_only) {
  ++requests_;
  if (!contexts_.in_range(cqn.value())) {
    ++ignored_;
    return;
  }
  State& s = state(cqn.value());
  const bool waits = s.requested || s.armed;
  s.solicited_only = solicited_only && (!waits || s.solicited_only);
  s.index = consumer;
  s.requested = true;
  schedule_look(cqn.value());
}

void CompletionEvents::schedule_look(std::uint64_t cqn) {
  scheduler_.at(context_port_.enter(scheduler_.now()), call<&CompletionEvents::look>(this, cqn));
}

void CompletionEvents::look(std::uint64_t number) {
  const auto cqn = static_cast<std::uint32_t>(number);
  State& s = state(cqn);
  if (!contexts_.in_range(cqn) || (!s.requested && !s.armed)) return;
  const abi::CqContext* context =
      contexts_.lookup(cqn, call<&CompletionEvents::look>(this, number));
  if (context == nullptr) return;
  if (!context->valid || context->eqn == 0) {
    ++ignored_;
    clear(s);
    return;
  }
  if (s.requested) {
    stop_holding(s);
    s.index = extend(s.index, context->producer_index);
    s.requested = false;
    s.armed = true;
  }
  check(cqn, s, *context);
}

void CompletionEvents::written(Cqn cqn, const abi::CqContext& context, bool solicited,
                               WorkRequestId work_request) {
  if (context.eqn == 0) return;
  State& s = state(cqn.value());
  s.latest = work_request;
  if (solicited) s.solicited_end = context.producer_index;
  if (s.armed && !s.requested) check(cqn.value(), s, context);
}

void CompletionEvents::check(std::uint32_t cqn, State& s, const abi::CqContext& context) {
  if (!is_after(s.solicited_only ? s.solicited_end : context.producer_index, s.index)) return;
  const bool moderated = context.moderation_count > 1 && context.moderation_period_us != 0;
  if (moderated && !s.period_over && context.producer_index - s.index < context.moderation_count) {
    hold(cqn, s, Time::us(context.moderation_period_us));
    return;
  }
  stop_holding(s);
  s.armed = false;
  ++events_;
  event_queue_.post(context.eqn, abi::EventType::kCompletion, cqn, s.latest);
}

void CompletionEvents::hold(std::uint32_t cqn, State& s, Time period) {
  if (s.held) return;
  s.held = true;
  ++held_;
  most_holding_ = std::max(most_holding_, ++holding_);
  const std::uint64_t timer = std::uint64_t{s.generation} << 32 | cqn;
  // Whoever sleeps until then keeps the run alive.
  scheduler_.at_daemon(scheduler_.now() + period,
                       call<&CompletionEvents::period_over>(this, timer));
}

void CompletionEvents::period_over(std::uint64_t timer) {
  State& s = states_[timer & 0xffffffff];
  if (s.generation != timer >> 32) return;
  s.period_over = true;
  schedule_look(timer & 0xffffffff);
}

void CompletionEvents::stop_holding(State& s) {
  if (s.held) --holding_;
  s.held = false;
  s.period_over = false;
  ++s.generation;
}

void CompletionEvents::clear(State& s) {
  stop_holding(s);
  const std::uint32_t generation = s.generation;
  s = {};
  s.generation = generation;
}

void CompletionEvents::forget(Cqn cqn) {
  if (cqn.value() < states_.size()) clear(states_[cqn.value()]);
}

void CompletionEvents::reset() {
  for (State& s : states_) clear(s);
}

void CompletionEvents::report(const MetricScope& scope) const {
  scope.count("requests", requests_, "requests of software for an event");
  scope.count("ignored", ignored_, "requests for queues that do not exist or have no events");
  scope.count("events", events_, "completion events");
  scope.count("held_back", held_, "of these, held back by moderation");
  scope.time("busy", context_port_.busy(), "time the way to the contexts was taken");
  scope.time("stalled.interval", context_port_.stalled(), "requests waited for that way");
  scope.count("occupancy.max", most_holding_, "most events held back at once");
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "host/pcie_direction.h"

#include <algorithm>

#include "model/invariant.h"

namespace rnicsim {

namespace {

const PcieDirectionConfig& checked(const PcieDirectionConfig& config, const Scheduler& scheduler) {
  if (config.delivery_delay.empty() || config.delivery_delay.size() > PcieDirection::kMaxStreams)
    throw InvariantBroken(scheduler.name(), Time(), "a PCIe direction needs one to eight streams");
  return config;
}

}  // namespace

PcieDirection::PcieDirection(Scheduler& scheduler, const PcieDirectionConfig& config)
    : scheduler_(scheduler),
      config_(checked(config, scheduler)),
      arbiter_(config),
      replay_(config.replay, arbiter_.byte_time(), config.replay_round_trip, config.replay_seed) {}

void PcieDirection::send(unsigned stream, const Train& train) {
  if (!replay_.active()) return queue(stream, train);
  Train damaged = train;
  damaged.eligible = std::max(train.eligible, scheduler_.now());
  replay_.damage(damaged);
  queue(stream, damaged);
}

void PcieDirection::queue(unsigned stream, const Train& train) {
  const Time eligible = std::max(train.eligible, scheduler_.now());
  const bool first = arbiter_.queue(stream, train, eligible);
  most_undelivered_ = std::max(most_undelivered_, ++undelivered_);
  // Behind others of its stream it is delivered after them, and one of those is armed for.
  if (firing_ || !first) return;
  const Time earliest =
      eligible + byte_time().of(Bytes(train.bytes)) + config_.delivery_delay[stream];
  if (armed_ <= earliest) return;
  arbiter_.commit(scheduler_.now());
  arm();
}

void PcieDirection::fire(std::uint64_t generation) {
  if (generation != generation_) return;  // an earlier delivery was armed for meanwhile
  armed_ = Time::never();
  firing_ = true;
  arbiter_.commit(scheduler_.now());
  PcieArbiter::Sent sent;
  while (arbiter_.take_due(scheduler_.now(), sent)) {
    --undelivered_;
    sent.receiver.function(sent.receiver.object, sent.cookie, sent.times);
  }
  firing_ = false;
  if (undelivered_ != 0) arm();
}

/// REQUIRES: committed up to now.
void PcieDirection::arm() {
  const Time next = arbiter_.look_ahead(arbiter_.next_delivery());
  if (next >= armed_) return;
  armed_ = next;
  scheduler_.at(next, call<&PcieDirection::fire>(this, ++generation_));
}

void PcieDirection::signals(const SignalScope& scope) {
  scope.total(
      "bytes", Unit::kBytes, "bytes of TLPs sent", [this] { return arbiter_.bytes().count(); },
      byte_time().bits_per_second());
  scope.level("undelivered", Unit::kCount, "transfers queued or on the link",
              [this] { return undelivered_; });
}

void PcieDirection::report(const MetricScope& scope) const {
  arbiter_.report(scope);
  replay_.report(scope.child("replay"));
  scope.count("occupancy.max", most_undelivered_, "most requests queued or in flight");
}

}  // namespace rnicsim

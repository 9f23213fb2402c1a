// SPDX-License-Identifier: MIT
#include "nic/ethernet/ethernet_completions.h"

#include "model/byte_order.h"

namespace rnicsim {

namespace {
constexpr std::uint32_t kMessageBytes = 4;
}

void EthernetCompletions::open(std::uint32_t queue, const abi::EthernetQueueContext& context) {
  if (queue >= states_.size()) states_.resize(queue + 1);
  State& state = states_[queue];
  const std::uint32_t generation = state.generation;
  state = State{};
  state.generation = generation;
  state.valid = true;
  state.context = context;
}

void EthernetCompletions::close(std::uint32_t queue) {
  if (queue >= states_.size()) return;
  stop_holding(states_[queue]);
  states_[queue].valid = false;
}

bool EthernetCompletions::arm(std::uint32_t queue, std::uint32_t consumer) {
  if (queue >= states_.size() || !states_[queue].valid) return false;
  State& state = states_[queue];
  stop_holding(state);
  state.seen = consumer;
  state.armed = true;
  check(queue, state);
  return true;
}

bool EthernetCompletions::has_waiting(std::uint32_t queue) const {
  for (std::size_t i = 0; i < waiting_.size(); ++i)
    if (waiting_.at(i).queue == queue) return true;
  return false;
}

void EthernetCompletions::enter() {
  scheduler_.at(pipeline_.enter(scheduler_.now()), call<&EthernetCompletions::serve>(this));
}

void EthernetCompletions::serve() {
  Waiting waiting = waiting_.take();
  State& state = states_[waiting.queue];
  if (!state.valid) return;
  const std::uint32_t index = state.producer++;
  const std::uint32_t mask = (1U << state.context.log_entries) - 1;
  waiting.entry[waiting.bytes - 1] = (index >> state.context.log_entries & 1) != 0 ? 1 : 0;
  DmaRequest request;
  request.write = true;
  request.purpose = DmaPurpose::kFrameQueue;
  request.address = PhysicalAddress(state.context.completions.value() +
                                    std::uint64_t{index & mask} * waiting.bytes);
  request.bytes = waiting.bytes;
  request.data = waiting.entry.data();
  ++entries_;
  pcie_.submit(std::move(request));
  check(waiting.queue, state);
}

void EthernetCompletions::check(std::uint32_t queue, State& state) {
  const auto unseen = static_cast<std::int32_t>(state.producer - state.seen);
  if (!state.armed || unseen <= 0) return;
  const abi::EthernetQueueContext& context = state.context;
  if (context.moderation_us == 0 || unseen >= context.moderation_frames)
    send_message(queue, state);
  else if (!state.held)
    hold(queue, state);
}

void EthernetCompletions::hold(std::uint32_t queue, State& state) {
  state.held = true;
  ++holding_;
  ++held_back_;
  scheduler_.hold();
  scheduler_.at_daemon(
      scheduler_.now() + Time::us(state.context.moderation_us),
      call<&EthernetCompletions::period_over>(this, std::uint64_t{state.generation} << 32 | queue));
}

void EthernetCompletions::stop_holding(State& state) {
  ++state.generation;
  if (!state.held) return;
  state.held = false;
  --holding_;
  scheduler_.release();
}

void EthernetCompletions::period_over(std::uint64_t timer) {
  const auto queue = static_cast<std::uint32_t>(timer);
  State& state = states_[queue];
  if (state.generation == timer >> 32) send_message(queue, state);
}

void EthernetCompletions::send_message(std::uint32_t queue, State& state) {
  stop_holding(state);
  state.armed = false;
  std::uint8_t data[kMessageBytes];
  store_be32(data, state.context.msix_data);
  DmaRequest request;
  request.write = true;
  request.purpose = DmaPurpose::kInterrupt;
  request.address = state.context.msix_address;
  request.bytes = kMessageBytes;
  request.data = data;
  ++messages_;
  probe_(scheduler_.now(), ProbeKind::kFrameInterrupt, {}, 0, queue, state.context.msix_data);
  pcie_.submit(std::move(request));
}

void EthernetCompletions::report(const MetricScope& scope) const {
  scope.count("completions", entries_, "completion entries of plain frames written");
  scope.count("messages", messages_, "interrupt messages sent for them");
  scope.count("held_back", held_back_, "times that a message was held back by moderation");
  scope.time("completion.busy", pipeline_.busy(), "time the pipeline of the entries was taken");
  scope.time("completion.stalled.interval", pipeline_.stalled(), "entries waited for it");
}

}  // namespace rnicsim

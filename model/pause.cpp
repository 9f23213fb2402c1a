// SPDX-License-Identifier: MIT
#include "model/pause.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/priority_arbiter.h"

namespace rnicsim {

namespace {

constexpr std::uint8_t kAllClasses = 0xff;

struct ResponseRow {
  std::uint64_t mbps;
  std::uint32_t quanta;
};
/// IEEE 802.3 31B.3.7, as switch drivers tabulate it.
constexpr std::array<ResponseRow, 10> kResponse = {{{100, 1},
                                                    {1000, 2},
                                                    {10000, 67},
                                                    {25000, 80},
                                                    {40000, 118},
                                                    {50000, 147},
                                                    {100000, 394},
                                                    {200000, 453},
                                                    {400000, 905},
                                                    {800000, 905}}};

Time quanta_time(ByteTime byte_time, std::uint64_t quanta) {
  return byte_time.of(Bytes(quanta * kPauseQuantumBits / 8));
}

std::uint8_t classes_of(const PauseFrame& frame) {
  return frame.kind == PauseFrame::Kind::kGlobal ? kAllClasses : frame.classes;
}

/// Bytes that pass at `rate` within `time`, rounded up.
Bytes bytes_within(BitRate rate, Time time) {
  const Uint128 bits = static_cast<Uint128>(rate.numerator()) * static_cast<Uint128>(time.ps());
  const Uint128 unit = static_cast<Uint128>(8) * 1000000000000ULL * rate.denominator();
  return Bytes(static_cast<std::uint64_t>((bits + unit - 1) / unit));
}

/// Bytes of whole cells that a packet takes.
Bytes in_cells(Bytes bytes, Bytes cell) { return cell * divide_up(bytes, cell); }

/// The most that packets which take `wire` bytes of the wire take of the memory: the shortest
/// frames, or those one byte longer than so many cells hold; longer ones waste less.
Bytes worst_in_cells(Bytes wire, Bytes cell) {
  const Bytes overhead = kPreambleBytes + kInterPacketGapBytes;
  const auto filled = [&](Bytes frame) {
    const Bytes each = in_cells(frame, cell);
    return each * wire.count() / (frame + overhead).count() + each;
  };
  return std::max(
      {wire, filled(kMinFrameBytes), filled(in_cells(kMinFrameBytes, cell) + Bytes(1))});
}

std::string class_name(std::size_t priority) { return "prio" + std::to_string(priority); }

}  // namespace

void PauseConfig::describe(Fields& fields) {
  fields.choice(
      "mode", mode,
      {{"none", PauseMode::kNone}, {"pfc", PauseMode::kPriority}, {"global", PauseMode::kGlobal}},
      "how a full buffer stops its sender: not at all, by class (802.1Qbb), or the "
      "whole link (802.3x)");
  fields.field("quanta", quanta, range(1, 0xffff),
               "timer of a frame that stops, in 512 bit times; repeated at half of it");
  fields.optional("response_time", response_time, range(Time(), Time::ms(1)),
                  "from the last bit of a frame to its effect; if not given, the most that IEEE "
                  "802.3 31B.3.7 allows at the link's rate");
}

std::uint32_t pause_response_quanta(BitRate rate) {
  for (const ResponseRow& row : kResponse)
    if (static_cast<Uint128>(rate.numerator()) <=
        static_cast<Uint128>(row.mbps) * 1000000 * rate.denominator())
      return row.quanta;
  return kResponse.back().quanta;
}

Time pause_response_time(const PauseConfig& config, BitRate rate) {
  return config.response_time.value_or(quanta_time(ByteTime(rate), pause_response_quanta(rate)));
}

Bytes needed_headroom(const HeadroomDemand& demand) {
  const Bytes overhead = kPreambleBytes + kInterPacketGapBytes;
  const Bytes ours = demand.largest_frame + overhead;
  const Bytes pause = kMinFrameBytes + overhead;
  const Time time = demand.latency + demand.propagation * 2 + demand.response_time;
  return worst_in_cells(ours + pause + bytes_within(demand.rate, time), demand.cell) +
         in_cells(demand.largest_frame, demand.cell) * 2;
}

void add_storm(std::vector<PauseStorm>& storms, const PauseStorm& storm) {
  if (!storms.empty() && storms.back().where == storm.where && storms.back().what == storm.what &&
      storms.back().span.since == storm.span.since &&
      storms.back().span.lasted == storm.span.lasted)
    storms.back().priorities |= storm.priorities;
  else
    storms.push_back(storm);
}

PauseRequester::PauseRequester(Scheduler& scheduler, const PauseConfig& config, BitRate rate,
                               Callback frame_due)
    : scheduler_(scheduler),
      mode_(config.mode),
      quanta_(config.quanta),
      period_(quanta_time(ByteTime(rate), config.quanta) / 2),
      frame_due_(frame_due) {}

void PauseRequester::xoff(std::uint8_t priority) {
  if (mode_ == PauseMode::kNone) return;
  full_ = static_cast<std::uint8_t>(full_ | priority_bit(priority));
  settle(priority);
}

void PauseRequester::xon(std::uint8_t priority) {
  full_ = static_cast<std::uint8_t>(full_ & ~priority_bit(priority));
  settle(priority);
}

void PauseRequester::jam(std::uint8_t priority) {
  jammed_ = static_cast<std::uint8_t>(jammed_ | priority_bit(priority));
  settle(priority);
}

void PauseRequester::let_go(std::uint8_t priority) {
  jammed_ = static_cast<std::uint8_t>(jammed_ & ~priority_bit(priority));
  settle(priority);
}

void PauseRequester::silence(std::uint8_t priority) {
  silenced_ = static_cast<std::uint8_t>(silenced_ | priority_bit(priority));
  settle(priority);
}

/// Asks for what buffer, fault and watchdog come to together.
void PauseRequester::settle(std::uint8_t priority) {
  const bool stop = contains(static_cast<PrioritySet>((full_ | jammed_) & ~silenced_), priority);
  if (stop == is_xoff(priority)) return;
  xoff_ = static_cast<std::uint8_t>(xoff_ ^ priority_bit(priority));
  if (stop)
    since_[priority] = scheduler_.now();
  else
    total_[priority] += scheduler_.now() - since_[priority];
  if (observer_ != nullptr) observer_->pause_changed({}, priority, stop);
  owe(static_cast<std::uint8_t>(priority_bit(priority)));
  if (!stop || refreshing_) return;
  refreshing_ = true;
  scheduler_.at_daemon(scheduler_.now() + period_, call<&PauseRequester::refresh>(this));
}

void PauseRequester::owe(std::uint8_t classes) {
  due_ = static_cast<std::uint8_t>(due_ | classes);
  frame_due_();
}

void PauseRequester::refresh() {
  refreshing_ = xoff_ != 0;
  if (!refreshing_) return;
  scheduler_.at_daemon(scheduler_.now() + period_, call<&PauseRequester::refresh>(this));
  owe(xoff_);
}

PauseFrame PauseRequester::take_frame() {
  PauseFrame frame;
  const std::uint8_t classes = std::exchange(due_, std::uint8_t{0});
  for_each_priority(classes, [&](std::uint8_t p) { ++frames_[p]; });
  if (mode_ == PauseMode::kGlobal) {
    frame.kind = PauseFrame::Kind::kGlobal;
    frame.quanta[0] = xoff_ != 0 ? quanta_ : std::uint16_t{0};
    return frame;
  }
  frame.classes = classes;
  for_each_priority(static_cast<std::uint8_t>(classes & xoff_),
                    [&](std::uint8_t p) { frame.quanta[p] = quanta_; });
  return frame;
}

void PauseRequester::report(const MetricScope& scope) const {
  for (std::uint8_t p = 0; p < kPriorities; ++p) {
    if (frames_[p] == 0) continue;
    const std::string name = "tx_" + class_name(p) + "_pause";
    const Time open = is_xoff(p) ? scheduler_.now() - since_[p] : Time();
    scope.count(name, frames_[p], "pause frames sent for this priority, to stop or to go on");
    scope.time(name + "_duration", total_[p] + open, "time in which this priority was stopped");
  }
}

PauseListener::PauseListener(Scheduler& scheduler, const PauseConfig& config, BitRate rate,
                             Callback resumed)
    : scheduler_(scheduler),
      ignores_(config.mode == PauseMode::kNone),
      response_(pause_response_time(config, rate)),
      byte_time_(rate),
      resumed_(resumed) {
  since_.fill(Time::never());
  armed_.fill(Time::never());
}

void PauseListener::receive(const PauseFrame& frame) {
  const bool global = frame.kind == PauseFrame::Kind::kGlobal;
  for_each_priority(classes_of(frame), [&](std::uint8_t p) {
    ++frames_[p];
    if (frame.quanta[global ? 0 : p] != 0) last_stop_[p] = scheduler_.now();
  });
  if (ignores_) return;
  coming_.push(frame);
  scheduler_.at(scheduler_.now() + response_, call<&PauseListener::take_effect>(this));
}

void PauseListener::take_effect() {
  const PauseFrame frame = coming_.take();
  const bool global = frame.kind == PauseFrame::Kind::kGlobal;
  const auto heard = static_cast<PrioritySet>(classes_of(frame) & ~ignored_);
  for_each_priority(heard, [&](std::uint8_t p) {
    until_[p] = scheduler_.now() + quanta_time(byte_time_, frame.quanta[global ? 0 : p]);
    if (until_[p] > scheduler_.now()) pause(p);
  });
  release();
}

void PauseListener::pause(std::uint8_t priority) {
  if (!is_paused(priority)) {
    paused_ = static_cast<std::uint8_t>(paused_ | 1U << priority);
    since_[priority] = scheduler_.now();
    ++transitions_[priority];
    tell(priority, true);
  }
  arm(priority);
}

/// All whose time is over go on together, so that the sender chooses among them.
void PauseListener::release() {
  const std::uint8_t before = paused_;
  for_each_priority(before, [&](std::uint8_t p) {
    if (until_[p] > scheduler_.now()) return;
    longest_[p] = longest(p);
    total_[p] += scheduler_.now() - std::exchange(since_[p], Time::never());
    paused_ = static_cast<std::uint8_t>(paused_ & ~(1U << p));
    tell(p, false);
  });
  if (paused_ != before) resumed_();
}

Time PauseListener::total_paused(std::uint8_t priority) const {
  return total_[priority] + (is_paused(priority) ? scheduler_.now() - since_[priority] : Time());
}

PauseSpan PauseListener::longest(std::uint8_t priority) const {
  const PauseSpan& over = longest_[priority];
  if (!is_paused(priority)) return over;
  const PauseSpan open{since_[priority], scheduler_.now() - since_[priority]};
  return open.lasted > over.lasted ? open : over;
}

void PauseListener::ignore(std::uint8_t priority, bool yes) {
  ignored_ = static_cast<std::uint8_t>(yes ? ignored_ | priority_bit(priority)
                                           : ignored_ & ~priority_bit(priority));
  if (!yes || !is_paused(priority)) return;
  until_[priority] = scheduler_.now();
  release();
}

void PauseListener::tell(std::uint8_t priority, bool paused) const {
  for (const Watcher& watcher : watchers_)
    if (watcher.observer != nullptr)
      watcher.observer->pause_changed(watcher.port, priority, paused);
}

/// A timer that runs already and not for longer than this one does for both.
void PauseListener::arm(std::uint8_t priority) {
  if (armed_[priority] <= until_[priority]) return;
  armed_[priority] = until_[priority];
  scheduler_.at_daemon(until_[priority], call<&PauseListener::expire>(this, priority));
}

/// The time of a class may be over; a later frame may have moved its end.
void PauseListener::expire(std::uint64_t argument) {
  const auto priority = static_cast<std::uint8_t>(argument);
  if (armed_[priority] == scheduler_.now()) armed_[priority] = Time::never();
  if (!is_paused(priority)) return;
  if (until_[priority] > scheduler_.now())
    arm(priority);
  else
    release();
}

Time PauseListener::paused_time(Time at) const {
  Time sum;
  for (std::uint8_t p = 0; p < kPriorities; ++p)
    sum += total_[p] + (is_paused(p) ? at - since_[p] : Time());
  return sum;
}

void PauseListener::report(const MetricScope& scope) const {
  for (std::uint8_t p = 0; p < kPriorities; ++p) {
    if (frames_[p] == 0) continue;
    const std::string name = "rx_" + class_name(p) + "_pause";
    scope.count(name, frames_[p], "pause frames received for this priority, to stop or to go on");
    scope.count(name + "_transition", transitions_[p], "times that this priority was stopped");
    scope.time(name + "_duration", total_paused(p), "time in which this priority was stopped");
    scope.time(name + "_longest", longest(p).lasted, "the longest of these times");
  }
  if (std::any_of(frames_.begin(), frames_.end(), [](std::uint64_t frames) { return frames != 0; }))
    scope.time("rx_pause_response", response_, "from the last bit of a pause frame to its effect");
}

}  // namespace rnicsim

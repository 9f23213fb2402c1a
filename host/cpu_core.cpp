// SPDX-License-Identifier: MIT
#include "host/cpu_core.h"

#include <algorithm>

#include "model/callback.h"
#include "model/config_reader.h"

namespace rnicsim {

namespace {

constexpr std::uint64_t kPsPerSecond = 1000000000000ULL;

/// Whole cycles that fit into a duration. Exact for Clock::duration(n), which rounds up by less
/// than a picosecond, that is by less than a cycle.
std::uint64_t whole_cycles(const Clock& clock, Time duration) {
  return static_cast<std::uint64_t>(static_cast<Uint128>(duration.ps()) * clock.frequency().hz() /
                                    kPsPerSecond);
}

/// The first poll that begins at or after `offset` from the begin of the grid.
std::uint64_t poll_at_or_after(const Clock& clock, Time offset, Cycles poll) {
  std::uint64_t k = whole_cycles(clock, offset) / poll.count();
  while (clock.duration(poll * k) < offset) ++k;
  return k;
}

}  // namespace

void CpuConfig::describe(Fields& f) {
  f.field("frequency", frequency, range(Frequency::mhz(100), Frequency::mhz(10000)),
          "clock of the cores");
  f.field("cores", cores, range(1, 1024), "number of cores");
  f.field("copy_bytes_per_cycle", copy_bytes_per_cycle, range(1, 64),
          "payload bytes that a core copies per cycle");
  f.optional("tick", tick, "the kernel's timer tick, which what runs on a core waits for");
  f.check(!tick || Clock(frequency).duration(tick->work) < tick->interval, "tick",
          "must leave time between ticks");
}

Time CpuCore::occupy(Time earliest, CpuPlane plane, CpuCategory category, Cycles cycles) {
  const Time mine = std::max(earliest, work_end_);
  note_wait(mine - earliest);
  account_polling(mine);
  const Time start = free_from(mine);
  const Time duration = clock_.duration(cycles);
  usage_.add(plane, category, duration, cycles);
  busy_ += duration;
  if (plane == CpuPlane::kData) data_work_ += duration;
  worked_ += duration;
  if (start > work_end_) {
    stretch_since_ = start;
    stretch_work_ = Time();
  }
  stretch_work_ += duration;
  work_end_ = end_of(start, duration);
  accounted_ = std::max(accounted_, work_end_);
  return work_end_;
}

Time CpuCore::free_from(Time at) {
  if (!tick_) return at;
  const Time free = tick_->free_from(at);
  ticked_ += free - at;
  return free;
}

Time CpuCore::end_of(Time start, Time duration) {
  if (!tick_) return start + duration;
  const Time end = tick_->end_of(start, duration);
  ticked_ += end - start - duration;
  return end;
}

void CpuCore::begin_polling(CpuPlane plane, Time at) {
  account_polling(at);
  accounted_ = std::max(accounted_, at);
  ++pollers_[static_cast<unsigned>(plane)];
}

void CpuCore::end_polling(CpuPlane plane, Time at) {
  account_polling(at);
  --pollers_[static_cast<unsigned>(plane)];
  work_end_ = std::max(work_end_, at);
}

void CpuCore::account_polling(Time until) {
  const bool data = pollers_[static_cast<unsigned>(CpuPlane::kData)] != 0;
  const bool control = pollers_[static_cast<unsigned>(CpuPlane::kControl)] != 0;
  if ((!data && !control) || until <= accounted_) return;
  // Two programs that poll on one core share it; its time counts once, as data if one of them moves
  // data.
  const Time spun = until - accounted_;
  const CpuPlane plane = data ? CpuPlane::kData : CpuPlane::kControl;
  // Cycles of the sum, so that they do not depend on how often somebody looks.
  Time& sum = spun_[static_cast<unsigned>(plane)];
  const std::uint64_t before = whole_cycles(clock_, sum);
  sum += spun;
  usage_.add(plane, CpuCategory::kPolling, spun, Cycles(whole_cycles(clock_, sum) - before));
  busy_ += spun;
  accounted_ = until;
}

/// A core has few programs: they are counted when one asks.
void CpuCore::note_wanted(const CpuTask& by, Time at) {
  const auto wanting = std::count_if(tasks_.begin(), tasks_.end(), [&](const CpuTask* task) {
    return task == &by || task->polling_ || task->charged_until_ > at;
  });
  most_wanting_ = std::max(most_wanting_, static_cast<std::size_t>(wanting));
}

Time CpuCore::busy() {
  account_polling(scheduler_.now());
  return busy_;
}

void CpuCore::signals(const SignalScope& scope) {
  scope.total("work", Unit::kPicoseconds, "time in which the core worked, polls left out",
              [this](Time at) {
                const Time ahead = std::max(work_end_ - std::max(at, stretch_since_), Time());
                return static_cast<std::uint64_t>((worked_ - std::min(ahead, stretch_work_)).ps());
              });
}

void CpuCore::report(const MetricScope& scope) {
  scope.time("busy", busy(), "time in which the core did work, polling included");
  scope.time("stalled.other_program", waited_,
             "time that programs waited for the core while another had it");
  if (tick_) scope.time("stalled.tick", ticked_, "time that work and polls waited for ticks");
  scope.count("occupancy.max", most_wanting_, "most programs that wanted the core at once");
}

CpuTask::CpuTask(CpuCore& core, SoftwareThread& thread) : core_(core), thread_(thread) {
  core_.tasks_.push_back(this);
}

CpuTask::~CpuTask() {
  core_.tasks_.erase(std::find(core_.tasks_.begin(), core_.tasks_.end(), this));
}

Time CpuTask::now() const { return std::max(scheduler().now(), charged_until_); }

Time CpuTask::charge(CpuPlane plane, CpuCategory category, Cycles cycles) {
  const Time at = now();
  core_.note_wanted(*this, at);
  charged_until_ = core_.occupy(at, plane, category, cycles);
  return charged_until_;
}

void CpuTask::settle() { thread_.sleep_until(charged_until_); }

void CpuTask::run(CpuPlane plane, CpuCategory category, Cycles cycles) {
  charge(plane, category, cycles);
  settle();
}

void CpuTask::call_kernel(CpuPlane plane, Cycles cycles) {
  core_.usage().add_system_call(plane);
  run(plane, CpuCategory::kSyscall, cycles);
}

Cycles CpuTask::charge_copy(CpuPlane plane, Bytes bytes) {
  core_.usage().add_copy(bytes);
  const Cycles cycles(divide_up(bytes.count(), core_.config().copy_bytes_per_cycle));
  charge(plane, CpuCategory::kCopying, cycles);
  return cycles;
}

void CpuTask::sleep_until(Time time) { thread_.sleep_until(std::max(time, charged_until_)); }

void CpuTask::block() {
  settle();
  thread_.block();
}

void CpuTask::wait_for_write(Memory& memory, PhysicalAddress address) {
  memory.watch(address, call<&CpuTask::written>(this));
  thread_.block();
  // Somebody else may have ended the wait.
  memory.unwatch(call<&CpuTask::written>(this));
}

void CpuTask::written() { thread_.wake(scheduler().now()); }

void CpuTask::end_poll(CpuPlane plane, Time first, Cycles poll) {
  const Time grid = std::max(first, core_.work_end());
  const Time visible = scheduler().now();
  if (grid > visible) core_.note_wait(grid - visible);
  const std::uint64_t k =
      visible > grid ? poll_at_or_after(core_.clock(), visible - grid, poll) : 0;
  const Time begin = grid + core_.clock().duration(poll * k);
  const Time finds = core_.free_from(begin);
  charged_until_ = core_.end_of(finds, grid + core_.clock().duration(poll * (k + 1)) - begin);
  core_.end_polling(plane, charged_until_);
  polling_ = false;
  thread_.sleep_until(finds);
}

}  // namespace rnicsim

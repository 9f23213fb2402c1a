// SPDX-License-Identifier: MIT
#include "nic/key_operations.h"

#include <algorithm>
#include <string>

namespace rnicsim {

namespace {

constexpr std::uint8_t kRemoteRights =
    AccessFlags::kRemoteWrite | AccessFlags::kRemoteRead | AccessFlags::kRemoteAtomic;
constexpr std::uint8_t kChanges = AccessFlags::kRemoteWrite | AccessFlags::kRemoteAtomic;

/// The range lies in the region; address + length may wrap past 2^64.
bool covers(const abi::KeyEntry& region, const abi::BindSegment& bind) {
  if (bind.address < region.start) return false;
  const std::uint64_t offset = bind.address.value() - region.start.value();
  return offset <= region.length && bind.length <= region.length - offset;
}

}  // namespace

void KeyOperationsConfig::describe(Fields& fields) {
  fields.object("pipeline", pipeline, "checks and change of an entry, without its look-up");
}

KeyOperations::KeyOperations(Scheduler& scheduler, const Clock& clock, KeyCache& keys,
                             TranslationCache& translations, const KeyOperationsConfig& config)
    : scheduler_(scheduler),
      clock_(clock),
      keys_(keys),
      translations_(translations),
      pipeline_(clock, {Cycles(0), config.pipeline.interval}),
      key_port_(keys.add_port(clock)),
      latency_(config.pipeline.latency) {}

std::uint32_t KeyOperations::window_of(const Operation& operation) {
  return operation.kind == Kind::kBind ? operation.bind.window.index() : operation.key.index();
}

bool KeyOperations::needs_region(const Operation& operation) {
  return operation.kind == Kind::kBind && operation.bind.length != 0;
}

void KeyOperations::submit(const Operation& operation, Callback done) {
  const Time now = scheduler_.now();
  if (operations_.empty()) busy_since_ = now;
  Entry& entry = operations_.push(Entry{});
  most_ = std::max(most_, operations_.size());
  entry.operation = operation;
  entry.done = done;
  entry.submitted = now;
  entry.not_before = key_port_.begin(pipeline_.begin(now));
  entry.cycles = latency_;
  look_up(first_ + operations_.size() - 1);
}

/// Brings the entries; an index beyond the table needs none.
void KeyOperations::look_up(std::uint64_t sequence) {
  Entry& entry = operations_.at(sequence - first_);
  const Callback retry = call<&KeyOperations::look_up>(this, sequence);
  if (needs_region(entry.operation) && !look_up_region(entry, retry)) return;
  const std::uint32_t index = window_of(entry.operation);
  if (keys_.in_range(index)) {
    if (keys_.lookup(index, retry, entry.operation.work_request) == nullptr) return;
    entry.cycles += keys_.hit_latency();
  }
  entry.ready = clock_.after(std::max(entry.not_before, scheduler_.now()), entry.cycles);
  entry.stage = Stage::kReady;
  arm();
}

/// Keeps a copy: with a small cache the window may take the region's place.
bool KeyOperations::look_up_region(Entry& entry, Callback retry) {
  const std::uint32_t index = entry.operation.bind.region.index();
  if (entry.region_known) return true;
  entry.region = {};
  if (keys_.in_range(index)) {
    const abi::KeyEntry* region = keys_.lookup(index, retry, entry.operation.work_request);
    if (region == nullptr) return false;
    entry.region = *region;
    entry.cycles += keys_.hit_latency();
  }
  entry.region_known = true;
  return true;
}

/// The oldest operation takes effect next.
void KeyOperations::arm() {
  if (operations_.empty() || operations_.front().stage != Stage::kReady) return;
  operations_.front().stage = Stage::kArmed;
  scheduler_.at(std::max(operations_.front().ready, scheduler_.now()),
                call<&KeyOperations::execute>(this));
}

/// Runs again if an entry that was here has gone meanwhile.
void KeyOperations::execute() {
  Entry& entry = operations_.front();
  const std::uint32_t index = window_of(entry.operation);
  const Callback retry = call<&KeyOperations::execute>(this);
  if (!keys_.in_range(index)) {
    end(Fault::kNoWindow);
    return;
  }
  if (needs_region(entry.operation) && !look_up_region(entry, retry)) return;
  abi::KeyEntry* window = keys_.lookup(index, retry, entry.operation.work_request);
  if (window == nullptr) return;
  const Fault fault = judge(entry, *window);
  if (fault == Fault::kNone) apply(entry, *window);
  end(fault);
}

void KeyOperations::end(Fault fault) {
  if (fault != Fault::kNone) ++refused_[static_cast<std::size_t>(fault)];
  const Entry& entry = operations_.front();
  const Callback done = entry.done;
  probe(scheduler_.now(), ProbeKind::kKeyChanged, entry.operation.work_request, 0,
        static_cast<std::uint64_t>(entry.submitted.ps()), fault == Fault::kNone ? 0 : 1);
  operations_.pop();
  ++first_;
  if (operations_.empty()) busy_ += scheduler_.now() - busy_since_;
  fault_ = fault;
  done();
  arm();
}

KeyOperations::Fault KeyOperations::judge(const Entry& entry, const abi::KeyEntry& window) const {
  const Operation& operation = entry.operation;
  if (!window.window) return Fault::kNoWindow;
  if (window.pd != operation.pd) return Fault::kWrongPd;
  if (needs_region(operation)) return judge_bind(entry, window);
  if (operation.kind == Kind::kBind && !window.valid) return Fault::kFree;
  if (operation.kind != Kind::kBind && window.key != operation.key) return Fault::kOtherKey;
  if (window.valid && window.qpn != operation.qpn) return Fault::kOtherQueuePair;
  return Fault::kNone;
}

KeyOperations::Fault KeyOperations::judge_bind(const Entry& entry, const abi::KeyEntry& window) {
  const abi::BindSegment& bind = entry.operation.bind;
  const abi::KeyEntry& region = entry.region;
  if (window.valid) return Fault::kBound;
  if (!region.valid || region.window || region.key != bind.region) return Fault::kNoRegion;
  if (region.pd != entry.operation.pd) return Fault::kWrongPd;
  if (!region.access.allows(AccessFlags::kWindowBind) ||
      region.access.allows(AccessFlags::kOnDemand))
    return Fault::kNoBindRight;
  if (!covers(region, bind)) return Fault::kOutOfBounds;
  if ((bind.access.bits() & kChanges) != 0 && !region.access.allows(AccessFlags::kLocalWrite))
    return Fault::kNoAccessRight;
  return Fault::kNone;
}

void KeyOperations::apply(const Entry& entry, abi::KeyEntry& window) {
  const Operation& operation = entry.operation;
  const std::uint32_t index = window_of(operation);
  if (needs_region(operation)) {
    ++binds_;
    const PdNumber pd = window.pd;
    window = entry.region;  // table, page size and levels are the region's
    window.window = true;
    window.pd = pd;
    window.qpn = operation.qpn;
    window.key = operation.bind.window;
    window.access = AccessFlags(operation.bind.access.bits() & kRemoteRights);
    window.start = operation.bind.address;
    window.length = operation.bind.length;
    bind(index, {operation.bind.region.index(), window.key});
  } else {
    ++(operation.kind == Kind::kBind              ? unbinds_
       : operation.kind == Kind::kLocalInvalidate ? invalidations_
                                                  : remote_invalidations_);
    abi::KeyEntry free;
    free.window = true;
    free.pd = window.pd;
    free.key = operation.kind == Kind::kBind ? operation.bind.window : window.key;
    window = free;
    bind(index, {});
  }
  keys_.mark_dirty(index);
  translations_.invalidate(index);
}

void KeyOperations::bind(std::uint32_t window, Binding binding) {
  if (window >= bindings_.size()) bindings_.resize(window + 1);
  Binding& present = bindings_[window];
  if (present.region != 0) --windows_of_[present.region];
  present = binding;
  if (binding.region == 0) return;
  if (binding.region >= windows_of_.size()) windows_of_.resize(binding.region + 1);
  ++windows_of_[binding.region];
}

void KeyOperations::forget(std::uint32_t index) {
  for (std::size_t i = 0; i < operations_.size(); ++i)
    if (operations_.at(i).operation.bind.region.index() == index)
      operations_.at(i).region_known = false;
  if (index >= bindings_.size() || bindings_[index].region == 0) return;
  // A write-back of the bound entry may reach host RAM after what the driver has written there.
  abi::KeyEntry gone;
  gone.key = bindings_[index].key;
  keys_.store(index, gone);
  bind(index, {});
}

void KeyOperations::reset() {
  bindings_.clear();
  windows_of_.clear();
}

const char* name_of(KeyOperations::Fault fault) {
  switch (fault) {
    case KeyOperations::Fault::kNone:
      return "none";
    case KeyOperations::Fault::kNoWindow:
      return "no_window";
    case KeyOperations::Fault::kOtherKey:
      return "other_key";
    case KeyOperations::Fault::kBound:
      return "bound";
    case KeyOperations::Fault::kFree:
      return "free";
    case KeyOperations::Fault::kOtherQueuePair:
      return "other_queue_pair";
    case KeyOperations::Fault::kWrongPd:
      return "protection_domain";
    case KeyOperations::Fault::kNoRegion:
      return "no_region";
    case KeyOperations::Fault::kNoBindRight:
      return "no_bind_right";
    case KeyOperations::Fault::kOutOfBounds:
      return "bounds";
    case KeyOperations::Fault::kNoAccessRight:
      return "access_rights";
  }
  return "?";
}

void KeyOperations::report(const MetricScope& scope) const {
  scope.count("binds", binds_, "memory windows bound");
  scope.count("unbinds", unbinds_, "memory windows unbound by a bind of length 0");
  scope.count("local_invalidations", invalidations_, "keys invalidated by a work queue entry");
  scope.count("remote_invalidations", remote_invalidations_, "keys invalidated by a SEND");
  for (std::size_t i = 1; i < refused_.size(); ++i)
    scope.count(std::string("refused.") + name_of(static_cast<Fault>(i)), refused_[i],
                "operations on keys that were refused for this reason");
  scope.time("busy", busy_, "time with at least one operation under way");
  scope.time("stalled.interval", pipeline_.stalled(), "operations waited for the pipeline");
  scope.count("occupancy.max", most_, "most operations under way");
}

}  // namespace rnicsim

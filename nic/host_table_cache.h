// SPDX-License-Identifier: MIT
// An on-NIC cache over a table of fixed-size entries in host RAM: key entries, QP contexts, CQ
// contexts. A miss costs a DMA read of the entry, limited by miss registers; an evicted entry that
// the NIC changed is written back by DMA.
//
// Entry is a layout of model/nic_abi (kBytes, read, write). Each user has a port of its own, a
// pipeline that a look-up passes (`hit_latency`, one every `interval` cycles); the time is the
// user's to spend, the look-up itself is a call. On a miss the user is called back to look again:
// an entry may have been evicted in between, so nobody keeps a pointer past the present callback.
// Who waits for an entry already, with the same call back, is called back once.
// Observers are told of each who missed its entry, for how long and for whose work request.
// Who needs an entry beyond it keeps a copy, and looks again when changes() has moved. Ordering: an
// entry whose write-back has not been handed to PCIe yet is not fetched again.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "model/cache_directory.h"
#include "model/callback.h"
#include "model/config_reader.h"
#include "model/invariant.h"
#include "model/metrics.h"
#include "model/pcie_tlp.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "model/sparse_array.h"
#include "nic/pcie_endpoint.h"
#include "nic/waiters.h"

namespace rnicsim {

struct HostTableCacheConfig {
  CacheGeometry geometry;
  std::uint32_t outstanding_misses = 8;
  Cycles hit_latency{0};
  Cycles interval{1};
  void describe(Fields& fields);
};

template <class Entry>
class HostTableCache {
 public:
  HostTableCache(Scheduler& scheduler, PcieEndpoint& pcie, const HostTableCacheConfig& config,
                 DmaPurpose purpose, std::string name, std::uint64_t seed)
      : scheduler_(scheduler),
        pcie_(pcie),
        config_(config),
        purpose_(purpose),
        name_(std::move(name)),
        directory_(config.geometry.entries, config.geometry.ways, config.geometry.replacement,
                   seed),
        values_(directory_.slots()) {}

  /// A way in for one more user, for as long as the cache lives.
  Pipeline& add_port(const Clock& clock) {
    return ports_.emplace_back(clock, PipelineConfig{config_.hit_latency, config_.interval});
  }
  Cycles hit_latency() const { return config_.hit_latency; }

  /// Where the table is and how many entries it has (kInitHca).
  void set_table(PhysicalAddress base, std::uint32_t count) {
    ++changes_;
    base_ = base;
    count_ = count;
  }
  bool in_range(std::uint32_t index) const { return index < count_; }
  PhysicalAddress address_of(std::uint32_t index) const {
    return PhysicalAddress(base_.value() + std::uint64_t{index} * Entry::kBytes);
  }
  /// Of a changed entry only these bytes are the NIC's and written back: the driver may write the
  /// others at any time.
  void write_back_only(std::uint32_t offset, std::uint32_t bytes) {
    write_back_offset_ = offset;
    write_back_bytes_ = bytes;
  }

  /// The entry if it is cached; else null, and `retry` runs when it has been fetched.
  /// `work_request` names whose fault the fetch is. REQUIRES: in_range(index).
  Entry* lookup(std::uint32_t index, Callback retry, WorkRequestId work_request = {}) {
    if (const auto slot = directory_.find(index)) {
      if (!std::exchange(missed_before_, false)) ++hits_;
      return &values_[*slot].entry;
    }
    ++misses_;
    wait_for({index, retry, work_request, scheduler_.now()});
    return nullptr;
  }
  /// The entry will be looked up soon: fetches it if it is not here. REQUIRES: in_range(index).
  void prefetch(std::uint32_t index) {
    if (directory_.contains(index) || is_awaited(index)) return;
    ++prefetches_;
    wait_for({index, {}, {}, scheduler_.now()});
  }
  /// The entry if it is cached, without counting or fetching.
  Entry* peek(std::uint32_t index) {
    const auto slot = directory_.find(index);
    return slot ? &values_[*slot].entry : nullptr;
  }
  /// The NIC changed a cached entry: it is written back when evicted.
  void mark_dirty(std::uint32_t index) {
    ++changes_;
    if (const auto slot = directory_.find(index)) values_[*slot].dirty = true;
  }
  /// Writes an entry to host RAM and forgets it.
  void store(std::uint32_t index, const Entry& entry) {
    invalidate(index);
    write_back(index, entry);
  }
  /// Forgets an entry (its host copy has been changed by the driver).
  void invalidate(std::uint32_t index) {
    ++changes_;
    directory_.erase(index);
    for (Miss& miss : misses_in_flight_)
      if (miss.index == index) miss.stale = true;
  }
  /// Times that some entry was changed or forgotten: a copy that was made at the present count is
  /// as good as the entry, whether that is still cached or not.
  std::uint64_t changes() const { return changes_; }

  Probe probe;
  void signals(const SignalScope& scope) {
    scope.level(
        "fetches", Unit::kCount, "fetches outstanding", [this] { return in_flight_; },
        config_.outstanding_misses);
  }
  void report(const MetricScope& scope) const {
    scope.count("hits", hits_, "look-ups that found their entry");
    scope.count("misses", misses_, "look-ups that had to wait for a DMA read");
    scope.count("fetches", fetches_, "entries read from host RAM");
    scope.count("prefetches", prefetches_, "of these, before somebody looked for them");
    scope.count("write_backs", write_backs_, "changed entries written back to host RAM");
    scope.time("busy", busy_, "time with at least one fetch outstanding");
    scope.time("stalled.miss_registers", stalled_,
               "time in which a miss waited for a miss register or a write-back");
    scope.count("occupancy.max", most_in_flight_, "most fetches outstanding at once");
    Time waited;
    for (const Pipeline& port : ports_) waited += port.stalled();
    scope.time("stalled.interval", waited, "look-ups waited for their user's port");
  }

 private:
  struct Value {
    Entry entry;
    bool dirty = false;
  };
  struct Waiting {
    std::uint32_t index;
    Callback retry;
    WorkRequestId work_request;
    Time since;
  };
  struct Miss {
    std::uint32_t index = 0;
    bool active = false;
    bool stale = false;  ///< invalidated while in flight: fetch again
    std::vector<Callback> waiters;
    std::vector<Waiting> observed;  ///< who missed it, for observers
    std::uint8_t bytes[Entry::kBytes];
  };

  void wait_for(const Waiting& waiting) {
    const std::uint32_t index = waiting.index;
    if (!in_range(index))
      throw InvariantBroken(name_, scheduler_.now(), "an index beyond the table was looked up");
    for (Miss& miss : misses_in_flight_) {
      if (miss.active && miss.index == index) {
        join(miss, waiting);
        return;
      }
    }
    for (const std::uint32_t writing : writing_back_) {
      if (writing == index) {
        park(waiting);
        return;
      }
    }
    if (in_flight_ == config_.outstanding_misses) {
      park(waiting);
      return;
    }
    fetch(waiting);
  }

  void join(Miss& miss, const Waiting& waiting) {
    if (!waiting.retry) return;
    const std::size_t before = miss.waiters.size();
    add_waiter(miss.waiters, waiting.retry);
    if (probe.on() && miss.waiters.size() != before) miss.observed.push_back(waiting);
  }

  /// To observers: its wait is over.
  void tell(const Waiting& waiting) const {
    probe(scheduler_.now(), ProbeKind::kContextFetched, waiting.work_request, 0,
          static_cast<std::uint64_t>(waiting.since.ps()), waiting.index);
  }

  /// Somebody waits for it, or for the miss register that it needs.
  bool is_awaited(std::uint32_t index) const {
    for (const Miss& miss : misses_in_flight_)
      if (miss.active && miss.index == index) return true;
    for (const Waiting& waiting : waiting_)
      if (waiting.index == index) return true;
    return false;
  }

  void park(const Waiting& waiting) {
    for (const Waiting& other : waiting_)
      if (other.index == waiting.index && is_same(other.retry, waiting.retry)) return;
    if (waiting_.empty()) stalled_since_ = scheduler_.now();
    waiting_.push_back(waiting);
  }

  void fetch(const Waiting& waiting) {
    std::size_t at = 0;
    while (at < misses_in_flight_.size() && misses_in_flight_[at].active) ++at;
    if (at == misses_in_flight_.size()) misses_in_flight_.emplace_back();
    Miss& miss = misses_in_flight_[at];
    miss.index = waiting.index;
    miss.active = true;
    miss.stale = false;
    join(miss, waiting);
    if (in_flight_++ == 0) busy_since_ = scheduler_.now();
    if (in_flight_ > most_in_flight_) most_in_flight_ = in_flight_;
    ++fetches_;
    read(at, waiting.work_request);
  }

  void read(std::size_t at, WorkRequestId work_request) {
    DmaRequest request;
    request.engine = DmaEngineId::kTableRead;
    request.purpose = purpose_;
    request.address = address_of(misses_in_flight_[at].index);
    request.bytes = Entry::kBytes;
    request.data = misses_in_flight_[at].bytes;
    request.work_request = work_request;
    request.done = call<&HostTableCache::fetched>(this, at);
    pcie_.submit(request);
  }

  void fetched(std::uint64_t at) {
    Miss& miss = misses_in_flight_[at];
    if (miss.stale) {
      miss.stale = false;
      read(at, {});
      return;
    }
    values_[place(miss.index)] = {Entry::read(miss.bytes), false};
    miss.active = false;
    if (--in_flight_ == 0) busy_ += scheduler_.now() - busy_since_;
    for (const Waiting& waiting : miss.observed) tell(waiting);
    miss.observed.clear();
    serving_.swap(miss.waiters);  // both vectors keep their room
    for (const Callback& waiter : serving_) {
      missed_before_ = true;  // it looks again and finds its entry: one miss, no hit
      waiter();
    }
    missed_before_ = false;
    serving_.clear();
    serve_waiting();
  }

  std::uint32_t place(std::uint32_t index) {
    const CacheDirectory::Placed placed = directory_.insert(index);
    if (placed.evicted && values_[placed.slot].dirty)
      write_back(static_cast<std::uint32_t>(*placed.evicted), values_[placed.slot].entry);
    return placed.slot;
  }

  void write_back(std::uint32_t index, const Entry& entry) {
    static_assert(Entry::kBytes <= PcieEndpoint::kInlineBytes);
    ++write_backs_;
    std::uint8_t bytes[Entry::kBytes] = {};
    entry.write(bytes);
    writing_back_.push_back(index);
    DmaRequest request;
    request.write = true;
    request.purpose = purpose_;
    request.address = PhysicalAddress(address_of(index).value() + write_back_offset_);
    request.bytes = write_back_bytes_;
    request.data = bytes + write_back_offset_;
    request.done = call<&HostTableCache::written_back>(this, index);
    pcie_.submit(request);
  }

  void written_back(std::uint64_t index) {
    for (auto& writing : writing_back_) {
      if (writing == index) {
        writing = writing_back_.back();
        writing_back_.pop_back();
        break;
      }
    }
    serve_waiting();
  }

  /// Gives those that found no miss register, or a write-back in the way, another try.
  void serve_waiting() {
    for (std::size_t n = waiting_.size(); n != 0 && in_flight_ < config_.outstanding_misses; --n) {
      const Waiting next = waiting_.front();
      waiting_.pop_front();
      if (waiting_.empty()) stalled_ += scheduler_.now() - stalled_since_;
      if (!directory_.contains(next.index)) {
        wait_for(next);
      } else if (next.retry) {
        if (probe.on()) tell(next);
        next.retry();
      }
    }
  }

  Scheduler& scheduler_;
  PcieEndpoint& pcie_;
  HostTableCacheConfig config_;
  DmaPurpose purpose_;
  std::string name_;
  CacheDirectory directory_;
  SparseArray<Value, 8> values_;
  std::deque<Pipeline> ports_;
  PhysicalAddress base_;
  std::uint32_t count_ = 0;
  std::uint64_t changes_ = 0;
  std::uint32_t write_back_offset_ = 0;
  std::uint32_t write_back_bytes_ = Entry::kBytes;
  std::deque<Miss> misses_in_flight_;  ///< addresses must not move while DMA writes into them
  std::vector<Callback> serving_;
  std::deque<Waiting> waiting_;
  std::vector<std::uint32_t> writing_back_;
  std::uint32_t in_flight_ = 0;
  Time busy_since_;
  Time busy_;
  Time stalled_since_;
  Time stalled_;
  bool missed_before_ = false;  ///< the next look-up has been counted as a miss
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  std::uint64_t fetches_ = 0;
  std::uint64_t prefetches_ = 0;
  std::uint64_t write_backs_ = 0;
  std::uint32_t most_in_flight_ = 0;
};

}  // namespace rnicsim

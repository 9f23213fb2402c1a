// SPDX-License-Identifier: MIT
// Executes what changes key entries on behalf of queue pairs (IBTA 10.6.7): binds a memory window
// of type 2 to a part of a region, unbinds it (a bind of length 0), invalidates its key, locally (a
// work queue entry) or remotely (SEND with invalidate).
//
// Entries come through the key cache; a changed entry is marked there and written back to host RAM,
// and the translations of its key are forgotten. An operation enters `pipeline`, passes the key
// cache once for each entry that it needs (its hit latency each time), and takes effect when it
// leaves. Operations take effect in the order of submit(), so one that waits for a fetch holds up
// those behind it; their fetches overlap.
//
// Rules: a window that is bound must be freed before it is bound again (o10-37.2.30). It belongs to
// the queue pair and the protection domain that it was bound on (C10-72), which alone may unbind or
// invalidate it. The region is valid, of the same protection domain, made to have windows (C10-73)
// and covers the range (C10-75); a window that may be written (or changed by atomics) needs a
// region with local write (C10-74), whereas the region's own remote rights do not matter.
// Invalidating a free window by its present key changes nothing and succeeds. The rules are taken
// from Linux' rdma_rxe, which names the clauses.
//
// Differs: IBTA has a bind of length 0 refused for type 2 (o10-37.2.40); as on mlx5 it unbinds.
// Approximates: which windows a region has is counted here, beside the entries in host RAM. An
// access that had passed its key check when the key went is still carried out (as many packets as
// the responder has in its window). Ignores: windows of type 1, windows of regions that begin at 0,
// invalidation of regions (only for those made by fast registration, which there is none of):
// refused. A queue pair that is reset keeps its windows, and so does the next user of its number in
// the same protection domain.
#pragma once

#include <array>
#include <vector>

#include "model/callback.h"
#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/nic_abi.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/key_checker.h"
#include "nic/translation_cache.h"

namespace rnicsim {

struct KeyOperationsConfig {
  PipelineConfig pipeline{Cycles(20), Cycles(4)};
  void describe(Fields& fields);
};

class KeyOperations {
 public:
  enum class Kind : std::uint8_t { kBind, kLocalInvalidate, kRemoteInvalidate };
  struct Operation {
    Kind kind = Kind::kBind;
    abi::BindSegment bind;
    MemoryKey key;  ///< to invalidate
    PdNumber pd;    ///< of the queue pair
    Qpn qpn;
    WorkRequestId work_request;
  };
  enum class Fault : std::uint8_t {
    kNone,
    kNoWindow,        ///< the key names a region, or nothing
    kOtherKey,        ///< not the window's present key
    kBound,           ///< a bound window must be freed first
    kFree,            ///< there is nothing to unbind
    kOtherQueuePair,  ///< bound on another queue pair
    kWrongPd,         ///< window or region of another protection domain
    kNoRegion,        ///< no such region
    kNoBindRight,     ///< the region was not made to have windows
    kOutOfBounds,     ///< the window would reach beyond the region
    kNoAccessRight,   ///< the region lacks local write
  };

  KeyOperations(Scheduler& scheduler, const Clock& clock, KeyCache& keys,
                TranslationCache& translations, const KeyOperationsConfig& config);

  /// `done` runs when the operation has taken effect or was refused: fault() then says which.
  void submit(const Operation& operation, Callback done);
  Fault fault() const { return fault_; }
  /// A region that has windows may not be deregistered.
  bool has_windows(std::uint32_t region) const {
    return region < windows_of_.size() && windows_of_[region] != 0;
  }
  /// The driver takes the entry back: a window that is still bound is not any more, here and in
  /// host RAM.
  void forget(std::uint32_t index);
  /// The tables are new.
  void reset();

  bool idle() const { return operations_.empty(); }

  Probe probe;
  void report(const MetricScope& scope) const;

 private:
  enum class Stage : std::uint8_t { kFetching, kReady, kArmed };
  struct Entry {
    Operation operation;
    Callback done;
    Time submitted;
    Stage stage = Stage::kFetching;
    Time not_before;  ///< when it entered the pipeline
    Time ready;
    Cycles cycles;
    abi::KeyEntry region;  ///< as it was when looked up
    bool region_known = false;
  };
  /// The region that a window is bound to, and its key then. Region 0: none.
  struct Binding {
    std::uint32_t region = 0;
    MemoryKey key;
  };

  static std::uint32_t window_of(const Operation& operation);
  static bool needs_region(const Operation& operation);
  void look_up(std::uint64_t sequence);
  bool look_up_region(Entry& entry, Callback retry);
  void arm();
  void execute();
  void end(Fault fault);
  Fault judge(const Entry& entry, const abi::KeyEntry& window) const;
  static Fault judge_bind(const Entry& entry, const abi::KeyEntry& window);
  void apply(const Entry& entry, abi::KeyEntry& window);
  void bind(std::uint32_t window, Binding binding);

  Scheduler& scheduler_;
  const Clock& clock_;
  KeyCache& keys_;
  TranslationCache& translations_;
  Pipeline pipeline_;
  Pipeline& key_port_;
  Cycles latency_;
  Ring<Entry> operations_;
  std::uint64_t first_ = 0;  ///< sequence number of operations_.front()
  Fault fault_ = Fault::kNone;
  std::vector<Binding> bindings_;          ///< by index of the window
  std::vector<std::uint32_t> windows_of_;  ///< by index of the region
  std::uint64_t binds_ = 0;
  std::uint64_t unbinds_ = 0;
  std::uint64_t invalidations_ = 0;
  std::uint64_t remote_invalidations_ = 0;
  std::array<std::uint64_t, 11> refused_{};
  std::size_t most_ = 0;
  Time busy_;
  Time busy_since_;
};
const char* name_of(KeyOperations::Fault fault);

}  // namespace rnicsim

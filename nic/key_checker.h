// SPDX-License-Identifier: MIT
// The key check as a state machine (IBTA 10.6.3.3, 9.7.4.1.5): may this access go to this memory,
// and where is it? States in order, each with a cost in cycles:
//
//   key lookup -> valid -> protection domain -> bounds -> access rights -> translate -> pass
//                                (any of them) -> NAK
//
// Serves both sides: the responder checks an rkey over the whole RETH DMA length at a message's
// first packet, the requester an lkey at a segment's first packet; later packets enter at
// `translate`, which still sees a key that was invalidated meanwhile. Key entries come through the
// key cache, translations through the translation cache; a miss leaves the check where it is and
// calls back. A check keeps the key entry that it has found until it is decided, however long its
// translations take: a key cache smaller than the keys in use delays checks and cannot starve them.
// When any key has been changed or invalidated meanwhile the check looks its own up again.
//
// The key look-up costs the key cache's hit latency, a translation that of the
// translation cache, into both of which each checker has a port of its own. The states are a
// pipeline: a check enters every `interval` cycles (which is also that of the translation port),
// and any number are under way at once. One that waits for a fetch holds up only what its owner
// keeps in order.
//
// A page that is absent is a NAK; of a region paged on demand the check stops there, and its owner
// decides whether it waits for the page (wait_for_page) or gives up.
#pragma once

#include <array>

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/nic_abi.h"
#include "model/pipeline.h"
#include "nic/host_table_cache.h"
#include "nic/page_faults.h"
#include "nic/translation_cache.h"

namespace rnicsim {

using KeyCache = HostTableCache<abi::KeyEntry>;

struct KeyCheckerConfig {
  Cycles interval{1};
  Cycles valid{1};
  Cycles protection_domain{1};
  Cycles bounds{1};
  Cycles access_rights{1};
  void describe(Fields& fields);
};

/// One access on its way through the state machine.
struct KeyCheck {
  enum class State : std::uint8_t {
    kKeyLookup,
    kValid,
    kProtectionDomain,
    kBounds,
    kAccessRights,
    kTranslate,
    kPass,
    kNak,
  };
  /// Where one contiguous part of the access lies. A packet of 4 KiB touches at most two pages.
  struct Piece {
    PhysicalAddress address;
    std::uint32_t bytes = 0;
  };

  State state = State::kKeyLookup;
  MemoryKey key;
  VirtualAddress region_address;  ///< bounds: start of the whole access
  std::uint64_t region_length = 0;
  PdNumber pd;
  Qpn qpn;                 ///< whose access it is: a memory window belongs to one queue pair
  std::uint8_t needs = 0;  ///< AccessFlags bits that the region must have
  bool qp_allows = true;   ///< the queue pair's own rights
  VirtualAddress address;  ///< translate: this packet's part
  std::uint32_t length = 0;
  WorkRequestId work_request;

  abi::KeyEntry entry;              ///< the key's, as it was found
  std::uint64_t entry_changes = 0;  ///< KeyCache::changes() then
  bool entry_found = false;

  KeyFault fault = KeyFault::kNone;
  Time not_before;                   ///< when it entered the state machine
  Cycles cycles;                     ///< spent so far since the caller last took the time
  bool missed = false;               ///< a translation had to be fetched
  Time waits_since = Time::never();  ///< for an entry, if the state machine is being watched
  bool absent = false;  ///< the page behind `pieces` is not there yet: neither pass nor NAK
  std::uint64_t faults_ended = 0;  ///< PageFaults::ended() when it was found absent
  bool own = false;                ///< by the lkey of a work request
  std::uint8_t piece_count = 0;
  std::array<Piece, 2> pieces;

  /// Bytes of the whole access behind this part, as far as it is known.
  std::uint64_t behind() const {
    const std::uint64_t end = address.value() - region_address.value() + length;
    return region_length > end ? region_length - end : 0;
  }
  bool decided() const { return state == State::kPass || state == State::kNak; }
};
const char* name_of(KeyCheck::State state);

class KeyChecker {
 public:
  KeyChecker(const Clock& clock, KeyCache& keys, TranslationCache& translations,
             PageFaults& page_faults, const KeyCheckerConfig& config)
      : clock_(clock),
        pipeline_(clock, {Cycles(0), config.interval}),
        key_port_(keys.add_port(clock)),
        keys_(keys),
        translations_(translations),
        page_faults_(page_faults),
        config_(config) {}

  /// A check that is ready at `at` enters the state machine; returns when its first state begins.
  Time enter(Time at) { return key_port_.begin(pipeline_.begin(at)); }

  /// Advances the check up to `until` (kTranslate, or kPass for all of it), pass, NAK or an absent
  /// page. False: an entry has to be fetched; call again when `retry` runs.
  bool run(KeyCheck& check, KeyCheck::State until, Callback retry);
  /// Whether a page that was absent may have come since; then the check is to be run again.
  bool is_stale(const KeyCheck& check) const { return check.faults_ended != page_faults_.ended(); }
  /// Has the page fetched that the check found absent; `ahead`: bytes of the message behind the
  /// check's. `again` (may be empty) runs when it is worth running the check again.
  void wait_for_page(const KeyCheck& check, std::uint64_t ahead, Callback again);
  PageFaults& page_faults() { return page_faults_; }
  void report(const MetricScope& scope) const;
  /// Its state, in which each check is for the cycles that it costs; what waits for an entry is in
  /// state `wait`, a verdict lasts one cycle.
  void signals(const SignalScope& scope);

 private:
  bool advance(KeyCheck& check, KeyCheck::State until, Callback retry);
  void show(const KeyCheck& check, KeyCheck::State state, Cycles since) const;
  void show_verdict(const KeyCheck& check) const;
  void show_wait(KeyCheck& check, bool waits) const;
  bool find_entry(KeyCheck& check, Callback retry);
  void step(KeyCheck& check);
  bool translate(KeyCheck& check, Callback retry);
  void refuse(KeyCheck& check, KeyFault fault);

  const Clock& clock_;
  Pipeline pipeline_;
  Pipeline& key_port_;
  KeyCache& keys_;
  TranslationCache& translations_;
  PageFaults& page_faults_;
  KeyCheckerConfig config_;
  Cycles busy_;
  std::uint64_t waited_ = 0;
  std::uint64_t passed_ = 0;
  std::uint64_t absent_ = 0;
  std::array<std::uint64_t, 7> refused_{};
  StateReport states_;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "nic/key_checker.h"

#include <algorithm>
#include <limits>

namespace rnicsim {

namespace {

constexpr unsigned kLogSmallestPage = 12;  // a packet's payload touches two pages at most
constexpr unsigned kLogLargestPage = 40;

/// An entry whose table could not be walked is as good as none.
bool same_key(const KeyCheck& check) {
  const abi::KeyEntry& entry = check.entry;
  return entry.valid && entry.key == check.key && entry.levels >= 1 && entry.levels <= 3 &&
         entry.log_page_size >= kLogSmallestPage && entry.log_page_size <= kLogLargestPage;
}

/// Why a key that is not the entry's was refused, as far as the entry can tell: keys of an index
/// are issued in ascending order, so one at or below the entry's latest was valid once. After 256
/// of them, one of the round before passes for never issued.
KeyFault fault_of_other_key(const KeyCheck& check) {
  const abi::KeyEntry& entry = check.entry;
  if (entry.key.value() == 0 || entry.key.index() != check.key.index())
    return KeyFault::kUnknownKey;
  if (entry.key == check.key) return entry.valid ? KeyFault::kUnknownKey : KeyFault::kStaleKey;
  const bool earlier = check.key.variant() != 0 && check.key.variant() < entry.key.variant();
  return earlier ? KeyFault::kStaleKey : KeyFault::kUnknownKey;
}

/// The whole access lies in the region; address + length may wrap past 2^64.
bool in_bounds(const KeyCheck& check) {
  const abi::KeyEntry& entry = check.entry;
  const std::uint64_t start = check.region_address.value();
  if (start < entry.start.value()) return false;
  const std::uint64_t offset = start - entry.start.value();
  return offset <= entry.length && check.region_length <= entry.length - offset;
}

}  // namespace

const char* name_of(KeyCheck::State state) {
  switch (state) {
    case KeyCheck::State::kKeyLookup:
      return "key_lookup";
    case KeyCheck::State::kValid:
      return "valid";
    case KeyCheck::State::kProtectionDomain:
      return "protection_domain";
    case KeyCheck::State::kBounds:
      return "bounds";
    case KeyCheck::State::kAccessRights:
      return "access_rights";
    case KeyCheck::State::kTranslate:
      return "translate";
    case KeyCheck::State::kPass:
      return "pass";
    case KeyCheck::State::kNak:
      return "nak";
  }
  return "?";
}

void KeyCheckerConfig::describe(Fields& fields) {
  const auto cost = range(Cycles(0), Cycles(10000));
  fields.field("interval", interval, range(Cycles(1), Cycles(10000)),
               "cycles between two checks that enter");
  fields.field("valid", valid, cost, "cycles of the state that compares the whole key");
  fields.field("protection_domain", protection_domain, cost,
               "cycles of the state that compares protection domains");
  fields.field("bounds", bounds, cost, "cycles of the state that compares addresses");
  fields.field("access_rights", access_rights, cost,
               "cycles of the state that compares access rights");
}

bool KeyChecker::run(KeyCheck& check, KeyCheck::State until, Callback retry) {
  const Cycles before = check.cycles;
  check.absent = false;
  if (states_.on()) show_wait(check, false);
  const bool done = advance(check, until, retry);
  busy_ += check.cycles - before;
  if (!done) ++waited_;
  if (states_.on()) {
    if (!done) show_wait(check, true);
    if (check.decided()) show_verdict(check);
  }
  return done;
}

bool KeyChecker::advance(KeyCheck& check, KeyCheck::State until, Callback retry) {
  while (!check.decided() && check.state != until) {
    if (!keys_.in_range(check.key.index())) {
      refuse(check, KeyFault::kUnknownKey);
      break;
    }
    if (!find_entry(check, retry)) return false;
    if (check.state == KeyCheck::State::kTranslate) return translate(check, retry);
    while (!check.decided() && check.state != KeyCheck::State::kTranslate) step(check);
  }
  return true;
}

bool KeyChecker::find_entry(KeyCheck& check, Callback retry) {
  if (check.entry_found && check.entry_changes == keys_.changes()) return true;
  const abi::KeyEntry* entry = keys_.lookup(check.key.index(), retry, check.work_request);
  check.entry_found = entry != nullptr;
  if (entry == nullptr) return false;
  check.entry = *entry;
  check.entry_changes = keys_.changes();
  return true;
}

void KeyChecker::step(KeyCheck& check) {
  const abi::KeyEntry& entry = check.entry;
  const KeyCheck::State state = check.state;
  const Cycles since = check.cycles;
  switch (check.state) {
    case KeyCheck::State::kKeyLookup:
      check.cycles += keys_.hit_latency();
      check.state = KeyCheck::State::kValid;
      break;
    case KeyCheck::State::kValid:
      check.cycles += config_.valid;
      check.state = KeyCheck::State::kProtectionDomain;
      if (!same_key(check)) refuse(check, fault_of_other_key(check));
      break;
    case KeyCheck::State::kProtectionDomain:
      check.cycles += config_.protection_domain;
      check.state = KeyCheck::State::kBounds;
      if (entry.pd != check.pd || (entry.window && entry.qpn != check.qpn))
        refuse(check, KeyFault::kWrongPd);
      break;
    case KeyCheck::State::kBounds:
      check.cycles += config_.bounds;
      check.state = KeyCheck::State::kAccessRights;
      if (!in_bounds(check)) refuse(check, KeyFault::kOutOfBounds);
      break;
    case KeyCheck::State::kAccessRights:
      check.cycles += config_.access_rights;
      check.state = KeyCheck::State::kTranslate;
      if (!entry.access.allows(check.needs) || !check.qp_allows)
        refuse(check, KeyFault::kNoAccessRight);
      break;
    case KeyCheck::State::kTranslate:
    case KeyCheck::State::kPass:
    case KeyCheck::State::kNak:
      break;
  }
  show(check, state, since);
}

bool KeyChecker::translate(KeyCheck& check, Callback retry) {
  if (!same_key(check)) {
    refuse(check, fault_of_other_key(check));
    return true;
  }
  std::uint32_t done = 0;
  for (std::size_t i = 0; i < check.piece_count; ++i) done += check.pieces[i].bytes;
  while (done < check.length) {
    const auto result =
        translations_.lookup(check.entry, VirtualAddress(check.address.value() + done),
                             check.length - done, retry, check.work_request);
    if (result.state == TranslationCache::Result::State::kMiss) {
      check.missed = true;
      return false;
    }
    check.cycles += translations_.hit_latency();
    show(check, KeyCheck::State::kTranslate, check.cycles - translations_.hit_latency());
    if (result.state == TranslationCache::Result::State::kNotPresent) {
      check.absent = check.entry.access.allows(AccessFlags::kOnDemand);
      if (check.absent) {
        ++absent_;
        check.faults_ended = page_faults_.ended();
        return true;
      }
      refuse(check, KeyFault::kNotPresent);
      return true;
    }
    check.pieces[check.piece_count++] = {result.address, result.bytes};
    done += result.bytes;
  }
  ++passed_;
  check.state = KeyCheck::State::kPass;
  return true;
}

void KeyChecker::wait_for_page(const KeyCheck& check, std::uint64_t ahead, Callback again) {
  std::uint32_t done = 0;
  for (std::size_t i = 0; i < check.piece_count; ++i) done += check.pieces[i].bytes;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  abi::PageFault fault;
  fault.key = check.key;
  fault.address = VirtualAddress(check.address.value() + done);
  fault.bytes = check.length - done;
  fault.ahead = static_cast<std::uint32_t>(std::min(ahead, kMost));
  fault.own = check.own;
  page_faults_.raise(fault, check.entry.log_page_size, check.work_request, again);
}

void KeyChecker::refuse(KeyCheck& check, KeyFault fault) {
  ++refused_[static_cast<std::size_t>(fault)];
  check.fault = fault;
  check.state = KeyCheck::State::kNak;
}

/// The check was in `state` from `since` cycles on until now.
void KeyChecker::show(const KeyCheck& check, KeyCheck::State state, Cycles since) const {
  if (!states_.on()) return;
  const Time begin = std::max(check.not_before, states_.now());
  states_(clock_.after(begin, since), clock_.after(begin, check.cycles),
          static_cast<std::uint64_t>(state) + 1);
}

void KeyChecker::show_verdict(const KeyCheck& check) const {
  const Time begin = std::max(check.not_before, states_.now());
  states_(clock_.after(begin, check.cycles), clock_.after(begin, check.cycles + Cycles(1)),
          static_cast<std::uint64_t>(check.state) + 1);
}

void KeyChecker::show_wait(KeyCheck& check, bool waits) const {
  if (waits) {
    check.waits_since = clock_.after(std::max(check.not_before, states_.now()), check.cycles);
  } else if (check.waits_since != Time::never()) {
    states_(check.waits_since, states_.now(),
            static_cast<std::uint64_t>(KeyCheck::State::kNak) + 2);
    check.waits_since = Time::never();
  }
}

void KeyChecker::signals(const SignalScope& scope) {
  std::vector<std::string> names{"idle"};
  for (auto s = KeyCheck::State::kKeyLookup; s <= KeyCheck::State::kNak;
       s = static_cast<KeyCheck::State>(static_cast<unsigned>(s) + 1))
    names.emplace_back(name_of(s));
  names.emplace_back("wait");
  scope.reported("state", std::move(names),
                 "of the key check's state machine; wait: a key entry or translation is being "
                 "fetched",
                 states_);
}

void KeyChecker::report(const MetricScope& scope) const {
  scope.cycles("busy", busy_, "cycles spent in the states, over all checks");
  scope.time("stalled.interval", pipeline_.stalled(), "checks waited to enter");
  scope.count("stalled.miss", waited_, "times that a check waited for an entry to be fetched");
  scope.count("absent", absent_, "times that a page of a region paged on demand was absent");
  scope.count("passed", passed_, "packets whose access was allowed and translated");
  scope.count("refused.unknown_key", refused_[static_cast<std::size_t>(KeyFault::kUnknownKey)],
              "accesses refused: key never issued");
  scope.count("refused.stale_key", refused_[static_cast<std::size_t>(KeyFault::kStaleKey)],
              "accesses refused: key of a region that was deregistered");
  scope.count("refused.protection_domain", refused_[static_cast<std::size_t>(KeyFault::kWrongPd)],
              "accesses refused: key of another protection domain");
  scope.count("refused.bounds", refused_[static_cast<std::size_t>(KeyFault::kOutOfBounds)],
              "accesses refused: outside the region");
  scope.count("refused.access_rights", refused_[static_cast<std::size_t>(KeyFault::kNoAccessRight)],
              "accesses refused: region or queue pair lacks the right");
  scope.count("refused.not_present", refused_[static_cast<std::size_t>(KeyFault::kNotPresent)],
              "accesses refused: the translation table has no page there");
}

}  // namespace rnicsim

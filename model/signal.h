// SPDX-License-Identifier: MIT
// Signals: what of a block observers can follow through a run (waveforms, time series, the live
// view), while metrics say what it came to in the end. A block names them once, when an observer
// asks; nothing is kept or computed for a run that nobody observes, and reading changes nothing.
//
//   level  how much there is at this instant: packets that wait, bytes of a buffer, tags in use
//   state  which of a few named states the block is in
//   total  a counter that only rises; what is shown is by how much a second: of bytes a throughput,
//          of time the share of time
//
// A block that goes through its states within one entry of the scheduler, as arithmetic with
// cycles, cannot be read at an instant: it reports how long it is in which state, dated, through a
// StateReport. Of several such stretches that overlap, a signal shows the one that began last;
// outside all of them its state is 0.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/metrics.h"
#include "model/units.h"

namespace rnicsim {

/// Takes stretches of states, in any order of time.
class StateSink {
 public:
  virtual ~StateSink() = default;
  virtual void in_state(std::uint32_t signal, Time from, Time until, std::uint64_t state) = 0;
  /// Simulated time, for blocks that only compute with times.
  virtual Time now() const = 0;
};

/// A block's way to a StateSink; without one a report costs one pointer test.
class StateReport {
 public:
  void attach(StateSink* sink, std::uint32_t signal) {
    sink_ = sink;
    signal_ = signal;
  }
  bool on() const { return sink_ != nullptr; }
  /// [from, until); an empty stretch is none.
  void operator()(Time from, Time until, std::uint64_t state) const {
    if (sink_ != nullptr && from < until) sink_->in_state(signal_, from, until, state);
  }
  /// REQUIRES: on().
  Time now() const { return sink_->now(); }

 private:
  StateSink* sink_ = nullptr;
  std::uint32_t signal_ = 0;
};

enum class SignalKind : std::uint8_t { kLevel, kState, kTotal };

struct Signal {
  std::string path;  ///< as a metric's: "host.A.nic0.port.queued"
  SignalKind kind = SignalKind::kLevel;
  Unit unit = Unit::kCount;  ///< of what is read
  std::string description;
  std::uint64_t limit = 0;          ///< the highest level, or total a second (bytes: bits); 0: none
  bool lowest = false;              ///< of a level: what matters is how low it gets
  std::vector<std::string> states;  ///< by number
  /// At an instant between the scheduler's present one and its next entry. Empty: it is reported.
  std::function<std::uint64_t(Time)> read;
  StateReport* report = nullptr;
};
using Signals = std::vector<Signal>;

/// Signals seen from one block: puts the block's path before each name. What reads one is called
/// with the instant, or without if it takes nothing.
class SignalScope {
 public:
  SignalScope(Signals& signals, std::string path) : signals_(signals), path_(std::move(path)) {}
  SignalScope child(const std::string& name) const { return {signals_, path_ + "." + name}; }

  template <class Read>
  void level(const std::string& name, Unit unit, const char* description, Read read,
             std::uint64_t limit = 0) const {
    Signal& signal = add(name, SignalKind::kLevel, unit, description);
    signal.read = reader(std::move(read));
    signal.limit = limit;
  }
  /// A level of which matters how low it gets.
  template <class Read>
  void lowest(const std::string& name, Unit unit, const char* description, Read read,
              std::uint64_t limit = 0) const {
    level(name, unit, description, std::move(read), limit);
    signals_.back().lowest = true;
  }
  template <class Read>
  void state(const std::string& name, std::vector<std::string> states, const char* description,
             Read read) const {
    Signal& signal = add(name, SignalKind::kState, Unit::kCount, description);
    signal.states = std::move(states);
    signal.read = reader(std::move(read));
  }
  void reported(const std::string& name, std::vector<std::string> states, const char* description,
                StateReport& report) const {
    Signal& signal = add(name, SignalKind::kState, Unit::kCount, description);
    signal.states = std::move(states);
    signal.report = &report;
  }
  /// `limit`: what it rises a second at most, of bytes in bits.
  template <class Read>
  void total(const std::string& name, Unit unit, const char* description, Read read,
             std::uint64_t limit = 0) const {
    Signal& signal = add(name, SignalKind::kTotal, unit, description);
    signal.read = reader(std::move(read));
    signal.limit = limit;
  }

 private:
  template <class Read>
  static std::function<std::uint64_t(Time)> reader(Read read) {
    if constexpr (std::is_invocable_v<Read, Time>)
      return read;
    else
      return [read](Time) { return static_cast<std::uint64_t>(read()); };
  }
  Signal& add(const std::string& name, SignalKind kind, Unit unit, const char* description) const {
    Signal& signal = signals_.emplace_back();
    signal.path = path_ + "." + name;
    signal.kind = kind;
    signal.unit = unit;
    signal.description = description;
    return signal;
  }

  Signals& signals_;
  std::string path_;
};

}  // namespace rnicsim

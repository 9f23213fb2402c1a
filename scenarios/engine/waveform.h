// SPDX-License-Identifier: MIT
// Writes levels and states of signals (model/signal) as a value change dump (VCD, IEEE 1364-2005,
// 18.2), as GTKWave and other waveform viewers open it: every change, at its instant, in
// picoseconds. Scopes are the parts of a signal's path ("host" > "A" > "nic0" > "key_checker").
//
// A level is read whenever time goes on, so what changes back within one instant is not seen. Names
// of states are values of the type "string", GTKWave's own extension to the format, as are those
// of its simulators. Totals, which never stop rising, are left out.
//
// Changes are kept until the run ends (24 B each), since stretches of states are dated. Behind
// kMostChanges of them the waveform ends, and says so on stderr.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "model/scheduler.h"
#include "model/signal.h"
#include "model/units.h"

namespace rnicsim {

struct WaveformOptions {
  std::string file;  ///< what messages call it
  /// Where the bytes go; who asked for it gives it its name once the run has ended well.
  std::string unfinished;
  std::string glob = "*";  ///< of signals' paths
  Time from;
  Time until = Time::never();
};

class Waveform : public TimeObserver, private StateSink {
 public:
  static constexpr std::size_t kMostChanges = 20000000;

  /// Attaches itself to the states that are reported. Throws ConfigError if the glob matches none.
  Waveform(const Scheduler& scheduler, const Signals& signals, const WaveformOptions& options);
  ~Waveform() override;
  Waveform(const Waveform&) = delete;
  Waveform& operator=(const Waveform&) = delete;

  Time before(Time next) override;
  /// At the end of the run. Throws ConfigError if not everything could be written, or the part that
  /// was asked for lies behind that end.
  void close();

 private:
  struct Change {
    Time at;
    std::uint32_t signal = 0;
    std::uint64_t value = 0;
  };
  struct Stretch {
    Time from;
    Time until;
    std::uint64_t state = 0;
  };
  void in_state(std::uint32_t signal, Time from, Time until, std::uint64_t state) override;
  Time now() const override { return scheduler_.now(); }

  void look(Time at);
  void keep(std::size_t changes);
  void add(Time at, std::uint32_t signal, std::uint64_t value);
  void resolve(std::uint32_t signal);
  void measure_bits();
  void write(std::ostream& out) const;
  void write_names(std::ostream& out) const;
  std::string value_text(std::uint32_t signal, std::uint64_t value) const;

  const Scheduler& scheduler_;
  WaveformOptions options_;
  Signals signals_;
  std::vector<std::uint64_t> shown_;  ///< the value that stands at the present
  std::vector<unsigned> bits_;
  std::vector<std::vector<Stretch>> stretches_;  ///< by signal
  std::vector<Change> changes_;
  std::size_t kept_ = 0;  ///< changes, those of stretches included
  bool is_full_ = false;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// How far a study is, on stderr: done, running, rate, time left. On a terminal it is one line that
// is written anew; elsewhere there is nothing or, for a launcher that takes what its processes say,
// a line every ten seconds. Silent for the first two seconds.
#pragma once

#include <chrono>
#include <string>

#include "scenarios/engine/study_runner.h"

namespace rnicsim {

class StudyProgressLine {
 public:
  /// `lines`: also where stderr is no terminal.
  StudyProgressLine(bool wanted, bool lines);
  StudyProgressLine(const StudyProgressLine&) = delete;
  StudyProgressLine& operator=(const StudyProgressLine&) = delete;
  ~StudyProgressLine();

  /// What is done from now on. A terminal shows it at once.
  void begin(const std::string& phase);
  /// It is time to show something: the caller need not make up a text otherwise.
  bool is_due() const { return is_wanted_ && Clock::now() >= next_; }
  /// REQUIRES: is_due().
  void show(const std::string& text);
  /// Since the phase began.
  double seconds() const;
  /// Nothing is there any more: somebody else writes.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool is_terminal_;
  bool is_wanted_;
  bool is_shown_ = false;
  Clock::time_point phase_began_ = Clock::now();
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(2);
};

/// "[#####---------------] 12 of 40 points, 2 running, 3.1/s, 9 s left"
std::string progress_text(const StudyProgress& progress, double seconds);

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// How far a study is, as one line on stderr that is written anew: done, running, rate, time left.
// Silent where stderr is no terminal, and for the first two seconds.
#pragma once

#include <chrono>
#include <string>

#include "scenarios/engine/study_runner.h"

namespace rnicsim {

class StudyProgressLine {
 public:
  explicit StudyProgressLine(bool wanted);
  StudyProgressLine(const StudyProgressLine&) = delete;
  StudyProgressLine& operator=(const StudyProgressLine&) = delete;
  ~StudyProgressLine();

  void show(const StudyProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  bool wanted_;
  bool shown_ = false;
  Clock::time_point began_ = Clock::now();
};

/// "[#####---------------] 12 of 40 points, 2 running, 3.1/s, 9 s left"
std::string progress_text(const StudyProgress& progress, double seconds);

}  // namespace rnicsim

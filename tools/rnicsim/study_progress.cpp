// SPDX-License-Identifier: MIT
#include "tools/rnicsim/study_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <iostream>

namespace rnicsim {
namespace {

constexpr std::size_t kBar = 20;
constexpr std::chrono::milliseconds kTerminalInterval{200};
constexpr std::chrono::seconds kLinesInterval{10};

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  if (whole < 100) return fmt::format("{} s", whole);
  if (whole < 100 * 60) return fmt::format("{} min", (whole + 59) / 60);
  return fmt::format("{} h", (whole + 3599) / 3600);
}

}  // namespace

std::string progress_text(const StudyProgress& progress, double seconds) {
  const std::size_t full = progress.total == 0 ? kBar : kBar * progress.done / progress.total;
  std::string text =
      fmt::format("[{}{}] {} of {} points, {} running", std::string(full, '#'),
                  std::string(kBar - full, '-'), progress.done, progress.total, progress.running);
  if (progress.done == 0 || seconds <= 0) return text;
  const double rate = static_cast<double>(progress.done) / seconds;
  const auto left = static_cast<double>(progress.total - progress.done);
  return text + fmt::format(", {:.3g}/s, {} left", rate, duration_text(left / rate));
}

StudyProgressLine::StudyProgressLine(bool wanted, bool lines)
    : is_terminal_(isatty(STDERR_FILENO) != 0), is_wanted_(wanted && (is_terminal_ || lines)) {}

StudyProgressLine::~StudyProgressLine() { clear(); }

void StudyProgressLine::begin(const std::string& phase) {
  phase_began_ = Clock::now();
  if (is_terminal_ && (is_shown_ || is_due())) show(phase);
}

void StudyProgressLine::show(const std::string& text) {
  if (is_terminal_) {
    std::cerr << "\r\033[K" << text << std::flush;
    is_shown_ = true;
    next_ = Clock::now() + kTerminalInterval;
  } else {
    std::cerr << text + '\n' << std::flush;
    next_ = Clock::now() + kLinesInterval;
  }
}

double StudyProgressLine::seconds() const {
  return std::chrono::duration<double>(Clock::now() - phase_began_).count();
}

void StudyProgressLine::clear() {
  if (is_shown_) std::cerr << "\r\033[K" << std::flush;
  is_shown_ = false;
}

}  // namespace rnicsim

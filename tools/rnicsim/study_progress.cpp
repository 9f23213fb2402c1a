// SPDX-License-Identifier: MIT
#include "tools/rnicsim/study_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <iostream>

namespace rnicsim {
namespace {

constexpr std::size_t kBar = 20;
constexpr double kSilentSeconds = 2;

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

StudyProgressLine::StudyProgressLine(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) != 0) {}

StudyProgressLine::~StudyProgressLine() {
  if (shown_) std::cerr << "\r\033[K" << std::flush;
}

void StudyProgressLine::show(const StudyProgress& progress) {
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  if (!wanted_ || seconds < kSilentSeconds) return;
  shown_ = true;
  std::cerr << "\r\033[K" << progress_text(progress, seconds) << std::flush;
}

}  // namespace rnicsim

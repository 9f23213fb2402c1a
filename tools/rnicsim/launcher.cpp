// SPDX-License-Identifier: MIT
#include "tools/rnicsim/launcher.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "model/config_error.h"

namespace rnicsim {
namespace {

struct Launcher {
  const char* own;
  const char* count;
  std::array<const char*, 3> job;  ///< some may be missing
};

constexpr Launcher kMpi[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"PMIX_NAMESPACE", nullptr, nullptr}},
    {"PMI_RANK", "PMI_SIZE", {"PMI_JOBID", nullptr, nullptr}}};
constexpr Launcher kSlurm = {
    "SLURM_PROCID", "SLURM_NTASKS", {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}};
// Steps that srun did not start have numbers from here on: a batch script, an interactive shell.
constexpr std::uint64_t kSpecialSlurmSteps = 0xfffffff0;

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

bool is_slurm_step() {
  const char* step = std::getenv("SLURM_STEP_ID");
  return step != nullptr && number_in(step).value_or(kSpecialSlurmSteps) < kSpecialSlurmSteps;
}

std::string job_of(const Launcher& launcher) {
  std::string job;
  for (const char* name : launcher.job) {
    const char* value = name == nullptr ? nullptr : std::getenv(name);
    if (value != nullptr) job.append(job.empty() ? "" : ".").append(value);
  }
  return job;
}

std::optional<Ranks> ranks_of(const Launcher& launcher) {
  const char* own = std::getenv(launcher.own);
  const char* count = std::getenv(launcher.count);
  if (own == nullptr || count == nullptr) return std::nullopt;
  Ranks ranks{number_in(own).value_or(0), number_in(count).value_or(0), job_of(launcher)};
  if (number_in(own) && ranks.own < ranks.count) return ranks;
  ConfigError::Detail detail;
  detail.file = fmt::format("{} and {} of the environment", launcher.own, launcher.count);
  detail.expected = "a number and a larger one";
  detail.found = fmt::format("{} and {}", in_quotes(own), in_quotes(count));
  throw ConfigError(std::move(detail));
}

}  // namespace

Ranks ranks_of_launcher() {
  for (const Launcher& launcher : kMpi)
    if (const std::optional<Ranks> ranks = ranks_of(launcher)) return *ranks;
  if (!is_slurm_step()) return {};
  return ranks_of(kSlurm).value_or(Ranks());
}

}  // namespace rnicsim

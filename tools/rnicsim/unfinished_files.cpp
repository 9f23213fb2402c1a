// SPDX-License-Identifier: MIT
#include "tools/rnicsim/unfinished_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "model/config_error.h"

namespace rnicsim {
namespace {

namespace fs = std::filesystem;

ConfigError refused(const std::string& file, const std::string& why) {
  ConfigError::Detail detail;
  detail.file = file;
  detail.found = why;
  return ConfigError(std::move(detail));
}

}  // namespace

std::string file_of_run(const std::string& file, std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  const fs::path path(file);
  return (path.parent_path() / (path.stem().string() + "." + name + path.extension().string()))
      .string();
}

std::vector<std::string> files_of_runs(const std::string& file,
                                       const std::vector<ScenarioFile>& scenarios) {
  if (scenarios.size() == 1 && scenarios[0].runs.size() == 1) return {file};
  std::vector<std::string> files;
  for (const ScenarioFile& scenario : scenarios)
    for (const Scenario& run : scenario.runs)
      files.push_back(file_of_run(
          file, run.variant.empty() ? scenario.name : scenario.name + "." + run.variant));
  return files;
}

UnfinishedFiles::~UnfinishedFiles() {
  for (const Unfinished& file : files_) {
    std::error_code ignored;
    fs::remove(file.written, ignored);
  }
}

std::string UnfinishedFiles::add(const std::string& file) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) throw refused(file, "cannot be written: it is a folder");
  const std::string written = file + ".tmp" + std::to_string(getpid());
  if (!std::ofstream(written, std::ios::binary))
    throw refused(file, std::string("cannot be written: ") + std::strerror(errno));
  files_.push_back({file, written});
  return written;
}

void UnfinishedFiles::keep() {
  for (const Unfinished& file : files_) {
    std::error_code error;
    fs::rename(file.written, file.file, error);
    if (error) throw refused(file.file, "cannot be written: " + error.message());
  }
  files_.clear();
}

}  // namespace rnicsim

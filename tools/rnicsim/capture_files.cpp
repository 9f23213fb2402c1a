// SPDX-License-Identifier: MIT
#include "tools/rnicsim/capture_files.h"

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

constexpr std::size_t kNamesShown = 16;

ConfigError refused(const std::string& file, const std::string& why) {
  ConfigError::Detail detail;
  detail.file = file;
  detail.found = why;
  return ConfigError(std::move(detail));
}

void check_ports(const std::string& glob, const Scenario& run) {
  if (!ports_matching(run, glob).empty()) return;
  ConfigError::Detail detail;
  detail.file = "--pcap-port";
  std::vector<std::string> names = port_names(run);
  if (names.size() > kNamesShown) {
    names.resize(kNamesShown);
    names.emplace_back("another");
  }
  detail.expected = one_of_text(names);
  detail.found = in_quotes(glob) + ", which matches none";
  throw ConfigError(std::move(detail));
}

}  // namespace

std::string file_of_run(const std::string& file, std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  const fs::path path(file);
  return (path.parent_path() / (path.stem().string() + "." + name + path.extension().string()))
      .string();
}

CaptureFiles::CaptureFiles(const std::string& file, const std::string& port_glob,
                           const std::vector<ScenarioFile>& scenarios) {
  const bool single = scenarios.size() == 1 && scenarios[0].runs.size() == 1;
  try {
    for (const ScenarioFile& scenario : scenarios) {
      for (const Scenario& run : scenario.runs) {
        const std::string name =
            run.variant.empty() ? scenario.name : scenario.name + "." + run.variant;
        add(single ? file : file_of_run(file, name), port_glob, run);
      }
    }
  } catch (...) {
    remove_unfinished();
    throw;
  }
}

CaptureFiles::~CaptureFiles() { remove_unfinished(); }

void CaptureFiles::add(const std::string& file, const std::string& port_glob, const Scenario& run) {
  check_ports(port_glob, run);
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) throw refused(file, "cannot be written: it is a folder");
  const std::string unfinished = file + ".tmp" + std::to_string(getpid());
  if (!std::ofstream(unfinished, std::ios::binary))
    throw refused(file, std::string("cannot be written: ") + std::strerror(errno));
  captures_.push_back({file, unfinished, port_glob});
}

void CaptureFiles::keep() {
  for (const CaptureOptions& capture : captures_) {
    std::error_code error;
    fs::rename(capture.unfinished, capture.file, error);
    if (error) throw refused(capture.file, "cannot be written: " + error.message());
  }
  captures_.clear();
}

void CaptureFiles::remove_unfinished() {
  for (const CaptureOptions& capture : captures_) {
    std::error_code ignored;
    fs::remove(capture.unfinished, ignored);
  }
}

}  // namespace rnicsim

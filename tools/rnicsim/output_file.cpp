// SPDX-License-Identifier: MIT
#include "tools/rnicsim/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "model/config_error.h"

namespace rnicsim {
namespace {

namespace fs = std::filesystem;

ConfigError unwritable(const fs::path& file, const std::string& why) {
  ConfigError::Detail detail;
  detail.file = file.string();
  detail.found = "cannot be written: " + why;
  return ConfigError(std::move(detail));
}

}  // namespace

void check_output_folder(const std::string& folder) {
  if (folder.empty()) throw unwritable("--out", "no folder is named");
  // Some part of the path may not be there yet; the first that is must be a writable folder.
  std::error_code ignored;
  fs::path existing = fs::absolute(folder, ignored).lexically_normal();
  while (!fs::exists(existing, ignored) && existing.has_relative_path())
    existing = existing.parent_path();
  if (!fs::is_directory(existing, ignored)) throw unwritable(existing, "it is no folder");
  if (access(existing.c_str(), W_OK) != 0) throw unwritable(existing, std::strerror(errno));
}

void write_output_file(const std::string& folder, const std::string& name,
                       const std::string& content) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw unwritable(folder, error.message());
  const fs::path file = fs::path(folder) / name;
  const fs::path unfinished = file.string() + ".tmp" + std::to_string(getpid());
  std::ofstream out(unfinished, std::ios::binary);
  out << content << std::flush;
  const bool written = out.good();
  const std::string why = std::strerror(errno);
  out.close();
  if (written) fs::rename(unfinished, file, error);
  if (written && !error) return;
  std::error_code ignored;
  fs::remove(unfinished, ignored);
  throw unwritable(file, written ? error.message() : why);
}

void write_output_file(const std::string& file, const std::string& content) {
  const fs::path path(file);
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  write_output_file(folder, path.filename().string(), content);
}

}  // namespace rnicsim

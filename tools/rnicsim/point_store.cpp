// SPDX-License-Identifier: MIT
#include "tools/rnicsim/point_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "model/config_error.h"
#include "scenarios/engine/run_json.h"
#include "tools/rnicsim/output_file.h"

namespace rnicsim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// A file is this, then the run or the error, then the end. What the run gave is long and JSON
// already: it is neither built into a document nor taken out of one.
std::string head_of(const std::string& key) {
  return fmt::format(R"({{"format":"rnicsim-point","version":1,"key":"{}",)", key);
}
constexpr std::string_view kRun = "\"run\":";
constexpr std::string_view kError = "\"error\":";
constexpr std::string_view kEnd = "}\n";

constexpr const char* kFirst = "first";  // no key is like it

std::string content_of(std::ifstream in) { return {std::istreambuf_iterator<char>(in), {}}; }

bool stands_at(const std::string& text, std::size_t place, std::string_view part) {
  return text.compare(place, part.size(), part) == 0;
}

ConfigError unusable(const std::string& file, std::string why) {
  ConfigError::Detail detail;
  detail.file = file;
  detail.found = std::move(why);
  return ConfigError(std::move(detail));
}

/// Of the lock file; -1: it is not there, and was not to be made.
int open_lock(const std::string& file, int flags) {
  std::error_code ignored;
  if ((flags & O_CREAT) != 0) fs::create_directories(fs::path(file).parent_path(), ignored);
  const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC | flags, 0666);
  if (descriptor < 0 && (errno != ENOENT || (flags & O_CREAT) != 0))
    throw unusable(file, fmt::format("cannot be written: {}", std::strerror(errno)));
  return descriptor;
}

/// False: somebody else has it.
bool lock(int descriptor, const std::string& file, int operation) {
  int result = 0;
  do result = flock(descriptor, operation);
  while (result != 0 && errno == EINTR);
  if (result == 0) return true;
  const int error = errno;
  if (error == EWOULDBLOCK) return false;
  close(descriptor);
  throw unusable(file, fmt::format("cannot be locked: {}; name a folder with --out on a file "
                                   "system that has locks",
                                   std::strerror(error)));
}

bool is_deleted(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && status.st_nlink == 0;
}

/// Null: somebody else has it. Who had it before may have deleted the file between our opening and
/// locking it; others would not see the lock then, and `tries_again` takes the next file.
std::unique_ptr<PointClaim> claim_file(const std::string& file, int flags, bool tries_again) {
  while (true) {
    const int descriptor = open_lock(file, flags);
    if (descriptor < 0) return nullptr;
    const bool mine = lock(descriptor, file, LOCK_EX | LOCK_NB);
    if (mine && !is_deleted(descriptor)) return std::make_unique<PointClaim>(file, descriptor);
    close(descriptor);
    if (!mine || !tries_again) return nullptr;
  }
}

}  // namespace

PointClaim::~PointClaim() {
  unlink(file_.c_str());
  flock(descriptor_, LOCK_UN);  // children that were forked meanwhile have the descriptor too
  close(descriptor_);
}

RunMembership::RunMembership(std::string file)
    : file_(std::move(file)), descriptor_(open_lock(file_, O_CREAT)) {
  is_first_ = lock(descriptor_, file_, LOCK_EX | LOCK_NB);
  if (!is_first_) lock(descriptor_, file_, LOCK_SH);
}

RunMembership::~RunMembership() {
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) unlink(file_.c_str());  // the last to leave
  flock(descriptor_, LOCK_UN);
  close(descriptor_);
}

void RunMembership::let_others_in() const { lock(descriptor_, file_, LOCK_SH); }

PointStore::PointStore(const std::string& folder)
    : folder_((fs::path(folder) / "points").string()) {}

bool PointStore::is_empty() const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored))
    if (entry.path().extension() == ".json") return false;
  return true;
}

std::string PointStore::file_of(const std::string& key) const {
  return (fs::path(folder_) / (key + ".json")).string();
}

PointState PointStore::state_of(const std::string& key) const {
  std::ifstream in(file_of(key), std::ios::binary);
  const std::string head = head_of(key);
  std::string text(head.size() + kError.size(), ' ');
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size())) || !stands_at(text, 0, head))
    return PointState::kMissing;
  std::string end(kEnd.size(), ' ');
  in.seekg(-static_cast<std::streamoff>(kEnd.size()), std::ios::end);
  if (!in.read(end.data(), static_cast<std::streamsize>(end.size())) || end != kEnd)
    return PointState::kMissing;
  if (stands_at(text, head.size(), kRun)) return PointState::kSimulated;
  return stands_at(text, head.size(), kError) ? PointState::kFailed : PointState::kMissing;
}

std::optional<PointOutcome> PointStore::find(const std::string& key) const {
  const std::string text = content_of(std::ifstream(file_of(key), std::ios::binary));
  const std::string head = head_of(key);
  const std::size_t shortest = head.size() + kError.size() + kEnd.size();
  if (text.size() < shortest || !stands_at(text, 0, head) ||
      !stands_at(text, text.size() - kEnd.size(), kEnd))
    return std::nullopt;
  const auto behind = [&](std::string_view mark) {
    const std::size_t begin = head.size() + mark.size();
    return text.substr(begin, text.size() - kEnd.size() - begin);
  };
  try {
    if (stands_at(text, head.size(), kRun)) return PointOutcome{run_from_text(behind(kRun)), ""};
    if (!stands_at(text, head.size(), kError)) return std::nullopt;
    return PointOutcome{std::nullopt, Json::parse(behind(kError)).get<std::string>()};
  } catch (const nlohmann::json::exception&) {  // somebody else wrote it: as if it were not there
    return std::nullopt;
  }
}

std::string PointStore::lock_of(const std::string& name) const {
  return (fs::path(folder_) / (name + ".lock")).string();
}

std::unique_ptr<PointClaim> PointStore::claim(const std::string& key) const {
  return claim_file(lock_of(key), O_CREAT, true);
}

std::unique_ptr<PointClaim> PointStore::claim_first() const { return claim(kFirst); }

std::unique_ptr<PointClaim> PointStore::replace_first() const {
  return claim_file(lock_of(kFirst), 0, false);
}

bool PointStore::awaits_first() const {
  std::error_code ignored;
  return fs::exists(lock_of(kFirst), ignored);
}

std::unique_ptr<RunMembership> PointStore::join_run(const std::string& part) const {
  return std::make_unique<RunMembership>(lock_of("run" + part));
}

StudyProgress PointStore::count(
    const std::function<bool(const std::string& key)>& is_of_study) const {
  StudyProgress progress;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const bool is_lock = entry.path().extension() == ".lock";
    if (!is_lock && entry.path().extension() != ".json") continue;
    if (is_of_study(entry.path().stem().string())) ++(is_lock ? progress.running : progress.done);
  }
  return progress;
}

void PointStore::forget(const std::string& key) const {
  std::error_code error;
  fs::remove(file_of(key), error);
  if (error) throw unusable(file_of(key), fmt::format("cannot be deleted: {}", error.message()));
}

void PointStore::keep(const std::string& key, const PointOutcome& outcome) const {
  std::string text = head_of(key);
  if (outcome.run)
    text.append(kRun).append(run_to_text(*outcome.run));
  else
    text.append(kError).append(
        Json(outcome.error).dump(-1, ' ', false, Json::error_handler_t::replace));
  write_output_file(folder_, key + ".json", text.append(kEnd));
}

}  // namespace rnicsim

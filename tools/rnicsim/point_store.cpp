// SPDX-License-Identifier: MIT
#include "tools/rnicsim/point_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "model/config_error.h"
#include "scenarios/engine/content_hash.h"
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
constexpr const char* kEnded = "ended";
constexpr unsigned kRetryMicroseconds = 10'000;

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

RunMembership::RunMembership(std::string file, const Ranks& ranks)
    : file_(std::move(file)), own_(ranks.own), count_(ranks.count) {
  while (!join()) {
    close(descriptor_);
    usleep(kRetryMicroseconds);
  }
}

bool RunMembership::join() {
  descriptor_ = open_lock(file_, O_CREAT);
  is_first_ = lock(descriptor_, file_, LOCK_EX | LOCK_NB);
  if (!is_first_) lock(descriptor_, file_, LOCK_SH);
  if (is_deleted(descriptor_)) return false;
  const Story before = story();
  const bool came_before = before.came.count(own_) != 0;
  // Who let this one in has died at once, or a run before is just being left.
  if (!is_first_ && (before.came.empty() || (before.has_ended && came_before))) return false;
  is_late_ = before.has_ended && !came_before;
  // Else what stands there is of a run before.
  const bool begins = is_first_ && !is_late_;
  if ((begins && ftruncate(descriptor_, 0) != 0) || !note(std::to_string(own_)))
    throw unusable(file_, fmt::format("cannot be written: {}", std::strerror(errno)));
  return true;
}

RunMembership::~RunMembership() {
  const bool is_last = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  if (is_last) {
    const Story all = story();
    if (!all.has_ended || all.came.size() >= count_) unlink(file_.c_str());
  }
  flock(descriptor_, LOCK_UN);
  close(descriptor_);
}

void RunMembership::let_others_in() const { lock(descriptor_, file_, LOCK_SH); }

bool RunMembership::has_ended() const { return story().has_ended; }

void RunMembership::end() const noexcept {
  if (!note(kEnded)) std::perror(file_.c_str());
}

/// A line for each who came, and one for the end. Opened by name each time: that is when a network
/// file system looks for what others have written.
RunMembership::Story RunMembership::story() const {
  Story story;
  std::ifstream in(file_);
  for (std::string line; std::getline(in, line);) {
    std::size_t number = 0;
    const char* end = line.data() + line.size();
    const auto read = std::from_chars(line.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end) story.came.insert(number);
    if (line == kEnded) story.has_ended = true;
  }
  return story;
}

bool RunMembership::note(const std::string& line) const {
  const int descriptor = open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0) return false;
  const std::string text = line + '\n';
  const bool written = write(descriptor, text.data(), text.size()) >= 0;
  return close(descriptor) == 0 && written;
}

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

bool PointStore::has_first() const {
  std::error_code ignored;
  return fs::exists(lock_of(kFirst), ignored);
}

void PointStore::forget_dead_first() const { claim_file(lock_of(kFirst), 0, false).reset(); }

std::unique_ptr<RunMembership> PointStore::join_run(const std::string& part,
                                                    const Ranks& ranks) const {
  std::string name = "run" + part;
  if (ranks.count > 1) name += '-' + content_hash(fmt::format("{} {}", ranks.count, ranks.job));
  return std::make_unique<RunMembership>(lock_of(name), ranks);
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

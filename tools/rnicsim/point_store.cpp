// SPDX-License-Identifier: MIT
#include "tools/rnicsim/point_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

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

std::string content_of(std::ifstream in) { return {std::istreambuf_iterator<char>(in), {}}; }

bool stands_at(const std::string& text, std::size_t place, std::string_view part) {
  return text.compare(place, part.size(), part) == 0;
}

}  // namespace

PointClaim::~PointClaim() {
  unlink(file_.c_str());
  flock(descriptor_, LOCK_UN);  // children that were forked meanwhile have the descriptor too
  close(descriptor_);
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

std::unique_ptr<PointClaim> PointStore::claim(const std::string& key) const {
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  std::string file = (fs::path(folder_) / (key + ".lock")).string();
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  const bool taken =
      descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!taken) return std::make_unique<PointClaim>(std::move(file), descriptor);
  close(descriptor);
  return nullptr;
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

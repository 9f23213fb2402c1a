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

#include "scenarios/engine/run_json.h"
#include "tools/rnicsim/output_file.h"

namespace rnicsim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "rnicsim-point";
constexpr int kVersion = 1;

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

std::optional<PointOutcome> PointStore::find(const std::string& key) const {
  std::ifstream in(fs::path(folder_) / (key + ".json"), std::ios::binary);
  if (!in) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  try {
    const Json json = Json::parse(text);
    if (json.at("format") != kFormat || json.at("version") != kVersion || json.at("key") != key)
      return std::nullopt;
    if (json.contains("error")) return PointOutcome{std::nullopt, json["error"].get<std::string>()};
    return PointOutcome{run_from_text(json.at("run").dump()), ""};
  } catch (const std::exception&) {  // somebody else's file: it is as if it were not there
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
  // What the run gave is long and JSON already.
  std::string text =
      fmt::format(R"({{"format":"{}","version":{},"key":"{}",)", kFormat, kVersion, key);
  if (outcome.run)
    text += "\"run\":" + run_to_text(*outcome.run);
  else
    text += "\"error\":" + Json(outcome.error).dump(-1, ' ', false, Json::error_handler_t::replace);
  write_output_file(folder_, key + ".json", text + "}\n");
}

}  // namespace rnicsim

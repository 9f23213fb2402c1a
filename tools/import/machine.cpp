// SPDX-License-Identifier: MIT
#include "tools/import/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "fabric/link_config.h"
#include "host/host_config.h"
#include "model/config_output.h"
#include "nic/nic_config.h"

namespace rnicsim {
namespace {

/// What listings can tell.
struct Tellable {
  PresetKind kind;
  const char* path;
};
constexpr Tellable kTellable[] = {
    {PresetKind::kHost, "pcie.generation"},
    {PresetKind::kHost, "pcie.lanes"},
    {PresetKind::kHost, "pcie.max_payload"},
    {PresetKind::kHost, "pcie.max_read_request"},
    {PresetKind::kHost, "pcie.read_completion_boundary"},
    {PresetKind::kHost, "pcie.tag_bits"},
    {PresetKind::kNic, "pcie.relaxed_ordering"},
    {PresetKind::kHost, "driver.log_qps"},
    {PresetKind::kHost, "driver.log_cqs"},
    {PresetKind::kHost, "driver.log_keys"},
    {PresetKind::kLink, "rate"},
};

template <class Config>
std::string default_of(const std::string& path) {
  Config config;
  for (const ConfigEntry& entry : list_config(config))
    if (entry.path == path)
      return entry.unit.empty() ? entry.value : entry.value + ' ' + entry.unit;
  return {};
}

std::string default_of(PresetKind kind, const std::string& path) {
  switch (kind) {
    case PresetKind::kHost:
      return default_of<HostConfig>(path);
    case PresetKind::kNic:
      return default_of<NicConfig>(path);
    default:
      return default_of<LinkConfig>(path);
  }
}

/// One preset, by whatever name.
class OnePreset final : public PresetSource {
 public:
  explicit OnePreset(JsonNode document) : document_(std::move(document)) {}
  std::vector<std::string> names(PresetKind /*kind*/) override { return {}; }

 private:
  std::optional<JsonNode> document(PresetKind /*kind*/, const std::string& /*name*/) override {
    return document_;
  }
  JsonNode document_;
};

void set(Machine::Json& object, const std::string& path, const Machine::Json& value) {
  Machine::Json* at = &object;
  std::size_t begin = 0;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
    at = &(*at)[path.substr(begin, dot - begin)];
    begin = dot + 1;
  }
  (*at)[path.substr(begin)] = value;
}

}  // namespace

void Machine::learn(PresetKind kind, const std::string& path, const Json& value,
                    const Place& place) {
  const auto [known, is_new] = facts_[kind].emplace(path, Fact{value, place});
  if (is_new || known->second.value == value) return;
  const Fact& first = known->second;
  note(fmt::format("{}:{}: {} would be {}; kept {} of {}:{}", place.file, place.line, path,
                   value.dump(), first.value.dump(), first.place.file, first.place.line));
}

bool Machine::knows(PresetKind kind, const std::string& path) const {
  const auto facts = facts_.find(kind);
  return facts != facts_.end() && facts->second.count(path) != 0;
}

Machine::Json Machine::value(PresetKind kind, const std::string& path) const {
  return knows(kind, path) ? facts_.at(kind).at(path).value : Json();
}

std::vector<PresetKind> Machine::kinds() const {
  std::vector<PresetKind> kinds;
  for (const auto& [kind, facts] : facts_) kinds.push_back(kind);
  return kinds;
}

Machine::Json Machine::preset(PresetKind kind, const std::string& title) const {
  Json values = Json::object();
  Json sources = Json::object();
  for (const auto& [path, fact] : facts_.at(kind)) {
    set(values, path, fact.value);
    sources[path] = fmt::format("{}:{}: {}", fact.place.file, fact.place.line, fact.place.words);
  }
  return {{"title", title}, {"values", std::move(values)}, {"sources", std::move(sources)}};
}

std::vector<std::string> Machine::remarks() const {
  std::vector<std::string> lines = notes_;
  for (const Tellable& value : kTellable)
    if (!knows(value.kind, value.path))
      lines.push_back(fmt::format("not learned: {} {}; default {}", name_of(value.kind), value.path,
                                  default_of(value.kind, value.path)));
  lines.emplace_back(
      "latencies, caches, memory and CPU costs stand in no such listing: the simulator's defaults");
  return lines;
}

void check_preset(const std::string& text, PresetKind kind, const std::string& file) {
  OnePreset(parse_json(text, file)).find(kind, "it");
}

ListingLines::ListingLines(std::string_view text, std::string file) : file_(std::move(file)) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines_.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void ListingLines::fail(std::size_t i, std::string expected, std::string found) const {
  ConfigError::Detail detail;
  detail.file = file_;
  detail.line = static_cast<int>(i) + 1;
  detail.expected = std::move(expected);
  detail.found = std::move(found);
  throw ConfigError(std::move(detail));
}

void ListingLines::fail_at_end(std::string expected) const {
  fail(lines_.empty() ? 0 : lines_.size() - 1, std::move(expected), "the end of the file");
}

std::string rate_text(std::uint64_t mbps) {
  return mbps % 1000 == 0 ? std::to_string(mbps / 1000) + " Gb/s" : std::to_string(mbps) + " Mb/s";
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string_view text_between(std::string_view line, std::string_view before,
                              std::string_view ends) {
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + before.size());
  return trimmed(rest.substr(0, rest.find_first_of(ends)));
}

unsigned pcie_generation(std::string_view speed) {
  double rate = 0;
  const auto parsed = std::from_chars(speed.data(), speed.data() + speed.size(), rate);
  const std::string_view rest(parsed.ptr,
                              speed.size() - static_cast<std::size_t>(parsed.ptr - speed.data()));
  if (parsed.ec != std::errc() || trimmed(rest).substr(0, 4) != "GT/s") return 0;
  constexpr double kRates[] = {2.5, 5, 8, 16, 32, 64, 128};
  for (unsigned i = 0; i < std::size(kRates); ++i)
    if (rate == kRates[i]) return i + 1;
  return 0;
}

}  // namespace rnicsim

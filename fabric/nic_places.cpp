// SPDX-License-Identifier: MIT
#include "fabric/nic_places.h"

namespace rnicsim {

ConfigError topology_error(const std::string& path, std::string problem, std::string nearest) {
  ConfigError::Detail detail;
  detail.path = path;
  detail.found = std::move(problem);
  detail.nearest = std::move(nearest);
  return ConfigError(std::move(detail));
}

void NicPlaces::require(std::uint64_t places, const std::string& what,
                        const std::string& path) const {
  const std::string has = what + " has places for " + std::to_string(places) + " NICs";
  if (places > Topology::kMaxLinks)
    throw topology_error(
        path, has + ", at most " + std::to_string(Topology::kMaxLinks) + " are possible");
  if (places < topology_.end_points())
    throw topology_error(path,
                         has + ", the scenario has " + std::to_string(topology_.end_points()));
}

void NicPlaces::attach(std::uint32_t node, std::uint32_t places, const LinkTraits& own) {
  places_ += places;
  for (std::uint32_t i = 0; i < places; ++i) {
    if (next_ < topology_.end_points()) {
      topology_.connect(next_++, node, LinkClass::kHost, own);
      continue;
    }
    topology_.add_port(node);
    if (empty_.empty() || empty_.back().first != node) empty_.emplace_back(node, 0);
    ++empty_.back().second;
  }
}

void NicPlaces::note_empty() const {
  if (empty_.empty()) return;
  constexpr std::size_t kNamed = 8;
  std::string text = std::to_string(places_ - next_) + " of " + std::to_string(places_) +
                     " places for NICs stay empty: ";
  for (std::size_t i = 0; i < empty_.size() && i < kNamed; ++i) {
    const auto [node, count] = empty_[i];
    text += (i > 0 ? ", " : "") + std::to_string(count) + " at " + topology_.node(node).name;
  }
  if (empty_.size() > kNamed)
    text += " and those of " + std::to_string(empty_.size() - kNamed) + " more switches";
  topology_.notes.push_back(std::move(text));
}

}  // namespace rnicsim

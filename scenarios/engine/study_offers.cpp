// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_offers.h"

#include <algorithm>
#include <map>
#include <set>

#include "scenarios/engine/study_statistics.h"

namespace rnicsim {
namespace {

using OfferPlaces = std::vector<std::size_t>;
using Cells = std::vector<const StudyCell*>;

OfferPlaces places_on(const OfferPlaces& dimensions, const StudyCell& cell) {
  OfferPlaces places;
  places.reserve(dimensions.size());
  for (const std::size_t d : dimensions) places.push_back(cell.positions[d]);
  return places;
}

/// Whether cells at the same places on those dimensions all have the same cost.
bool decide_the_cost(const OfferPlaces& dimensions, const Cells& cells) {
  std::map<OfferPlaces, double> costs;
  return std::all_of(cells.begin(), cells.end(), [&](const StudyCell* cell) {
    return costs.emplace(places_on(dimensions, *cell), *cell->cost).first->second == *cell->cost;
  });
}

/// Those without which the cost is not decided; all that have a choice if it is by none of them
/// alone, as where dimensions go together.
OfferPlaces paid_dimensions(const MetricVerdict& verdict, const Cells& cells) {
  OfferPlaces varied;
  for (std::size_t d = 0; d < verdict.dimensions.size(); ++d)
    if (verdict.dimensions[d].order.size() > 1) varied.push_back(d);
  OfferPlaces paid;
  for (const std::size_t d : varied) {
    OfferPlaces others = varied;
    others.erase(std::find(others.begin(), others.end(), d));
    if (!decide_the_cost(others, cells)) paid.push_back(d);
  }
  return decide_the_cost(paid, cells) ? paid : varied;
}

/// Settings of what costs nothing that have a cell at every offer.
std::set<OfferPlaces> settings_of_all(
    const std::map<OfferPlaces, std::map<OfferPlaces, const StudyCell*>>& offers) {
  std::set<OfferPlaces> common;
  for (const auto& [setting, cell] : offers.begin()->second) common.insert(setting);
  for (const auto& [at, cells] : offers)
    for (auto setting = common.begin(); setting != common.end();)
      setting = cells.count(*setting) != 0 ? std::next(setting) : common.erase(setting);
  return common;
}

}  // namespace

void find_offers(MetricVerdict& verdict) {
  Cells cells;
  for (const StudyCell& cell : verdict.cells)
    if (cell.cost) cells.push_back(&cell);
  if (cells.empty()) return;
  verdict.paid = paid_dimensions(verdict, cells);
  if (verdict.paid.empty()) return;
  OfferPlaces free;
  for (std::size_t d = 0; d < verdict.dimensions.size(); ++d)
    if (std::find(verdict.paid.begin(), verdict.paid.end(), d) == verdict.paid.end())
      free.push_back(d);
  std::map<OfferPlaces, std::map<OfferPlaces, const StudyCell*>> offers;
  for (const StudyCell* cell : cells)
    offers[places_on(verdict.paid, *cell)][places_on(free, *cell)] = cell;
  const std::set<OfferPlaces> settings = settings_of_all(offers);
  verdict.settings = settings.size();
  if (settings.empty()) return;
  for (const auto& [at, of] : offers) {
    std::vector<double> values;
    values.reserve(settings.size());
    for (const OfferPlaces& setting : settings) values.push_back(of.at(setting)->mean);
    verdict.offers.push_back({at, mean_of(values), *of.begin()->second->cost});
  }
}

}  // namespace rnicsim

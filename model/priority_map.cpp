// SPDX-License-Identifier: MIT
#include "model/priority_map.h"

namespace rnicsim {

void PriorityMapEntry::describe(Fields& fields) {
  fields.required().field("value", value, range(0, 63), "the DSCP, or the PCP");
  fields.required().field("priority", priority, range(0, 7), "the priority of frames that have it");
}

void PriorityMapConfig::describe(Fields& fields) {
  fields.choice("from", from, {{"dscp", PriorityFrom::kDscp}, {"pcp", PriorityFrom::kPcp}},
                "what tells a frame's priority: the IP header's DSCP or the 802.1Q tag's PCP");
  fields.list("map", map, ListLimits{0, 64},
              "where it differs from DSCP / 8, or from the PCP itself");
  for (const PriorityMapEntry& entry : map)
    fields.check(from == PriorityFrom::kDscp || entry.value < kPriorities, "map",
                 "must have PCPs from 0 to 7");
}

PriorityMap PriorityMap::of_service_levels(std::uint8_t lanes) {
  PriorityMap map;
  map.from_ = Source::kServiceLevel;
  for (std::size_t i = 0; i < map.by_value_.size(); ++i)
    map.by_value_[i] = static_cast<std::uint8_t>(i % lanes);
  return map;
}

PriorityMap::PriorityMap(const PriorityMapConfig& config)
    : from_(config.from == PriorityFrom::kDscp ? Source::kDscp : Source::kPcp) {
  for (std::size_t i = 0; i < by_value_.size(); ++i)
    by_value_[i] = static_cast<std::uint8_t>(from_ == Source::kDscp ? i >> 3 : i & 7);
  for (const PriorityMapEntry& entry : config.map) by_value_[entry.value] = entry.priority;
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "model/priority_map.h"

#include <catch2/catch.hpp>
#include <string>

#include "model/json_document.h"

using namespace rnicsim;

namespace {

int priority_of(const PriorityMapConfig& config, int dscp, int pcp, bool tagged) {
  PacketPool pool;
  const PacketRef packet = pool.create();
  packet->ipv4.dscp = static_cast<std::uint8_t>(dscp);
  packet->vlan.priority = static_cast<std::uint8_t>(pcp);
  packet->tagged = tagged;
  return PriorityMap(config).of(*packet);
}

std::string failure(const std::string& text) {
  PriorityMapConfig config;
  try {
    read_config(parse_json(text, "x.json"), config);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a frame's priority is its DSCP's class selector if nothing else is said") {
  for (int dscp = 0; dscp < 64; ++dscp) CHECK(priority_of({}, dscp, 5, true) == dscp / 8);
}

TEST_CASE("a map moves single DSCPs to other priorities") {
  PriorityMapConfig config;
  config.map = {{26, 4}, {48, 6}, {0, 1}};
  CHECK(priority_of(config, 26, 0, false) == 4);
  CHECK(priority_of(config, 27, 0, false) == 3);
  CHECK(priority_of(config, 48, 0, false) == 6);
  CHECK(priority_of(config, 0, 0, false) == 1);
}

TEST_CASE("where the PCP counts, a frame without a tag has priority 0") {
  PriorityMapConfig config;
  config.from = PriorityFrom::kPcp;
  for (int pcp = 0; pcp < 8; ++pcp) CHECK(priority_of(config, 26, pcp, true) == pcp);
  CHECK(priority_of(config, 26, 5, false) == 0);
  config.map = {{5, 2}};
  CHECK(priority_of(config, 26, 5, true) == 2);
}

TEST_CASE("a PCP beyond 7 in a map is a bad configuration") {
  CHECK(failure(R"({"from": "pcp", "map": [{"value": 8, "priority": 1}]})")
            .find("must have PCPs from 0 to 7") != std::string::npos);
  CHECK(failure(R"({"from": "pcp", "map": [{"value": 7, "priority": 1}]})").empty());
  CHECK(failure(R"({"map": [{"value": 63, "priority": 1}]})").empty());
}

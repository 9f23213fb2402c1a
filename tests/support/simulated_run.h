// SPDX-License-Identifier: MIT
// A scenario's text run to its end, with the presets that the simulator comes with.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "model/json_document.h"
#include "scenarios/engine/scenario_reader.h"
#include "scenarios/engine/simulation.h"

namespace rnicsim::test {

struct SimulatedRun {
  explicit SimulatedRun(const std::string& text, const SimulationHooks& hooks = {}) {
    PresetDirectories presets({"scenarios/presets"});
    result = simulate(read_scenario(parse_json(text, "x.json"), {}, presets), hooks);
  }
  double value(const std::string& path) const {
    REQUIRE(result.metrics.count(path) == 1);
    return result.metrics.at(path).as_real();
  }
  RunResult result;
};

}  // namespace rnicsim::test

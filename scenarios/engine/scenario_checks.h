// SPDX-License-Identifier: MIT
// What must hold between the parts of a scenario: names exist and are unique, the topology has the
// hosts it needs, packets fit the link.
#pragma once

#include <string>
#include <vector>

#include "model/json_document.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

/// Throws ConfigError, placed by `document`, from which `scenario` was read. Also fills in what
/// follows from several fields.
void check_scenario(const JsonNode& document, Scenario& scenario);

/// Throws ConfigError placed at `path`, or where it would stand.
[[noreturn]] void fail_check(const JsonNode& document, const std::string& path, std::string problem,
                             std::string nearest = {});

/// Refuses every key of the object at `path` but those: a key that belongs elsewhere changes
/// nothing and so must not be given. `what` they belong to: "the pattern \"registration\"".
void refuse_keys_but(const JsonNode& document, const std::string& path,
                     const std::vector<std::string>& keys, const std::string& what);

}  // namespace rnicsim

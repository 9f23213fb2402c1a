// SPDX-License-Identifier: MIT
// The one path grammar, for --set, variants, study axes and errors: keys joined by dots; a list
// element by its index or its "name"; `*` for all elements or members.
//   hosts.*.memory.page_size      hosts.A.nic.translation_cache.entries      workload.0.size
#pragma once

#include <string_view>

#include "model/json_document.h"

namespace rnicsim {

/// Puts `value` at every place that `path` names; an object is merged over what is there. Objects
/// on the way that do not exist are created, list elements are not. Throws ConfigError, placed at
/// `value`, if the path leads nowhere. REQUIRES: `value` is no part of `root`.
void set_path(JsonNode& root, std::string_view path, const JsonNode& value);

/// Whether there is a node at `path` (list elements by index).
bool has_node(const JsonNode& root, std::string_view path);

/// The node at `path` (list elements by index), or the last existing one on the way to it.
const JsonNode& nearest_node(const JsonNode& root, std::string_view path);

}  // namespace rnicsim

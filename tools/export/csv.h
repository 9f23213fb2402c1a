// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rnicsim {

/// A text as a cell of a CSV file (RFC 4180): in quotes where it must be.
std::string csv_cell(const std::string& text);

}  // namespace rnicsim

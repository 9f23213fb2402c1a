// SPDX-License-Identifier: MIT
// Files that are there whole or not at all.
#pragma once

#include <string>

namespace rnicsim {

/// The folder can be made or is one. Throws ConfigError, before hours have gone into a run.
void check_output_folder(const std::string& folder);

/// Writes FOLDER/NAME under another name first and renames it; makes the folder. Throws
/// ConfigError.
void write_output_file(const std::string& folder, const std::string& name,
                       const std::string& content);
/// The same for a file with its folder in its name, or in the current one.
void write_output_file(const std::string& file, const std::string& content);

}  // namespace rnicsim

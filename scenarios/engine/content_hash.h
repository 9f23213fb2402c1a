// SPDX-License-Identifier: MIT
// A name for content: 32 hexadecimal digits (FNV-1a of 128 bits). It tells contents apart that
// nobody made to collide.
#pragma once

#include <string>

namespace rnicsim {

std::string content_hash(const std::string& content);

/// What tells builds of this program apart: its version and that of the SystemC that it runs with,
/// and the linker's build id or, if it has none, a hash of the program's file. Throws
/// std::runtime_error if that cannot be read.
const std::string& program_identity();

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// A name for content: 32 hexadecimal digits (FNV-1a of 128 bits). It tells contents apart that
// nobody made to collide.
#pragma once

#include <string>

namespace rnicsim {

std::string content_hash(const std::string& content);

/// What tells builds of this program apart: its version, and the linker's build id if it has one.
const std::string& program_identity();

}  // namespace rnicsim

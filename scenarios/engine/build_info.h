// SPDX-License-Identifier: MIT
// What the build knows: the program's version and where its scenarios are. Values come from CMake
// through build_info.cpp.in.
#pragma once

namespace rnicsim {

struct BuildInfo {
  const char* version;
  /// scenarios/ of the source tree that the program was built from; it may no longer exist.
  const char* source_scenarios;
  /// scenarios/ of an installation, relative to the folder that holds the executable.
  const char* installed_scenarios;
};

const BuildInfo& build_info();

}  // namespace rnicsim

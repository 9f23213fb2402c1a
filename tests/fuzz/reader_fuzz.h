// SPDX-License-Identifier: MIT
// What all fuzz targets of readers have in common: the text is read, or ConfigError says in one
// line why not. Included once by a target, which defines fuzz_reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "model/config_error.h"

namespace rnicsim {

/// Reads the text and aborts if what comes of it is not as it must be.
void fuzz_reader(std::string_view text);

}  // namespace rnicsim

/// SystemC's library, which is linked, asks for it; libFuzzer's main runs.
extern "C" int sc_main(int /*argc*/, char** /*argv*/) { return 2; }

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    rnicsim::fuzz_reader({reinterpret_cast<const char*>(data), size});
  } catch (const rnicsim::ConfigError& error) {
    if (std::strlen(error.what()) == 0 || std::strchr(error.what(), '\n') != nullptr) std::abort();
  }
  return 0;
}

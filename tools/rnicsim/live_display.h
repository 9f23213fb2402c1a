// SPDX-License-Identifier: MIT
// What `rnicsim run --watch` shows on stderr: of each run the busiest ports, how much they send,
// how much waits, and for how long they were paused since the look before. On a terminal the lines
// are rewritten in place, elsewhere they follow each other.
#pragma once

#include <string>

#include "scenarios/engine/live_look.h"

namespace rnicsim {

/// The lines of one look: ports that did something, those that were paused longest and sent most
/// first, at most `most` of them.
std::string live_text(const std::string& run, const LiveLook& look, std::size_t most);

class LiveDisplay {
 public:
  void show(const std::string& run, const LiveLook& look);

 private:
  std::string run_;
  std::size_t lines_ = 0;  ///< to be rewritten
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// What `rnicsim run --watch` shows on stderr: of each run the busiest ports, how much they send,
// how much waits, and for how long they were paused since the look before. On a terminal the blocks
// of the runs that go on are rewritten in place, in lines that are cut at its width; of a run that
// has ended the last look stays above them. Elsewhere they follow each other.
#pragma once

#include <map>
#include <ostream>
#include <string>

#include "scenarios/engine/live_look.h"

namespace rnicsim {

/// The lines of one look: ports that did something, those that were paused longest and sent most
/// first, at most `most` of them.
std::string live_text(const std::string& run, const LiveLook& look, std::size_t most);

class LiveDisplay {
 public:
  /// `width`: of the terminal; 0: there is none.
  explicit LiveDisplay(std::ostream& out, std::size_t width) : out_(out), width_(width) {}
  /// On stderr.
  LiveDisplay();
  void show(const std::string& run, const LiveLook& look);

 private:
  void print(const std::string& text);

  std::ostream& out_;
  std::size_t width_;
  std::map<std::string, std::string> blocks_;  ///< by run
  std::size_t lines_ = 0;                      ///< to be rewritten
};

}  // namespace rnicsim

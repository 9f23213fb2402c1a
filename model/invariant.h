// SPDX-License-Identifier: MIT
// A broken invariant ends the run and names where and when. It is thrown through the kernel to
// run_until's caller; exit status 1 (a modelled guarantee failed) is the caller's business.
#pragma once

#include <stdexcept>
#include <string>

#include "model/units.h"

namespace rnicsim {

class InvariantBroken : public std::runtime_error {
 public:
  /// kind: a word of the result document's violations, e.g. "lossless_drop"; empty for a fault of
  /// the simulator itself.
  InvariantBroken(std::string where, Time when, const std::string& what, std::string kind = "")
      : std::runtime_error(where + " at " + std::to_string(when.ps()) + " ps: " + what),
        where_(std::move(where)),
        text_(what),
        kind_(std::move(kind)),
        when_(when) {}
  const std::string& where() const { return where_; }
  /// Without where and when.
  const std::string& text() const { return text_; }
  const std::string& kind() const { return kind_; }
  Time when() const { return when_; }

 private:
  std::string where_;
  std::string text_;
  std::string kind_;
  Time when_;
};

}  // namespace rnicsim

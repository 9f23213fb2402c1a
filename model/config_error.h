// SPDX-License-Identifier: MIT
// Bad input, the one exception for it: where it stands, what was expected, what was found.
//
// what() is exactly one line, whatever the input contained:
//   scenarios/x.json:12: hosts.0.nic.translation_cache.entires: unknown key, did you mean
//   "entries"?
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rnicsim {

class ConfigError : public std::runtime_error {
 public:
  struct Detail {
    std::string file;      ///< file or option the value came from; may be empty
    int line = 0;          ///< 0: the source has no lines
    std::string path;      ///< keys and list indices, joined by dots; may be empty
    std::string expected;  ///< empty: `found` says it all
    std::string found;
    std::string nearest;  ///< the known word that was probably meant; may be empty
  };

  explicit ConfigError(Detail detail);
  const Detail& detail() const { return detail_; }

 private:
  Detail detail_;
};

/// Runs `build`; an error in it that has no file yet gets `prefix` before its path.
template <class Build>
auto with_path_prefix(const std::string& prefix, Build build) {
  try {
    return build();
  } catch (const ConfigError& error) {
    if (!error.detail().file.empty()) throw;
    ConfigError::Detail detail = error.detail();
    detail.path = prefix + detail.path;
    throw ConfigError(std::move(detail));
  }
}

/// In double quotes, shortened to what fits a message.
std::string in_quotes(std::string_view text);

/// The candidate nearest to `word` by edit distance (insert, delete, replace, swap neighbours), or
/// an empty string if none is near enough to have been meant. The first of equals.
std::string nearest_of(std::string_view word, const std::vector<std::string>& candidates);

/// "a, b or c"
std::string one_of_text(const std::vector<std::string>& words);

}  // namespace rnicsim

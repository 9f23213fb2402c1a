// SPDX-License-Identifier: MIT
#include "tools/export/language.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "tools/export/page.h"

namespace rnicsim {
namespace {

constexpr const char* kLanguages[] = {"en", "ja"};

using Descriptions = std::unordered_map<std::string, std::string>;

/// A line of English, then one of Japanese, which is indented.
Descriptions descriptions_of(const std::string& text) {
  Descriptions descriptions;
  std::string english;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, 2, "  ") == 0)
      descriptions.emplace(english, text.substr(at + 2, end - at - 2));
    else
      english = text.substr(at, end - at);
    at = end + 1;
  }
  return descriptions;
}

}  // namespace

std::optional<Language> language_of_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kLanguages); ++i)
    if (name == kLanguages[i]) return static_cast<Language>(i);
  return std::nullopt;
}

const char* name_of(Language language) { return kLanguages[static_cast<std::size_t>(language)]; }

std::string description_in(const std::string& english, Language language) {
  if (language == Language::kEnglish) return english;
  static const Descriptions kJapanese = descriptions_of(japanese_descriptions());
  const auto found = kJapanese.find(english);
  return found == kJapanese.end() ? english : found->second;
}

}  // namespace rnicsim

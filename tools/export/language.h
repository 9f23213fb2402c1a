// SPDX-License-Identifier: MIT
// The languages of pictures and pages.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rnicsim {

enum class Language : std::uint8_t { kEnglish, kJapanese };

/// "en", "ja".
std::optional<Language> language_of_name(std::string_view name);
const char* name_of(Language language);

/// A word in each language, in the order of Language.
using Words = std::array<const char*, 2>;

/// What the description of a metric or a setting, which blocks write in English, is in that
/// language (tools/export/labels_ja.txt); English if nobody has translated it.
std::string description_in(const std::string& english, Language language);

}  // namespace rnicsim

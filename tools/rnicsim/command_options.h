// SPDX-License-Identifier: MIT
// What the options of all commands have in common: --help and --version everywhere, errors in one
// line, no abbreviations.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rnicsim {

/// The command line itself is wrong; main says what and where help is.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Arguments = std::vector<std::string>;
using OptionValues = boost::program_options::variables_map;
using OptionList = boost::program_options::options_description;

struct CommandText {
  const char* usage;  ///< "run FILE... [OPTION...]"
  const char* help;   ///< what it does
};

/// Reads the arguments; what is no option goes to the list `positional` (null: none allowed).
/// Nothing if help or version was asked for and has been printed. Throws UsageError.
std::optional<OptionValues> parse_options(const CommandText& text, const OptionList& options,
                                          const char* positional, const Arguments& arguments);

/// The strings given for `name`, perhaps none.
std::vector<std::string> strings_of(const OptionValues& values, const char* name);

/// Adds --jobs.
void add_jobs_option(OptionList& options);
unsigned jobs_of(const OptionValues& values);

/// "rnicsim VERSION"
std::string version_text();

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "tools/rnicsim/command_options.h"

#include <algorithm>
#include <iostream>
#include <thread>

#include "scenarios/engine/build_info.h"

namespace rnicsim {
namespace {

namespace po = boost::program_options;

constexpr int kMaxJobs = 1024;

void print_help(const CommandText& text, const OptionList& options) {
  std::cout << "usage: rnicsim " << text.usage << "\n\n" << text.help << "\n\n" << options;
}

}  // namespace

std::string version_text() { return std::string("rnicsim ") + build_info().version; }

std::optional<OptionValues> parse_options(const CommandText& text, const OptionList& options,
                                          const char* positional, const Arguments& arguments) {
  OptionList visible("Options");
  visible.add(options);
  visible.add_options()("help,h", "print this")("version", "print the version");
  OptionList all;
  all.add(visible);
  po::positional_options_description places;
  if (positional != nullptr) {
    all.add_options()(positional, po::value<std::vector<std::string>>());
    places.add(positional, -1);
  }
  OptionValues values;
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(arguments).options(all).positional(places).style(style).run(),
              values);
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  if (values.count("help") != 0) {
    print_help(text, visible);
    return std::nullopt;
  }
  if (values.count("version") != 0) {
    std::cout << version_text() << '\n';
    return std::nullopt;
  }
  return values;
}

std::vector<std::string> strings_of(const OptionValues& values, const char* name) {
  return values.count(name) != 0 ? values[name].as<std::vector<std::string>>()
                                 : std::vector<std::string>();
}

void add_jobs_option(OptionList& options) {
  options.add_options()("jobs,j", po::value<int>()->value_name("N"),
                        "simulations at a time (default: the number of cores)");
}

unsigned jobs_of(const OptionValues& values) {
  if (values.count("jobs") == 0) return std::max(1U, std::thread::hardware_concurrency());
  const int jobs = values["jobs"].as<int>();
  if (jobs < 1 || jobs > kMaxJobs)
    throw UsageError("--jobs: expected 1 to " + std::to_string(kMaxJobs) + ", found " +
                     std::to_string(jobs));
  return static_cast<unsigned>(jobs);
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include <iostream>

#include "model/config_error.h"
#include "tools/rnicsim/commands.h"

namespace rnicsim {
namespace {

namespace po = boost::program_options;

constexpr CommandText kText = {"check FILE... [OPTION...]",
                               "Reads and checks scenarios with all their variants and ablations, "
                               "and says what is wrong with each."};

}  // namespace

int check_command(const Arguments& arguments) {
  OptionList options;
  options.add_options()(
      "set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
      "change a value first");
  const auto values = parse_options(kText, options, "FILE", arguments);
  if (!values) return kExitGood;
  const std::vector<std::string> names = strings_of(*values, "FILE");
  if (names.empty()) throw UsageError("no scenario given");
  int status = kExitGood;
  for (const std::string& name : names) {
    try {
      const ScenarioFile file = load_named(name, {{}, strings_of(*values, "set"), true});
      const std::size_t runs = file.runs.size();
      std::cout << name << ": good, " << runs << (runs == 1 ? " run\n" : " runs\n");
    } catch (const ConfigError& error) {  // the next file may be wrong too
      std::cerr << error.what() << '\n';
      status = kExitBadInput;
    }
  }
  return status;
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "tools/rnicsim/command_line.h"

#include <fmt/format.h>

#include <iostream>

#include "model/config_error.h"
#include "scenarios/engine/runner.h"
#include "tools/rnicsim/commands.h"

namespace rnicsim {
namespace {

struct Command {
  const char* name;
  int (*run)(const Arguments&);
  const char* summary;
};

constexpr Command kCommands[] = {
    {"run", run_command, "run scenarios and show what happened, step by step"},
    {"compare", compare_command, "run scenarios and put what was measured side by side"},
    {"sweep", sweep_command, "simulate a study of many points and say what it shows"},
    {"check", check_command, "read and check scenarios without running them"},
    {"list", list_command, "list the scenarios, presets or metrics there are"},
    {"show", show_command, "show a preset's values, units and sources"},
    {"import", import_command, "make presets of what tools print on a real machine"},
    {"schema", schema_command, "print the JSON Schema of scenario files"},
    {"validate", validate_command, "compare the model with published measurements"},
};

void print_help() {
  std::cout << "usage: rnicsim COMMAND [ARGUMENT...]\n\n"
               "Simulates an RDMA NIC and everything that one message touches.\n\n"
               "Commands (rnicsim COMMAND --help says more):\n";
  for (const Command& command : kCommands)
    std::cout << fmt::format("  {:<10}{}\n", command.name, command.summary);
  std::cout << "\nTry: rnicsim run write_8step\n"
               "\nExit status: 0 all well; 1 an expectation or invariant failed; 2 bad usage or "
               "input;\n3 a fault of the simulator.\n";
}

int fail(const std::string& line, int status) {
  std::cerr << line << '\n';
  return status;
}

int unknown_command(const std::string& name) {
  std::vector<std::string> known;
  for (const Command& command : kCommands) known.emplace_back(command.name);
  const std::string nearest = nearest_of(name, known);
  return fail(
      "rnicsim: unknown command " + in_quotes(name) +
          (nearest.empty() ? "; rnicsim --help lists them" : ", did you mean \"" + nearest + "\"?"),
      kExitBadInput);
}

int run_one(const Command& command, const Arguments& arguments) {
  try {
    const int status = command.run(arguments);
    std::cout.flush();
    return std::cout ? status : fail("rnicsim: stdout cannot be written", kExitBadInput);
  } catch (const UsageError& error) {
    return fail(
        fmt::format("rnicsim {0}: {1}; rnicsim {0} --help says how", command.name, error.what()),
        kExitBadInput);
  } catch (const ConfigError& error) {
    return fail(error.what(), kExitBadInput);
  } catch (const Interrupted& interrupted) {
    return fail("rnicsim: interrupted", 128 + interrupted.signal());
  } catch (const SimulationFault& fault) {
    return fail(std::string("fault of the simulator: ") + fault.what(), kExitFault);
  } catch (const std::exception& error) {
    return fail(std::string("fault of the simulator: ") + error.what(), kExitFault);
  }
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments) {
  if (arguments.empty())
    return fail("rnicsim: no command given; rnicsim --help lists them", kExitBadInput);
  const std::string& name = arguments[0];
  if (name == "--help" || name == "-h" || name == "help") {
    print_help();
    return kExitGood;
  }
  if (name == "--version") {
    std::cout << version_text() << '\n';
    return kExitGood;
  }
  for (const Command& command : kCommands)
    if (name == command.name) return run_one(command, {arguments.begin() + 1, arguments.end()});
  return unknown_command(name);
}

}  // namespace rnicsim

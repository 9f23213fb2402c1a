// SPDX-License-Identifier: MIT
#include <iostream>
#include <nlohmann/json.hpp>

#include "model/json_document.h"
#include "scenarios/engine/presets.h"
#include "scenarios/engine/scenario_reader.h"
#include "scenarios/engine/study_spec.h"
#include "tools/rnicsim/commands.h"
#include "tools/rnicsim/output_file.h"

namespace rnicsim {
namespace {

namespace po = boost::program_options;

constexpr CommandText kText = {
    "schema [OPTION...]",
    "Prints the JSON Schema (2020-12) of scenario files, for editors. With --out, writes it and\n"
    "those of studies and presets: scenario.schema.json, study.schema.json, "
    "host_preset.schema.json, ..."};

std::string text_of(const JsonNode& schema) { return to_nlohmann(schema).dump(2) + '\n'; }

}  // namespace

int schema_command(const Arguments& arguments) {
  OptionList options;
  options.add_options()("out", po::value<std::string>()->value_name("DIR"),
                        "write the schema files into DIR");
  const auto values = parse_options(kText, options, nullptr, arguments);
  if (!values) return kExitGood;
  if (values->count("out") == 0) {
    std::cout << text_of(scenario_schema());
    return kExitGood;
  }
  const auto& folder = (*values)["out"].as<std::string>();
  check_output_folder(folder);
  write_output_file(folder, "scenario.schema.json", text_of(scenario_schema()));
  write_output_file(folder, "study.schema.json", text_of(study_schema()));
  for (const PresetKind kind : kPresetKinds)
    write_output_file(folder, std::string(name_of(kind)) + "_preset.schema.json",
                      text_of(preset_schema(kind)));
  return kExitGood;
}

}  // namespace rnicsim

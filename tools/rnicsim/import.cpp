// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "scenarios/engine/result_document.h"
#include "tools/import/listing.h"
#include "tools/rnicsim/commands.h"
#include "tools/rnicsim/output_file.h"

namespace rnicsim {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

constexpr CommandText kText = {
    "import FILE... [OPTION...]",
    "Makes presets of a machine out of what its tools print: lspci -vv (as root), ibv_devinfo -v,\n"
    "nvidia-smi topo -m, and the XML of NCCL_TOPO_DUMP_FILE. Which one a FILE is, its text tells.\n"
    "The presets go to stdout as one object by their file names; what could not be learned, with\n"
    "the default that stays, goes to stderr."};

std::string content_of(const std::string& file) {
  std::error_code problem;
  if (!fs::is_regular_file(file, problem)) {
    ConfigError::Detail detail;
    detail.file = file;
    detail.expected = "a file";
    detail.found = fs::exists(file, problem) ? "something else" : "nothing of that name";
    throw ConfigError(std::move(detail));
  }
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// It becomes part of file names.
void check_name(const std::string& name) {
  const auto good = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  if (name.empty() || !std::all_of(name.begin(), name.end(), good))
    throw UsageError("--name: expected letters, digits, _ and -, found " + in_quotes(name));
}

void refuse_unused(const std::string& option, bool used, const std::string& listing,
                   const std::string& value) {
  if (!value.empty() && !used)
    throw UsageError(
        fmt::format("{} {}: chooses in {}, and no FILE is one", option, value, listing));
}

/// lspci first, whatever the order of the arguments.
Machine read_all(const std::vector<std::string>& files, const ListingChoice& choice) {
  std::vector<std::pair<std::string, std::string>> texts;  // file, content
  texts.reserve(files.size());
  for (const std::string& file : files) texts.emplace_back(file, content_of(file));
  const auto others = std::stable_partition(texts.begin(), texts.end(),
                                            [](const auto& text) { return is_lspci(text.second); });
  refuse_unused("--device", others != texts.begin(), "what lspci prints", choice.device);
  refuse_unused("--hca", others != texts.end(), "a listing other than lspci's", choice.hca);
  Machine machine;
  for (const auto& [file, content] : texts) read_listing(content, file, choice, machine);
  return machine;
}

struct PresetFile {
  std::string folder;  ///< "host/"
  std::string file;
  Machine::Json content;
};

/// All are good before the first is written.
std::vector<PresetFile> presets_of(const Machine& machine, const std::string& name) {
  const std::string title = "read from what tools print on " + name + ", the rest as defaults";
  std::vector<PresetFile> presets;
  for (const PresetKind kind : machine.kinds()) {
    presets.push_back(
        {fmt::format("{}/", name_of(kind)), name + ".json", machine.preset(kind, title)});
    const PresetFile& made = presets.back();
    // A reader that makes what no preset can be has a fault.
    check_preset(to_lines(made.content), kind, made.folder + made.file);
  }
  return presets;
}

}  // namespace

int import_command(const Arguments& arguments) {
  OptionList options;
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("name", text()->value_name("NAME"), "of the presets (default: imported)");
  options.add_options()("device", text()->value_name("ADDRESS"),
                        "the NIC in lspci, e.g. 5e:00.0 (default: the first)");
  options.add_options()("hca", text()->value_name("NAME"),
                        "the NIC elsewhere, e.g. mlx5_0 (default: the first)");
  options.add_options()(
      "out", text()->value_name("DIR"),
      "write DIR/presets/host/NAME.json and the like; a scenario in DIR finds them");
  const auto values = parse_options(kText, options, "FILE", arguments);
  if (!values) return kExitGood;
  const std::vector<std::string> files = strings_of(*values, "FILE");
  if (files.empty()) throw UsageError("no file given");
  const auto option = [&](const char* name) {
    return values->count(name) != 0 ? (*values)[name].as<std::string>() : std::string();
  };
  const std::string name = values->count("name") != 0 ? option("name") : "imported";
  check_name(name);

  const Machine machine = read_all(files, {option("device"), option("hca")});
  const std::vector<PresetFile> presets = presets_of(machine, name);
  if (values->count("out") == 0) {
    Machine::Json all = Machine::Json::object();
    for (const PresetFile& preset : presets) all[preset.folder + preset.file] = preset.content;
    std::cout << to_lines(all);
  } else {
    const std::string below = option("out") + "/presets/";
    for (const PresetFile& preset : presets)
      write_output_file(fmt::format("{}{}", below, preset.folder), preset.file,
                        to_lines(preset.content));
  }
  for (const std::string& remark : machine.remarks()) std::cerr << remark << '\n';
  return kExitGood;
}

}  // namespace rnicsim

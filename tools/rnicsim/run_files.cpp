// SPDX-License-Identifier: MIT
#include "tools/rnicsim/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "scenarios/engine/scenario_file.h"
#include "tools/export/hpcc_output.h"
#include "tools/export/perfetto.h"
#include "tools/export/report.h"
#include "tools/export/series_csv.h"
#include "tools/export/swim_lanes.h"
#include "tools/rnicsim/commands.h"
#include "tools/rnicsim/output_file.h"
#include "tools/rnicsim/unfinished_files.h"

namespace rnicsim {
namespace {

namespace po = boost::program_options;

/// One file a run.
constexpr const char* kFileOptions[] = {"fct", "pfc", "perfetto", "report", "svg"};

Language language_of(const OptionValues& values) {
  if (values.count("lang") == 0) return Language::kEnglish;
  if (values.count("svg") + values.count("report") == 0)
    throw UsageError("--lang goes with --svg and --report");
  const auto& name = values["lang"].as<std::string>();
  const std::optional<Language> language = language_of_name(name);
  if (!language) throw UsageError("--lang: expected en or ja, found " + in_quotes(name));
  return *language;
}

std::string name_of_run(const std::string& scenario, const std::string& variant) {
  return variant.empty() ? scenario : fmt::format("{}.{}", scenario, variant);
}

template <class Text>
void write_for_each(const OptionValues& values, const char* option,
                    const std::vector<JudgedRun>& runs, const Text& text_of) {
  if (values.count(option) == 0) return;
  const auto& file = values[option].as<std::string>();
  for (const JudgedRun& run : runs)
    write_output_file(
        runs.size() == 1 ? file : file_of_run(file, name_of_run(run.scenario, run.setup.variant)),
        text_of(run));
}

/// What writes a file, as people know it: an option, and of several runs the run.
using Writers = std::map<std::filesystem::path, std::string>;

void note_writer(Writers& writers, const std::string& file, const std::string& writer) {
  const auto [other, fresh] =
      writers.emplace(std::filesystem::path(file).lexically_normal(), writer);
  if (fresh) return;
  ConfigError::Detail detail;
  detail.file = file;
  detail.found = fmt::format("{} and {} would both write it", other->second, writer);
  throw ConfigError(std::move(detail));
}

/// Those that the run's scenario has its values from.
PresetDirectories presets_of(const JudgedRun& run, const std::vector<std::string>& scenarios) {
  const DataFolder data = DataFolder::of_this_program();
  for (const std::string& name : scenarios) {
    const std::string file = data.find(name);
    if (std::filesystem::path(file).stem() == run.scenario) return data.presets_for(file);
  }
  return data.presets_for("");
}

std::string csv_name_of(const std::string& scenario, const std::string& variant) {
  std::string name = name_of_run(scenario, variant);
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

/// Three files a run, which its name begins.
void write_series(const OptionValues& values, const std::vector<JudgedRun>& runs) {
  if (values.count("csv") == 0) return;
  const auto& folder = values["csv"].as<std::string>();
  for (const JudgedRun& run : runs) {
    const std::string name = csv_name_of(run.scenario, run.setup.variant);
    write_output_file(folder, name + ".series.csv", series_csv(run.result.series));
    write_output_file(folder, name + ".signals.csv", signals_csv(run.result.series));
    write_output_file(folder, name + ".pauses.csv", pauses_csv(run.result.pauses));
  }
}

}  // namespace

void add_file_options(OptionList& options) {
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("fct", text()->value_name("FILE"),
                        "write when flows began and ended to FILE, as HPCC's fct.txt, one file a "
                        "run");
  options.add_options()("pfc", text()->value_name("FILE"),
                        "write when ports were paused to FILE, as HPCC's pfc.txt, one file a run");
  options.add_options()("report", text()->value_name("FILE"),
                        "write a page (HTML) with the steps as swim lanes, where the time went, "
                        "counters and configuration, one file a run");
  options.add_options()("perfetto", text()->value_name("FILE"),
                        "write a trace for ui.perfetto.dev, one file a run");
  options.add_options()("svg", text()->value_name("FILE"),
                        "draw the steps of the messages that the timeline followed as swim lanes, "
                        "for documents, one file a run");
  options.add_options()("csv", text()->value_name("DIR"),
                        "write time series of queues, buffers, throughput and pauses, and what "
                        "each column is, as CSV into DIR");
  options.add_options()("lang", text()->value_name("en|ja"), "the language of pictures and pages");
}

void check_file_options(const OptionValues& values) {
  for (const char* file : kFileOptions) check_place_of(values, file);
  if (values.count("csv") != 0) check_output_folder(values["csv"].as<std::string>());
  language_of(values);
}

void check_files_differ(const OptionValues& values, const std::vector<std::string>& scenarios,
                        const std::vector<ScenarioFile>& files) {
  const bool single = files.size() == 1 && files[0].runs.size() == 1;
  std::vector<const char*> options(std::begin(kFileOptions), std::end(kFileOptions));
  options.insert(options.end(), {"pcap", "vcd"});
  Writers writers;
  if (values.count("out") != 0)
    note_writer(writers, values["out"].as<std::string>() + "/result.json", "--out");
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const Scenario& run : files[i].runs) {
      const std::string of = run.variant.empty() ? "" : fmt::format(" ({})", run.variant);
      const auto note = [&](const char* option, const std::string& file) {
        note_writer(writers, file, fmt::format("--{} of {}{}", option, scenarios[i], of));
      };
      for (const char* option : options) {
        if (values.count(option) == 0) continue;
        const auto& file = values[option].as<std::string>();
        note(option, single ? file : file_of_run(file, name_of_run(files[i].name, run.variant)));
      }
      if (values.count("csv") != 0)
        for (const char* kind : {"series", "signals", "pauses"})
          note("csv", fmt::format("{}/{}.{}.csv", values["csv"].as<std::string>(),
                                  csv_name_of(files[i].name, run.variant), kind));
    }
  }
}

void write_run_files(const OptionValues& values, const std::vector<std::string>& scenarios,
                     const std::vector<JudgedRun>& runs) {
  const Language language = language_of(values);
  const auto write = [&](const char* option, const auto& text_of) {
    write_for_each(values, option, runs, text_of);
  };
  write("fct", [](const JudgedRun& run) { return fct_text(run.result.flows); });
  write("pfc", [](const JudgedRun& run) { return pfc_text(run.result.pauses); });
  write("perfetto", [](const JudgedRun& run) { return perfetto_trace(run); });
  write_series(values, runs);
  write("svg", [&](const JudgedRun& run) { return swim_lanes_svg(swim_lanes(run, language)); });
  write("report", [&](const JudgedRun& run) {
    PresetDirectories presets = presets_of(run, scenarios);
    return report_html(run, language, presets);
  });
}

}  // namespace rnicsim

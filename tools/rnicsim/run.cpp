// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "model/quantity.h"
#include "scenarios/engine/result_document.h"
#include "tools/export/terminal.h"
#include "tools/rnicsim/commands.h"
#include "tools/rnicsim/live_display.h"
#include "tools/rnicsim/output_file.h"
#include "tools/rnicsim/recordings.h"
#include "tools/rnicsim/run_files.h"

namespace rnicsim {
namespace {

namespace po = boost::program_options;

constexpr CommandText kText = {"run FILE... [OPTION...]",
                               "Runs scenarios and shows what happened. FILE is a scenario's file, "
                               "or its name without folder\n"
                               "and ending (rnicsim list). A file stands for a run of itself and "
                               "one of each of its variants."};

OptionList run_options() {
  OptionList options;
  const auto strings = [] { return po::value<std::vector<std::string>>()->composing(); };
  options.add_options()("set", strings()->value_name("PATH=VALUE"),
                        "change a value, e.g. workload.0.size=4KiB or "
                        "hosts.*.nic.translation_cache.entries=64");
  options.add_options()("variant", strings()->value_name("NAME"),
                        "only this variant (\"base\": the scenario itself)");
  options.add_options()("out", po::value<std::string>()->value_name("DIR"),
                        "write DIR/result.json");
  options.add_options()("json", "print the result document, and nothing else, on stdout");
  options.add_options()("quiet,q", "print only what failed");
  add_jobs_option(options);
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("log", text()->value_name("GLOB[=LEVEL]"),
                        "print the events of the blocks whose path matches, e.g. "
                        "\"host.B.nic0.*\", on stderr (one simulation at a time); LEVEL: fault "
                        "(what went wrong), message (and what happens once a message) or packet "
                        "(everything, the default)");
  options.add_options()("from", text()->value_name("TIME"),
                        "of the log and the waveform, e.g. \"60 us\"");
  options.add_options()("until", text()->value_name("TIME"), "of the log and the waveform");
  options.add_options()("watch", "show what ports are doing while the runs go on, on stderr");
  add_recording_options(options);
  options.add_options()(
      "signals", text()->value_name("GLOB"),
      "of waveforms, time series, charts and counters of traces, only the "
      "signals whose path matches, e.g. \"host.B.nic0.*\" (rnicsim list signals)");
  options.add_options()("interval", text()->value_name("TIME"),
                        "of time series, e.g. \"1 us\" (default: fits the length of the run)");
  add_file_options(options);
  return options;
}

void read_time(const OptionValues& values, const char* name, Time& time) {
  if (values.count(name) == 0) return;
  std::string why;
  const auto& text = values[name].as<std::string>();
  if (!parse_quantity(text, time, why))
    throw UsageError(std::string("--") + name + ": expected a time such as \"60 us\", found " +
                     in_quotes(text));
}

/// "GLOB" or "GLOB=LEVEL".
void read_log(const std::string& text, EventLogOptions& log) {
  const std::size_t equals = text.rfind('=');
  log.glob = text.substr(0, equals);
  if (equals == std::string::npos) return;
  const std::string name = text.substr(equals + 1);
  const std::optional<LogLevel> level = log_level_of_name(name);
  if (!level)
    throw UsageError("--log: expected level fault, message or packet, found " + in_quotes(name));
  log.level = *level;
}

/// Time series serve pages and traces as well.
bool wants_series(const OptionValues& values) {
  return values.count("csv") + values.count("perfetto") + values.count("report") != 0;
}

SeriesOptions series_options(const OptionValues& values) {
  SeriesOptions series;
  read_time(values, "interval", series.interval);
  if (values.count("interval") != 0 && series.interval <= Time())
    throw UsageError("--interval: expected a time above zero");
  if (values.count("signals") != 0) series.glob = values["signals"].as<std::string>();
  return series;
}

WaveformOptions waveform_options(const OptionValues& values) {
  WaveformOptions waveform;
  read_time(values, "from", waveform.from);
  read_time(values, "until", waveform.until);
  if (values.count("signals") != 0) waveform.glob = values["signals"].as<std::string>();
  return waveform;
}

RunnerOptions runner_options(const OptionValues& values) {
  RunnerOptions runner;
  runner.jobs = jobs_of(values);
  runner.progress = values.count("quiet") == 0;
  runner.pauses = values.count("pfc") + wants_series(values) != 0;
  if (wants_series(values)) runner.series = series_options(values);
  runner.latency = values.count("report") != 0;
  EventLogOptions log;
  read_time(values, "from", log.from);
  read_time(values, "until", log.until);
  if (values.count("log") != 0) {
    read_log(values["log"].as<std::string>(), log);
    runner.log = log;
    runner.jobs = 1;
    runner.progress = false;
  } else if (values.count("from") + values.count("until") != 0 && values.count("vcd") == 0) {
    throw UsageError("--from and --until go with --log and --vcd");
  }
  if (log.until < log.from) throw UsageError("--until: expected a time after --from");
  if (values.count("interval") != 0 && !wants_series(values))
    throw UsageError("--interval goes with --csv, --perfetto and --report");
  if (values.count("signals") != 0 && values.count("vcd") == 0 && !wants_series(values))
    throw UsageError("--signals goes with --vcd, --csv, --perfetto and --report");
  return runner;
}

/// Views of all runs. The timeline of a variant is much like the scenario's own: it is drawn when
/// it was asked for by name.
void print_views(const std::vector<JudgedRun>& runs, bool chosen) {
  TerminalStyle style;
  style.colour = wants_colour();
  const JudgedRun* before = nullptr;
  for (const JudgedRun& run : runs) {
    if (before != nullptr) std::cout << '\n';
    style.timeline = chosen || run.setup.variant.empty();
    std::cout << terminal_view(run, style);
    before = &run;
  }
}

}  // namespace

int run_command(const Arguments& arguments) {
  const auto values = parse_options(kText, run_options(), "FILE", arguments);
  if (!values) return kExitGood;
  const std::vector<std::string> names = strings_of(*values, "FILE");
  if (names.empty()) throw UsageError("no scenario given");
  const RunSelection selection{strings_of(*values, "variant"), strings_of(*values, "set")};
  const bool json = values->count("json") != 0;
  const bool quiet = values->count("quiet") != 0;
  RunnerOptions runner = runner_options(*values);
  if (values->count("out") != 0) check_output_folder((*values)["out"].as<std::string>());
  check_file_options(*values);

  std::vector<ScenarioFile> files;
  files.reserve(names.size());
  for (const std::string& name : names) files.push_back(load_named(name, selection));
  check_files_differ(*values, names, files);
  Recordings recordings(*values, files, waveform_options(*values));
  LiveDisplay display;
  if (values->count("watch") != 0) {
    runner.watch = [&](const std::string& run, const LiveLook& look) { display.show(run, look); };
    runner.progress = false;
  }
  std::vector<JudgedRun> runs;
  for (std::vector<JudgedRun>& of_file : simulate_and_judge(files, runner, recordings.of_runs()))
    for (JudgedRun& run : of_file) runs.push_back(std::move(run));

  recordings.keep();
  write_run_files(*values, names, runs);
  const std::string document = to_lines(result_document(runs));
  if (values->count("out") != 0)
    write_output_file((*values)["out"].as<std::string>(), "result.json", document);
  if (json) std::cout << document;
  if (json || quiet) return report_failures(runs) ? kExitGood : kExitFailed;
  print_views(runs, !selection.variants.empty());
  const bool passed =
      std::all_of(runs.begin(), runs.end(), [](const JudgedRun& run) { return run.passed(); });
  return passed ? kExitGood : kExitFailed;
}

}  // namespace rnicsim

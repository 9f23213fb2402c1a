// SPDX-License-Identifier: MIT
#include "tools/rnicsim/recordings.h"

#include "model/config_error.h"

namespace rnicsim {
namespace {

namespace po = boost::program_options;

constexpr std::size_t kNamesShown = 16;

void check_ports(const std::string& glob, const Scenario& run) {
  if (!ports_matching(run, glob).empty()) return;
  ConfigError::Detail detail;
  detail.file = "--pcap-port";
  std::vector<std::string> names = port_names(run);
  if (names.size() > kNamesShown) {
    names.resize(kNamesShown);
    names.emplace_back("another");
  }
  detail.expected = one_of_text(names);
  detail.found = in_quotes(glob) + ", which matches none";
  throw ConfigError(std::move(detail));
}

}  // namespace

void add_recording_options(OptionList& options) {
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("pcap", text()->value_name("FILE"),
                        "write the packets at the ports of NICs to FILE (pcapng), one file a run");
  options.add_options()("pcap-port", text()->value_name("GLOB"),
                        "at the ports whose name matches, e.g. host.A.nic0, "
                        "fabric.switch0.port3, * for all; of TCP best at one: what is seen at two "
                        "looks sent twice");
  options.add_options()("vcd", text()->value_name("FILE"),
                        "write the states of blocks (the key checker's among them), queues and "
                        "pauses to FILE for GTKWave (value change dump), one file a run");
}

Recordings::Recordings(const OptionValues& values, const std::vector<ScenarioFile>& scenarios,
                       const WaveformOptions& waveform) {
  for (const ScenarioFile& scenario : scenarios)
    recordings_.resize(recordings_.size() + scenario.runs.size());
  add_captures(values, scenarios);
  if (values.count("vcd") == 0) return;
  std::size_t run = 0;
  for (const std::string& file : files_of_runs(values["vcd"].as<std::string>(), scenarios)) {
    recordings_[run].waveform = waveform;
    recordings_[run].waveform->file = file;
    recordings_[run++].waveform->unfinished = files_.add(file);
  }
}

void Recordings::add_captures(const OptionValues& values,
                              const std::vector<ScenarioFile>& scenarios) {
  const bool port = values.count("pcap-port") != 0;
  if (values.count("pcap") == 0) {
    if (port) throw UsageError("--pcap-port goes with --pcap");
    return;
  }
  const std::string glob =
      port ? values["pcap-port"].as<std::string>() : std::string(CaptureOptions::kNicPorts);
  const std::vector<std::string> files = files_of_runs(values["pcap"].as<std::string>(), scenarios);
  std::size_t run = 0;
  for (const ScenarioFile& scenario : scenarios) {
    for (const Scenario& one : scenario.runs) {
      check_ports(glob, one);
      recordings_[run].capture = {files[run], files_.add(files[run]), glob};
      ++run;
    }
  }
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The benches: how fast the simulator is. Each simulation runs in a process of its own, the best of
// `--repeat` runs counts (what else the machine does only ever slows a run down).
//
//   two_hosts  1 GiB in 1 MiB WRITEs
//   perftest   ib_write_bw, ib_read_bw and ib_send_bw over all sizes from 2 B to 8 MiB, 1,000
//              messages each up to 64 KiB and 20 above: six simulations, whose times add up
//
// Next to wall time stand figures that noise cannot touch: scheduler callbacks per data packet,
// and, under `tools/bench --callgrind`, instructions.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <systemc>
#include <vector>

#include "scenarios/engine/scenario_file.h"
#include "scenarios/engine/simulation.h"

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

using rnicsim::RunResult;
using rnicsim::Scenario;

/// Of a target 0: there is none.
struct Workload {
  const char* name;
  const char* scenario;
  std::vector<std::string> variants;
  std::vector<std::vector<std::string>> parts;  ///< each variant runs with each of these laid over
  bool counts_data_packets;                     ///< all data are in request packets
  double target_seconds;                        ///< 0: none, as below
  double target_packets_per_second;
  double target_callbacks;  ///< a data packet
  double target_hops_per_second;
  double target_callbacks_per_hop;
  double target_memory_mib;
};

std::string sizes(unsigned log_first, unsigned log_last) {
  std::string list;
  for (unsigned log = log_first; log <= log_last; ++log)
    list += fmt::format("{}\"{} B\"", list.empty() ? "" : ",", 1ULL << log);
  return "workload.w0.sizes=[" + list + "]";
}

/// Many hosts behind switches.
Workload fabric(const char* name, const char* scenario, const char* variant, double hops_per_second,
                double memory_mib = 0) {
  return {name, scenario, {variant}, {{}}, true, 0, 0, 0, hops_per_second, 2, memory_mib};
}

const std::vector<Workload>& workloads() {
  static const std::string kElided = "engine.payload=elided";
  static const std::vector<Workload> kAll = {
      {"two_hosts", "two_hosts", {"base"}, {{}}, true, 0, 500000, 25, 0, 0, 100},
      {"perftest",
       "perftest",
       {"base", "read_bw", "send_bw"},
       {{kElided, sizes(1, 16), "workload.w0.iterations=1000"},
        {kElided, sizes(17, 23), "workload.w0.iterations=20"}},
       false,
       5,
       0,
       0,
       0,
       0,
       0},
      fabric("incast_16", "bench/incast_16", "base", 1.5e6),
      fabric("incast_16_mtu_1024", "bench/incast_16", "mtu_1024", 1.5e6),
      fabric("fat_tree_128", "bench/fat_tree_128", "base", 3.5e6),
      fabric("fat_tree_128_mtu_1024", "bench/fat_tree_128", "mtu_1024", 3.5e6),
      fabric("fat_tree_1024", "bench/fat_tree_1024", "base", 2.2e6, 1024),
      fabric("fat_tree_1024_mtu_1024", "bench/fat_tree_1024", "mtu_1024", 2.2e6, 1024)};
  return kAll;
}

/// What the child hands back through its pipe.
struct Measured {
  double seconds = 0;
  std::uint64_t data_packets = 0;
  std::uint64_t packet_hops = 0;
  std::uint64_t callbacks = 0;
  std::uint64_t violations = 0;
  double memory_mib = 0;  ///< set by the parent
};

Measured measure(const Scenario& scenario) {
  rnicsim::SimulationHooks hooks;
  hooks.timeline = false;
  const auto begin = std::chrono::steady_clock::now();
  const RunResult result = simulate(scenario, hooks);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  Measured out;
  out.seconds = took.count();
  for (const auto& [path, metric] : result.metrics)
    if (path.size() > 18 && path.compare(path.size() - 18, 18, ".requester.packets") == 0)
      out.data_packets += metric.value;
  out.packet_hops = result.packet_hops;
  out.callbacks = result.callbacks;
  out.violations = result.violations.size();
  return out;
}

std::optional<Measured> measure_in_child(const Scenario& scenario) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    const Measured measured = measure(scenario);
    const auto wrote = write(ends[1], &measured, sizeof measured);
    _exit(wrote == sizeof measured && measured.violations == 0 ? 0 : 1);
  }
  close(ends[1]);
  Measured measured;
  const auto got = read(ends[0], &measured, sizeof measured);
  close(ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (got != sizeof measured || status != 0) return std::nullopt;
  measured.memory_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  return measured;
}

/// With `in_process` a single simulation in this process, for valgrind to watch.
std::optional<Measured> best_of(const Scenario& scenario, unsigned repeat, bool in_process) {
  if (in_process) return measure(scenario);
  std::optional<Measured> best;
  for (unsigned i = 0; i < repeat; ++i) {
    const std::optional<Measured> run = measure_in_child(scenario);
    if (!run) return std::nullopt;
    if (!best || run->seconds < best->seconds) best = run;
  }
  return best;
}

/// One after the other, as one.
void add(Measured& sum, const Measured& part) {
  sum.seconds += part.seconds;
  sum.data_packets += part.data_packets;
  sum.packet_hops += part.packet_hops;
  sum.callbacks += part.callbacks;
  sum.memory_mib = std::max(sum.memory_mib, part.memory_mib);
}

std::vector<Scenario> simulations_of(const Workload& workload) {
  const auto folder = rnicsim::DataFolder::of_this_program();
  const std::string file = folder.find(workload.scenario);
  auto presets = folder.presets_for(file);
  std::vector<Scenario> simulations;
  for (const std::vector<std::string>& part : workload.parts) {
    const auto loaded = rnicsim::load_scenario(file, {workload.variants, part}, presets);
    simulations.insert(simulations.end(), loaded.runs.begin(), loaded.runs.end());
  }
  return simulations;
}

struct Row {
  const char* what;
  double value;
  double target;
  bool at_least;
  const char* format;
};

void print(const Workload& workload, const std::vector<Row>& rows, nlohmann::ordered_json& json) {
  for (const Row& row : rows) {
    const bool met =
        row.target == 0 || (row.at_least ? row.value >= row.target : row.value <= row.target);
    const std::string target =
        row.target == 0 ? "" : fmt::format("{} {:.0f}", row.at_least ? ">=" : "<=", row.target);
    std::cout << fmt::format("{:<22} {:<28} {:>14} {:>12} {}\n", workload.name, row.what,
                             fmt::format(fmt::runtime(row.format), row.value), target,
                             row.target == 0 ? "" : (met ? "met" : "MISSED"));
    json[workload.name][row.what] = row.value;
  }
}

std::vector<Row> rows_of(const Workload& workload, const Measured& m) {
  const auto packets = static_cast<double>(m.data_packets);
  const auto hops = static_cast<double>(m.packet_hops);
  const auto callbacks = static_cast<double>(m.callbacks);
  std::vector<Row> rows;
  if (workload.counts_data_packets) rows.push_back({"data packets", packets, 0, true, "{:.0f}"});
  rows.push_back({"wall time, s", m.seconds, workload.target_seconds, false, "{:.3f}"});
  if (workload.counts_data_packets)
    rows.push_back({"data packets per second", packets / m.seconds,
                    workload.target_packets_per_second, true, "{:.0f}"});
  rows.push_back({"packet-hops", hops, 0, true, "{:.0f}"});
  rows.push_back({"packet-hops per second", hops / m.seconds, workload.target_hops_per_second, true,
                  "{:.0f}"});
  if (workload.counts_data_packets)
    rows.push_back({"callbacks per data packet", callbacks / packets, workload.target_callbacks,
                    false, "{:.2f}"});
  rows.push_back({"callbacks per packet-hop", callbacks / hops, workload.target_callbacks_per_hop,
                  false, "{:.2f}"});
  rows.push_back({"peak memory, MiB", m.memory_mib, workload.target_memory_mib, false, "{:.1f}"});
  return rows;
}

/// Says on which one it failed.
std::optional<Measured> measure_all(const Workload& workload, unsigned repeat, bool in_process) {
  const std::vector<Scenario> simulations = simulations_of(workload);
  if (in_process && simulations.size() != 1)
    throw std::invalid_argument(
        fmt::format("{} is {} simulations, of which one process can run one", workload.name,
                    simulations.size()));
  Measured sum;
  for (const Scenario& scenario : simulations) {
    const std::optional<Measured> m = best_of(scenario, repeat, in_process);
    if (!m) {
      std::cerr << "rnicsim_bench: " << workload.name << " failed\n";
      return std::nullopt;
    }
    add(sum, *m);
  }
  return sum;
}

int bench(const std::vector<std::string>& names, unsigned repeat, bool in_process, bool as_json) {
  nlohmann::ordered_json json;
  if (as_json) std::cout.setstate(std::ios::failbit);
  for (const Workload& workload : workloads()) {
    if (!names.empty() && std::find(names.begin(), names.end(), workload.name) == names.end())
      continue;
    const std::optional<Measured> m = measure_all(workload, repeat, in_process);
    if (!m) return 3;
    print(workload, rows_of(workload, *m), json);
  }
  std::cout.clear();
  if (as_json) std::cout << json.dump(2) << '\n';
  return 0;
}

/// Those that are no bench are said, and what there is.
bool all_known(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::string known;
    bool found = false;
    for (const Workload& workload : workloads()) {
      found = found || name == workload.name;
      known += (known.empty() ? "" : ", ") + std::string(workload.name);
    }
    if (found) continue;
    std::cerr << "rnicsim_bench: there is no bench \"" << name << "\"; known: " << known << '\n';
    return false;
  }
  return true;
}

}  // namespace

int sc_main(int argc, char** argv) {
  namespace po = boost::program_options;
  po::options_description options("rnicsim_bench [NAME...] [OPTION...]");
  options.add_options()("json", "print JSON instead of a table")(
      "in-process", "one run, in this process: for valgrind")(
      "repeat", po::value<unsigned>()->default_value(5), "runs of each, the best counts")(
      "name", po::value<std::vector<std::string>>()->composing(), "workloads, all if none")(
      "help", "print this");
  po::positional_options_description positional;
  positional.add("name", -1);
  po::variables_map values;
  try {
    po::store(po::command_line_parser(argc, argv).options(options).positional(positional).run(),
              values);
  } catch (const po::error& error) {
    std::cerr << "rnicsim_bench: " << error.what() << '\n';
    return 2;
  }
  if (values.count("help") != 0) {
    std::cout << options;
    return 0;
  }
  std::vector<std::string> names;
  if (values.count("name") != 0) names = values["name"].as<std::vector<std::string>>();
  if (!all_known(names)) return 2;
  try {
    return bench(names, std::max(1u, values["repeat"].as<unsigned>()),
                 values.count("in-process") != 0, values.count("json") != 0);
  } catch (const std::exception& error) {
    std::cerr << "rnicsim_bench: " << error.what() << '\n';
    return 2;
  }
}

int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}

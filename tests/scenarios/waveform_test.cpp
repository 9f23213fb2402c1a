// SPDX-License-Identifier: MIT
#include "scenarios/engine/waveform.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "model/config_error.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

/// A queue that entries fill, a state that is read and one that is reported.
struct Bench {
  explicit Bench(WaveformOptions asked = {}) : options(std::move(asked)) {
    const SignalScope nic(signals, "host.A.nic0");
    nic.child("requester")
        .level(
            "queued", Unit::kCount, "packets", [this] { return queued; }, 4);
    nic.child("port").state("paused", {"no", "yes"}, "pause", [this] { return paused; });
    nic.child("port").total("bytes", Unit::kBytes, "bytes", [] { return 7; });
    nic.child("key_checker").reported("state", {"idle", "lookup", "pass"}, "state", report);
    options.unfinished =
        (std::filesystem::temp_directory_path() / ("waveform." + std::to_string(getpid())))
            .string();
  }
  ~Bench() { std::filesystem::remove(options.unfinished); }

  void fill(std::uint64_t n) { queued = n; }
  void pause(std::uint64_t yes) { paused = yes; }
  void at(Time time, std::uint64_t n) { scheduler.at(time, call<&Bench::fill>(this, n)); }

  std::string run(Time until = 1_us) {
    Waveform waveform(scheduler, signals, options);
    scheduler.observe(waveform, Time());
    scheduler.at(Time(), call<&Bench::report_states>(this));
    scheduler.run_until(until);
    waveform.close();
    std::ifstream file(options.unfinished);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void report_states() {
    for (const auto& [from, until, state] : stretches) report(from, until, state);
  }

  Scheduler scheduler{"scheduler"};
  Signals signals;
  StateReport report;
  std::uint64_t queued = 0;
  std::uint64_t paused = 0;
  struct Stretch {
    Time from, until;
    std::uint64_t state;
  };
  std::vector<Stretch> stretches;
  WaveformOptions options;
};

const std::string kNames =
    "$version rnicsim $end\n"
    "$timescale 1 ps $end\n"
    "$scope module host $end\n"
    "$scope module A $end\n"
    "$scope module nic0 $end\n"
    "$scope module key_checker $end\n"
    "$var string 1 ! state $end\n"
    "$upscope $end\n"
    "$scope module port $end\n"
    "$var string 1 \" paused $end\n"
    "$upscope $end\n"
    "$scope module requester $end\n"
    "$var wire 3 # queued $end\n"
    "$upscope $end\n"
    "$upscope $end\n"
    "$upscope $end\n"
    "$upscope $end\n"
    "$enddefinitions $end\n";

}  // namespace

TEST_CASE("a waveform has every change at its instant, the last of an instant alone") {
  Bench bench;
  bench.at(2_ns, 1);
  bench.at(2_ns, 3);
  bench.scheduler.at(5_ns, call<&Bench::pause>(&bench, 1));
  bench.at(5_ns, 3);
  bench.at(7_ns, 4);
  CHECK(bench.run() == kNames +
                           "#0\nsidle !\nsno \"\nb0 #\n"
                           "#2000\nb11 #\n"
                           "#5000\nsyes \"\n"
                           "#7000\nb100 #\n");
}

TEST_CASE("of stretches that overlap the one that began last is shown, outside all state 0") {
  Bench bench;
  bench.stretches = {{10_ns, 14_ns, 1},                     // with the next inside it
                     {11_ns, 12_ns, 2}, {20_ns, 22_ns, 1},  // in one piece with the next
                     {22_ns, 23_ns, 1}, {30_ns, 34_ns, 1},  // ends inside the next
                     {32_ns, 35_ns, 2}};
  bench.at(40_ns, 0);
  const std::string text = bench.run();
  CHECK(text == kNames +
                    "#0\nsidle !\nsno \"\nb0 #\n"
                    "#10000\nslookup !\n#11000\nspass !\n#12000\nslookup !\n#14000\nsidle !\n"
                    "#20000\nslookup !\n#23000\nsidle !\n"
                    "#30000\nslookup !\n#32000\nspass !\n#35000\nsidle !\n"
                    "#40000\n");
}

TEST_CASE("a part of a run begins with the values that stand there") {
  WaveformOptions options;
  options.from = 10_ns;
  options.until = 20_ns;
  Bench bench(options);
  bench.stretches = {{4_ns, 12_ns, 1}, {19_ns, 30_ns, 2}, {25_ns, 26_ns, 1}};
  bench.at(3_ns, 2);
  bench.at(15_ns, 3);
  bench.at(21_ns, 4);
  CHECK(bench.run() == kNames +
                           "#10000\nslookup !\nsno \"\nb10 #\n"
                           "#12000\nsidle !\n#15000\nb11 #\n#19000\nspass !\n#20000\n");
}

TEST_CASE("nothing stands behind the end of the run, and a part that lies there is refused") {
  Bench bench;
  bench.stretches = {{5_ns, 100_ns, 1}, {60_ns, 70_ns, 2}};
  bench.at(40_ns, 0);
  CHECK(bench.run() == kNames + "#0\nsidle !\nsno \"\nb0 #\n#5000\nslookup !\n#40000\n");
  WaveformOptions options;
  options.from = 2_us;
  Waveform late(bench.scheduler, bench.signals, options);
  CHECK_THROWS_WITH(late.close(), Catch::Contains("the run ended at 40 ns, before the part"));
}

TEST_CASE("a glob chooses signals; one that matches none is refused") {
  WaveformOptions options;
  options.glob = "*.requester.*";
  Bench bench(options);
  bench.at(1_ns, 1);
  const std::string text = bench.run();
  CHECK(text.find("queued") != std::string::npos);
  CHECK(text.find("paused") == std::string::npos);
  for (const char* glob : {"nothing", "*.bytes"}) {
    options.glob = glob;
    CHECK_THROWS_AS(Waveform(bench.scheduler, bench.signals, options), ConfigError);
  }
}

TEST_CASE("hundreds of signals have names of their own") {
  Signals signals;
  for (int i = 0; i < 300; ++i)
    SignalScope(signals, "a").level("s" + std::to_string(i), Unit::kCount, "", [] { return 0; });
  Bench bench;
  Waveform waveform(bench.scheduler, signals, bench.options);
  waveform.close();
  std::ifstream file(bench.options.unfinished);
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string var, type, bits, id;
    words >> var >> type >> bits >> id;
    if (var == "$var") names.insert(id);
  }
  CHECK(names.size() == 300);
}

TEST_CASE("who watched no longer hears of states") {
  Bench bench;
  bench.run();
  CHECK_FALSE(bench.report.on());
}

// SPDX-License-Identifier: MIT
#include "tools/export/terminal.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "tools/export/timeline_view.h"
#include "tools/export/value_text.h"

using namespace rnicsim;

namespace {

JudgedRun a_run() {
  JudgedRun run;
  run.scenario = "x";
  run.setup.title = "a title";
  run.setup.hosts.resize(2);
  run.setup.hosts[0].name = "A";
  run.setup.hosts[1].name = "B";
  WorkloadSpec workload;
  workload.name = "w0";
  workload.from = "A";
  workload.to = "B";
  run.setup.workload.push_back(workload);
  return run;
}

TimelineRecord record(int step, Time begin, Time end, const std::string& host,
                      const std::string& text) {
  TimelineRecord r;
  r.step = step;
  r.begin = begin;
  r.end = end;
  r.host = host;
  r.lane = "nic";
  r.plane = step >= 1 && step <= 3 ? "control" : "data";
  r.work_request = step >= 1 && step <= 3 ? 0 : 1;
  r.text = text;
  return r;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has_line(const std::string& text, const std::string& line) {
  const std::vector<std::string> lines = lines_of(text);
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

}  // namespace

TEST_CASE("values are written in the unit that reads best") {
  CHECK(short_text(Time::ps(9'123'456)) == "9.123 us");
  CHECK(short_text(Time::ps(999'999)) == "1 us");
  CHECK(short_text(Time()) == "0 ns");
  CHECK(short_text(Bytes(65536)) == "64 KiB");
  CHECK(short_text(97.41e9, Unit::kBitsPerSecond) == "97.41 Gb/s");
  CHECK(short_text(7'012'600, Unit::kPerSecond) == "7.013 M/s");
  CHECK(short_text(3, Unit::kCount) == "3");
  CHECK(exact_text(9'123'456, Unit::kPicoseconds) == "9.123456 us");
  CHECK(exact_text(0, Unit::kPicoseconds) == "0 ns");
}

TEST_CASE("what both hosts do alike at the same time is one row") {
  JudgedRun run = a_run();
  run.result.timeline = {record(2, Time::us(1), Time::us(3), "B", "pins"),
                         record(2, Time::us(1), Time::us(3), "A", "pins")};
  const std::string view = timeline_view(run, {});
  CHECK(has_line(view, "    A, B nic      1.000     2 us            pins"));
  CHECK(std::count(view.begin(), view.end(), '\n') == 4);
}

TEST_CASE("a host whose programs do the same at the same time is named once") {
  JudgedRun run = a_run();
  run.result.timeline = {record(2, Time::us(1), Time::us(3), "A", "pins"),
                         record(2, Time::us(1), Time::us(3), "B", "pins"),
                         record(2, Time::us(1), Time::us(3), "A", "pins")};
  CHECK(has_line(timeline_view(run, {}), "    A, B nic      1.000     2 us            pins"));
}

TEST_CASE("the heading says when the kernel has a part in a message") {
  JudgedRun run = a_run();
  run.result.timeline = {record(9, Time::us(1), Time::us(3), "A", "an entry")};
  CHECK(timeline_view(run, {}).find(", no kernel; ") != std::string::npos);
  run.result.timeline[0].block = "interrupts";
  CHECK(timeline_view(run, {}).find(", kernel only to wake; ") != std::string::npos);
}

TEST_CASE("an operation on a key is one of its poster's NIC") {
  JudgedRun run = a_run();
  run.setup.workload[0].operation = Operation::kBindWindow;
  run.result.timeline = {record(7, Time::us(1), Time::us(3), "A", "bound")};
  CHECK(has_line(timeline_view(run, {}), " 7  A's NIC changes a key"));
}

TEST_CASE("bars show which part of the data plane a row takes") {
  JudgedRun run = a_run();
  run.result.timeline = {record(5, Time::us(0), Time::us(8), "A", "reads"),
                         record(8, Time::us(8), Time::us(16), "B", "writes"),
                         record(9, Time::us(16), Time::us(16), "A", "polls")};
  const std::string view = timeline_view(run, {});
  CHECK(has_line(view, "    A nic       0.000     8 us            ########          reads"));
  CHECK(has_line(view, "    B nic       8.000     8 us                    ########  writes"));
  CHECK(has_line(view, "    A nic      16.000                                    #  polls"));
  CHECK(view.find(" 8  B's NIC writes into") != std::string::npos);
}

TEST_CASE("faults are shown even where the timeline is not") {
  JudgedRun run = a_run();
  run.result.timeline = {record(5, Time(), Time::us(1), "A", "reads"),
                         record(0, Time::us(2), Time::us(2), "B", "access refused: bounds")};
  run.result.timeline[1].block = "key_checker";
  TerminalStyle style;
  style.timeline = false;
  CHECK(timeline_view(run, style) ==
        "FAULTS\n    B nic       2.000  key_checker: access refused: bounds\n");
}

TEST_CASE("no line is wider than the terminal, whatever the texts are") {
  JudgedRun run = a_run();
  run.setup.title = std::string(300, 'x') + " and\nmore";
  run.setup.hosts[0].name = std::string(60, 'A');
  run.setup.workload[0].from = run.setup.hosts[0].name;
  run.result.timeline = {
      record(4, Time::s(900), Time::s(901), run.setup.hosts[0].name, std::string(150, 'y')),
      record(5, Time::s(900), Time::s(901), "A",
             "many words that go on and on and on and on for "
             "longer than there is room on the line")};
  for (const std::string& line : lines_of(terminal_view(run, {})))
    CHECK(width_of(line) <= kTerminalColumns);
}

TEST_CASE("the summary says that the target's CPU slept, and only if it did") {
  JudgedRun run = a_run();
  auto& metrics = run.result.metrics;
  metrics["workload.w0.messages"] = {true, 1, 0, Unit::kCount, ""};
  metrics["workload.w0.completed"] = {true, 1, 0, Unit::kCount, ""};
  metrics["host.B.cpu.control.busy"] = {true, 2'000'000, 0, Unit::kPicoseconds, ""};
  metrics["host.B.cpu.data.busy"] = {true, 0, 0, Unit::kPicoseconds, ""};
  CHECK(has_line(terminal_view(run, {}), "  CPU of B      control plane 2 us"));
  CHECK(has_line(terminal_view(run, {}),
                 "                data plane 0 ns: it slept through every message"));
  metrics["host.B.cpu.data.busy"].value = 1000;
  CHECK(has_line(terminal_view(run, {}), "                data plane 1 ns"));
}

TEST_CASE("the summary says what the packets are, who forwards them, and what headers take") {
  JudgedRun run = a_run();
  for (const char* host : {"A", "B"}) {
    const std::string port = std::string("host.") + host + ".nic0.port.";
    run.result.metrics[port + "tx_bytes"] = {true, 5120, 0, Unit::kBytes, ""};
    run.result.metrics[port + "tx_header_bytes"] = {true, 512, 0, Unit::kBytes, ""};
  }
  CHECK(has_line(terminal_view(run, {}),
                 "  wire          RoCEv2 over IPv4; routable: yes; headers 1 KiB of 10 KiB sent"));
  run.setup.fabric.ip_version = IpVersion::kIpv6;
  CHECK(has_line(terminal_view(run, {}),
                 "  wire          RoCEv2 over IPv6; routable: yes; headers 1 KiB of 10 KiB sent"));
  run.setup.fabric.ip_version = IpVersion::kIpv4;
  run.setup.fabric.link_layer = LinkLayer::kRoceV1;
  CHECK(has_line(terminal_view(run, {}),
                 "  wire          RoCEv1; routable: no (RoCEv1 has no IP header); headers 1 KiB of "
                 "10 KiB sent"));
  run.setup.fabric.link_layer = LinkLayer::kInfiniBand;
  CHECK(has_line(
      terminal_view(run, {}),
      "  wire          InfiniBand; routable: no (one subnet); headers 1 KiB of 10 KiB sent"));
}

TEST_CASE("the summary repeats what is to be known of the network") {
  JudgedRun run = a_run();
  run.result.notes = {"2 places stay empty", "leaf0-spine1 down from 20 us on: 7 packets lost"};
  const std::string view = terminal_view(run, {});
  CHECK(has_line(view, "  note          2 places stay empty"));
  CHECK(has_line(view, "  note          leaf0-spine1 down from 20 us on: 7 packets lost"));
}

TEST_CASE("the summary says what each plane of each CPU did, the largest share first") {
  JudgedRun run = a_run();
  auto& metrics = run.result.metrics;
  const auto time = [&](const std::string& path, std::uint64_t ps) {
    metrics[path] = {true, ps, 0, Unit::kPicoseconds, ""};
  };
  metrics["workload.w0.completed"] = {true, 4, 0, Unit::kCount, ""};
  time("host.A.cpu.control.busy", 3'000'000);
  time("host.A.cpu.control.table_building", 1'000'000);
  time("host.A.cpu.control.syscall", 2'000'000);
  time("host.A.cpu.data.busy", 400'000);
  time("host.A.cpu.data.posting", 100'000);
  time("host.A.cpu.data.polling", 300'000);
  time("host.A.cpu.data.copying", 0);
  metrics["host.A.cpu.data.polling.cycles"] = {true, 5, 0, Unit::kCycles, ""};
  const std::string view = terminal_view(run, {});
  CHECK(has_line(view, "  CPU of A      control plane 3 us: syscall 2 us, table building 1 us"));
  CHECK(has_line(view,
                 "                data plane 400 ns: polling 300 ns, posting 100 ns; a message 100 "
                 "ns"));
}

TEST_CASE("each operation is said in words") {
  JudgedRun run = a_run();
  const auto says = [&](Operation operation, const char* words) {
    run.setup.workload[0].operation = operation;
    return terminal_view(run, {}).find(words) != std::string::npos;
  };
  CHECK(says(Operation::kWrite, "A writes 64 KiB to B: 0 of 0"));
  CHECK(says(Operation::kWriteImm, "A writes 64 KiB with immediate to B: "));
  CHECK(says(Operation::kRead, "A reads 64 KiB from B: "));
  CHECK(says(Operation::kSend, "A sends 64 KiB to B: "));
  CHECK(says(Operation::kSendImm, "A sends 64 KiB with immediate to B: "));
  CHECK(says(Operation::kSendInvalidate, "A sends 64 KiB to B and takes a key away: "));
  CHECK(says(Operation::kCompareSwap, "A compares and swaps 64 KiB of B: "));
  CHECK(says(Operation::kFetchAdd, "A fetches and adds to 64 KiB of B: "));
  CHECK(says(Operation::kBindWindow, "A binds a window of 64 KiB and frees it: "));
}

TEST_CASE("a perftest shows the table that perftest prints") {
  JudgedRun run = a_run();
  WorkloadSpec& workload = run.setup.workload[0];
  workload.pattern = WorkloadPattern::kPerftest;
  workload.test = PerftestProgram::kWriteBw;
  workload.sizes = {Bytes(64), Bytes(65536)};
  auto& metrics = run.result.metrics;
  const auto add = [&](const std::string& name, double value, Unit unit) {
    metrics["workload.w0." + name] = {false, 0, value, unit, ""};
  };
  add("completed", 1000, Unit::kCount);
  add("size_65536.iterations", 1000, Unit::kCount);
  add("size_65536.bandwidth.peak", 98.5e9, Unit::kBitsPerSecond);
  add("size_65536.bandwidth.average", 97.96e9, Unit::kBitsPerSecond);
  add("size_65536.message_rate", 186844, Unit::kPerSecond);
  std::string view = terminal_view(run, {});
  CHECK(
      has_line(view, "  w0            A runs ib_write_bw against B: 1000 of 0 messages completed"));
  CHECK(has_line(view,
                 "  #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]    "
                 "MsgRate[Mpps]"));
  CHECK(has_line(view,
                 "  65536      1000           98.50              97.96                 0.186844"));
  workload.test = PerftestProgram::kWriteLat;
  for (const char* name : {"min", "max", "typical", "average", "stdev", "p99", "p999"})
    add(std::string("size_65536.latency.") + name, 1.25e6, Unit::kPicoseconds);
  view = terminal_view(run, {});
  CHECK(has_line(view,
                 "  #bytes  #iterations t_min   t_max   t_typical t_avg   t_stdev 99% percentile "
                 "99.9% percentile"));
  CHECK(has_line(view,
                 "  65536   1000        1.25    1.25    1.25      1.25    1.25    1.25           "
                 "1.25"));
}

TEST_CASE("failures name both values, violations their place and time") {
  JudgedRun run = a_run();
  ExpectationResult failed;
  failed.spec.metric = "m";
  failed.spec.low = {1000, Unit::kPicoseconds, "1 ns"};
  failed.measured = 1001;
  failed.unit = Unit::kPicoseconds;
  run.expectations = {failed};
  run.result.violations = {{"deadlock", "w0", Time::us(3), "waits for ever"},
                           {"lossless_drop", "w0", Time::us(4), "dropped"}};
  run.expected_violations = {"lossless_drop"};
  CHECK(failure_lines(run) ==
        std::vector<std::string>{"expectation failed: m: expected 1 ns, found 1.001 ns",
                                 "deadlock at w0, 3 us: waits for ever"});
  const std::string view = terminal_view(run, {});
  CHECK(has_line(view, "EXPECTATIONS 0 of 1 met"));
  CHECK(has_line(view, "  expected lossless_drop at w0, 4 us: dropped"));
}

TEST_CASE("what a scenario says is missed fails a run only when it no longer is") {
  JudgedRun run = a_run();
  ExpectationResult known;
  known.spec.metric = "m";
  known.spec.low = {1000, Unit::kPicoseconds, "1 ns"};
  known.spec.missed = "the mechanism";
  known.measured = 1500;
  known.unit = Unit::kPicoseconds;
  run.expectations = {known};
  run.result.violations.clear();
  CHECK(run.passed());
  CHECK(failure_lines(run).empty());
  run.expectations[0].passed = true;
  CHECK_FALSE(run.passed());
  CHECK(failure_lines(run) ==
        std::vector<std::string>{"expectation no longer missed: m: expected 1 ns, found 1.5 ns"});
}

TEST_CASE("colour appears only where it is asked for") {
  TerminalStyle style;
  CHECK(terminal_view(a_run(), style).find('\033') == std::string::npos);
  style.colour = true;
  CHECK(terminal_view(a_run(), style).find('\033') != std::string::npos);
}

// SPDX-License-Identifier: MIT
#include "scenarios/engine/runner.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <iostream>
#include <thread>

#include "model/config_error.h"

using namespace rnicsim;

namespace {

/// Jobs whose scenario says by its seed which one it is.
struct Jobs {
  explicit Jobs(std::size_t count) : scenarios(count) {
    for (std::size_t i = 0; i < count; ++i) {
      scenarios[i].seed = i;
      jobs.push_back({"job" + std::to_string(i), &scenarios[i]});
    }
  }
  std::vector<Scenario> scenarios;
  std::vector<SimulationJob> jobs;
};

RunResult echo(const Scenario& scenario) {
  RunResult result;
  result.callbacks = scenario.seed;
  return result;
}

using Simulate = std::function<RunResult(const Scenario&)>;

std::vector<RunResult> run(const Jobs& jobs, unsigned parallel, const Simulate& simulate) {
  RunnerOptions options;
  options.jobs = parallel;
  options.simulate = [&](const Scenario& scenario, const SimulationHooks&) {
    return simulate(scenario);
  };
  return run_simulations(jobs.jobs, options);
}

std::string fault(const Jobs& jobs, unsigned parallel, const Simulate& simulate) {
  try {
    run(jobs, parallel, simulate);
  } catch (const SimulationFault& error) {
    return error.what();
  }
  return "no fault";
}

void pause_for(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace

TEST_CASE("results come in the order of the jobs, whatever finishes first") {
  for (const unsigned parallel : {1U, 2U, 16U}) {
    const std::vector<RunResult> results = run(Jobs(8), parallel, [](const Scenario& scenario) {
      pause_for(static_cast<int>(8 - scenario.seed) * 5);
      return echo(scenario);
    });
    REQUIRE(results.size() == 8);
    for (std::size_t i = 0; i < results.size(); ++i) CHECK(results[i].callbacks == i);
  }
  CHECK(run(Jobs(0), 2, echo).empty());
}

TEST_CASE("a run that dies is a fault of its own where the others are to go on") {
  const Jobs jobs(3);
  RunnerOptions options;
  options.jobs = 2;
  options.keep_going = true;
  options.simulate = [](const Scenario& scenario, const SimulationHooks&) {
    if (scenario.seed == 1) raise(SIGABRT);
    return echo(scenario);
  };
  const std::vector<RunResult> results = run_simulations(jobs.jobs, options);
  REQUIRE(results.size() == 3);
  CHECK(results[2].callbacks == 2);
  REQUIRE(results[1].violations.size() == 1);
  CHECK(results[1].violations[0].kind == "fault");
  CHECK(results[1].violations[0].text.find("job1: the simulation died of signal 6") == 0);
}

TEST_CASE("a large result goes through the pipe whole") {
  const std::vector<RunResult> results = run(Jobs(2), 2, [](const Scenario& scenario) {
    RunResult result = echo(scenario);
    for (int i = 0; i < 10000; ++i)
      result.metrics["metric." + std::to_string(i)] = {true, 1, 0, Unit::kCount, "text"};
    return result;
  });
  CHECK(results[1].metrics.size() == 10000);
}

TEST_CASE("a child that dies of a signal is named, with the signal") {
  const Jobs jobs(1);
  CHECK(fault(jobs, 1, [](const Scenario&) -> RunResult {
          signal(SIGSEGV, SIG_DFL);
          raise(SIGSEGV);
          return {};
        }) == "job0: the simulation died of signal 11 (Segmentation fault)");
  CHECK(fault(jobs, 1, [](const Scenario&) -> RunResult { _exit(5); }) ==
        "job0: the simulation ended without a result, exit status 5");
}

TEST_CASE("an exception of the simulator comes back as its text on one line") {
  CHECK(fault(Jobs(1), 1, [](const Scenario&) -> RunResult {
          throw std::logic_error("first\nsecond");
        }) == "job0: first second");
  CHECK(fault(Jobs(1), 1, [](const Scenario&) -> RunResult { throw std::bad_alloc(); }) ==
        "job0: not enough memory");
}

TEST_CASE("a configuration error in the child is one in the parent") {
  const auto refuse = [](const Scenario&) -> RunResult {
    ConfigError::Detail detail;
    detail.file = "x.json";
    detail.line = 3;
    detail.found = "does not work";
    throw ConfigError(std::move(detail));
  };
  CHECK_THROWS_WITH(run(Jobs(1), 1, refuse), "x.json:3: does not work");
}

TEST_CASE("of several failures the first in the order of the jobs is reported") {
  const auto fail_late_first = [](const Scenario& scenario) -> RunResult {
    if (scenario.seed == 2) throw std::runtime_error("late in the order, early in time");
    pause_for(100);
    if (scenario.seed == 1) throw std::runtime_error("early in the order");
    return echo(scenario);
  };
  CHECK(fault(Jobs(4), 4, fail_late_first) == "job1: early in the order");
}

TEST_CASE("what a simulation prints does not reach stdout") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::cout.flush();
  const int before = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);
  run(Jobs(1), 1, [](const Scenario& scenario) {
    std::cout << "noise" << std::endl;
    return echo(scenario);
  });
  dup2(before, STDOUT_FILENO);
  close(before);
  close(ends[1]);
  char byte = 0;
  const ssize_t read_bytes = read(ends[0], &byte, 1);
  close(ends[0]);
  CHECK(read_bytes == 0);
}

TEST_CASE("an interrupt ends the children and is reported") {
  const pid_t parent = getpid();
  const auto interrupt = [parent](const Scenario& scenario) -> RunResult {
    if (scenario.seed == 1) kill(parent, SIGINT);
    pause_for(60'000);
    return echo(scenario);
  };
  const auto begin = std::chrono::steady_clock::now();
  try {
    run(Jobs(2), 2, interrupt);
    FAIL("not interrupted");
  } catch (const Interrupted& interrupted) {
    CHECK(interrupted.signal() == SIGINT);
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left
}

// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_runner.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <memory>

#include "model/config_error.h"
#include "scenarios/engine/signal_gate.h"
#include "scenarios/engine/simulation_process.h"

namespace rnicsim {
namespace {

constexpr int kProgressMilliseconds = 500;
constexpr int kAttempts = 2;

class PointRunner {
 public:
  PointRunner(const std::vector<std::size_t>& points, const StudyRunnerOptions& options)
      : options_(options), total_(points.size()) {
    process_.simulate = options.simulate;
    for (const std::size_t point : points) waiting_.push_back({point});
  }

  void run() {
    while (start_more(false), !running_.empty()) wait();
  }

 private:
  struct Attempt {
    std::size_t point;
    int number = 1;
    bool is_claimed = false;
  };
  struct Running {
    Attempt attempt;
    std::unique_ptr<SimulationProcess> process;
  };

  /// `some_end`: processes that have not been let go of yet will make room.
  void start_more(bool some_end) {
    while (!waiting_.empty() && running_.size() < std::max(1U, options_.jobs)) {
      Attempt attempt = waiting_.front();
      waiting_.pop_front();
      try {
        start(attempt);
      } catch (const NoProcess&) {
        if (running_.empty() && !some_end) throw;
        waiting_.push_front(attempt);
        break;
      }
    }
  }

  void start(Attempt& attempt) {
    if (!attempt.is_claimed && options_.claim && !options_.claim(attempt.point)) {
      --total_;
      return;
    }
    attempt.is_claimed = true;
    try {
      // The child gets it by fork, so it need not live longer than that.
      const Scenario scenario = options_.scenario(attempt.point);
      // No name: a point's error is kept, and read again in studies where it has another number.
      const SimulationJob job{"", &scenario, {}};
      running_.push_back(
          {attempt, std::make_unique<SimulationProcess>(job, process_, signals_.before())});
    } catch (const ConfigError& error) {
      hand_over(attempt.point, {std::nullopt, error.what()});
    }
  }

  void wait() {
    std::vector<pollfd> descriptors{{signals_.descriptor(), POLLIN, 0}};
    for (const Running& running : running_)
      descriptors.push_back({running.process->pipe(), POLLIN, 0});
    if (::poll(descriptors.data(), descriptors.size(), kProgressMilliseconds) < 0 && errno != EINTR)
      throw SimulationFault("cannot wait for the simulations");
    signals_.throw_if_signalled();
    std::vector<Running> ended;
    for (std::size_t i = running_.size(); i-- > 0;) {
      if (descriptors[i + 1].revents == 0 || running_[i].process->receive()) continue;
      ended.push_back(std::move(running_[i]));
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    start_more(true);  // before results are written: no core waits for that
    for (const Running& running : ended) finish(running);
    if (options_.progress) options_.progress({done_, running_.size(), total_});
  }

  void finish(const Running& ended) {
    const Attempt& attempt = ended.attempt;
    try {
      hand_over(attempt.point, {ended.process->result(), ""});
    } catch (const SimulationFault& fault) {
      if (attempt.number < kAttempts)
        waiting_.push_front({attempt.point, attempt.number + 1, true});
      else
        hand_over(attempt.point, {std::nullopt, fault.what()});
    } catch (const ConfigError& error) {
      hand_over(attempt.point, {std::nullopt, error.what()});
    }
  }

  void hand_over(std::size_t point, PointOutcome outcome) {
    ++done_;
    options_.finished(point, std::move(outcome));
  }

  const StudyRunnerOptions& options_;
  RunnerOptions process_;
  SignalGate signals_;
  std::size_t total_;
  std::size_t done_ = 0;
  std::deque<Attempt> waiting_;
  std::vector<Running> running_;
};

}  // namespace

void run_points(const std::vector<std::size_t>& points, const StudyRunnerOptions& options) {
  PointRunner(points, options).run();
}

}  // namespace rnicsim

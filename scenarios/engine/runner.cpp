// SPDX-License-Identifier: MIT
#include "scenarios/engine/runner.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iostream>
#include <map>
#include <memory>

#include "model/quantity.h"
#include "scenarios/engine/signal_gate.h"
#include "scenarios/engine/simulation_process.h"

namespace rnicsim {
namespace {

class Runner {
 public:
  Runner(const std::vector<SimulationJob>& jobs, const RunnerOptions& options)
      : jobs_(jobs), options_(options), end_(jobs.size()), results_(jobs.size()) {}

  std::vector<RunResult> run() {
    try {
      while (start_more(), !running_.empty()) wait();
    } catch (...) {
      clear_progress();
      throw;
    }
    clear_progress();
    if (failure_) std::rethrow_exception(failure_);
    return std::move(results_);
  }

 private:
  void start_more() {
    for (; next_ < end_ && running_.size() < std::max(1U, options_.jobs); ++next_)
      running_.emplace(
          next_, std::make_unique<SimulationProcess>(jobs_[next_], options_, signals_.before()));
  }

  void wait() {
    std::vector<pollfd> descriptors{{signals_.descriptor(), POLLIN, 0}};
    std::vector<std::size_t> indices;
    for (const auto& [index, process] : running_) {
      descriptors.push_back({process->pipe(), POLLIN, 0});
      indices.push_back(index);
    }
    if (::poll(descriptors.data(), descriptors.size(), -1) < 0 && errno != EINTR)
      throw SimulationFault("cannot wait for the simulations");
    signals_.throw_if_signalled();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto process = running_.find(indices[i]);
      if (descriptors[i + 1].revents == 0 || process == running_.end()) continue;
      const bool ended = !process->second->receive();
      show_looks(process->first);
      if (ended) finish(process->first);
    }
    show_progress();
  }

  /// After a failure only what comes before it matters still: it may fail as well.
  void finish(std::size_t index) {
    try {
      results_[index] = result_of(index);
      running_.erase(index);
      ++done_;
    } catch (const std::exception&) {
      failure_ = std::current_exception();
      end_ = index;
      running_.erase(running_.lower_bound(index), running_.end());
    }
  }

  RunResult result_of(std::size_t index) {
    try {
      return running_.at(index)->result();
    } catch (const SimulationFault& fault) {
      if (!options_.keep_going) throw;
      RunResult result;
      result.violations.push_back({"fault", jobs_[index].name, Time(), fault.what()});
      return result;
    }
  }

  void show_looks(std::size_t index) {
    for (const LiveLook& look : running_.at(index)->take_looks())
      options_.watch(jobs_[index].name, look);
  }

  void show_progress() {
    if (!options_.progress || running_.empty()) return;
    const auto& [index, process] = *running_.begin();
    if (!process->progress()) return;
    shown_ = true;
    std::cerr << "\r\033[K" << jobs_[index].name << ": "
              << to_text(Time::us(*process->progress() / Time::us(1))) << " simulated";
    if (jobs_.size() > 1) std::cerr << "; " << done_ << " of " << jobs_.size() << " runs done";
    std::cerr << std::flush;
  }
  void clear_progress() const {
    if (shown_) std::cerr << "\r\033[K" << std::flush;
  }

  const std::vector<SimulationJob>& jobs_;
  const RunnerOptions& options_;
  SignalGate signals_;
  std::size_t next_ = 0;
  std::size_t end_;  ///< of the jobs that are still wanted
  std::size_t done_ = 0;
  bool shown_ = false;
  std::map<std::size_t, std::unique_ptr<SimulationProcess>> running_;
  std::vector<RunResult> results_;
  std::exception_ptr failure_;
};

}  // namespace

std::vector<RunResult> run_simulations(const std::vector<SimulationJob>& jobs,
                                       const RunnerOptions& options) {
  return Runner(jobs, options).run();
}

}  // namespace rnicsim

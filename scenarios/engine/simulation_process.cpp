// SPDX-License-Identifier: MIT
#include "scenarios/engine/simulation_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>

#include "model/config_error.h"
#include "scenarios/engine/run_json.h"

namespace rnicsim {
namespace {

// What a line through the pipe begins with.
constexpr char kProgress = 'P';
constexpr char kLook = 'L';
constexpr char kResult = 'R';
constexpr char kBadInput = 'C';
constexpr char kFault = 'F';

/// A message is one line, here and on the terminal.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

void send(int out, char kind, const std::string& text) {
  const std::string line = kind + text + '\n';
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t n = write(out, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);  // nobody listens any more
    done += static_cast<std::size_t>(n);
  }
}

/// Says how far simulated time has come, twice a second once a run takes two seconds. The wall
/// clock decides only that.
class ProgressReport {
 public:
  explicit ProgressReport(int out) : out_(out) {}
  bool operator()(Time now) {
    const auto wall = Clock::now();
    if (wall < next_) return false;
    next_ = wall + std::chrono::milliseconds(500);
    send(out_, kProgress, std::to_string(now.ps()));
    return false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  int out_;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(2);
};

/// A look at the ports twice a second, and one when the run has ended.
class LiveReport {
 public:
  explicit LiveReport(int out) : out_(out) {}
  void operator()(LiveView& view, Time now, bool last) {
    const auto wall = std::chrono::steady_clock::now();
    if (!last && (wall < next_ || now <= before_)) return;
    LiveLook look;
    look.now = look.since = now;
    if (now > before_) look = view.look(now);
    look.last = last;
    send(out_, kLook, live_look_to_text(look));
    next_ = wall + std::chrono::milliseconds(500);
    before_ = now;
  }

 private:
  int out_;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  Time before_;
};

[[noreturn]] void run_child(int out, const SimulationJob& job, const RunnerOptions& options) {
  try {
    SimulationHooks hooks;
    if (options.progress) hooks.poll = ProgressReport(out);
    hooks.log = options.log;
    hooks.capture = job.recording.capture;
    hooks.pauses = options.pauses;
    hooks.latency = options.latency;
    hooks.series = options.series;
    hooks.waveform = job.recording.waveform;
    if (options.watch) hooks.live = LiveReport(out);
    if (options.log) std::cerr << "# " << job.name << '\n';
    send(out, kResult, run_to_text(options.simulate(*job.scenario, hooks)));
  } catch (const ConfigError& error) {
    send(out, kBadInput, one_line(error.what()));
  } catch (const std::bad_alloc&) {
    send(out, kFault, "not enough memory");
  } catch (const std::exception& error) {
    send(out, kFault, one_line(error.what()));
  }
  std::fflush(nullptr);
  _exit(0);
}

NoProcess no_process(const std::string& what, int error) {
  return NoProcess(what + ": " + std::strerror(error));
}

}  // namespace

SimulationProcess::SimulationProcess(const SimulationJob& job, const RunnerOptions& options,
                                     const sigset_t& mask)
    : name_(job.name.empty() ? "" : job.name + ": ") {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw no_process("no pipe", errno);
  std::cout.flush();
  std::fflush(nullptr);  // or the child would print it again
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ == 0) {
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it died before prctl
    dup2(STDERR_FILENO, STDOUT_FILENO);
    run_child(ends[1], job, options);
  }
  const int error = errno;
  close(ends[1]);
  pipe_ = ends[0];
  if (child_ < 0) {
    close(pipe_);
    throw no_process("no process", error);
  }
}

SimulationProcess::~SimulationProcess() {
  close(pipe_);
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) continue;
}

bool SimulationProcess::receive() {
  std::array<char, 65536> buffer;
  const ssize_t n = read(pipe_, buffer.data(), buffer.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  const std::size_t known = text_.size();
  text_.append(buffer.data(), static_cast<std::size_t>(n));
  if (text_.find('\n', known) != std::string::npos) take_lines();
  return true;
}

void SimulationProcess::take_lines() {
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text_.substr(begin + 1, end - begin - 1);
    if (text_[begin] == kProgress) {
      progress_ = Time::ps(std::stoll(line));
    } else if (text_[begin] == kLook) {
      looks_.push_back(live_look_from_text(line));
    } else {
      verdict_ = text_[begin];
      answer_ = line;
    }
  }
  text_.erase(0, begin);
}

RunResult SimulationProcess::result() {
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) continue;
  child_ = -1;
  if (status == 0 && verdict_ == kResult) return run_from_text(answer_);
  if (verdict_ == kBadInput) {
    ConfigError::Detail detail;
    detail.found = answer_;
    throw ConfigError(std::move(detail));
  }
  if (verdict_ == kFault) throw SimulationFault(name_ + answer_);
  throw_death(status);
}

void SimulationProcess::throw_death(int status) const {
  std::string how = "ended without a result, exit status " + std::to_string(WEXITSTATUS(status));
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    how = "died of signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
    if (signal == SIGKILL) how += "; perhaps there was not enough memory";
  }
  throw SimulationFault(name_ + "the simulation " + how);
}

}  // namespace rnicsim

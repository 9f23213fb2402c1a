// SPDX-License-Identifier: MIT
#include "host/tcp/tcp_timer.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

struct Watcher {
  explicit Watcher(TcpTimer::Keeps keeps = TcpTimer::Keeps::kRunAlive)
      : timer(scheduler, call<&Watcher::note>(this), keeps) {}
  void note() { times.push_back(scheduler.now()); }
  void start(std::uint64_t ns) { timer.start(Time::ns(static_cast<std::int64_t>(ns))); }
  void stop() { timer.stop(); }
  void start_at(Time time, std::uint64_t ns) {
    scheduler.at(time, call<&Watcher::start>(this, ns));
  }
  void stop_at(Time time) { scheduler.at(time, call<&Watcher::stop>(this)); }

  Scheduler scheduler{"scheduler"};
  TcpTimer timer;
  std::vector<Time> times;
};

using Times = std::vector<Time>;

}  // namespace

TEST_CASE("A timer that was moved later runs out once, and then") {
  Watcher w;
  w.start(100);
  w.start_at(50_ns, 200);
  w.start_at(90_ns, 250);
  CHECK(w.scheduler.run_until(1_us) == Scheduler::End::kIdle);
  CHECK(w.times == Times{340_ns});
}

TEST_CASE("A timer that was moved earlier runs out once, and then") {
  Watcher w;
  w.start(100);
  w.start_at(50_ns, 10);
  w.scheduler.run_until(1_us);
  CHECK(w.times == Times{60_ns});
}

TEST_CASE("A timer that was stopped does not run out, and may be started again") {
  Watcher w;
  w.start(100);
  w.stop_at(50_ns);
  w.start_at(70_ns, 100);
  w.stop_at(250_ns);
  w.start_at(300_ns, 20);
  w.scheduler.run_until(1_us);
  CHECK(w.times == Times{170_ns, 320_ns});
}

TEST_CASE("A running timer keeps the run alive unless it only remembers") {
  Watcher w(TcpTimer::Keeps::kNothing);
  w.start(100);
  CHECK(w.scheduler.run_until(1_us) == Scheduler::End::kIdle);
  CHECK(w.times.empty());
}

// SPDX-License-Identifier: MIT
#include "model/software_thread.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/own_process.h"

namespace rnicsim {

using namespace literals;

namespace {

/// Text lines of who did something when.
struct Log {
  explicit Log(Scheduler& s) : scheduler(s) {}
  void add(const std::string& who) {
    text += std::to_string(scheduler.now().ps()) + ' ' + who + '\n';
  }
  Scheduler& scheduler;
  std::string text;
};

/// Hardware that works at random times, some of them shared with everybody else's, and wakes a
/// thread now and then.
class RandomHardware {
 public:
  RandomHardware(Log& log, std::uint32_t id) : log_(log), id_(id), random_(id) {}
  void start() { log_.scheduler.at(Time::ns(id_), call<&RandomHardware::work>(this, 0)); }
  void wakes(SoftwareThread* thread) { thread_ = thread; }
  void work(std::uint64_t kind) {
    log_.add("hw" + std::to_string(id_) + '.' + std::to_string(kind));
    if (++count_ >= 300) return;
    Scheduler& scheduler = log_.scheduler;
    const Time next = scheduler.now() + delay();
    const Callback again = call<&RandomHardware::work>(this, random_() % 100);
    if (count_ % 3 == 0)
      scheduler.at_arrival(next, id_, again);
    else if (count_ % 7 == 0)
      scheduler.at_software(next, again);
    else
      scheduler.at(next, again);
    if (thread_ != nullptr && count_ % 5 == 0) thread_->wake(scheduler.now() + delay());
  }
  Time delay() {
    switch (random_() % 4) {
      case 0:
        return Time();
      case 1:
        return Time::ps(static_cast<std::int64_t>(random_() % 20000));
      default:
        return Time::ns(static_cast<std::int64_t>(random_() % 8) * 5);
    }
  }

 private:
  Log& log_;
  std::uint32_t id_;
  std::mt19937 random_;
  SoftwareThread* thread_ = nullptr;
  int count_ = 0;
};

/// A whole system of hardware, software threads and a foreign process that waits as it likes.
std::string simulate(bool run_ahead, unsigned seed) {
  Scheduler scheduler("scheduler", run_ahead);
  Log log(scheduler);
  std::vector<std::unique_ptr<RandomHardware>> hardware;
  for (std::uint32_t i = 0; i < 4; ++i)
    hardware.push_back(std::make_unique<RandomHardware>(log, seed * 10 + i));
  std::vector<std::unique_ptr<SoftwareThread>> threads(3);
  for (std::size_t i = 0; i < 3; ++i) {
    threads[i] = std::make_unique<SoftwareThread>(scheduler, "sw" + std::to_string(i), [&, i] {
      for (int n = 0; n < 100; ++n) {
        if (i == 2)
          threads[i]->block();
        else
          threads[i]->sleep_until(scheduler.now() + hardware[i]->delay());
        log.add("sw" + std::to_string(i));
        scheduler.at(scheduler.now() + 5_ns, call<&RandomHardware::work>(hardware[3].get(), i));
      }
    });
  }
  hardware[0]->wakes(threads[2].get());
  hardware[1]->wakes(threads[2].get());
  for (auto& h : hardware) h->start();
  sc_core::sc_spawn(
      [&] {
        for (int n = 0; n < 60; ++n) {
          sc_core::wait(static_cast<double>(n % 4) * 5, sc_core::SC_NS);
          const Time time = scheduler.enter_foreign(sc_core::sc_time(n % 3, sc_core::SC_NS));
          log.add("foreign " + std::to_string(time.ps()));
          scheduler.at(time, call<&RandomHardware::work>(hardware[3].get(), 100 + n));
          if (n % 10 == 0) threads[2]->wake(time);
        }
      },
      "foreign");
  for (int slice = 1; slice <= 10; ++slice) scheduler.run_until(Time::ns(137 * slice));
  scheduler.run_until(Time::ms(1));
  return log.text + std::to_string(scheduler.callbacks());
}

}  // namespace

TEST_CASE("run-ahead on and off give the same trace, with threads and a foreign process") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const std::string ahead = test::in_own_process([seed] { return simulate(true, seed); });
    const std::string behind = test::in_own_process([seed] { return simulate(false, seed); });
    REQUIRE(std::count(ahead.begin(), ahead.end(), '\n') > 800);
    REQUIRE(ahead == behind);
  }
}

TEST_CASE("a thread sleeps to the picosecond, and after the hardware of its instant") {
  Scheduler scheduler("scheduler");
  Log log(scheduler);
  SoftwareThread thread(scheduler, "thread", [&] {
    log.add("begin");
    thread.sleep_until(1234_ps);
    log.add("woke");
    thread.sleep_until(1000_ps);
    log.add("at once");
    REQUIRE(sc_core::sc_time_stamp().value() == 1234);
  });
  REQUIRE_FALSE(thread.finished());
  REQUIRE(scheduler.run_until(1_us) == Scheduler::End::kIdle);
  REQUIRE(thread.finished());
  REQUIRE(log.text == "0 begin\n1234 woke\n1234 at once\n");
}

TEST_CASE("of several wake-ups the earliest counts, for all of them") {
  Scheduler scheduler("scheduler");
  Log log(scheduler);
  SoftwareThread thread(scheduler, "thread", [&] {
    for (int i = 0; i < 2; ++i) {
      thread.block();
      log.add("woke");
    }
  });
  struct Waker {
    SoftwareThread& thread;
    Scheduler& scheduler;
    void wake_at_ns(std::uint64_t ns) { thread.wake(Time::ns(static_cast<std::int64_t>(ns))); }
  } waker{thread, scheduler};
  scheduler.at(1_ns, call<&Waker::wake_at_ns>(&waker, 50));
  scheduler.at(2_ns, call<&Waker::wake_at_ns>(&waker, 20));
  scheduler.at(3_ns, call<&Waker::wake_at_ns>(&waker, 30));
  scheduler.at(90_ns, call<&Waker::wake_at_ns>(&waker, 95));
  scheduler.run_until(1_us);
  REQUIRE(log.text == "20000 woke\n95000 woke\n");
  REQUIRE(thread.finished());
}

TEST_CASE("a wake-up that came before block is not lost") {
  Scheduler scheduler("scheduler");
  Log log(scheduler);
  SoftwareThread thread(scheduler, "thread", [&] {
    thread.wake(0_ns);
    thread.block();
    log.add("at once");
    thread.wake(7_ns);
    thread.block();
    log.add("later");
    thread.block();
  });
  REQUIRE(scheduler.run_until(1_us) == Scheduler::End::kIdle);
  REQUIRE(log.text == "0 at once\n7000 later\n");
  REQUIRE(thread.blocked());
  REQUIRE_FALSE(thread.finished());
}

TEST_CASE("an exception of a thread reaches the caller of run_until") {
  Scheduler scheduler("scheduler");
  SoftwareThread thread(scheduler, "thread", [&] {
    thread.sleep_until(5_ns);
    throw std::out_of_range("bad program");
  });
  REQUIRE_THROWS_AS(scheduler.run_until(1_us), std::out_of_range);
  REQUIRE(scheduler.now() == 5_ns);
}

TEST_CASE("a thread that starts another in the middle of a run sees it begin at that time") {
  Scheduler scheduler("scheduler");
  Log log(scheduler);
  std::unique_ptr<SoftwareThread> child;
  SoftwareThread parent(scheduler, "parent", [&] {
    parent.sleep_until(4_ns);
    child = std::make_unique<SoftwareThread>(scheduler, "child", [&] { log.add("child"); });
    log.add("parent");
    parent.sleep_until(6_ns);
    log.add("parent");
  });
  scheduler.run_until(1_us);
  REQUIRE(log.text == "4000 parent\n4000 child\n6000 parent\n");
}

TEST_CASE("stop from a thread ends the run when it waits") {
  Scheduler scheduler("scheduler");
  Log log(scheduler);
  SoftwareThread thread(scheduler, "thread", [&] {
    thread.sleep_until(5_ns);
    scheduler.stop();
    log.add("still running");
    thread.sleep_until(9_ns);
    log.add("went on");
  });
  REQUIRE(scheduler.run_until(1_us) == Scheduler::End::kStopped);
  REQUIRE(log.text == "5000 still running\n");
  REQUIRE(scheduler.run_until(1_us) == Scheduler::End::kIdle);
  REQUIRE(log.text == "5000 still running\n9000 went on\n");
}

}  // namespace rnicsim

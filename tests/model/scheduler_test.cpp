// SPDX-License-Identifier: MIT
#include "model/scheduler.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/invariant.h"
#include "tests/support/own_process.h"

namespace rnicsim {

using namespace literals;
using Trace = std::vector<std::pair<Time, std::uint64_t>>;

namespace {

/// Notes when it is called, and with what.
struct Recorder {
  explicit Recorder(Scheduler& s) : scheduler(s) {}
  void note(std::uint64_t what) { trace.emplace_back(scheduler.now(), what); }
  Callback noting(std::uint64_t what) { return call<&Recorder::note>(this, what); }

  Scheduler& scheduler;
  Trace trace;
};

/// Calls any function; for tests only (a callback of hardware allocates nothing).
struct Action {
  std::function<void()> function;
  void run() { function(); }
  Callback callback() { return call<&Action::run>(this); }
};

}  // namespace

TEST_CASE("entries of one instant run by rank, link and order of insertion") {
  for (const bool run_ahead : {true, false}) {
    const std::string order = test::in_own_process([run_ahead] {
      Scheduler scheduler("scheduler", run_ahead);
      Recorder recorder(scheduler);
      scheduler.at_software(5_ns, recorder.noting(6));
      scheduler.at(5_ns, recorder.noting(3));
      scheduler.at_daemon(5_ns, recorder.noting(4));
      scheduler.at(5_ns, recorder.noting(5));
      scheduler.at_arrival(5_ns, 9, recorder.noting(2));
      scheduler.at_arrival(5_ns, 2, recorder.noting(1));
      scheduler.at(4_ns, recorder.noting(0));
      scheduler.run_until(1_us);
      std::string text;
      for (const auto& [time, what] : recorder.trace) text += std::to_string(what);
      return text;
    });
    REQUIRE(order == "0123456");
  }
}

TEST_CASE("an entry may schedule more at its own instant") {
  Scheduler scheduler("scheduler");
  Recorder recorder(scheduler);
  Action again{[&] {
    scheduler.at(scheduler.now(), recorder.noting(2));
    scheduler.at_arrival(scheduler.now(), 0, recorder.noting(1));
  }};
  scheduler.at(3_ns, again.callback());
  scheduler.at_software(3_ns, recorder.noting(3));
  REQUIRE(scheduler.run_until(1_us) == Scheduler::End::kIdle);
  REQUIRE(recorder.trace == Trace{{3_ns, 1}, {3_ns, 2}, {3_ns, 3}});
  REQUIRE(scheduler.callbacks() == 4);
}

TEST_CASE("an entry in the past is a broken invariant that run_until throws") {
  Scheduler scheduler("scheduler");
  Recorder recorder(scheduler);
  Action past{[&] { scheduler.at(4_ns, recorder.noting(1)); }};
  scheduler.at(5_ns, past.callback());
  REQUIRE_THROWS_AS(scheduler.run_until(1_us), InvariantBroken);
  REQUIRE(recorder.trace.empty());
}

TEST_CASE("an exception of a callback reaches the caller, and the run can go on") {
  Scheduler scheduler("scheduler");
  Recorder recorder(scheduler);
  Action bad{[] { throw std::out_of_range("bad"); }};
  scheduler.at(5_ns, bad.callback());
  scheduler.at(6_ns, recorder.noting(1));
  REQUIRE_THROWS_AS(scheduler.run_until(1_us), std::out_of_range);
  REQUIRE(recorder.trace.empty());
  REQUIRE(scheduler.run_until(1_us) == Scheduler::End::kIdle);
  REQUIRE(recorder.trace == Trace{{6_ns, 1}});
}

TEST_CASE("daemons keep nothing alive") {
  Scheduler scheduler("scheduler");
  Recorder recorder(scheduler);
  Action tick;
  tick.function = [&] {
    recorder.note(0);
    scheduler.at_daemon(scheduler.now() + 10_ns, tick.callback());
  };
  scheduler.at_daemon(10_ns, tick.callback());
  scheduler.at(25_ns, recorder.noting(1));
  REQUIRE(scheduler.run_until(1_us) == Scheduler::End::kIdle);
  REQUIRE(recorder.trace == Trace{{10_ns, 0}, {20_ns, 0}, {25_ns, 1}});
  REQUIRE(scheduler.now() == 25_ns);
}

TEST_CASE("an empty run ends at once, again and again") {
  Scheduler scheduler("scheduler");
  for (int i = 0; i < 3; ++i) REQUIRE(scheduler.run_until(Time::never()) == Scheduler::End::kIdle);
  REQUIRE(scheduler.now() == Time());
}

TEST_CASE("run_until includes its end, and a second call goes on from there") {
  for (const bool run_ahead : {true, false}) {
    const std::string text = test::in_own_process([run_ahead] {
      Scheduler scheduler("scheduler", run_ahead);
      Recorder recorder(scheduler);
      std::string text;
      const auto run = [&](Time end) {
        recorder.trace.clear();
        const auto reason = scheduler.run_until(end);
        for (const auto& [time, what] : recorder.trace) text += std::to_string(what) + ' ';
        text += reason == Scheduler::End::kIdle ? "idle@" : "reached@";
        text += std::to_string(scheduler.now().ps()) + '=' +
                std::to_string(sc_core::sc_time_stamp().value()) + ' ';
      };
      scheduler.at(10_ns, recorder.noting(1));
      scheduler.at(20_ns, recorder.noting(2));
      scheduler.at_software(20_ns, recorder.noting(3));
      scheduler.at(20001_ps, recorder.noting(4));
      run(15_ns);
      run(20_ns);
      run(20_ns);
      scheduler.at(20_ns, recorder.noting(5));
      run(1_us);
      return text;
    });
    REQUIRE(text ==
            "1 reached@15000=15000 2 3 reached@20000=20000 reached@20000=20000 "
            "5 4 idle@20001=20001 ");
  }
}

TEST_CASE("stop ends the run between two entries, and the next run has the rest") {
  Scheduler scheduler("scheduler");
  Recorder recorder(scheduler);
  Action stop{[&] { scheduler.stop(); }};
  scheduler.at(5_ns, stop.callback());
  scheduler.at(5_ns, recorder.noting(1));
  REQUIRE(scheduler.run_until(1_us) == Scheduler::End::kStopped);
  REQUIRE(recorder.trace.empty());
  REQUIRE(scheduler.now() == 5_ns);
  REQUIRE(scheduler.run_until(1_us) == Scheduler::End::kIdle);
  REQUIRE(recorder.trace == Trace{{5_ns, 1}});
}

TEST_CASE("the poll is asked every 4,096 entries and can stop the run") {
  Scheduler scheduler("scheduler");
  Action forever;
  forever.function = [&] { scheduler.at(scheduler.now() + 1_ns, forever.callback()); };
  scheduler.at(Time(), forever.callback());
  int asked = 0;
  scheduler.set_poll([](void* count) { return ++*static_cast<int*>(count) == 3; }, &asked);
  REQUIRE(scheduler.run_until(Time::s(1)) == Scheduler::End::kStopped);
  REQUIRE(asked == 3);
  REQUIRE(scheduler.callbacks() == 3 * 4096);
}

TEST_CASE("a run that would end in the past is refused") {
  Scheduler scheduler("scheduler");
  Recorder recorder(scheduler);
  scheduler.at(10_ns, recorder.noting(1));
  scheduler.run_until(1_us);
  REQUIRE_THROWS_AS(scheduler.run_until(9_ns), InvariantBroken);
}

TEST_CASE("running ahead, the annotation leads from the kernel's time to now") {
  Scheduler scheduler("scheduler");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
  Action look{
      [&] { seen.emplace_back(sc_core::sc_time_stamp().value(), scheduler.annotation().value()); }};
  scheduler.at(5_ns, look.callback());
  scheduler.at(7_ns, look.callback());
  scheduler.run_until(1_us);
  REQUIRE(seen == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 5000}, {0, 7000}});
}

TEST_CASE("hardware does not run past a kernel event that it notified") {
  for (const bool run_ahead : {true, false}) {
    const std::string order = test::in_own_process([run_ahead] {
      Scheduler scheduler("scheduler", run_ahead);
      Recorder recorder(scheduler);
      sc_core::sc_event event("event");
      sc_core::sc_spawn_options options;
      options.spawn_method();
      options.dont_initialize();
      options.set_sensitivity(&event);
      sc_core::sc_spawn(
          [&] {
            const Time time = scheduler.enter_foreign(sc_core::SC_ZERO_TIME);
            recorder.note(100);
            scheduler.at(time + 1_ns, recorder.noting(101));
          },
          "foreign", &options);
      Action notify{[&] { scheduler.notify(event, scheduler.now() + 3_ns); }};
      scheduler.at(5_ns, notify.callback());
      for (unsigned n = 4; n < 12; ++n) scheduler.at(Time::ns(n), recorder.noting(n));
      scheduler.at_software(8_ns, recorder.noting(50));
      scheduler.run_until(1_us);
      std::string text;
      for (const auto& [time, what] : recorder.trace)
        text += std::to_string(time.ps() / 1000) + ':' + std::to_string(what) + ' ';
      return text;
    });
    REQUIRE(order == "4:4 5:5 6:6 7:7 8:8 8:100 8:50 9:9 9:101 10:10 11:11 ");
  }
}

TEST_CASE("a foreign sc_start drives the hardware without run_until") {
  Scheduler scheduler("scheduler");
  Recorder recorder(scheduler);
  scheduler.at(5_ns, recorder.noting(1));
  scheduler.at(7_ns, recorder.noting(2));
  scheduler.at_software(7_ns, recorder.noting(3));
  sc_core::sc_start(6, sc_core::SC_NS);
  REQUIRE(recorder.trace == Trace{{5_ns, 1}});
  sc_core::sc_start(6, sc_core::SC_NS);
  REQUIRE(recorder.trace == Trace{{5_ns, 1}, {7_ns, 2}, {7_ns, 3}});
  REQUIRE(scheduler.enter_foreign(sc_core::sc_time(1, sc_core::SC_NS)) == 13_ns);
  REQUIRE(scheduler.now() == 12_ns);
}

TEST_CASE("a failure under a foreign sc_start is loud") {
  const std::string text = test::in_own_process([] {
    sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
    sc_core::sc_report_handler::set_handler(nullptr);
    Scheduler scheduler("scheduler");
    Action bad{[] { throw std::runtime_error("a broken block"); }};
    scheduler.at(5_ns, bad.callback());
    sc_core::sc_start(6, sc_core::SC_NS);
    return std::string("nothing");
  });
  REQUIRE(text.find("exception: ") == 0);
  REQUIRE(text.find("a broken block") != std::string::npos);
}

TEST_CASE("an observer of time sees what was before each later instant, and changes nothing") {
  struct Observer : TimeObserver {
    explicit Observer(Recorder& r) : recorder(r) {}
    Time before(Time next) override {
      list.emplace_back(next, recorder.trace.size());
      return next < 7_ns ? next : 9_ns;
    }
    Recorder& recorder;
    Trace list;
  };
  Scheduler scheduler("scheduler");
  Recorder recorder(scheduler);
  Observer observer(recorder);
  scheduler.observe(observer, 2_ns);
  for (const Time at : {1_ns, 2_ns, 4_ns, 4_ns, 7_ns, 8_ns, 9_ns, 12_ns})
    scheduler.at(at, recorder.noting(0));
  REQUIRE(scheduler.run_until(1_us) == Scheduler::End::kIdle);
  // Asked first beyond 2 ns, then at every instant until it says 9 ns.
  CHECK(observer.list == Trace{{4_ns, 2}, {7_ns, 4}, {12_ns, 7}});
  CHECK(scheduler.callbacks() == 8);
  CHECK(scheduler.now() == 12_ns);
}

}  // namespace rnicsim

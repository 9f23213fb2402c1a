// SPDX-License-Identifier: MIT
#include "nic/tx_scheduler.h"

#include <catch2/catch.hpp>
#include <functional>
#include <utility>
#include <vector>

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

/// A turn: which queue pair, since when it was ready.
using Turn = std::pair<std::uint32_t, Time>;
using Turns = std::vector<Turn>;

struct Bench {
  NicQueuePair& qp(std::uint32_t number) { return qps.at(Qpn(number)); }
  void at(Time time, std::function<void()> function) {
    actions.push_back(std::move(function));
    scheduler.at(time, call<&Bench::act>(this, actions.size() - 1));
  }
  void act(std::uint64_t index) { actions[index](); }
  void kick() { kicks.push_back(scheduler.now()); }
  void run() { scheduler.run_until(1_ms); }
  Turn take() {
    const Time since = tx.ready_since(0);
    return {tx.take(0).qpn.value(), since};
  }
  Turns take_all() {
    Turns turns;
    while (!tx.empty()) turns.push_back(take());
    return turns;
  }

  Scheduler scheduler{"scheduler"};
  QueuePairTable qps;
  TxScheduler tx{scheduler, qps, call<&Bench::kick>(this)};
  std::vector<std::function<void()>> actions;
  std::vector<Time> kicks;
};

}  // namespace

TEST_CASE("a queue pair that may send already is ready in the same call, since its own time") {
  Bench bench;
  bench.at(100_ns, [&] {
    bench.tx.add(bench.qp(7), 40_ns);
    CHECK(bench.kicks == std::vector<Time>{100_ns});
    bench.tx.add(bench.qp(3), 100_ns);
    CHECK(bench.kicks == std::vector<Time>{100_ns, 100_ns});
    CHECK(bench.take_all() == Turns{{7, 40_ns}, {3, 100_ns}});
  });
  bench.run();
  CHECK(bench.kicks.size() == 2);
  CHECK(bench.tx.empty());
}

TEST_CASE("a queue pair that is paced becomes ready at its time, to the picosecond") {
  Bench bench;
  bench.at(100_ns, [&] { bench.tx.add(bench.qp(7), 250'001_ps); });
  bench.at(250_ns, [&] { CHECK(bench.tx.empty()); });
  bench.run();
  CHECK(bench.kicks == std::vector<Time>{250'001_ps});
  CHECK(bench.take_all() == Turns{{7, 250'001_ps}});
}

TEST_CASE("a queue pair that waits may be hurried, to a later time or at once, and comes once") {
  Bench bench;
  bench.at(0_ns, [&] {
    for (const std::uint32_t number : {1U, 2U, 3U}) bench.tx.add(bench.qp(number), 500_ns);
    bench.tx.hurry(bench.qp(1), 300_ns);
    bench.tx.hurry(bench.qp(1), 400_ns);  // not sooner
    bench.tx.hurry(bench.qp(4), 100_ns);  // not in here
  });
  bench.at(200_ns, [&] {
    bench.tx.hurry(bench.qp(2), 50_ns);
    bench.tx.hurry(bench.qp(2), 0_ns);
  });
  bench.run();
  CHECK(bench.kicks == std::vector<Time>{200_ns, 300_ns, 500_ns});
  CHECK(bench.take_all() == Turns{{2, 200_ns}, {1, 300_ns}, {3, 500_ns}});
}

TEST_CASE("turns go by the time of becoming ready, at one instant by the order of adding") {
  Bench bench;
  bench.at(100_ns, [&] {
    bench.tx.add(bench.qp(1), 300_ns);
    bench.tx.add(bench.qp(2), 200_ns);
    bench.tx.add(bench.qp(3), 0_ns);
    bench.tx.add(bench.qp(4), 200_ns);
    bench.tx.add(bench.qp(5), 100_ns);
  });
  bench.run();
  CHECK(bench.kicks == std::vector<Time>{100_ns, 100_ns, 200_ns, 200_ns, 300_ns});
  CHECK(bench.take_all() == Turns{{3, 0_ns}, {5, 100_ns}, {2, 200_ns}, {4, 200_ns}, {1, 300_ns}});
}

TEST_CASE(
    "whoever has waited longest on the list goes first, though another is ready since earlier") {
  Bench bench;
  bench.at(200_ns, [&] {
    bench.tx.add(bench.qp(1), 200_ns);
    bench.tx.add(bench.qp(2), 50_ns);
    CHECK(bench.take_all() == Turns{{1, 200_ns}, {2, 50_ns}});
  });
  bench.run();
  CHECK(bench.kicks.size() == 2);
}

TEST_CASE("those that are added again after each turn take turns round robin") {
  Bench bench;
  std::vector<std::uint32_t> order;
  bench.at(10_ns, [&] {
    for (const std::uint32_t number : {4U, 9U, 2U}) bench.tx.add(bench.qp(number), 0_ns);
    for (int i = 0; i < 7; ++i) {
      NicQueuePair& qp = bench.tx.take(0);
      order.push_back(qp.qpn.value());
      bench.tx.add(qp, bench.scheduler.now());
    }
  });
  bench.run();
  CHECK(order == std::vector<std::uint32_t>{4, 9, 2, 4, 9, 2, 4});
  CHECK(bench.take_all() == Turns{{9, 10_ns}, {2, 10_ns}, {4, 10_ns}});
}

TEST_CASE("a paced queue pair gives its turns to the others until its time has come") {
  Bench bench;
  Turns turns;
  // A turn every 10 ns; queue pair 1 may send every 25 ns only.
  bench.at(0_ns, [&] {
    bench.tx.add(bench.qp(1), 0_ns);
    bench.tx.add(bench.qp(2), 0_ns);
  });
  for (int i = 0; i < 6; ++i)
    bench.at(10_ns * i, [&] {
      turns.push_back(bench.take());
      const Time now = bench.scheduler.now();
      bench.tx.add(bench.qp(turns.back().first), turns.back().first == 1 ? now + 25_ns : now);
    });
  bench.run();
  CHECK(turns == Turns{{1, 0_ns}, {2, 0_ns}, {2, 10_ns}, {2, 20_ns}, {1, 25_ns}, {2, 30_ns}});
}

// SPDX-License-Identifier: MIT
// Two connections over a network that loses, repeats, delays and marks as a seed has it: every byte
// arrives in order, and both sides close.
#include "model/random.h"
#include "tests/host/tcp/tcp_lines.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

namespace {

TcpConfig any_config(Random& random) {
  const auto coin = [&] { return random.below(2) == 1; };
  TcpConfig config;
  config.send_buffer = Bytes(2048 + random.below(200'000));
  config.receive_buffer = Bytes(2048 + random.below(200'000));
  config.window_scaling = coin();
  config.sack = coin();
  config.timestamps = coin();
  config.ecn = coin();
  config.nagle = coin();
  config.delayed_ack = coin() ? 40_ms : Time();
  config.min_rto = coin() ? 200_ms : 1_ms;
  config.retries = config.syn_retries = 100;
  config.max_rto = Time::s(2);
  config.algorithm = static_cast<TcpAlgorithm>(random.below(3));
  return config;
}

struct Trial {
  Trial(Scheduler& scheduler, std::uint64_t seed)
      : random(seed), bench(scheduler, any_bench()), hostile(random.below(12)) {
    bench.logs = false;
    bench.policy = [this](const TcpEnd&, const TcpSegment&) { return fate(); };
    total_a = random.below(300'000);
    total_b = random.below(2) == 0 ? 0 : random.below(100'000);
  }
  TcpBenchConfig any_bench() {
    TcpBenchConfig config;
    config.a = any_config(random);
    config.b = any_config(random);
    config.a_ends.initial = TcpSeq(static_cast<std::uint32_t>(random.next()));
    config.b_ends.initial = TcpSeq(static_cast<std::uint32_t>(random.next()));
    config.a_ends.mss = static_cast<std::uint32_t>(200 + random.below(8800));
    config.b_ends.mss = static_cast<std::uint32_t>(200 + random.below(8800));
    config.a_ends.burst = random.below(2) == 0 ? 0 : 65'000;
    config.merges = random.below(3) == 0;
    return config;
  }
  TcpFate fate() {
    TcpFate fate;
    fate.lost = random.below(100) < hostile;
    fate.marked = random.below(20) == 0;
    if (random.below(10) == 0) fate.delay = Time::us(static_cast<std::int64_t>(random.below(100)));
    if (random.below(100) < hostile) fate.copies = 2;
    return fate;
  }
  void run() {
    bench.open();
    // Writes of all sizes, at any time.
    while (written_a < total_a || written_b < total_b) {
      step(bench.a, written_a, total_a);
      step(bench.b, written_b, total_b);
      bench.run(Time::us(static_cast<std::int64_t>(random.below(3000))));
    }
    // To close what is not open yet means to give it up.
    while (!bench.a.is_established || !bench.b.is_established) bench.run(Time::s(1));
    bench.a.close_behind_all();
    bench.b.close_behind_all();
    bench.run();
  }
  void step(TcpEnd& end, std::uint64_t& written, std::uint64_t total) {
    const std::uint64_t bytes = std::min(total - written, random.below(20'000));
    written += bytes;
    if (bytes != 0) end.write(bytes);
  }

  Random random;
  TcpBench bench;
  std::uint64_t hostile;  ///< percent
  std::uint64_t total_a = 0;
  std::uint64_t total_b = 0;
  std::uint64_t written_a = 0;
  std::uint64_t written_b = 0;
};

void check_seeds(std::uint64_t first, std::uint64_t count) {
  Scheduler scheduler("scheduler");
  std::vector<std::unique_ptr<Trial>> trials;  // timers may come when a trial is over
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    trials.push_back(std::make_unique<Trial>(scheduler, seed));
    Trial& trial = *trials.back();
    trial.run();
    CAPTURE(seed, trial.hostile, name_of(trial.bench.a.connection.state()),
            name_of(trial.bench.b.connection.state()), trial.bench.a.failure,
            trial.bench.b.failure);
    REQUIRE(trial.bench.b.connection.received() == trial.total_a);
    REQUIRE(trial.bench.a.connection.received() == trial.total_b);
    REQUIRE(trial.bench.a.wrong_bytes + trial.bench.b.wrong_bytes == 0);
    REQUIRE((trial.bench.a.connection.at_end() && trial.bench.b.connection.at_end()));
    REQUIRE(trial.bench.a.connection.acknowledged() == trial.total_a);
    REQUIRE(trial.bench.b.connection.acknowledged() == trial.total_b);
  }
}

}  // namespace

TEST_CASE("Every byte arrives in order, whatever the network does") { check_seeds(1, 400); }

// SPDX-License-Identifier: MIT
#include "host/pcie_direction.h"

#include <catch2/catch.hpp>
#include <random>

#include "host/pcie_arithmetic.h"
#include "model/scheduler.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/naive_pcie.h"

namespace {

using namespace rnicsim;
using namespace rnicsim::literals;

constexpr unsigned kWrites = 0;
constexpr unsigned kReads = 1;
constexpr unsigned kOtherReads = 2;
constexpr unsigned kCompletions = 3;
constexpr unsigned kControl = 4;

PcieDirectionConfig gen3_x8() {
  PcieDirectionConfig config;
  config.rate = pcie_tlp_rate(3, 8, 256_B);
  config.max_tlp = 280_B;
  config.posted = {128, 1024};
  config.nonposted = {64, 0};
  config.credit_return = 300_ns;
  config.delivery_delay = {0_ns, 150_ns, 150_ns, 150_ns, 0_ns};
  return config;
}

/// One request as both models see it.
naive::Request request(unsigned stream, TlpClass kind, Time arrival, std::uint64_t address,
                       std::uint32_t bytes) {
  naive::Request r;
  r.stream = stream;
  r.kind = kind;
  r.arrival = arrival;
  const std::uint64_t end = address + bytes;
  while (address < end) {
    const std::uint64_t limit = kind == TlpClass::kNonPosted ? 512 : 256;
    const std::uint64_t page_end = (address / 4096 + 1) * 4096;
    const std::uint64_t n = std::min({end - address, limit, page_end - address});
    if (kind == TlpClass::kNonPosted)
      r.tlps.push_back({24, 0});
    else
      r.tlps.push_back(
          {static_cast<std::uint32_t>(n + 24), static_cast<std::uint32_t>(divide_up(n, 16))});
    address += n;
  }
  return r;
}

Train train_of(const naive::Request& r) {
  Train train;
  train.kind = r.kind;
  train.tlps = static_cast<std::uint32_t>(r.tlps.size());
  for (const naive::Tlp& tlp : r.tlps) {
    train.bytes += tlp.bytes;
    train.data_credits += tlp.data_credits;
    train.tlp_bytes = std::max(train.tlp_bytes, tlp.bytes);
    train.tlp_credits = std::max(train.tlp_credits, tlp.data_credits);
  }
  return train;
}

/// Feeds requests to a PcieDirection at their times and keeps what it delivers.
class Bench {
 public:
  Bench(Scheduler& scheduler, const PcieDirectionConfig& config)
      : scheduler_(scheduler), config_(config), direction_(scheduler, config) {}

  void run(const std::vector<naive::Request>& requests) {
    requests_ = &requests;
    base_ = scheduler_.now() + 1_us;
    delivered_.assign(requests.size(), {});
    for (std::size_t i = 0; i < requests.size(); ++i)
      scheduler_.at(base_ + requests[i].arrival, call<&Bench::send>(this, i));
    const std::uint64_t before = scheduler_.callbacks();
    scheduler_.run_until(scheduler_.now() + 1_ms);
    callbacks_ = scheduler_.callbacks() - before - requests.size();
  }
  /// Relative to the start of the run.
  Time end(std::size_t i) const { return delivered_[i].end; }
  Time start(std::size_t i) const { return delivered_[i].start; }
  std::uint64_t callbacks() const { return callbacks_; }
  PcieDirection& direction() { return direction_; }

 private:
  void send(std::uint64_t i) {
    Train train = train_of((*requests_)[i]);
    train.receiver = deliver_to<&Bench::deliver>(this);
    train.cookie = i;
    direction_.send((*requests_)[i].stream, train);
  }
  void deliver(std::uint64_t i, const TrainTimes& times) {
    CHECK(scheduler_.now() == times.end + config_.delivery_delay[(*requests_)[i].stream]);
    CHECK(delivered_[i].end == Time());
    delivered_[i] = {times.start - base_, times.first_end - base_, times.end - base_};
  }

  Scheduler& scheduler_;
  PcieDirectionConfig config_;
  PcieDirection direction_;
  const std::vector<naive::Request>* requests_ = nullptr;
  Time base_;
  std::vector<TrainTimes> delivered_;
  std::uint64_t callbacks_ = 0;
};

void sort_by_arrival(std::vector<naive::Request>& requests) {
  std::stable_sort(requests.begin(), requests.end(),
                   [](const auto& a, const auto& b) { return a.arrival < b.arrival; });
}

/// Both models on the same requests; each end within 1 % of its stay or `turns` largest TLPs.
std::uint64_t compare(Scheduler& scheduler, const PcieDirectionConfig& config,
                      std::vector<naive::Request> requests, int turns = 1,
                      std::uint64_t* beyond_one = nullptr) {
  sort_by_arrival(requests);
  Bench bench(scheduler, config);
  bench.run(requests);
  naive::Link naive(config);
  naive.run(requests);
  const Time tlp = ByteTime(config.rate).of(config.max_tlp);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Time allowed = std::max(tlp * turns, (requests[i].end - requests[i].arrival) / 100);
    const Time difference =
        std::max(bench.end(i), requests[i].end) - std::min(bench.end(i), requests[i].end);
    INFO("request " << i << " stream " << requests[i].stream << " arrival "
                    << requests[i].arrival.as_ns() << " ours " << bench.end(i).as_ns() << " naive "
                    << requests[i].end.as_ns());
    CHECK(difference <= allowed);
    if (beyond_one != nullptr && difference > tlp) ++*beyond_one;
    bytes += train_of(requests[i]).bytes;
  }
  CHECK(bench.direction().idle());
  test::MetricRecorder metrics;
  bench.direction().report(MetricScope(metrics, "d"));
  CHECK(metrics.values.at("d.bytes") == bytes);
  CHECK(metrics.values.at("d.busy") ==
        static_cast<std::uint64_t>(ByteTime(config.rate).of(Bytes(bytes)).ps()));
  return bench.callbacks();
}

}  // namespace

TEST_CASE("A lone train ends after exactly its bytes and is delivered after the delay") {
  Scheduler scheduler("scheduler");
  const PcieDirectionConfig config = gen3_x8();
  Bench bench(scheduler, config);
  const auto write = request(kWrites, TlpClass::kPosted, 10_ns, 0, 4096);
  bench.run({write});
  CHECK(bench.start(0).ps() == (10_ns).ps());
  CHECK(bench.end(0).ps() == (10_ns + ByteTime(config.rate).of(Bytes(4096 + 16 * 24))).ps());
  CHECK(bench.callbacks() == 1);
}

TEST_CASE("A busy period does not drift: train n ends at n times its bytes") {
  Scheduler scheduler("scheduler");
  const PcieDirectionConfig config = gen3_x8();
  std::vector<naive::Request> requests;
  for (int i = 0; i < 100; ++i)
    requests.push_back(request(kWrites, TlpClass::kPosted, 0_ns, 0, 65));
  auto unlimited = config;
  unlimited.posted = {100000, 100000};
  Bench bench(scheduler, unlimited);
  bench.run(requests);
  for (std::size_t i = 0; i < 100; ++i)
    CHECK(bench.end(i).ps() == (ByteTime(config.rate).of(Bytes((i + 1) * 89))).ps());
  CHECK(bench.callbacks() == 100);
}

TEST_CASE("One stream of writes agrees with the model of single TLPs") {
  Scheduler scheduler("scheduler");
  std::vector<naive::Request> requests;
  for (int i = 0; i < 50; ++i)
    requests.push_back(request(kWrites, TlpClass::kPosted, 400_ns * i, 0, 4000 + i));
  const auto callbacks = compare(scheduler, gen3_x8(), requests);
  CHECK(callbacks == 50);
}

TEST_CASE("A small read of another engine enters a long train after at most one TLP") {
  Scheduler scheduler("scheduler");
  const PcieDirectionConfig config = gen3_x8();
  Bench bench(scheduler, config);
  const std::vector<naive::Request> requests = {
      request(kWrites, TlpClass::kPosted, 0_ns, 0, 4096),
      request(kReads, TlpClass::kNonPosted, 100_ns, 0, 64)};
  bench.run(requests);
  const ByteTime byte(config.rate);
  // 100 ns lie within the third TLP of the write (38.7 ns each).
  CHECK(bench.start(1).ps() == (byte.of(Bytes(3 * 280))).ps());
  CHECK(bench.end(1).ps() == (byte.of(Bytes(3 * 280 + 24))).ps());
  CHECK(bench.end(0).ps() == (byte.of(Bytes(16 * 280 + 24))).ps());
}

TEST_CASE("Two engines share the link by turns") {
  Scheduler scheduler("scheduler");
  std::vector<naive::Request> requests;
  for (int i = 0; i < 40; ++i) {
    requests.push_back(request(kCompletions, TlpClass::kCompletion, 500_ns * i, 0, 4096));
    requests.push_back(request(kControl, TlpClass::kCompletion, 333_ns * i, 0, 1024));
  }
  compare(scheduler, gen3_x8(), requests);
}

TEST_CASE("Reads against writes") {
  Scheduler scheduler("scheduler");
  std::vector<naive::Request> requests;
  for (int i = 0; i < 60; ++i) {
    requests.push_back(request(kWrites, TlpClass::kPosted, 630_ns * i, 0, 4096 - 64 * i));
    requests.push_back(request(kReads, TlpClass::kNonPosted, 621_ns * i, 0, 4096));
    requests.push_back(request(kOtherReads, TlpClass::kNonPosted, 97_ns * i, 0, 64));
  }
  compare(scheduler, gen3_x8(), requests);
}

TEST_CASE("Control traffic between trains") {
  Scheduler scheduler("scheduler");
  std::vector<naive::Request> requests;
  for (int i = 0; i < 60; ++i) {
    requests.push_back(request(kCompletions, TlpClass::kCompletion, 640_ns * i, 0, 4096));
    requests.push_back(request(kControl, TlpClass::kPosted, 211_ns * i, 0, 8));
  }
  compare(scheduler, gen3_x8(), requests);
}

TEST_CASE("Writes that lack credits run at the pace of the credits' return") {
  Scheduler scheduler("scheduler");
  PcieDirectionConfig config = gen3_x8();
  config.posted = {8, 64};  // 1 KiB of data, four TLPs
  config.credit_return = 500_ns;
  std::vector<naive::Request> requests;
  for (int i = 0; i < 20; ++i)
    requests.push_back(request(kWrites, TlpClass::kPosted, 10_ns * i, 0, 4096));
  compare(scheduler, config, requests);
}

TEST_CASE("Reads that lack credits are passed by writes but not by earlier blocked writes") {
  Scheduler scheduler("scheduler");
  PcieDirectionConfig config = gen3_x8();
  config.nonposted = {4, 0};
  config.posted = {8, 64};
  config.credit_return = 700_ns;
  std::vector<naive::Request> requests;
  for (int i = 0; i < 20; ++i) {
    requests.push_back(request(kReads, TlpClass::kNonPosted, 100_ns * i, 0, 4096));
    requests.push_back(request(kWrites, TlpClass::kPosted, 250_ns * i, 0, 512));
    requests.push_back(request(kControl, TlpClass::kCompletion, 133_ns * i, 0, 64));
  }
  compare(scheduler, config, requests);
}

TEST_CASE("A completion behind a write without credits waits, one before it does not") {
  Scheduler scheduler("scheduler");
  PcieDirectionConfig config = gen3_x8();
  config.posted = {8, 32};  // two TLPs
  config.credit_return = 1_us;
  Bench bench(scheduler, config);
  const std::vector<naive::Request> requests = {
      request(kWrites, TlpClass::kPosted, 0_ns, 0, 512),
      request(kCompletions, TlpClass::kCompletion, 10_ns, 0, 1024),
      request(kWrites, TlpClass::kPosted, 20_ns, 0, 256),
      request(kControl, TlpClass::kCompletion, 200_ns, 0, 64)};
  bench.run(requests);
  const ByteTime byte(config.rate);
  CHECK(bench.end(1).ps() == (byte.of(Bytes(2 * 280 + 4 * 280))).ps());
  CHECK(bench.end(2).ps() == (byte.of(280_B) + 1_us + byte.of(280_B)).ps());
  CHECK(bench.end(3).ps() > bench.end(2).ps());
}

TEST_CASE("Random mixes agree with the model of single TLPs") {
  Scheduler scheduler("scheduler");
  std::uint64_t trains = 0;
  std::uint64_t callbacks = 0;
  std::uint64_t beyond_one_tlp = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    PcieDirectionConfig config = gen3_x8();
    if (seed % 4 == 0) {  // 2 KiB and 16 requests on their way
      config.posted = {16, 128};
      config.nonposted = {16, 0};
    }
    std::vector<naive::Request> requests;
    const unsigned gap = 50 + random() % 400;
    for (int i = 0; i < 100; ++i) {
      const Time arrival = Time::ns(static_cast<std::int64_t>(random() % (gap * 100)));
      std::uint64_t address = random() % 3 == 0 ? random() % 65536 : random() % 16 * 4096;
      constexpr std::uint32_t kSizes[] = {8, 64, 64, 256, 1024, 4096, 4096};
      const std::uint32_t bytes = random() % 5 == 0 ? 1 + random() % 4096 : kSizes[random() % 7];
      if (address / 4096 != (address + bytes - 1) / 4096) address = address / 4096 * 4096;
      switch (random() % 4) {
        case 0:
          requests.push_back(request(kWrites, TlpClass::kPosted, arrival, address, bytes));
          break;
        case 1:
          requests.push_back(request(kReads, TlpClass::kNonPosted, arrival, address, bytes));
          break;
        case 2:
          requests.push_back(request(kOtherReads, TlpClass::kNonPosted, arrival, 0, 64));
          break;
        default:
          requests.push_back(request(kCompletions, TlpClass::kCompletion, arrival, address, bytes));
      }
    }
    INFO("seed " << seed);
    // Where turns of four streams fall shifts with unaligned TLPs and with single credits.
    callbacks += compare(scheduler, config, requests, 3, &beyond_one_tlp);
    trains += requests.size();
  }
  // An arrival that delays a delivery costs a look at the clock; no more.
  CHECK(callbacks <= 2 * trains);
  CHECK(beyond_one_tlp <= trains / 1000);
}

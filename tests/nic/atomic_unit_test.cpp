// SPDX-License-Identifier: MIT
#include "nic/atomic_unit.h"

#include <catch2/catch.hpp>

#include "model/byte_order.h"
#include "tests/support/endpoint_bench.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::EndpointBench;
using test::Noted;
using Kind = AtomicUnit::Kind;

namespace {

constexpr std::uint64_t kAddress = 0x10040;
constexpr Time kRead = EndpointBench::kRead;
constexpr Time kWrite = EndpointBench::kWrite;
constexpr Time kTurn = kRead + kWrite;  // for which a slot is held
std::uint64_t ps(Time time) { return static_cast<std::uint64_t>(time.ps()); }
constexpr Time kPipeline = 20_ns;  // 8 cycles

struct Bench : EndpointBench {
  explicit Bench(const AtomicUnitConfig& config = quick(),
                 const PcieEndpointConfig& pcie_config = {})
      : EndpointBench(pcie_config), unit(scheduler, clock, pcie, config) {}
  /// Operations may follow each other at every clock edge.
  static AtomicUnitConfig quick() {
    AtomicUnitConfig config;
    config.pipeline.interval = Cycles(1);
    return config;
  }

  std::uint64_t value(std::uint64_t address) { return load_le64(memory.at(address)); }
  void set(std::uint64_t address, std::uint64_t value) { store_le64(memory.at(address), value); }
  void add_at(Time time, std::uint64_t address, std::uint64_t addend) {
    at(time, [this, address, addend] {
      submit({Kind::kFetchAdd, PhysicalAddress(address), addend});
    });
  }
  void submit(const AtomicUnit::Operation& operation) {
    tickets.push_back(unit.submit(operation, call<&Bench::done>(this, tickets.size())));
  }
  /// Notes the original value.
  void done(std::uint64_t index) {
    notes.note(unit.original(tickets[index]));
    unit.release(tickets[index]);
  }

  Clock clock{Frequency::mhz(400)};
  AtomicUnit unit;
  std::vector<AtomicUnit::Ticket> tickets;
};

}  // namespace

TEST_CASE("a fetch-and-add reads, adds and writes the little-endian value") {
  Bench bench;
  bench.set(kAddress, 0x1122334455667788);
  bench.add_at(10_ns, kAddress, 0x10);
  bench.run();
  CHECK(bench.notes.list == Noted{{0x1122334455667788, 10_ns + kPipeline + kTurn}});
  CHECK(bench.value(kAddress) == 0x1122334455667798);
  CHECK(*bench.memory.at(kAddress) == 0x98);
  const auto& log = bench.memory.log;
  REQUIRE(log.size() == 2);
  CHECK_FALSE(log[0].write);
  CHECK(log[0].begin == 10_ns + kPipeline);
  CHECK(log[1].write);
  CHECK(log[1].begin == log[0].end);
  for (const auto& access : log) {
    CHECK(access.address == kAddress);
    CHECK(access.bytes == 8);
    CHECK(access.purpose == DmaPurpose::kAtomic);
    CHECK(access.engine == DmaEngineId::kPosted);
    CHECK_FALSE(access.elided);
  }
  CHECK(bench.unit.idle());
}

TEST_CASE("an addition wraps at 2^64") {
  Bench bench;
  bench.set(kAddress, ~std::uint64_t{0});
  bench.add_at(10_ns, kAddress, 3);
  bench.run();
  CHECK(bench.value(kAddress) == 2);
}

TEST_CASE("a compare-and-swap writes if the value is the one compared, else nothing") {
  Bench bench;
  bench.set(kAddress, 5);
  bench.at(10_ns, [&] { bench.submit({Kind::kCompareSwap, PhysicalAddress(kAddress), 9, 5}); });
  bench.at(1_us, [&] { bench.submit({Kind::kCompareSwap, PhysicalAddress(kAddress), 7, 5}); });
  bench.run();
  CHECK(bench.notes.list == Noted{{5, 10_ns + kPipeline + kTurn}, {9, 1_us + kPipeline + kRead}});
  CHECK(bench.value(kAddress) == 9);
  CHECK(bench.memory.log.size() == 3);
}

TEST_CASE("operations on one address run one after another, in the order of their coming") {
  Bench bench;
  bench.set(kAddress, 100);
  for (std::uint64_t i = 0; i < 3; ++i) bench.add_at(10_ns, kAddress, 1 << i);
  bench.run();
  const Time start = 10_ns + kPipeline;
  CHECK(bench.notes.list ==
        Noted{{100, start + kTurn}, {101, start + kTurn * 2}, {103, start + kTurn * 3}});
  CHECK(bench.value(kAddress) == 107);
  auto metrics = test::metrics_of(bench.unit);
  // From the second one's asking for the lock, a cycle after the first, to the third's turn.
  CHECK(metrics.at("stalled.locks") == ps(kTurn * 2 - 2500_ps));
  CHECK(metrics.at("busy") == ps(kPipeline + kTurn * 3));
  CHECK(metrics.at("occupancy.max") == 3);
}

TEST_CASE("a failed compare gives the lock to the next at once") {
  Bench bench;
  bench.at(10_ns, [&] { bench.submit({Kind::kCompareSwap, PhysicalAddress(kAddress), 9, 5}); });
  bench.add_at(10_ns, kAddress, 1);
  bench.run();
  const Time start = 10_ns + kPipeline;
  CHECK(bench.notes.list == Noted{{0, start + kRead}, {0, start + kRead + kTurn}});
}

TEST_CASE("without locks operations on one address overlap, and an update is lost") {
  AtomicUnitConfig config = Bench::quick();
  config.locks = false;
  Bench bench(config);
  bench.set(kAddress, 100);
  bench.add_at(10_ns, kAddress, 1);
  bench.add_at(10_ns, kAddress, 2);
  bench.run();
  const Time start = 10_ns + kPipeline;
  CHECK(bench.notes.list == Noted{{100, start + kTurn}, {100, start + 2500_ps + kTurn}});
  CHECK(bench.value(kAddress) == 102);
}

TEST_CASE("operations on different slots overlap") {
  Bench bench;
  bench.add_at(10_ns, kAddress, 1);
  bench.add_at(10_ns, kAddress + 8, 1);
  bench.run();
  const Time start = 10_ns + kPipeline;
  CHECK(bench.notes.list == Noted{{0, start + kTurn}, {0, start + 2500_ps + kTurn}});
}

TEST_CASE("the same offset in different pages is one slot") {
  Bench bench;
  bench.add_at(10_ns, kAddress, 1);
  bench.add_at(10_ns, kAddress + 4096, 1);
  bench.run();
  const Time start = 10_ns + kPipeline;
  CHECK(bench.notes.list == Noted{{0, start + kTurn}, {0, start + kTurn * 2}});
}

TEST_CASE("fewer slots share out the offsets of a page") {
  AtomicUnitConfig config = Bench::quick();
  config.slots = 2;
  Bench bench(config);
  bench.add_at(10_ns, 0x10000, 1);
  bench.add_at(10_ns, 0x10800, 1);
  bench.add_at(10_ns, 0x107f8, 1);
  bench.run();
  const Time start = 10_ns + kPipeline;
  CHECK(bench.notes.list ==
        Noted{{0, start + kTurn}, {0, start + 2500_ps + kTurn}, {0, start + kTurn * 2}});
}

TEST_CASE("one slot is one lock for all addresses") {
  AtomicUnitConfig config = Bench::quick();
  config.slots = 1;
  Bench bench(config);
  bench.add_at(10_ns, 0x10000, 1);
  bench.add_at(10_ns, 0x20ff8, 1);
  bench.run();
  const Time start = 10_ns + kPipeline;
  CHECK(bench.notes.list == Noted{{0, start + kTurn}, {0, start + kTurn * 2}});
}

TEST_CASE("operations enter the pipeline at its interval") {
  Bench bench{AtomicUnitConfig{}};
  bench.add_at(10_ns, kAddress, 1);
  bench.add_at(10_ns, kAddress + 8, 1);
  bench.run();
  const Time start = 10_ns + kPipeline;
  CHECK(bench.notes.list == Noted{{0, start + kTurn}, {0, start + 20_ns + kTurn}});
}

TEST_CASE("a place is free again when its operation is released, and who wanted one is told") {
  AtomicUnitConfig config = Bench::quick();
  config.outstanding = 2;
  Bench bench(config);
  bench.add_at(10_ns, kAddress, 1);
  bench.add_at(20_ns, kAddress + 8, 1);
  bench.at(30_ns, [&] { CHECK_FALSE(bench.unit.has_room(bench.notes.noting(77))); });
  bench.run();
  const Time first = 10_ns + kPipeline + kTurn;
  CHECK(bench.notes.list == Noted{{0, first}, {77, first}, {0, first + 10_ns}});
  CHECK(bench.unit.has_room({}));
  auto metrics = test::metrics_of(bench.unit);
  CHECK(metrics.at("stalled.outstanding") == ps(first - 30_ns));
}

TEST_CASE("the read stays behind writes that the NIC submitted earlier") {
  Bench bench;
  bench.memory.one_at_a_time = true;  // so that requests queue in the endpoint
  std::uint8_t data[8];
  store_le64(data, 40);
  bench.add_at(0_ns, kAddress, 2);
  bench.at(kPipeline, [&] {
    for (int i = 0; i < 2; ++i) {
      DmaRequest write;
      write.write = true;
      write.address = PhysicalAddress(i == 0 ? 0x20000 : kAddress);
      write.bytes = 8;
      write.data = data;
      bench.pcie.submit(write);
    }
  });
  bench.run();
  // The two writes came to the endpoint at the same instant as the read, and were first.
  CHECK(bench.value(kAddress) == 42);
  CHECK(bench.notes.list == Noted{{40, kPipeline + kWrite * 2 + kTurn}});
}

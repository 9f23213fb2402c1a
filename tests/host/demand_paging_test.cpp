// SPDX-License-Identifier: MIT
// The core runs at 1 GHz: a cycle is a nanosecond.
#include "host/demand_paging.h"

#include <catch2/catch.hpp>

#include "tests/support/metric_recorder.h"
#include "tests/support/software_host.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::SoftwareHost;

namespace {

const AccessFlags kOnDemand(AccessFlags::kLocalWrite | AccessFlags::kRemoteWrite |
                            AccessFlags::kOnDemand);
constexpr std::uint64_t kPage = 4096;

DriverConfig config() {
  DriverConfig config;
  config.event = Cycles(100);
  config.event_arm = Cycles(50);
  config.fault = Cycles(3000);
  config.pin_per_page = Cycles(200);
  config.table_per_page = Cycles(40);
  config.fault_ahead = Bytes(3 * kPage);
  return config;
}

/// A host with a region of 600 pages, paged on demand: two pages of table and a root.
struct Bench {
  /// `body` runs when the region is there.
  void run(const std::function<void(CpuTask&)>& body) {
    REQUIRE(host.run([&](CpuTask& task) {
      REQUIRE(host.driver.bring_up(task) == Errno::kOk);
      buffer = *host.pages.map(Bytes(600 * kPage), PageSize::k4KiB);
      const auto result = host.verbs.reg_mr(task, PdNumber(1), buffer, 600 * kPage, kOnDemand);
      REQUIRE(result.ok());
      region = result.value;
      task.settle();
      host.nic.mmio.clear();
      body(task);
    }));
  }
  /// At the bytes of page `page` of the region.
  void fault(std::uint32_t number, std::uint64_t page, std::uint32_t bytes, std::uint32_t ahead) {
    host.nic.event(abi::EventType::kPageFault, number,
                   {region.rkey, VirtualAddress(buffer.value() + page * kPage), bytes, ahead});
  }
  bool has(std::uint64_t page) {
    const VirtualAddress at(buffer.value() + page * kPage);
    const auto found = host.nic.translate(region.rkey, at);
    if (found) CHECK(found == host.pages.translate(at));
    return found.has_value();
  }
  /// (time, number) of the faults that the NIC was told are over.
  std::vector<std::pair<Time, std::uint32_t>> resumed() {
    std::vector<std::pair<Time, std::uint32_t>> found;
    for (const auto& store : host.nic.mmio)
      if (store.offset == abi::kPageFaultResume)
        found.emplace_back(store.at, load_be32(store.data.data()));
    return found;
  }
  std::uint64_t metric(const std::string& name) { return test::metrics_of(host.driver).at(name); }

  SoftwareHost host{true, config()};
  VirtualAddress buffer;
  MemoryRegion region;
};

}  // namespace

TEST_CASE("a region paged on demand is registered without its pages") {
  Bench bench;
  bench.run([&](CpuTask&) {
    CHECK_FALSE(bench.has(0));
    CHECK_FALSE(bench.has(599));
    CHECK(
        bench.host.nic.key_entry(bench.region.rkey.index()).access.allows(AccessFlags::kOnDemand));
    CHECK(bench.host.usage.cycles(CpuPlane::kControl, CpuCategory::kPinning) == Cycles(0));
    CHECK(bench.host.usage.cycles(CpuPlane::kControl, CpuCategory::kTableBuilding) ==
          config().table_per_region + config().key_per_region);
  });
}

TEST_CASE(
    "a fault costs its own work and that of its pages, and the NIC is told before what is ahead") {
  Bench bench;
  Time raised;
  bench.run([&](CpuTask& task) {
    raised = task.now();
    bench.fault(0x10007, 510, 2 * kPage, 100 * kPage);
    task.sleep_until(raised + 1_ms);
    for (std::uint64_t page = 509; page <= 515; ++page)
      CHECK(bench.has(page) == (page >= 510 && page < 515));
  });
  // The interrupt handler takes the event and looks once more while the worker is under way.
  const auto resumed = bench.resumed();
  REQUIRE(resumed.size() == 1);
  CHECK(resumed[0].second == 0x10007);
  const CpuUsage& usage = bench.host.usage;
  CHECK(usage.cycles(CpuPlane::kData, CpuCategory::kPinning) == Cycles(3000 + 5 * 200));
  CHECK(usage.cycles(CpuPlane::kData, CpuCategory::kTableBuilding) == Cycles(5 * 40));
  CHECK(usage.cycles(CpuPlane::kData, CpuCategory::kDoorbell) == Cycles(50));
  CHECK(bench.metric("page_faults") == 1);
  CHECK(bench.metric("pages_faulted") == 2);
  CHECK(bench.metric("pages_ahead") == 3);
  std::vector<std::pair<Time, std::uint64_t>> brought;
  for (const auto& record : bench.host.probes.records)
    if (record.kind == ProbeKind::kPagesBrought) brought.emplace_back(record.time, record.b);
  REQUIRE(brought.size() == 2);
  CHECK(brought[0].second == 2);
  CHECK(brought[1].second == 3);
  CHECK(resumed[0].first == brought[0].first + 50_ns);
  CHECK(brought[1].first == resumed[0].first + Time::ns(3 * 240));
}

TEST_CASE("of a work request of this side everything is brought in before the NIC is told") {
  Bench bench;
  bench.run([&](CpuTask& task) {
    bench.host.nic.event(abi::EventType::kPageFault, 5,
                         {bench.region.rkey, VirtualAddress(bench.buffer.value() + 10 * kPage),
                          kPage, 7 * kPage, true});
    task.sleep_until(task.now() + 1_ms);
    for (std::uint64_t page = 9; page <= 18; ++page)
      CHECK(bench.has(page) == (page >= 10 && page < 18));
  });
  REQUIRE(bench.resumed().size() == 1);
  CHECK(bench.metric("pages_faulted") == 8);
  CHECK(bench.metric("pages_ahead") == 0);
}

TEST_CASE("faults are handled one after the other; pages that are here already cost nothing more") {
  Bench bench;
  bench.run([&](CpuTask& task) {
    bench.fault(1, 10, kPage, 0);
    bench.fault(2, 10, kPage, 0);
    bench.fault(3, 20, kPage, 0);
    task.sleep_until(task.now() + 1_ms);
    CHECK(bench.has(10));
    CHECK(bench.has(20));
  });
  const auto resumed = bench.resumed();
  REQUIRE(resumed.size() == 3);
  CHECK(resumed[1].first - resumed[0].first == 3000_ns + 50_ns);
  CHECK(resumed[2].first - resumed[1].first == 3000_ns + 240_ns + 50_ns);
  CHECK(bench.metric("pages_faulted") == 2);
  CHECK(bench.metric("page_faults.max") == 3);
}

TEST_CASE("a fault at the region's end brings in nothing beyond it") {
  Bench bench;
  bench.run([&](CpuTask& task) {
    bench.fault(1, 599, kPage, 10 * kPage);
    task.sleep_until(task.now() + 1_ms);
    CHECK(bench.has(599));
  });
  CHECK(bench.metric("pages_faulted") == 1);
  CHECK(bench.metric("pages_ahead") == 0);
}

TEST_CASE("a fault of a region that has gone is answered and changes nothing") {
  Bench bench;
  bench.run([&](CpuTask& task) {
    REQUIRE(bench.host.verbs.dereg_mr(task, bench.region) == Errno::kOk);
    bench.fault(9, 5, kPage, kPage);
    task.sleep_until(task.now() + 1_ms);
  });
  REQUIRE(bench.resumed().size() == 1);
  CHECK(bench.metric("pages_faulted") == 0);
}

TEST_CASE("deregistering unpins the pages that came, and no more") {
  Bench bench;
  Cycles before;
  bench.run([&](CpuTask& task) {
    bench.fault(1, 0, 2 * kPage, 0);
    task.sleep_until(task.now() + 1_ms);
    before = bench.host.usage.cycles(CpuPlane::kControl, CpuCategory::kPinning);
    REQUIRE(bench.host.verbs.dereg_mr(task, bench.region) == Errno::kOk);
  });
  CHECK(bench.host.usage.cycles(CpuPlane::kControl, CpuCategory::kPinning) - before ==
        config().unpin_per_page * 2);
}

// SPDX-License-Identifier: MIT
#include "host/memory_registration.h"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "model/invariant.h"
#include "tests/support/software_host.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::SoftwareHost;

namespace {

const AccessFlags kRemoteWrite(AccessFlags::kLocalWrite | AccessFlags::kRemoteWrite);

/// Each page of the region, walked as the NIC does, is the page that the process has.
void check_pages(const SoftwareHost& host, const MemoryRegion& region, std::uint64_t step) {
  const std::uint64_t begin = region.address.value();
  for (std::uint64_t offset = 0; offset < region.length; offset += step) {
    const VirtualAddress at(begin + offset);
    REQUIRE(host.nic.translate(region.rkey, at) == host.pages.translate(at));
  }
  const VirtualAddress last(begin + region.length - 1);
  REQUIRE(host.nic.translate(region.rkey, last) == host.pages.translate(last));
}

/// Whether the guard lets the NIC write there now.
bool guard_permits(const SoftwareHost& host, VirtualAddress at, std::uint64_t bytes) {
  const auto physical = host.pages.translate(at);
  REQUIRE(physical);
  try {
    host.guard.check({true, *physical, Bytes(bytes), DmaPurpose::kPayload, {}}, Time());
  } catch (const InvariantBroken&) {
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("The translation table has one, two or three levels, as many as the region needs") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    struct Row {
      std::uint64_t pages;
      std::uint8_t levels;
      std::uint64_t table_pages;
    };
    for (const Row row :
         {Row{1, 1, 1}, Row{512, 1, 1}, Row{513, 2, 3}, Row{262144, 2, 513}, Row{262145, 3, 516}}) {
      const auto buffer = host.pages.map(Bytes(row.pages << 12), PageSize::k4KiB);
      const auto region =
          host.verbs.reg_mr(task, PdNumber(1), *buffer, row.pages << 12, kRemoteWrite);
      REQUIRE(region.ok());
      const abi::KeyEntry entry = host.nic.key_entry(region.value.rkey.index());
      REQUIRE(entry.levels == row.levels);
      REQUIRE(entry.log_page_size == 12);
      REQUIRE(host.driver.regions().table_bytes() == Bytes(row.table_pages * 4096));
      check_pages(host, region.value, row.pages > 1000 ? 4096 * 509 : 4096);
      REQUIRE(host.verbs.dereg_mr(task, region.value) == Errno::kOk);
      REQUIRE(host.driver.regions().table_bytes() == Bytes(0));
      REQUIRE(host.pages.unmap(*buffer));
    }
  }));
}

TEST_CASE("A region may begin and end anywhere within its pages, of any size") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    for (const PageSize size : {PageSize::k4KiB, PageSize::k2MiB, PageSize::k1GiB}) {
      const std::uint64_t page = bytes_of(size).count();
      const auto buffer = host.pages.map(Bytes(4 * page), size);
      const VirtualAddress begin(buffer->value() + page + 100);
      const auto region = host.verbs.reg_mr(task, PdNumber(5), begin, 2 * page, kRemoteWrite);
      REQUIRE(region.ok());
      const abi::KeyEntry entry = host.nic.key_entry(region.value.rkey.index());
      REQUIRE(entry.log_page_size == log_of(size));
      REQUIRE(entry.start == begin);
      REQUIRE(entry.length == 2 * page);
      REQUIRE(entry.pd == PdNumber(5));
      REQUIRE(entry.key == region.value.rkey);
      REQUIRE(entry.access.bits() == kRemoteWrite.bits());
      check_pages(host, region.value, page / 2);
    }
  }));
}

TEST_CASE("Registration is three timed parts: pin, table, key with the NIC's answer") {
  SoftwareHost host;
  Time begin;
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    const auto buffer = host.pages.map(Bytes(10 << 12), PageSize::k4KiB);
    task.settle();
    begin = task.now();
    REQUIRE(host.verbs.reg_mr(task, PdNumber(1), *buffer, 10 << 12, kRemoteWrite).ok());
  }));
  const auto pin = host.probes.of(ProbeKind::kRegisterPin);
  const auto table = host.probes.of(ProbeKind::kRegisterTable);
  const auto key = host.probes.of(ProbeKind::kRegisterKey);
  REQUIRE((pin.size() == 1 && table.size() == 1 && key.size() == 1));
  // One cycle is a nanosecond: syscall 700 + 22000 + 10 x 700; 12000 + 10 x 160; 13950 + command.
  REQUIRE(pin[0].a == static_cast<std::uint64_t>(begin.ps()));
  REQUIRE(pin[0].time == begin + 29700_ns);
  REQUIRE(pin[0].b == 40960);
  REQUIRE(table[0].a == static_cast<std::uint64_t>(pin[0].time.ps()));
  REQUIRE(table[0].time == pin[0].time + 13600_ns);
  REQUIRE(table[0].b == 4096);
  // Command: 350 to write it, 100 + 1000 until the NIC has answered, found by the poll of 70 that
  // begins at 1120.
  REQUIRE(key[0].time == table[0].time + 13950_ns + 350_ns + 1120_ns + 70_ns);
  REQUIRE(key[0].b == 0x101);
  REQUIRE(host.usage.cycles(CpuPlane::kControl, CpuCategory::kPinning) == 29000_cycles);
  REQUIRE(host.usage.cycles(CpuPlane::kControl, CpuCategory::kTableBuilding) == 27550_cycles);
  REQUIRE(host.usage.busy(CpuPlane::kData) == 0_ns);
}

TEST_CASE("Deregistration tells the NIC first, frees everything, and the key is never the same") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    const Bytes before = host.frames.kernel_in_use();
    const auto buffer = host.pages.map(Bytes(8192), PageSize::k4KiB);
    const MemoryRegion first =
        host.verbs.reg_mr(task, PdNumber(1), *buffer, 8192, kRemoteWrite).value;
    REQUIRE_FALSE(host.pages.unmap(*buffer));
    REQUIRE(host.verbs.dereg_mr(task, first) == Errno::kOk);
    // The fake NIC refuses the command while the entry in RAM is still valid.
    REQUIRE(host.nic.commands.back().opcode == abi::CommandOpcode::kDisableKey);
    REQUIRE(host.nic.commands.back().object == first.lkey.index());
    REQUIRE_FALSE(host.nic.translate(first.rkey, *buffer));
    REQUIRE(host.frames.kernel_in_use() == before);
    REQUIRE(host.verbs.dereg_mr(task, first) == Errno::kInvalid);

    const MemoryRegion second =
        host.verbs.reg_mr(task, PdNumber(1), *buffer, 8192, kRemoteWrite).value;
    REQUIRE(second.rkey.index() == first.rkey.index());
    REQUIRE(second.rkey.variant() == first.rkey.variant() + 1);
    REQUIRE_FALSE(host.nic.translate(first.rkey, *buffer));
    REQUIRE(host.verbs.dereg_mr(task, first) == Errno::kInvalid);
    REQUIRE(host.driver.regions().regions() == 1);
    REQUIRE(host.verbs.dereg_mr(task, second) == Errno::kOk);
    REQUIRE(host.pages.unmap(*buffer));
  }));
}

TEST_CASE("Impossible registrations are refused and leave nothing behind") {
  DriverConfig config;
  config.log_keys = 1;  // key 0 is never used: one region
  SoftwareHost host(true, config);
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    const Bytes before = host.frames.kernel_in_use();
    const auto buffer = host.pages.map(Bytes(8192), PageSize::k4KiB);
    const auto error = [&](VirtualAddress at, std::uint64_t length) {
      return host.verbs.reg_mr(task, PdNumber(1), at, length, kRemoteWrite).error;
    };
    REQUIRE(error(*buffer, 0) == Errno::kInvalid);
    REQUIRE(error(*buffer, ~std::uint64_t{0}) == Errno::kInvalid);
    REQUIRE(error(*buffer, 8193) == Errno::kFault);
    REQUIRE(error(VirtualAddress(4096), 1) == Errno::kFault);
    host.nic.next_command = abi::CommandStatus::kBadObject;
    REQUIRE(error(*buffer, 4096) == Errno::kIo);
    REQUIRE(host.frames.kernel_in_use() == before);
    REQUIRE(host.driver.regions().regions() == 0);
    REQUIRE(error(*buffer, 4096) == Errno::kOk);
    REQUIRE(error(*buffer, 4096) == Errno::kNoMemory);
  }));
}

TEST_CASE("Two programs that register at once both succeed, their commands one after the other") {
  SoftwareHost host;
  CpuCore other(host.scheduler, test::one_gigahertz(), host.usage);
  std::vector<MemoryRegion> regions;
  const auto program = [&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    const auto buffer = host.pages.map(Bytes(4096), PageSize::k4KiB);
    regions.push_back(host.verbs.reg_mr(task, PdNumber(1), *buffer, 4096, kRemoteWrite).value);
  };
  host.start(program);
  host.start_on(other, program);
  REQUIRE(host.run());
  REQUIRE(regions.size() == 2);
  for (const MemoryRegion& region : regions) check_pages(host, region, 1024);
  REQUIRE(host.nic.commands.size() == 3);  // brought up once
  for (std::size_t i = 1; i < host.nic.commands.size(); ++i)
    REQUIRE(host.nic.commands[i].arrived >= host.nic.commands[i - 1].arrived + 1000_ns);
}

TEST_CASE(
    "A memory window is a key entry that waits for its bind; its index goes on from its key") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    MemoryRegistration& regions = host.driver.regions();
    const MemoryWindow window = regions.add_window(task, PdNumber(4)).value;
    const abi::KeyEntry entry = host.nic.key_entry(window.rkey.index());
    REQUIRE_FALSE(entry.valid);
    REQUIRE(entry.window);
    REQUIRE(entry.pd == PdNumber(4));
    REQUIRE(entry.key == window.rkey);
    REQUIRE(host.nic.commands.back().opcode == abi::CommandOpcode::kEnableKey);
    REQUIRE(host.nic.commands.back().object == window.rkey.index());
    REQUIRE(regions.remove(task, window.rkey) == Errno::kInvalid);

    // Binds have changed the key meanwhile.
    const MemoryKey latest(window.rkey.index(), 9);
    REQUIRE(regions.remove_window(task, latest) == Errno::kOk);
    REQUIRE_FALSE(host.nic.key_entry(window.rkey.index()).window);
    REQUIRE(host.nic.commands.back().opcode == abi::CommandOpcode::kDisableKey);
    REQUIRE(regions.remove_window(task, latest) == Errno::kInvalid);
    REQUIRE(regions.add_window(task, PdNumber(4)).value.rkey == MemoryKey(latest.index(), 10));

    host.nic.next_command = abi::CommandStatus::kBadObject;
    REQUIRE(regions.add_window(task, PdNumber(4)).error == Errno::kIo);
    REQUIRE(regions.regions() == 0);
  }));
}

TEST_CASE("Random keys are all different and in no order, the same for the same seed") {
  DriverConfig config;
  config.key_allocation = KeyAllocation::kRandom;
  config.log_keys = 5;
  config.key_seed = 7;
  SoftwareHost host(true, config);
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    MemoryRegistration& regions = host.driver.regions();
    std::vector<MemoryWindow> windows;
    std::set<std::uint32_t> indices;
    std::set<std::uint8_t> variants;
    unsigned ascents = 0;
    for (int i = 0; i < 31; ++i) {
      windows.push_back(regions.add_window(task, PdNumber(1)).value);
      const MemoryKey key = windows.back().rkey;
      REQUIRE(host.nic.key_entry(key.index()).key == key);
      if (i != 0 && key.index() > windows[windows.size() - 2].rkey.index()) ++ascents;
      indices.insert(key.index());
      variants.insert(key.variant());
    }
    REQUIRE(indices.size() == 31);
    REQUIRE(*indices.begin() == 1);
    REQUIRE(*indices.rbegin() == 31);
    REQUIRE(variants.size() > 20);
    REQUIRE(ascents > 5);
    REQUIRE(ascents < 25);
    REQUIRE(regions.add_window(task, PdNumber(1)).error == Errno::kNoMemory);
    // The one index that is free is taken again, with the next variant.
    REQUIRE(regions.remove_window(task, windows[9].rkey) == Errno::kOk);
    const MemoryKey again = regions.add_window(task, PdNumber(1)).value.rkey;
    REQUIRE(again.index() == windows[9].rkey.index());
    REQUIRE(again.variant() == static_cast<std::uint8_t>(windows[9].rkey.variant() + 1));
  }));
}

TEST_CASE("A region that the NIC says is busy keeps its key, its pages and its place") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    const auto buffer = host.pages.map(Bytes(4096), PageSize::k4KiB);
    const MemoryRegion region =
        host.verbs.reg_mr(task, PdNumber(5), *buffer, 4096, kRemoteWrite).value;
    host.nic.next_command = abi::CommandStatus::kBusy;
    REQUIRE(host.verbs.dereg_mr(task, region) == Errno::kBusy);
    REQUIRE(host.nic.key_entry(region.rkey.index()).valid);
    check_pages(host, region, 4096);
    REQUIRE(guard_permits(host, *buffer, 1));
    REQUIRE(host.nic.commands.back().opcode == abi::CommandOpcode::kEnableKey);
    REQUIRE(host.verbs.dereg_mr(task, region) == Errno::kOk);
    REQUIRE_FALSE(guard_permits(host, *buffer, 1));
  }));
}

TEST_CASE("The guard has a region's bytes from its key entry to the NIC's answer that it is gone") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    for (const PageSize size : {PageSize::k4KiB, PageSize::k2MiB, PageSize::k1GiB}) {
      const std::uint64_t page = bytes_of(size).count();
      const auto buffer = host.pages.map(Bytes(4 * page), size);
      const VirtualAddress begin(buffer->value() + page + 100);
      const VirtualAddress last(begin.value() + 2 * page - 1);
      const VirtualAddress middle(buffer->value() + 2 * page);
      REQUIRE_FALSE(guard_permits(host, begin, 1));
      const auto region = host.verbs.reg_mr(task, PdNumber(5), begin, 2 * page, kRemoteWrite);
      REQUIRE(guard_permits(host, begin, 1));
      REQUIRE(guard_permits(host, middle, 4096));
      REQUIRE(guard_permits(host, last, 1));
      REQUIRE_FALSE(guard_permits(host, VirtualAddress(begin.value() - 1), 1));
      REQUIRE_FALSE(guard_permits(host, VirtualAddress(last.value() + 1), 1));
      REQUIRE_FALSE(guard_permits(host, VirtualAddress(buffer->value() + 3 * page + page / 2), 1));
      REQUIRE(host.verbs.dereg_mr(task, region.value) == Errno::kOk);
      for (const VirtualAddress at : {begin, middle, last})
        REQUIRE_FALSE(guard_permits(host, at, 1));
    }
    // What the NIC did not take, it may not use; what it did not give up, it still has.
    const auto buffer = host.pages.map(Bytes(4096), PageSize::k4KiB);
    host.nic.next_command = abi::CommandStatus::kBadObject;
    REQUIRE(host.verbs.reg_mr(task, PdNumber(5), *buffer, 4096, kRemoteWrite).error == Errno::kIo);
    REQUIRE_FALSE(guard_permits(host, *buffer, 1));
    const MemoryRegion kept =
        host.verbs.reg_mr(task, PdNumber(5), *buffer, 4096, kRemoteWrite).value;
    host.nic.next_command = abi::CommandStatus::kBadObject;
    REQUIRE(host.verbs.dereg_mr(task, kept) == Errno::kIo);
    REQUIRE(guard_permits(host, *buffer, 1));
  }));
}

TEST_CASE("An entry keeps its key when it becomes invalid, and nothing else") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    const auto buffer = host.pages.map(Bytes(8192), PageSize::k4KiB);
    const MemoryRegion region =
        host.verbs.reg_mr(task, PdNumber(1), *buffer, 8192, kRemoteWrite).value;
    REQUIRE(host.verbs.dereg_mr(task, region) == Errno::kOk);
    const abi::KeyEntry entry = host.nic.key_entry(region.rkey.index());
    REQUIRE_FALSE(entry.valid);
    REQUIRE(entry.key == region.rkey);
    REQUIRE(entry.access.bits() == 0);
    REQUIRE(entry.length == 0);
    REQUIRE(entry.table == PhysicalAddress());
  }));
}

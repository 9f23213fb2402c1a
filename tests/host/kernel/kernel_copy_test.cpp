// SPDX-License-Identifier: MIT
#include "host/kernel/kernel_copy.h"

#include <catch2/catch.hpp>

#include "tests/support/software_host.h"

using namespace rnicsim;
using namespace rnicsim::test;

TEST_CASE("Without a cache every line that a copy reads comes from DRAM") {
  Memory memory(memory_of(Bytes(1ULL << 30)));
  const KernelConfig config;
  KernelCopy copy(config, memory);
  CHECK(copy.read(PhysicalAddress(0x1000), 128) == config.copy_miss * 2);
  CHECK(copy.read(PhysicalAddress(0x1000), 128) == config.copy_miss * 2);
  CHECK(copy.read(PhysicalAddress(0x103f), 2) == config.copy_miss * 2);
  CHECK(copy.read(PhysicalAddress(0x1000), 0) == Cycles(0));
  CHECK(copy.lines() == 6);
  CHECK(copy.missed() == 6);
}

TEST_CASE("With one, lines that were read, copied into or left by DMA are not waited for") {
  MemoryConfig with_cache = memory_of(Bytes(1ULL << 30));
  with_cache.cache.size = Bytes(1 << 20);
  Memory memory(with_cache);
  const KernelConfig config;
  KernelCopy copy(config, memory);
  CHECK(copy.read(PhysicalAddress(0x1000), 128) == config.copy_miss * 2);
  CHECK(copy.read(PhysicalAddress(0x1000), 192) == config.copy_miss);
  copy.write(PhysicalAddress(0x4000), 64);
  CHECK(copy.read(PhysicalAddress(0x4000), 64) == Cycles(0));
  memory.time_write(Time(), PhysicalAddress(0x8000), Bytes(64), DmaPurpose::kPayload);
  CHECK(copy.read(PhysicalAddress(0x8000), 128) == config.copy_miss);
}

TEST_CASE("A copy from user memory meets the lines of its pages, wherever these are") {
  MemoryConfig with_cache = memory_of(Bytes(1ULL << 30));
  with_cache.cache.size = Bytes(1 << 20);
  Memory memory(with_cache);
  FrameAllocator frames(Bytes(1ULL << 30), 1);
  PageTable pages(memory, frames);
  const KernelConfig config;
  KernelCopy copy(config, memory);
  const VirtualAddress at = *pages.map(Bytes(8192), PageSize::k4KiB);
  const VirtualAddress across(at.value() + 4096 - 64);
  CHECK(copy.read(pages, across, 128) == config.copy_miss * 2);
  CHECK(copy.read(*pages.translate(across), 64) == Cycles(0));
  copy.write(pages, at, 8192);
  CHECK(copy.read(pages, at, 8192) == Cycles(0));
}

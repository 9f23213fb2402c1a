// SPDX-License-Identifier: MIT
#include "host/page_table.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "tests/support/software_host.h"

using namespace rnicsim;

namespace {

struct Process {
  Memory memory{test::memory_of(Bytes(16ULL << 30))};
  FrameAllocator frames{Bytes(16ULL << 30), 1};
  PageTable pages{memory, frames};
};

}  // namespace

TEST_CASE("Mapped pages translate to their frames at every offset") {
  Process p;
  for (const PageSize size : {PageSize::k4KiB, PageSize::k2MiB, PageSize::k1GiB}) {
    const std::uint64_t page = bytes_of(size).count();
    const auto start = p.pages.map(Bytes(3 * page - 1), size);
    REQUIRE(start);
    REQUIRE(start->value() % page == 0);
    const PageTable::Mapping* mapping = p.pages.find(*start, Bytes(3 * page));
    REQUIRE(mapping != nullptr);
    REQUIRE(mapping->frames.size() == 3);
    REQUIRE(p.pages.find(*start, Bytes(3 * page + 1)) == nullptr);
    for (std::uint64_t i = 0; i < 3; ++i)
      for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{5}, page - 1})
        REQUIRE(p.pages.translate(VirtualAddress(start->value() + i * page + offset)) ==
                PhysicalAddress(mapping->frames[i].value() + offset));
    REQUIRE_FALSE(p.pages.translate(VirtualAddress(start->value() + 3 * page)));
    REQUIRE_FALSE(p.pages.translate(VirtualAddress(start->value() - 1)));
  }
}

TEST_CASE("A GPU's memory is mapped in its own pages, loaded and stored there and given back") {
  Process p;
  GpuConfig config;
  config.memory = Bytes(8 << 20);
  Gpu gpu(config, 0);
  const auto start = p.pages.map(Bytes(3 << 20), gpu);
  REQUIRE(start);
  const PageTable::Mapping* mapping = p.pages.find(*start, Bytes(4 << 20));
  REQUIRE(mapping != nullptr);
  CHECK(mapping->gpu == &gpu);
  CHECK(mapping->page_size == PageSize::k2MiB);
  REQUIRE(mapping->frames.size() == 2);
  for (const PhysicalAddress frame : mapping->frames) {
    CHECK(gpu.contains(frame, Gpu::kPageBytes));
    CHECK_FALSE(p.memory.contains(frame, Bytes(1)));
  }
  const std::vector<std::uint8_t> in{1, 2, 3, 4};
  const VirtualAddress across(start->value() + (2 << 20) - 2);
  CHECK(p.pages.store(across, in.data(), in.size()));
  std::vector<std::uint8_t> out(4);
  CHECK(p.pages.load(across, out.data(), out.size()));
  CHECK(out == in);
  gpu.load(mapping->frames[1], out.data(), 2);
  CHECK(out[0] == 3);
  CHECK(out[1] == 4);
  CHECK_FALSE(p.pages.map(Bytes(6 << 20), gpu));
  CHECK(p.pages.unmap(*start));
  CHECK(p.pages.map(Bytes(8 << 20), gpu));
}

TEST_CASE("Loads and stores cross pages and refuse what is not mapped") {
  Process p;
  const auto start = p.pages.map(Bytes(3 * 4096), PageSize::k4KiB);
  std::vector<std::uint8_t> out(9000);
  std::iota(out.begin(), out.end(), std::uint8_t{1});
  REQUIRE(p.pages.store(VirtualAddress(start->value() + 100), out.data(), out.size()));
  std::vector<std::uint8_t> in(out.size());
  REQUIRE(p.pages.load(VirtualAddress(start->value() + 100), in.data(), in.size()));
  REQUIRE(in == out);
  // The second page really lies where the table says.
  std::uint8_t byte = 0;
  p.memory.load(*p.pages.translate(VirtualAddress(start->value() + 4096)), &byte, 1);
  REQUIRE(byte == out[3996]);

  REQUIRE_FALSE(p.pages.store(VirtualAddress(start->value() + 4000), out.data(), out.size()));
  REQUIRE_FALSE(p.pages.load(VirtualAddress(start->value() - 1), in.data(), 2));
  REQUIRE_FALSE(p.pages.load(VirtualAddress(~std::uint64_t{0}), in.data(), 2));
}

TEST_CASE("A pinned range cannot be unmapped; an unmapped one gives its frames back") {
  Process p;
  const auto start = p.pages.map(Bytes(8192), PageSize::k4KiB);
  REQUIRE(p.frames.frames_in_use(PageSize::k4KiB) == 2);
  const VirtualAddress inside(start->value() + 4096);
  REQUIRE(p.pages.pin(inside, Bytes(4096)) != nullptr);
  REQUIRE(p.pages.pin(inside, Bytes(4097)) == nullptr);
  REQUIRE_FALSE(p.pages.unmap(*start));
  p.pages.unpin(inside);
  REQUIRE_FALSE(p.pages.unmap(inside));
  REQUIRE(p.pages.unmap(*start));
  REQUIRE(p.frames.frames_in_use(PageSize::k4KiB) == 0);
  REQUIRE_FALSE(p.pages.translate(inside));
}

TEST_CASE("A range that does not fit into memory is refused and leaves nothing behind") {
  Process p;
  REQUIRE_FALSE(p.pages.map(Bytes(0), PageSize::k4KiB));
  REQUIRE_FALSE(p.pages.map(Bytes(7ULL << 30), PageSize::k1GiB));
  REQUIRE(p.frames.frames_in_use(PageSize::k1GiB) == 0);
  REQUIRE(p.pages.map(Bytes(6ULL << 30), PageSize::k1GiB));
}

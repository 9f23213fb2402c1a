// SPDX-License-Identifier: MIT
#include "host/kernel/send_store.h"

#include <catch2/catch.hpp>

#include "tests/support/software_host.h"

using namespace rnicsim;
using namespace rnicsim::test;

namespace {

struct Sends {
  Memory memory{memory_of(Bytes(64ULL << 30))};
  FrameAllocator frames{Bytes(64ULL << 30), 1};
  PageTable pages{memory, frames};
  SendStore store{frames, Bytes(1 << 20)};
};

}  // namespace

TEST_CASE("Copied bytes stand in a ring by their position, in two runs across its end") {
  Sends s;
  REQUIRE(s.store.reserve());
  const PhysicalAddress begin = s.store.place(0, 1).at;
  CHECK(s.store.find(5, 100).at == PhysicalAddress(begin.value() + 5));
  CHECK(s.store.find(5, 100).bytes == 100);
  const SendStore::Run last = s.store.find((3 << 20) - 10, 100);
  CHECK(last.at == PhysicalAddress(begin.value() + (1 << 20) - 10));
  CHECK(last.bytes == 10);
  CHECK(s.store.find(3 << 20, 90).at == begin);
}

TEST_CASE("The ring's memory is taken once and given back") {
  Sends s;
  REQUIRE(s.store.reserve());
  const PhysicalAddress begin = s.store.place(0, 1).at;
  REQUIRE(s.store.reserve());
  CHECK(s.store.place(0, 1).at == begin);
  CHECK(s.frames.kernel_in_use() == Bytes(1 << 20));
  s.store.release();
  CHECK(s.frames.kernel_in_use() == Bytes(0));
}

TEST_CASE("Pinned bytes stand in the program's pages until they are acknowledged") {
  Sends s;
  REQUIRE(s.store.reserve());
  const VirtualAddress from = *s.pages.map(Bytes(3 * 4096), PageSize::k4KiB);
  const VirtualAddress first(from.value() + 4000);
  REQUIRE(s.store.pin(100, 5000, s.pages, first));
  const SendStore::Run before = s.store.find(90, 200);
  CHECK(before.bytes == 10);
  CHECK(before.at == s.store.place(90, 1).at);
  const SendStore::Run run = s.store.find(100, 5000);
  CHECK(run.at == *s.pages.translate(first));
  CHECK(run.bytes == 96);
  CHECK(s.store.find(196, 5000).bytes == 4096);
  CHECK(s.store.find(196 + 4096, 5000).bytes == 5000 - 96 - 4096);
  CHECK(s.store.find(5100, 10).at == s.store.place(5100, 1).at);

  CHECK_FALSE(s.pages.unmap(from));
  CHECK(s.store.acknowledge(5099) == 0);
  CHECK(s.store.has_pinned());
  CHECK(s.store.acknowledge(5100) == 1);
  CHECK_FALSE(s.store.has_pinned());
  CHECK(s.pages.unmap(from));
}

TEST_CASE("What is not mapped cannot be pinned") {
  Sends s;
  CHECK_FALSE(s.store.pin(0, 10, s.pages, VirtualAddress(0x1000)));
  CHECK_FALSE(s.store.has_pinned());
}

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

TEST_CASE("Acknowledged pages stay pinned until the NIC has read the frames made of them") {
  Sends s;
  const VirtualAddress from = *s.pages.map(Bytes(2 * 4096), PageSize::k4KiB);
  REQUIRE(s.store.pin(0, 4096, s.pages, from));
  s.store.frame_made(0, 1448);
  s.store.frame_made(0, 1448);
  CHECK(s.store.frame_left(0, 1448) == 0);
  CHECK(s.store.acknowledge(4096) == 0);
  CHECK(s.store.has_pinned());
  CHECK_FALSE(s.pages.unmap(from));
  CHECK(s.store.frame_left(0, 1448) == 1);
  CHECK(s.pages.unmap(from));
}

TEST_CASE("A frame across two sends holds both") {
  Sends s;
  const VirtualAddress first = *s.pages.map(Bytes(4096), PageSize::k4KiB);
  const VirtualAddress second = *s.pages.map(Bytes(4096), PageSize::k4KiB);
  REQUIRE(s.store.pin(0, 100, s.pages, first));
  REQUIRE(s.store.pin(100, 100, s.pages, second));
  s.store.frame_made(50, 100);
  CHECK(s.store.acknowledge(200) == 0);
  CHECK(s.store.frame_left(50, 100) == 2);
}

TEST_CASE("The ring of a connection that is over stays for the NIC and for who copies into it") {
  Sends s;
  REQUIRE(s.store.reserve());
  s.store.frame_made(0, 1000);
  {
    const SendStore::Use use(s.store);
    s.store.release();
    CHECK(s.frames.kernel_in_use() == Bytes(1 << 20));
    CHECK(s.store.frame_left(0, 1000) == 0);
    CHECK(s.frames.kernel_in_use() == Bytes(1 << 20));
    CHECK(s.store.place(10, 1).bytes == 1);
  }
  CHECK(s.frames.kernel_in_use() == Bytes(0));
}

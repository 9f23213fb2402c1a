// SPDX-License-Identifier: MIT
#include "host/kernel/receive_store.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

using namespace rnicsim;

namespace {

struct Store {
  FrameAllocator frames{Bytes(64ULL << 30), 1};
  KernelBuffers pool{frames, Bytes(4096)};
  ReceiveStore store{pool};

  /// A frame's buffers, with so many bytes of payload in each.
  KernelBufferList frame(const std::vector<std::uint32_t>& lengths) {
    KernelBufferList list;
    for (const std::uint32_t length : lengths) {
      KernelBuffer* const buffer = pool.take();
      buffer->offset = 66;
      buffer->length = length;
      list.push(buffer);
    }
    return list;
  }
  void place(const std::vector<std::uint32_t>& lengths, std::uint32_t skip, std::uint64_t position,
             std::uint32_t length) {
    KernelBufferList list = frame(lengths);
    store.place(list, skip, position, length);
    CHECK(list.empty());
  }
  /// Offset in its buffer, and bytes, of each piece.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces(std::uint64_t position,
                                                              std::uint64_t bytes) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    store.for_each(position, bytes, [&](PhysicalAddress at, std::uint64_t n) {
      all.emplace_back(at.value() % 4096, n);
    });
    return all;
  }
};

using Pieces = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

}  // namespace

TEST_CASE("Bytes stay where they came, and their buffers go when they have been read") {
  Store s;
  s.place({100, 50}, 0, 0, 150);
  s.place({30}, 0, 150, 30);
  CHECK(s.pool.in_use() == 3);
  CHECK(s.pieces(0, 180) == Pieces{{66, 100}, {66, 50}, {66, 30}});
  CHECK(s.pieces(90, 20) == Pieces{{156, 10}, {66, 10}});
  s.store.release_before(99);
  CHECK(s.pool.in_use() == 3);
  s.store.release_before(150);
  CHECK(s.pool.in_use() == 1);
  s.store.release_before(180);
  CHECK(s.pool.in_use() == 0);
}

TEST_CASE(
    "What is old or beyond the window of a segment is cut off, whole buffers of it given back") {
  Store s;
  s.place({100, 100, 100}, 120, 1000, 60);
  CHECK(s.pool.in_use() == 1);
  CHECK(s.pieces(1000, 60) == Pieces{{86, 60}});
}

TEST_CASE("Pieces out of order, repeated and overlapping are read once, in order") {
  Store s;
  s.place({100}, 0, 200, 100);
  s.place({100}, 0, 0, 100);
  s.place({150}, 0, 50, 150);
  s.place({100}, 0, 200, 100);
  CHECK(s.pieces(0, 300) == Pieces{{66, 100}, {116, 100}, {66, 100}});
  s.store.release_before(300);
  CHECK(s.pool.in_use() == 0);
}

TEST_CASE("Reading what has not come is a broken invariant") {
  Store s;
  s.place({100}, 0, 100, 100);
  CHECK_THROWS_AS(s.pieces(0, 10), InvariantBroken);
  CHECK_THROWS_AS(s.pieces(150, 100), InvariantBroken);
}

TEST_CASE("The buffer given back last is taken first, clean") {
  Store s;
  KernelBuffer* const one = s.pool.take();
  KernelBuffer* const two = s.pool.take();
  const PhysicalAddress page = one->page;
  one->length = 7;
  s.pool.give(two);
  s.pool.give(one);
  CHECK(s.pool.take() == one);
  CHECK(one->length == 0);
  CHECK(one->page == page);
}

// SPDX-License-Identifier: MIT
#include "model/sparse_array.h"

#include <catch2/catch.hpp>
#include <cstdint>

using namespace rnicsim;

TEST_CASE("A sparse array has only the blocks that were asked for", "[sparse_array]") {
  SparseArray<std::uint32_t, 4> array(10);
  CHECK(array.find(9) == nullptr);
  std::uint32_t& last = array[9];
  CHECK(last == 0);
  last = 7;
  CHECK(array.find(3) == nullptr);
  array[0] = 1;  // another block moves nothing
  CHECK(&array[9] == &last);
  REQUIRE(array.find(8) != nullptr);
  CHECK(*array.find(8) == 0);
  CHECK(*array.find(9) == 7);
}

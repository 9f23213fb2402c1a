// SPDX-License-Identifier: MIT
// An array of fixed length in blocks that exist once one of their elements is asked for, for tables
// that are large by configuration and mostly empty: a thousand NICs have thousands of cache entries
// each and use a few.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace rnicsim {

template <class T, std::size_t kBlock>
class SparseArray {
 public:
  explicit SparseArray(std::size_t size) : blocks_((size + kBlock - 1) / kBlock) {}

  /// REQUIRES: i < size. Makes its block, of values as T{} is, if there is none. References stay
  /// valid.
  T& operator[](std::size_t i) {
    std::unique_ptr<Block>& block = blocks_[i / kBlock];
    if (!block) block = std::make_unique<Block>();
    return (*block)[i % kBlock];
  }
  /// Null if its block was never made.
  const T* find(std::size_t i) const {
    const Block* block = blocks_[i / kBlock].get();
    return block == nullptr ? nullptr : &(*block)[i % kBlock];
  }

 private:
  using Block = std::array<T, kBlock>;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace rnicsim

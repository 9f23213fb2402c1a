// SPDX-License-Identifier: MIT
// The driver's objects of one kind by their number, which is an index of a table of the NIC's:
// numbers begin at 1, or where the caller says, and are used again, the one released last first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace rnicsim {

template <class T>
class Numbered {
 public:
  explicit Numbered(std::uint32_t first = 1) : next_(first) {}
  /// Nothing if all up to 2^log_count - 1 are in use. The number is the caller's until give().
  std::optional<std::uint32_t> take(unsigned log_count) {
    if (!released_.empty()) {
      const std::uint32_t number = released_.back();
      released_.pop_back();
      return number;
    }
    if (next_ >> log_count != 0) return std::nullopt;
    return next_++;
  }
  void give(std::uint32_t number) {
    used_.erase(number);
    released_.push_back(number);
  }
  void put(std::uint32_t number, const T& object) { used_.emplace(number, object); }
  /// Null if there is none of that number.
  T* find(std::uint32_t number) {
    const auto at = used_.find(number);
    return at == used_.end() ? nullptr : &at->second;
  }
  const std::map<std::uint32_t, T>& all() const { return used_; }

 private:
  std::map<std::uint32_t, T> used_;
  std::vector<std::uint32_t> released_;
  std::uint32_t next_;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// A first-in first-out queue in one contiguous piece that grows and never shrinks: no allocation in
// steady state, unlike std::deque.
//
// What owns something gives it up when it leaves: by its member release() if it has one (for large
// elements that own little), else by becoming T{}.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace rnicsim {

template <class T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& front() { return slots_[head_]; }
  const T& front() const { return slots_[head_]; }
  T& back() { return at(size_ - 1); }
  /// The i-th from the front.
  T& at(std::size_t i) { return slots_[(head_ + i) & (capacity_ - 1)]; }
  const T& at(std::size_t i) const { return slots_[(head_ + i) & (capacity_ - 1)]; }
  T& push(T value) {
    T& slot = push();
    slot = std::move(value);
    return slot;
  }
  /// A new last one, with the content of its slot's last use if T is a plain value or was released.
  T& push() {
    if (size_ == capacity_) grow();
    return slots_[(head_ + size_++) & (capacity_ - 1)];
  }
  void pop() {
    release(slots_[head_]);
    advance();
  }
  T take() {
    T value = std::move(slots_[head_]);  // which owns nothing any more
    advance();
    return value;
  }
  /// Drops all but the `count` oldest. REQUIRES: count <= size().
  void truncate(std::size_t count) {
    for (; size_ > count; --size_) release(at(size_ - 1));
  }
  void clear() {
    while (!empty()) pop();
  }

 private:
  template <class U, class = void>
  struct Releases : std::false_type {};
  template <class U>
  struct Releases<U, std::void_t<decltype(std::declval<U&>().release())>> : std::true_type {};

  // A plain value may stay until it is overwritten.
  static void release(T& value) {
    if constexpr (Releases<T>::value)
      value.release();
    else if constexpr (!std::is_trivially_destructible_v<T>)
      value = T{};
  }
  void advance() {
    head_ = (head_ + 1) & (capacity_ - 1);
    --size_;
  }
  [[gnu::noinline]] void grow() {
    capacity_ = size_ == 0 ? 8 : size_ * 2;
    std::vector<T> larger(capacity_);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move(slots_[(head_ + i) % size_]);
    slots_ = std::move(larger);
    head_ = 0;
  }
  std::vector<T> slots_;
  std::size_t capacity_ = 0;  ///< a power of two
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// A callback as the hardware of this model uses it: a plain function, an object and one argument,
// stored inline. Nothing is allocated and nothing virtual is called.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rnicsim {

struct Callback {
  void (*function)(void* object, std::uint64_t argument) = nullptr;
  void* object = nullptr;
  std::uint64_t argument = 0;

  explicit operator bool() const { return function != nullptr; }
  void operator()() const { function(object, argument); }
};

/// The member function Method of *object, with or without the argument.
template <auto Method, class T>
Callback call(T* object, std::uint64_t argument = 0) {
  return {[](void* o, std::uint64_t a) {
            if constexpr (std::is_invocable_v<decltype(Method), T*, std::uint64_t>)
              (static_cast<T*>(o)->*Method)(a);
            else
              (static_cast<T*>(o)->*Method)();
          },
          object, argument};
}

}  // namespace rnicsim

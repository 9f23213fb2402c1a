// SPDX-License-Identifier: MIT
// One seeded generator per named component (splitmix64): the same scenario and seed give the same
// numbers, whatever else draws.
#pragma once

#include <cstdint>
#include <string_view>

namespace rnicsim {

/// The seed of a component: the run's seed mixed with its name (FNV-1a).
constexpr std::uint64_t seed_for(std::uint64_t run_seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ run_seed;
  for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ULL;
  return hash;
}

class Random {
 public:
  constexpr explicit Random(std::uint64_t seed) : state_(seed) {}
  constexpr std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, n). REQUIRES n > 0.
  constexpr std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace rnicsim

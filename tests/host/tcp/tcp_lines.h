// SPDX-License-Identifier: MIT
// What the tests of TCP connections share: settings in which every number can be worked out by
// hand, and a comparison of lines that shows both sides.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/tcp_bench.h"

namespace rnicsim::test {

using Lines = std::vector<std::string>;

/// Segments of 1000 B, no timestamps, no tail loss probes, Reno, 10 us each way.
inline TcpBenchConfig plain_tcp() {
  TcpBenchConfig config;
  config.a.timestamps = config.b.timestamps = false;
  config.a.tail_loss_probe = config.b.tail_loss_probe = false;
  config.a.algorithm = config.b.algorithm = TcpAlgorithm::kReno;
  config.a_ends.mss = config.b_ends.mss = 1000;
  return config;
}

/// Loses the segments of `from` that begin at one of these positions, the first time.
inline TcpBench::Policy lose_once(char from, const std::vector<std::uint32_t>& positions) {
  return [from, positions](const TcpEnd& end, const TcpSegment& segment) {
    TcpFate fate;
    const auto position = static_cast<std::uint32_t>(segment.header.sequence - end.initial);
    for (const std::uint32_t lost : positions)
      if (end.name == from && segment.length != 0 && !segment.again && position == lost)
        fate.lost = true;
    return fate;
  };
}

inline std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

inline void check_lines(const TcpBench& bench, const Lines& expected) {
  CHECK(text_of(bench.log) == text_of(expected));
}

}  // namespace rnicsim::test

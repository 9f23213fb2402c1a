// SPDX-License-Identifier: MIT
// How a host's TCP behaves. Defaults are those of Linux where it has one, else the RFC's.
#pragma once

#include <cstdint>

#include "model/config_reader.h"
#include "model/units.h"

namespace rnicsim {

enum class TcpAlgorithm : std::uint8_t { kReno, kCubic, kDctcp };

struct CubicConfig {
  double c = 0.4;     ///< segments/s^3
  double beta = 0.7;  ///< what a loss leaves of the window
  bool fast_convergence = true;
  bool reno_friendly = true;
  bool hystart = true;
  void describe(Fields& fields);
};

struct DctcpConfig {
  double gain = 0.0625;
  double initial_alpha = 1;
  void describe(Fields& fields);
};

struct TcpConfig {
  Bytes send_buffer{4 * 1024 * 1024};
  Bytes receive_buffer{6 * 1024 * 1024};
  bool window_scaling = true;
  bool sack = true;
  bool timestamps = true;
  bool ecn = false;
  bool nagle = true;
  bool slow_start_after_idle = true;
  bool tail_loss_probe = true;
  Time delayed_ack{Time::ms(40)};
  std::uint32_t ack_every = 2;
  Time initial_rto{Time::s(1)};
  Time min_rto{Time::ms(200)};
  Time max_rto{Time::s(120)};
  std::uint32_t retries = 15;
  std::uint32_t syn_retries = 6;
  Time time_wait{Time::s(60)};
  std::uint32_t initial_window = 10;
  std::uint32_t duplicate_threshold = 3;
  TcpAlgorithm algorithm = TcpAlgorithm::kCubic;
  CubicConfig cubic;
  DctcpConfig dctcp;

  /// DCTCP is nothing without ECN.
  bool wants_ecn() const { return ecn || algorithm == TcpAlgorithm::kDctcp; }
  void describe(Fields& fields);
};

}  // namespace rnicsim

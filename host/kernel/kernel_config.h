// SPDX-License-Identifier: MIT
// The kernel's network path: what is switched on, how large its rings are, and what its steps cost
// in cycles of the core that takes them.
//
// One cost is calibrated: `page`, so that a receiver with everything on and an MTU of 9000 takes
// 0.65 cycles a byte of one core for softirq and program (Cai et al., SIGCOMM 2021: 42 Gb/s on a
// core of 3.4 GHz). copy_miss is a memcpy of 10 GB/s from beyond the cache at 3.4 GHz (8 to 12 GB/s
// are usual). Moderation is that of mlx5e's defaults. All other costs are assumptions of the size
// that profiles of Linux show.
#pragma once

#include <cstdint>

#include "model/units.h"

namespace rnicsim {

class Fields;

struct KernelConfig {
  Bytes mtu{1500};               ///< of IP
  bool checksum_offload = true;  ///< both ways
  bool tso = true;               ///< the NIC cuts bursts
  bool gso = true;               ///< else the stack does, as late as it can
  bool gro = true;
  bool lro = false;
  bool flow_steering = false;  ///< frames come to the core of the program (accelerated RFS)
  std::uint8_t dscp = 0;
  std::uint32_t queues = 1;  ///< of each direction, each on a core of its own
  std::uint32_t first_core = 0;
  std::uint8_t log_transmit_ring = 10;
  std::uint8_t log_receive_ring = 10;
  Bytes receive_buffer{4096};
  std::uint16_t receive_frames = 32;
  Time receive_period = Time::us(16);
  std::uint16_t transmit_frames = 32;
  Time transmit_period = Time::us(16);
  std::uint32_t budget = 64;
  Time busy_poll_timeout = Time::us(200);

  Cycles syscall{1000};  ///< with the socket's lock and its own dispatch
  Cycles copy_miss{14};  ///< of a line of 64 B, beside cpu.copy_bytes_per_cycle
  std::uint32_t checksum_bytes_per_cycle = 8;
  Cycles transmit_segment{1600};
  Cycles transmit_ack{900};
  Cycles receive_segment{1600};
  Cycles receive_ack{1000};
  Cycles skb{150};
  Cycles page{500};
  Cycles cross_core{150};
  Cycles slice{200};
  Cycles transmit{350};
  Cycles doorbell{140};
  Cycles sent{120};
  Cycles poll{600};
  Cycles frame{120};
  Cycles merge{100};
  Cycles timer{500};
  Cycles busy_poll{200};
  Cycles pin_page{250};
  Cycles notification{400};

  bool bursts() const { return tso || gso; }
  void describe(Fields& fields);
};

}  // namespace rnicsim

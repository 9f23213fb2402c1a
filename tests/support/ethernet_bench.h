// SPDX-License-Identifier: MIT
// Whole NICs back to back, as plain Ethernet devices.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/support/ethernet_driver.h"
#include "tests/support/nic_bench.h"

namespace rnicsim::test {

/// A sends by queue 0, B receives by queue 1.
struct EthernetBench : TwoNics {
  explicit EthernetBench(const EthernetOptions& receive = {}, std::uint32_t posted = 64,
                         const BenchOptions& options = {})
      : TwoNics(options) {
    sender.add_transmit(0);
    receiver.add_receive(1, posted, receive);
    clear_logs();
  }
  void clear_logs() {
    a.memory.log.clear();
    b.memory.log.clear();
  }
  void send(const SegmentHeaders& headers, const std::vector<std::uint8_t>& payload,
            std::uint8_t flags, std::uint16_t segment_size = 0) {
    sender.post(0, headers, payload, flags, segment_size);
    sender.ring(0);
    run();
  }
  std::vector<std::uint8_t> received_payload() {
    std::vector<std::uint8_t> all;
    for (const ReceivedFrame& frame : receiver.received(1)) {
      const std::vector<std::uint8_t> part = frame.payload();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  /// Though there be nothing but pauses.
  void run_until(Time time) {
    scheduler.at(time, call<&EthernetBench::nothing>(this));
    scheduler.run_until(time);
  }
  void nothing() {}
  /// Rings for a command; it is carried out some 1 us later.
  static void begin_command(BenchNic& nic, abi::CommandOpcode opcode, std::uint32_t object = 0) {
    nic.driver.write_command(opcode, object);
    nic.driver.ring_command();
  }
  /// When the NIC has written the status of its last command.
  static Time command_done(const BenchNic& nic) {
    Time done;
    for (const auto& access : nic.memory.of(DmaPurpose::kCommand))
      if (access.write) done = access.begin;
    return done;
  }
  /// When the NIC last asked for something of plain frames in host memory, or wrote it.
  static Time last_frame_access(const BenchNic& nic) {
    Time last;
    for (const auto& access : nic.memory.log)
      if (access.purpose == DmaPurpose::kFrame || access.purpose == DmaPurpose::kFrameQueue)
        last = std::max(last, access.write ? access.begin : access.end);
    return last;
  }
  EthernetDriver sender{a};
  EthernetDriver receiver{b};
};

}  // namespace rnicsim::test

// SPDX-License-Identifier: MIT
// Writes the packets that pass ports of NICs and switches to a capture file, in the order of their
// times. A packet that a switch drops was shown as it came in.
//
// A port shows a packet that it sends when its first bit leaves, with the time of its last; so
// packets wait here until simulated time has passed them. That is all the memory a capture takes.
//
// InfiniBand's packets, LRH to VCRC, and its flow control packets are kept in Endace's extensible
// records: LINKTYPE_INFINIBAND has no place for the latter, and tshark does not know it.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "model/packet_tap.h"
#include "model/scheduler.h"
#include "scenarios/engine/pcapng_file.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

struct CaptureOptions {
  std::string file;  ///< what messages call it
  /// Where the bytes go; who asked for the capture gives it its name once the run has ended well.
  std::string unfinished;
  std::string port_glob = kNicPorts;  ///< of port names
  static constexpr const char* kNicPorts = "host.*";
};

/// "host.A.nic0", "fabric.switch0.port3", in the order of port numbers: NICs first.
std::vector<std::string> port_names(const Scenario& scenario);
/// Numbers of the ports whose names match.
std::vector<std::uint32_t> ports_matching(const Scenario& scenario, const std::string& glob);

class PacketCapture : public PacketTap {
 public:
  /// Throws ConfigError.
  PacketCapture(const Scheduler& scheduler, const Scenario& scenario,
                const CaptureOptions& options);
  void packet(std::uint32_t port, const Packet& packet, Time time, PacketDirection direction,
              const char* comment) override;
  /// Whether it wants to see ports of switches.
  bool has_switches() const { return has_switches_; }
  /// At the end of the run. Throws ConfigError if not everything could be written.
  void close();

 private:
  struct Record {
    Time time;
    std::uint64_t number;  ///< in the order in which they were shown
    std::uint32_t interface;
    PacketDirection direction;
    std::vector<std::uint8_t> frame;
    std::string comment;
    friend bool operator>(const Record& a, const Record& b) {
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    }
  };
  void write_until(Time time);

  const Scheduler& scheduler_;
  bool infiniband_;
  std::vector<std::uint32_t> interface_of_port_;
  PcapngFile file_;
  std::priority_queue<Record, std::vector<Record>, std::greater<>> waiting_;
  std::uint64_t shown_ = 0;
  bool has_switches_ = false;
};

}  // namespace rnicsim

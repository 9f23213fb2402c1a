// SPDX-License-Identifier: MIT
// A capture file in pcapng (draft-ietf-opsawg-pcapng): one section, interfaces by name and link
// type, times in picoseconds since the start of the simulation, direction and comment of every
// frame.
//
// Left out: interface statistics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "model/packet_tap.h"
#include "model/units.h"

namespace rnicsim {

/// As https://www.tcpdump.org/linktypes.html has them.
enum class CaptureLink : std::uint16_t {
  kEthernet = 1,  ///< without FCS
  kErf = 197,     ///< Endace's extensible records, each of which says what it holds
};

class PcapngFile {
 public:
  /// Writes to `path`; messages speak of `shown_as`. Throws ConfigError if there is no writing.
  PcapngFile(const std::string& path, std::string shown_as,
             const std::vector<std::string>& interfaces, CaptureLink link);
  void add(std::uint32_t interface, Time time, PacketDirection direction,
           const std::vector<std::uint8_t>& frame, const std::string& comment);
  /// Throws ConfigError unless all that was added is in the file.
  void close();

 private:
  void begin_block(std::uint32_t type);
  void end_block();
  void put16(std::uint16_t value);
  void put32(std::uint32_t value);
  void put_padded(const void* bytes, std::size_t size);
  void option(std::uint16_t code, const void* bytes, std::size_t size);
  void end_options() { put32(0); }
  [[noreturn]] void cannot_write() const;

  std::string shown_as_;
  std::ofstream out_;
  std::vector<std::uint8_t> block_;
};

}  // namespace rnicsim

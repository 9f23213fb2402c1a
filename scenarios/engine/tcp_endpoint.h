// SPDX-License-Identifier: MIT
// One program that talks over TCP: its process's memory and its host's network interface, which the
// first program to need it brings up.
//
// What the scenario got wrong and only a call can tell (memory that does not suffice) is bad input;
// any other call that fails is a fault of the simulator. That a connection fails is neither.
#pragma once

#include <string>

#include "host/host.h"
#include "scenarios/engine/system.h"

namespace rnicsim {

class TcpEndpoint {
 public:
  TcpEndpoint(System& system, const std::string& host, unsigned core, unsigned nic = 0);

  /// Brings device and interface up, unless another program has or does: then it waits for that.
  void open(CpuTask& task);
  /// Memory of the process.
  VirtualAddress map(Bytes bytes);

  CpuCore& core() { return machine_.core(core_); }
  NetworkStack& network() { return machine_.network(nic_); }
  /// Who connects to it there.
  TcpPeer at(std::uint16_t port) const { return {{port_.mac, port_.ip}, port}; }
  const std::string& host() const { return host_; }

  PageTable pages;

 private:
  [[noreturn]] void out_of_memory(const std::string& what) const;

  std::string host_;
  Host& machine_;
  PortIdentity port_;
  unsigned core_;
  unsigned nic_;
};

}  // namespace rnicsim

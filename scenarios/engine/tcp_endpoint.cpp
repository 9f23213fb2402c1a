// SPDX-License-Identifier: MIT
#include "scenarios/engine/tcp_endpoint.h"

#include "model/config_error.h"
#include "model/quantity.h"
#include "scenarios/engine/endpoint.h"

namespace rnicsim {

TcpEndpoint::TcpEndpoint(System& system, const std::string& host, unsigned core, unsigned nic)
    : pages(system.server(host).host->memory(), system.server(host).host->frames()),
      host_(host),
      machine_(*system.server(host).host),
      port_(system.server(host).ports[nic]),
      core_(core),
      nic_(nic) {}

void TcpEndpoint::out_of_memory(const std::string& what) const {
  ConfigError::Detail detail;
  detail.path = "hosts." + host_ + ".memory.size";
  detail.expected = "memory for " + what;
  detail.found = to_text(machine_.config().memory.size);
  throw ConfigError(std::move(detail));
}

void TcpEndpoint::open(CpuTask& task) {
  const Errno up = machine_.driver(nic_).bring_up(task);
  if (up == Errno::kNoMemory) out_of_memory("the driver's tables");
  require(up, "opening the device");
  const Errno opened = network().open(task, {port_.mac, port_.ip});
  if (opened == Errno::kNoMemory) out_of_memory("the rings of the network interface");
  require(opened, "opening the network interface");
}

VirtualAddress TcpEndpoint::map(Bytes bytes) {
  const auto address = pages.map(bytes, machine_.config().memory.buffer_pages());
  if (!address) out_of_memory("a buffer of " + to_text(bytes));
  return *address;
}

}  // namespace rnicsim

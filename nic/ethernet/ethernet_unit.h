// SPDX-License-Identifier: MIT
// The NIC as a plain Ethernet device beside RDMA (model/ethernet_abi): its queues, and the parts
// that serve them. It has PCIe endpoint, port, priorities and pauses in common with RDMA, and no
// engine of its own but these pipelines.
//
//   doorbell -> transmitter (descriptor_ring, TSO) -> mac_tx
//   mac_rx -> receiver (flow_steering, receive_merger, descriptor_ring) -> host memory
//   both -> completions -> MSI-X
//
// Connects to: commands (create, destroy, flow rules), the doorbell, mac_tx and mac_rx. A queue
// that is destroyed, also because the NIC is opened or closed, finishes what is on its way to or
// from host memory before the command does. What is a packet by then is sent; the rest is
// forgotten. Ignores: whatever is not TCP over IPv4 (no ARP: hosts know each other), queues on
// InfiniBand.
#pragma once

#include <cstdint>
#include <vector>

#include "model/callback.h"
#include "model/ethernet_abi.h"
#include "model/metrics.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "nic/ethernet/ethernet_completions.h"
#include "nic/ethernet/ethernet_config.h"
#include "nic/ethernet/ethernet_receiver.h"
#include "nic/ethernet/ethernet_transmitter.h"
#include "nic/ethernet/flow_steering.h"

namespace rnicsim {

class EthernetUnit {
 public:
  struct Wiring {
    Scheduler& scheduler;
    const Clock& clock;
    PcieEndpoint& pcie;
    NicPort& port;
    MacTx& mac_tx;
    MacRx& mac_rx;
    Bytes mtu;
    bool elided;
  };
  EthernetUnit(const Wiring& wiring, const EthernetConfig& config);

  /// False: there is no such number, it is taken, or the NIC could not work with the context.
  bool create(std::uint32_t queue, const abi::EthernetQueueContext& context);
  /// False: there is no such queue. `done` runs when nothing of it is under way any more.
  bool destroy(std::uint32_t queue, Callback done);
  bool set_rule(std::uint32_t number, const abi::EthernetFlowRule& rule);
  bool clear_rule(std::uint32_t number);
  /// Destroys all queues and rules. `done` runs when nothing of theirs is under way any more.
  void reset(Callback done);

  /// Values of the registers.
  void ring(std::uint64_t queue_and_producer);
  void arm(std::uint64_t queue_and_consumer);

  bool idle() const { return transmitter_.idle() && receiver_.idle() && completions_.idle(); }
  Probe probe;
  void report(const MetricScope& scope) const;

 private:
  enum class Use : std::uint8_t { kNone, kTransmit, kReceive };
  void close(std::uint32_t queue);
  bool is_quiet(std::uint32_t queue) const;
  void wait_until_quiet(std::uint64_t first_and_last);
  Use use(std::uint32_t queue) const { return queue < uses_.size() ? uses_[queue] : Use::kNone; }

  Scheduler& scheduler_;
  EthernetConfig config_;
  bool ethernet_;
  FlowSteering steering_;
  EthernetCompletions completions_;
  EthernetTransmitter transmitter_;
  EthernetReceiver receiver_;
  std::vector<Use> uses_;  ///< by number
  Callback destroyed_;
  std::uint64_t rung_ = 0;
  std::uint64_t armed_ = 0;
  std::uint64_t ignored_ = 0;
};

}  // namespace rnicsim

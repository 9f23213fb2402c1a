// SPDX-License-Identifier: MIT
// One RDMA NIC: construction and wiring only. Stands alone: everything it needs comes through
//
//   dma   TLM-2.0 initiator socket: bus-master DMA (payloads carry model/pcie_tlp's extension)
//   bar   TLM-2.0 target socket: BAR 0 (model/nic_abi), blocking, non-blocking and debug
//   port  PacketSink for what comes off the wire; connect() names the sink of what goes out
//
//   doorbell -> wqe_fetch -> requester -> mac_tx            mac_rx -> responder -> ACK -> mac_tx
//       \-> command_unit       | key check, payload read      |   \     | key check, payload write
//                              v                              v    \-> completer -> cqe_writer
//                              |                                                    v
//                              |         entry, MSI-X <- event_queue <- completion_events
//                         pcie_endpoint <---- contexts, keys, translations: caches over host RAM
//
//   ethernet_unit: plain frames, beside RDMA between the same endpoint and the same port
//   congestion_unit: paces the requester, by CNPs from mac_rx or acknowledgements at the completer
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "model/clock.h"
#include "model/metrics.h"
#include "model/packet.h"
#include "model/packet_tap.h"
#include "model/pause.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "nic/nic_config.h"

namespace rnicsim {

/// What a NIC gets from the system it is part of.
struct NicWiring {
  Scheduler& scheduler;
  PacketPool& packets;
  PortIdentity identity;
  std::uint16_t index = 0;  ///< run-wide; part of the names of its work requests
  BitRate port_rate;
  /// Max_Read_Request_Size as the host's firmware has set it in the Device Control register.
  Bytes max_read_request{512};
  bool elided_payload = false;
  std::uint64_t seed = 0;
  /// The cable and its other end, for the room behind XOFF; the rate is port_rate.
  Time propagation{};
  Bytes mtu{4200};
  Time peer_response_time{};
  CreditConfig credit{};  ///< of InfiniBand
  /// Of the PCIe link, as its training has ended; nothing cuts through if it is not given.
  std::optional<BitRate> pcie_rate{};
};

class Nic : public sc_core::sc_module {
 public:
  Nic(const sc_core::sc_module_name& name, const NicWiring& wiring, const NicConfig& config);
  ~Nic() override;

  tlm::tlm_initiator_socket<64> dma{"dma"};
  tlm::tlm_target_socket<64> bar{"bar"};
  PacketSink& port();
  void connect(PacketSink& link);

  /// Numbers of frames and bytes that have passed the port, for conservation checks.
  struct PortTotals {
    std::uint64_t sent_packets, sent_bytes, received_packets, received_bytes;
  };
  PortTotals totals() const;
  /// Nothing is under way inside.
  bool idle() const;
  void attach(ProbeSink* sink, std::uint32_t component);
  /// Shows the packets that pass the port to `tap`, as those of port `number`.
  void attach_tap(PacketTap* tap, std::uint32_t number);
  /// Pauses that the port obeys.
  void observe_pauses(PauseObserver* observer, PauseObserver::Port port);
  /// Of each priority the longest that the port was paused, and the storm of our own that the
  /// watchdog ended, if those are storms by the watchdog's interval; else lasted is zero.
  struct PauseStorm {
    PauseSpan obeyed;
    PauseSpan stopped;
  };
  PauseStorm pause_storm(std::uint8_t priority) const;
  /// Of a queue pair with this address; and since when the port may not send it, never() if it may.
  std::uint8_t priority_of(const abi::QpContext& context) const;
  Time paused_since(std::uint8_t priority) const;
  /// How long the port has not been allowed to send that priority, since the run began.
  Time stopped(std::uint8_t priority) const;
  /// What a packet that nothing holds up takes from its arrival until this record of it, its
  /// context and all else being in the caches: kKeyChecked (when its check begins), kTranslated
  /// (when the check of a packet without kKeyChecked is over) or kAnswerReceived.
  Time receive_time(ProbeKind until) const;
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  struct Blocks;
  std::unique_ptr<Blocks> blocks_;
  Cycles request_cycles_;
  Cycles check_cycles_;
  Cycles answer_cycles_;
};

}  // namespace rnicsim

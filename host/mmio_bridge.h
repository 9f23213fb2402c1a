// SPDX-License-Identifier: MIT
// The root complex's way from CPU to device registers: stores become posted memory writes, loads
// become non-posted reads whose completions come back upstream.
//
// Connects to: CPU cores above (MmioPort), both directions of the link, and through a TLM-2.0
// initiator socket the device's BAR. Stores and loads share one stream, so a load never passes a
// store (PCIe Base Specification 2.4.1); the load's completion shares the stream of the device's
// writes, so it never passes those. Takes every answer of the base protocol and obeys request
// exclusion; never calls b_transport.
// Metrics: busy is the time that its stores and load requests take on the link (the bridge itself
// only delays), stalled.device the time that they stood before a device that had not ended the
// request before, occupancy.max counts stores and loads from the core to their end.
// Ignores: write combining (the caller decides how many bytes one store carries, up to 64) and the
// limit on a core's outstanding stores.
#pragma once

#include <deque>
#include <memory>
#include <tlm>
#include <vector>

#include "host/mmio.h"
#include "host/pcie_config.h"
#include "host/pcie_direction.h"
#include "model/callback.h"
#include "model/metrics.h"
#include "model/pcie_tlp.h"
#include "model/ring.h"
#include "model/scheduler.h"

namespace rnicsim {

class MmioBridge : public MmioPort,
                   private tlm::tlm_bw_transport_if<>,
                   private tlm::tlm_mm_interface {
 public:
  static constexpr unsigned kMaxBytes = 64;

  /// down_stream and up_stream: the streams of the two directions that are this block's.
  MmioBridge(Scheduler& scheduler, const PcieConfig& config, PcieDirection& down,
             unsigned down_stream, PcieDirection& up, unsigned up_stream);

  tlm::tlm_initiator_socket<64> socket;  ///< address 0 is the BAR's first byte

  void mmio_write(Time at, std::uint64_t bar_offset, const std::uint8_t* data,
                  unsigned bytes) override;
  /// The load leaves the core at `at`; `done` runs when its data are in `into`.
  void mmio_read(Time at, std::uint64_t bar_offset, std::uint8_t* into, unsigned bytes,
                 Callback done);

  /// Each way takes so much longer: a switch stands between root complex and link.
  void add_latency(Time latency) { config_.root_complex_latency += latency; }

  bool idle() const { return free_.size() == transactions_.size(); }
  void report(const MetricScope& scope) const;

 private:
  struct Transaction : tlm::tlm_generic_payload {
    DmaExtension* extension = nullptr;  ///< owned by the payload
    std::uint32_t index = 0;
    std::array<std::uint8_t, kMaxBytes> data;
    std::uint8_t* into = nullptr;
    Callback done;
    Time arrived;  ///< at the device
  };

  Transaction& make(tlm::tlm_command command, std::uint64_t offset, unsigned bytes);
  void arrived(std::uint64_t index, const TrainTimes& times);
  void issue();
  void request_ended(std::uint64_t index);
  void responded(std::uint64_t index);
  void completion_sent(std::uint64_t index, const TrainTimes& times);
  void completed(std::uint64_t index);
  void when(Time time, Callback callback);

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
  void free(tlm::tlm_generic_payload* payload) override;

  Scheduler& scheduler_;
  PcieConfig config_;
  PcieFormat format_;
  PcieDirection& down_;
  PcieDirection& up_;
  unsigned down_stream_;
  unsigned up_stream_;
  std::deque<std::unique_ptr<Transaction>> transactions_;
  std::vector<Transaction*> free_;
  Ring<Transaction*> waiting_;         ///< arrived, not yet shown to the device
  Transaction* in_request_ = nullptr;  ///< the device has not ended its request phase
  std::uint64_t writes_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t errors_ = 0;
  Bytes bytes_;  ///< of TLPs, downstream
  Time waited_;  ///< for the device
};

}  // namespace rnicsim

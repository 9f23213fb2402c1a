// SPDX-License-Identifier: MIT
// A PCIe link and the root port behind it: carries a device's DMA to host memory and the CPU's
// stores and loads to the device.
//
// DMA read: read requests up; at their arrival the memory is asked; completions come down as soon
// as they can run without a gap; at their last byte the device gets BEGIN_RESP. DMA write: TLPs up;
// BEGIN_RESP when the last one has left the device (posted: nobody reports the landing); from there
// on it is host/pcie_writes' business.
//
// Connects to: the device's initiator through `dma_socket` (TLM-2.0 base protocol, non-blocking;
// b_transport moves the bytes at once and adds the unloaded time, with DRAM's latency; no DMI), the
// device's BAR through mmio().socket, Memory, CPU cores through mmio(), the interrupt controller, a
// DmaGuard (or none) that is asked for every request that reaches the root complex, a PcieRoute (or
// none) through a switch and to GPUs; b_transport and the debug transport reach RAM alone.
//
// A write of 4 B with purpose kInterrupt to the messages' address window goes to the interrupt
// controller, never to memory, and takes effect at its arrival, but not before the writes sent
// earlier are visible. (Really the address alone decides; here RAM has no hole there.)
//
// An IOMMU, if there is one, holds a request back between its arrival and memory. Where memory
// knows lines (a cache), a read of bytes that an ordered write is still on its way to waits for
// that write. Requests to peers are translated if they pass the root complex (host/pcie_route).
//
// Models: splitting, both directions' bytes, credits, ordering (host/pcie_arbiter), an
// unsupported request for addresses outside memory (a read answers TLM_ADDRESS_ERROR_RESPONSE, a
// write is counted as a fault and dropped, as nothing can be answered). A read of n TLPs is served
// as one: memory starts at the first TLP's arrival and gives the last data no earlier than the last
// TLP needs. Approximates: a read samples its bytes when its completion arrives, up to root complex
// + latency_down + the completion's own time after the memory gave them (some 200 ns for 64 B): a
// store by the CPU in that window is seen, which no ordering rule forbids. The root complex answers
// reads of different engines in turns, those of one engine in order. Requests with no-snoop
// meet DRAM, whatever a cache has. Ignores: relaxed ordering of completions (they overtake
// nothing that they would have to wait for here), ID-based ordering (each requester has queues of
// its own, so none waits for another's writes).
#pragma once

#include <array>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "host/mmio_bridge.h"
#include "host/pcie_config.h"
#include "host/pcie_direction.h"
#include "host/pcie_request.h"
#include "host/pcie_writes.h"
#include "model/metrics.h"
#include "model/pcie_tlp.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "model/signal.h"

namespace rnicsim {

class PcieLink : public sc_core::sc_module, private tlm::tlm_fw_transport_if<> {
 public:
  PcieLink(const sc_core::sc_module_name& name, Scheduler& scheduler, const PcieConfig& config,
           Memory& memory, DmaGuard* guard = nullptr, std::uint64_t seed = 0);

  tlm::tlm_target_socket<64> dma_socket;
  /// The CPU's side; mmio().socket binds to the device's BAR.
  MmioBridge& mmio() { return mmio_; }
  Probe& probe() { return probe_; }
  /// Where interrupt messages go; without one they are writes like any other.
  void set_interrupts(InterruptController* interrupts) { around_.interrupts = interrupts; }
  /// What lies between this link and the root complex, and other devices that it may reach.
  void set_route(PcieRoute* route) {
    around_.route = route;
    mmio_.add_latency(route->latency_from_root());
  }

  /// Where DMA addresses are translated; without one they pass through.
  void set_iommu(Iommu* iommu) { around_.iommu = iommu; }

  /// Nothing is queued, in flight or about to become visible.
  bool idle() const { return free_.size() == transfers_.size() && writes_.idle() && mmio_.idle(); }
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);
  /// Besides, what DLLPs and ordered sets take of it: of a link that is itself what is measured.
  void report_link_layer(const MetricScope& scope) const;

 private:
  static constexpr std::uint32_t kMaxTransfer = PcieWrites::kMaxBytes;
  static constexpr unsigned kMmioDown = kDmaEngines;  ///< stream beside those of the engines
  static constexpr unsigned kWritesUp = static_cast<unsigned>(DmaEngineId::kPosted);

  /// One DMA request from BEGIN_REQ to its response.
  struct Transfer {
    tlm::tlm_generic_payload* payload = nullptr;  ///< null once the device has its response
    DmaExtension* extension = nullptr;            ///< null: the initiator set none
    PcieRequest request;
    unsigned stream = 0;
    std::uint8_t trains = 0;  ///< write: not sent yet
    Time begin;               ///< write: first byte at the receiver
  };

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
  unsigned transport_dbg(tlm::tlm_generic_payload& payload) override;

  static bool acceptable(tlm::tlm_generic_payload& payload);
  std::uint32_t make(tlm::tlm_generic_payload& payload);
  PcieRequest request_of(const tlm::tlm_generic_payload& payload,
                         const DmaExtension* extension) const;
  static unsigned stream_of_read(const Transfer& t);
  void recycle(std::uint64_t index);
  void begin_read(std::uint32_t index, Time time);
  void begin_write(std::uint32_t index, Time time);
  void send_write_part(std::uint32_t index, Time time, PhysicalAddress address, Bytes bytes);
  void read_arrived(std::uint64_t index, const TrainTimes& times);
  void completion_arrived(std::uint64_t index, const TrainTimes& times);
  void write_sent(std::uint64_t index, const TrainTimes& times);
  PcieSpan way_of_request(const PcieRequest& request, const TrainTimes& times);
  PcieSpan way_of_data(const PcieRequest& read, const PcieSpan& request, Bytes link_bytes);
  void respond(std::uint64_t index, tlm::tlm_response_status status);
  void pump_responses();
  Time overhead_time(Bytes overhead) const { return up_.byte_time().of(overhead); }

  Scheduler& scheduler_;
  PcieConfig config_;
  PcieFormat format_;
  PcieSurroundings around_;
  PcieDirection up_;
  PcieDirection down_;
  MmioBridge mmio_;
  Probe probe_;
  PcieWrites writes_;

  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
  Ring<tlm::tlm_generic_payload*> responses_;
  bool in_response_ = false;  ///< the device has not ended a response phase

  std::array<Bytes, kDmaPurposes> read_{};
  std::array<Bytes, kDmaPurposes> written_{};
  std::uint64_t reads_ = 0;
  std::uint64_t write_count_ = 0;
  std::uint64_t read_faults_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// A raw DMA device in place of a NIC: it reads and writes host memory as it is told and times that.
// pcie-bench does the same with a programmable NIC (NFP6000), whose numbers it is checked with.
//
// Two ways to the bus. A command goes straight to the PCIe endpoint. The DMA engine moves data
// between the bus and the device's own memory: `engine_latency` and the bytes at `staging_rate`
// come on top, many transfers at a time, and it starts no read sooner than `read_interval` after
// the one before, no write sooner than `write_interval`.
//
//   kRead, kWrite      as many as the engine has room for, through the engine
//   kReadWrite         both at the same time, in equal numbers
//   kReadLatency       one read at a time, from its issue until its data are there
//   kWriteReadLatency  one write and then a read of the same bytes; the read pushes the write ahead
//
// It also plays the descriptor rings of a NIC (ring_exerciser), past the DMA engine.
//
// Room: one slot for each max_read_request of a transfer, held until its data are staged; as many
// slots as tags. Connects to: a PCIe link as a NIC does, `dma` its bus master and `bar` a BAR whose
// registers read as zeros. Moves no bytes of its own (all transfers are elided); memory counts
// them. Approximates: the engine stages any number of transfers at a time; it moves single bytes,
// where the NFP6000's moves pieces of 128 B (a transfer of 129 B costs it as much as one of 256 B).
// Ignores: its own memory's bandwidth, the granularity of its clock (13.3 ns in pcie-bench).
#pragma once

#include <cstdint>
#include <functional>
#include <systemc>
#include <tlm>
#include <vector>

#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/scheduler.h"
#include "model/units.h"
#include "nic/pcie_endpoint.h"
#include "nic/ring_exerciser.h"

namespace rnicsim {

struct DmaExerciserConfig {
  PcieEndpointConfig pcie;
  Time read_interval = Time::ns(10);
  Time write_interval = Time::ns(10);
  Time engine_latency = Time::ns(50);
  BitRate staging_rate = BitRate::gbps(64);
  void describe(Fields& fields);
};

class DmaExerciser : public sc_core::sc_module, private tlm::tlm_fw_transport_if<> {
 public:
  DmaExerciser(const sc_core::sc_module_name& name, Scheduler& scheduler,
               const DmaExerciserConfig& config, Bytes max_read_request);

  tlm::tlm_initiator_socket<64>& dma() { return endpoint_.socket; }
  tlm::tlm_target_socket<64> bar{"bar"};

  enum class Kind : std::uint8_t { kRead, kWrite, kReadWrite, kReadLatency, kWriteReadLatency };
  struct Job {
    Kind kind = Kind::kRead;
    bool engine = true;  ///< of latencies: through the DMA engine
    std::uint32_t bytes = 64;
    std::uint64_t count = 1;  ///< transfers; of kReadWrite as many each way
    /// Where the next one goes; asked once a transfer (of kWriteReadLatency once a pair).
    std::function<PhysicalAddress()> next;
  };
  struct Outcome {
    Time lasted;                  ///< from the first issue to the last end
    std::vector<Time> latencies;  ///< of kinds that measure them, in order
  };
  /// Begins at once; `done` runs when all have ended. Ends the simulation, as a
  /// violation, if another job is under way.
  void run(Job job, Callback done);
  const Outcome& outcome() const { return outcome_; }
  /// Likewise with descriptor rings.
  void run_rings(RingExerciser::Job job, Callback done);
  const RingExerciser& rings() const { return rings_; }
  /// The register that a ring's tail is stored to; heads are loaded from the next one.
  static constexpr std::uint64_t tail_register(RingExerciser::Direction ring) {
    return std::uint64_t{ring} * kRegisterStride;
  }
  static constexpr std::uint64_t head_register(RingExerciser::Direction ring) {
    return tail_register(ring) + RingExerciser::kPointerBytes;
  }

  /// Who is told of every store to its BAR, when it is there.
  void on_store(Callback callback) { stored_ = callback; }

  bool idle() const { return endpoint_.idle(); }
  void report(const MetricScope& scope) const { endpoint_.report(scope); }

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
  unsigned transport_dbg(tlm::tlm_generic_payload&) override { return 0; }

  static constexpr std::uint64_t kRegisterStride = 8;

  void refuse_overlap() const;
  bool measures_latency() const {
    return job_.kind == Kind::kReadLatency || job_.kind == Kind::kWriteReadLatency;
  }
  bool reads() const { return job_.kind == Kind::kRead || job_.kind == Kind::kReadWrite; }
  bool writes() const { return job_.kind == Kind::kWrite || job_.kind == Kind::kReadWrite; }
  Time staging() const;
  void transfer(bool write, PhysicalAddress address, Callback done);
  // Bandwidth:
  void issue();
  bool issue_read(Time now);
  bool issue_write(Time now);
  void wake_at(Time time);
  void woken();
  void read_came();
  void read_ended();
  void write_ended();
  void end_if_all();
  void end();
  // Latency:
  void begin_one();
  void write_goes();
  void write_gone();
  void data_came();
  void one_ended();

  Scheduler& scheduler_;
  DmaExerciserConfig config_;
  Bytes max_read_request_;
  PcieEndpoint endpoint_;
  RingExerciser rings_;
  Job job_;
  Callback done_;
  Callback stored_;
  Outcome outcome_;
  Time begun_;
  PhysicalAddress place_;  ///< of the pair that is under way
  std::uint64_t reads_issued_ = 0;
  std::uint64_t writes_issued_ = 0;
  std::uint64_t ended_ = 0;
  std::uint32_t room_for_reads_ = 0;   ///< slots
  std::uint32_t room_for_writes_ = 0;  ///< transfers
  Time next_read_;
  Time next_write_;
  Time wake_at_ = Time::never();
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The workload pattern "pcie_bench": the DMA exerciser of a host runs one measurement after the
// other, as pcie-bench does. Before each one the window is brought into the cache (a CPU has
// written it) or the cache is emptied, outside of simulated time.
//
//   workload.NAME.OPERATION.size_64.window_8192.bandwidth          payload bits; of read_write each
//   way workload.NAME.OPERATION.size_64.window_8192.transfer_rate      likewise
//   workload.NAME.OPERATION.size_64.window_8192.latency.typical    median; min, p99, p999, max,
//   average
//
// Operations of descriptor rings (nic/ring_exerciser) report their bandwidth likewise, without the
// packets of the beginning; their packets stand in buffers of 2 KiB, as drivers lay them out, or of
// the next power of two. The window is made of 2 MiB frames. The IO-TLB is left as the measurement
// before left it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/random.h"
#include "nic/dma_exerciser.h"
#include "scenarios/engine/scenario.h"
#include "scenarios/engine/system.h"
#include "scenarios/engine/workload.h"

namespace rnicsim {

/// Where transfers go: units of whole cache lines in a window that lies in frames.
class PcieBenchPlaces {
 public:
  static constexpr std::uint64_t kFrameBytes = 2 << 20;
  static Bytes unit(Bytes size, Bytes offset);

  PcieBenchPlaces(const std::vector<PhysicalAddress>& frames, Bytes size, Bytes window,
                  Bytes offset, bool random, std::uint64_t seed);
  PhysicalAddress next();

 private:
  const std::vector<PhysicalAddress>& frames_;
  std::uint64_t unit_;
  std::uint64_t offset_;
  std::uint64_t in_frame_;  ///< places
  std::uint64_t places_;
  bool at_random_;
  Random random_;
  std::uint64_t nth_ = 0;
};

class PcieBenchWorkload : public Workload, private RingExerciser::Host {
 public:
  /// What a place of the window has room for.
  static Bytes place_of(PcieBenchOperation operation, Bytes size);

  PcieBenchWorkload(System& system, const WorkloadSpec& spec, const Scenario& scenario);

  bool finished() const override { return results_.size() == plan_.size(); }
  std::vector<std::string> waiting_for() const override;
  void landed(WorkRequestId /*work_request*/, Time /*time*/) override {}
  void check_completions(std::vector<Violation>& /*violations*/) const override {}
  Landed landed_at(const std::string& host) const override;
  void verify(std::vector<Violation>& /*violations*/) override {}
  void report(MetricSink& sink) const override;

 private:
  struct Measurement {
    PcieBenchOperation operation;
    Bytes size;
    Bytes window;
  };
  struct Result {
    Time lasted;
    std::vector<Time> latencies;  ///< ascending; empty: bandwidth was measured
    std::uint64_t count = 0;      ///< transfers in that time
  };

  void allocate_window();
  void begin();
  void begin_rings(const Measurement& measurement);
  void rings_ended();
  void store_tail(RingExerciser::Direction ring) override;
  void load_head(RingExerciser::Direction ring, Callback done) override;
  void store();
  void stored();
  void ended();
  void keep(Result result);
  void prepare_cache(Bytes window);
  std::string name_of_measurement(const Measurement& measurement) const;
  void report_one(MetricSink& sink, const Measurement& measurement, const Result& result) const;

  System::Server& server_;
  std::string name_;
  PcieBenchSpec spec_;
  std::uint64_t seed_;
  std::vector<Measurement> plan_;
  std::vector<PhysicalAddress> frames_;
  std::unique_ptr<PcieBenchPlaces> places_;
  std::vector<Result> results_;
  std::vector<Time> store_latencies_;  ///< of the measurement under way
  Time store_left_;                    ///< the core
  Bytes written_;
  PhysicalAddress rings_;  ///< their memory
  std::uint8_t head_[RingExerciser::kPointerBytes] = {};
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The NIC's registers behind BAR 0 (model/nic_abi): the command queue's address and doorbell, the
// arming of event queues, and in every user access region page the send doorbell, the receive
// doorbell and the arming of completion queues.
//
// A send doorbell is 8 B, or, as BlueFlame, a whole basic block of 64 B (one write-combined line):
// a WQE of one block that is the next of its queue is then taken from the register and need not be
// fetched.
// A posted write has no completion, so a doorbell never pushes back: it enters a FIFO of `depth`;
// a send doorbell that finds it full is lost, and the queue pair's doorbell record in host RAM is
// read instead (which is what the record is for). The two command registers have a place each: a
// second write before the first took effect overwrites it. The others are never lost, as nothing
// stands for them in host RAM; they are rare, a few for each interrupt. Reads give the command
// queue's address; all else reads as zero. Writes of other sizes or places are counted and ignored.
#pragma once

#include <array>
#include <set>
#include <tlm>

#include "model/callback.h"
#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/nic_abi.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"

namespace rnicsim {

class CommandUnit;
class CompletionEvents;
class EventQueue;
class WqeFetch;

struct DoorbellConfig {
  std::uint32_t depth = 256;
  PipelineConfig pipeline{Cycles(8), Cycles(1)};
  void describe(Fields& fields);
};

class Doorbell : public tlm::tlm_fw_transport_if<> {
 public:
  Doorbell(Scheduler& scheduler, const Clock& clock, const DoorbellConfig& config,
           WqeFetch& wqe_fetch, CommandUnit& command_unit, EventQueue& event_queue,
           CompletionEvents& completion_events);
  /// `receives_posted` runs, with the queue pair's number for its argument, when software rings the
  /// receive doorbell: it knows that queue pair to be in error.
  void connect(Callback receives_posted) { receives_posted_ = receives_posted; }

  tlm::tlm_target_socket<64> socket;

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
  unsigned transport_dbg(tlm::tlm_generic_payload& payload) override;
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }

  bool idle() const { return arriving_.empty() && fifo_.empty(); }
  Probe probe;
  void report(const MetricScope& scope) const;

 private:
  enum class Register : std::uint8_t {
    kNone,
    kCommandQueueAddress,
    kCommandDoorbell,
    kEqArm,
    kCqArm,
    kSend,
    kReceive,
  };
  struct Write {
    Register target = Register::kNone;
    unsigned bytes = 0;
    std::array<std::uint8_t, abi::kWqeBlockBytes> data{};
    /// The first 4 or 8 bytes, big-endian.
    std::uint64_t value() const;
  };
  static Register register_at(std::uint64_t offset, unsigned bytes);
  void access(tlm::tlm_generic_payload& payload, Time time);
  void arrived();
  void serve();
  void dispatch(const Write& write);
  bool overwrites(const Write& write);
  void send_doorbell(const Write& write);
  void arm_cq(std::uint64_t value);
  void receive_doorbell(std::uint64_t value);

  Scheduler& scheduler_;
  DoorbellConfig config_;
  WqeFetch& wqe_fetch_;
  CommandUnit& command_unit_;
  EventQueue& event_queue_;
  CompletionEvents& completion_events_;
  Callback receives_posted_;
  Pipeline pipeline_;
  Ring<Write> arriving_;  ///< written, and not yet in effect
  Ring<Write> fifo_;
  Time last_;                     ///< when the youngest of the FIFO is served
  std::set<std::uint32_t> lost_;  ///< queue pairs whose doorbells found the FIFO full
  std::uint64_t command_queue_ = 0;
  std::uint64_t rung_ = 0;
  std::uint64_t receive_rung_ = 0;
  std::uint64_t armed_ = 0;
  std::uint64_t blue_flame_ = 0;
  std::uint64_t lost_count_ = 0;
  std::uint64_t ignored_ = 0;
  std::size_t most_ = 0;
};

}  // namespace rnicsim

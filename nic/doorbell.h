// SPDX-License-Identifier: MIT
// The NIC's registers behind BAR 0 (model/nic_abi): the command queue's address and doorbell, the
// arming of event queues, the end of page faults, doorbell and arming of plain Ethernet's queues
// (model/ethernet_abi), and in every user access region page the send doorbell, the receive
// doorbell and the arming of completion queues.
//
// A send doorbell is 8 B, or, as BlueFlame, a whole WQE in write-combined lines of 64 B: a WQE that
// is the next of its queue is then taken from the register and need not be fetched. Each page has a
// buffer of 256 B that gathers the lines; with the last of them the doorbell takes effect. What is
// not whole becomes an ordinary doorbell, by which the WQE is fetched from host RAM, where it
// stands too: when the page is rung again or a line comes out of turn (two queue pairs whose lines
// interleave in one page), or when the rest has not come for `blue_flame_wait`. As no line but the
// first says whose it is, the page then ignores further lines, and takes first ones for doorbells,
// until it has been without either for that time.
// A posted write has no completion, so a doorbell never pushes back: it enters a FIFO of `depth`;
// a send doorbell that finds it full is lost, and the queue pair's doorbell record in host RAM is
// read instead (which is what the record is for). The two command registers have a place each: a
// second write before the first took effect overwrites it. The others are never lost, as nothing
// stands for them in host RAM; they are rare, a few for each interrupt or burst of TCP. Reads give
// the command queue's address; all else reads as zero. Writes of other sizes or places are counted
// and ignored.
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
#include "model/signal.h"

namespace rnicsim {

class CommandUnit;
class CompletionEvents;
class EthernetUnit;
class EventQueue;
class PageFaults;
class WqeFetch;

struct DoorbellConfig {
  std::uint32_t depth = 256;
  Time blue_flame_wait = Time::us(1);
  PipelineConfig pipeline{Cycles(8), Cycles(1)};
  void describe(Fields& fields);
};

class Doorbell : public tlm::tlm_fw_transport_if<> {
 public:
  Doorbell(Scheduler& scheduler, const Clock& clock, const DoorbellConfig& config,
           WqeFetch& wqe_fetch, CommandUnit& command_unit, EventQueue& event_queue,
           CompletionEvents& completion_events, PageFaults& page_faults, EthernetUnit& ethernet);
  /// `receives_posted` runs, with the queue pair's number for its argument, when software rings the
  /// receive doorbell: it knows that queue pair to be in error.
  void connect(Callback receives_posted) { receives_posted_ = receives_posted; }

  tlm::tlm_target_socket<64> socket;

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
  unsigned transport_dbg(tlm::tlm_generic_payload& payload) override;
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }

  bool idle() const { return arriving_.empty() && gathering_ == 0 && fifo_.empty(); }
  Probe probe;
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  enum class Register : std::uint8_t {
    kNone,
    kCommandQueueAddress,
    kCommandDoorbell,
    kEqArm,
    kPageFaultResume,
    kCqArm,
    kSend,
    kSendLine,  ///< a further line of BlueFlame
    kReceive,
    kEthernet,
    kEthernetArm,
  };
  struct Write {
    Register target = Register::kNone;
    std::uint8_t page = 0;  ///< of the user access region, of send doorbells
    std::uint8_t line = 0;  ///< of BlueFlame
    std::uint32_t bytes = 0;
    std::array<std::uint8_t, abi::kBlueFlameBytes> data{};
    /// The first 4 or 8 bytes, big-endian.
    std::uint64_t value() const;
  };
  /// Gathers the lines of one WQE.
  struct BlueFlameBuffer {
    bool open = false;         ///< some lines are here, not all
    std::uint32_t opened = 0;  ///< how often
    Time trusted_at;           ///< lines before then may belong to another WQE
    Write lines;
  };
  static constexpr std::size_t kPages = (abi::kBarSize - abi::kUarOffset) / abi::kUarSize;
  static Register register_at(std::uint64_t offset, unsigned bytes);
  void access(tlm::tlm_generic_payload& payload, Time time);
  void arrived();
  void ring(const Write& write);
  void add_line(const Write& write);
  void close(BlueFlameBuffer& buffer);
  void give_up(BlueFlameBuffer& buffer);
  void distrust(BlueFlameBuffer& buffer);
  void waited(std::uint64_t page_and_opened);
  void enter(const Write& write);
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
  PageFaults& page_faults_;
  EthernetUnit& ethernet_;
  Callback receives_posted_;
  Pipeline pipeline_;
  Ring<Write> arriving_;  ///< written, and not yet in effect
  std::array<BlueFlameBuffer, kPages> buffers_;
  std::size_t gathering_ = 0;  ///< buffers that are open
  Ring<Write> fifo_;
  Time last_;                     ///< when the youngest of the FIFO is served
  std::set<std::uint32_t> lost_;  ///< queue pairs whose doorbells found the FIFO full
  std::uint64_t command_queue_ = 0;
  std::uint64_t rung_ = 0;
  std::uint64_t receive_rung_ = 0;
  std::uint64_t armed_ = 0;
  std::uint64_t blue_flame_ = 0;
  std::uint64_t blue_flame_broken_ = 0;
  std::uint64_t lost_count_ = 0;
  std::uint64_t ignored_ = 0;
  std::size_t most_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// A pair of rings, the interrupt of both and the core that serves them: the driver's half of the
// network path.
//
//   NIC -> completion entries in RAM, MSI-X -> interrupt -> poll in softirq, a round of at most
//     `budget` frames: take back what was sent | take a frame | merge (segment_merger) | hand a
//     segment to the stack -> post new buffers, doorbell -> another round, or arm -> ...
//   stack -> transmit(): descriptor and headers in RAM, doorbell -> NIC
//
// Every step occupies the core and has its effect at its end. Softirq goes before programs: one
// that enters the stack on this core while a poll is going on waits for it (let_pass), or for the
// end of a round that has used up its budget, as ksoftirqd lets others run.
//
// Whose work it is, of the control or the data plane, follows the socket that a frame belongs to,
// frame by frame. What belongs to none (an interrupt's entry, beginning a round, its doorbells and
// arming) goes to the plane of the first frame or descriptor that the round finds, control if it
// finds none.
//
// Busy polling: programs that wait look at the receive ring themselves (CpuTask::poll_until) and
// then poll as softirq would. Meanwhile nothing is armed; if nobody has polled for a while, softirq
// takes over and arms again (napi_defer_hard_irqs and gro_flush_timeout).
//
// Approximates: interrupts wait for what a program on the core has charged; a full transmit ring
// keeps frames in a queue without limit. Ignores: batching of doorbells, adaptive moderation.
// Likely error: a program's own work of some microseconds delays softirq, which would preempt it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "host/cpu_core.h"
#include "host/interrupt_controller.h"
#include "host/kernel/ethernet_queues.h"
#include "host/kernel/kernel_config.h"
#include "host/kernel/kernel_context.h"
#include "host/kernel/received_segment.h"
#include "host/kernel/segment_merger.h"
#include "host/mmio.h"
#include "host/tcp/tcp_timer.h"
#include "model/probe.h"
#include "model/ring.h"

namespace rnicsim {

class EthernetChannel;

/// What softirq hands segments to.
class SegmentReceiver {
 public:
  virtual ~SegmentReceiver() = default;
  struct Work {
    CpuPlane plane;
    Cycles cycles;
  };
  /// What receive() costs before it has an effect.
  virtual Work work_of(const ReceivedSegment& segment) = 0;
  /// Takes the segment's buffers.
  virtual void receive(ReceivedSegment& segment, EthernetChannel& from, KernelContext& context) = 0;
  /// A frame is dropped: it is none for us, or damaged. Takes the buffers.
  virtual void drop(KernelBufferList& buffers) = 0;
  /// Whose work a frame with these headers is.
  virtual CpuPlane plane_of(abi::Ipv4Address source, const TcpHeader& tcp) const = 0;
};

class EthernetChannel : private InterruptOwner {
 public:
  struct Parts {
    Scheduler& scheduler;
    const KernelConfig& config;
    Memory& memory;
    FrameAllocator& frames;
    KernelBuffers& buffers;
    MmioPort& mmio;
    InterruptController& interrupts;
    SegmentReceiver& receiver;
    const Probe& probe;
  };
  EthernetChannel(const Parts& parts, unsigned number, CpuCore& core);
  EthernetChannel(const EthernetChannel&) = delete;
  EthernetChannel& operator=(const EthernetChannel&) = delete;

  Errno open(CpuTask& task, Driver& driver);
  CpuCore& core() const { return core_; }
  std::uint32_t receive_queue() const { return receive_.number(); }

  /// Posts a frame; then, for all that have been, one doorbell at `at`.
  void transmit(const TransmitFrame& frame);
  void ring(Time at);

  /// Returns when no softirq work is going on here, or may be interrupted.
  void let_pass(CpuTask& task);
  /// A program is going to poll, or does something else now.
  void begin_busy_polling() {
    ++busy_pollers_;
    masked_ = true;
    fallback_.stop();
  }
  void end_busy_polling() {
    if (--busy_pollers_ == 0) fallback_.start(parts_.config.busy_poll_timeout);
  }
  /// Returns when frames have come and been received, or `stop` holds (the caller's task has then
  /// to be woken).
  template <class Stop>
  void busy_poll(CpuTask& task, CpuPlane plane, Stop&& stop) {
    if (!polling_)
      task.poll_until(parts_.memory, receive_.next_entry(), plane, parts_.config.busy_poll,
                      [&] { return polling_ || receive_.has_entry() || stop(); });
    task.settle();
    if (!polling_ && receive_.has_entry()) begin();
    let_pass(task);
  }

  struct Counts {
    std::uint64_t frames_sent = 0;
    std::uint64_t frames_received = 0;
    std::uint64_t segments_received = 0;
    std::uint64_t rounds = 0;
    std::uint64_t no_memory = 0;
    std::uint64_t waited = 0;  ///< frames that found the transmit ring full
  };
  const Counts& counts() const { return counts_; }

 private:
  /// The oldest frame in the receive ring, looked at.
  struct Seen {
    std::optional<std::uint32_t> number;  ///< which one
    abi::EthernetReceiveCompletion entry;
    bool is_for_us = false;
    FrameHeaders headers;
    std::uint16_t checksum = 0;  ///< TCP's field
  };
  const Seen& look();
  CpuPlane plane_of(const Seen& seen) const;
  CpuPlane plane_of_next();
  CpuPlane plane_of_interrupt() override { return polling_ ? plane_ : plane_of_next(); }
  Time charge(CpuPlane plane, CpuCategory category, Cycles cycles);
  void charge_then(CpuPlane plane, CpuCategory category, Cycles cycles, Callback next);
  void interrupted();
  void fall_back();
  void begin();
  void begin_round();
  void step();
  void step_after(const KernelContext& context);
  void sent();
  bool charge_sent();
  void take_frame();
  bool read_segment(const Seen& seen, KernelBufferList& buffers, ReceivedSegment& segment);
  bool checksum_is_good(const Seen& seen, const KernelBufferList& buffers);
  void hand_over();
  void end_round();
  void refilled();
  void finish_round();
  void arm();
  void let_others_run();
  bool refill();
  void write_register(std::uint64_t offset, std::uint32_t queue, std::uint32_t value);
  void ring_transmit(std::uint64_t producer);

  Parts parts_;
  CpuCore& core_;
  TransmitRing transmit_;
  ReceiveRing receive_;
  SegmentMerger merger_;
  Ring<ReceivedSegment> ready_;
  Ring<TransmitFrame> waiting_;  ///< for room in the ring
  std::vector<CpuTask*> tasks_;  ///< that wait for softirq
  std::vector<std::uint8_t> scratch_;
  TcpTimer fallback_;
  Seen seen_;
  CpuPlane plane_ = CpuPlane::kControl;  ///< of what belongs to no frame in this round
  Time charged_until_;                   ///< end of what softirq has charged
  std::uint32_t busy_pollers_ = 0;
  bool polling_ = false;
  bool masked_ = false;
  std::uint32_t taken_ = 0;  ///< frames in this round
  Time round_began_;
  Time segment_began_;
  Time rung_;  ///< when the last doorbell of the transmit ring leaves
  std::uint32_t rung_for_ = 0;
  Counts counts_;
};

}  // namespace rnicsim

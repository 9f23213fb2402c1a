// SPDX-License-Identifier: MIT
// The sending side of plain Ethernet: from a doorbell to packets of TCP at the port.
//
// Of each queue descriptors come ahead (descriptor_ring), and of the first few what each frame
// begins with: a frame's first piece if that is short, else its headers. Queues take turns, a
// packet at a time, in one pipeline: the packet gets its headers, those of a slice if the
// descriptor's burst is cut (TSO, model/tcp_segmentation: IPv4's length and identification, which
// counts up, are each slice's own), and its payload is read from the pieces. Packets leave to the
// port in the order in which they were made, when all their DMA has been done, at the priority that
// their DSCP says; there they share the wire with those of RDMA. With its last packet a descriptor
// is done, and has its completion entry if it asked for one.
//
// Bounded: of each priority `transmit_buffer` bytes of IP packets between here and the wire; a
// queue whose priority has no room waits, others go on.
//
// Without checksum offload TCP's checksum is the driver's, right or wrong; bursts that are cut get
// theirs always. Approximates: IPv4's checksum is always made here. What is no frame of TCP over
// IPv4, does not fit the link or its own pieces is dropped, counted, and done.
// Likely error: headers are a DMA read of their own, where some drivers write them into descriptors
// (mlx5): its latency for each frame or burst that finds the queue empty.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/clock.h"
#include "model/ethernet_abi.h"
#include "model/metrics.h"
#include "model/packet.h"
#include "model/pause_frame.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/ethernet/descriptor_ring.h"
#include "nic/ethernet/ethernet_completions.h"
#include "nic/ethernet/ethernet_config.h"
#include "nic/ethernet/segment_headers.h"
#include "nic/mac_tx.h"
#include "nic/nic_port.h"
#include "nic/pcie_endpoint.h"

namespace rnicsim {

class EthernetTransmitter {
 public:
  struct Wiring {
    Scheduler& scheduler;
    const Clock& clock;
    PcieEndpoint& pcie;
    NicPort& port;
    MacTx& mac;
    EthernetCompletions& completions;
    const Probe& probe;
    Bytes mtu;    ///< largest frame, with FCS
    bool elided;  ///< payload bytes are accounted, not moved
  };
  EthernetTransmitter(const Wiring& wiring, const EthernetConfig& config);

  /// REQUIRES: the queue is closed and quiet.
  void open(std::uint32_t queue, const abi::EthernetQueueContext& context);
  /// Starts nothing more: what has no packet yet never gets one.
  void close(std::uint32_t queue);
  /// Nothing of it is on its way from host memory.
  bool is_quiet(std::uint32_t queue) const;
  /// Descriptors before `producer` are there. False: it makes no sense.
  bool produced(std::uint32_t queue, std::uint32_t producer);
  /// The port began to send a packet from here: its buffer is free. `packed`: MacTx::Started.
  void packet_started(std::uint64_t packed);

  bool idle() const;
  void report(const MetricScope& scope) const;

 private:
  static constexpr std::uint32_t kOpen = 8;  ///< descriptors of a queue whose heads are asked for
  static constexpr std::uint32_t kHeadBytes = 256;  ///< pieces up to this are read at once
  /// A descriptor being carried out.
  struct Burst {
    abi::EthernetTransmitDescriptor descriptor;
    std::array<std::uint8_t, kHeadBytes> head;
    std::uint32_t head_bytes = 0;  ///< of the first piece, read ahead
    Time taken;                    ///< with its head asked for
    Time here = Time::never();     ///< since when the head is
    bool malformed = false;
    SegmentHeaders headers;
    std::uint32_t payload = 0;
    std::uint32_t sent = 0;  ///< of it
    std::uint8_t priority = 0;
    bool is_cut() const { return (descriptor.flags & descriptor.kSegment) != 0; }
  };
  struct Queue {
    Queue(PcieEndpoint& pcie, const EthernetConfig& config, Callback fetched)
        : ring(pcie, abi::EthernetTransmitDescriptor::kBytes, config.descriptors_per_fetch,
               fetched) {}
    DescriptorRing ring;
    std::array<Burst, kOpen> bursts;
    std::uint32_t first = 0;    ///< number of the oldest burst, which is a descriptor's index
    std::uint32_t open = 0;     ///< bursts
    std::uint32_t reading = 0;  ///< heads
    std::uint32_t jobs = 0;
    bool valid = false;
    bool waits = false;  ///< for its turn
    Burst& burst(std::uint32_t index) { return bursts[index % kOpen]; }
  };
  /// A packet whose payload is on its way, or a descriptor that is done without one.
  struct Job {
    PacketRef packet;
    std::uint32_t queue = 0;
    std::uint32_t pending = 0;  ///< DMA requests
    std::uint32_t done = 0;     ///< descriptors, if it is the last packet of one
    Time begin;                 ///< of what was read for it
    bool signaled = false;
    bool sealed = false;  ///< has its checksum
    void release() { packet = {}; }
  };

  struct Turn {
    std::uint32_t queue;
    Time since;  ///< it could have entered the pipeline
  };

  void fetched(std::uint64_t queue);
  void open_burst(std::uint32_t number, Queue& queue);
  void head_read(std::uint64_t queue_and_index);
  bool judge(Burst& burst) const;
  void wait_for_turn(std::uint32_t number, Time since);
  bool has_room(std::uint8_t priority) const {
    return buffered_[priority] + w_.mtu <= config_.transmit_buffer;
  }
  void give_up_turn(std::uint8_t priority, std::uint32_t number);
  void kick();
  bool any_waits() const;
  void end_stall();
  int next_priority() const;
  void turn();
  void make_packet(std::uint32_t number, Queue& queue);
  PacketRef build(Burst& burst, std::uint32_t length, bool is_last);
  void read_payload(const Burst& burst, std::uint32_t from, std::uint32_t length,
                    std::uint64_t job);
  void payload_read(std::uint64_t job);
  void drain();
  void leave(Job& job);
  Job& job(std::uint64_t number) { return jobs_.at(number - first_job_); }

  Wiring w_;
  EthernetConfig config_;
  Pipeline pipeline_;
  Pipeline header_pipeline_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::array<Ring<Turn>, kPriorities> turns_;   ///< queues that have a packet to make
  std::array<Time, kPriorities> room_since_{};  ///< when the buffer last stopped being full
  std::uint8_t last_priority_ = 0;
  bool turn_armed_ = false;
  Time entered_;  ///< when the present turn entered the pipeline
  Ring<Job> jobs_;
  std::uint64_t first_job_ = 0;
  std::array<Bytes, kPriorities> buffered_{};
  Time stalled_since_ = Time::never();
  Time stalled_buffer_;
  Bytes most_buffered_;
  std::uint64_t descriptors_ = 0;
  std::uint64_t cut_ = 0;
  std::uint64_t packets_ = 0;
  std::uint64_t malformed_ = 0;
  std::uint64_t reads_ = 0;
  Bytes payload_;
};

}  // namespace rnicsim

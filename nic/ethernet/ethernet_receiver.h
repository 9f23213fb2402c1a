// SPDX-License-Identifier: MIT
// The receiving side of plain Ethernet: takes TCP's segments from the port's parser, chooses their
// receive queue (flow_steering), merges them if the queue asks for it (receive_merger), writes each
// frame into the next buffers that software has posted there, as many as it takes, and tells it by
// a completion entry when all has been handed to PCIe.
//
// Buffers come ahead (descriptor_ring); a frame whose buffers are posted but not here waits, and
// behind it those of its queue. If too few are posted, or more are needed than can be here, a
// merged frame is cut to the segments that fit, and goes on with the others behind them; a segment
// that does not fit is dropped and counted: software is too slow, TCP's sender will learn of it by
// the loss. A frame takes its bytes of the port's receive buffer until it is written or dropped,
// which bounds what is inside; a slow PCIe becomes a full buffer there, and so loss, or pause where
// the priority is lossless. Of that buffer's share for lossy priorities at most half waits to be
// merged.
//
// When a flow is steered to another queue, what of it waits to be merged goes on first.
//
// Approximates: the pad of short frames and 802.1Q tags are not written. Frames begin with one
// write of up to 256 B (headers and the first of the payload), the rest follows packet by packet.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/clock.h"
#include "model/ethernet_abi.h"
#include "model/metrics.h"
#include "model/packet.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/ethernet/descriptor_ring.h"
#include "nic/ethernet/ethernet_completions.h"
#include "nic/ethernet/ethernet_config.h"
#include "nic/ethernet/flow_steering.h"
#include "nic/ethernet/receive_merger.h"
#include "nic/ethernet/segment_headers.h"
#include "nic/mac_rx.h"
#include "nic/pcie_endpoint.h"

namespace rnicsim {

class EthernetReceiver : public ParsedPacketSink, private ReceiveMerger::Client {
 public:
  struct Wiring {
    Scheduler& scheduler;
    const Clock& clock;
    PcieEndpoint& pcie;
    MacRx& mac;
    EthernetCompletions& completions;
    FlowSteering& steering;
    const Probe& probe;
    bool elided;  ///< payload bytes are accounted, not moved
  };
  EthernetReceiver(const Wiring& wiring, const EthernetConfig& config);

  /// REQUIRES: the queue is closed and quiet.
  void open(std::uint32_t queue, const abi::EthernetQueueContext& context);
  /// What waits for it is dropped.
  void close(std::uint32_t queue);
  /// A rule of the steering has changed.
  void steering_changed();
  /// Nothing of it is on its way to or from host memory.
  bool is_quiet(std::uint32_t queue) const;
  /// Buffers before `producer` are posted. False: it makes no sense.
  bool produced(std::uint32_t queue, std::uint32_t producer);

  void receive(PacketRef packet, Time ready) override;
  bool idle() const;
  void report(const MetricScope& scope) const;

 private:
  /// What becomes one entry, with its packets in the queue's ring of them.
  struct Frame {
    SegmentHeaders headers;
    std::uint32_t payload = 0;
    std::uint32_t packets = 1;
    std::uint32_t hash = 0;
    bool checksum_good = false;
    std::uint32_t bytes() const { return static_cast<std::uint32_t>(headers.bytes()) + payload; }
  };
  struct Queue {
    Queue(PcieEndpoint& pcie, const EthernetConfig& config, Callback fetched)
        : ring(pcie, abi::EthernetReceiveDescriptor::kBytes, config.buffers_per_fetch, fetched) {}
    DescriptorRing ring;
    Ring<Frame> frames;
    Ring<PacketRef> packets;
    std::uint32_t writing = 0;  ///< frames
    bool valid = false;
    bool merge = false;
  };
  /// A frame on its way to host memory; its packets are in written_.
  struct Write {
    std::uint32_t queue = 0;
    std::uint32_t pending = 0;  ///< DMA requests
    std::uint32_t packets = 0;
    std::uint32_t payload = 0;
    Time begin;
    abi::EthernetReceiveCompletion entry;
  };
  /// Where the next byte of a frame goes.
  struct Place {
    std::uint32_t buffer = 0;  ///< of those here
    std::uint32_t offset = 0;
  };

  void take();
  void add(Queue& queue, PacketRef packet, std::uint32_t hash, bool checksum_good);
  void merged(ReceiveMerger::Session& session) override;
  void fetched(std::uint64_t queue) { write_frames(static_cast<std::uint32_t>(queue)); }
  void write_frames(std::uint32_t number);
  static std::uint32_t buffers_for(const Queue& queue, std::uint32_t bytes);
  void write_first_part(std::uint32_t number, Queue& queue);
  static Frame part_of(const Queue& queue, std::uint32_t first, std::uint32_t packets);
  void drop(Queue& queue, std::uint32_t packets);
  void drop_frame(Queue& queue);
  void write(std::uint32_t number, Queue& queue, const Frame& frame, std::uint32_t buffers);
  void put(Queue& queue, Place& place, std::uint8_t* data, std::uint32_t bytes,
           const PacketRef& keep);
  void written(std::uint64_t number);

  Wiring w_;
  EthernetConfig config_;
  Pipeline pipeline_;
  ReceiveMerger merger_;
  std::vector<std::unique_ptr<Queue>> queues_;
  Ring<PacketRef> arrivals_;
  Ring<Write> writes_;
  Ring<PacketRef> written_;  ///< packets of writes_
  std::uint64_t first_write_ = 0;
  std::uint64_t packets_ = 0;
  std::uint64_t frames_ = 0;
  Bytes payload_;
  std::uint64_t checksum_errors_ = 0;
  std::uint64_t no_queue_ = 0;
  std::uint64_t out_of_buffer_ = 0;
  std::uint64_t dma_writes_ = 0;
  std::size_t most_writing_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "nic/ethernet/ethernet_receiver.h"

#include <algorithm>
#include <array>

#include "model/icrc.h"

namespace rnicsim {

namespace {
constexpr std::uint32_t kMaxRequest = 4096;

/// What waits to be merged leaves room for what comes.
EthernetConfig bounded(EthernetConfig config, Bytes room) {
  config.merge_buffer = std::min(config.merge_buffer, Bytes(room.count() / 2));
  return config;
}

}  // namespace

EthernetReceiver::EthernetReceiver(const Wiring& wiring, const EthernetConfig& config)
    : w_(wiring),
      config_(config),
      pipeline_(wiring.clock, config.receive_pipeline),
      merger_(wiring.scheduler, bounded(config, wiring.mac.lossy_room()), *this) {}

void EthernetReceiver::open(std::uint32_t number, const abi::EthernetQueueContext& context) {
  if (number >= queues_.size()) queues_.resize(number + 1);
  auto& queue = queues_[number];
  if (queue == nullptr)
    queue =
        std::make_unique<Queue>(w_.pcie, config_, call<&EthernetReceiver::fetched>(this, number));
  queue->ring.open(context.ring, context.log_entries);
  queue->merge = context.merge;
  queue->valid = true;
  w_.steering.add_queue(number, context.rss);
  steering_changed();
}

void EthernetReceiver::close(std::uint32_t number) {
  if (number >= queues_.size() || queues_[number] == nullptr || !queues_[number]->valid) return;
  Queue& queue = *queues_[number];
  w_.steering.remove_queue(number);
  queue.valid = false;
  queue.ring.close();
  steering_changed();
  while (!queue.frames.empty()) drop_frame(queue);
}

/// Else a flow's next segment would overtake those that wait in another queue.
void EthernetReceiver::steering_changed() {
  merger_.flush([this](const ReceiveMerger::Session& session) {
    return w_.steering.queue_of(session.flow, session.hash) != session.queue;
  });
}

bool EthernetReceiver::is_quiet(std::uint32_t number) const {
  if (number >= queues_.size() || queues_[number] == nullptr) return true;
  return !queues_[number]->ring.is_fetching() && queues_[number]->writing == 0;
}

bool EthernetReceiver::produced(std::uint32_t number, std::uint32_t producer) {
  return queues_[number]->ring.produced(producer);
}

void EthernetReceiver::receive(PacketRef packet, Time ready) {
  arrivals_.push(std::move(packet));
  w_.scheduler.at(pipeline_.enter(ready), call<&EthernetReceiver::take>(this));
}

void EthernetReceiver::take() {
  PacketRef packet = arrivals_.take();
  ++packets_;
  const bool right = icrc_ok(*packet);
  if (!right) ++checksum_errors_;
  const bool good = config_.receive_checksum && right;
  const FlowSteering::Choice choice = w_.steering.choose(FlowKey::of(*packet));
  if (choice.queue == FlowSteering::kNoQueue) {
    ++no_queue_;
    w_.mac.release(*packet);
    return;
  }
  Queue& queue = *queues_[choice.queue];
  if (queue.merge && merger_.take(packet, choice.queue, choice.hash, good)) return;
  add(queue, std::move(packet), choice.hash, good);
  write_frames(choice.queue);
}

void EthernetReceiver::add(Queue& queue, PacketRef packet, std::uint32_t hash, bool checksum_good) {
  Frame& frame = queue.frames.push();
  frame.headers = SegmentHeaders::of(*packet);
  frame.payload = static_cast<std::uint32_t>(packet->payload_length.count());
  frame.packets = 1;
  frame.hash = hash;
  frame.checksum_good = checksum_good;
  queue.packets.push(std::move(packet));
}

void EthernetReceiver::merged(ReceiveMerger::Session& session) {
  Queue& queue = *queues_[session.queue];
  add(queue, session.packets.take(), session.hash, true);
  Frame& frame = queue.frames.back();
  for (; !session.packets.empty(); ++frame.packets) queue.packets.push(session.packets.take());
  frame.headers.tcp = session.merged.header;
  frame.payload = session.merged.length;
  frame.headers.ip.total_length =
      static_cast<std::uint16_t>(frame.bytes() - EthernetHeader::kBytes);
  write_frames(session.queue);
}

/// Writes the queue's frames as long as there are buffers for them.
void EthernetReceiver::write_frames(std::uint32_t number) {
  Queue& queue = *queues_[number];
  while (!queue.frames.empty()) {
    const std::uint32_t buffers = buffers_for(queue, queue.frames.front().bytes());
    if (buffers != 0) {
      write(number, queue, queue.frames.front(), buffers);
      queue.frames.pop();
    } else if (!queue.valid) {
      drop_frame(queue);
    } else if (queue.ring.bring_more()) {
      return;
    } else {
      write_first_part(number, queue);
    }
  }
}

/// Of the queue's oldest frame, which is too long for the buffers: so many segments as they take;
/// if they do not even take its first that one is dropped. The rest is the oldest then.
void EthernetReceiver::write_first_part(std::uint32_t number, Queue& queue) {
  const std::uint32_t all = queue.frames.front().packets;
  std::uint32_t fit = 0;
  std::uint64_t bytes = queue.frames.front().headers.bytes();
  for (; fit != all; ++fit) {
    bytes += queue.packets.at(fit)->payload_length.count();
    if (buffers_for(queue, static_cast<std::uint32_t>(bytes)) == 0) break;
  }
  const Frame part = part_of(queue, 0, std::max(fit, 1U));
  if (part.packets != all)
    queue.frames.front() = part_of(queue, part.packets, all - part.packets);
  else
    queue.frames.pop();
  if (fit != 0) {
    write(number, queue, part, buffers_for(queue, part.bytes()));
  } else {
    ++out_of_buffer_;
    drop(queue, 1);
  }
}

/// What some of its oldest frame's packets are as a frame.
EthernetReceiver::Frame EthernetReceiver::part_of(const Queue& queue, std::uint32_t first,
                                                  std::uint32_t packets) {
  Frame part = queue.frames.front();
  TcpMerged merged = merged_alone(*queue.packets.at(first));
  for (std::uint32_t i = first + 1; i < first + packets; ++i) {
    const Packet& packet = *queue.packets.at(i);
    merged.append(packet.tcp(), static_cast<std::uint32_t>(packet.payload_length.count()));
  }
  part.headers = SegmentHeaders::of(*queue.packets.at(first));
  part.headers.tcp = merged.header;
  part.packets = packets;
  part.payload = merged.length;
  part.headers.ip.total_length = static_cast<std::uint16_t>(part.bytes() - EthernetHeader::kBytes);
  return part;
}

/// How many of those that are here it takes; 0: more than those.
std::uint32_t EthernetReceiver::buffers_for(const Queue& queue, std::uint32_t bytes) {
  std::uint64_t room = 0;
  for (std::uint32_t i = 0; i < queue.ring.here(); ++i) {
    room += abi::EthernetReceiveDescriptor::read(queue.ring.at(i)).bytes;
    if (room >= bytes) return i + 1;
  }
  return 0;
}

/// The queue's oldest packets.
void EthernetReceiver::drop(Queue& queue, std::uint32_t packets) {
  for (std::uint32_t i = 0; i < packets; ++i) {
    w_.mac.release(*queue.packets.front());
    queue.packets.pop();
  }
}

/// The queue's oldest.
void EthernetReceiver::drop_frame(Queue& queue) {
  drop(queue, queue.frames.front().packets);
  queue.frames.pop();
}

/// Of the queue's oldest packets.
void EthernetReceiver::write(std::uint32_t number, Queue& queue, const Frame& frame,
                             std::uint32_t buffers) {
  Write& write = writes_.push();
  write.queue = number;
  write.pending = 0;
  write.packets = frame.packets;
  write.payload = frame.payload;
  write.begin = w_.scheduler.now();
  write.entry = {};
  write.entry.bytes = frame.bytes();
  write.entry.hash = frame.hash;
  write.entry.first = queue.ring.next();
  write.entry.descriptors = static_cast<std::uint16_t>(buffers);
  write.entry.flags = frame.checksum_good ? write.entry.kChecksumGood : std::uint8_t{0};
  write.entry.segments = static_cast<std::uint8_t>(frame.packets);
  most_writing_ = std::max(most_writing_, writes_.size());
  ++frames_;
  ++queue.writing;
  payload_ += Bytes(frame.payload);
  std::array<std::uint8_t, PcieEndpoint::kInlineBytes> head{};
  frame.headers.write(head.data());
  const auto headers = static_cast<std::uint32_t>(frame.headers.bytes());
  Place place;
  for (std::uint32_t i = 0; i < frame.packets; ++i) {
    const PacketRef packet = queue.packets.take();
    const auto length = static_cast<std::uint32_t>(packet->payload_length.count());
    std::uint8_t* payload = w_.elided ? nullptr : packet->payload();
    std::uint32_t begun = 0;
    if (i == 0) {
      begun = std::min<std::uint32_t>(length, PcieEndpoint::kInlineBytes - headers);
      if (payload != nullptr) std::copy_n(payload, begun, head.data() + headers);
      put(queue, place, head.data(), headers + begun, {});
    }
    if (begun != length)
      put(queue, place, payload == nullptr ? nullptr : payload + begun, length - begun, packet);
    written_.push(packet);
  }
  queue.ring.take(buffers);
}

/// Writes on into the buffers. `data`: null if elided.
void EthernetReceiver::put(Queue& queue, Place& place, std::uint8_t* data, std::uint32_t bytes,
                           const PacketRef& keep) {
  while (bytes != 0) {
    const auto buffer = abi::EthernetReceiveDescriptor::read(queue.ring.at(place.buffer));
    const std::uint32_t part = std::min({bytes, buffer.bytes - place.offset, kMaxRequest});
    if (part == 0) {
      place = {place.buffer + 1, 0};
      continue;
    }
    DmaRequest request;
    request.write = true;
    request.purpose = DmaPurpose::kFrame;
    request.address = PhysicalAddress(buffer.address.value() + place.offset);
    request.bytes = part;
    request.data = data;
    request.keep = keep;
    request.done = call<&EthernetReceiver::written>(this, first_write_ + writes_.size() - 1);
    place.offset += part;
    bytes -= part;
    if (data != nullptr) data += part;
    ++writes_.back().pending;
    ++dma_writes_;
    w_.pcie.submit(std::move(request));
  }
}

/// A DMA request of a frame has been handed to PCIe.
void EthernetReceiver::written(std::uint64_t number) {
  --writes_.at(number - first_write_).pending;
  while (!writes_.empty() && writes_.front().pending == 0) {
    const Write write = writes_.take();
    ++first_write_;
    if (w_.probe.on())
      w_.probe(w_.scheduler.now(), ProbeKind::kFrameWritten, {}, written_.front()->id,
               static_cast<std::uint64_t>(write.begin.ps()), write.entry.bytes,
               written_.front()->tcp().mark(write.payload));
    for (std::uint32_t i = 0; i < write.packets; ++i) {
      w_.mac.release(*written_.front());
      written_.pop();
    }
    --queues_[write.queue]->writing;
    w_.completions.write(write.queue, write.entry);
  }
}

bool EthernetReceiver::idle() const {
  for (std::uint32_t i = 0; i < queues_.size(); ++i)
    if (!is_quiet(i)) return false;
  return arrivals_.empty() && merger_.idle() && writes_.empty();
}

void EthernetReceiver::report(const MetricScope& scope) const {
  scope.count("rx_packets", packets_, "packets of plain Ethernet taken from the port");
  scope.count("rx_frames", frames_, "frames written to host memory, merged ones counted once");
  scope.bytes("rx_payload", payload_, "bytes of TCP's payload in these");
  scope.count("rx_csum_errors", checksum_errors_, "packets whose TCP checksum was wrong");
  scope.count("rx_no_queue", no_queue_, "packets dropped: there was no receive queue");
  scope.count("rx_out_of_buffer", out_of_buffer_,
              "frames dropped: software had not posted buffers enough");
  scope.count("rx_steered", w_.steering.ruled(), "packets whose flow had a rule of its own");
  scope.count("rx_frame_writes", dma_writes_, "DMA writes of headers and payload");
  std::uint64_t fetches = 0;
  for (const auto& queue : queues_)
    if (queue != nullptr) fetches += queue->ring.fetches();
  scope.count("rx_descriptor_reads", fetches, "DMA reads of receive descriptors");
  scope.time("rx.busy", pipeline_.busy(), "time the pipeline that steers was taken");
  scope.time("rx.stalled.interval", pipeline_.stalled(), "packets waited for that pipeline");
  scope.count("rx.occupancy.max", most_writing_, "most frames on their way to host memory");
  merger_.report(scope);
}

}  // namespace rnicsim

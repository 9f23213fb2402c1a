// SPDX-License-Identifier: MIT
#include "host/kernel/ethernet_channel.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim {

EthernetChannel::EthernetChannel(const Parts& parts, unsigned number, CpuCore& core)
    : parts_(parts),
      core_(core),
      transmit_(parts.memory, parts.frames, 2 * number, parts.config.log_transmit_ring),
      receive_(parts.memory, parts.frames, 2 * number + 1, parts.config.log_receive_ring),
      fallback_(parts.scheduler, call<&EthernetChannel::fall_back>(this)) {}

Errno EthernetChannel::open(CpuTask& task, Driver& driver) {
  const KernelConfig& config = parts_.config;
  const auto message =
      parts_.interrupts.allocate(core_, call<&EthernetChannel::interrupted>(this), this);
  abi::EthernetQueueContext context;
  context.msix_address = message.address;
  context.msix_data = message.data;
  context.direction = abi::EthernetDirection::kTransmit;
  context.moderation_frames = config.transmit_frames;
  context.moderation_us = static_cast<std::uint16_t>(config.transmit_period / Time::us(1));
  Errno result = transmit_.open(task, driver, context);
  if (result != Errno::kOk) return result;
  context.direction = abi::EthernetDirection::kReceive;
  context.merge = config.lro;
  context.moderation_frames = config.receive_frames;
  context.moderation_us = static_cast<std::uint16_t>(config.receive_period / Time::us(1));
  result = receive_.open(task, driver, context);
  if (result != Errno::kOk) return result;
  if (!refill()) return Errno::kNoMemory;
  task.run(CpuPlane::kControl, CpuCategory::kDoorbell, config.doorbell * 3);
  write_register(abi::kEthernetDoorbell, receive_.number(), receive_.producer());
  arm();
  return Errno::kOk;
}

void EthernetChannel::write_register(std::uint64_t offset, std::uint32_t queue,
                                     std::uint32_t value) {
  std::uint8_t image[8];
  store_be32(image, queue);
  store_be32(image + 4, value);
  parts_.mmio.mmio_write(parts_.scheduler.now(), offset, image, sizeof image);
}

/// After what has been charged before; returns the end.
Time EthernetChannel::charge(CpuPlane plane, CpuCategory category, Cycles cycles) {
  charged_until_ =
      core_.occupy(std::max(parts_.scheduler.now(), charged_until_), plane, category, cycles);
  return charged_until_;
}

void EthernetChannel::charge_then(CpuPlane plane, CpuCategory category, Cycles cycles,
                                  Callback next) {
  parts_.scheduler.at_software(charge(plane, category, cycles), next);
}

/// Goes on with the round when `context` has done what it has charged.
void EthernetChannel::step_after(const KernelContext& context) {
  charged_until_ = std::max(charged_until_, context.now());
  if (context.now() == parts_.scheduler.now()) return step();
  parts_.scheduler.at_software(context.now(), call<&EthernetChannel::step>(this));
}

// ---- Transmit ----------------------------------------------------------------------------------

void EthernetChannel::transmit(const TransmitFrame& frame) {
  ++counts_.frames_sent;
  if (waiting_.empty() && transmit_.has_room()) return transmit_.post(frame);
  ++counts_.waited;
  waiting_.push(frame);
}

void EthernetChannel::ring(Time at) {
  if (transmit_.producer() == rung_for_) return;
  rung_for_ = transmit_.producer();
  rung_ = std::max(rung_, at);
  parts_.scheduler.at_software(rung_,
                               call<&EthernetChannel::ring_transmit>(this, transmit_.producer()));
}

void EthernetChannel::ring_transmit(std::uint64_t producer) {
  write_register(abi::kEthernetDoorbell, transmit_.number(), static_cast<std::uint32_t>(producer));
}

/// Descriptors have come back, which is what owners of memory and frames may wait for.
void EthernetChannel::sent() {
  KernelContext context(core_);
  transmit_.release([&](const TransmitRing::Slot& slot) {
    if (slot.owner != nullptr) slot.owner->left(slot.position, slot.length, context);
  });
  const std::uint32_t before = transmit_.producer();
  while (!waiting_.empty() && transmit_.has_room()) transmit_.post(waiting_.take());
  if (transmit_.producer() != before)
    ring(context.charge(plane_, CpuCategory::kDoorbell, parts_.config.doorbell));
  step_after(context);
}

// ---- Polling -----------------------------------------------------------------------------------

void EthernetChannel::interrupted() {
  if (!polling_ && !masked_) begin();
}

void EthernetChannel::fall_back() {
  masked_ = false;
  if (polling_) return;
  charge(plane_of_next(), CpuCategory::kSoftirq, parts_.config.timer);
  begin();
}

void EthernetChannel::begin() {
  polling_ = true;
  begin_round();
}

void EthernetChannel::begin_round() {
  taken_ = 0;
  round_began_ = parts_.scheduler.now();
  ++counts_.rounds;
  plane_ = plane_of_next();
  charge_then(plane_, CpuCategory::kSoftirq, parts_.config.poll,
              call<&EthernetChannel::step>(this));
}

/// What to do next in this round.
void EthernetChannel::step() {
  const KernelConfig& config = parts_.config;
  if (!ready_.empty()) {
    segment_began_ = parts_.scheduler.now();
    const SegmentReceiver::Work work = parts_.receiver.work_of(ready_.front());
    return charge_then(work.plane, CpuCategory::kProtocol, work.cycles,
                       call<&EthernetChannel::hand_over>(this));
  }
  if (charge_sent())
    return parts_.scheduler.at_software(charged_until_, call<&EthernetChannel::sent>(this));
  if (taken_ < config.budget && receive_.has_entry()) {
    const Seen& seen = look();
    const CpuPlane plane = plane_of(seen);
    charge(plane, CpuCategory::kSocketBuffers,
           config.skb + config.page * std::uint64_t{seen.entry.descriptors});
    return charge_then(plane, CpuCategory::kSoftirq,
                       config.frame + (config.gro ? config.merge : Cycles(0)),
                       call<&EthernetChannel::take_frame>(this));
  }
  if (!merger_.empty()) {
    merger_.flush(ready_);
    return step();
  }
  end_round();
}

/// For descriptors that have come back; false if none have.
bool EthernetChannel::charge_sent() {
  transmit_.take_entries();
  const TransmitRing::Planes sent = transmit_.sent();
  bool some = false;
  for (unsigned plane = 0; plane < kCpuPlanes; ++plane) {
    if (sent[plane] == 0) continue;
    charge(static_cast<CpuPlane>(plane), CpuCategory::kSoftirq, parts_.config.sent * sent[plane]);
    some = true;
  }
  return some;
}

void EthernetChannel::take_frame() {
  ++taken_;
  ++counts_.frames_received;
  const Seen& seen = look();
  KernelBufferList buffers = receive_.take();
  ReceivedSegment segment;
  if (!read_segment(seen, buffers, segment))
    parts_.receiver.drop(buffers);
  else if (parts_.config.gro)
    merger_.add(segment, ready_);
  else
    ready_.push(segment);
  step();
}

/// REQUIRES: receive_.has_entry().
const EthernetChannel::Seen& EthernetChannel::look() {
  if (seen_.number == receive_.consumer()) return seen_;
  seen_.number = receive_.consumer();
  seen_.entry = receive_.peek();
  std::array<std::uint8_t, FrameHeaders::kMaxBytes> image{};
  const auto room = static_cast<std::size_t>(parts_.buffers.size().count());
  const std::size_t size = std::min<std::size_t>({seen_.entry.bytes, image.size(), room});
  parts_.memory.load(receive_.first_byte(seen_.entry), image.data(), size);
  seen_.is_for_us =
      FrameHeaders::read(image.data(), size, seen_.entry.bytes, seen_.headers) == nullptr;
  if (seen_.is_for_us)
    seen_.checksum =
        tcp_checksum_field(image.data() + seen_.headers.bytes() - seen_.headers.tcp.bytes());
  return seen_;
}

CpuPlane EthernetChannel::plane_of(const Seen& seen) const {
  if (!seen.is_for_us) return CpuPlane::kControl;
  return parts_.receiver.plane_of(seen.headers.ipv4.source, seen.headers.tcp);
}

CpuPlane EthernetChannel::plane_of_next() {
  if (receive_.has_entry()) return plane_of(look());
  return transmit_.has_entry() ? transmit_.plane_of_oldest() : CpuPlane::kControl;
}

/// False if the frame is none for the stack.
bool EthernetChannel::read_segment(const Seen& seen, KernelBufferList& buffers,
                                   ReceivedSegment& segment) {
  if (!seen.is_for_us) return false;
  const abi::EthernetReceiveCompletion& entry = seen.entry;
  const FrameHeaders& headers = seen.headers;
  const auto room = static_cast<std::uint32_t>(parts_.buffers.size().count());
  std::uint32_t left = headers.payload;
  auto offset = static_cast<std::uint32_t>(headers.bytes());
  for (KernelBuffer* buffer = buffers.first; buffer != nullptr; buffer = buffer->next) {
    buffer->offset = offset;
    buffer->length = std::min(left, room - offset);
    left -= buffer->length;
    offset = 0;
  }
  const bool checked = parts_.config.checksum_offload &&
                       (entry.flags & abi::EthernetReceiveCompletion::kChecksumGood) != 0;
  if (left != 0 || (!checked && !checksum_is_good(seen, buffers))) return false;
  segment.source_mac = headers.eth.source;
  segment.source = headers.ipv4.source;
  segment.tcp.header = headers.tcp;
  segment.tcp.ecn = headers.ipv4.ecn;
  segment.tcp.length = headers.payload;
  segment.tcp.segments = entry.segments;
  segment.tcp.segment_size = std::max((headers.payload + entry.segments - 1U) / entry.segments, 1U);
  segment.buffers = buffers;
  return true;
}

bool EthernetChannel::checksum_is_good(const Seen& seen, const KernelBufferList& buffers) {
  charge(plane_of(seen), CpuCategory::kChecksum,
         Cycles(divide_up(seen.headers.payload, parts_.config.checksum_bytes_per_cycle)));
  scratch_.clear();
  for (const KernelBuffer* buffer = buffers.first; buffer != nullptr; buffer = buffer->next) {
    const std::size_t at = scratch_.size();
    scratch_.resize(at + buffer->length);
    parts_.memory.load(buffer->data(), scratch_.data() + at, buffer->length);
  }
  return tcp_checksum(seen.headers, scratch_.data()) == seen.checksum;
}

void EthernetChannel::hand_over() {
  ReceivedSegment segment = ready_.take();
  ++counts_.segments_received;
  if (parts_.probe.on())
    parts_.probe(parts_.scheduler.now(),
                 segment.is_acknowledgement() ? ProbeKind::kAckTaken : ProbeKind::kSegmentTaken,
                 segment_began_, segment.tcp.segments, segment.tcp.header.mark(segment.tcp.length));
  KernelContext context(core_);
  parts_.receiver.receive(segment, *this, context);
  step_after(context);
}

// ---- The end of a round ------------------------------------------------------------------------

/// Posts buffers where frames have been. False if memory has run out.
bool EthernetChannel::refill() {
  while (receive_.has_room()) {
    KernelBuffer* const buffer = parts_.buffers.take();
    if (buffer == nullptr) {
      ++counts_.no_memory;
      return false;
    }
    receive_.post(buffer, parts_.buffers.size());
  }
  return true;
}

void EthernetChannel::end_round() {
  parts_.probe(parts_.scheduler.now(), ProbeKind::kSoftirqRound, round_began_, taken_, {});
  const std::uint32_t before = receive_.producer();
  refill();
  if (receive_.producer() == before) return finish_round();
  charge_then(plane_, CpuCategory::kDoorbell, parts_.config.doorbell,
              call<&EthernetChannel::refilled>(this));
}

void EthernetChannel::refilled() {
  write_register(abi::kEthernetDoorbell, receive_.number(), receive_.producer());
  finish_round();
}

void EthernetChannel::finish_round() {
  if (taken_ == parts_.config.budget) {
    let_others_run();
    parts_.scheduler.at_software(parts_.scheduler.now(), call<&EthernetChannel::begin_round>(this));
    return;
  }
  if (masked_) {
    polling_ = false;
    return let_others_run();
  }
  charge_then(plane_, CpuCategory::kDoorbell, parts_.config.doorbell * 2,
              call<&EthernetChannel::arm>(this));
}

void EthernetChannel::arm() {
  polling_ = false;
  write_register(abi::kEthernetArm, receive_.number(), receive_.consumer());
  write_register(abi::kEthernetArm, transmit_.number(), transmit_.consumer());
  let_others_run();
}

void EthernetChannel::let_others_run() {
  for (CpuTask* const task : tasks_) task->wake(parts_.scheduler.now());
  tasks_.clear();
}

void EthernetChannel::let_pass(CpuTask& task) {
  task.settle();
  if (!polling_) return;
  tasks_.push_back(&task);
  while (std::find(tasks_.begin(), tasks_.end(), &task) != tasks_.end()) task.block();
}

}  // namespace rnicsim

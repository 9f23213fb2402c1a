// SPDX-License-Identifier: MIT
#include "nic/ethernet/ethernet_transmitter.h"

#include <algorithm>
#include <utility>

#include "model/icrc.h"
#include "model/tcp_segmentation.h"

namespace rnicsim {

namespace {

constexpr std::uint32_t kMaxRequest = 4096;
constexpr std::uint32_t kMaxPayload = 64 * 1024;

}  // namespace

EthernetTransmitter::EthernetTransmitter(const Wiring& wiring, const EthernetConfig& config)
    : w_(wiring),
      config_(config),
      pipeline_(wiring.clock, config.transmit_pipeline),
      header_pipeline_(wiring.clock, config.header_pipeline) {}

void EthernetTransmitter::open(std::uint32_t number, const abi::EthernetQueueContext& context) {
  if (number >= queues_.size()) queues_.resize(number + 1);
  auto& queue = queues_[number];
  if (queue == nullptr)
    queue = std::make_unique<Queue>(w_.pcie, config_,
                                    call<&EthernetTransmitter::fetched>(this, number));
  queue->ring.open(context.ring, context.log_entries);
  queue->first = queue->open = 0;
  queue->valid = true;
}

void EthernetTransmitter::close(std::uint32_t number) {
  if (number >= queues_.size() || queues_[number] == nullptr) return;
  Queue& queue = *queues_[number];
  if (queue.waits) give_up_turn(queue.burst(queue.first).priority, number);
  queue.waits = false;
  queue.valid = false;
  queue.open = 0;
  queue.ring.close();
}

/// It might never come: the priority may be paused for ever.
void EthernetTransmitter::give_up_turn(std::uint8_t priority, std::uint32_t number) {
  auto& turns = turns_[priority];
  for (std::size_t left = turns.size(); left != 0; --left) {
    const Turn turn = turns.take();
    if (turn.queue != number) turns.push(turn);
  }
  if (!any_waits()) end_stall();
}

bool EthernetTransmitter::is_quiet(std::uint32_t number) const {
  if (number >= queues_.size() || queues_[number] == nullptr) return true;
  const Queue& queue = *queues_[number];
  return !queue.ring.is_fetching() && queue.reading == 0 && queue.jobs == 0 && !queue.waits;
}

bool EthernetTransmitter::produced(std::uint32_t number, std::uint32_t producer) {
  return queues_[number]->ring.produced(producer);
}

void EthernetTransmitter::fetched(std::uint64_t argument) {
  const auto number = static_cast<std::uint32_t>(argument);
  Queue& queue = *queues_[number];
  while (queue.valid && queue.open != kOpen && queue.ring.here() != 0) open_burst(number, queue);
}

/// Takes a descriptor and asks for what its frame begins with.
void EthernetTransmitter::open_burst(std::uint32_t number, Queue& queue) {
  const std::uint32_t index = queue.ring.next();
  Burst& burst = queue.burst(index);
  burst.descriptor = abi::EthernetTransmitDescriptor::read(queue.ring.at(0));
  burst.sent = 0;
  burst.priority = 0;
  burst.taken = w_.scheduler.now();
  burst.here = Time::never();
  queue.ring.take(1);
  ++queue.open;
  ++descriptors_;
  const auto& descriptor = burst.descriptor;
  const std::uint32_t first = descriptor.piece[0].bytes;
  burst.head_bytes = first <= kHeadBytes ? first : descriptor.header_bytes;
  burst.malformed = descriptor.pieces == 0 || descriptor.pieces > descriptor.kMaxPieces ||
                    descriptor.header_bytes > SegmentHeaders::kMaxBytes ||
                    descriptor.header_bytes < SegmentHeaders::kMinBytes ||
                    descriptor.header_bytes > first;
  if (burst.malformed) {
    burst.here = w_.scheduler.now();
    wait_for_turn(number, w_.scheduler.now());
    return;
  }
  DmaRequest request;
  request.engine = DmaEngineId::kPayloadRead;
  request.purpose = DmaPurpose::kFrame;
  request.address = descriptor.piece[0].address;
  request.bytes = burst.head_bytes;
  request.data = burst.head.data();
  request.done = call<&EthernetTransmitter::head_read>(this, std::uint64_t{number} << 32 | index);
  ++queue.reading;
  ++reads_;
  w_.pcie.submit(std::move(request));
}

void EthernetTransmitter::head_read(std::uint64_t queue_and_index) {
  const auto number = static_cast<std::uint32_t>(queue_and_index >> 32);
  Queue& queue = *queues_[number];
  --queue.reading;
  if (!queue.valid) return;
  Burst& burst = queue.burst(static_cast<std::uint32_t>(queue_and_index));
  burst.here = w_.scheduler.now();
  burst.malformed = !judge(burst);
  if (!burst.malformed) burst.priority = w_.mac.priority_of_dscp(burst.headers.ip.dscp);
  wait_for_turn(number, w_.scheduler.now());
}

/// Whether the descriptor and the headers are of frames that can be sent.
bool EthernetTransmitter::judge(Burst& burst) const {
  const auto& descriptor = burst.descriptor;
  if (!SegmentHeaders::read(burst.head.data(), descriptor.header_bytes, burst.headers))
    return false;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < descriptor.pieces; ++i) total += descriptor.piece[i].bytes;
  if (total > std::uint64_t{descriptor.header_bytes} + kMaxPayload) return false;
  burst.payload = static_cast<std::uint32_t>(total) - descriptor.header_bytes;
  if (burst.is_cut() && descriptor.segment_size == 0) return false;
  const std::uint32_t longest =
      burst.is_cut() ? std::min<std::uint32_t>(burst.payload, descriptor.segment_size)
                     : burst.payload;
  return Bytes(descriptor.header_bytes + longest) + kFcsBytes <= w_.mtu;
}

/// If the queue's oldest burst has a packet to make.
void EthernetTransmitter::wait_for_turn(std::uint32_t number, Time since) {
  Queue& queue = *queues_[number];
  if (queue.waits || queue.open == 0) return;
  const Burst& burst = queue.burst(queue.first);
  if (burst.here == Time::never()) return;
  queue.waits = true;
  turns_[burst.priority].push({number, std::max(since, burst.here)});
  kick();
}

/// Arms the next turn. It is decided when it leaves the pipeline: turns follow at the interval.
void EthernetTransmitter::kick() {
  if (turn_armed_) return;
  const int priority = next_priority();
  if (priority < 0) {
    if (any_waits() && stalled_since_ == Time::never()) stalled_since_ = w_.scheduler.now();
    return;
  }
  end_stall();
  turn_armed_ = true;
  const Time ready = std::max(turns_[priority].front().since, room_since_[priority]);
  entered_ = pipeline_.next_entry(ready);
  w_.scheduler.at(std::max(pipeline_.enter(ready), w_.scheduler.now()),
                  call<&EthernetTransmitter::turn>(this));
}

bool EthernetTransmitter::any_waits() const {
  return std::any_of(turns_.begin(), turns_.end(),
                     [](const auto& queues) { return !queues.empty(); });
}

void EthernetTransmitter::end_stall() {
  if (stalled_since_ != Time::never())
    stalled_buffer_ += w_.scheduler.now() - std::exchange(stalled_since_, Time::never());
}

/// The next in turn with a queue that waits and room for a packet; negative: there is none.
int EthernetTransmitter::next_priority() const {
  for (unsigned i = 1; i <= kPriorities; ++i) {
    const auto priority = static_cast<std::uint8_t>((last_priority_ + i) % kPriorities);
    if (!turns_[priority].empty() && has_room(priority)) return priority;
  }
  return -1;
}

void EthernetTransmitter::turn() {
  turn_armed_ = false;
  const int priority = next_priority();
  if (priority < 0) return kick();
  last_priority_ = static_cast<std::uint8_t>(priority);
  const std::uint32_t number = turns_[last_priority_].take().queue;
  Queue& queue = *queues_[number];
  queue.waits = false;
  if (queue.valid) make_packet(number, queue);
  kick();
}

void EthernetTransmitter::make_packet(std::uint32_t number, Queue& queue) {
  Burst& burst = queue.burst(queue.first);
  const std::uint32_t from = burst.sent;
  std::uint32_t length = burst.payload - from;
  if (burst.is_cut()) length = std::min<std::uint32_t>(length, burst.descriptor.segment_size);
  const bool is_last = burst.malformed || from + length == burst.payload;
  Job& job = jobs_.push();
  job.queue = number;
  job.pending = 0;
  job.done = queue.first + 1;
  job.begin = from == 0 ? burst.taken : w_.scheduler.now();
  job.signaled = is_last && (burst.descriptor.flags & burst.descriptor.kSignaled) != 0;
  job.sealed = burst.is_cut() || (burst.descriptor.flags & burst.descriptor.kChecksum) != 0;
  ++queue.jobs;
  if (burst.malformed) {
    ++malformed_;
  } else {
    job.packet = build(burst, length, is_last);
    buffered_[burst.priority] += job.packet->ip_bytes();
    most_buffered_ = std::max(most_buffered_, buffered_[burst.priority]);
    burst.sent += length;
    read_payload(burst, from, length, first_job_ + jobs_.size() - 1);
  }
  if (is_last) {
    if (burst.is_cut()) ++cut_;
    ++queue.first;
    --queue.open;
    fetched(number);
  }
  wait_for_turn(number, entered_);
  drain();
}

PacketRef EthernetTransmitter::build(Burst& burst, std::uint32_t length, bool is_last) {
  const SegmentHeaders& headers = burst.headers;
  PacketRef packet = w_.port.make_frame();
  packet->eth = headers.eth;
  packet->ipv4 = headers.ip;
  packet->ipv4.total_length = 0;
  packet->become_tcp(burst.is_cut() ? tcp_slice(headers.tcp, burst.sent, is_last) : headers.tcp,
                     Bytes(length), w_.elided);
  packet->icrc = w_.elided ? 0 : headers.checksum;
  // The next slice has the next number.
  ++burst.headers.ip.identification;
  ++packets_;
  payload_ += Bytes(length);
  return packet;
}

/// From the pieces into the packet: what has come with the head is copied, the rest read.
void EthernetTransmitter::read_payload(const Burst& burst, std::uint32_t from, std::uint32_t length,
                                       std::uint64_t number) {
  Job& job = this->job(number);
  std::uint8_t* to = w_.elided ? nullptr : job.packet->payload();
  std::uint32_t offset = burst.descriptor.header_bytes + from;  // in all pieces
  const std::uint32_t end = offset + length;
  if (offset < burst.head_bytes) {
    const std::uint32_t here = std::min(end, burst.head_bytes) - offset;
    if (to != nullptr) to = std::copy_n(burst.head.data() + offset, here, to);
    offset += here;
  }
  std::uint32_t start = 0;  // of the piece
  for (std::size_t i = 0; offset != end; start += burst.descriptor.piece[i++].bytes) {
    const auto& piece = burst.descriptor.piece[i];
    while (offset != end && offset < start + piece.bytes) {
      DmaRequest request;
      request.engine = DmaEngineId::kPayloadRead;
      request.purpose = DmaPurpose::kFrame;
      request.address = PhysicalAddress(piece.address.value() + (offset - start));
      request.bytes = std::min({end - offset, start + piece.bytes - offset, kMaxRequest});
      request.data = to;
      request.keep = job.packet;
      request.done = call<&EthernetTransmitter::payload_read>(this, number);
      offset += request.bytes;
      if (to != nullptr) to += request.bytes;
      ++job.pending;
      ++reads_;
      w_.pcie.submit(std::move(request));
    }
  }
}

void EthernetTransmitter::payload_read(std::uint64_t number) {
  if (--job(number).pending == 0) drain();
}

void EthernetTransmitter::drain() {
  while (!jobs_.empty() && jobs_.front().pending == 0) {
    leave(jobs_.front());
    jobs_.pop();
    ++first_job_;
  }
}

void EthernetTransmitter::leave(Job& job) {
  if (job.packet) {
    if (job.sealed) seal_icrc(*job.packet);
    if (w_.probe.on())
      w_.probe(w_.scheduler.now(), ProbeKind::kFrameRead, {}, job.packet->id,
               static_cast<std::uint64_t>(job.begin.ps()), job.packet->frame_bytes().count(),
               job.packet->tcp_mark());
    w_.mac.enqueue(std::move(job.packet), header_pipeline_.enter(w_.scheduler.now()),
                   MacTx::Queue::kFrame);
  }
  Queue& queue = *queues_[job.queue];
  --queue.jobs;
  if (!job.signaled || !queue.valid) return;
  abi::EthernetTransmitCompletion entry;
  entry.done = job.done;
  w_.completions.write(job.queue, entry);
}

void EthernetTransmitter::packet_started(std::uint64_t packed) {
  const MacTx::Started started = MacTx::Started::unpack(packed);
  const bool was_full = !has_room(started.priority);
  buffered_[started.priority] -= started.payload;
  if (was_full && has_room(started.priority)) room_since_[started.priority] = w_.scheduler.now();
  kick();
}

bool EthernetTransmitter::idle() const {
  for (std::uint32_t i = 0; i < queues_.size(); ++i)
    if (!is_quiet(i)) return false;
  return jobs_.empty();
}

void EthernetTransmitter::report(const MetricScope& scope) const {
  scope.count("tx_descriptors", descriptors_, "frames and bursts of plain Ethernet taken to send");
  scope.count("tx_bursts_cut", cut_, "of these, bursts of TCP that were cut into segments");
  scope.count("tx_packets", packets_, "packets made of them");
  scope.bytes("tx_payload", payload_, "bytes of TCP's payload in these");
  scope.count("tx_malformed", malformed_,
              "descriptors dropped: no frame of TCP over IPv4 that fits the link");
  scope.count("tx_frame_reads", reads_, "DMA reads of headers and payload");
  std::uint64_t fetches = 0;
  for (const auto& queue : queues_)
    if (queue != nullptr) fetches += queue->ring.fetches();
  scope.count("tx_descriptor_reads", fetches, "DMA reads of descriptors");
  scope.time("tx.busy", pipeline_.busy(), "time the pipeline that makes packets was taken");
  scope.time("tx.stalled.interval", pipeline_.stalled(), "packets waited for that pipeline");
  scope.time("tx.stalled.transmit_buffer", stalled_buffer_,
             "time in which queues waited for room in the transmit buffer");
  scope.bytes("tx.occupancy.max", most_buffered_, "most bytes of a priority in that buffer");
}

}  // namespace rnicsim

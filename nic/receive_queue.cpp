// SPDX-License-Identifier: MIT
#include "nic/receive_queue.h"

#include <algorithm>

namespace rnicsim {

namespace {

constexpr std::uint32_t kMask = ReceiveQueues::kPrefetchEntries - 1;
constexpr std::uint32_t kMaxFetchBytes = 512;  // one read request of the usual size
// What the NIC counts in a shared receive queue's context.
constexpr std::uint32_t kTakenOffset = 24;
constexpr std::uint32_t kTakenBytes = 4;

bool usable(const abi::SrqContext& context) {
  return context.valid && context.log_entries <= ReceiveQueues::kMaxLogEntries &&
         context.log_segments <= ReceiveQueues::kMaxLogSegments;
}

}  // namespace

void ReceiveQueuesConfig::describe(Fields& fields) {
  fields.field("entries_per_fetch", entries_per_fetch, range(1, ReceiveQueues::kPrefetchEntries),
               "entries read from a receive queue at once, at most, and no more than 512 B");
  fields.field("outstanding", outstanding, range(1, 4096),
               "reads of receive queues and their doorbell records under way at once");
}

ReceiveQueues::ReceiveQueues(Scheduler& scheduler, const Clock& clock, PcieEndpoint& pcie,
                             SrqContextCache& srqs, const ReceiveQueuesConfig& config)
    : scheduler_(scheduler),
      pcie_(pcie),
      srqs_(srqs),
      srq_port_(srqs.add_port(clock)),
      config_(config) {
  srqs_.write_back_only(kTakenOffset, kTakenBytes);
}

/// Posted as far as is known, and neither here nor taken.
std::uint32_t ReceiveQueues::Queue::not_fetched() const {
  const std::uint32_t ahead = posted - fetched;
  return ahead <= ring_entries ? ahead : 0;
}

ReceiveQueues::Taken ReceiveQueues::take(NicQueuePair& qp, abi::QpContext& context, Receive& out,
                                         Callback retry) {
  if (context.srqn != 0) return take_shared(qp, context.srqn, out, retry);
  if ((context.flags & abi::QpContext::kHasReceiveQueue) == 0) return Taken::kEmpty;
  const std::uint32_t index = own_queue(qp, context);
  const Taken taken = take_from(index, qp.receive_asked, out, retry);
  context.receive_consumer = queues_[index].taken;
  return taken;
}

ReceiveQueues::Taken ReceiveQueues::take_shared(NicQueuePair& qp, std::uint32_t srqn, Receive& out,
                                                Callback retry) {
  if (!srqs_.in_range(srqn)) return Taken::kEmpty;
  abi::SrqContext* context = srqs_.lookup(srqn, retry);
  if (context == nullptr) return Taken::kWait;
  if (!usable(*context)) return Taken::kEmpty;
  const Time looked_up = srq_port_.enter(scheduler_.now());
  const std::uint32_t index = shared_queue(srqn, *context);
  const Taken taken = take_from(index, qp.receive_asked, out, retry);
  if (taken != Taken::kReady) return taken;
  out.ready = looked_up;
  context->consumer = queues_[index].taken;
  srqs_.mark_dirty(srqn);
  return taken;
}

ReceiveQueues::Taken ReceiveQueues::take_from(std::uint32_t index, std::uint64_t& asked,
                                              Receive& out, Callback retry) {
  Queue& queue = queues_[index];
  if (queue.fetched != queue.taken) {
    decode(queue, out);
    out.ready = scheduler_.now();
    ++queue.taken;
    ++receives_;
    asked = 0;
    pump(index);
    return Taken::kReady;
  }
  if (queue.not_fetched() == 0 && none_posted(queue, asked)) {
    ++found_none_;
    return Taken::kEmpty;
  }
  queue.waiters.push_back(retry);
  pump(index);
  return Taken::kWait;
}

ReceiveQueues::Taken ReceiveQueues::take_for_flush(NicQueuePair& qp, abi::QpContext& context,
                                                   std::uint16_t& counter, Callback retry) {
  if ((context.flags & abi::QpContext::kHasReceiveQueue) == 0) return Taken::kEmpty;
  const std::uint32_t index = own_queue(qp, context);
  Queue& queue = queues_[index];
  queue.flushing = true;
  if (queue.reading == Reading::kEntries) queue.stale = true;
  if (queue.left() != 0) {
    counter = static_cast<std::uint16_t>(queue.taken);
    if (queue.fetched == queue.taken) ++queue.fetched;
    context.receive_consumer = ++queue.taken;
    ++receives_;
    qp.flush_asked = 0;
    return Taken::kReady;
  }
  if (none_posted(queue, qp.flush_asked)) return Taken::kEmpty;
  queue.waiters.push_back(retry);
  pump(index);
  return Taken::kWait;
}

/// Nothing is known to be posted. True: the record said so after the question; else it is to be
/// read.
bool ReceiveQueues::none_posted(Queue& queue, std::uint64_t& asked) {
  if (asked != 0 && queue.records_read >= asked) {
    asked = 0;
    return true;
  }
  if (asked == 0) {
    asked = queue.records_begun + 1;
    queue.record_wanted = asked;
  }
  return false;
}

std::uint32_t ReceiveQueues::own_queue(NicQueuePair& qp, const abi::QpContext& context) {
  if (qp.receive_queue == 0) {
    queues_.emplace_back();
    qp.receive_queue = static_cast<std::uint32_t>(queues_.size());
  }
  const std::uint32_t index = qp.receive_queue - 1;
  Queue& queue = queues_[index];
  if (!queue.started) {
    queue.ring = context.receive_ring;
    queue.record_address = context.doorbell_record;
    start(queue, context.log_receive_entries, context.log_receive_segments,
          context.receive_consumer);
  }
  return index;
}

std::uint32_t ReceiveQueues::shared_queue(std::uint32_t srqn, const abi::SrqContext& context) {
  if (srqn >= by_srqn_.size()) by_srqn_.resize(srqn + 1);
  if (by_srqn_[srqn] == 0) {
    queues_.emplace_back();
    by_srqn_[srqn] = static_cast<std::uint32_t>(queues_.size());
  }
  const std::uint32_t index = by_srqn_[srqn] - 1;
  Queue& queue = queues_[index];
  if (!queue.started) {
    queue.srqn = srqn;
    queue.ring = context.ring;
    queue.record_address = context.doorbell_record;
    start(queue, context.log_entries, context.log_segments, context.consumer);
  }
  return index;
}

void ReceiveQueues::start(Queue& queue, std::uint8_t log_entries, std::uint8_t log_segments,
                          std::uint32_t taken) {
  queue.ring_entries = 1U << std::min(log_entries, kMaxLogEntries);
  queue.entry_bytes = abi::kSegmentBytes << std::min(log_segments, kMaxLogSegments);
  queue.taken = queue.fetched = queue.posted = taken;
  queue.started = true;
}

void ReceiveQueues::decode(const Queue& queue, Receive& out) {
  const std::uint8_t* entry =
      queue.prefetch.data() + std::size_t{queue.taken & kMask} * queue.entry_bytes;
  out.counter = static_cast<std::uint16_t>(queue.taken);
  out.segment_count = 0;
  out.capacity = 0;
  for (std::uint32_t at = 0; at < queue.entry_bytes; at += abi::kSegmentBytes) {
    const auto segment = abi::DataSegment::read(entry + at);
    if (segment.lkey == abi::kEndOfList) return;
    out.segments[out.segment_count++] = segment;
    out.capacity += segment.byte_count;
  }
}

/// Reads what the queue needs next, if anything.
void ReceiveQueues::pump(std::uint64_t argument) {
  const auto index = static_cast<std::uint32_t>(argument);
  const Queue& queue = queues_[index];
  if (!queue.started || queue.reading != Reading::kNothing || queue.waits_for_turn) return;
  const std::uint32_t entries = entries_to_fetch(queue);
  const bool asked =
      queue.left() == 0 && queue.record_wanted > queue.records_begun && !queue.waiters.empty();
  const bool wants_record = asked || queue.below_limit();
  if ((entries == 0 && !wants_record) || !may_read(index)) return;
  if (entries != 0)
    fetch(index, entries);
  else
    read_record(index);
}

std::uint32_t ReceiveQueues::entries_to_fetch(const Queue& queue) const {
  const std::uint32_t batch =
      std::min(config_.entries_per_fetch, std::max(1U, kMaxFetchBytes / queue.entry_bytes));
  const std::uint32_t held = queue.fetched - queue.taken;
  if (queue.flushing || (held != 0 && kPrefetchEntries - held < batch)) return 0;
  return std::min({queue.not_fetched(), batch,
                   queue.ring_entries - (queue.fetched & (queue.ring_entries - 1)),
                   kPrefetchEntries - (queue.fetched & kMask)});
}

/// False: all reads are taken; the queue gets a turn when one has ended.
bool ReceiveQueues::may_read(std::uint32_t index) {
  if (in_flight_ < config_.outstanding) return true;
  if (turns_.empty()) waiting_since_ = scheduler_.now();
  turns_.push(index);
  queues_[index].waits_for_turn = true;
  return false;
}

void ReceiveQueues::fetch(std::uint32_t index, std::uint32_t entries) {
  Queue& queue = queues_[index];
  queue.prefetch.resize(std::size_t{kPrefetchEntries} * queue.entry_bytes);
  queue.reading = Reading::kEntries;
  queue.fetching = entries;
  ++fetches_;
  DmaRequest request;
  request.purpose = DmaPurpose::kReceiveQueue;
  request.address =
      PhysicalAddress(queue.ring.value() +
                      std::uint64_t{queue.fetched & (queue.ring_entries - 1)} * queue.entry_bytes);
  request.bytes = entries * queue.entry_bytes;
  request.data = queue.prefetch.data() + std::size_t{queue.fetched & kMask} * queue.entry_bytes;
  submit(index, request);
}

void ReceiveQueues::read_record(std::uint32_t index) {
  Queue& queue = queues_[index];
  queue.reading = Reading::kRecord;
  ++queue.records_begun;
  ++records_;
  DmaRequest request;
  request.purpose = DmaPurpose::kDoorbellRecord;
  request.address = queue.record_address;
  request.bytes = abi::DoorbellRecord::kBytes;
  request.data = queue.record;
  submit(index, request);
}

void ReceiveQueues::submit(std::uint32_t index, DmaRequest request) {
  if (in_flight_++ == 0) busy_since_ = scheduler_.now();
  most_in_flight_ = std::max(most_in_flight_, in_flight_);
  request.engine = DmaEngineId::kQueueRead;
  request.done = call<&ReceiveQueues::read_ended>(this, index);
  pcie_.submit(request);
}

void ReceiveQueues::read_ended(std::uint64_t index) {
  if (--in_flight_ == 0) busy_ += scheduler_.now() - busy_since_;
  serve_turns();
  Queue& queue = queues_[index];
  const Reading read = queue.reading;
  queue.reading = Reading::kNothing;
  if (queue.stale)
    queue.stale = false;
  else if (read == Reading::kEntries)
    queue.fetched += queue.fetching;
  else
    record_came(queue);
  wake(index);
  pump(index);
}

void ReceiveQueues::record_came(Queue& queue) {
  queue.posted = abi::DoorbellRecord::read(queue.record).receive_counter;
  queue.records_read = queue.records_begun;
  if (!queue.below_limit()) return;
  queue.limit = 0;
  ++limits_;
  Callback event = srq_limit_;
  event.argument = queue.srqn;
  if (event) event();
}

void ReceiveQueues::serve_turns() {
  while (!turns_.empty() && in_flight_ < config_.outstanding) {
    const std::uint32_t next = turns_.take();
    if (turns_.empty()) stalled_outstanding_ += scheduler_.now() - waiting_since_;
    queues_[next].waits_for_turn = false;
    pump(next);
  }
}

void ReceiveQueues::wake(std::uint64_t index) {
  serving_.swap(queues_[index].waiters);  // both vectors keep their room
  for (const Callback& waiter : serving_) waiter();
  serving_.clear();
}

void ReceiveQueues::reset(NicQueuePair& qp) {
  qp.receive_asked = qp.flush_asked = 0;
  if (qp.receive_queue != 0) restart(qp.receive_queue - 1);
}

void ReceiveQueues::restart(std::uint32_t index) {
  Queue& queue = queues_[index];
  queue.started = queue.flushing = false;
  queue.stale = queue.reading != Reading::kNothing;
  queue.record_wanted = 0;
  queue.limit = 0;
  if (!queue.waiters.empty())
    scheduler_.at(scheduler_.now(), call<&ReceiveQueues::wake>(this, index));
}

void ReceiveQueues::forget_srq(std::uint32_t srqn) {
  srqs_.invalidate(srqn);
  if (srqn < by_srqn_.size() && by_srqn_[srqn] != 0) restart(by_srqn_[srqn] - 1);
}

void ReceiveQueues::arm_srq(std::uint32_t srqn, Callback done) {
  arming_ = srqn;
  armed_ = done;
  look_up_for_limit();
}

void ReceiveQueues::look_up_for_limit() {
  if (srqs_.lookup(arming_, call<&ReceiveQueues::look_up_for_limit>(this)) == nullptr) return;
  // The cached context may be older than the limit, and knows better what has been taken.
  DmaRequest request;
  request.engine = DmaEngineId::kTableRead;
  request.purpose = DmaPurpose::kSrqContext;
  request.address = srqs_.address_of(arming_);
  request.bytes = abi::SrqContext::kBytes;
  request.data = arming_entry_;
  request.done = call<&ReceiveQueues::limit_came>(this);
  pcie_.submit(request);
}

void ReceiveQueues::limit_came() {
  const abi::SrqContext* context = srqs_.lookup(arming_, call<&ReceiveQueues::limit_came>(this));
  if (context == nullptr) return;
  if (usable(*context)) {
    const std::uint32_t index = shared_queue(arming_, *context);
    queues_[index].limit = abi::SrqContext::read(arming_entry_).limit;
    pump(index);
  }
  arming_ = 0;
  armed_();
}

void ReceiveQueues::report(const MetricScope& scope) const {
  scope.time("busy", busy_, "time with at least one read outstanding");
  scope.count("occupancy.max", most_in_flight_, "most reads outstanding at once");
  scope.time("stalled.outstanding", stalled_outstanding_,
             "time in which a queue waited for another's read to end");
  scope.count("fetches", fetches_, "DMA reads of the receive queues");
  scope.count("receives", receives_, "receives taken");
  scope.count("records_read", records_, "doorbell records read");
  scope.count("found_none", found_none_, "packets that found no receive posted");
  scope.count("limit_events", limits_, "shared receive queues that fell below their limit");
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "nic/cqe_writer.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim {

void CqeWriterConfig::describe(Fields& fields) {
  pipeline.describe(fields);
  fields.field("queue", queue, range(1, 4096), "entries that wait to be written");
}

void CqeWriter::write(Cqn cqn, const abi::Cqe& cqe, WorkRequestId work_request, Time ready,
                      bool solicited) {
  const bool failed = cqe.status != CompletionStatus::kSuccess;
  queue_.push({cqn, cqe, work_request, ready, solicited || failed});
  most_queued_ = std::max(most_queued_, queue_.size());
  arm();
}

void CqeWriter::arm() {
  if (armed_ || queue_.empty()) return;
  armed_ = true;
  // The entry may have entered the pipeline behind the one before it, before now.
  const Time written = context_port_.enter(pipeline_.enter(queue_.front().ready));
  scheduler_.at(std::max(written, scheduler_.now()), call<&CqeWriter::write_front>(this));
}

/// Runs again when what the oldest entry waits for is there.
void CqeWriter::write_front() {
  end_wait();
  const Cqn cqn = queue_.front().cqn;
  if (!contexts_.in_range(cqn.value())) return drop_front(dropped_);
  abi::CqContext* context = contexts_.lookup(cqn.value(), call<&CqeWriter::write_front>(this),
                                             queue_.front().work_request);
  if (context == nullptr) return wait(Stall::kContext);
  if (!context->valid) return drop_front(dropped_);
  if (context->overrun) return drop_front(lost_);
  if (context->eqn != 0 && !event_queue_.has_room()) return wait(Stall::kEventQueue);
  if (!has_place(*context)) {
    if (!reading_ && read_for_front_) {
      overrun(cqn, *context);
      return drop_front(lost_);
    }
    if (!reading_) {
      read_for_front_ = true;
      read_record(cqn, *context);
    }
    return wait(Stall::kDoorbellRecord);
  }
  submit(*context);
  look_ahead(cqn, *context);
  completion_events_.written(cqn, *context, queue_.front().solicited, queue_.front().work_request);
  pop_front();
}

void CqeWriter::wait(Stall cause) {
  stalled_by_ = cause;
  stalled_since_ = scheduler_.now();
}

void CqeWriter::end_wait() {
  if (stalled_by_ == Stall::kNone) return;
  stalled_[static_cast<std::size_t>(stalled_by_)] += scheduler_.now() - stalled_since_;
  stalled_by_ = Stall::kNone;
}

void CqeWriter::go_on() {
  if (stalled_by_ == Stall::kEventQueue) write_front();
}

CqeWriter::Room& CqeWriter::room_of(Cqn cqn) {
  if (cqn.value() >= rooms_.size()) rooms_.resize(cqn.value() + 1);
  return rooms_[cqn.value()];
}

/// Whether the oldest entry has one, as far as the NIC knows.
bool CqeWriter::has_place(const abi::CqContext& context) {
  const std::uint32_t consumer = room_of(queue_.front().cqn).consumer;
  return context.producer_index - consumer < 1u << context.log_size;
}

void CqeWriter::read_record(Cqn cqn, const abi::CqContext& context) {
  reading_ = true;
  record_cqn_ = cqn;
  ++records_read_;
  DmaRequest request;
  request.engine = DmaEngineId::kQueueRead;
  request.purpose = DmaPurpose::kDoorbellRecord;
  request.address = context.doorbell_record;
  request.bytes = static_cast<std::uint32_t>(record_.size());
  request.data = record_.data();
  request.done = call<&CqeWriter::record_read>(this);
  pcie_.submit(std::move(request));
}

void CqeWriter::record_read() {
  reading_ = false;
  Room& room = room_of(record_cqn_);
  room.consumer = load_be32(record_.data());
  room.look_known = false;
  if (stalled_by_ == Stall::kDoorbellRecord) write_front();
}

/// An entry has been written: is it time to see how far software is?
void CqeWriter::look_ahead(Cqn cqn, const abi::CqContext& context) {
  Room& room = room_of(cqn);
  if (!room.look_known) {
    const std::uint32_t free = (1u << context.log_size) - (context.producer_index - room.consumer);
    room.look_at = context.producer_index + (free + 1) / 2;
    room.look_known = true;
  }
  if (!reading_ && static_cast<std::int32_t>(context.producer_index - room.look_at) >= 0)
    read_record(cqn, context);
}

void CqeWriter::overrun(Cqn cqn, abi::CqContext& context) {
  context.overrun = true;
  contexts_.mark_dirty(cqn.value());
  ++overruns_;
  event_queue_.post(context.eqn != 0 ? context.eqn : EventQueue::kAsyncEqn,
                    abi::EventType::kCqError, cqn.value());
  if (!overrun_) return;
  // Not from within: flushing those queue pairs writes entries.
  Callback tell = overrun_;
  tell.argument = cqn.value();
  scheduler_.at(scheduler_.now(), tell);
}

void CqeWriter::submit(abi::CqContext& context) {
  const Waiting& front = queue_.front();
  const std::uint32_t index = context.producer_index++;
  contexts_.mark_dirty(front.cqn.value());
  abi::Cqe cqe = front.cqe;
  cqe.owner = (index >> context.log_size & 1) != 0;
  std::uint8_t bytes[abi::Cqe::kBytes] = {};
  cqe.write(bytes);
  DmaRequest request;
  request.write = true;
  request.purpose = DmaPurpose::kCompletionQueue;
  request.address =
      PhysicalAddress(context.ring.value() +
                      std::uint64_t{index & ((1u << context.log_size) - 1)} * abi::Cqe::kBytes);
  request.bytes = abi::Cqe::kBytes;
  request.data = bytes;
  request.work_request = front.work_request;
  ++written_;
  if (cqe.status != CompletionStatus::kSuccess) ++errors_;
  probe(scheduler_.now(), ProbeKind::kCqeWritten, front.work_request, 0,
        static_cast<std::uint64_t>(front.ready.ps()), static_cast<std::uint64_t>(cqe.status));
  pcie_.submit(std::move(request));
}

void CqeWriter::pop_front() {
  const bool was_full = !has_room();
  queue_.pop();
  ++left_;
  while (!drained_.empty() && drained_.front().behind <= left_)
    event_queue_.async(abi::EventType::kSqDrained, drained_.take().qpn.value());
  armed_ = false;
  read_for_front_ = false;
  arm();
  if (was_full && room_) room_();
}

void CqeWriter::tell_drained(Qpn qpn) {
  if (queue_.empty())
    event_queue_.async(abi::EventType::kSqDrained, qpn.value());
  else
    drained_.push({left_ + queue_.size(), qpn});
}

/// There is nowhere to write: the queue does not exist or is in error.
void CqeWriter::drop_front(std::uint64_t& count) {
  ++count;
  pop_front();
}

void CqeWriter::forget(Cqn cqn) {
  if (cqn.value() < rooms_.size()) rooms_[cqn.value()] = {};
}

void CqeWriter::signals(const SignalScope& scope) {
  pipeline_.signals(scope);
  scope.level(
      "queued", Unit::kCount, "completion entries that wait to be written",
      [this] { return queue_.size(); }, config_.queue);
}

void CqeWriter::report(const MetricScope& scope) const {
  scope.count("cqes", written_, "completion entries written");
  scope.count("req_cqe_error", errors_, "of these, with an error status");
  scope.count("dropped", dropped_, "entries of completion queues that do not exist");
  scope.count("overruns", overruns_, "completion queues that had no room for an entry");
  scope.count("lost", lost_, "entries of completion queues that had been overrun");
  scope.count("doorbell_records_read", records_read_, "looks at how far software has polled");
  scope.time("busy", pipeline_.busy(), "time the writer's pipeline was taken");
  scope.time("stalled.interval", pipeline_.stalled(), "entries waited for the pipeline");
  const auto stalled = [&](Stall cause) { return stalled_[static_cast<std::size_t>(cause)]; };
  scope.time("stalled.context", stalled(Stall::kContext),
             "time in which an entry waited for its queue's context");
  scope.time("stalled.doorbell_record", stalled(Stall::kDoorbellRecord),
             "time in which an entry waited for a look at its full queue's doorbell record");
  scope.time("stalled.event_queue", stalled(Stall::kEventQueue),
             "time in which an entry waited for room for events");
  scope.count("occupancy.max", most_queued_, "most entries waiting");
}

}  // namespace rnicsim

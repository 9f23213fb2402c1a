// SPDX-License-Identifier: MIT
#include "nic/cqe_writer.h"

#include <algorithm>

namespace rnicsim {

void CqeWriterConfig::describe(Fields& fields) {
  pipeline.describe(fields);
  fields.field("queue", queue, range(1, 4096), "entries that wait to be written");
}

void CqeWriter::write(Cqn cqn, const abi::Cqe& cqe, WorkRequestId work_request, Time ready) {
  queue_.push({cqn, cqe, work_request, ready});
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

void CqeWriter::write_front() {
  const Waiting& front = queue_.front();
  if (!contexts_.in_range(front.cqn.value())) {
    drop_front();
    return;
  }
  abi::CqContext* context =
      contexts_.lookup(front.cqn.value(), call<&CqeWriter::write_front>(this), front.work_request);
  if (context == nullptr) {
    if (context_since_ == Time::never()) context_since_ = scheduler_.now();
    return;
  }
  if (context_since_ != Time::never()) {
    stalled_context_ += scheduler_.now() - context_since_;
    context_since_ = Time::never();
  }
  if (!context->valid) {
    drop_front();
    return;
  }
  const std::uint32_t index = context->producer_index++;
  contexts_.mark_dirty(front.cqn.value());
  abi::Cqe cqe = front.cqe;
  cqe.owner = (index >> context->log_size & 1) != 0;
  std::uint8_t bytes[abi::Cqe::kBytes] = {};
  cqe.write(bytes);
  DmaRequest request;
  request.write = true;
  request.purpose = DmaPurpose::kCompletionQueue;
  request.address =
      PhysicalAddress(context->ring.value() +
                      std::uint64_t{index & ((1u << context->log_size) - 1)} * abi::Cqe::kBytes);
  request.bytes = abi::Cqe::kBytes;
  request.data = bytes;
  request.work_request = front.work_request;
  ++written_;
  if (cqe.status != CompletionStatus::kSuccess) ++errors_;
  probe(scheduler_.now(), ProbeKind::kCqeWritten, front.work_request, 0,
        static_cast<std::uint64_t>(front.ready.ps()), static_cast<std::uint64_t>(cqe.status));
  pcie_.submit(std::move(request));
  pop_front();
}

void CqeWriter::pop_front() {
  const bool was_full = !has_room();
  queue_.pop();
  armed_ = false;
  arm();
  if (was_full && room_) room_();
}

/// Software gave its queue pair a completion queue that does not exist: there is nowhere to write.
void CqeWriter::drop_front() {
  ++dropped_;
  pop_front();
}

void CqeWriter::report(const MetricScope& scope) const {
  scope.count("cqes", written_, "completion entries written");
  scope.count("req_cqe_error", errors_, "of these, with an error status");
  scope.count("dropped", dropped_, "entries of completion queues that do not exist");
  scope.time("busy", pipeline_.busy(), "time the writer's pipeline was taken");
  scope.time("stalled.interval", pipeline_.stalled(), "entries waited for the pipeline");
  scope.time("stalled.context", stalled_context_,
             "time in which an entry waited for its queue's context");
  scope.count("occupancy.max", most_queued_, "most entries waiting");
}

}  // namespace rnicsim

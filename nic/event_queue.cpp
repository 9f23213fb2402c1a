// SPDX-License-Identifier: MIT
#include "nic/event_queue.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim {

namespace {
constexpr std::uint8_t kMaxLogEntries = 24;
constexpr std::uint32_t kMessageBytes = 4;
}  // namespace

void EventQueueConfig::describe(Fields& fields) {
  pipeline.describe(fields);
  fields.field("queues", queues, range(1, 4096), "event queues that the NIC can keep");
  fields.field("queue", queue, range(1, 4096), "events that wait to be written");
}

EventQueue::Queue* EventQueue::find(std::uint32_t eqn) {
  if (eqn == 0 || eqn > queues_.size() || !queues_[eqn - 1].valid) return nullptr;
  return &queues_[eqn - 1];
}

bool EventQueue::create(std::uint32_t eqn, const abi::EqContext& context) {
  if (eqn == 0 || eqn > queues_.size() || queues_[eqn - 1].valid) return false;
  if (context.log_size > kMaxLogEntries) return false;
  queues_[eqn - 1] = Queue{context, true, false, 0, 0};
  return true;
}

bool EventQueue::destroy(std::uint32_t eqn) {
  Queue* queue = find(eqn);
  if (queue == nullptr) return false;
  *queue = Queue{};
  return true;
}

void EventQueue::reset() { std::fill(queues_.begin(), queues_.end(), Queue{}); }

void EventQueue::arm(std::uint32_t eqn, std::uint32_t consumer) {
  Queue* queue = find(eqn);
  if (queue == nullptr) return;
  queue->consumer = consumer;
  if (queue->producer == consumer)
    queue->armed = true;
  else
    post(eqn, abi::EventType::kInvalid, 0);
}

void EventQueue::post(std::uint32_t eqn, abi::EventType type, std::uint32_t object,
                      WorkRequestId cause, const abi::PageFault& fault) {
  waiting_.push({eqn, type, object, scheduler_.now(), cause, fault});
  most_waiting_ = std::max(most_waiting_, waiting_.size());
  start();
}

void EventQueue::start() {
  if (started_ || waiting_.empty()) return;
  started_ = true;
  // An event may have entered the pipeline behind the one before it, before now.
  const Time leaves = pipeline_.enter(waiting_.front().ready);
  scheduler_.at(std::max(leaves, scheduler_.now()), call<&EventQueue::serve>(this));
}

void EventQueue::serve() {
  const bool was_full = !has_room();
  const Waiting event = waiting_.take();
  if (Queue* queue = find(event.eqn))
    deliver(*queue, event);
  else if (event.type != abi::EventType::kInvalid)
    ++lost_;
  started_ = false;
  start();
  if (was_full && has_room() && room_) room_();
}

void EventQueue::deliver(Queue& queue, const Waiting& event) {
  if (event.type != abi::EventType::kInvalid) {
    write_entry(queue, event);
    if (!queue.armed) return;
    queue.armed = false;
  }
  send_message(queue, event);
}

void EventQueue::write_entry(Queue& queue, const Waiting& event) {
  const std::uint32_t size = 1u << queue.context.log_size;
  if (queue.producer - queue.consumer >= size) ++overruns_;
  const std::uint32_t index = queue.producer++;
  abi::Eqe entry;
  entry.type = event.type;
  entry.object = event.object;
  entry.fault = event.fault;
  entry.owner = (index >> queue.context.log_size & 1) != 0;
  std::uint8_t bytes[abi::Eqe::kBytes];
  entry.write(bytes);
  DmaRequest request;
  request.write = true;
  request.purpose = DmaPurpose::kEventQueue;
  request.address = PhysicalAddress(queue.context.ring.value() +
                                    std::uint64_t{index & (size - 1)} * abi::Eqe::kBytes);
  request.bytes = abi::Eqe::kBytes;
  request.data = bytes;
  request.work_request = event.cause;
  ++events_;
  probe(scheduler_.now(), ProbeKind::kEventWritten, event.cause, 0,
        static_cast<std::uint64_t>(event.ready.ps()),
        static_cast<std::uint64_t>(event.type) << 32 | event.object);
  pcie_.submit(std::move(request));
}

void EventQueue::send_message(const Queue& queue, const Waiting& event) {
  std::uint8_t data[kMessageBytes];
  store_be32(data, queue.context.msix_data);
  DmaRequest request;
  request.write = true;
  request.purpose = DmaPurpose::kInterrupt;
  request.address = queue.context.msix_address;
  request.bytes = kMessageBytes;
  request.data = data;
  request.work_request = event.cause;
  ++messages_;
  probe(scheduler_.now(), ProbeKind::kInterruptSent, event.cause, 0, event.eqn,
        queue.context.msix_data);
  pcie_.submit(std::move(request));
}

void EventQueue::report(const MetricScope& scope) const {
  scope.count("events", events_, "entries written into event queues");
  scope.count("messages", messages_, "interrupt messages sent");
  scope.count("overruns", overruns_,
              "entries written over ones that software had not reported as taken");
  scope.count("lost", lost_, "events of event queues that do not exist");
  scope.time("busy", pipeline_.busy(), "time the pipeline was taken");
  scope.time("stalled.interval", pipeline_.stalled(), "events waited for the pipeline");
  scope.count("occupancy.max", most_waiting_, "most events waiting");
}

}  // namespace rnicsim

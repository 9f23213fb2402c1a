// SPDX-License-Identifier: MIT
#include "host/verbs.h"

#include <algorithm>

#include "model/byte_order.h"
#include "model/invariant.h"

namespace rnicsim {

namespace {

constexpr CpuPlane kPlane = CpuPlane::kData;

constexpr std::uint8_t log2_up(std::uint32_t n) {
  std::uint8_t log = 0;
  while (log < 31 && 1u << log < n) ++log;
  return log;
}

template <class T>
void erase(std::vector<std::unique_ptr<T>>& objects, const T* object) {
  objects.erase(std::find_if(objects.begin(), objects.end(),
                             [object](const auto& p) { return p.get() == object; }));
}

/// Whole blocks, in two pieces if the entry wraps at the end of the ring.
void store_wqe(Memory& memory, const QueuePair& qp, const BuiltWqe& wqe) {
  const std::uint32_t first = qp.producer() & (qp.blocks() - 1);
  const std::uint32_t before_end = std::min(wqe.blocks(), qp.blocks() - first);
  const std::uint32_t split = before_end * abi::kWqeBlockBytes;
  memory.store(qp.block_address(qp.producer()), wqe.bytes, split);
  const std::uint32_t rest = wqe.blocks() * abi::kWqeBlockBytes - split;
  if (rest != 0) memory.store(qp.block_address(0), wqe.bytes + split, rest);
}

}  // namespace

/// One call of post_send.
struct Verbs::Posting {
  std::uint32_t entries;
  std::uint32_t blocks;                           ///< of the last entry
  std::uint8_t last_entry[abi::kBlueFlameBytes];  ///< all of it, or its beginning
  WorkRequestId last;
  Cycles cycles;
};

Result<CompletionChannel*> Verbs::create_comp_channel(CpuTask& task) {
  const Errno opened = driver_.open_events(task);
  if (opened != Errno::kOk) return opened;
  const Cycles syscall = driver_.config().syscall;
  task.call_kernel(CpuPlane::kControl, syscall);
  channels_.push_back(std::make_unique<CompletionChannel>(driver_.events().interrupts(), syscall));
  return channels_.back().get();
}

Errno Verbs::destroy_comp_channel(CpuTask& task, CompletionChannel* channel) {
  task.call_kernel(CpuPlane::kControl, driver_.config().syscall);
  if (channel->users() != 0) return Errno::kBusy;
  erase(channels_, channel);
  return Errno::kOk;
}

Result<CompletionQueue*> Verbs::create_cq(CpuTask& task, std::uint32_t entries,
                                          CompletionChannel* channel) {
  const Result<CqRings> rings = driver_.create_cq(task, log2_up(entries), channel != nullptr);
  if (!rings.ok()) return rings.error;
  const std::uint32_t cqn = rings.value.cqn.value();
  cqs_.push_back(std::make_unique<CompletionQueue>(rings.value, channel));
  driver_.events().subscribe(abi::EventType::kCqError, cqn, &async_);
  if (channel != nullptr) {
    channel->hold();
    driver_.events().subscribe(abi::EventType::kCompletion, cqn, &channel->events());
  }
  return cqs_.back().get();
}

Errno Verbs::destroy_cq(CpuTask& task, CompletionQueue* cq) {
  if (cq->unacknowledged() != 0) return Errno::kBusy;
  const std::uint32_t cqn = cq->cqn().value();
  const Errno result = driver_.destroy_cq(task, cq->cqn());
  if (result != Errno::kOk) return result;
  driver_.events().unsubscribe(abi::EventType::kCqError, cqn);
  driver_.events().unsubscribe(abi::EventType::kCompletion, cqn);
  if (cq->channel() != nullptr) cq->channel()->release();
  erase(cqs_, cq);
  return Errno::kOk;
}

Errno Verbs::req_notify_cq(CpuTask& task, CompletionQueue* cq, bool solicited_only) {
  if (cq->channel() == nullptr) return Errno::kInvalid;
  task.run(kPlane, CpuCategory::kDoorbell, config_.doorbell);
  std::uint8_t arm[8];
  store_be32(arm, (solicited_only ? 1u : 0u) << 24 | (cq->consumer() & 0xffffff));
  store_be32(arm + 4, cq->cqn().value());
  mmio_.mmio_write(task.now(), abi::kUarOffset + abi::kCqArm, arm, sizeof arm);
  return Errno::kOk;
}

CompletionQueue* Verbs::get_cq_event(CpuTask& task, CompletionChannel* channel) {
  const DeviceEvent event = channel->events().wait(task);
  const Cqn cqn(event.object);
  probe_(task.now(), ProbeKind::kProgramWoken, {}, 0,
         static_cast<std::uint64_t>(event.delivered.ps()),
         std::uint64_t{driver_.nic()} << 32 | cqn.value());
  const auto at =
      std::find_if(cqs_.begin(), cqs_.end(), [cqn](auto& cq) { return cq->cqn() == cqn; });
  (*at)->got_event();  // a queue that is destroyed takes its events along
  return at->get();
}

Result<std::optional<DeviceEvent>> Verbs::poll_async_event(CpuTask& task) {
  const Errno opened = driver_.open_events(task);
  if (opened != Errno::kOk) return opened;
  return async_.poll(task);
}

Result<DeviceEvent> Verbs::get_async_event(CpuTask& task) {
  const Errno opened = driver_.open_events(task);
  if (opened != Errno::kOk) return opened;
  return async_.wait(task);
}

Result<QueuePair*> Verbs::create_qp(CpuTask& task, const QueuePairInit& init) {
  if (init.send_cq == nullptr || init.receive_cq == nullptr || init.max_send_requests == 0)
    return Errno::kInvalid;
  QpInit kernel;
  kernel.pd = init.pd;
  kernel.send_cq = init.send_cq->cqn();
  kernel.receive_cq = init.receive_cq->cqn();
  kernel.transport = init.transport;
  kernel.log_send_blocks = log2_up(init.max_send_requests);
  kernel.has_receive_queue = init.max_recv_requests != 0;
  kernel.log_receive_entries = log2_up(init.max_recv_requests);
  kernel.log_receive_segments = log2_up(init.max_recv_segments);
  kernel.inline_receive = init.inline_receive;
  if (init.srq != nullptr) {
    kernel.has_receive_queue = false;
    kernel.srqn = init.srq->srqn();
  }
  const Result<QpRings> rings = driver_.create_qp(task, kernel);
  if (!rings.ok()) return rings.error;
  const std::uint32_t qpn = rings.value.qpn.value();
  if (qps_.size() <= qpn) qps_.resize(qpn + 1);
  qps_[qpn] = std::make_unique<QueuePair>(rings.value, init);
  for (const auto type : {abi::EventType::kQpError, abi::EventType::kSqDrained})
    driver_.events().subscribe(type, qpn, &async_);
  return qps_[qpn].get();
}

Errno Verbs::destroy_qp(CpuTask& task, QueuePair* qp) {
  const std::uint32_t qpn = qp->qpn().value();
  const Errno result = driver_.destroy_qp(task, qp->qpn());
  if (result != Errno::kOk) return result;
  for (const auto type : {abi::EventType::kQpError, abi::EventType::kSqDrained})
    driver_.events().unsubscribe(type, qpn);
  qps_[qpn].reset();
  return Errno::kOk;
}

Result<SharedReceiveQueue*> Verbs::create_srq(CpuTask& task, PdNumber pd,
                                              std::uint32_t max_requests,
                                              std::uint32_t max_segments) {
  const Result<SrqRings> rings =
      driver_.shared_receives().create(task, pd, log2_up(max_requests), log2_up(max_segments));
  if (!rings.ok()) return rings.error;
  srqs_.push_back(std::make_unique<SharedReceiveQueue>(rings.value));
  driver_.events().subscribe(abi::EventType::kSrqLimit, rings.value.srqn, &async_);
  return srqs_.back().get();
}

Errno Verbs::destroy_srq(CpuTask& task, SharedReceiveQueue* srq) {
  const Errno result = driver_.shared_receives().destroy(task, srq->srqn());
  if (result != Errno::kOk) return result;
  driver_.events().unsubscribe(abi::EventType::kSrqLimit, srq->srqn());
  erase(srqs_, srq);
  return Errno::kOk;
}

Errno Verbs::modify_qp(CpuTask& task, QueuePair* qp, const QpAttributes& attributes) {
  const Errno result = driver_.modify_qp(task, qp->qpn(), attributes);
  if (result == Errno::kOk && attributes.state == QpState::kReset) qp->reset();
  if (result == Errno::kOk && attributes.state == QpState::kErr) qp->set_failed();
  return result;
}

Result<QpState> Verbs::query_qp_state(CpuTask& task, const QueuePair* qp) {
  const Result<abi::QpContext> context = driver_.query_qp(task, qp->qpn());
  if (!context.ok()) return context.error;
  return context.value.state;
}

Verbs::PostResult Verbs::post_send(CpuTask& task, QueuePair* qp, const SendRequest* requests,
                                   std::uint32_t count) {
  PostResult result;
  Posting posting{};
  while (result.posted < count && result.error == Errno::kOk) {
    result.error = add_request(task, *qp, requests[result.posted], posting);
    if (result.error == Errno::kOk) ++result.posted;
  }
  if (result.posted != 0) ring_doorbell(task, *qp, posting);
  return result;
}

Errno Verbs::add_request(CpuTask& task, QueuePair& qp, const SendRequest& request,
                         Posting& posting) {
  const Time begin = task.now();
  BuiltWqe wqe;
  const Errno result = build_wqe(wqe, qp.send_traits(), request, pages_);
  if (result != Errno::kOk) return result;
  if (wqe.blocks() > qp.free_blocks()) return Errno::kNoMemory;
  Cycles cycles = config_.post + config_.post_per_segment * wqe.data_segments;
  if (request.inline_data) {
    cycles += config_.inline_per_segment * divide_up(wqe.payload, abi::kSegmentBytes);
    posting.cycles += task.charge_copy(kPlane, Bytes(wqe.payload));
  }
  task.charge(kPlane, CpuCategory::kPosting, cycles);
  // Nobody looks at the ring before the doorbell, so the bytes may be there ahead of time.
  store_wqe(memory_, qp, wqe);
  std::copy_n(wqe.bytes, abi::kBlueFlameBytes, posting.last_entry);
  posting.entries += 1;
  posting.blocks = wqe.blocks();
  posting.cycles += cycles;
  posting.last = WorkRequestId(driver_.nic(), qp.qpn(), qp.next_request());
  QueuePair::Slot slot;
  slot.id = request.id;
  slot.bytes = wqe.payload;
  slot.opcode = completed_as(request.opcode);
  qp.push(wqe.blocks(), slot);
  probe_(task.now(), ProbeKind::kPostSend, posting.last, 0, static_cast<std::uint64_t>(begin.ps()),
         wqe.payload);
  return Errno::kOk;
}

void Verbs::ring_doorbell(CpuTask& task, QueuePair& qp, const Posting& posting) {
  const Time begin = task.now();
  task.run(kPlane, CpuCategory::kDoorbell, config_.doorbell);
  std::uint8_t record[4];
  store_be32(record, qp.producer());
  memory_.store(PhysicalAddress(qp.doorbell_record().value() + 4), record, sizeof record);
  const std::uint32_t entry = posting.blocks * abi::kWqeBlockBytes;
  const bool blue_flame =
      config_.blue_flame && posting.entries == 1 && entry <= abi::kBlueFlameBytes;
  const std::uint32_t bytes = blue_flame ? entry : abi::kSendDoorbellBytes;
  for (std::uint32_t at = 0; at < bytes; at += abi::kWqeBlockBytes)
    mmio_.mmio_write(task.now(), abi::kUarOffset + abi::kSendDoorbell + at, posting.last_entry + at,
                     std::min(bytes, abi::kWqeBlockBytes));
  probe_(task.now(), ProbeKind::kDoorbellRung, posting.last, 0,
         static_cast<std::uint64_t>(begin.ps()), (posting.cycles + config_.doorbell).count());
}

Verbs::PostResult Verbs::post_recv(CpuTask& task, QueuePair* qp, const ReceiveRequest* requests,
                                   std::uint32_t count) {
  if (qp->own_receives() == nullptr) return {Errno::kInvalid, 0};
  const PostResult result = post_receives(task, *qp->own_receives(), requests, count);
  if (result.posted != 0 && qp->failed()) ring_receive_doorbell(task, *qp);
  return result;
}

Verbs::PostResult Verbs::post_receives(CpuTask& task, UserReceiveQueue& queue,
                                       const ReceiveRequest* requests, std::uint32_t count) {
  PostResult result;
  while (result.posted < count) {
    const ReceiveRequest& request = requests[result.posted];
    result.error = queue.post(memory_, request);
    if (result.error != Errno::kOk) break;
    task.charge(kPlane, CpuCategory::kPosting,
                config_.post_receive + config_.post_per_segment * request.list_length);
    ++result.posted;
  }
  if (result.posted != 0) {
    task.run(kPlane, CpuCategory::kDoorbell, config_.receive_record);
    queue.publish(memory_);
  }
  return result;
}

void Verbs::ring_receive_doorbell(CpuTask& task, QueuePair& qp) {
  task.run(kPlane, CpuCategory::kDoorbell, config_.doorbell);
  std::uint8_t ring[8];
  store_be32(ring, qp.qpn().value());
  store_be32(ring + 4, qp.own_receives()->posted());
  mmio_.mmio_write(task.now(), abi::kUarOffset + abi::kReceiveDoorbell, ring, sizeof ring);
}

bool Verbs::entry_ready(const CompletionQueue& cq) const {
  std::uint8_t last = 0;
  memory_.load(PhysicalAddress(cq.next_entry().value() + abi::Cqe::kOwnerOffset), &last, 1);
  return last >> 4 != static_cast<std::uint8_t>(abi::CqeOpcode::kInvalid) &&
         ((last & 1) != 0) == cq.next_owner();
}

std::uint32_t Verbs::take_entries(CpuTask& task, CompletionQueue& cq, WorkCompletion* out,
                                  std::uint32_t capacity) {
  std::uint32_t count = 0;
  for (; count < capacity && entry_ready(cq); ++count) {
    std::uint8_t image[abi::Cqe::kBytes];
    memory_.load(cq.next_entry(), image, sizeof image);
    cq.advance();
    task.charge(kPlane, CpuCategory::kPolling, config_.completion);
    out[count] = complete(task, abi::Cqe::read(image));
    probe_(task.now(), ProbeKind::kCompletionPolled, out[count].work_request, 0,
           static_cast<std::uint64_t>(out[count].status), out[count].bytes);
  }
  if (count != 0) {
    std::uint8_t record[4];
    store_be32(record, cq.consumer());
    memory_.store(cq.doorbell_record(), record, sizeof record);
  }
  while (!newly_failed_.empty()) ring_receive_doorbell(task, *newly_failed_.take());
  return count;
}

WorkCompletion Verbs::complete(CpuTask& task, const abi::Cqe& cqe) {
  WorkCompletion completion;
  const bool failed =
      cqe.opcode == abi::CqeOpcode::kRequestError || cqe.opcode == abi::CqeOpcode::kResponseError;
  completion.status = failed ? cqe.status : CompletionStatus::kSuccess;
  completion.vendor_syndrome = cqe.vendor_syndrome;
  completion.qpn = cqe.qpn;
  const std::uint32_t qpn = cqe.qpn.value();
  const bool request =
      cqe.opcode == abi::CqeOpcode::kRequest || cqe.opcode == abi::CqeOpcode::kRequestError;
  if (!request) completion.opcode = WcOpcode::kReceive;
  // An entry of a queue pair that has been destroyed meanwhile names no request.
  if (qpn >= qps_.size() || qps_[qpn] == nullptr) return completion;
  QueuePair& qp = *qps_[qpn];
  if (request)
    complete_send(qp, cqe, completion);
  else
    complete_receive(task, qp, cqe, completion);
  if (failed) note_failure(qp);
  return completion;
}

void Verbs::complete_send(QueuePair& qp, const abi::Cqe& cqe, WorkCompletion& completion) {
  const QueuePair::Slot& slot = qp.complete(cqe.wqe_counter);
  completion.id = slot.id;
  completion.opcode = slot.opcode;
  completion.bytes = slot.bytes;
  completion.work_request = WorkRequestId(driver_.nic(), cqe.qpn, slot.request);
}

void Verbs::complete_receive(CpuTask& task, QueuePair& qp, const abi::Cqe& cqe,
                             WorkCompletion& completion) {
  if (qp.receives() == nullptr)
    throw InvariantBroken("verbs", task.now(), "a receive of a queue pair that has no receives");
  UserReceiveQueue& queue = *qp.receives();
  completion.bytes = cqe.byte_count;
  completion.source_qpn = cqe.source_qpn;
  if ((cqe.flags & abi::Cqe::kGrh) != 0) completion.flags |= WorkCompletion::kGrh;
  switch (cqe.opcode) {
    case abi::CqeOpcode::kResponseWriteImm:
      completion.opcode = WcOpcode::kReceiveRdmaWithImmediate;
      [[fallthrough]];
    case abi::CqeOpcode::kResponseSendImm:
      completion.flags |= WorkCompletion::kWithImmediate;
      completion.immediate = cqe.immediate;
      break;
    case abi::CqeOpcode::kResponseSendInvalidate:
      completion.flags |= WorkCompletion::kWithInvalidate;
      completion.invalidated = MemoryKey(cqe.immediate);
      break;
    default:
      break;
  }
  if ((cqe.flags & abi::Cqe::kInlineData) != 0) {
    const std::uint32_t bytes = std::min(cqe.byte_count, abi::Cqe::kInlineBytes);
    task.charge_copy(kPlane, Bytes(bytes));
    completion.status = queue.scatter(pages_, cqe.wqe_counter, cqe.inline_data.data(), bytes);
  }
  completion.id = queue.complete(cqe.wqe_counter);
}

/// Receives posted since the NIC looked last, before anybody knew of the error, are not lost.
void Verbs::note_failure(QueuePair& qp) {
  if (!qp.failed() && qp.own_receives() != nullptr && qp.own_receives()->outstanding())
    newly_failed_.push(&qp);
  qp.set_failed();
}

std::uint32_t Verbs::poll_cq(CpuTask& task, CompletionQueue* cq, WorkCompletion* out,
                             std::uint32_t capacity) {
  task.settle();
  task.charge(kPlane, CpuCategory::kPolling, config_.poll);
  return take_entries(task, *cq, out, capacity);
}

std::uint32_t Verbs::wait_cq(CpuTask& task, CompletionQueue* cq, WorkCompletion* out,
                             std::uint32_t capacity) {
  task.poll_until(memory_, cq->next_entry(), kPlane, config_.poll,
                  [&] { return entry_ready(*cq); });
  return take_entries(task, *cq, out, capacity);
}

}  // namespace rnicsim

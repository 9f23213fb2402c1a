// SPDX-License-Identifier: MIT
#include "host/verbs.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim {

namespace {

constexpr CpuPlane kPlane = CpuPlane::kData;
constexpr std::uint64_t kMaxMessage = 1ULL << 31;    // IBTA 9.7.7
constexpr std::uint32_t kMaxDataSegment = 1u << 30;  // a data segment counts in 31 bits

constexpr std::uint8_t log2_up(std::uint32_t n) {
  std::uint8_t log = 0;
  while (log < 31 && 1u << log < n) ++log;
  return log;
}

bool has_remote_address(abi::WqeOpcode opcode) {
  return opcode == abi::WqeOpcode::kRdmaWrite || opcode == abi::WqeOpcode::kRdmaWriteImm ||
         opcode == abi::WqeOpcode::kRdmaRead;
}

bool is_supported(abi::WqeOpcode opcode) {
  return has_remote_address(opcode) || opcode == abi::WqeOpcode::kSend ||
         opcode == abi::WqeOpcode::kSendImm;
}

/// A work queue entry under construction.
struct Wqe {
  std::uint8_t bytes[abi::kMaxWqeBytes] = {};
  std::uint32_t length = 0;
  std::uint32_t data_segments = 0;
  std::uint64_t payload = 0;

  std::uint8_t* segment() {
    std::uint8_t* at = bytes + length;
    length += abi::kSegmentBytes;
    return at;
  }
  std::uint32_t blocks() const {
    return static_cast<std::uint32_t>(divide_up(length, abi::kWqeBlockBytes));
  }
};

bool add_data_segments(Wqe& wqe, const ScatterGather& element) {
  // Whatever is too long for one segment's 31 bit count is described by several.
  std::uint64_t address = element.address.value();
  for (std::uint32_t left = element.length; left != 0;) {
    const std::uint32_t piece = left < 2 * kMaxDataSegment ? left : kMaxDataSegment;
    if (wqe.length + abi::kSegmentBytes > abi::kMaxWqeBytes) return false;
    abi::DataSegment{piece, element.lkey, VirtualAddress(address)}.write(wqe.segment());
    ++wqe.data_segments;
    address += piece;
    left -= piece;
  }
  return true;
}

Errno add_inline_data(Wqe& wqe, const SendRequest& request, const PageTable& pages) {
  const std::uint32_t begin = wqe.length;
  std::uint32_t end = begin + abi::InlineSegment::kHeaderBytes;
  for (std::uint32_t i = 0; i < request.list_length; ++i) {
    const ScatterGather& element = request.list[i];
    if (element.length > abi::kMaxWqeBytes - end) return Errno::kInvalid;
    if (element.length != 0 && !pages.load(element.address, wqe.bytes + end, element.length))
      return Errno::kFault;
    end += element.length;
  }
  abi::InlineSegment{static_cast<std::uint32_t>(wqe.payload)}.write(wqe.bytes + begin);
  wqe.length = static_cast<std::uint32_t>(divide_up(end, abi::kSegmentBytes)) * abi::kSegmentBytes;
  return Errno::kOk;
}

Errno build(Wqe& wqe, const QueuePair& qp, const SendRequest& request, const PageTable& pages) {
  if (!is_supported(request.opcode)) return Errno::kInvalid;
  if (request.inline_data && request.opcode == abi::WqeOpcode::kRdmaRead) return Errno::kInvalid;
  for (std::uint32_t i = 0; i < request.list_length; ++i) wqe.payload += request.list[i].length;
  if (wqe.payload > (request.inline_data ? qp.max_inline() : kMaxMessage)) return Errno::kInvalid;
  std::uint8_t* control = wqe.segment();
  if (has_remote_address(request.opcode))
    abi::RemoteAddressSegment{request.remote_address, request.rkey}.write(wqe.segment());
  if (request.inline_data) {
    const Errno result = add_inline_data(wqe, request, pages);
    if (result != Errno::kOk) return result;
  } else {
    for (std::uint32_t i = 0; i < request.list_length; ++i)
      if (!add_data_segments(wqe, request.list[i])) return Errno::kInvalid;
  }
  abi::ControlSegment head;
  head.wqe_index = qp.producer();
  head.opcode = request.opcode;
  head.qpn = qp.qpn();
  head.segments = static_cast<std::uint8_t>(wqe.length / abi::kSegmentBytes);
  head.flags = request.signaled ? abi::ControlSegment::kSignaled : 0;
  head.immediate = request.immediate;
  head.write(control);
  return Errno::kOk;
}

/// Whole blocks, in two pieces if the entry wraps at the end of the ring.
void store_wqe(Memory& memory, const QueuePair& qp, const Wqe& wqe) {
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
  std::uint8_t first_block[abi::kWqeBlockBytes];  ///< of the last entry
  std::uint32_t blocks;                           ///< of all entries
  WorkRequestId last;
  Cycles cycles;
};

Result<CompletionQueue*> Verbs::create_cq(CpuTask& task, std::uint32_t entries) {
  const Result<CqRings> rings = driver_.create_cq(task, log2_up(entries));
  if (!rings.ok()) return rings.error;
  cqs_.push_back(std::make_unique<CompletionQueue>(rings.value));
  return cqs_.back().get();
}

Errno Verbs::destroy_cq(CpuTask& task, CompletionQueue* cq) {
  const Errno result = driver_.destroy_cq(task, cq->cqn());
  if (result != Errno::kOk) return result;
  cqs_.erase(std::find_if(cqs_.begin(), cqs_.end(), [cq](auto& p) { return p.get() == cq; }));
  return Errno::kOk;
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
  const Result<QpRings> rings = driver_.create_qp(task, kernel);
  if (!rings.ok()) return rings.error;
  const std::uint32_t qpn = rings.value.qpn.value();
  if (qps_.size() <= qpn) qps_.resize(qpn + 1);
  qps_[qpn] = std::make_unique<QueuePair>(rings.value, init.max_inline);
  return qps_[qpn].get();
}

Errno Verbs::destroy_qp(CpuTask& task, QueuePair* qp) {
  const Errno result = driver_.destroy_qp(task, qp->qpn());
  if (result == Errno::kOk) qps_[qp->qpn().value()].reset();
  return result;
}

Errno Verbs::modify_qp(CpuTask& task, QueuePair* qp, const QpAttributes& attributes) {
  const Errno result = driver_.modify_qp(task, qp->qpn(), attributes);
  if (result == Errno::kOk && attributes.state == QpState::kReset) qp->reset();
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
  Wqe wqe;
  const Errno result = build(wqe, qp, request, pages_);
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
  std::copy_n(wqe.bytes, abi::kWqeBlockBytes, posting.first_block);
  posting.blocks += wqe.blocks();
  posting.cycles += cycles;
  posting.last = WorkRequestId(driver_.nic(), qp.qpn(), qp.next_request());
  QueuePair::Slot slot;
  slot.id = request.id;
  slot.bytes = wqe.payload;
  slot.opcode = request.opcode;
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
  const bool blue_flame = config_.blue_flame && posting.blocks == 1;
  mmio_.mmio_write(task.now(), abi::kUarOffset + abi::kSendDoorbell, posting.first_block,
                   blue_flame ? abi::kWqeBlockBytes : abi::kSendDoorbellBytes);
  probe_(task.now(), ProbeKind::kDoorbellRung, posting.last, 0,
         static_cast<std::uint64_t>(begin.ps()), (posting.cycles + config_.doorbell).count());
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
    out[count] = complete(abi::Cqe::read(image));
    probe_(task.now(), ProbeKind::kCompletionPolled, out[count].work_request, 0,
           static_cast<std::uint64_t>(out[count].status), out[count].bytes);
  }
  if (count != 0) {
    std::uint8_t record[4];
    store_be32(record, cq.consumer());
    memory_.store(cq.doorbell_record(), record, sizeof record);
  }
  return count;
}

WorkCompletion Verbs::complete(const abi::Cqe& cqe) {
  WorkCompletion completion;
  completion.status =
      cqe.opcode == abi::CqeOpcode::kRequest ? CompletionStatus::kSuccess : cqe.status;
  completion.vendor_syndrome = cqe.vendor_syndrome;
  completion.qpn = cqe.qpn;
  const std::uint32_t qpn = cqe.qpn.value();
  // An entry of a queue pair that has been destroyed meanwhile names no request.
  if (qpn >= qps_.size() || qps_[qpn] == nullptr) return completion;
  const QueuePair::Slot& slot = qps_[qpn]->complete(cqe.wqe_counter);
  completion.id = slot.id;
  completion.opcode = slot.opcode;
  completion.bytes = slot.bytes;
  completion.work_request = WorkRequestId(driver_.nic(), cqe.qpn, slot.request);
  return completion;
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

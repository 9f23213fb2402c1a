// SPDX-License-Identifier: MIT
#include "nic/wqe_fetch.h"

#include <algorithm>

#include "nic/completer.h"
#include "nic/requester.h"

namespace rnicsim {

namespace {

constexpr std::uint32_t kMask = NicQueuePair::kPrefetchBlocks - 1;
constexpr std::uint32_t kMaxBlocks = abi::kMaxWqeBytes / abi::kWqeBlockBytes;

Qpn qpn_in(std::uint64_t argument) { return Qpn(static_cast<std::uint32_t>(argument >> 16)); }
std::uint16_t low_in(std::uint64_t argument) { return static_cast<std::uint16_t>(argument); }
std::uint64_t pack(Qpn qpn, std::uint16_t low) { return std::uint64_t{qpn.value()} << 16 | low; }

/// Work requests of these states are fetched: to be sent, or to be flushed.
bool flushes_in(QpState state) { return state == QpState::kErr || state == QpState::kSqe; }
bool fetches_in(QpState state) { return state == QpState::kRts || flushes_in(state); }

}  // namespace

void WqeFetchConfig::describe(Fields& fields) {
  fields.field("blocks_per_fetch", blocks_per_fetch, range(1, NicQueuePair::kPrefetchBlocks),
               "basic blocks of 64 B read from the send queue at once, at most");
  fields.field("outstanding", outstanding, range(1, 4096), "fetches under way at once");
  fields.object("pipeline", pipeline, "takes one WQE apart");
}

void WqeFetch::produced(Qpn qpn, std::uint16_t producer) { apply(pack(qpn, producer)); }

void WqeFetch::apply(std::uint64_t argument) {
  const Qpn qpn = qpn_in(argument);
  abi::QpContext* context = contexts_.lookup(qpn.value(), call<&WqeFetch::apply>(this, argument));
  if (context == nullptr) return;
  if (!fetches_in(context->state) && context->state != QpState::kSqd) {
    ++ignored_;
    return;
  }
  // Two doorbells may arrive as one late look-up: only forward moves count.
  const auto forward = static_cast<std::int16_t>(low_in(argument) - context->send_producer);
  if (forward > 0) {
    context->send_producer = low_in(argument);
    contexts_.mark_dirty(qpn.value());
  }
  try_fetch(qpn.value());
}

void WqeFetch::restart(Qpn qpn) {
  requester_->ready(qps_.at(qpn));
  try_fetch(qpn.value());
}

void WqeFetch::try_fetch(std::uint64_t number) {
  const Qpn qpn(static_cast<std::uint32_t>(number));
  NicQueuePair& qp = qps_.at(qpn);
  if (qp.fetching || qp.waits_for_fetch) return;
  abi::QpContext* context = contexts_.lookup(qpn.value(), call<&WqeFetch::try_fetch>(this, number));
  if (context == nullptr) return;
  // A draining send queue may have to send again what it has begun.
  const bool again = context->state == QpState::kSqd && qp.has_begun(context->work_requests);
  if (!again && !fetches_in(context->state)) return;
  const std::uint16_t first = context->send_consumer;
  const auto available = static_cast<std::uint16_t>(context->send_producer - first);
  const auto held = static_cast<std::uint16_t>(first - qp.oldest_block);
  const std::uint32_t ring = 1u << context->log_send_blocks;
  const std::uint32_t blocks = std::min(
      {std::uint32_t{available}, config_.blocks_per_fetch, NicQueuePair::kPrefetchBlocks - held,
       ring - (first & (ring - 1)), NicQueuePair::kPrefetchBlocks - (first & kMask)});
  if (blocks == 0 || !may_fetch(qp)) return;
  qp.fetching = true;
  context->send_consumer = static_cast<std::uint16_t>(first + blocks);
  contexts_.mark_dirty(qpn.value());
  ++fetches_;
  if (in_flight_++ == 0) busy_since_ = scheduler_.now();
  most_in_flight_ = std::max(most_in_flight_, in_flight_);
  DmaRequest request;
  request.engine = DmaEngineId::kQueueRead;
  request.purpose = DmaPurpose::kSendQueue;
  request.address = PhysicalAddress(context->send_ring.value() +
                                    std::uint64_t{first & (ring - 1)} * abi::kWqeBlockBytes);
  request.bytes = blocks * abi::kWqeBlockBytes;
  request.data = qp.prefetch.data() + (first & kMask) * abi::kWqeBlockBytes;
  request.work_request = WorkRequestId(nic_index_, qpn, context->work_requests);
  request.done = call<&WqeFetch::fetched>(this, pack(qpn, static_cast<std::uint16_t>(blocks)));
  probe(scheduler_.now(), ProbeKind::kWqeFetchStart, request.work_request, 0, request.bytes, 0);
  pcie_.submit(request);
}

/// False: all fetches are taken; the queue pair gets a turn when one has ended.
bool WqeFetch::may_fetch(NicQueuePair& qp) {
  if (in_flight_ < config_.outstanding) return true;
  if (waiting_.empty()) waiting_since_ = scheduler_.now();
  waiting_.push(qp.qpn.value());
  qp.waits_for_fetch = true;
  return false;
}

void WqeFetch::fetch_ended() {
  if (--in_flight_ == 0) busy_ += scheduler_.now() - busy_since_;
  if (waiting_.empty()) return;
  const std::uint64_t next = waiting_.take();
  if (waiting_.empty()) stalled_outstanding_ += scheduler_.now() - waiting_since_;
  qps_.at(Qpn(static_cast<std::uint32_t>(next))).waits_for_fetch = false;
  try_fetch(next);
}

void WqeFetch::fetched(std::uint64_t argument) {
  const Qpn qpn = qpn_in(argument);
  abi::QpContext* context = contexts_.lookup(qpn.value(), call<&WqeFetch::fetched>(this, argument));
  if (context == nullptr) return;
  NicQueuePair& qp = qps_.at(qpn);
  qp.fetching = false;
  fetch_ended();
  if (qp.fetch_void) {  // other blocks are wanted since: sent again, or after a reset
    qp.fetch_void = false;
    try_fetch(qpn.value());
    return;
  }
  if (!fetches_in(context->state) && context->state != QpState::kSqd)
    return;  // reset while the fetch was under way
  hand_over(qp, *context);
  try_fetch(qpn.value());
}

bool WqeFetch::take_wqe(const abi::ControlSegment& control, const std::uint8_t* wqe) {
  abi::QpContext* context = contexts_.peek(control.qpn.value());
  if (context == nullptr || !fetches_in(context->state)) return false;
  NicQueuePair& qp = qps_.at(control.qpn);
  const std::uint16_t first = context->send_consumer;
  const auto held = static_cast<std::uint16_t>(first - qp.oldest_block);
  if (qp.fetching || control.wqe_index != first ||
      held + control.blocks() > NicQueuePair::kPrefetchBlocks)
    return false;
  for (std::uint32_t i = 0; i < control.blocks(); ++i)
    std::copy_n(wqe + i * abi::kWqeBlockBytes, abi::kWqeBlockBytes,
                qp.prefetch.data() + ((first + i) & kMask) * abi::kWqeBlockBytes);
  context->send_consumer = static_cast<std::uint16_t>(first + control.blocks());
  context->send_producer = context->send_consumer;
  contexts_.mark_dirty(control.qpn.value());
  hand_over(qp, *context);
  return true;
}

/// New basic blocks are here: what they hold is to be sent, or flushed.
void WqeFetch::hand_over(NicQueuePair& qp, abi::QpContext& context) {
  decode(qp, context);
  if (flushes_in(context.state))
    completer_->advance(qp);
  else
    requester_->ready(qp);
}

/// Takes apart every WQE that is wholly here.
void WqeFetch::decode(NicQueuePair& qp, abi::QpContext& context) {
  std::uint8_t wqe[abi::kMaxWqeBytes];
  while (qp.decoded_block != context.send_consumer) {
    const std::uint8_t* start =
        qp.prefetch.data() + (qp.decoded_block & kMask) * abi::kWqeBlockBytes;
    const abi::ControlSegment control = abi::ControlSegment::read(start);
    // Software that says nothing would stop the queue, software that says too much overrun it.
    const std::uint32_t blocks = std::clamp(control.blocks(), 1u, kMaxBlocks);
    const auto here = static_cast<std::uint16_t>(context.send_consumer - qp.decoded_block);
    if (blocks > here) return;
    for (std::uint32_t i = 0; i < blocks; ++i)
      std::copy_n(qp.prefetch.data() + ((qp.decoded_block + i) & kMask) * abi::kWqeBlockBytes,
                  abi::kWqeBlockBytes, wqe + i * abi::kWqeBlockBytes);
    SendWqe decoded = SendWqe::decode(wqe, control, context.transport == Transport::kUd);
    decoded.block = qp.decoded_block;
    decoded.blocks = static_cast<std::uint16_t>(blocks);
    decoded.malformed |= control.qpn != qp.qpn || control.wqe_index != qp.decoded_block ||
                         blocks != control.blocks();
    decoded.decoded = pipeline_.enter(scheduler_.now());
    decoded.id = WorkRequestId(nic_index_, qp.qpn, context.work_requests++);
    contexts_.mark_dirty(qp.qpn.value());
    qp.decoded_block = static_cast<std::uint16_t>(qp.decoded_block + blocks);
    ++wqes_;
    probe(scheduler_.now(), ProbeKind::kWqeFetched, decoded.id, 0, decoded.length,
          blocks * abi::kWqeBlockBytes);
    qp.to_send.push(decoded);
  }
}

void WqeFetch::recover(Qpn qpn) { read_record(qpn.value()); }

void WqeFetch::read_record(std::uint64_t qpn) {
  const auto index = static_cast<std::uint32_t>(qpn);
  const abi::QpContext* context = contexts_.lookup(index, call<&WqeFetch::read_record>(this, qpn));
  if (context == nullptr) return;
  std::size_t at = 0;
  while (at < recoveries_.size() && recoveries_[at].qpn != 0) ++at;
  if (at == recoveries_.size()) recoveries_.emplace_back();
  recoveries_[at].qpn = index;
  ++recovered_;
  DmaRequest request;
  request.engine = DmaEngineId::kQueueRead;
  request.purpose = DmaPurpose::kDoorbellRecord;
  request.address = context->doorbell_record;
  request.bytes = abi::DoorbellRecord::kBytes;
  request.data = recoveries_[at].record;
  request.done = call<&WqeFetch::recovered>(this, at);
  pcie_.submit(request);
}

void WqeFetch::recovered(std::uint64_t at) {
  const auto record = abi::DoorbellRecord::read(recoveries_[at].record);
  const Qpn qpn(recoveries_[at].qpn);
  recoveries_[at].qpn = 0;
  produced(qpn, static_cast<std::uint16_t>(record.send_counter));
}

void WqeFetch::signals(const SignalScope& scope) {
  pipeline_.signals(scope);
  scope.level(
      "fetches", Unit::kCount, "fetches of WQEs outstanding", [this] { return in_flight_; },
      config_.outstanding);
  scope.level("waiting", Unit::kCount, "queue pairs that wait for a fetch to end",
              [this] { return waiting_.size(); });
}

void WqeFetch::report(const MetricScope& scope) const {
  scope.time("busy", busy_, "time with at least one fetch outstanding");
  scope.count("occupancy.max", most_in_flight_, "most fetches outstanding at once");
  scope.time("stalled.interval", pipeline_.stalled(), "WQEs waited to be taken apart");
  scope.time("stalled.outstanding", stalled_outstanding_,
             "time in which a queue pair waited for another's fetch to end");
  scope.count("fetches", fetches_, "DMA reads of the send queues");
  scope.count("wqes", wqes_, "WQEs taken apart");
  scope.count("ignored_doorbells", ignored_, "doorbells of queue pairs that may not send");
  scope.count("doorbell_records_read", recovered_, "doorbell records read after lost doorbells");
}

}  // namespace rnicsim

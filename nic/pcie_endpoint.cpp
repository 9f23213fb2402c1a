// SPDX-License-Identifier: MIT
#include "nic/pcie_endpoint.h"

#include <algorithm>
#include <cstring>

#include "model/invariant.h"

namespace rnicsim {

namespace {

constexpr std::size_t index_of(DmaEngineId engine) { return static_cast<std::size_t>(engine); }
constexpr std::uint64_t kPageBytes = 4096;  // no memory request crosses such an address
constexpr std::size_t index_of(DmaPurpose purpose) { return static_cast<std::size_t>(purpose); }

}  // namespace

void PcieEndpointConfig::describe(Fields& fields) {
  fields.field("tags", tags, range(1, 1024), "outstanding memory read TLPs");
  fields.field("read_buffer", read_buffer, range(Bytes(4096), Bytes(1 << 24)),
               "bytes of completions that may be outstanding");
  fields.field("relaxed_ordering", relaxed_ordering,
               "payload is written with relaxed ordering: it need not wait for earlier writes");
  fields.field("no_snoop", no_snoop, "payload is moved with the no-snoop attribute");
}

PcieEndpoint::PcieEndpoint(Scheduler& scheduler, const PcieEndpointConfig& config,
                           Bytes max_read_request, std::string name, ByteTime link)
    : socket("pcie_socket"),
      scheduler_(scheduler),
      config_(config),
      max_read_request_(max_read_request),
      link_(link),
      name_(std::move(name)),
      buffer_free_(config.read_buffer.count()) {
  socket.bind(*this);
  for (std::uint32_t tag = 0; tag < config.tags; ++tag)
    tags_free_.push(static_cast<std::uint16_t>(tag));
}

PcieEndpoint::~PcieEndpoint() = default;

void PcieEndpoint::submit(DmaRequest request) {
  if (request.bytes == 0 || request.bytes > 4096)
    throw InvariantBroken(name_, scheduler_.now(), "a DMA request must have 1 to 4096 bytes");
  const std::uint32_t tags = tags_for(request);
  if (tags > config_.tags)
    throw InvariantBroken(name_, scheduler_.now(), "a DMA read needs more tags than there are");
  if (outstanding_++ == 0) busy_since_ = scheduler_.now();
  most_outstanding_ = std::max(most_outstanding_, outstanding_);
  Queued& queued = queues_[index_of(request.engine)].push();
  queued.request = std::move(request);
  queued.tags = tags;
  queued.prepared = nullptr;
  if (queued.request.data != nullptr && is_copied(queued.request)) {
    queued.prepared = &fresh();  // the caller's bytes may be gone when its turn comes
    std::memcpy(queued.prepared->inline_data.data(), queued.request.data, queued.request.bytes);
  }
  ++queued_;
  pump();
}

/// Posted requests need none.
std::uint32_t PcieEndpoint::tags_for(const DmaRequest& request) const {
  if (request.write) return 0;
  const std::uint64_t to_boundary = kPageBytes - request.address.value() % kPageBytes;
  const std::uint64_t first = std::min<std::uint64_t>(request.bytes, to_boundary);
  return static_cast<std::uint32_t>(divide_up(first, max_read_request_.count()) +
                                    divide_up(request.bytes - first, max_read_request_.count()));
}

PcieEndpoint::Blocked PcieEndpoint::blocked(const Queued& queued) const {
  if (queued.request.write) return Blocked::kNo;
  if (queued.tags > tags_free_.size()) return Blocked::kTags;
  if (queued.request.bytes > buffer_free_) return Blocked::kReadBuffer;
  return Blocked::kNo;
}

void PcieEndpoint::pump() {
  if (pumping_) return;
  pumping_ = true;
  while (in_request_ == nullptr && issue_next()) {
  }
  pumping_ = false;
}

/// An injected fault holds everything up; one event stands for its end.
bool PcieEndpoint::held_up() {
  const Time now = scheduler_.now();
  const Time end = outages_.end_of(now);
  if (end == now) return false;
  if (queued_ != 0) note_stall(Blocked::kFault);
  if (queued_ != 0 && wake_at_ != end) {
    wake_at_ = end;
    scheduler_.at(end, call<&PcieEndpoint::pump>(this));
  }
  return true;
}

/// Issues the head of the next engine in turn that is not blocked.
bool PcieEndpoint::issue_next() {
  if (!outages_.empty() && held_up()) return false;
  Blocked why = Blocked::kNo;
  for (unsigned i = 0; queued_ != 0 && i < kDmaEngines; ++i) {
    const unsigned engine = (turn_ + i) % kDmaEngines;
    auto& queue = queues_[engine];
    if (queue.empty()) continue;
    const Blocked blocked_by = blocked(queue.front());
    if (blocked_by != Blocked::kNo) {
      why = blocked_by;
      continue;
    }
    turn_ = (engine + 1) % kDmaEngines;
    note_stall(Blocked::kNo);
    --queued_;
    send(make(queue.take()));
    return true;
  }
  note_stall(why);
  return false;
}

void PcieEndpoint::note_stall(Blocked blocked) {
  if (blocked == stalled_by_) return;
  if (stalled_by_ != Blocked::kNo)
    stalled_[static_cast<std::size_t>(stalled_by_)] += scheduler_.now() - stalled_since_;
  stalled_by_ = blocked;
  stalled_since_ = scheduler_.now();
}

/// A transaction that nobody uses, with all set that never changes.
PcieEndpoint::Transaction& PcieEndpoint::fresh() {
  if (free_.empty()) {
    transactions_.push_back(std::make_unique<Transaction>());
    Transaction& transaction = *transactions_.back();
    transaction.index = static_cast<std::uint32_t>(transactions_.size() - 1);
    transaction.set_mm(this);
    transaction.set_byte_enable_ptr(nullptr);
    transaction.set_byte_enable_length(0);
    transaction.extension = new DmaExtension;
    transaction.extension->scheduled_initiator = true;
    transaction.set_extension(transaction.extension);
    free_.push_back(&transaction);
  }
  Transaction& last = *free_.back();
  free_.pop_back();
  return last;
}

PcieEndpoint::Transaction& PcieEndpoint::make(Queued queued) {
  DmaRequest& request = queued.request;
  Transaction& transaction = queued.prepared != nullptr ? *queued.prepared : fresh();
  std::uint8_t* data = request.data;
  if (data == nullptr)
    data = scratch_;
  else if (is_copied(request))
    data = transaction.inline_data.data();
  transaction.acquire();
  transaction.set_command(request.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  transaction.set_address(request.address.value());
  transaction.set_data_ptr(data);
  transaction.set_data_length(request.bytes);
  transaction.set_streaming_width(request.bytes);
  transaction.set_dmi_allowed(false);
  transaction.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  transaction.keep = std::move(request.keep);
  transaction.done = request.done;
  transaction.needs_end_response = false;
  transaction.tag_count = queued.tags;
  transaction.read_bytes = request.write ? 0 : request.bytes;
  DmaExtension& extension = *transaction.extension;
  extension.engine = request.engine;
  extension.purpose = request.purpose;
  extension.tag = request.write ? 0 : tags_free_.front();
  const bool payload =
      request.purpose == DmaPurpose::kPayload || request.purpose == DmaPurpose::kFrame;
  extension.relaxed_ordering = config_.relaxed_ordering && payload && request.write;
  extension.no_snoop = config_.no_snoop && payload;
  extension.elided = request.data == nullptr;
  extension.work_request = request.work_request;
  extension.first_byte = Time();
  extension.last_byte = Time();
  return transaction;
}

void PcieEndpoint::send(Transaction& transaction) {
  for (std::uint32_t i = 0; i < transaction.tag_count; ++i) transaction.tags[i] = tags_free_.take();
  buffer_free_ -= transaction.read_bytes;
  most_tags_ = std::max(most_tags_, config_.tags - static_cast<std::uint32_t>(tags_free_.size()));
  const auto purpose = index_of(transaction.extension->purpose);
  if (transaction.is_write()) {
    ++writes_;
    written_by_purpose_[purpose] += Bytes(transaction.get_data_length());
  } else {
    ++reads_;
    read_by_purpose_[purpose] += Bytes(transaction.get_data_length());
  }
  in_request_ = &transaction;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = scheduler_.annotation();
  sending_ = true;
  transaction.extension->scheduled_target = false;
  const tlm::tlm_sync_enum answer = socket->nb_transport_fw(transaction, phase, delay);
  if (!transaction.extension->scheduled_target) scheduler_.ask_kernel();
  take_answer(transaction, answer, phase, delay);
  sending_ = false;
}

void PcieEndpoint::take_answer(Transaction& transaction, tlm::tlm_sync_enum answer,
                               const tlm::tlm_phase& phase, const sc_core::sc_time& delay) {
  if (answer == tlm::TLM_ACCEPTED) return;
  const Time time = scheduler_.at_delay(delay);
  if (answer == tlm::TLM_COMPLETED) {
    when(time, call<&PcieEndpoint::request_ended>(this, transaction.index));
    when_responded(time, transaction.index);
  } else if (phase == tlm::END_REQ) {
    when(time, call<&PcieEndpoint::request_ended>(this, transaction.index));
  } else if (phase == tlm::BEGIN_RESP) {
    transaction.needs_end_response = true;
    when(time, call<&PcieEndpoint::request_ended>(this, transaction.index));
    when_responded(time, transaction.index);
  } else {
    throw InvariantBroken(name_, scheduler_.now(), "the target answered with an illegal phase");
  }
}

/// Runs the callback at `time`: at once if that is now and hardware is running; after the hardware
/// of its instant if a foreign process called.
void PcieEndpoint::when(Time time, Callback callback) {
  if (!scheduler_.inside())
    scheduler_.at_software(time, callback);
  else if (time == scheduler_.now())
    callback();
  else
    scheduler_.at(time, callback);
}

/// A target may respond within the call that submits: `done` waits until the submitter has
/// returned.
void PcieEndpoint::when_responded(Time time, std::uint32_t index) {
  const Callback callback = call<&PcieEndpoint::responded>(this, index);
  if (sending_)
    scheduler_.at(time, callback);
  else
    when(time, callback);
}

tlm::tlm_sync_enum PcieEndpoint::nb_transport_bw(tlm::tlm_generic_payload& payload,
                                                 tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  auto& transaction = static_cast<Transaction&>(payload);
  const Time time = scheduler_.enter_foreign(delay);
  if (phase == tlm::END_REQ) {
    when(time, call<&PcieEndpoint::request_ended>(this, transaction.index));
    return tlm::TLM_ACCEPTED;
  }
  if (phase != tlm::BEGIN_RESP)
    throw InvariantBroken(name_, scheduler_.now(), "an illegal phase came on the backward path");
  // A bare BEGIN_RESP ends the request too.
  when(time, call<&PcieEndpoint::request_ended>(this, transaction.index));
  when_responded(time, transaction.index);
  phase = tlm::END_RESP;
  return tlm::TLM_COMPLETED;
}

void PcieEndpoint::request_ended(std::uint64_t index) {
  if (in_request_ != transactions_[index].get()) return;
  in_request_ = nullptr;
  pump();
}

void PcieEndpoint::responded(std::uint64_t index) {
  Transaction& transaction = *transactions_[index];
  if (transaction.is_response_error())
    throw InvariantBroken(name_, scheduler_.now(),
                          std::string("DMA ") + (transaction.is_write() ? "write to" : "read of") +
                              " physical address " + std::to_string(transaction.get_address()) +
                              " for " + name_of(transaction.extension->purpose) +
                              " answered with " + transaction.get_response_string(),
                          "dma_error");
  if (transaction.needs_end_response) {
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay = scheduler_.annotation();
    socket->nb_transport_fw(transaction, phase, delay);
    scheduler_.ask_kernel();
  }
  for (std::uint32_t i = 0; i < transaction.tag_count; ++i) tags_free_.push(transaction.tags[i]);
  buffer_free_ += transaction.read_bytes;
  if (--outstanding_ == 0) busy_ += scheduler_.now() - busy_since_;
  const Callback done = transaction.done;
  transaction.release();
  if (done) done();
  pump();
}

void PcieEndpoint::free(tlm::tlm_generic_payload* payload) {
  auto* transaction = static_cast<Transaction*>(payload);
  transaction->keep.reset();
  free_.push_back(transaction);
}

void PcieEndpoint::signals(const SignalScope& scope) {
  scope.level("queued", Unit::kCount, "DMA requests that wait to be issued",
              [this] { return queued_; });
  scope.level("outstanding", Unit::kCount, "DMA requests queued or under way",
              [this] { return outstanding_; });
  scope.level(
      "tags", Unit::kCount, "tags of reads in use",
      [this] { return config_.tags - tags_free_.size(); }, config_.tags);
  scope.level(
      "read_buffer", Unit::kBytes, "room for completions of reads in use",
      [this] { return config_.read_buffer.count() - buffer_free_; }, config_.read_buffer.count());
}

void PcieEndpoint::report(const MetricScope& scope) const {
  scope.count("dma_reads", reads_, "DMA read requests");
  scope.count("dma_writes", writes_, "DMA write requests");
  scope.time("busy", busy_, "time with at least one DMA request queued or outstanding");
  scope.count("occupancy.max", most_outstanding_, "most DMA requests queued or outstanding");
  scope.count("tags.occupancy.max", most_tags_, "most read tags in use at once");
  scope.time("stalled.tags", stalled_[static_cast<std::size_t>(Blocked::kTags)],
             "a read waited for tags");
  scope.time("stalled.read_buffer", stalled_[static_cast<std::size_t>(Blocked::kReadBuffer)],
             "a read waited for read buffer");
  scope.time("stalled.fault", stalled_[static_cast<std::size_t>(Blocked::kFault)],
             "an injected stall held up requests");
  for (std::size_t i = 0; i < kDmaPurposes; ++i) {
    const std::string purpose = name_of(static_cast<DmaPurpose>(i));
    scope.bytes("read." + purpose, read_by_purpose_[i], "bytes read by DMA for this purpose");
    scope.bytes("written." + purpose, written_by_purpose_[i],
                "bytes written by DMA for this purpose");
  }
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "host/mmio_bridge.h"

#include <algorithm>
#include <cstring>

#include "model/invariant.h"

namespace rnicsim {

MmioBridge::MmioBridge(Scheduler& scheduler, const PcieConfig& config, PcieDirection& down,
                       unsigned down_stream, PcieDirection& up, unsigned up_stream)
    : socket("bar_socket"),
      scheduler_(scheduler),
      config_(config),
      format_(config.format()),
      down_(down),
      up_(up),
      down_stream_(down_stream),
      up_stream_(up_stream) {
  socket.bind(*this);
}

MmioBridge::Transaction& MmioBridge::make(tlm::tlm_command command, std::uint64_t offset,
                                          unsigned bytes) {
  if (bytes == 0 || bytes > kMaxBytes)
    throw InvariantBroken("mmio", scheduler_.now(), "a store or load of 1 to 64 B expected");
  if (free_.empty()) {
    auto transaction = std::make_unique<Transaction>();
    transaction->index = static_cast<std::uint32_t>(transactions_.size());
    transaction->extension = new DmaExtension;
    transaction->set_extension(transaction->extension);
    transaction->set_mm(this);
    free_.push_back(transaction.get());
    transactions_.push_back(std::move(transaction));
  }
  Transaction& transaction = *free_.back();
  free_.pop_back();
  transaction.acquire();
  transaction.set_command(command);
  transaction.set_address(offset);
  transaction.set_data_ptr(transaction.data.data());
  transaction.set_data_length(bytes);
  transaction.set_streaming_width(bytes);
  transaction.set_byte_enable_ptr(nullptr);
  transaction.set_dmi_allowed(false);
  transaction.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  transaction.extension->purpose = DmaPurpose::kMmio;
  transaction.done = {};
  return transaction;
}

void MmioBridge::mmio_write(Time at, std::uint64_t bar_offset, const std::uint8_t* data,
                            unsigned bytes) {
  Transaction& transaction = make(tlm::TLM_WRITE_COMMAND, bar_offset, bytes);
  std::memcpy(transaction.data.data(), data, bytes);
  ++writes_;
  const TlpSplit split = split_write(format_, PhysicalAddress(bar_offset), Bytes(bytes));
  const auto link_bytes = static_cast<std::uint32_t>(split.link_bytes.count());
  bytes_ += split.link_bytes;
  down_.send(down_stream_,
             {TlpClass::kPosted, split.tlps, link_bytes, split.data_credits, link_bytes,
              split.data_credits, std::max(at, scheduler_.now()) + config_.root_complex_latency,
              deliver_to<&MmioBridge::arrived>(this), transaction.index});
}

void MmioBridge::mmio_read(Time at, std::uint64_t bar_offset, std::uint8_t* into, unsigned bytes,
                           Callback done) {
  Transaction& transaction = make(tlm::TLM_READ_COMMAND, bar_offset, bytes);
  transaction.into = into;
  transaction.done = done;
  ++reads_;
  const auto link_bytes = static_cast<std::uint32_t>(format_.read_overhead.count());
  bytes_ += format_.read_overhead;
  down_.send(down_stream_, {TlpClass::kNonPosted, 1, link_bytes, 0, link_bytes, 0,
                            std::max(at, scheduler_.now()) + config_.root_complex_latency,
                            deliver_to<&MmioBridge::arrived>(this), transaction.index});
}

void MmioBridge::arrived(std::uint64_t index, const TrainTimes& times) {
  Transaction& transaction = *transactions_[index];
  transaction.extension->first_byte = times.start + config_.latency_down;
  transaction.extension->last_byte = times.end + config_.latency_down;
  transaction.arrived = scheduler_.now();
  waiting_.push(&transaction);
  issue();
}

/// Shows the device what has arrived, one request phase at a time.
void MmioBridge::issue() {
  while (in_request_ == nullptr && !waiting_.empty()) {
    Transaction& transaction = *waiting_.take();
    in_request_ = &transaction;
    waited_ += scheduler_.now() - transaction.arrived;
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = scheduler_.annotation();
    const tlm::tlm_sync_enum answer = socket->nb_transport_fw(transaction, phase, delay);
    const Time time = scheduler_.enter_foreign(delay);
    if (answer == tlm::TLM_COMPLETED) {
      in_request_ = nullptr;
      when(time, call<&MmioBridge::responded>(this, transaction.index));
    } else if (answer == tlm::TLM_UPDATED && phase == tlm::END_REQ) {
      when(time, call<&MmioBridge::request_ended>(this, transaction.index));
    } else if (answer == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP) {
      phase = tlm::END_RESP;
      socket->nb_transport_fw(transaction, phase, delay);
      in_request_ = nullptr;
      when(time, call<&MmioBridge::responded>(this, transaction.index));
    }
    scheduler_.ask_kernel();
  }
}

tlm::tlm_sync_enum MmioBridge::nb_transport_bw(tlm::tlm_generic_payload& payload,
                                               tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  const Time time = scheduler_.enter_foreign(delay);
  auto& transaction = static_cast<Transaction&>(payload);
  if (phase == tlm::END_REQ) {
    when(time, call<&MmioBridge::request_ended>(this, transaction.index));
    return tlm::TLM_ACCEPTED;
  }
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
  // A response without END_REQ ends the request phase too.
  if (in_request_ == &transaction)
    when(time, call<&MmioBridge::request_ended>(this, transaction.index));
  when(time, call<&MmioBridge::responded>(this, transaction.index));
  return tlm::TLM_COMPLETED;
}

void MmioBridge::request_ended(std::uint64_t index) {
  if (in_request_ != transactions_[index].get()) return;
  in_request_ = nullptr;
  issue();
}

void MmioBridge::responded(std::uint64_t index) {
  Transaction& transaction = *transactions_[index];
  if (!transaction.is_response_ok()) ++errors_;
  if (transaction.is_write()) {
    transaction.release();
    return;
  }
  const std::uint64_t payload = transaction.is_response_ok() ? transaction.get_data_length() : 0;
  const auto bytes = static_cast<std::uint32_t>(format_.completion_overhead.count() + payload);
  up_.send(up_stream_, {TlpClass::kCompletion, 1, bytes, 0, bytes, 0, scheduler_.now(),
                        deliver_to<&MmioBridge::completion_sent>(this), index});
}

/// The stream of writes is delivered when sent; the rest of the way is the completion's own.
void MmioBridge::completion_sent(std::uint64_t index, const TrainTimes& times) {
  scheduler_.at(times.end + config_.latency_up + config_.root_complex_latency,
                call<&MmioBridge::completed>(this, index));
}

void MmioBridge::completed(std::uint64_t index) {
  Transaction& transaction = *transactions_[index];
  // A read that no one answers returns ones, as a root complex makes it.
  if (transaction.is_response_ok())
    std::memcpy(transaction.into, transaction.data.data(), transaction.get_data_length());
  else
    std::memset(transaction.into, 0xff, transaction.get_data_length());
  const Callback done = transaction.done;
  transaction.release();
  if (done) done();
}

void MmioBridge::when(Time time, Callback callback) {
  if (time > scheduler_.now())
    scheduler_.at(time, callback);
  else
    callback();
}

void MmioBridge::free(tlm::tlm_generic_payload* payload) {
  free_.push_back(static_cast<Transaction*>(payload));
}

void MmioBridge::report(const MetricScope& scope) const {
  scope.count("writes", writes_, "stores to the device's registers");
  scope.count("reads", reads_, "loads from the device's registers");
  scope.count("errors", errors_, "register accesses that the device refused");
  scope.time("busy", down_.byte_time().of(bytes_), "time that stores and loads took on the link");
  scope.time("stalled.device", waited_,
             "time that register accesses waited for the device to take the one before");
  // One is made only while all others are under way.
  scope.count("occupancy.max", transactions_.size(), "most stores and loads under way at once");
}

}  // namespace rnicsim

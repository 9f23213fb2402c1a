// SPDX-License-Identifier: MIT
#include "nic/dma_exerciser.h"

#include <algorithm>
#include <utility>

#include "model/invariant.h"

namespace rnicsim {

void DmaExerciserConfig::describe(Fields& fields) {
  const auto intervals = range(Time(), Time::us(100));
  fields.object("pcie", pcie, "its PCIe function");
  fields.field("read_interval", read_interval, intervals,
               "between two reads that the DMA engine starts");
  fields.field("write_interval", write_interval, intervals,
               "between two writes that the DMA engine starts");
  fields.field("engine_latency", engine_latency, intervals,
               "what a transfer through the DMA engine takes more than a command");
  fields.field("staging_rate", staging_rate, range(BitRate::gbps(1), BitRate::gbps(100000)),
               "at which the bytes of one transfer come into the device's own memory");
}

DmaExerciser::DmaExerciser(const sc_core::sc_module_name& name, Scheduler& scheduler,
                           const DmaExerciserConfig& config, Bytes max_read_request)
    : sc_module(name),
      scheduler_(scheduler),
      config_(config),
      max_read_request_(max_read_request),
      endpoint_(scheduler, config.pcie, max_read_request, this->name()),
      rings_(scheduler, endpoint_, config.pcie.tags) {
  bar.bind(*this);
}

tlm::tlm_sync_enum DmaExerciser::nb_transport_fw(tlm::tlm_generic_payload& payload,
                                                 tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase == tlm::BEGIN_REQ) b_transport(payload, delay);
  return tlm::TLM_COMPLETED;
}

void DmaExerciser::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& /*delay*/) {
  if (payload.is_read()) std::fill_n(payload.get_data_ptr(), payload.get_data_length(), 0);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  if (!payload.is_write()) return;
  if (rings_.is_running())
    rings_.tail_stored(
        static_cast<RingExerciser::Direction>(payload.get_address() / kRegisterStride));
  else if (stored_)
    stored_();
}

Time DmaExerciser::staging() const {
  return config_.engine_latency + ByteTime(config_.staging_rate).of(Bytes(job_.bytes));
}

void DmaExerciser::transfer(bool write, PhysicalAddress address, Callback done) {
  DmaRequest request;
  request.write = write;
  request.engine = write ? DmaEngineId::kPosted : DmaEngineId::kPayloadRead;
  request.address = address;
  request.bytes = job_.bytes;
  request.done = done;
  endpoint_.submit(std::move(request));
}

void DmaExerciser::refuse_overlap() const {
  if (done_ || rings_.is_running())
    throw InvariantBroken(name(), scheduler_.now(),
                          "two workloads use the exerciser at a time; let one `start` later",
                          "overlap");
}

void DmaExerciser::run_rings(RingExerciser::Job job, Callback done) {
  refuse_overlap();
  rings_.run(std::move(job), done);
}

void DmaExerciser::run(Job job, Callback done) {
  refuse_overlap();
  job_ = std::move(job);
  done_ = done;
  outcome_ = {};
  begun_ = scheduler_.now();
  reads_issued_ = writes_issued_ = ended_ = 0;
  room_for_reads_ = room_for_writes_ = config_.pcie.tags;
  next_read_ = next_write_ = begun_;
  wake_at_ = Time::never();
  if (!measures_latency()) {
    issue();
    return;
  }
  outcome_.latencies.reserve(job_.count);
  begin_one();
}

/// All that may start now; else one event stands for the earliest interval that ends.
void DmaExerciser::issue() {
  const Time now = scheduler_.now();
  while (issue_write(now) || issue_read(now)) {
  }
}

bool DmaExerciser::issue_read(Time now) {
  const auto slots = static_cast<std::uint32_t>(divide_up(Bytes(job_.bytes), max_read_request_));
  if (!reads() || reads_issued_ == job_.count || room_for_reads_ < slots) return false;
  if (writes() && reads_issued_ >= writes_issued_) return false;
  if (now < next_read_) {
    wake_at(next_read_);
    return false;
  }
  next_read_ = now + config_.read_interval;
  room_for_reads_ -= slots;
  ++reads_issued_;
  transfer(false, job_.next(), call<&DmaExerciser::read_came>(this));
  return true;
}

bool DmaExerciser::issue_write(Time now) {
  if (!writes() || writes_issued_ == job_.count || room_for_writes_ == 0) return false;
  if (reads() && writes_issued_ > reads_issued_) return false;
  if (now < next_write_) {
    wake_at(next_write_);
    return false;
  }
  next_write_ = now + config_.write_interval;
  --room_for_writes_;
  ++writes_issued_;
  transfer(true, job_.next(), call<&DmaExerciser::write_ended>(this));
  return true;
}

void DmaExerciser::wake_at(Time time) {
  if (time >= wake_at_) return;
  wake_at_ = time;
  scheduler_.at(time, call<&DmaExerciser::woken>(this));
}

void DmaExerciser::woken() {
  if (scheduler_.now() >= wake_at_) wake_at_ = Time::never();
  issue();
}

void DmaExerciser::read_came() {
  scheduler_.at(scheduler_.now() + staging(), call<&DmaExerciser::read_ended>(this));
}

void DmaExerciser::read_ended() {
  room_for_reads_ += static_cast<std::uint32_t>(divide_up(Bytes(job_.bytes), max_read_request_));
  ++ended_;
  issue();
  end_if_all();
}

void DmaExerciser::write_ended() {
  ++room_for_writes_;
  ++ended_;
  issue();
  end_if_all();
}

void DmaExerciser::end_if_all() {
  const std::uint64_t all = job_.kind == Kind::kReadWrite ? job_.count * 2 : job_.count;
  if (ended_ != all) return;
  outcome_.lasted = scheduler_.now() - begun_;
  end();
}

void DmaExerciser::end() { std::exchange(done_, {})(); }

void DmaExerciser::begin_one() {
  begun_ = scheduler_.now();
  place_ = job_.next();
  const Time before = job_.engine ? staging() : Time();
  if (job_.kind == Kind::kReadLatency)
    transfer(false, place_, call<&DmaExerciser::data_came>(this));
  else if (before == Time())
    write_goes();
  else
    scheduler_.at(begun_ + before, call<&DmaExerciser::write_goes>(this));
}

void DmaExerciser::write_goes() { transfer(true, place_, call<&DmaExerciser::write_gone>(this)); }

void DmaExerciser::write_gone() { transfer(false, place_, call<&DmaExerciser::data_came>(this)); }

void DmaExerciser::data_came() {
  const Time after = job_.engine ? staging() : Time();
  scheduler_.at(scheduler_.now() + after, call<&DmaExerciser::one_ended>(this));
}

void DmaExerciser::one_ended() {
  outcome_.latencies.push_back(scheduler_.now() - begun_);
  outcome_.lasted += outcome_.latencies.back();
  if (++ended_ < job_.count)
    begin_one();
  else
    end();
}

}  // namespace rnicsim

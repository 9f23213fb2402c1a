// SPDX-License-Identifier: MIT
#include "host/pcie_link.h"

#include <algorithm>

#include "host/pcie_link_layer.h"
#include "model/random.h"

namespace rnicsim {

namespace {

/// A write is done for the device once sent; everything else is delivered at the other end.
PcieDirectionConfig upstream(const PcieConfig& config, std::uint64_t seed) {
  PcieDirectionConfig direction = config.direction(config.latency_up);
  direction.replay_seed = seed_for(seed, "upstream");
  direction.delivery_delay.assign(kDmaEngines, config.latency_up);
  direction.delivery_delay[static_cast<unsigned>(DmaEngineId::kPosted)] = Time();
  return direction;
}

PcieDirectionConfig downstream(const PcieConfig& config, std::uint64_t seed) {
  PcieDirectionConfig direction = config.direction(config.latency_down);
  direction.replay_seed = seed_for(seed, "downstream");
  direction.delivery_delay.assign(kDmaEngines + 1, config.latency_down);
  return direction;
}

std::uint32_t narrow(std::uint64_t n) { return static_cast<std::uint32_t>(n); }

}  // namespace

PcieLink::PcieLink(const sc_core::sc_module_name& name, Scheduler& scheduler,
                   const PcieConfig& config, Memory& memory, DmaGuard* guard, std::uint64_t seed)
    : sc_module(name),
      dma_socket("dma_socket"),
      scheduler_(scheduler),
      config_(config),
      format_(config.format()),
      around_{memory, guard},
      up_(scheduler, upstream(config, seed)),
      down_(scheduler, downstream(config, seed)),
      mmio_(scheduler, config, down_, kMmioDown, up_, kWritesUp),
      writes_(scheduler, config, around_, up_, probe_) {
  dma_socket.bind(*this);
}

bool PcieLink::acceptable(tlm::tlm_generic_payload& payload) {
  payload.set_dmi_allowed(false);
  if (payload.get_byte_enable_ptr() != nullptr)
    payload.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  else if (payload.get_data_length() == 0 || payload.get_data_length() > kMaxTransfer ||
           payload.get_streaming_width() < payload.get_data_length())
    payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
  else if (!payload.is_read() && !payload.is_write())
    payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
  else
    return true;
  return false;
}

tlm::tlm_sync_enum PcieLink::nb_transport_fw(tlm::tlm_generic_payload& payload,
                                             tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  const Time time = scheduler_.enter_foreign(delay);
  if (phase == tlm::END_RESP) {
    in_response_ = false;
    pump_responses();
    return tlm::TLM_COMPLETED;
  }
  if (!acceptable(payload)) return tlm::TLM_COMPLETED;
  const std::uint32_t index = make(payload);
  if (payload.is_read())
    begin_read(index, time);
  else
    begin_write(index, time);
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

std::uint32_t PcieLink::make(tlm::tlm_generic_payload& payload) {
  if (free_.empty()) {
    free_.push_back(narrow(transfers_.size()));
    transfers_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Transfer& t = transfers_[index];
  if (payload.has_mm()) payload.acquire();
  t.payload = &payload;
  t.extension = payload.get_extension<DmaExtension>();
  if (t.extension != nullptr) t.extension->scheduled_target = true;
  t.request = request_of(payload, t.extension);
  t.stream = payload.is_read() ? stream_of_read(t) : kWritesUp;
  return index;
}

PcieRequest PcieLink::request_of(const tlm::tlm_generic_payload& payload,
                                 const DmaExtension* extension) const {
  PcieRequest r;
  r.address = PhysicalAddress(payload.get_address());
  r.bytes = Bytes(payload.get_data_length());
  r.peer = around_.route != nullptr ? around_.route->peer(r.address, r.bytes) : nullptr;
  r.supported = r.peer != nullptr || around_.memory.contains(r.address, r.bytes);
  if (extension == nullptr) return r;
  r.purpose = extension->purpose;
  r.work_request = extension->work_request;
  r.elided = extension->elided;
  r.interrupt = around_.interrupts != nullptr && payload.is_write() &&
                r.purpose == DmaPurpose::kInterrupt &&
                InterruptController::is_message(r.address, r.bytes);
  r.supported = r.supported || r.interrupt;
  r.snoop = !extension->no_snoop;
  r.relaxed = payload.is_write() && extension->relaxed_ordering;
  r.guarded = around_.guard != nullptr && DmaGuard::concerns(r.purpose);
  return r;
}

/// A foreign initiator may not say which engine reads; reads do not share the writes' stream, but
/// for those that must see every write before them.
unsigned PcieLink::stream_of_read(const Transfer& t) {
  const DmaEngineId engine = t.extension != nullptr ? t.extension->engine : DmaEngineId::kPosted;
  const bool ordered = engine == DmaEngineId::kPosted && t.request.purpose == DmaPurpose::kAtomic;
  return static_cast<unsigned>(
      engine == DmaEngineId::kPosted && !ordered ? DmaEngineId::kPayloadRead : engine);
}

void PcieLink::recycle(std::uint64_t index) { free_.push_back(narrow(index)); }

void PcieLink::begin_read(std::uint32_t index, Time time) {
  const unsigned stream = transfers_[index].stream;
  const PcieRequest& t = transfers_[index].request;
  ++reads_;
  read_[static_cast<unsigned>(t.purpose)] += t.bytes;
  const TlpSplit split = split_read(format_, t.address, t.bytes);
  up_.send(stream, {TlpClass::kNonPosted, split.tlps, narrow(split.link_bytes.count()), 0,
                    narrow(format_.read_overhead.count()), 0, time,
                    deliver_to<&PcieLink::read_arrived>(this), index});
}

/// The last read request reached the root complex.
void PcieLink::read_arrived(std::uint64_t index, const TrainTimes& times) {
  const unsigned stream = transfers_[index].stream;
  PcieRequest& t = transfers_[index].request;
  if (t.guarded) around_.ask_guard(t, false, scheduler_.now());
  const std::uint32_t overhead = narrow(format_.completion_overhead.count());
  PcieSpan request = way_of_request(t, times);
  const Time last = request.last;
  Train train{TlpClass::kCompletion,
              1,
              overhead,
              0,
              overhead,
              0,
              last,
              deliver_to<&PcieLink::completion_arrived>(this),
              index};
  if (t.supported) {
    const bool plain =
        t.peer != nullptr || (around_.iommu == nullptr && !around_.memory.by_address());
    // On a route a read of one place can be there before the writes to another that it must not
    // pass.
    writes_.settle(std::max(plain ? request.first : last, writes_.last_arrival()));
    if (!plain) {
      request.first = writes_.after_writes_to(t, around_.translated(request.first, t));
      request.last = std::max(request.first, last);
    }
    const TlpSplit split = split_completion(format_, t.address, t.bytes);
    const PcieSpan data = way_of_data(t, request, split.link_bytes);
    const Time length = down_.byte_time().of(split.link_bytes);
    train.tlps = split.tlps;
    train.bytes = narrow(split.link_bytes.count());
    train.tlp_bytes =
        std::min(train.bytes, narrow(format_.completion_payload().count()) + overhead);
    train.eligible = std::max(data.first, data.last - length);
    // The bytes are taken at delivery, when every write that was sent before has to be visible.
    const Time earlier_writes =
        plain ? std::max(writes_.last_visible(), last + around_.memory.config().write_latency)
              : writes_.last_visible();
    train.eligible = std::max(train.eligible, earlier_writes - config_.latency_down);
  }
  down_.send(stream, train);
}

/// From the device's port to what it reads.
PcieSpan PcieLink::way_of_request(const PcieRequest& t, const TrainTimes& times) {
  PcieSpan span{times.first_end + config_.latency_up, times.end + config_.latency_up};
  PcieRoute* const route = around_.route;
  if (route != nullptr && t.supported) {
    const Bytes bytes = split_read(format_, t.address, t.bytes).link_bytes;
    if (t.peer != nullptr) return route->to_peer(*t.peer, span, bytes, {t.address, t.bytes});
    span = route->to_root(span, bytes);
  }
  return span.later(config_.root_complex_latency);
}

/// The data, from what is read back to the device's port.
PcieSpan PcieLink::way_of_data(const PcieRequest& t, const PcieSpan& request, Bytes link_bytes) {
  if (t.peer != nullptr)
    return around_.route->from_peer(*t.peer, t.peer->read(request, t.bytes, link_bytes, t.purpose),
                                    link_bytes);
  const Memory::Access access =
      around_.memory.time_read(request.first, t.address, t.bytes, t.purpose, t.snoop);
  const Time last = std::max(access.last, request.last + access.latency);
  const PcieSpan data = PcieSpan{access.first, last}.later(config_.root_complex_latency);
  return around_.route != nullptr ? around_.route->from_root(data, link_bytes) : data;
}

void PcieLink::completion_arrived(std::uint64_t index, const TrainTimes& times) {
  const Transfer& t = transfers_[index];
  const PcieRequest& r = t.request;
  if (t.extension != nullptr) {
    t.extension->first_byte =
        times.start + overhead_time(format_.completion_overhead) + config_.latency_down;
    t.extension->last_byte = times.end + config_.latency_down;
  }
  if (r.supported && !r.elided) {
    std::uint8_t* into = t.payload->get_data_ptr();
    if (r.peer != nullptr)
      r.peer->load(r.address, into, r.bytes.count());
    else
      around_.memory.load(r.address, into, r.bytes.count());
  }
  if (!r.supported) ++read_faults_;
  respond(index, r.supported ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
  recycle(index);
}

void PcieLink::begin_write(std::uint32_t index, Time time) {
  Transfer& t = transfers_[index];
  const PhysicalAddress address = t.request.address;
  const Bytes bytes = t.request.bytes;
  ++write_count_;
  written_[static_cast<unsigned>(t.request.purpose)] += bytes;
  const std::uint64_t to_boundary = kPciePageBytes - address.value() % kPciePageBytes;
  const Bytes first = std::min(bytes, Bytes(to_boundary));
  t.trains = first < bytes ? 2 : 1;
  t.begin = Time::never();
  send_write_part(index, time, address, first);
  if (first < bytes)
    send_write_part(index, time, PhysicalAddress(address.value() + first.count()), bytes - first);
}

void PcieLink::send_write_part(std::uint32_t index, Time time, PhysicalAddress address,
                               Bytes bytes) {
  const TlpSplit split = split_write(format_, address, bytes);
  const std::uint64_t largest = std::min(bytes, format_.max_payload).count();
  up_.send(kWritesUp, {TlpClass::kPosted, split.tlps, narrow(split.link_bytes.count()),
                       split.data_credits, narrow(largest + format_.write_overhead.count()),
                       narrow(divide_up(largest, kPcieCreditBytes)), time,
                       deliver_to<&PcieLink::write_sent>(this), index});
}

/// The last byte has left the device, which may reuse the payload and its data.
void PcieLink::write_sent(std::uint64_t index, const TrainTimes& times) {
  Transfer& t = transfers_[index];
  t.begin =
      std::min(t.begin, times.start + overhead_time(format_.write_overhead) + config_.latency_up);
  if (--t.trains != 0) return;
  if (t.extension != nullptr) {
    t.extension->first_byte = t.begin;
    t.extension->last_byte = times.end + config_.latency_up;
  }
  writes_.land(t.request, t.begin, times.end, t.payload->get_data_ptr());
  respond(index, tlm::TLM_OK_RESPONSE);
  recycle(index);
}

void PcieLink::respond(std::uint64_t index, tlm::tlm_response_status status) {
  Transfer& t = transfers_[index];
  t.payload->set_response_status(status);
  responses_.push(t.payload);
  t.payload = nullptr;
  t.extension = nullptr;
  pump_responses();
}

void PcieLink::pump_responses() {
  while (!in_response_ && !responses_.empty()) {
    tlm::tlm_generic_payload* payload = responses_.take();
    const bool managed = payload->has_mm();
    const auto* extension = payload->get_extension<DmaExtension>();
    const bool ours = extension != nullptr && extension->scheduled_initiator;
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = scheduler_.annotation();
    in_response_ = true;
    const tlm::tlm_sync_enum answer = dma_socket->nb_transport_bw(*payload, phase, delay);
    if (answer != tlm::TLM_ACCEPTED) in_response_ = false;
    if (managed) payload->release();
    if (!ours) scheduler_.ask_kernel();
  }
}

void PcieLink::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (!acceptable(payload)) return;
  Memory& memory = around_.memory;
  const PhysicalAddress address(payload.get_address());
  const Bytes bytes(payload.get_data_length());
  if (!memory.contains(address, bytes)) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  const Time now = scheduler_.enter_foreign(delay);
  const auto* extension = payload.get_extension<DmaExtension>();
  if (around_.guard != nullptr && extension != nullptr && DmaGuard::concerns(extension->purpose))
    around_.guard->check(
        {payload.is_write(), address, bytes, extension->purpose, extension->work_request}, now);
  Time time = config_.latency_up + config_.root_complex_latency;
  if (payload.is_read()) {
    memory.load(address, payload.get_data_ptr(), bytes.count());
    time += up_.byte_time().of(split_read(format_, address, bytes).link_bytes) +
            memory.config().read_latency + config_.root_complex_latency +
            down_.byte_time().of(split_completion(format_, address, bytes).link_bytes) +
            config_.latency_down;
  } else {
    memory.poke(address, payload.get_data_ptr(), bytes.count());
    time += up_.byte_time().of(split_write(format_, address, bytes).link_bytes) +
            memory.config().write_latency;
  }
  delay += sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(time.ps()));
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

unsigned PcieLink::transport_dbg(tlm::tlm_generic_payload& payload) {
  Memory& memory = around_.memory;
  const PhysicalAddress address(payload.get_address());
  const unsigned length = payload.get_data_length();
  if (!memory.contains(address, Bytes(length))) return 0;
  if (payload.is_read())
    memory.load(address, payload.get_data_ptr(), length);
  else if (payload.is_write())
    memory.poke(address, payload.get_data_ptr(), length);
  return length;
}

void PcieLink::report_link_layer(const MetricScope& scope) const {
  rnicsim::report_link_layer(scope.child("upstream.link_layer"), config_, up_.bytes());
  rnicsim::report_link_layer(scope.child("downstream.link_layer"), config_, down_.bytes());
}

void PcieLink::signals(const SignalScope& scope) {
  up_.signals(scope.child("upstream"));
  down_.signals(scope.child("downstream"));
}

void PcieLink::report(const MetricScope& scope) const {
  up_.report(scope.child("upstream"));
  down_.report(scope.child("downstream"));
  mmio_.report(scope.child("mmio"));
  scope.count("reads", reads_, "DMA reads of the device");
  scope.count("writes", write_count_, "DMA writes of the device");
  for (unsigned i = 0; i < kDmaPurposes; ++i) {
    const std::string purpose = name_of(static_cast<DmaPurpose>(i));
    scope.bytes("read." + purpose, read_[i], "bytes read from host memory");
    scope.bytes("written." + purpose, written_[i], "bytes written to host memory");
  }
  scope.count("unsupported_reads", read_faults_, "reads outside memory, answered with an error");
  scope.count("unsupported_writes", writes_.faults(), "writes outside memory, dropped");
}

}  // namespace rnicsim

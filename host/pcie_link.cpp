// SPDX-License-Identifier: MIT
#include "host/pcie_link.h"

#include <algorithm>

#include "model/byte_order.h"
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

/// A window that is refilled once per latency of the memory.
Serialiser ordered_writes(const PcieConfig& config, const MemoryConfig& memory) {
  if (!config.ordered_writes || memory.write_latency == Time()) return {};
  constexpr std::uint64_t kBitsPerByteAndPicosecond = 8'000'000'000'000;
  return Serialiser(BitRate(config.ordered_writes->count() * kBitsPerByteAndPicosecond,
                            static_cast<std::uint64_t>(memory.write_latency.ps())));
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
      memory_(memory),
      guard_(guard),
      up_(scheduler, upstream(config, seed)),
      down_(scheduler, downstream(config, seed)),
      mmio_(scheduler, config, down_, kMmioDown, up_, kWritesUp),
      ordered_(ordered_writes(config, memory.config())),
      orders_(config.ordered_writes && memory.config().write_latency != Time()) {
  dma_socket.bind(*this);
  if (guard_ != nullptr) guard_->before_change(call<&PcieLink::guard_entered_writes>(this));
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
  t.address = PhysicalAddress(payload.get_address());
  t.bytes = Bytes(payload.get_data_length());
  t.peer = route_ != nullptr ? route_->peer(t.address, t.bytes) : nullptr;
  t.supported = t.peer != nullptr || memory_.contains(t.address, t.bytes);
  const bool known = t.extension != nullptr;
  if (known) t.extension->scheduled_target = true;
  t.purpose = known ? t.extension->purpose : DmaPurpose::kPayload;
  t.work_request = known ? t.extension->work_request : WorkRequestId();
  t.elided = known && t.extension->elided;
  t.interrupt = interrupts_ != nullptr && payload.is_write() &&
                t.purpose == DmaPurpose::kInterrupt &&
                InterruptController::is_message(t.address, t.bytes);
  t.supported = t.supported || t.interrupt;
  t.snoop = !known || !t.extension->no_snoop;
  t.relaxed = known && payload.is_write() && t.extension->relaxed_ordering;
  t.guarded = guard_ != nullptr && known && DmaGuard::concerns(t.purpose);
  t.stream = kWritesUp;
  if (payload.is_read()) {
    // A foreign initiator may not say which engine reads; reads do not share the writes' stream,
    // but for those that must see every write before them.
    const DmaEngineId engine = known ? t.extension->engine : DmaEngineId::kPosted;
    const bool ordered = engine == DmaEngineId::kPosted && t.purpose == DmaPurpose::kAtomic;
    t.stream = static_cast<unsigned>(
        engine == DmaEngineId::kPosted && !ordered ? DmaEngineId::kPayloadRead : engine);
  }
  return index;
}

void PcieLink::recycle(std::uint64_t index) { free_.push_back(narrow(index)); }

void PcieLink::begin_read(std::uint32_t index, Time time) {
  const Transfer& t = transfers_[index];
  ++reads_;
  read_[static_cast<unsigned>(t.purpose)] += t.bytes;
  const TlpSplit split = split_read(format_, t.address, t.bytes);
  up_.send(t.stream, {TlpClass::kNonPosted, split.tlps, narrow(split.link_bytes.count()), 0,
                      narrow(format_.read_overhead.count()), 0, time,
                      deliver_to<&PcieLink::read_arrived>(this), index});
}

/// The last read request reached the root complex.
void PcieLink::read_arrived(std::uint64_t index, const TrainTimes& times) {
  Transfer& t = transfers_[index];
  if (t.guarded) ask_guard(t, false, scheduler_.now());
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
    const bool plain = t.peer != nullptr || (iommu_ == nullptr && !memory_.by_address());
    // On a route a read of one place can be there before the writes to another that it must not
    // pass.
    settle_writes(std::max(plain ? request.first : last, last_arrival_));
    if (!plain) {
      request.first = after_writes_to(t, translated(request.first, t));
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
        plain ? std::max(last_visible_, last + memory_.config().write_latency) : last_visible_;
    train.eligible = std::max(train.eligible, earlier_writes - config_.latency_down);
  }
  down_.send(t.stream, train);
}

/// From the device's port to what it reads.
PcieSpan PcieLink::way_of_request(const Transfer& t, const TrainTimes& times) {
  PcieSpan span{times.first_end + config_.latency_up, times.end + config_.latency_up};
  if (route_ != nullptr && t.supported) {
    const Bytes bytes = split_read(format_, t.address, t.bytes).link_bytes;
    if (t.peer != nullptr) return route_->to_peer(*t.peer, span, bytes);
    span = route_->to_root(span, bytes);
  }
  return span.later(config_.root_complex_latency);
}

/// The data, from what is read back to the device's port.
PcieSpan PcieLink::way_of_data(const Transfer& t, const PcieSpan& request, Bytes link_bytes) {
  if (t.peer != nullptr)
    return route_->from_peer(*t.peer, t.peer->read(request, t.bytes, link_bytes, t.purpose),
                             link_bytes);
  const Memory::Access access =
      memory_.time_read(request.first, t.address, t.bytes, t.purpose, t.snoop);
  const Time last = std::max(access.last, request.last + access.latency);
  const PcieSpan data = PcieSpan{access.first, last}.later(config_.root_complex_latency);
  return route_ != nullptr ? route_->from_root(data, link_bytes) : data;
}

void PcieLink::completion_arrived(std::uint64_t index, const TrainTimes& times) {
  Transfer& t = transfers_[index];
  if (t.extension != nullptr) {
    t.extension->first_byte =
        times.start + overhead_time(format_.completion_overhead) + config_.latency_down;
    t.extension->last_byte = times.end + config_.latency_down;
  }
  if (t.supported && !t.elided) {
    std::uint8_t* into = t.payload->get_data_ptr();
    if (t.peer != nullptr)
      t.peer->load(t.address, into, t.bytes.count());
    else
      memory_.load(t.address, into, t.bytes.count());
  }
  if (!t.supported) ++read_faults_;
  const bool supported = t.supported;
  respond(index, supported ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
  recycle(index);
}

void PcieLink::begin_write(std::uint32_t index, Time time) {
  Transfer& t = transfers_[index];
  ++writes_;
  written_[static_cast<unsigned>(t.purpose)] += t.bytes;
  const std::uint64_t to_boundary = kPciePageBytes - t.address.value() % kPciePageBytes;
  const Bytes first = std::min(t.bytes, Bytes(to_boundary));
  t.trains = first < t.bytes ? 2 : 1;
  t.begin = Time::never();
  t.settled = false;
  const PhysicalAddress address = t.address;
  const Bytes rest = t.bytes - first;
  send_write_part(index, time, address, first);
  if (rest != Bytes())
    send_write_part(index, time, PhysicalAddress(address.value() + first.count()), rest);
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
  if (t.supported && (!t.elided || t.interrupt)) {
    if (!t.data) t.data = std::make_unique<std::array<std::uint8_t, kMaxTransfer>>();
    std::copy_n(t.payload->get_data_ptr(), t.bytes.count(), t.data->begin());
  }
  land(index, times.end);
  respond(index, tlm::TLM_OK_RESPONSE);
}

void PcieLink::land(std::uint64_t index, Time end) {
  Transfer& t = transfers_[index];
  if (!t.supported) ++write_faults_;
  if (route_ != nullptr && t.supported) {
    route_write(t, end);
  } else {
    t.begin += config_.root_complex_latency;
    t.arrival = std::max(last_arrival_, end + config_.latency_up + config_.root_complex_latency);
  }
  unsettled_.push(narrow(index));
  const Time visible = t.arrival + effect_latency(t);
  if (t.relaxed) {
    scheduler_.at(visible, call<&PcieLink::make_relaxed_visible>(this, index));
    return;
  }
  landing_.push(narrow(index));
  scheduler_.at(visible, call<&PcieLink::make_visible>(this, index));
}

/// Through what lies between the device's link and where it writes. A wire or device on the way
/// that is slower than the link fills the link's receiver; half of its buffer may wait before the
/// credits show it.
void PcieLink::route_write(Transfer& t, Time end) {
  const Bytes bytes = split_write(format_, t.address, t.bytes).link_bytes;
  const Time header = overhead_time(format_.write_overhead);
  PcieSpan span{t.begin - header, end + config_.latency_up};
  span = t.peer != nullptr
             ? t.peer->write(route_->to_peer(*t.peer, span, bytes), t.bytes, bytes, t.purpose)
             : route_->to_root(span, bytes).later(config_.root_complex_latency);
  const Time buffered = up_.byte_time().of(Bytes(config_.posted_data.count() / 2));
  if (span.held > buffered)
    up_.hold_posted_credits(end + config_.latency_up + span.held - buffered +
                            config_.credit_return_latency);
  t.begin = span.first + header;
  // A later write to what is nearer does not overtake.
  last_arrival_ = std::max(last_arrival_, span.last);
  t.arrival = last_arrival_;
}

/// When the root complex passes a write on to memory: at once, or in its turn among those that it
/// keeps in order.
Time PcieLink::ordered_begin(const Transfer& t) {
  if (!orders_ || t.relaxed || t.peer != nullptr) return t.begin;
  const Time begin = std::max(t.begin, ordered_.free_at() - memory_.config().write_latency);
  ordered_.send(t.begin, t.bytes);
  return begin;
}

/// Asks the memory for the writes that reach it until then: reads and writes share its bandwidth in
/// the order of their arrival, and a write is known before it arrives.
void PcieLink::settle_writes(Time until) {
  while (!unsettled_.empty() && transfers_[unsettled_.front()].arrival <= until) {
    Transfer& t = transfers_[unsettled_.take()];
    if (t.guarded) ask_guard(t, true, entered(t));
    t.settled = true;
    t.visible = t.arrival + effect_latency(t);
    if (!t.relaxed) t.visible = std::max(t.visible, last_visible_);
    if (t.supported && !t.interrupt && t.peer == nullptr) {
      t.begin = translated(t.begin, t);
      // The memory takes the bytes as they arrive.
      Memory::Access access =
          memory_.time_write(ordered_begin(t), t.address, t.bytes, t.purpose, t.snoop);
      if (orders_ && !t.relaxed) access.last = std::max(access.last, ordered_.free_at());
      t.visible = std::max({t.visible, access.last, t.arrival + access.latency});
      // A memory slower than the link keeps the receiver's buffer full.
      const Time taken = access.last - access.latency;
      if (taken > t.arrival)
        hold_credits(taken, t.bytes);
      else
        late_writes_.clear();
    }
    last_visible_ = std::max(last_visible_, t.visible);
  }
}

Time PcieLink::translated(Time arrival, const Transfer& transfer) {
  return iommu_ == nullptr ? arrival : iommu_->translate(arrival, transfer.address, transfer.bytes);
}

/// Walks overlap, so behind an IOMMU the buffer must not run empty before credits come back.
void PcieLink::hold_credits(Time taken, Bytes bytes) {
  Time from = taken;
  if (iommu_ != nullptr) {
    const std::uint64_t room =
        std::min<std::uint64_t>(config_.posted_headers, config_.posted_data / bytes);
    late_writes_.push(taken);
    while (late_writes_.size() > room / 2 + 1) late_writes_.pop();
    if (late_writes_.size() <= room / 2) return;
    from = late_writes_.front();
  }
  up_.hold_posted_credits(from + config_.credit_return_latency);
}

/// The latest write to any of its bytes that is not visible yet, where memory knows lines.
/// REQUIRES: the writes that arrive before the read are settled.
Time PcieLink::after_writes_to(const Transfer& read, Time first) const {
  if (memory_.cache() == nullptr) return first;
  const std::uint64_t begin = read.address.value();
  for (std::size_t i = landing_.size(); i-- > 0;) {
    const Transfer& write = transfers_[landing_.at(i)];
    const std::uint64_t at = write.address.value();
    if (write.settled && !write.interrupt && write.peer == nullptr &&
        at < begin + read.bytes.count() && begin < at + write.bytes.count())
      return std::max(first, write.visible);
  }
  return first;
}

void PcieLink::ask_guard(Transfer& transfer, bool write, Time entered) {
  transfer.guarded = false;
  guard_->check({write, transfer.address, transfer.bytes, transfer.purpose, transfer.work_request},
                entered);
}

/// The guard is about to learn of a change, which is not for the writes that came before it.
void PcieLink::guard_entered_writes() {
  for (std::size_t i = 0; i < unsettled_.size(); ++i) {
    Transfer& t = transfers_[unsettled_.at(i)];
    if (entered(t) > scheduler_.now()) return;
    if (t.guarded) ask_guard(t, true, entered(t));
  }
}

/// All that is due, in the order of sending; `index` is the write that the entry was made for.
void PcieLink::make_visible(std::uint64_t index) {
  const Time now = scheduler_.now();
  settle_writes(now);
  if (transfers_[index].visible > now) {
    scheduler_.at(transfers_[index].visible, call<&PcieLink::make_visible>(this, index));
    return;
  }
  while (!landing_.empty()) {
    const std::uint32_t first = landing_.front();
    const Transfer& t = transfers_[first];
    if (!t.settled || t.visible > now) return;
    landing_.pop();
    take_effect(first);
  }
}

/// A write that waits for no other, and that no other takes along: its slot is its own till then.
void PcieLink::make_relaxed_visible(std::uint64_t index) {
  const Time now = scheduler_.now();
  settle_writes(now);
  if (transfers_[index].visible > now)
    scheduler_.at(transfers_[index].visible, call<&PcieLink::make_relaxed_visible>(this, index));
  else
    take_effect(narrow(index));
}

void PcieLink::take_effect(std::uint32_t index) {
  const Transfer& t = transfers_[index];
  const Bytes bytes = t.bytes;
  const PhysicalAddress address = t.address;
  const bool to_memory = t.supported && !t.interrupt;
  if (to_memory) {
    if (!t.elided && t.peer != nullptr)
      t.peer->store(address, t.data->data(), bytes.count());
    else if (!t.elided)
      memory_.poke(address, t.data->data(), bytes.count());
    if (t.purpose == DmaPurpose::kPayload)
      probe_(scheduler_.now(), ProbeKind::kPayloadLanded, t.work_request, 0,
             static_cast<std::uint64_t>(t.begin.ps()), bytes.count());
  }
  if (t.interrupt) interrupts_->raise({address, load_be32(t.data->data())}, t.work_request);
  const bool to_ram = to_memory && t.peer == nullptr;
  recycle(index);
  if (to_ram) memory_.wrote(address, bytes);
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
  const PhysicalAddress address(payload.get_address());
  const Bytes bytes(payload.get_data_length());
  if (!memory_.contains(address, bytes)) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  const Time now = scheduler_.enter_foreign(delay);
  const auto* extension = payload.get_extension<DmaExtension>();
  if (guard_ != nullptr && extension != nullptr && DmaGuard::concerns(extension->purpose))
    guard_->check({payload.is_write(), address, bytes, extension->purpose, extension->work_request},
                  now);
  Time time = config_.latency_up + config_.root_complex_latency;
  if (payload.is_read()) {
    memory_.load(address, payload.get_data_ptr(), bytes.count());
    time += up_.byte_time().of(split_read(format_, address, bytes).link_bytes) +
            memory_.config().read_latency + config_.root_complex_latency +
            down_.byte_time().of(split_completion(format_, address, bytes).link_bytes) +
            config_.latency_down;
  } else {
    memory_.poke(address, payload.get_data_ptr(), bytes.count());
    time += up_.byte_time().of(split_write(format_, address, bytes).link_bytes) +
            memory_.config().write_latency;
  }
  delay += sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(time.ps()));
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

unsigned PcieLink::transport_dbg(tlm::tlm_generic_payload& payload) {
  const PhysicalAddress address(payload.get_address());
  const unsigned length = payload.get_data_length();
  if (!memory_.contains(address, Bytes(length))) return 0;
  if (payload.is_read())
    memory_.load(address, payload.get_data_ptr(), length);
  else if (payload.is_write())
    memory_.poke(address, payload.get_data_ptr(), length);
  return length;
}

void PcieLink::report(const MetricScope& scope) const {
  up_.report(scope.child("upstream"));
  down_.report(scope.child("downstream"));
  mmio_.report(scope.child("mmio"));
  scope.count("reads", reads_, "DMA reads of the device");
  scope.count("writes", writes_, "DMA writes of the device");
  for (unsigned i = 0; i < kDmaPurposes; ++i) {
    const std::string purpose = name_of(static_cast<DmaPurpose>(i));
    scope.bytes("read." + purpose, read_[i], "bytes read from host memory");
    scope.bytes("written." + purpose, written_[i], "bytes written to host memory");
  }
  scope.count("unsupported_reads", read_faults_, "reads outside memory, answered with an error");
  scope.count("unsupported_writes", write_faults_, "writes outside memory, dropped");
}

}  // namespace rnicsim

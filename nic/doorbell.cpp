// SPDX-License-Identifier: MIT
#include "nic/doorbell.h"

#include <algorithm>
#include <cstring>

#include "model/byte_order.h"
#include "nic/command_unit.h"
#include "nic/completion_events.h"
#include "nic/ethernet/ethernet_unit.h"
#include "nic/event_queue.h"
#include "nic/page_faults.h"
#include "nic/wqe_fetch.h"

namespace rnicsim {

namespace {

/// Doorbell, or a line of BlueFlame.
bool is_send_size(unsigned bytes) {
  return bytes == abi::kSendDoorbellBytes || bytes == abi::kWqeBlockBytes;
}

}  // namespace

Doorbell::Register Doorbell::register_at(std::uint64_t offset, unsigned bytes) {
  if (offset < abi::kUarOffset) {
    if (offset == abi::kCommandQueueAddress && bytes == 8) return Register::kCommandQueueAddress;
    if (offset == abi::kCommandDoorbell && bytes == 4) return Register::kCommandDoorbell;
    if (offset == abi::kEqArm && bytes == 8) return Register::kEqArm;
    if (offset == abi::kEthernetDoorbell && bytes == 8) return Register::kEthernet;
    if (offset == abi::kEthernetArm && bytes == 8) return Register::kEthernetArm;
    if (offset == abi::kPageFaultResume && bytes == 4) return Register::kPageFaultResume;
    return Register::kNone;
  }
  const std::uint64_t in_page = (offset - abi::kUarOffset) % abi::kUarSize;
  if (in_page == abi::kSendDoorbell && is_send_size(bytes)) return Register::kSend;
  if (in_page > abi::kSendDoorbell && in_page < abi::kSendDoorbell + abi::kBlueFlameBytes &&
      in_page % abi::kWqeBlockBytes == 0 && bytes == abi::kWqeBlockBytes)
    return Register::kSendLine;
  if (in_page == abi::kCqArm && bytes == 8) return Register::kCqArm;
  if (in_page == abi::kReceiveDoorbell && bytes == 8) return Register::kReceive;
  return Register::kNone;
}

std::uint64_t Doorbell::Write::value() const {
  return bytes == 4 ? load_be32(data.data()) : load_be64(data.data());
}

void DoorbellConfig::describe(Fields& fields) {
  fields.field("depth", depth, range(1, 1 << 16), "doorbells that wait at once");
  fields.field("blue_flame_wait", blue_flame_wait, range(Time(), Time::ms(1)),
               "how long the further lines of a WQE may take before it is fetched instead");
  fields.object("pipeline", pipeline, "from the register to WQE fetch");
}

Doorbell::Doorbell(Scheduler& scheduler, const Clock& clock, const DoorbellConfig& config,
                   WqeFetch& wqe_fetch, CommandUnit& command_unit, EventQueue& event_queue,
                   CompletionEvents& completion_events, PageFaults& page_faults,
                   EthernetUnit& ethernet)
    : socket("doorbell_socket"),
      scheduler_(scheduler),
      config_(config),
      wqe_fetch_(wqe_fetch),
      command_unit_(command_unit),
      event_queue_(event_queue),
      completion_events_(completion_events),
      page_faults_(page_faults),
      ethernet_(ethernet),
      pipeline_(clock, config.pipeline) {
  socket.bind(*this);
}

tlm::tlm_sync_enum Doorbell::nb_transport_fw(tlm::tlm_generic_payload& payload,
                                             tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase == tlm::BEGIN_REQ) access(payload, scheduler_.enter_foreign(delay));
  return tlm::TLM_COMPLETED;
}

void Doorbell::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  access(payload, scheduler_.enter_foreign(delay));
}

unsigned Doorbell::transport_dbg(tlm::tlm_generic_payload& payload) {
  if (payload.is_read()) {
    access(payload, scheduler_.now());
    return payload.is_response_ok() ? payload.get_data_length() : 0;
  }
  return 0;
}

void Doorbell::access(tlm::tlm_generic_payload& payload, Time time) {
  const std::uint64_t offset = payload.get_address();
  const unsigned bytes = payload.get_data_length();
  if (offset + bytes > abi::kBarSize || (bytes != 4 && !is_send_size(bytes))) {
    payload.set_response_status(offset + bytes > abi::kBarSize ? tlm::TLM_ADDRESS_ERROR_RESPONSE
                                                               : tlm::TLM_BURST_ERROR_RESPONSE);
    return;
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  std::uint8_t* data = payload.get_data_ptr();
  if (payload.is_read()) {
    std::uint8_t registers[abi::kWqeBlockBytes] = {};
    if (offset == abi::kCommandQueueAddress) store_be64(registers, command_queue_);
    std::memcpy(data, registers, bytes);
    return;
  }
  Write& write = arriving_.push({});
  write.target = register_at(offset, bytes);
  write.bytes = bytes;
  if (write.target == Register::kSend || write.target == Register::kSendLine) {
    const std::uint64_t in_regions = offset - abi::kUarOffset;
    write.page = static_cast<std::uint8_t>(in_regions / abi::kUarSize);
    write.line = static_cast<std::uint8_t>((in_regions % abi::kUarSize - abi::kSendDoorbell) /
                                           abi::kWqeBlockBytes);
  }
  std::memcpy(write.data.data(), data, bytes);
  const Callback then = call<&Doorbell::arrived>(this);
  if (scheduler_.inside())
    scheduler_.at(time, then);
  else
    scheduler_.at_software(time, then);
}

/// The oldest write takes effect: writes come through one ordered link.
void Doorbell::arrived() {
  const Write write = arriving_.take();
  if (write.target == Register::kNone)
    ++ignored_;
  else if (write.target == Register::kSend)
    ring(write);
  else if (write.target == Register::kSendLine)
    add_line(write);
  else if (!overwrites(write))
    enter(write);
}

/// A send doorbell, unless it is the first line of a WQE of several.
void Doorbell::ring(const Write& write) {
  BlueFlameBuffer& buffer = buffers_[write.page];
  give_up(buffer);
  const std::uint32_t wqe =
      abi::ControlSegment::read(write.data.data()).blocks() * abi::kWqeBlockBytes;
  if (write.bytes != abi::kWqeBlockBytes || wqe <= write.bytes || wqe > abi::kBlueFlameBytes)
    return enter(write);
  if (scheduler_.now() < buffer.trusted_at) {
    distrust(buffer);
    ++blue_flame_broken_;
    return enter(write);
  }
  buffer.open = true;
  buffer.lines = write;
  ++gathering_;
  scheduler_.hold();
  scheduler_.at_daemon(
      scheduler_.now() + config_.blue_flame_wait,
      call<&Doorbell::waited>(this, std::uint64_t{write.page} << 32 | ++buffer.opened));
}

void Doorbell::add_line(const Write& write) {
  BlueFlameBuffer& buffer = buffers_[write.page];
  Write& whole = buffer.lines;
  if (!buffer.open || write.line * abi::kWqeBlockBytes != whole.bytes) {
    ++ignored_;
    give_up(buffer);
    return distrust(buffer);
  }
  std::copy_n(write.data.data(), write.bytes, whole.data.data() + whole.bytes);
  whole.bytes += write.bytes;
  const std::uint32_t blocks = abi::ControlSegment::read(whole.data.data()).blocks();
  if (whole.bytes != blocks * abi::kWqeBlockBytes) return;
  close(buffer);
  enter(whole);
}

void Doorbell::close(BlueFlameBuffer& buffer) {
  buffer.open = false;
  --gathering_;
  scheduler_.release();
}

/// What has come is as good as the doorbell that it begins with.
void Doorbell::give_up(BlueFlameBuffer& buffer) {
  if (!buffer.open) return;
  close(buffer);
  distrust(buffer);
  ++blue_flame_broken_;
  buffer.lines.bytes = abi::kSendDoorbellBytes;
  enter(buffer.lines);
}

void Doorbell::distrust(BlueFlameBuffer& buffer) {
  buffer.trusted_at = scheduler_.now() + config_.blue_flame_wait;
}

void Doorbell::waited(std::uint64_t page_and_opened) {
  BlueFlameBuffer& buffer = buffers_[page_and_opened >> 32];
  if (buffer.opened == static_cast<std::uint32_t>(page_and_opened)) give_up(buffer);
}

void Doorbell::enter(const Write& write) {
  const bool send = write.target == Register::kSend;
  if (send && fifo_.size() >= config_.depth) {
    ++lost_count_;
    lost_.insert(abi::ControlSegment::read(write.data.data()).qpn.value());
    return;
  }
  fifo_.push(write);
  most_ = std::max(most_, fifo_.size());
  Time served = pipeline_.enter(scheduler_.now());
  if (send) served = wqe_fetch_.look_up(served);
  last_ = std::max(last_, served);
  scheduler_.at(last_, call<&Doorbell::serve>(this));
}

/// A command register that has been written and not yet read by the firmware takes the new value.
bool Doorbell::overwrites(const Write& write) {
  if (write.target != Register::kCommandQueueAddress && write.target != Register::kCommandDoorbell)
    return false;
  for (std::size_t i = 0; i < fifo_.size(); ++i) {
    if (fifo_.at(i).target != write.target) continue;
    fifo_.at(i) = write;
    return true;
  }
  return false;
}

void Doorbell::serve() {
  dispatch(fifo_.take());
  if (!fifo_.empty()) return;
  for (const std::uint32_t qpn : lost_) wqe_fetch_.recover(Qpn(qpn));
  lost_.clear();
}

void Doorbell::dispatch(const Write& write) {
  const std::uint64_t value = write.value();
  switch (write.target) {
    case Register::kSend:
      return send_doorbell(write);
    case Register::kCommandQueueAddress:
      command_queue_ = value;
      return;
    case Register::kCommandDoorbell:
      return command_unit_.ring(PhysicalAddress(command_queue_));
    case Register::kEqArm:
      ++armed_;
      return event_queue_.arm(static_cast<std::uint32_t>(value >> 32),
                              static_cast<std::uint32_t>(value));
    case Register::kPageFaultResume:
      return page_faults_.resume(static_cast<std::uint32_t>(value));
    case Register::kCqArm:
      return arm_cq(value);
    case Register::kReceive:
      return receive_doorbell(value);
    case Register::kEthernet:
      return ethernet_.ring(value);
    case Register::kEthernetArm:
      return ethernet_.arm(value);
    case Register::kSendLine:
    case Register::kNone:
      return;
  }
}

void Doorbell::arm_cq(std::uint64_t value) {
  ++armed_;
  const auto consumer = static_cast<std::uint32_t>(value >> 32 & 0xffffff);
  completion_events_.arm(Cqn(static_cast<std::uint32_t>(value)), consumer, value >> 56 != 0);
}

/// What has been posted is found through the doorbell record: the counter itself says nothing new.
void Doorbell::receive_doorbell(std::uint64_t value) {
  ++receive_rung_;
  if (!receives_posted_) return;
  Callback tell = receives_posted_;
  tell.argument = value >> 32;
  tell();
}

/// It begins with the first 8 bytes of the last posted WQE's control segment: where that stands and
/// how long it is say where the next one will stand.
void Doorbell::send_doorbell(const Write& write) {
  const abi::ControlSegment control = abi::ControlSegment::read(write.data.data());
  const auto producer = static_cast<std::uint16_t>(control.wqe_index + control.blocks());
  ++rung_;
  if (!wqe_fetch_.knows(control.qpn)) {
    ++ignored_;
    return;
  }
  probe(scheduler_.now(), ProbeKind::kDoorbellArrived, {}, 0, control.qpn.value(), producer);
  if (write.bytes == control.blocks() * abi::kWqeBlockBytes &&
      wqe_fetch_.take_wqe(control, write.data.data()))
    ++blue_flame_;
  wqe_fetch_.produced(control.qpn, producer);
}

void Doorbell::signals(const SignalScope& scope) {
  pipeline_.signals(scope);
  scope.level(
      "queued", Unit::kCount, "doorbells that wait to be served", [this] { return fifo_.size(); },
      config_.depth);
}

void Doorbell::report(const MetricScope& scope) const {
  scope.count("rung", rung_, "send doorbells that took effect");
  scope.count("blue_flame", blue_flame_, "of these, with a WQE that needed no fetch");
  scope.count("blue_flame_broken", blue_flame_broken_, "WQEs that came in part, and were fetched");
  scope.count("receive_rung", receive_rung_, "receive doorbells");
  scope.count("armed", armed_, "requests for an event, of completion and event queues");
  scope.count("lost", lost_count_, "send doorbells that found the FIFO full");
  scope.count("ignored", ignored_, "register writes that mean nothing");
  scope.time("busy", pipeline_.busy(), "time the doorbell's pipeline was taken");
  scope.time("stalled.interval", pipeline_.stalled(), "doorbells waited for the pipeline");
  scope.count("occupancy.max", most_, "most doorbells waiting");
}

}  // namespace rnicsim

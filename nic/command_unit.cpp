// SPDX-License-Identifier: MIT
#include "nic/command_unit.h"

#include <algorithm>

#include "nic/read_responder.h"
#include "nic/requester.h"
#include "nic/responder.h"
#include "nic/wqe_fetch.h"

namespace rnicsim {

namespace {

constexpr Time kQuiescePoll = Time::ns(100);  // assumption: a firmware loop
constexpr std::uint8_t kMaxLogObjects = 24;  // numbers of queue pairs, queues and keys have 24 bits

std::uint32_t mailbox_bytes(abi::CommandOpcode opcode) {
  switch (opcode) {
    case abi::CommandOpcode::kInitHca:
      return abi::HcaTables::kBytes;
    case abi::CommandOpcode::kModifyQp:
      return abi::QpContext::kBytes;
    default:
      return 0;
  }
}

/// Whether the NIC can work with what a context says.
bool usable(const abi::QpContext& context) {
  return context.mtu_code >= 1 && context.mtu_code <= 5 && context.log_send_blocks <= 15;
}

}  // namespace

void CommandUnitConfig::describe(Fields& fields) {
  fields.field("latency", latency, range(Time(), Time::ms(100)),
               "time that the firmware works on one command");
}

void CommandUnit::ring(PhysicalAddress entry) {
  if (active_) {
    rung_again_ = true;
    most_ = 2;
    rung_address_ = entry;
    return;
  }
  active_ = true;
  most_ = std::max(most_, 1u);
  busy_since_ = w_.scheduler.now();
  entry_address_ = entry;
  dma(false, entry, entry_bytes_.data(), abi::CommandEntry::kBytes,
      call<&CommandUnit::entry_read>(this));
}

void CommandUnit::dma(bool write, PhysicalAddress address, std::uint8_t* data, std::uint32_t bytes,
                      Callback done) {
  DmaRequest request;
  request.write = write;
  request.engine = write ? DmaEngineId::kPosted : DmaEngineId::kTableRead;
  request.purpose = DmaPurpose::kCommand;
  request.address = address;
  request.bytes = bytes;
  request.data = data;
  request.done = done;
  w_.pcie.submit(std::move(request));
}

void CommandUnit::entry_read() {
  entry_ = abi::CommandEntry::read(entry_bytes_.data());
  if (!entry_.hardware_owned) {
    end_command();
    return;
  }
  const std::uint32_t bytes = mailbox_bytes(entry_.opcode);
  if (bytes == 0)
    mailbox_read();
  else
    dma(false, entry_.mailbox, mailbox_.data(), bytes, call<&CommandUnit::mailbox_read>(this));
}

void CommandUnit::mailbox_read() {
  w_.scheduler.at(w_.scheduler.now() + config_.latency, call<&CommandUnit::execute>(this));
}

/// Runs again if an entry of a host-resident table has to be fetched first.
void CommandUnit::execute() {
  const auto opcode = entry_.opcode;
  const bool needs_qp =
      opcode == abi::CommandOpcode::kModifyQp || opcode == abi::CommandOpcode::kQueryQp;
  if (initialised_ && needs_qp && w_.contexts.in_range(entry_.object) &&
      w_.contexts.lookup(entry_.object, call<&CommandUnit::execute>(this)) == nullptr)
    return;
  ++commands_;
  const abi::CommandStatus status = run();
  if (status != abi::CommandStatus::kOk) ++failed_;
  if (status != abi::CommandStatus::kOk || opcode != abi::CommandOpcode::kDisableKey) {
    finish(status);
    return;
  }
  judged_ = w_.responder.judged();
  made_ = w_.requester.made();
  scattered_ = w_.completer.scattered();
  responses_ = w_.read_responder.made();
  quiesce_since_ = w_.scheduler.now();
  quiesce();
}

/// Firmware looks again and again until both sides are past what they had allowed.
void CommandUnit::quiesce() {
  if (!w_.responder.has_passed(judged_) || !w_.requester.has_passed(made_) ||
      !w_.completer.has_passed(scattered_) || !w_.read_responder.has_passed(responses_)) {
    w_.scheduler.at(w_.scheduler.now() + kQuiescePoll, call<&CommandUnit::quiesce>(this));
    return;
  }
  quiescing_ += w_.scheduler.now() - quiesce_since_;
  finish(abi::CommandStatus::kOk);
}

abi::CommandStatus CommandUnit::run() {
  using abi::CommandOpcode;
  using abi::CommandStatus;
  const std::uint32_t object = entry_.object;
  if (entry_.opcode == CommandOpcode::kInitHca) {
    const auto tables = abi::HcaTables::read(mailbox_.data());
    if (std::max({tables.log_qps, tables.log_cqs, tables.log_keys}) > kMaxLogObjects)
      return CommandStatus::kBadObject;
    w_.contexts.set_table(tables.qp_contexts, 1u << tables.log_qps);
    w_.cq_contexts.set_table(tables.cq_contexts, 1u << tables.log_cqs);
    w_.keys.set_table(tables.key_entries, 1u << tables.log_keys);
    initialised_ = true;
    return CommandStatus::kOk;
  }
  if (!initialised_) return CommandStatus::kNotInitialised;
  switch (entry_.opcode) {
    case CommandOpcode::kCloseHca:
      initialised_ = false;
      return CommandStatus::kOk;
    case CommandOpcode::kCreateCq:
    case CommandOpcode::kDestroyCq:
      if (!w_.cq_contexts.in_range(object)) return CommandStatus::kBadObject;
      w_.cq_contexts.invalidate(object);
      return CommandStatus::kOk;
    case CommandOpcode::kEnableKey:
    case CommandOpcode::kDisableKey:
      if (!w_.keys.in_range(object)) return CommandStatus::kBadObject;
      w_.keys.invalidate(object);
      w_.translations.invalidate(object);
      return CommandStatus::kOk;
    case CommandOpcode::kModifyQp:
    case CommandOpcode::kQueryQp: {
      // Number 0 belongs to subnet management.
      if (object == 0 || !w_.contexts.in_range(object)) return CommandStatus::kBadObject;
      abi::QpContext* present = w_.contexts.peek(object);
      return entry_.opcode == CommandOpcode::kModifyQp ? modify_qp(present) : query_qp(*present);
    }
    case CommandOpcode::kInitHca:
    case CommandOpcode::kCreateEq:
    case CommandOpcode::kDestroyEq:
    case CommandOpcode::kCreateSrq:
    case CommandOpcode::kDestroySrq:
    case CommandOpcode::kArmSrq:
    case CommandOpcode::kModifyCq:
      break;
  }
  return CommandStatus::kBadOpcode;
}

abi::CommandStatus CommandUnit::modify_qp(abi::QpContext* present) {
  const abi::QpContext wanted = abi::QpContext::read(mailbox_.data());
  const Qpn qpn(entry_.object);
  NicQueuePair& qp = w_.qps.at(qpn);
  if (!may_modify(present->state, wanted.state)) return abi::CommandStatus::kBadState;
  if (wanted.state != QpState::kReset && wanted.state != QpState::kErr && !usable(wanted))
    return abi::CommandStatus::kBadObject;
  switch (wanted.state) {
    case QpState::kErr:
      w_.completer.enter_error(qp, *present, CompletionStatus::kFlushed);
      break;
    case QpState::kReset:
      *present = abi::QpContext{};
      w_.responder.forget(qp);
      qp.reset(0);
      break;
    case QpState::kInit:
      *present = wanted;
      w_.responder.forget(qp);
      qp.reset(wanted.send_consumer);
      break;
    default: {
      // What the NIC counts is the NIC's: the driver gives the start values on the way to the state
      // in which they first matter (expected PSN: RTR, send PSN: RTS).
      const abi::QpContext kept = *present;
      *present = wanted;
      present->send_consumer = kept.send_consumer;
      present->send_producer = kept.send_producer;
      present->work_requests = kept.work_requests;
      present->receive_consumer = kept.receive_consumer;
      if (kept.state != QpState::kInit) {
        present->expected_psn = kept.expected_psn;
        present->msn = kept.msn;
      }
      if (kept.state == QpState::kRts || kept.state == QpState::kSqd)
        present->next_send_psn = kept.next_send_psn;
    }
  }
  w_.contexts.mark_dirty(qpn.value());
  w_.wqe_fetch.restart(qpn);
  return abi::CommandStatus::kOk;
}

abi::CommandStatus CommandUnit::query_qp(const abi::QpContext& present) {
  mailbox_.fill(0);
  present.write(mailbox_.data());
  dma(true, entry_.mailbox, mailbox_.data(), abi::QpContext::kBytes, {});
  return abi::CommandStatus::kOk;
}

void CommandUnit::finish(abi::CommandStatus status) {
  std::uint8_t result[2] = {static_cast<std::uint8_t>(status), 0};
  dma(true, PhysicalAddress(entry_address_.value() + abi::CommandEntry::kStatusOffset), result, 2,
      call<&CommandUnit::end_command>(this));
}

void CommandUnit::end_command() {
  active_ = false;
  busy_ += w_.scheduler.now() - busy_since_;
  if (!rung_again_) return;
  rung_again_ = false;
  ring(rung_address_);
}

void CommandUnit::report(const MetricScope& scope) const {
  scope.count("commands", commands_, "commands executed");
  scope.count("failed", failed_, "of these, refused with a status");
  scope.time("busy", busy_, "time with a command under way");
  scope.time("stalled.quiesce", quiescing_, "time in which the end of a key's use was waited for");
  scope.count("occupancy.max", most_, "most commands under way or rung for");
}

}  // namespace rnicsim

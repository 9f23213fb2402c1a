// SPDX-License-Identifier: MIT
#include "nic/command_unit.h"

#include <algorithm>

#include "nic/ethernet/ethernet_unit.h"
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
    case abi::CommandOpcode::kCreateEq:
      return abi::EqContext::kBytes;
    case abi::CommandOpcode::kModifyCq:
      return abi::CqContext::kBytes;
    case abi::CommandOpcode::kCreateEthernetQueue:
      return abi::EthernetQueueContext::kBytes;
    case abi::CommandOpcode::kSetFlowRule:
      return abi::EthernetFlowRule::kBytes;
    default:
      return 0;
  }
}

/// Whether the NIC can work with what a context says.
bool usable(const abi::QpContext& context) {
  return context.mtu_code >= 1 && context.mtu_code <= 5 && context.log_send_blocks <= 15 &&
         context.log_receive_entries <= ReceiveQueues::kMaxLogEntries &&
         context.log_receive_segments <= ReceiveQueues::kMaxLogSegments;
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
  if (initialised_ && !has_context()) return;
  ++commands_;
  const abi::CommandStatus status = run();
  if (status != abi::CommandStatus::kOk) ++failed_;
  if (status == abi::CommandStatus::kOk && opcode == abi::CommandOpcode::kArmSrq) {
    w_.receive_queues.arm_srq(entry_.object, call<&CommandUnit::finish_ok>(this));
    return;
  }
  if (status == abi::CommandStatus::kOk && opcode == abi::CommandOpcode::kDestroyEthernetQueue)
    return;  // finishes when nothing of the queue is under way
  if (status == abi::CommandStatus::kOk &&
      (opcode == abi::CommandOpcode::kInitHca || opcode == abi::CommandOpcode::kCloseHca)) {
    w_.ethernet.reset(call<&CommandUnit::finish_ok>(this));
    return;
  }
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
  finish_ok();
}

/// False: the context that the command changes or tells has to be fetched.
bool CommandUnit::has_context() {
  const Callback again = call<&CommandUnit::execute>(this);
  const std::uint32_t object = entry_.object;
  switch (entry_.opcode) {
    case abi::CommandOpcode::kModifyQp:
    case abi::CommandOpcode::kQueryQp:
      return !w_.contexts.in_range(object) || w_.contexts.lookup(object, again) != nullptr;
    case abi::CommandOpcode::kModifyCq:
      return !w_.cq_contexts.in_range(object) || w_.cq_contexts.lookup(object, again) != nullptr;
    default:
      return true;
  }
}

abi::CommandStatus CommandUnit::run() {
  using abi::CommandOpcode;
  using abi::CommandStatus;
  const std::uint32_t object = entry_.object;
  if (entry_.opcode == CommandOpcode::kInitHca) return init_hca();
  if (!initialised_) return CommandStatus::kNotInitialised;
  switch (entry_.opcode) {
    case CommandOpcode::kCloseHca:
      initialised_ = false;
      return CommandStatus::kOk;
    case CommandOpcode::kCreateCq:
    case CommandOpcode::kDestroyCq:
    case CommandOpcode::kModifyCq:
      return change_cq();
    case CommandOpcode::kCreateEq:
    case CommandOpcode::kDestroyEq:
      return change_eq();
    case CommandOpcode::kCreateEthernetQueue:
    case CommandOpcode::kDestroyEthernetQueue:
    case CommandOpcode::kSetFlowRule:
    case CommandOpcode::kClearFlowRule:
      return change_ethernet();
    case CommandOpcode::kCreateSrq:
    case CommandOpcode::kDestroySrq:
    case CommandOpcode::kArmSrq:
      if (!w_.receive_queues.knows_srq(object)) return CommandStatus::kBadObject;
      if (entry_.opcode != CommandOpcode::kArmSrq) w_.receive_queues.forget_srq(object);
      return CommandStatus::kOk;
    case CommandOpcode::kEnableKey:
    case CommandOpcode::kDisableKey:
      return change_key();
    case CommandOpcode::kModifyQp:
    case CommandOpcode::kQueryQp: {
      // Number 0 belongs to subnet management.
      if (object == 0 || !w_.contexts.in_range(object)) return CommandStatus::kBadObject;
      abi::QpContext* present = w_.contexts.peek(object);
      return entry_.opcode == CommandOpcode::kModifyQp ? modify_qp(present) : query_qp(*present);
    }
    case CommandOpcode::kInitHca:
      break;
  }
  return CommandStatus::kBadOpcode;
}

abi::CommandStatus CommandUnit::init_hca() {
  const auto tables = abi::HcaTables::read(mailbox_.data());
  if (std::max({tables.log_qps, tables.log_cqs, tables.log_keys, tables.log_srqs}) > kMaxLogObjects)
    return abi::CommandStatus::kBadObject;
  w_.contexts.set_table(tables.qp_contexts, 1u << tables.log_qps);
  w_.cq_contexts.set_table(tables.cq_contexts, 1u << tables.log_cqs);
  w_.receive_queues.set_table(tables.srq_contexts, 1u << tables.log_srqs);
  w_.keys.set_table(tables.key_entries, 1u << tables.log_keys);
  w_.key_operations.reset();
  w_.event_queue.reset();
  w_.page_faults.reset();
  w_.completion_events.reset();
  w_.cqe_writer.reset();
  initialised_ = true;
  return abi::CommandStatus::kOk;
}

/// The driver has written the context of a queue that is made or destroyed; of one that is modified
/// only the moderation is taken.
abi::CommandStatus CommandUnit::change_cq() {
  const Cqn cqn(entry_.object);
  if (!w_.cq_contexts.in_range(cqn.value())) return abi::CommandStatus::kBadObject;
  if (entry_.opcode != abi::CommandOpcode::kModifyCq) {
    w_.cq_contexts.invalidate(cqn.value());
    w_.completion_events.forget(cqn);
    w_.cqe_writer.forget(cqn);
    return abi::CommandStatus::kOk;
  }
  abi::CqContext& present = *w_.cq_contexts.peek(cqn.value());
  if (!present.valid) return abi::CommandStatus::kBadObject;
  const auto wanted = abi::CqContext::read(mailbox_.data());
  present.moderation_count = wanted.moderation_count;
  present.moderation_period_us = wanted.moderation_period_us;
  w_.cq_contexts.mark_dirty(cqn.value());
  w_.completion_events.changed(cqn);
  return abi::CommandStatus::kOk;
}

/// A region that still has windows stays.
abi::CommandStatus CommandUnit::change_key() {
  const std::uint32_t index = entry_.object;
  if (!w_.keys.in_range(index)) return abi::CommandStatus::kBadObject;
  const bool goes = entry_.opcode == abi::CommandOpcode::kDisableKey;
  if (goes && w_.key_operations.has_windows(index)) return abi::CommandStatus::kBusy;
  w_.keys.invalidate(index);
  w_.translations.invalidate(index);
  if (goes) {
    w_.key_operations.forget(index);
    w_.page_faults.forget(index);
  } else if (entry_.modifier != 0) {
    w_.page_faults.expect();
  }
  return abi::CommandStatus::kOk;
}

abi::CommandStatus CommandUnit::change_eq() {
  const bool done =
      entry_.opcode == abi::CommandOpcode::kCreateEq
          ? w_.event_queue.create(entry_.object, abi::EqContext::read(mailbox_.data()))
          : w_.event_queue.destroy(entry_.object);
  return done ? abi::CommandStatus::kOk : abi::CommandStatus::kBadObject;
}

abi::CommandStatus CommandUnit::change_ethernet() {
  using abi::CommandOpcode;
  EthernetUnit& ethernet = w_.ethernet;
  const std::uint32_t object = entry_.object;
  bool done = false;
  if (entry_.opcode == CommandOpcode::kCreateEthernetQueue)
    done = ethernet.create(object, abi::EthernetQueueContext::read(mailbox_.data()));
  else if (entry_.opcode == CommandOpcode::kDestroyEthernetQueue)
    done = ethernet.destroy(object, call<&CommandUnit::finish_ok>(this));
  else if (entry_.opcode == CommandOpcode::kSetFlowRule)
    done = ethernet.set_rule(object, abi::EthernetFlowRule::read(mailbox_.data()));
  else
    done = ethernet.clear_rule(object);
  return done ? abi::CommandStatus::kOk : abi::CommandStatus::kBadObject;
}

/// A send queue is left to drain before it is modified or goes on (IBTA 10.3.1.5).
abi::CommandStatus CommandUnit::modify_qp(abi::QpContext* present) {
  const abi::QpContext wanted = abi::QpContext::read(mailbox_.data());
  const Qpn qpn(entry_.object);
  NicQueuePair& qp = w_.qps.at(qpn);
  if (!may_modify(present->state, wanted.state)) return abi::CommandStatus::kBadState;
  if (wanted.state != QpState::kReset && wanted.state != QpState::kErr && !usable(wanted))
    return abi::CommandStatus::kBadObject;
  if (present->state == QpState::kSqd && sends(wanted.state) && !qp.is_drained())
    return abi::CommandStatus::kBadState;
  switch (wanted.state) {
    case QpState::kErr:
      // In error already, it has flushed the receives that were posted by then.
      if (present->state == QpState::kErr) w_.responder.flush_receives(qp);
      w_.completer.enter_error(qp, *present, CompletionStatus::kFlushed);
      break;
    case QpState::kReset:
      *present = abi::QpContext{};
      w_.responder.forget(qp);
      qp.reset(0);
      w_.receive_queues.reset(qp);
      break;
    case QpState::kInit:
      *present = wanted;
      w_.responder.forget(qp);
      qp.reset(wanted.send_consumer);
      w_.receive_queues.reset(qp);
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
      if (kept.state == QpState::kSqe) qp.restart_sending();
      qp.tells_drained = kept.state == QpState::kRts && wanted.state == QpState::kSqd &&
                         (wanted.flags & abi::QpContext::kNotifyDrained) != 0;
      if (kept.state != QpState::kInit) {
        present->expected_psn = kept.expected_psn;
        present->msn = kept.msn;
      }
      if (kept.state != QpState::kInit && kept.state != QpState::kRtr)
        present->next_send_psn = kept.next_send_psn;
    }
  }
  qp.send_cqn = present->send_cqn;
  qp.receive_cqn = present->receive_cqn;
  w_.completer.check_drained(qp);
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

void CommandUnit::finish_ok() { finish(abi::CommandStatus::kOk); }

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

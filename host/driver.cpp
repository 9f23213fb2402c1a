// SPDX-License-Identifier: MIT
#include "host/driver.h"

#include <array>

#include "model/byte_order.h"

namespace rnicsim {

namespace {

constexpr CpuPlane kPlane = CpuPlane::kControl;
constexpr std::uint8_t kMaxLogBlocks = 15;
constexpr std::uint8_t kMaxLogCqSize = 22;
constexpr std::uint8_t kMaxReads = 16;     // ConnectX: max_qp_rd_atom of its device attributes
constexpr Bytes kDoorbellRecordBytes(64);  // a cache line of its own

std::optional<std::uint8_t> mtu_code_of(std::uint32_t bytes) {
  for (std::uint8_t code = 1; code <= 5; ++code)
    if (128u << code == bytes) return code;
  return std::nullopt;
}

/// Unreliable transports have no acknowledgements, datagrams no connection, and only they have a
/// qkey (IBTA 11.2.5.2). The MTU of a datagram queue pair stands for that of its port.
bool transport_has(Transport transport, const QpAttributes& a) {
  const bool connection = a.remote_qpn || a.remote_ip || a.remote_mac || a.dscp ||
                          a.udp_source_port || a.remote_lid || a.service_level || a.receive_psn ||
                          a.access;
  const bool reliability = a.ack_timeout || a.retry_count || a.rnr_retry || a.min_rnr_timer ||
                           a.max_rd_atomic || a.max_dest_rd_atomic;
  switch (transport) {
    case Transport::kRc:
      return !a.qkey;
    case Transport::kUc:
      return !a.qkey && !reliability;
    case Transport::kUd:
      return !connection && !reliability;
  }
  return false;
}

/// False if an attribute has no meaning.
bool merge(const QpAttributes& from, abi::QpContext& into) {
  if (from.path_mtu) {
    const auto code = mtu_code_of(*from.path_mtu);
    if (!code) return false;
    into.mtu_code = *code;
  }
  into.state = from.state.value_or(into.state);
  into.access = from.access.value_or(into.access);
  into.remote_qpn = from.remote_qpn.value_or(into.remote_qpn);
  into.remote_ip = from.remote_ip.value_or(into.remote_ip);
  into.remote_mac = from.remote_mac.value_or(into.remote_mac);
  into.udp_source_port = from.udp_source_port.value_or(into.udp_source_port);
  into.remote_lid = from.remote_lid.value_or(into.remote_lid);
  into.expected_psn = from.receive_psn.value_or(into.expected_psn);
  into.next_send_psn = from.send_psn.value_or(into.next_send_psn);
  into.ack_timeout = from.ack_timeout.value_or(into.ack_timeout);
  into.retry_count = from.retry_count.value_or(into.retry_count);
  into.rnr_retry = from.rnr_retry.value_or(into.rnr_retry);
  into.dscp = from.dscp.value_or(into.dscp);
  into.service_level = from.service_level.value_or(into.service_level);
  into.min_rnr_timer = from.min_rnr_timer.value_or(into.min_rnr_timer);
  into.max_rd_atomic = from.max_rd_atomic.value_or(into.max_rd_atomic);
  into.max_dest_rd_atomic = from.max_dest_rd_atomic.value_or(into.max_dest_rd_atomic);
  into.qkey = from.qkey.value_or(into.qkey);
  into.flags &= static_cast<std::uint8_t>(~abi::QpContext::kNotifyDrained);
  if (from.notify_drained) into.flags |= abi::QpContext::kNotifyDrained;
  return into.retry_count <= 7 && into.rnr_retry <= 7 && into.ack_timeout <= 31 &&
         into.dscp <= 63 && into.service_level <= 15 && into.min_rnr_timer <= 31 &&
         into.max_rd_atomic <= kMaxReads && into.max_dest_rd_atomic <= kMaxReads;
}

Bytes send_ring_bytes(const abi::QpContext& context) {
  return Bytes(std::uint64_t{abi::kWqeBlockBytes} << context.log_send_blocks);
}

bool has_receive_queue(const abi::QpContext& context) {
  return (context.flags & abi::QpContext::kHasReceiveQueue) != 0;
}

ReceiveMapping receive_ring_of(const abi::QpContext& context) {
  return {context.receive_ring, context.doorbell_record, context.log_receive_entries,
          context.log_receive_segments};
}

}  // namespace

Driver::Driver(const DriverConfig& config, std::uint16_t nic, Memory& memory,
               FrameAllocator& frames, MmioPort& mmio, DmaGuard& guard,
               InterruptController& interrupts)
    : config_(config),
      nic_(nic),
      memory_(memory),
      frames_(frames),
      guard_(guard),
      commands_(config_, memory, mmio),
      registration_(config_, memory, frames, commands_, guard, probe_),
      paging_(config_, registration_, mmio, probe_),
      shared_receives_(config_, memory, frames, commands_),
      events_(config_, memory, frames, mmio, commands_, interrupts, paging_) {}

Errno Driver::allocate_tables() {
  tables_.log_qps = config_.log_qps;
  tables_.log_cqs = config_.log_cqs;
  tables_.log_keys = config_.log_keys;
  tables_.log_srqs = config_.log_srqs;
  const auto qps =
      frames_.allocate_kernel(Bytes(std::uint64_t{abi::QpContext::kBytes} << config_.log_qps));
  const auto cqs =
      frames_.allocate_kernel(Bytes(std::uint64_t{abi::CqContext::kBytes} << config_.log_cqs));
  const auto keys =
      frames_.allocate_kernel(Bytes(std::uint64_t{abi::KeyEntry::kBytes} << config_.log_keys));
  const auto srqs =
      frames_.allocate_kernel(Bytes(std::uint64_t{abi::SrqContext::kBytes} << config_.log_srqs));
  const auto mailbox = frames_.allocate_kernel(Bytes(abi::QpContext::kBytes));
  if (!qps || !cqs || !keys || !srqs || !mailbox) return Errno::kNoMemory;
  tables_.qp_contexts = *qps;
  tables_.cq_contexts = *cqs;
  tables_.key_entries = *keys;
  tables_.srq_contexts = *srqs;
  mailbox_ = *mailbox;
  return Errno::kOk;
}

Errno Driver::bring_up(CpuTask& task) {
  commands_.lock(task);
  Errno result = Errno::kOk;
  if (!up_) {
    const auto command_entry = frames_.allocate_kernel(Bytes(abi::CommandEntry::kBytes));
    result = command_entry ? allocate_tables() : Errno::kNoMemory;
    if (result == Errno::kOk) {
      task.run(kPlane, CpuCategory::kSyscall, config_.create_object);
      std::uint8_t image[abi::HcaTables::kBytes];
      tables_.write(image);
      memory_.store(mailbox_, image, sizeof image);
      registration_.open(tables_.key_entries);
      shared_receives_.open(tables_.srq_contexts);
      commands_.open(task, *command_entry);
      up_ = commands_.execute(task, abi::CommandOpcode::kInitHca, 0, mailbox_) ==
            abi::CommandStatus::kOk;
      if (!up_) result = Errno::kIo;
    }
  }
  commands_.unlock(task);
  return result;
}

PdNumber Driver::alloc_pd(CpuTask& task) {
  task.call_kernel(kPlane, config_.syscall);
  return PdNumber(next_pd_++);
}

Result<CqRings> Driver::create_cq(CpuTask& task, std::uint8_t log_size, bool events) {
  task.call_kernel(kPlane, config_.syscall + config_.create_object);
  if (log_size > kMaxLogCqSize) return Errno::kInvalid;
  const Bytes ring_bytes(std::uint64_t{abi::Cqe::kBytes} << log_size);
  const auto ring = frames_.allocate_kernel(ring_bytes);
  const auto record = frames_.allocate_kernel(kDoorbellRecordBytes);
  const auto number = ring && record ? cqs_.take(config_.log_cqs) : std::nullopt;
  if (!number) {
    if (ring) frames_.release_kernel(*ring, ring_bytes);
    if (record) frames_.release_kernel(*record, kDoorbellRecordBytes);
    return Errno::kNoMemory;
  }
  const CqRings rings{Cqn(*number), log_size, *ring, *record};
  std::uint8_t invalid[abi::Cqe::kBytes];
  abi::Cqe{}.write(invalid);
  for (std::uint64_t at = 0; at < ring_bytes.count(); at += sizeof invalid)
    memory_.store(PhysicalAddress(ring->value() + at), invalid, sizeof invalid);
  const std::uint8_t zero[4] = {};
  memory_.store(*record, zero, sizeof zero);

  abi::CqContext context;
  context.valid = true;
  context.log_size = log_size;
  context.ring = *ring;
  context.doorbell_record = *record;
  if (events) context.eqn = DriverEventQueue::kEqn;
  write_cq_context(rings.cqn, context);
  cqs_.put(*number, rings);
  if (commands_.execute(task, abi::CommandOpcode::kCreateCq, *number) == abi::CommandStatus::kOk)
    return rings;
  frames_.release_kernel(*ring, ring_bytes);
  frames_.release_kernel(*record, kDoorbellRecordBytes);
  cqs_.give(*number);
  return Errno::kIo;
}

Errno Driver::modify_cq(CpuTask& task, Cqn cqn, std::uint16_t count, std::uint16_t period_us) {
  task.call_kernel(kPlane, config_.syscall);
  if (cqs_.find(cqn.value()) == nullptr) return Errno::kInvalid;
  abi::CqContext wanted;
  wanted.moderation_count = count;
  wanted.moderation_period_us = period_us;
  std::uint8_t image[abi::CqContext::kBytes];
  wanted.write(image);
  commands_.lock(task);
  memory_.store(mailbox_, image, sizeof image);
  const auto status = commands_.execute(task, abi::CommandOpcode::kModifyCq, cqn.value(), mailbox_);
  commands_.unlock(task);
  return status == abi::CommandStatus::kOk ? Errno::kOk : Errno::kIo;
}

Errno Driver::create_ethernet_queue(CpuTask& task, std::uint32_t number,
                                    const abi::EthernetQueueContext& context) {
  task.run(kPlane, CpuCategory::kSyscall, config_.create_object);
  std::array<std::uint8_t, abi::EthernetQueueContext::kBytes> image{};
  context.write(image.data());
  return execute(task, abi::CommandOpcode::kCreateEthernetQueue, number, image.data(),
                 image.size());
}

Errno Driver::set_flow_rule(CpuTask& task, std::uint32_t number,
                            const abi::EthernetFlowRule& rule) {
  std::array<std::uint8_t, abi::EthernetFlowRule::kBytes> image{};
  rule.write(image.data());
  return execute(task, abi::CommandOpcode::kSetFlowRule, number, image.data(), image.size());
}

Errno Driver::clear_flow_rule(CpuTask& task, std::uint32_t number) {
  commands_.lock(task);
  const auto status = commands_.execute(task, abi::CommandOpcode::kClearFlowRule, number);
  commands_.unlock(task);
  return status == abi::CommandStatus::kOk ? Errno::kOk : Errno::kIo;
}

Errno Driver::execute(CpuTask& task, abi::CommandOpcode opcode, std::uint32_t object,
                      const std::uint8_t* mailbox, std::size_t bytes) {
  commands_.lock(task);
  memory_.store(mailbox_, mailbox, bytes);
  const auto status = commands_.execute(task, opcode, object, mailbox_);
  commands_.unlock(task);
  return status == abi::CommandStatus::kOk ? Errno::kOk : Errno::kIo;
}

void Driver::write_cq_context(Cqn cqn, const abi::CqContext& context) {
  std::uint8_t image[abi::CqContext::kBytes];
  context.write(image);
  const std::uint64_t offset = std::uint64_t{cqn.value()} * sizeof image;
  memory_.store(PhysicalAddress(tables_.cq_contexts.value() + offset), image, sizeof image);
}

Errno Driver::destroy_cq(CpuTask& task, Cqn cqn) {
  task.call_kernel(kPlane, config_.syscall + config_.create_object);
  const CqRings* found = cqs_.find(cqn.value());
  if (found == nullptr) return Errno::kInvalid;
  for (const auto& [qpn, context] : qps_.all())
    if (context.send_cqn == cqn || context.receive_cqn == cqn) return Errno::kBusy;
  // Invalid in RAM before the NIC forgets it, as for a key.
  write_cq_context(cqn, {});
  if (commands_.execute(task, abi::CommandOpcode::kDestroyCq, cqn.value()) !=
      abi::CommandStatus::kOk)
    return Errno::kIo;
  const CqRings rings = *found;
  frames_.release_kernel(rings.ring, Bytes(std::uint64_t{abi::Cqe::kBytes} << rings.log_size));
  frames_.release_kernel(rings.doorbell_record, kDoorbellRecordBytes);
  cqs_.give(cqn.value());
  return Errno::kOk;
}

Result<QpRings> Driver::create_qp(CpuTask& task, const QpInit& init) {
  task.call_kernel(kPlane, config_.syscall + config_.create_object);
  if (init.log_send_blocks > kMaxLogBlocks || cqs_.find(init.send_cq.value()) == nullptr ||
      cqs_.find(init.receive_cq.value()) == nullptr ||
      init.log_receive_entries > UserReceiveQueue::kMaxLogEntries ||
      init.log_receive_segments > UserReceiveQueue::kMaxLogSegments ||
      (init.srqn != 0 && (init.has_receive_queue || !shared_receives_.exists(init.srqn))))
    return Errno::kInvalid;
  auto context = make_qp_context(init);
  const auto number = context ? qps_.take(config_.log_qps) : std::nullopt;
  if (!number) {
    if (context) free_rings(*context);
    return Errno::kNoMemory;
  }
  qps_.put(*number, *context);
  QpRings rings{Qpn(*number), init.log_send_blocks, context->send_ring, context->doorbell_record,
                std::nullopt};
  if (init.srqn != 0) shared_receives_.hold(init.srqn);
  if (init.has_receive_queue) rings.receive = receive_ring_of(*context);
  return rings;
}

std::optional<abi::QpContext> Driver::make_qp_context(const QpInit& init) {
  abi::QpContext context;
  context.transport = init.transport;
  context.pd = init.pd;
  context.send_cqn = init.send_cq;
  context.receive_cqn = init.receive_cq;
  context.log_send_blocks = init.log_send_blocks;
  if (init.has_receive_queue) {
    context.flags |= abi::QpContext::kHasReceiveQueue;
    context.log_receive_entries = init.log_receive_entries;
    context.log_receive_segments = init.log_receive_segments;
  }
  context.srqn = init.srqn;
  if (init.inline_receive) context.flags |= abi::QpContext::kInlineReceive;
  const auto send = frames_.allocate_kernel(send_ring_bytes(context));
  const auto record = frames_.allocate_kernel(kDoorbellRecordBytes);
  std::optional<PhysicalAddress> receive;
  if (init.has_receive_queue) receive = frames_.allocate_kernel(receive_ring_of(context).bytes());
  context.send_ring = send.value_or(PhysicalAddress());
  context.doorbell_record = record.value_or(PhysicalAddress());
  context.receive_ring = receive.value_or(PhysicalAddress());
  if (send && record && receive.has_value() == init.has_receive_queue) {
    const std::uint8_t zero[abi::DoorbellRecord::kBytes] = {};
    memory_.store(*record, zero, sizeof zero);
    return context;
  }
  if (send) frames_.release_kernel(*send, send_ring_bytes(context));
  if (record) frames_.release_kernel(*record, kDoorbellRecordBytes);
  if (receive) frames_.release_kernel(*receive, receive_ring_of(context).bytes());
  return std::nullopt;
}

void Driver::free_rings(const abi::QpContext& context) {
  frames_.release_kernel(context.send_ring, send_ring_bytes(context));
  frames_.release_kernel(context.doorbell_record, kDoorbellRecordBytes);
  if (has_receive_queue(context))
    frames_.release_kernel(context.receive_ring, receive_ring_of(context).bytes());
}

Errno Driver::modify(CpuTask& task, std::uint32_t qpn, abi::QpContext wanted) {
  if (wanted.state == QpState::kReset) {
    wanted.send_producer = 0;
    wanted.send_consumer = 0;
    wanted.work_requests = 0;
    wanted.msn = 0;
    wanted.receive_consumer = 0;
    const std::uint8_t zero[abi::DoorbellRecord::kBytes] = {};
    memory_.store(wanted.doorbell_record, zero, sizeof zero);
  }
  std::uint8_t image[abi::QpContext::kBytes];
  wanted.write(image);
  commands_.lock(task);
  memory_.store(mailbox_, image, sizeof image);
  const auto status = commands_.execute(task, abi::CommandOpcode::kModifyQp, qpn, mailbox_);
  commands_.unlock(task);
  if (status == abi::CommandStatus::kBadState) return Errno::kInvalid;
  if (status != abi::CommandStatus::kOk) return Errno::kIo;
  *qps_.find(qpn) = wanted;
  return Errno::kOk;
}

Errno Driver::modify_qp(CpuTask& task, Qpn qpn, const QpAttributes& attributes) {
  task.call_kernel(kPlane, config_.syscall);
  abi::QpContext* known = qps_.find(qpn.value());
  if (known == nullptr) return Errno::kInvalid;
  abi::QpContext wanted = *known;
  if (!transport_has(wanted.transport, attributes) || !merge(attributes, wanted) ||
      !may_modify(known->state, wanted.state))
    return Errno::kInvalid;
  return modify(task, qpn.value(), wanted);
}

Result<abi::QpContext> Driver::query_qp(CpuTask& task, Qpn qpn) {
  task.call_kernel(kPlane, config_.syscall);
  abi::QpContext* known = qps_.find(qpn.value());
  if (known == nullptr) return Errno::kInvalid;
  if (known->state == QpState::kReset) return *known;  // the NIC has not seen it yet
  commands_.lock(task);
  const auto status = commands_.execute(task, abi::CommandOpcode::kQueryQp, qpn.value(), mailbox_);
  std::uint8_t image[abi::QpContext::kBytes];
  memory_.load(mailbox_, image, sizeof image);
  commands_.unlock(task);
  if (status != abi::CommandStatus::kOk) return Errno::kIo;
  const abi::QpContext context = abi::QpContext::read(image);
  known->state = context.state;  // the NIC may have moved it to ERR by itself
  return context;
}

Errno Driver::destroy_qp(CpuTask& task, Qpn qpn) {
  task.call_kernel(kPlane, config_.syscall + config_.create_object);
  abi::QpContext* known = qps_.find(qpn.value());
  if (known == nullptr) return Errno::kInvalid;
  abi::QpContext context = *known;
  if (context.state != QpState::kReset) {
    context.state = QpState::kReset;
    const Errno result = modify(task, qpn.value(), context);
    if (result != Errno::kOk) return result;
  }
  if (context.srqn != 0) shared_receives_.release(context.srqn);
  free_rings(context);
  qps_.give(qpn.value());
  return Errno::kOk;
}

void Driver::report(const MetricScope& scope) const {
  scope.count("commands", commands_.executed(), "commands that the NIC executed");
  scope.count("events", events_.events(), "entries of the event queue handled");
  scope.count("regions", registration_.regions(), "memory regions registered at the end");
  paging_.report(scope);
  scope.child("translation_table")
      .bytes("bytes", registration_.table_bytes(), "translation tables in host RAM at the end");
}

}  // namespace rnicsim

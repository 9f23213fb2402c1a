// SPDX-License-Identifier: MIT
// The least software that brings a NIC to work, for tests: lays tables, rings and regions out in
// flat memory, writes the structures of model/nic_abi there and makes the commands and doorbells
// that announce them. It knows no time: `mmio` is how it reaches the BAR and `run` lets the NIC
// work until it is idle, both given by whoever owns a simulation.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <vector>

#include "model/byte_order.h"
#include "model/nic_abi.h"
#include "model/units.h"

namespace rnicsim::test {

inline constexpr std::uint8_t kAllRights =
    AccessFlags::kLocalWrite | AccessFlags::kRemoteWrite | AccessFlags::kRemoteRead;

/// A registered region: its pages stand in memory in reverse order, with a gap between them.
struct Region {
  std::uint64_t start = 0;
  std::uint64_t length = 0;
  unsigned log_page = 12;
  MemoryKey key;
  std::vector<std::uint64_t> pages;
  std::uint64_t physical(std::uint64_t virtual_address) const {
    const std::uint64_t page = (virtual_address >> log_page) - (start >> log_page);
    return pages.at(page) + (virtual_address & ((std::uint64_t{1} << log_page) - 1));
  }
};

struct RegionOptions {
  std::uint64_t start = 0x10000;
  std::uint64_t length = 0x8000;
  unsigned log_page = 12;
  std::uint8_t levels = 1;
  std::uint8_t variant = 0x5a;
  std::uint8_t access = kAllRights;
  PdNumber pd{1};
};

struct QpOptions {
  Qpn remote{1};
  Cqn cqn{1};
  std::uint8_t mtu_code = 5;
  Psn send_psn{100};
  Psn expected_psn{100};
  std::uint8_t access = kAllRights;
  std::uint8_t log_blocks = 6;
  PdNumber pd{1};
  QpState last_state = QpState::kRts;
  Transport transport = Transport::kRc;
  std::uint8_t ack_timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;
  std::uint8_t min_rnr_timer = 0;
  std::uint8_t max_rd_atomic = 0;
  std::uint8_t max_dest_rd_atomic = 0;
  std::uint32_t qkey = 0;
  bool has_receives = false;  ///< a receive queue of its own
  std::uint8_t log_receive_entries = 3;
  std::uint8_t log_receive_segments = 1;
  bool inline_receive = false;
  std::uint32_t srqn = 0;
  std::uint8_t dscp = 0;
};

class MiniDriver {
 public:
  using Mmio = std::function<void(std::uint64_t offset, const std::uint8_t* data, unsigned bytes)>;
  static constexpr std::uint8_t kLogObjects = 5;

  MiniDriver(std::uint8_t* memory, std::size_t size, Mmio mmio, std::function<void()> run)
      : memory_(memory), size_(size), mmio_(std::move(mmio)), run_(std::move(run)) {}

  std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment = 4096) {
    next_ = (next_ + alignment - 1) / alignment * alignment;
    const std::uint64_t address = next_;
    next_ += bytes;
    if (next_ > size_) throw std::logic_error("the fake memory is too small");
    return address;
  }
  std::uint8_t* at(std::uint64_t address) { return memory_ + address; }

  // ---- Commands ---------------------------------------------------------------------------------

  void write_command(abi::CommandOpcode opcode, std::uint32_t object) {
    abi::CommandEntry entry;
    entry.opcode = opcode;
    entry.object = object;
    entry.mailbox = PhysicalAddress(mailbox);
    entry.hardware_owned = true;
    entry.write(at(command_queue));
  }
  void ring_command() {
    std::uint8_t one[4] = {0, 0, 0, 1};
    mmio_(abi::kCommandDoorbell, one, 4);
  }
  abi::CommandStatus command(abi::CommandOpcode opcode, std::uint32_t object = 0) {
    write_command(opcode, object);
    ring_command();
    run_();
    const auto entry = abi::CommandEntry::read(at(command_queue));
    if (entry.hardware_owned) throw std::logic_error("the command was not executed");
    return entry.status;
  }
  void must(abi::CommandOpcode opcode, std::uint32_t object = 0) {
    if (command(opcode, object) != abi::CommandStatus::kOk)
      throw std::logic_error("a command failed");
  }

  void set_command_queue() {
    command_queue = allocate(abi::CommandEntry::kBytes, 64);
    mailbox = allocate(abi::QpContext::kBytes, 64);
    std::uint8_t address[8];
    store_be64(address, command_queue);
    mmio_(abi::kCommandQueueAddress, address, 8);
  }
  void init() {
    set_command_queue();
    tables.log_qps = tables.log_cqs = tables.log_keys = tables.log_srqs = kLogObjects;
    tables.qp_contexts = PhysicalAddress(allocate(abi::QpContext::kBytes << kLogObjects));
    tables.cq_contexts = PhysicalAddress(allocate(abi::CqContext::kBytes << kLogObjects));
    tables.key_entries = PhysicalAddress(allocate(abi::KeyEntry::kBytes << kLogObjects));
    tables.srq_contexts = PhysicalAddress(allocate(abi::SrqContext::kBytes << kLogObjects));
    tables.write(at(mailbox));
    must(abi::CommandOpcode::kInitHca);
  }

  // ---- Objects ----------------------------------------------------------------------------------

  /// `wanted`: events and moderation; the rest is made here.
  void add_cq(Cqn cqn, std::uint8_t log_size = 4, const abi::CqContext& wanted = {}) {
    abi::CqContext context = wanted;
    context.valid = true;
    context.doorbell_record = PhysicalAddress(allocate(4, 64));
    context.log_size = log_size;
    context.ring = PhysicalAddress(allocate(std::uint64_t{abi::Cqe::kBytes} << log_size));
    std::fill_n(at(context.ring.value()), abi::Cqe::kBytes << log_size, std::uint8_t{0xf1});
    context.write(at(tables.cq_contexts.value() + cqn.value() * abi::CqContext::kBytes));
    std::fill_n(at(context.doorbell_record.value()), 4, std::uint8_t{0});
    cqs_[cqn.value()] = context;
    consumers_[cqn.value()] = 0;
    must(abi::CommandOpcode::kCreateCq, cqn.value());
  }
  /// Events from the first entry on that poll() has not found.
  void arm_cq(Cqn cqn, bool solicited_only = false) {
    std::uint8_t value[8];
    store_be32(value, (solicited_only ? 1U : 0U) << 24 | (consumers_[cqn.value()] & 0xffffff));
    store_be32(value + 4, cqn.value());
    mmio_(abi::kUarOffset + abi::kCqArm, value, sizeof value);
  }
  abi::CommandStatus modify_cq(Cqn cqn, std::uint16_t count, std::uint16_t period_us) {
    abi::CqContext wanted;
    wanted.moderation_count = count;
    wanted.moderation_period_us = period_us;
    wanted.write(at(mailbox));
    return command(abi::CommandOpcode::kModifyCq, cqn.value());
  }
  const abi::CqContext& cq(Cqn cqn) const { return cqs_.at(cqn.value()); }

  /// Its interrupt messages go to a place in memory.
  void add_eq(std::uint32_t eqn, std::uint8_t log_size = 4) {
    Eq& eq = eqs_[eqn];
    eq.context.log_size = log_size;
    eq.context.ring = PhysicalAddress(allocate(std::uint64_t{abi::Eqe::kBytes} << log_size));
    eq.context.msix_address = PhysicalAddress(allocate(4, 64));
    eq.context.msix_data = 0x1000 + eqn;
    for (std::uint32_t i = 0; i < 1U << log_size; ++i)
      abi::Eqe{}.write(at(eq.context.ring.value() + std::uint64_t{i} * abi::Eqe::kBytes));
    eq.context.write(at(mailbox));
    must(abi::CommandOpcode::kCreateEq, eqn);
  }
  void arm_eq(std::uint32_t eqn) {
    std::uint8_t value[8];
    store_be32(value, eqn);
    store_be32(value + 4, eqs_[eqn].consumer);
    mmio_(abi::kEqArm, value, sizeof value);
  }
  /// The events that software would find next, in order; each is consumed.
  std::vector<abi::Eqe> events(std::uint32_t eqn) {
    std::vector<abi::Eqe> found;
    Eq& eq = eqs_.at(eqn);
    for (;;) {
      const std::uint32_t slot = eq.consumer & ((1U << eq.context.log_size) - 1);
      const auto eqe = abi::Eqe::read(at(eq.context.ring.value() + slot * abi::Eqe::kBytes));
      const bool sense = (eq.consumer >> eq.context.log_size & 1) != 0;
      if (eqe.type == abi::EventType::kInvalid || eqe.owner != sense) return found;
      found.push_back(eqe);
      ++eq.consumer;
    }
  }
  const abi::EqContext& eq(std::uint32_t eqn) const { return eqs_.at(eqn).context; }

  Region make_region(std::uint32_t index, const RegionOptions& options) {
    Region region;
    region.start = options.start;
    region.length = options.length;
    region.log_page = options.log_page;
    region.key = MemoryKey(index, options.variant);
    const std::uint64_t page = std::uint64_t{1} << options.log_page;
    const std::uint64_t first = options.start >> options.log_page;
    const std::uint64_t last = (options.start + options.length - 1) >> options.log_page;
    const std::uint64_t count = last - first + 1;
    const std::uint64_t base = allocate(2 * count * page, std::max<std::uint64_t>(4096, page));
    for (std::uint64_t i = 0; i < count; ++i)
      region.pages.push_back(base + 2 * (count - 1 - i) * page);
    abi::KeyEntry entry;
    entry.valid = true;
    entry.access = AccessFlags(options.access);
    entry.levels = options.levels;
    entry.log_page_size = static_cast<std::uint8_t>(options.log_page);
    entry.key = region.key;
    entry.pd = options.pd;
    entry.start = VirtualAddress(options.start);
    entry.base = entry.start;
    entry.length = options.length;
    entry.table = PhysicalAddress(write_table(region.pages, 0, options.levels));
    write_key(index, entry);
    return region;
  }
  Region add_region(std::uint32_t index, const RegionOptions& options = {}) {
    Region region = make_region(index, options);
    must(abi::CommandOpcode::kEnableKey, index);
    return region;
  }
  void write_key(std::uint32_t index, const abi::KeyEntry& entry) { entry.write(key_entry(index)); }
  std::uint8_t* key_entry(std::uint32_t index) {
    return at(tables.key_entries.value() + std::uint64_t{index} * abi::KeyEntry::kBytes);
  }

  /// `notify_drained`: to SQD, an event tells when the send queue has drained.
  abi::CommandStatus modify_qp(Qpn qpn, QpState state, bool notify_drained = false) {
    abi::QpContext& context = qps_.at(qpn.value()).context;
    context.state = state;
    context.flags &= static_cast<std::uint8_t>(~abi::QpContext::kNotifyDrained);
    if (notify_drained) context.flags |= abi::QpContext::kNotifyDrained;
    context.write(at(mailbox));
    return command(abi::CommandOpcode::kModifyQp, qpn.value());
  }
  void add_qp(Qpn qpn, const QpOptions& options = {}) {
    Qp& qp = qps_[qpn.value()];
    abi::QpContext& context = qp.context;
    context.access = AccessFlags(options.access);
    context.mtu_code = options.mtu_code;
    context.dscp = options.dscp;
    context.pd = options.pd;
    context.send_cqn = context.receive_cqn = options.cqn;
    context.log_send_blocks = options.log_blocks;
    context.send_ring =
        PhysicalAddress(allocate(std::uint64_t{abi::kWqeBlockBytes} << options.log_blocks));
    context.doorbell_record = PhysicalAddress(allocate(abi::DoorbellRecord::kBytes, 64));
    context.remote_qpn = options.remote;
    context.next_send_psn = options.send_psn;
    context.expected_psn = options.expected_psn;
    context.transport = options.transport;
    context.ack_timeout = options.ack_timeout;
    context.retry_count = options.retry_count;
    context.rnr_retry = options.rnr_retry;
    context.min_rnr_timer = options.min_rnr_timer;
    context.max_rd_atomic = options.max_rd_atomic;
    context.max_dest_rd_atomic = options.max_dest_rd_atomic;
    context.qkey = options.qkey;
    context.srqn = options.srqn;
    if (options.inline_receive) context.flags |= abi::QpContext::kInlineReceive;
    if (options.has_receives) {
      context.flags |= abi::QpContext::kHasReceiveQueue;
      qp.receives = make_ring(options.log_receive_entries, options.log_receive_segments);
      qp.receives.record = context.doorbell_record.value();
      context.receive_ring = PhysicalAddress(qp.receives.ring);
      context.log_receive_entries = options.log_receive_entries;
      context.log_receive_segments = options.log_receive_segments;
    }
    bring_up(qpn, options.last_state);
  }
  /// Through RESET to `last` with what it was made with, its rings empty.
  void restart_qp(Qpn qpn, QpState last) {
    Qp& qp = qps_.at(qpn.value());
    if (modify_qp(qpn, QpState::kReset) != abi::CommandStatus::kOk)
      throw std::logic_error("the queue pair cannot be reset");
    qp.producer = 0;
    qp.receives.posted = 0;
    abi::DoorbellRecord{}.write(at(qp.context.doorbell_record.value()));
    if (last != QpState::kReset) bring_up(qpn, last);
  }
  /// Forgets what software knows of a queue pair (its ring starts anew).
  void reset_qp(Qpn qpn) { qps_.erase(qpn.value()); }
  abi::QpContext query_qp(Qpn qpn) {
    must(abi::CommandOpcode::kQueryQp, qpn.value());
    return abi::QpContext::read(at(mailbox));
  }
  std::uint64_t send_ring(Qpn qpn) const { return qps_.at(qpn.value()).context.send_ring.value(); }

  // ---- Work -------------------------------------------------------------------------------------

  struct Segment {
    std::uint64_t address;
    std::uint32_t bytes;
    MemoryKey key;
  };
  struct Write {
    std::uint64_t remote = 0;
    MemoryKey rkey;
    std::vector<Segment> gather;
    std::vector<std::uint8_t> inlined;
    bool signaled = true;
    abi::WqeOpcode opcode = abi::WqeOpcode::kRdmaWrite;
    bool fence = false;
    bool solicited = false;
    std::uint32_t immediate = 0;
    abi::AtomicSegment atomic;
    const abi::DatagramSegment* datagram = nullptr;  ///< of a datagram: where it goes
  };

  /// Writes a WQE into the ring and counts it in the doorbell record; rings nothing.
  void post(Qpn qpn, const Write& write) {
    Qp& qp = qps_.at(qpn.value());
    std::vector<std::uint8_t> wqe(abi::kSegmentBytes);
    const auto add = [&wqe](std::uint32_t bytes) {
      wqe.resize(wqe.size() + bytes);
      return wqe.data() + wqe.size() - bytes;
    };
    if (write.datagram != nullptr) write.datagram->write(add(abi::DatagramSegment::kBytes));
    if (!is_send(write.opcode))
      abi::RemoteAddressSegment{VirtualAddress(write.remote), write.rkey}.write(
          add(abi::kSegmentBytes));
    if (write.opcode == abi::WqeOpcode::kAtomicCompareSwap ||
        write.opcode == abi::WqeOpcode::kAtomicFetchAdd)
      write.atomic.write(add(abi::kSegmentBytes));
    for (const Segment& segment : write.gather)
      data_segment(segment).write(add(abi::kSegmentBytes));
    if (!write.inlined.empty()) {
      const std::size_t start = wqe.size();
      const auto bytes = static_cast<std::uint32_t>(write.inlined.size());
      wqe.resize(start + (abi::InlineSegment::kHeaderBytes + bytes + 15) / 16 * 16);
      abi::InlineSegment{bytes}.write(wqe.data() + start);
      std::copy(write.inlined.begin(), write.inlined.end(),
                wqe.begin() + static_cast<std::ptrdiff_t>(start + 4));
    }
    qp.last = {};
    qp.last.wqe_index = qp.producer;
    qp.last.opcode = write.opcode;
    qp.last.qpn = qpn;
    qp.last.segments = static_cast<std::uint8_t>(wqe.size() / abi::kSegmentBytes);
    qp.last.flags =
        static_cast<std::uint8_t>((write.signaled ? abi::ControlSegment::kSignaled : 0) |
                                  (write.fence ? abi::ControlSegment::kFence : 0) |
                                  (write.solicited ? abi::ControlSegment::kSolicited : 0));
    qp.last.immediate = write.immediate;
    qp.last.write(wqe.data());
    put(qp, wqe);
  }
  void ring(Qpn qpn) {
    std::uint8_t control[abi::kSegmentBytes];
    qps_.at(qpn.value()).last.write(control);
    mmio_(abi::kUarOffset + abi::kSendDoorbell, control, abi::kSendDoorbellBytes);
  }

  /// Posts a receive; the NIC learns of it by the doorbell record.
  void post_receive(Qpn qpn, const std::vector<Segment>& scatter) {
    Qp& qp = qps_.at(qpn.value());
    put_receive(qp.receives, scatter);
    abi::DoorbellRecord{qp.receives.posted, qp.producer}.write(at(qp.receives.record));
  }
  void add_srq(std::uint32_t srqn, std::uint8_t log_entries = 3, std::uint8_t log_segments = 1) {
    ReceiveRing& ring = srqs_[srqn] = make_ring(log_entries, log_segments);
    ring.record = allocate(abi::DoorbellRecord::kBytes, 64);
    abi::SrqContext context;
    context.valid = true;
    context.log_entries = log_entries;
    context.log_segments = log_segments;
    context.pd = PdNumber(1);
    context.ring = PhysicalAddress(ring.ring);
    context.doorbell_record = PhysicalAddress(ring.record);
    context.write(at(tables.srq_contexts.value() + srqn * abi::SrqContext::kBytes));
    must(abi::CommandOpcode::kCreateSrq, srqn);
  }
  void post_shared_receive(std::uint32_t srqn, const std::vector<Segment>& scatter) {
    ReceiveRing& ring = srqs_.at(srqn);
    put_receive(ring, scatter);
    abi::DoorbellRecord{ring.posted, 0}.write(at(ring.record));
  }

  /// The entries that software would find next, in order; each is consumed.
  std::vector<abi::Cqe> poll(Cqn cqn) {
    std::vector<abi::Cqe> found;
    const abi::CqContext& context = cqs_.at(cqn.value());
    std::uint32_t& consumer = consumers_[cqn.value()];
    for (;;) {
      const std::uint32_t slot = consumer & ((1U << context.log_size) - 1);
      const auto cqe = abi::Cqe::read(at(context.ring.value() + slot * abi::Cqe::kBytes));
      const bool sense = (consumer >> context.log_size & 1) != 0;
      if (cqe.opcode == abi::CqeOpcode::kInvalid || cqe.owner != sense) break;
      found.push_back(cqe);
      ++consumer;
    }
    store_be32(at(context.doorbell_record.value()), consumer);
    return found;
  }
  std::uint64_t cq_ring(Cqn cqn) const { return cqs_.at(cqn.value()).ring.value(); }

  abi::HcaTables tables;
  std::uint64_t command_queue = 0;
  std::uint64_t mailbox = 0;

  /// BlueFlame: the last posted WQE goes to the doorbell register whole.
  void ring_with_wqe(Qpn qpn) {
    for (std::uint32_t i = 0; i < qps_.at(qpn.value()).last.blocks(); ++i) ring_with_line(qpn, i);
  }
  /// One line of it.
  void ring_with_line(Qpn qpn, std::uint32_t line) {
    const Qp& qp = qps_.at(qpn.value());
    const std::uint32_t mask = (1U << qp.context.log_send_blocks) - 1;
    const std::uint32_t block = (qp.producer - qp.last.blocks() + line) & mask;
    mmio_(abi::kUarOffset + abi::kSendDoorbell + std::uint64_t{line} * abi::kWqeBlockBytes,
          at(qp.context.send_ring.value() + std::uint64_t{block} * abi::kWqeBlockBytes),
          abi::kWqeBlockBytes);
  }

 private:
  struct Eq {
    abi::EqContext context;
    std::uint32_t consumer = 0;
  };
  struct ReceiveRing {
    std::uint64_t ring = 0;
    std::uint64_t record = 0;
    std::uint8_t log_entries = 0;
    std::uint8_t log_segments = 0;
    std::uint32_t posted = 0;
  };
  struct Qp {
    abi::QpContext context;
    std::uint16_t producer = 0;
    abi::ControlSegment last;
    ReceiveRing receives;
  };

  static bool is_send(abi::WqeOpcode opcode) {
    return opcode == abi::WqeOpcode::kSend || opcode == abi::WqeOpcode::kSendImm ||
           opcode == abi::WqeOpcode::kSendInvalidate;
  }
  static abi::DataSegment data_segment(const Segment& segment) {
    return {segment.bytes, segment.key, VirtualAddress(segment.address)};
  }
  ReceiveRing make_ring(std::uint8_t log_entries, std::uint8_t log_segments) {
    ReceiveRing ring;
    ring.ring = allocate(std::uint64_t{abi::kSegmentBytes} << (log_entries + log_segments));
    ring.log_entries = log_entries;
    ring.log_segments = log_segments;
    return ring;
  }
  void put_receive(ReceiveRing& ring, const std::vector<Segment>& scatter) {
    const std::uint64_t entry_bytes = std::uint64_t{abi::kSegmentBytes} << ring.log_segments;
    std::uint8_t* entry =
        at(ring.ring + (ring.posted & ((1U << ring.log_entries) - 1)) * entry_bytes);
    for (std::size_t i = 0; i < entry_bytes / abi::kSegmentBytes; ++i) {
      const abi::DataSegment end{0, abi::kEndOfList, {}};
      (i < scatter.size() ? data_segment(scatter[i]) : end).write(entry + i * abi::kSegmentBytes);
    }
    ++ring.posted;
  }

  void bring_up(Qpn qpn, QpState last) {
    for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      if (modify_qp(qpn, state) != abi::CommandStatus::kOk)
        throw std::logic_error("the queue pair cannot be brought up");
      if (state == last) break;
    }
  }
  void put(Qp& qp, std::vector<std::uint8_t>& wqe) {
    wqe.resize(qp.last.blocks() * abi::kWqeBlockBytes);
    const std::uint32_t mask = (1U << qp.context.log_send_blocks) - 1;
    for (std::uint32_t i = 0; i < qp.last.blocks(); ++i)
      std::memcpy(
          at(qp.context.send_ring.value() + ((qp.producer + i) & mask) * abi::kWqeBlockBytes),
          wqe.data() + i * abi::kWqeBlockBytes, abi::kWqeBlockBytes);
    qp.producer = static_cast<std::uint16_t>(qp.producer + qp.last.blocks());
    abi::DoorbellRecord{qp.receives.posted, qp.producer}.write(
        at(qp.context.doorbell_record.value()));
  }

  /// The radix tree over pages[first...]; returns where its root is.
  std::uint64_t write_table(const std::vector<std::uint64_t>& pages, std::uint64_t first,
                            unsigned levels) {
    const std::uint64_t table = allocate(abi::kTablePageBytes);
    const std::uint64_t step = std::uint64_t{1} << (abi::kTableEntriesLog * (levels - 1));
    for (std::uint64_t i = 0; i < 512 && first + i * step < pages.size(); ++i) {
      const std::uint64_t next =
          levels == 1 ? pages[first + i] : write_table(pages, first + i * step, levels - 1);
      abi::TableEntry{true, PhysicalAddress(next)}.write(at(table + i * abi::kTableEntryBytes));
    }
    return table;
  }

  std::uint8_t* memory_;
  std::size_t size_;
  Mmio mmio_;
  std::function<void()> run_;
  std::uint64_t next_ = 4096;
  std::map<std::uint32_t, abi::CqContext> cqs_;
  std::map<std::uint32_t, std::uint32_t> consumers_;
  std::map<std::uint32_t, Eq> eqs_;
  std::map<std::uint32_t, Qp> qps_;
  std::map<std::uint32_t, ReceiveRing> srqs_;
};

}  // namespace rnicsim::test

// SPDX-License-Identifier: MIT
// A NIC that is nothing but the other side of model/nic_abi: it executes commands, fetches work
// queue entries and writes completion entries, through host RAM and MMIO only, with constant
// latencies. It sends nothing anywhere. It keeps what it saw, for tests of driver and verbs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "host/driver.h"
#include "host/interrupt_controller.h"
#include "host/memory.h"
#include "host/mmio.h"
#include "model/byte_order.h"
#include "model/callback.h"
#include "model/ethernet_abi.h"
#include "model/nic_abi.h"
#include "model/ring.h"
#include "model/scheduler.h"

namespace rnicsim::test {

/// The plain Ethernet half of a fake NIC, if it has one.
class FakeEthernetQueues {
 public:
  virtual ~FakeEthernetQueues() = default;
  virtual void create(std::uint32_t queue, const abi::EthernetQueueContext& context) = 0;
  virtual void doorbell(std::uint32_t queue, std::uint32_t producer) = 0;
  virtual void arm(std::uint32_t queue, std::uint32_t consumer) = 0;
  virtual void set_rule(std::uint32_t number, const abi::EthernetFlowRule& rule) = 0;
  virtual bool clear_rule(std::uint32_t number) = 0;
};

class FakeNic : public MmioPort {
 public:
  struct Mmio {
    Time at;
    std::uint64_t offset;
    std::vector<std::uint8_t> data;
  };
  struct Command {
    Time arrived;
    abi::CommandOpcode opcode;
    std::uint32_t object;
  };

  FakeNic(Scheduler& scheduler, Memory& memory, InterruptController* interrupts = nullptr)
      : scheduler_(scheduler), memory_(memory), interrupts_(interrupts) {}

  FakeEthernetQueues* ethernet = nullptr;
  Time mmio_latency = Time::ns(100);
  Time command_latency = Time::us(1);  ///< doorbell arrived -> owner byte clear
  Time wqe_latency = Time::ns(500);    ///< doorbell arrived -> completion entries visible
  CompletionStatus status = CompletionStatus::kSuccess;
  abi::CommandStatus next_command = abi::CommandStatus::kOk;

  std::vector<Mmio> mmio;
  std::vector<Command> commands;
  std::vector<std::vector<std::uint8_t>> wqes;  ///< whole blocks, in the order of fetching
  abi::HcaTables tables;

  void mmio_write(Time at, std::uint64_t offset, const std::uint8_t* data,
                  unsigned bytes) override {
    mmio.push_back({at, offset, {data, data + bytes}});
    arriving_.push(mmio.back());
    scheduler_.at(at + mmio_latency, call<&FakeNic::arrive>(this));
  }

  /// The table in RAM, walked as a NIC does; nothing if the key or an entry is not valid.
  std::optional<PhysicalAddress> translate(MemoryKey key, VirtualAddress address) const {
    const abi::KeyEntry entry = key_entry(key.index());
    if (!entry.valid || entry.key != key) return std::nullopt;
    const std::uint64_t page =
        (address.value() >> entry.log_page_size) - (entry.start.value() >> entry.log_page_size);
    PhysicalAddress at = entry.table;
    for (unsigned level = entry.levels; level-- > 0;) {
      const std::uint64_t index = page >> (level * abi::kTableEntriesLog) & 511;
      const auto image = load<abi::kTableEntryBytes>(at.value() + index * abi::kTableEntryBytes);
      const abi::TableEntry next = abi::TableEntry::read(image.data());
      if (!next.present) return std::nullopt;
      at = next.address;
    }
    return PhysicalAddress(at.value() | (address.value() & ((1ULL << entry.log_page_size) - 1)));
  }
  abi::KeyEntry key_entry(std::uint32_t index) const {
    const auto image = load<abi::KeyEntry::kBytes>(tables.key_entries.value() +
                                                   std::uint64_t{index} * abi::KeyEntry::kBytes);
    return abi::KeyEntry::read(image.data());
  }
  abi::CqContext cq_context(Cqn cqn) const {
    const auto image = load<abi::CqContext::kBytes>(
        tables.cq_contexts.value() + std::uint64_t{cqn.value()} * abi::CqContext::kBytes);
    return abi::CqContext::read(image.data());
  }
  abi::SrqContext srq_context(std::uint32_t srqn) const {
    const auto image = load<abi::SrqContext::kBytes>(tables.srq_contexts.value() +
                                                     std::uint64_t{srqn} * abi::SrqContext::kBytes);
    return abi::SrqContext::read(image.data());
  }
  abi::QpContext& qp(Qpn qpn) { return qps_[qpn.value()]; }

  /// A receive that a message has taken.
  struct Taken {
    std::uint16_t number;
    std::vector<std::uint8_t> entry;
  };
  /// A message begins to arrive now: takes the next receive, which must be posted.
  Taken take_receive(Qpn qpn) {
    abi::QpContext& context = qps_[qpn.value()];
    if (context.srqn == 0)
      return take(context.doorbell_record, context.receive_ring, context.log_receive_entries,
                  context.log_receive_segments, context.receive_consumer);
    const abi::SrqContext srq = srq_context(context.srqn);
    return take(srq.doorbell_record, srq.ring, srq.log_entries, srq.log_segments,
                srq_consumers_[context.srqn]);
  }
  /// The message's end: writes `cqe` as its completion.
  void complete_receive(Qpn qpn, const Taken& taken, abi::Cqe cqe) {
    cqe.wqe_counter = taken.number;
    cqe.qpn = qpn;
    complete(qps_[qpn.value()].receive_cqn, cqe);
  }
  /// Both; returns the entry taken.
  std::vector<std::uint8_t> deliver(Qpn qpn, const abi::Cqe& cqe) {
    Taken taken = take_receive(qpn);
    complete_receive(qpn, taken, cqe);
    return taken.entry;
  }
  /// Writes an entry of the event queue and, if that is armed, sends its interrupt message: both
  /// are there now.
  void event(abi::EventType type, std::uint32_t object, const abi::PageFault& fault = {}) {
    abi::Eqe eqe;
    eqe.type = type;
    eqe.object = object;
    eqe.fault = fault;
    eqe.owner = (eq_producer_ >> eq.log_size & 1) != 0;
    std::uint8_t image[abi::Eqe::kBytes];
    eqe.write(image);
    const std::uint32_t index = eq_producer_++ & ((1u << eq.log_size) - 1);
    store(eq.ring.value() + std::uint64_t{index} * sizeof image, image, sizeof image);
    interrupt();
  }
  abi::EqContext eq;
  std::map<std::uint32_t, abi::CqContext> moderation;  ///< as kModifyCq gave it

  std::uint32_t load_u32(PhysicalAddress at) const { return load_be32(load<4>(at.value()).data()); }

 private:
  Taken take(PhysicalAddress record, PhysicalAddress ring, unsigned log_entries,
             unsigned log_segments, std::uint32_t& consumer) {
    if (load_u32(record) == consumer) throw std::runtime_error("fake NIC: no receive is posted");
    const std::uint32_t number = consumer++;
    const std::uint32_t bytes = abi::kSegmentBytes << log_segments;
    const std::uint64_t index = number & ((1u << log_entries) - 1);
    Taken taken{static_cast<std::uint16_t>(number), std::vector<std::uint8_t>(bytes)};
    memory_.load(PhysicalAddress(ring.value() + index * bytes), taken.entry.data(), bytes);
    return taken;
  }
  template <std::size_t kBytes>
  std::array<std::uint8_t, kBytes> load(std::uint64_t at) const {
    std::array<std::uint8_t, kBytes> bytes{};
    memory_.load(PhysicalAddress(at), bytes.data(), kBytes);
    return bytes;
  }
  void store(std::uint64_t at, const std::uint8_t* bytes, std::size_t n) {
    memory_.store(PhysicalAddress(at), bytes, n);
    memory_.wrote(PhysicalAddress(at), Bytes(n));
  }

  void arrive() {
    const Mmio write = arriving_.take();
    const Time now = scheduler_.now();
    if (write.offset == abi::kCommandQueueAddress && write.data.size() == 8) {
      command_entry_ = load_be64(write.data.data());
    } else if (write.offset == abi::kCommandDoorbell && write.data.size() == 4) {
      scheduler_.at(now + command_latency, call<&FakeNic::execute>(this));
    } else if (write.offset == abi::kUarOffset + abi::kSendDoorbell &&
               (write.data.size() == 8 || write.data.size() == abi::kWqeBlockBytes)) {
      std::uint8_t image[abi::kWqeBlockBytes] = {};
      std::copy(write.data.begin(), write.data.end(), image);
      rung_.push(abi::ControlSegment::read(image));
      scheduler_.at(now + wqe_latency, call<&FakeNic::fetch>(this));
    } else if (write.offset == abi::kEqArm && write.data.size() == 8) {
      if (load_be32(write.data.data()) != 1) throw std::runtime_error("fake NIC: no such queue");
      eq_armed_ = true;
      if (eq_producer_ != load_be32(&write.data[4])) interrupt();
    } else if (write.offset == abi::kUarOffset + abi::kCqArm && write.data.size() == 8) {
      const std::uint32_t cqn = load_be32(&write.data[4]);
      cq_armed_.insert(cqn);
      if ((producers_[cqn] & 0xffffff) != (load_be32(write.data.data()) & 0xffffff)) notify(cqn);
    } else if (ethernet != nullptr && write.offset == abi::kEthernetDoorbell) {
      ethernet->doorbell(load_be32(write.data.data()), load_be32(&write.data[4]));
    } else if (ethernet != nullptr && write.offset == abi::kEthernetArm) {
      ethernet->arm(load_be32(write.data.data()), load_be32(&write.data[4]));
    } else if (write.offset == abi::kPageFaultResume && write.data.size() == 4) {
      return;  // the test looks at `mmio`
    } else if (write.data.size() == abi::kWqeBlockBytes &&
               write.offset > abi::kUarOffset + abi::kSendDoorbell &&
               write.offset < abi::kUarOffset + abi::kSendDoorbell + abi::kBlueFlameBytes) {
      return;  // a further line of BlueFlame: the WQE is fetched all the same
    } else if (write.offset != abi::kUarOffset + abi::kReceiveDoorbell || write.data.size() != 8) {
      throw std::runtime_error("fake NIC: no such register");
    }
  }

  void execute() {
    auto image = load<abi::CommandEntry::kBytes>(command_entry_);
    const abi::CommandEntry entry = abi::CommandEntry::read(image.data());
    if (!entry.hardware_owned) throw std::runtime_error("fake NIC: entry is not handed over");
    commands.push_back({scheduler_.now() - command_latency, entry.opcode, entry.object});
    const abi::CommandStatus result =
        next_command == abi::CommandStatus::kOk ? carry_out(entry) : next_command;
    next_command = abi::CommandStatus::kOk;
    image[abi::CommandEntry::kStatusOffset] = static_cast<std::uint8_t>(result);
    image[abi::CommandEntry::kOwnerOffset] = 0;
    store(command_entry_, image.data(), image.size());
  }

  abi::CommandStatus carry_out(const abi::CommandEntry& entry) {
    switch (entry.opcode) {
      case abi::CommandOpcode::kInitHca:
        tables = abi::HcaTables::read(load<abi::HcaTables::kBytes>(entry.mailbox.value()).data());
        return abi::CommandStatus::kOk;
      case abi::CommandOpcode::kModifyQp: {
        const auto wanted =
            abi::QpContext::read(load<abi::QpContext::kBytes>(entry.mailbox.value()).data());
        if (!may_modify(qps_[entry.object].state, wanted.state))
          return abi::CommandStatus::kBadState;
        qps_[entry.object] = wanted;
        return abi::CommandStatus::kOk;
      }
      case abi::CommandOpcode::kQueryQp: {
        std::uint8_t image[abi::QpContext::kBytes];
        qps_[entry.object].write(image);
        store(entry.mailbox.value(), image, sizeof image);
        return abi::CommandStatus::kOk;
      }
      case abi::CommandOpcode::kCreateCq:
        producers_[entry.object] = 0;
        return cq_context(Cqn(entry.object)).valid ? abi::CommandStatus::kOk
                                                   : abi::CommandStatus::kBadObject;
      case abi::CommandOpcode::kCreateEq:
        eq = abi::EqContext::read(load<abi::EqContext::kBytes>(entry.mailbox.value()).data());
        return abi::CommandStatus::kOk;
      case abi::CommandOpcode::kCreateEthernetQueue:
        if (ethernet == nullptr) return abi::CommandStatus::kBadOpcode;
        ethernet->create(
            entry.object,
            abi::EthernetQueueContext::read(
                load<abi::EthernetQueueContext::kBytes>(entry.mailbox.value()).data()));
        return abi::CommandStatus::kOk;
      case abi::CommandOpcode::kSetFlowRule:
        if (ethernet == nullptr) return abi::CommandStatus::kBadOpcode;
        ethernet->set_rule(entry.object,
                           abi::EthernetFlowRule::read(
                               load<abi::EthernetFlowRule::kBytes>(entry.mailbox.value()).data()));
        return abi::CommandStatus::kOk;
      case abi::CommandOpcode::kClearFlowRule:
        if (ethernet == nullptr) return abi::CommandStatus::kBadOpcode;
        return ethernet->clear_rule(entry.object) ? abi::CommandStatus::kOk
                                                  : abi::CommandStatus::kBadObject;
      case abi::CommandOpcode::kModifyCq:
        moderation[entry.object] =
            abi::CqContext::read(load<abi::CqContext::kBytes>(entry.mailbox.value()).data());
        return abi::CommandStatus::kOk;
      case abi::CommandOpcode::kCreateSrq:
        srq_consumers_[entry.object] = 0;
        return srq_context(entry.object).valid ? abi::CommandStatus::kOk
                                               : abi::CommandStatus::kBadObject;
      case abi::CommandOpcode::kEnableKey:
        return key_entry(entry.object).valid || key_entry(entry.object).window
                   ? abi::CommandStatus::kOk
                   : abi::CommandStatus::kBadObject;
      case abi::CommandOpcode::kDisableKey:
        return key_entry(entry.object).valid ? abi::CommandStatus::kBadObject
                                             : abi::CommandStatus::kOk;
      default:
        return abi::CommandStatus::kOk;
    }
  }

  void fetch() {
    const abi::ControlSegment last = rung_.take();
    abi::QpContext& context = qps_[last.qpn.value()];
    const auto end = static_cast<std::uint16_t>(last.wqe_index + last.blocks());
    const std::uint32_t mask = (1u << context.log_send_blocks) - 1;
    while (context.send_consumer != end) {
      const std::uint16_t index = context.send_consumer;
      std::vector<std::uint8_t> wqe;
      std::uint32_t blocks = 1;
      for (std::uint32_t b = 0; b < blocks; ++b) {
        const auto block = load<abi::kWqeBlockBytes>(
            context.send_ring.value() + std::uint64_t{(index + b) & mask} * abi::kWqeBlockBytes);
        wqe.insert(wqe.end(), block.begin(), block.end());
        blocks = abi::ControlSegment::read(wqe.data()).blocks();
      }
      const abi::ControlSegment control = abi::ControlSegment::read(wqe.data());
      wqes.push_back(wqe);
      context.send_consumer = static_cast<std::uint16_t>(index + blocks);
      const bool failed = status != CompletionStatus::kSuccess;
      if (failed || (control.flags & abi::ControlSegment::kSignaled) != 0)
        complete(context.send_cqn, control.qpn, index, failed);
      if (failed) context.state = QpState::kErr;
    }
  }

  void complete(Cqn cqn, Qpn qpn, std::uint16_t wqe_counter, bool failed) {
    abi::Cqe cqe;
    cqe.opcode = failed ? abi::CqeOpcode::kRequestError : abi::CqeOpcode::kRequest;
    cqe.status = status;
    cqe.qpn = qpn;
    cqe.wqe_counter = wqe_counter;
    complete(cqn, cqe);
  }

  void complete(Cqn cqn, abi::Cqe cqe) {
    const abi::CqContext context = cq_context(cqn);
    std::uint32_t& producer = producers_[cqn.value()];
    cqe.owner = (producer >> context.log_size & 1) != 0;
    std::uint8_t image[abi::Cqe::kBytes];
    cqe.write(image);
    const std::uint32_t index = producer++ & ((1u << context.log_size) - 1);
    store(context.ring.value() + std::uint64_t{index} * sizeof image, image, sizeof image);
    notify(cqn.value());
  }

  void notify(std::uint32_t cqn) {
    if (cq_armed_.erase(cqn) != 0) event(abi::EventType::kCompletion, cqn);
  }
  void interrupt() {
    if (eq_armed_ && interrupts_ != nullptr) interrupts_->raise({eq.msix_address, eq.msix_data});
    eq_armed_ = false;
  }

  Scheduler& scheduler_;
  Memory& memory_;
  InterruptController* interrupts_;
  std::set<std::uint32_t> cq_armed_;
  bool eq_armed_ = false;
  std::uint32_t eq_producer_ = 0;
  Ring<Mmio> arriving_;
  Ring<abi::ControlSegment> rung_;
  std::uint64_t command_entry_ = 0;
  std::map<std::uint32_t, abi::QpContext> qps_;
  std::map<std::uint32_t, std::uint32_t> producers_;
  std::map<std::uint32_t, std::uint32_t> srq_consumers_;
};

}  // namespace rnicsim::test

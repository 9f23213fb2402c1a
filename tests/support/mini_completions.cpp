// SPDX-License-Identifier: MIT
#include "tests/support/mini_completions.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim::test {

void MiniCompletions::add_cq(Cqn cqn, std::uint8_t log_size, const abi::CqContext& wanted) {
  abi::CqContext context = wanted;
  context.valid = true;
  context.doorbell_record = PhysicalAddress(commands_.allocate(4, 64));
  context.log_size = log_size;
  context.ring = PhysicalAddress(commands_.allocate(std::uint64_t{abi::Cqe::kBytes} << log_size));
  std::fill_n(commands_.at(context.ring.value()), abi::Cqe::kBytes << log_size, std::uint8_t{0xf1});
  context.write(
      commands_.at(commands_.tables.cq_contexts.value() + cqn.value() * abi::CqContext::kBytes));
  std::fill_n(commands_.at(context.doorbell_record.value()), 4, std::uint8_t{0});
  cqs_[cqn.value()] = context;
  consumers_[cqn.value()] = 0;
  commands_.must(abi::CommandOpcode::kCreateCq, cqn.value());
}

void MiniCompletions::arm_cq(Cqn cqn, bool solicited_only) {
  std::uint8_t value[8];
  store_be32(value, (solicited_only ? 1U : 0U) << 24 | (consumers_[cqn.value()] & 0xffffff));
  store_be32(value + 4, cqn.value());
  commands_.mmio(abi::kUarOffset + abi::kCqArm, value, sizeof value);
}

abi::CommandStatus MiniCompletions::modify_cq(Cqn cqn, std::uint16_t count,
                                              std::uint16_t period_us) {
  abi::CqContext wanted;
  wanted.moderation_count = count;
  wanted.moderation_period_us = period_us;
  wanted.write(commands_.at(commands_.mailbox));
  return commands_.command(abi::CommandOpcode::kModifyCq, cqn.value());
}

std::vector<abi::Cqe> MiniCompletions::poll(Cqn cqn) {
  std::vector<abi::Cqe> found;
  const abi::CqContext& context = cqs_.at(cqn.value());
  std::uint32_t& consumer = consumers_[cqn.value()];
  for (;;) {
    const std::uint32_t slot = consumer & ((1U << context.log_size) - 1);
    const auto cqe = abi::Cqe::read(commands_.at(context.ring.value() + slot * abi::Cqe::kBytes));
    const bool sense = (consumer >> context.log_size & 1) != 0;
    if (cqe.opcode == abi::CqeOpcode::kInvalid || cqe.owner != sense) break;
    found.push_back(cqe);
    ++consumer;
  }
  store_be32(commands_.at(context.doorbell_record.value()), consumer);
  return found;
}

void MiniCompletions::add_eq(std::uint32_t eqn, std::uint8_t log_size) {
  Eq& eq = eqs_[eqn];
  eq.context.log_size = log_size;
  eq.context.ring =
      PhysicalAddress(commands_.allocate(std::uint64_t{abi::Eqe::kBytes} << log_size));
  eq.context.msix_address = PhysicalAddress(commands_.allocate(4, 64));
  eq.context.msix_data = 0x1000 + eqn;
  for (std::uint32_t i = 0; i < 1U << log_size; ++i)
    abi::Eqe{}.write(commands_.at(eq.context.ring.value() + std::uint64_t{i} * abi::Eqe::kBytes));
  eq.context.write(commands_.at(commands_.mailbox));
  commands_.must(abi::CommandOpcode::kCreateEq, eqn);
}

void MiniCompletions::arm_eq(std::uint32_t eqn) {
  std::uint8_t value[8];
  store_be32(value, eqn);
  store_be32(value + 4, eqs_[eqn].consumer);
  commands_.mmio(abi::kEqArm, value, sizeof value);
}

std::vector<abi::Eqe> MiniCompletions::events(std::uint32_t eqn) {
  std::vector<abi::Eqe> found;
  Eq& eq = eqs_.at(eqn);
  for (;;) {
    const std::uint32_t slot = eq.consumer & ((1U << eq.context.log_size) - 1);
    const auto eqe =
        abi::Eqe::read(commands_.at(eq.context.ring.value() + slot * abi::Eqe::kBytes));
    const bool sense = (eq.consumer >> eq.context.log_size & 1) != 0;
    if (eqe.type == abi::EventType::kInvalid || eqe.owner != sense) return found;
    found.push_back(eqe);
    ++eq.consumer;
  }
}

}  // namespace rnicsim::test

// SPDX-License-Identifier: MIT
#include "tests/support/mini_commands.h"

#include <stdexcept>
#include <utility>

#include "model/byte_order.h"

namespace rnicsim::test {

MiniCommands::MiniCommands(std::uint8_t* memory, std::size_t size, Mmio mmio,
                           std::function<void()> run)
    : memory_(memory), size_(size), mmio_(std::move(mmio)), run_(std::move(run)) {}

std::uint64_t MiniCommands::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  next_ = (next_ + alignment - 1) / alignment * alignment;
  const std::uint64_t address = next_;
  next_ += bytes;
  if (next_ > size_) throw std::logic_error("the fake memory is too small");
  return address;
}

void MiniCommands::write_command(abi::CommandOpcode opcode, std::uint32_t object) {
  abi::CommandEntry entry;
  entry.opcode = opcode;
  entry.object = object;
  entry.mailbox = PhysicalAddress(mailbox);
  entry.hardware_owned = true;
  entry.write(at(command_queue));
}

void MiniCommands::ring_command() {
  std::uint8_t one[4] = {0, 0, 0, 1};
  mmio_(abi::kCommandDoorbell, one, 4);
}

abi::CommandStatus MiniCommands::command(abi::CommandOpcode opcode, std::uint32_t object) {
  write_command(opcode, object);
  ring_command();
  run_();
  const auto entry = abi::CommandEntry::read(at(command_queue));
  if (entry.hardware_owned) throw std::logic_error("the command was not executed");
  return entry.status;
}

void MiniCommands::must(abi::CommandOpcode opcode, std::uint32_t object) {
  if (command(opcode, object) != abi::CommandStatus::kOk)
    throw std::logic_error("a command failed");
}

void MiniCommands::set_command_queue() {
  command_queue = allocate(abi::CommandEntry::kBytes, 64);
  mailbox = allocate(abi::QpContext::kBytes, 64);
  std::uint8_t address[8];
  store_be64(address, command_queue);
  mmio_(abi::kCommandQueueAddress, address, 8);
}

void MiniCommands::init() {
  set_command_queue();
  tables.log_qps = tables.log_cqs = tables.log_keys = tables.log_srqs = kLogObjects;
  tables.qp_contexts = PhysicalAddress(allocate(abi::QpContext::kBytes << kLogObjects));
  tables.cq_contexts = PhysicalAddress(allocate(abi::CqContext::kBytes << kLogObjects));
  tables.key_entries = PhysicalAddress(allocate(abi::KeyEntry::kBytes << kLogObjects));
  tables.srq_contexts = PhysicalAddress(allocate(abi::SrqContext::kBytes << kLogObjects));
  tables.write(at(mailbox));
  must(abi::CommandOpcode::kInitHca);
}

}  // namespace rnicsim::test

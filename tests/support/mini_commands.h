// SPDX-License-Identifier: MIT
// The flat memory of a mini driver (see mini_driver.h), its command queue, and the tables of
// contexts that the first command tells the NIC of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "model/nic_abi.h"

namespace rnicsim::test {

class MiniCommands {
 public:
  using Mmio = std::function<void(std::uint64_t offset, const std::uint8_t* data, unsigned bytes)>;
  static constexpr std::uint8_t kLogObjects = 5;

  MiniCommands(std::uint8_t* memory, std::size_t size, Mmio mmio, std::function<void()> run);
  MiniCommands(const MiniCommands&) = delete;
  MiniCommands& operator=(const MiniCommands&) = delete;

  std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment = 4096);
  std::uint8_t* at(std::uint64_t address) { return memory_ + address; }
  void mmio(std::uint64_t offset, const std::uint8_t* data, unsigned bytes) {
    mmio_(offset, data, bytes);
  }

  void write_command(abi::CommandOpcode opcode, std::uint32_t object);
  void ring_command();
  abi::CommandStatus command(abi::CommandOpcode opcode, std::uint32_t object = 0);
  void must(abi::CommandOpcode opcode, std::uint32_t object = 0);

  void set_command_queue();
  void init();

  abi::HcaTables tables;
  std::uint64_t command_queue = 0;
  std::uint64_t mailbox = 0;

 private:
  std::uint8_t* memory_;
  std::size_t size_;
  Mmio mmio_;
  std::function<void()> run_;
  std::uint64_t next_ = 4096;
};

}  // namespace rnicsim::test

// SPDX-License-Identifier: MIT
// The least software that sends and receives plain frames, beside MiniDriver: queues of
// model/ethernet_abi in the same flat memory, one buffer for each place of a receive ring.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "model/byte_order.h"
#include "model/ethernet_abi.h"
#include "nic/ethernet/segment_headers.h"
#include "tests/support/nic_bench.h"

namespace rnicsim::test {

struct EthernetOptions {
  std::uint8_t log_entries = 6;
  bool merge = false;
  bool rss = true;
  std::uint16_t frames = 1;  ///< of moderation
  std::uint16_t period_us = 0;
  std::uint32_t buffer_bytes = 2048;
};

/// A frame as software finds it.
struct ReceivedFrame {
  std::vector<std::uint8_t> bytes;
  abi::EthernetReceiveCompletion completion;
  SegmentHeaders headers;
  std::vector<std::uint8_t> payload() const {
    return {bytes.begin() + static_cast<std::ptrdiff_t>(headers.bytes()), bytes.end()};
  }
};

class EthernetDriver {
 public:
  explicit EthernetDriver(BenchNic& nic) : nic_(nic), driver_(nic.driver) {}

  abi::CommandStatus make(std::uint32_t number, abi::EthernetDirection direction,
                          const EthernetOptions& options = {}) {
    const bool transmit = direction == abi::EthernetDirection::kTransmit;
    Queue& queue = queues_[number];
    queue = Queue();
    queue.options = options;
    abi::EthernetQueueContext& context = queue.context;
    context.direction = direction;
    context.log_entries = options.log_entries;
    context.merge = options.merge;
    context.rss = options.rss;
    context.msix_data = 0x2000 + number;
    context.msix_address = PhysicalAddress(driver_.allocate(4, 64));
    const std::uint64_t places = std::uint64_t{1} << options.log_entries;
    context.ring = PhysicalAddress(
        driver_.allocate(places * (transmit ? abi::EthernetTransmitDescriptor::kBytes
                                            : abi::EthernetReceiveDescriptor::kBytes)));
    const std::uint64_t entries = places * entry_bytes(direction);
    context.completions = PhysicalAddress(driver_.allocate(entries));
    std::fill_n(driver_.at(context.completions.value()), entries, std::uint8_t{0xff});
    context.moderation_frames = options.frames;
    context.moderation_us = options.period_us;
    if (!transmit) queue.buffers = driver_.allocate(places * options.buffer_bytes);
    context.write(driver_.at(driver_.mailbox));
    return driver_.command(abi::CommandOpcode::kCreateEthernetQueue, number);
  }
  void add_transmit(std::uint32_t number, const EthernetOptions& options = {}) {
    if (make(number, abi::EthernetDirection::kTransmit, options) != abi::CommandStatus::kOk)
      throw std::logic_error("no transmit queue");
  }
  /// With `posted` buffers.
  void add_receive(std::uint32_t number, std::uint32_t posted,
                   const EthernetOptions& options = {}) {
    if (make(number, abi::EthernetDirection::kReceive, options) != abi::CommandStatus::kOk)
      throw std::logic_error("no receive queue");
    post_buffers(number, posted);
    nic_.run();
  }

  void write_descriptor(std::uint32_t number, const abi::EthernetTransmitDescriptor& descriptor) {
    Queue& queue = queues_.at(number);
    descriptor.write(
        driver_.at(queue.context.ring.value() + std::uint64_t{place(queue)} * descriptor.kBytes));
    ++queue.producer;
  }
  /// One piece of headers and one of payload, somewhere in memory.
  void post(std::uint32_t number, const SegmentHeaders& headers,
            const std::vector<std::uint8_t>& payload, std::uint8_t flags,
            std::uint16_t segment_size = 0) {
    const std::uint64_t head = driver_.allocate(SegmentHeaders::kMaxBytes, 64);
    headers.write(driver_.at(head));
    abi::EthernetTransmitDescriptor descriptor;
    descriptor.flags = flags;
    descriptor.segment_size = segment_size;
    descriptor.header_bytes = static_cast<std::uint16_t>(headers.bytes());
    descriptor.pieces = 1;
    descriptor.piece[0] = {PhysicalAddress(head), descriptor.header_bytes};
    if (!payload.empty()) {
      const std::uint64_t data = driver_.allocate(payload.size(), 64);
      std::copy(payload.begin(), payload.end(), driver_.at(data));
      descriptor.pieces = 2;
      descriptor.piece[1] = {PhysicalAddress(data), static_cast<std::uint32_t>(payload.size())};
    }
    write_descriptor(number, descriptor);
  }
  void post_buffers(std::uint32_t number, std::uint32_t count) {
    Queue& queue = queues_.at(number);
    for (std::uint32_t i = 0; i < count; ++i) {
      const abi::EthernetReceiveDescriptor descriptor{
          PhysicalAddress(buffer(queue, queue.producer)), queue.options.buffer_bytes};
      descriptor.write(
          driver_.at(queue.context.ring.value() + std::uint64_t{place(queue)} * descriptor.kBytes));
      ++queue.producer;
    }
    if (count != 0) ring(number);
  }
  void ring(std::uint32_t number) {
    write(abi::kEthernetDoorbell, number, queues_.at(number).producer);
  }
  void arm(std::uint32_t number) { write(abi::kEthernetArm, number, queues_.at(number).consumer); }

  /// The transmit completions since the last time: their `done`.
  std::vector<std::uint32_t> sent(std::uint32_t number) {
    std::vector<std::uint32_t> done;
    Queue& queue = queues_.at(number);
    for (;; ++queue.consumer) {
      const auto entry = abi::EthernetTransmitCompletion::read(entry_at(queue));
      if (entry.owner != sense(queue)) return done;
      done.push_back(entry.done);
    }
  }
  std::vector<ReceivedFrame> received(std::uint32_t number) {
    std::vector<ReceivedFrame> frames;
    Queue& queue = queues_.at(number);
    for (;; ++queue.consumer) {
      const auto entry = abi::EthernetReceiveCompletion::read(entry_at(queue));
      if (entry.owner != sense(queue)) return frames;
      frames.push_back(gather(queue, entry));
    }
  }
  abi::CommandStatus set_rule(std::uint32_t number, const abi::EthernetFlowRule& rule) {
    rule.write(driver_.at(driver_.mailbox));
    return driver_.command(abi::CommandOpcode::kSetFlowRule, number);
  }
  const abi::EthernetQueueContext& context(std::uint32_t number) const {
    return queues_.at(number).context;
  }
  /// MSI-X messages of a queue so far.
  std::size_t messages(std::uint32_t number) const { return message_times(number).size(); }
  std::vector<Time> message_times(std::uint32_t number) const {
    std::vector<Time> times;
    for (const auto& access : nic_.memory.of(DmaPurpose::kInterrupt))
      if (access.address == context(number).msix_address.value()) times.push_back(access.begin);
    return times;
  }

 private:
  struct Queue {
    EthernetOptions options;
    abi::EthernetQueueContext context;
    std::uint64_t buffers = 0;
    std::uint32_t producer = 0;
    std::uint32_t consumer = 0;
  };
  static std::uint32_t entry_bytes(abi::EthernetDirection direction) {
    return direction == abi::EthernetDirection::kTransmit ? abi::EthernetTransmitCompletion::kBytes
                                                          : abi::EthernetReceiveCompletion::kBytes;
  }
  static std::uint32_t mask(const Queue& queue) { return (1U << queue.options.log_entries) - 1; }
  static std::uint32_t place(const Queue& queue) { return queue.producer & mask(queue); }
  static bool sense(const Queue& queue) {
    return (queue.consumer >> queue.options.log_entries & 1) != 0;
  }
  static std::uint64_t buffer(const Queue& queue, std::uint32_t index) {
    return queue.buffers + std::uint64_t{index & mask(queue)} * queue.options.buffer_bytes;
  }
  const std::uint8_t* entry_at(const Queue& queue) {
    return driver_.at(queue.context.completions.value() +
                      std::uint64_t{queue.consumer & mask(queue)} *
                          entry_bytes(queue.context.direction));
  }
  ReceivedFrame gather(const Queue& queue, const abi::EthernetReceiveCompletion& entry) {
    ReceivedFrame frame;
    frame.completion = entry;
    for (std::uint32_t i = 0; i < entry.descriptors; ++i) {
      const std::uint8_t* from = driver_.at(buffer(queue, entry.first + i));
      const auto left = entry.bytes - static_cast<std::uint32_t>(frame.bytes.size());
      frame.bytes.insert(frame.bytes.end(), from,
                         from + std::min(left, queue.options.buffer_bytes));
    }
    const std::size_t tcp = EthernetHeader::kBytes + Ipv4Header::kBytes;
    const std::size_t headers = tcp + static_cast<std::size_t>(frame.bytes.at(tcp + 12) >> 4) * 4;
    if (!SegmentHeaders::read(frame.bytes.data(), headers, frame.headers))
      throw std::logic_error("what came begins with no headers");
    return frame;
  }
  void write(std::uint64_t offset, std::uint32_t number, std::uint32_t index) {
    std::uint8_t value[8];
    store_be32(value, number);
    store_be32(value + 4, index);
    nic_.mmio(offset, value, sizeof value);
  }

  BenchNic& nic_;
  MiniDriver& driver_;
  std::map<std::uint32_t, Queue> queues_;
};

/// Headers of a segment from NIC `from` to the other, without options.
inline SegmentHeaders segment_headers(std::uint8_t from, std::uint8_t to, std::uint32_t payload,
                                      std::uint32_t sequence = 1000) {
  SegmentHeaders headers;
  const PortIdentity source = BenchNic::identity(from);
  const PortIdentity destination = BenchNic::identity(to);
  headers.eth.source = source.mac;
  headers.eth.destination = destination.mac;
  headers.ip.protocol = kIpProtocolTcp;
  headers.ip.source = source.ip;
  headers.ip.destination = destination.ip;
  headers.ip.identification = 77;
  headers.tcp.source_port = 40000;
  headers.tcp.destination_port = 5001;
  headers.tcp.sequence = TcpSeq(sequence);
  headers.tcp.acknowledgement = TcpSeq(1);
  headers.tcp.ack = true;
  headers.tcp.psh = true;
  headers.tcp.window = 1024;
  headers.ip.total_length =
      static_cast<std::uint16_t>(headers.bytes() - EthernetHeader::kBytes + payload);
  return headers;
}

inline std::vector<std::uint8_t> pattern(std::uint32_t bytes, std::uint8_t seed = 1) {
  std::vector<std::uint8_t> made(bytes);
  for (std::uint32_t i = 0; i < bytes; ++i)
    made[i] = static_cast<std::uint8_t>(seed + i * 13 + i / 251);
  return made;
}

}  // namespace rnicsim::test

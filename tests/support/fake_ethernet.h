// SPDX-License-Identifier: MIT
// The plain Ethernet half of a fake NIC (model/ethernet_abi), and a wire between two of them:
// constant latencies, no rate but a constant time a frame, through host RAM only. It cuts bursts,
// fills in checksums, moderates interrupts; it does not merge. Frames may be lost or damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "host/dma_guard.h"
#include "host/interrupt_controller.h"
#include "host/kernel/frame_bytes.h"
#include "host/memory.h"
#include "model/ethernet_abi.h"
#include "model/scheduler.h"
#include "model/tcp_segmentation.h"
#include "tests/support/fake_nic.h"

namespace rnicsim::test {

class FakeEthernet : public FakeEthernetQueues {
 public:
  using Frame = std::vector<std::uint8_t>;
  enum class Fate : std::uint8_t { kArrives, kLost, kDamaged };

  FakeEthernet(Scheduler& scheduler, Memory& memory, InterruptController& interrupts)
      : scheduler_(scheduler), memory_(memory), interrupts_(interrupts) {}

  Time read_latency = Time::ns(500);   ///< doorbell arrived -> all has been read
  Time wire_latency = Time::ns(2000);  ///< read -> in the peer's RAM
  Time frame_time = Time::ns(100);     ///< from one frame to the next
  std::function<Fate(const Frame&)> fate;
  /// Of the receive queues, in the order of their creation.
  std::function<std::size_t(const FrameHeaders&)> steer;
  std::map<std::uint32_t, abi::EthernetFlowRule> rules;  ///< by number; go before
  FakeEthernet* peer = nullptr;
  const DmaGuard* guard = nullptr;  ///< asked for every frame

  std::vector<abi::EthernetTransmitDescriptor> sent;  ///< as the driver wrote them
  std::vector<Frame> frames;                          ///< as they left
  std::uint64_t no_buffer = 0;

  void create(std::uint32_t number, const abi::EthernetQueueContext& context) override {
    Queue& queue = queues_[number];
    queue.context = context;
    if (context.direction == abi::EthernetDirection::kReceive) receive_queues_.push_back(number);
  }
  void doorbell(std::uint32_t number, std::uint32_t producer) override {
    Queue& queue = queues_[number];
    queue.producer = producer;
    if (queue.context.direction == abi::EthernetDirection::kTransmit)
      scheduler_.at(scheduler_.now() + read_latency, call<&FakeEthernet::fetch>(this, number));
  }
  void set_rule(std::uint32_t number, const abi::EthernetFlowRule& rule) override {
    rules[number] = rule;
  }
  bool clear_rule(std::uint32_t number) override { return rules.erase(number) != 0; }
  void arm(std::uint32_t number, std::uint32_t consumer) override {
    Queue& queue = queues_[number];
    queue.armed = true;
    queue.reported = consumer;
    if (queue.completed != consumer) moderate(number);
  }

 private:
  struct Queue {
    abi::EthernetQueueContext context;
    std::uint32_t producer = 0;   ///< descriptors there
    std::uint32_t consumer = 0;   ///< taken
    std::uint32_t completed = 0;  ///< entries written
    std::uint32_t reported = 0;   ///< of these, known to software
    bool armed = false;
    std::uint64_t timer = 0;
    std::uint32_t index(std::uint32_t n) const { return n & ((1U << context.log_entries) - 1); }
    bool owner() const { return (completed >> context.log_entries & 1) != 0; }
  };

  template <std::size_t kBytes>
  std::array<std::uint8_t, kBytes> load(PhysicalAddress base, std::uint32_t index) const {
    std::array<std::uint8_t, kBytes> image{};
    memory_.load(PhysicalAddress(base.value() + std::uint64_t{index} * kBytes), image.data(),
                 kBytes);
    return image;
  }
  void store(PhysicalAddress at, const std::uint8_t* bytes, std::size_t n) {
    memory_.poke(at, bytes, n);
    memory_.wrote(at, Bytes(n));
  }
  template <class Entry>
  void complete(std::uint32_t number, Entry entry) {
    Queue& queue = queues_[number];
    std::array<std::uint8_t, Entry::kBytes> image{};
    entry.owner = queue.owner();
    entry.write(image.data());
    const std::uint64_t index = queue.index(queue.completed++);
    store(PhysicalAddress(queue.context.completions.value() + index * image.size()), image.data(),
          image.size());
    if (queue.armed) moderate(number);
  }
  void moderate(std::uint32_t number) {
    Queue& queue = queues_[number];
    const std::uint32_t waiting = queue.completed - queue.reported;
    if (waiting >= queue.context.moderation_frames || queue.context.moderation_us == 0)
      return interrupt(number);
    if (queue.timer != 0) return;
    queue.timer = ++timers_;
    scheduler_.at_daemon(
        scheduler_.now() + Time::us(queue.context.moderation_us),
        call<&FakeEthernet::timed_out>(this, std::uint64_t{number} << 32 | queue.timer));
  }
  void timed_out(std::uint64_t number_and_timer) {
    const auto number = static_cast<std::uint32_t>(number_and_timer >> 32);
    if (queues_[number].timer == (number_and_timer & 0xffffffff)) interrupt(number);
  }
  void interrupt(std::uint32_t number) {
    Queue& queue = queues_[number];
    queue.timer = 0;
    queue.armed = false;
    interrupts_.raise({queue.context.msix_address, queue.context.msix_data});
  }

  void fetch(std::uint64_t number64) {
    const auto number = static_cast<std::uint32_t>(number64);
    Queue& queue = queues_[number];
    while (queue.consumer != queue.producer) {
      const auto image = load<abi::EthernetTransmitDescriptor::kBytes>(
          queue.context.ring, queue.index(queue.consumer++));
      sent.push_back(abi::EthernetTransmitDescriptor::read(image.data()));
      send(sent.back());
      if ((sent.back().flags & abi::EthernetTransmitDescriptor::kSignaled) != 0)
        complete(number, abi::EthernetTransmitCompletion{queue.consumer, false});
    }
  }
  void send(const abi::EthernetTransmitDescriptor& descriptor) {
    Frame burst;
    for (std::size_t i = 0; i < descriptor.pieces; ++i) {
      const std::size_t at = burst.size();
      burst.resize(at + descriptor.piece[i].bytes);
      ask_guard(false, descriptor.piece[i].address, descriptor.piece[i].bytes);
      memory_.load(descriptor.piece[i].address, burst.data() + at, descriptor.piece[i].bytes);
    }
    FrameHeaders headers;
    if (FrameHeaders::read(burst.data(), burst.size(), burst.size(), headers) != nullptr)
      throw std::runtime_error("fake Ethernet: no frame");
    const bool cut = (descriptor.flags & abi::EthernetTransmitDescriptor::kSegment) != 0;
    const bool sums = (descriptor.flags & abi::EthernetTransmitDescriptor::kChecksum) != 0;
    const std::uint32_t step = cut ? descriptor.segment_size : headers.payload;
    std::uint32_t at = 0;
    do {
      const std::uint32_t length = std::min(step, headers.payload - at);
      FrameHeaders slice = headers;
      slice.tcp = tcp_slice(headers.tcp, at, at + length == headers.payload);
      slice.payload = length;
      slice.ipv4.identification += static_cast<std::uint16_t>(step == 0 ? 0 : at / step);
      const std::uint8_t* const payload = burst.data() + descriptor.header_bytes + at;
      const std::uint8_t* const tcp = burst.data() + EthernetHeader::kBytes + Ipv4Header::kBytes;
      leave(slice, sums ? tcp_checksum(slice, payload) : tcp_checksum_field(tcp), payload);
      at += length;
    } while (at < headers.payload);
  }
  void leave(const FrameHeaders& headers, std::uint16_t checksum, const std::uint8_t* payload) {
    FrameHeaders::Image image{};
    headers.write(image, checksum);
    Frame frame(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(headers.bytes()));
    frame.insert(frame.end(), payload, payload + headers.payload);
    const Fate what = fate ? fate(frame) : Fate::kArrives;
    if (what == Fate::kDamaged) frame.back() ^= 1;
    frames.push_back(frame);
    wire_free_ = std::max(wire_free_ + frame_time, scheduler_.now());
    if (what != Fate::kLost)
      scheduler_.at(wire_free_ + wire_latency,
                    call<&FakeEthernet::arrive>(this, frames.size() - 1));
  }
  void ask_guard(bool write, PhysicalAddress at, std::uint64_t bytes) const {
    for (std::uint64_t done = 0; guard != nullptr && done != bytes;) {
      const std::uint64_t part = std::min<std::uint64_t>(bytes - done, 4096);
      guard->check({write, PhysicalAddress(at.value() + done), Bytes(part), DmaPurpose::kFrame, {}},
                   scheduler_.now());
      done += part;
    }
  }
  void arrive(std::uint64_t index) { peer->receive(frames[index]); }

  std::uint32_t queue_for(const FrameHeaders& headers) const {
    for (const auto& [number, rule] : rules)
      if (rule.source == headers.ipv4.source && rule.source_port == headers.tcp.source_port &&
          rule.destination_port == headers.tcp.destination_port)
        return rule.queue;
    return receive_queues_[steer ? steer(headers) : 0];
  }
  void receive(const Frame& frame) {
    FrameHeaders headers;
    FrameHeaders::read(frame.data(), frame.size(), frame.size(), headers);
    const std::uint32_t number = queue_for(headers);
    Queue& queue = queues_[number];
    abi::EthernetReceiveCompletion entry;
    entry.bytes = static_cast<std::uint32_t>(frame.size());
    entry.first = queue.consumer;
    const std::uint8_t* const payload = frame.data() + headers.bytes();
    const std::uint8_t* const tcp = frame.data() + EthernetHeader::kBytes + Ipv4Header::kBytes;
    if (tcp_checksum(headers, payload) == tcp_checksum_field(tcp))
      entry.flags = abi::EthernetReceiveCompletion::kChecksumGood;
    std::size_t at = 0;
    while (at < frame.size()) {
      if (queue.consumer == queue.producer) {
        queue.consumer = entry.first;
        ++no_buffer;
        return;
      }
      const auto image = load<abi::EthernetReceiveDescriptor::kBytes>(
          queue.context.ring, queue.index(queue.consumer++));
      const auto buffer = abi::EthernetReceiveDescriptor::read(image.data());
      const std::size_t n = std::min<std::size_t>(buffer.bytes, frame.size() - at);
      ask_guard(true, buffer.address, n);
      store(buffer.address, frame.data() + at, n);
      at += n;
      ++entry.descriptors;
    }
    complete(number, entry);
  }

  Scheduler& scheduler_;
  Memory& memory_;
  InterruptController& interrupts_;
  std::map<std::uint32_t, Queue> queues_;
  std::vector<std::uint32_t> receive_queues_;
  std::uint64_t timers_ = 0;
  Time wire_free_;
};

}  // namespace rnicsim::test

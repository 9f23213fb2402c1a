// SPDX-License-Identifier: MIT
#include "host/kernel/ethernet_queues.h"

#include "model/invariant.h"

namespace rnicsim {

Errno EthernetRings::create(CpuTask& task, Driver& driver, abi::EthernetQueueContext context,
                            std::uint32_t descriptor_bytes, std::uint32_t completion_bytes) {
  guard_ = &driver.guard();
  descriptor_bytes_ = descriptor_bytes;
  completion_bytes_ = completion_bytes;
  const auto ring = frames_.allocate_kernel(Bytes(std::uint64_t{descriptor_bytes} << log_entries_));
  const auto completions =
      frames_.allocate_kernel(Bytes(std::uint64_t{completion_bytes} << log_entries_));
  if (!ring || !completions) return Errno::kNoMemory;
  ring_ = *ring;
  completions_ = *completions;
  // The owner bit, as the NIC leaves it in its second round.
  const std::uint8_t theirs = 1;
  for (std::uint64_t i = 1; i <= entries(); ++i)
    memory_.store(PhysicalAddress(completions_.value() + i * completion_bytes - 1), &theirs, 1);
  context.log_entries = log_entries_;
  context.ring = ring_;
  context.completions = completions_;
  return driver.create_ethernet_queue(task, number_, context);
}

// ---- Transmit ----------------------------------------------------------------------------------

Errno TransmitRing::open(CpuTask& task, Driver& driver, const abi::EthernetQueueContext& context) {
  const auto headers = frames_.allocate_kernel(Bytes(std::uint64_t{kHeaderRoom} << log_entries_));
  if (!headers) return Errno::kNoMemory;
  headers_ = *headers;
  slots_.assign(entries(), Slot{});
  driver.guard().lend(headers_, Bytes(std::uint64_t{kHeaderRoom} << log_entries_), false);
  return create(task, driver, context, abi::EthernetTransmitDescriptor::kBytes,
                abi::EthernetTransmitCompletion::kBytes);
}

void TransmitRing::post(const TransmitFrame& frame) {
  const PhysicalAddress headers(headers_.value() +
                                std::uint64_t{producer_ % entries()} * kHeaderRoom);
  memory_.store(headers, frame.headers.data(), frame.header_bytes);
  abi::EthernetTransmitDescriptor descriptor;
  descriptor.flags = frame.flags;
  descriptor.pieces = static_cast<std::uint8_t>(frame.pieces + 1);
  descriptor.segment_size = frame.segment_size;
  descriptor.header_bytes = frame.header_bytes;
  descriptor.piece[0] = {headers, frame.header_bytes};
  for (std::size_t i = 0; i < frame.pieces; ++i) {
    descriptor.piece[i + 1] = frame.piece[i];
    guard_->lend(frame.piece[i].address, Bytes(frame.piece[i].bytes), false);
  }
  std::array<std::uint8_t, abi::EthernetTransmitDescriptor::kBytes> image{};
  descriptor.write(image.data());
  memory_.store(this->descriptor(producer_), image.data(), image.size());
  slots_[producer_ % entries()] = {frame.owner, frame.position, frame.length};
  ++producer_;
}

bool TransmitRing::has_entry() const {
  std::array<std::uint8_t, abi::EthernetTransmitCompletion::kBytes> image{};
  memory_.load(completion(), image.data(), image.size());
  return is_ours(abi::EthernetTransmitCompletion::read(image.data()).owner);
}

void TransmitRing::take_entries() {
  while (has_entry()) {
    std::array<std::uint8_t, abi::EthernetTransmitCompletion::kBytes> image{};
    memory_.load(completion(), image.data(), image.size());
    const std::uint32_t done = abi::EthernetTransmitCompletion::read(image.data()).done;
    for (; done_ != done; ++done_) take_back(done_);
    ++consumer_;
  }
}

TransmitRing::Planes TransmitRing::sent() const {
  Planes planes{};
  for (std::uint32_t i = released_; i != done_; ++i)
    ++planes[static_cast<unsigned>(slots_[i % entries()].plane())];
  return planes;
}

/// Its frame has left: the pieces of payload, the headers stay the ring's.
void TransmitRing::take_back(std::uint32_t index) {
  std::array<std::uint8_t, abi::EthernetTransmitDescriptor::kBytes> image{};
  memory_.load(descriptor(index), image.data(), image.size());
  const auto sent = abi::EthernetTransmitDescriptor::read(image.data());
  for (std::size_t i = 1; i < sent.pieces; ++i)
    guard_->take_back(sent.piece[i].address, Bytes(sent.piece[i].bytes), false);
}

// ---- Receive -----------------------------------------------------------------------------------

Errno ReceiveRing::open(CpuTask& task, Driver& driver, const abi::EthernetQueueContext& context) {
  slots_.assign(entries(), nullptr);
  return create(task, driver, context, abi::EthernetReceiveDescriptor::kBytes,
                abi::EthernetReceiveCompletion::kBytes);
}

void ReceiveRing::post(KernelBuffer* buffer, Bytes size) {
  std::array<std::uint8_t, abi::EthernetReceiveDescriptor::kBytes> image{};
  abi::EthernetReceiveDescriptor{buffer->page, static_cast<std::uint32_t>(size.count())}.write(
      image.data());
  memory_.store(descriptor(producer_), image.data(), image.size());
  buffer_bytes_ = size;
  guard_->lend(buffer->page, size, true);
  slots_[producer_ % entries()] = buffer;
  ++producer_;
}

abi::EthernetReceiveCompletion ReceiveRing::peek() const {
  std::array<std::uint8_t, abi::EthernetReceiveCompletion::kBytes> image{};
  memory_.load(completion(), image.data(), image.size());
  return abi::EthernetReceiveCompletion::read(image.data());
}

KernelBufferList ReceiveRing::take() {
  const abi::EthernetReceiveCompletion entry = peek();
  ++consumer_;
  KernelBufferList list;
  for (std::uint32_t i = 0; i < entry.descriptors; ++i) {
    KernelBuffer*& slot = slots_[(entry.first + i) % entries()];
    if (slot == nullptr)
      throw InvariantBroken("ethernet_rings", Time(), "a frame in a buffer that was not posted");
    guard_->take_back(slot->page, buffer_bytes_, true);
    list.push(slot);
    slot = nullptr;
  }
  return list;
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The rings of plain Ethernet in host RAM as the driver has them (model/ethernet_abi): what stands
// in them and where, without time and without registers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "host/cpu_usage.h"
#include "host/driver.h"
#include "host/frame_allocator.h"
#include "host/kernel/frame_bytes.h"
#include "host/kernel/kernel_buffers.h"
#include "host/kernel/kernel_context.h"
#include "host/memory.h"
#include "host/result.h"
#include "model/ethernet_abi.h"

namespace rnicsim {

/// What both directions have: a ring of descriptors and one of completion entries. What stands in
/// descriptors is lent to the NIC (host/dma_guard) until its entry has been taken.
class EthernetRings {
 public:
  EthernetRings(Memory& memory, FrameAllocator& frames, std::uint32_t number,
                std::uint8_t log_entries)
      : memory_(memory), frames_(frames), number_(number), log_entries_(log_entries) {}

  std::uint32_t number() const { return number_; }
  std::uint32_t entries() const { return 1U << log_entries_; }
  std::uint32_t producer() const { return producer_; }
  std::uint32_t consumer() const { return consumer_; }

 protected:
  /// Rings in kernel memory, all completion entries the NIC's; then the NIC is told.
  Errno create(CpuTask& task, Driver& driver, abi::EthernetQueueContext context,
               std::uint32_t descriptor_bytes, std::uint32_t completion_bytes);
  PhysicalAddress descriptor(std::uint32_t index) const {
    return PhysicalAddress(ring_.value() + std::uint64_t{index % entries()} * descriptor_bytes_);
  }
  PhysicalAddress completion() const {
    return PhysicalAddress(completions_.value() +
                           std::uint64_t{consumer_ % entries()} * completion_bytes_);
  }
  bool is_ours(bool owner) const { return owner == ((consumer_ >> log_entries_ & 1) != 0); }

  Memory& memory_;
  FrameAllocator& frames_;
  DmaGuard* guard_ = nullptr;  ///< once it is open
  std::uint32_t number_;
  std::uint8_t log_entries_;
  std::uint32_t descriptor_bytes_ = 0;
  std::uint32_t completion_bytes_ = 0;
  PhysicalAddress ring_;
  PhysicalAddress completions_;
  std::uint32_t producer_ = 0;  ///< descriptors written
  std::uint32_t consumer_ = 0;  ///< completion entries taken
};

/// Whose data frames carry, told when the NIC has read them: from then on their memory may change.
class FrameOwner {
 public:
  virtual ~FrameOwner() = default;
  virtual CpuPlane plane() const = 0;
  /// A frame with `length` bytes of the stream from `position` on.
  virtual void left(std::uint64_t position, std::uint32_t length, KernelContext& context) = 0;
};

/// A frame or burst to send: the bytes of its headers and where its payload stands.
struct TransmitFrame {
  static constexpr std::size_t kMaxPieces = abi::EthernetTransmitDescriptor::kMaxPieces - 1;
  FrameHeaders::Image headers;
  std::uint16_t header_bytes = 0;
  std::uint16_t segment_size = 0;
  std::uint8_t flags = 0;
  std::uint8_t pieces = 0;
  std::array<abi::EthernetTransmitDescriptor::Piece, kMaxPieces> piece;
  FrameOwner* owner = nullptr;  ///< of the connection; null: of none
  std::uint64_t position = 0;   ///< of its payload in the stream
  std::uint32_t length = 0;
};

/// The headers of a frame stand in kernel memory that belongs to its descriptor.
class TransmitRing : public EthernetRings {
 public:
  struct Slot {
    FrameOwner* owner = nullptr;
    std::uint64_t position = 0;
    std::uint32_t length = 0;
    CpuPlane plane() const { return owner != nullptr ? owner->plane() : CpuPlane::kControl; }
  };
  using EthernetRings::EthernetRings;
  Errno open(CpuTask& task, Driver& driver, const abi::EthernetQueueContext& context);

  bool has_room() const { return producer_ - released_ < entries(); }
  /// REQUIRES: has_room().
  void post(const TransmitFrame& frame);
  /// Takes all completion entries there are.
  void take_entries();
  bool has_entry() const;
  using Planes = std::array<std::uint32_t, kCpuPlanes>;
  /// Descriptors that the entries taken give back, of each plane.
  Planes sent() const;
  /// REQUIRES: something was posted that has not been given back.
  CpuPlane plane_of_oldest() const { return slots_[released_ % entries()].plane(); }
  /// Gives back the descriptors of all entries taken: calls left(slot) for each, in order.
  template <class Left>
  void release(Left left) {
    while (released_ != done_) {
      const Slot slot = slots_[released_++ % entries()];
      left(slot);
    }
  }

 private:
  static constexpr std::uint32_t kHeaderRoom = 128;
  void take_back(std::uint32_t index);
  PhysicalAddress headers_;
  std::vector<Slot> slots_;
  std::uint32_t done_ = 0;      ///< descriptors that the NIC is through with
  std::uint32_t released_ = 0;  ///< of these, given back
};

class ReceiveRing : public EthernetRings {
 public:
  using EthernetRings::EthernetRings;
  Errno open(CpuTask& task, Driver& driver, const abi::EthernetQueueContext& context);

  /// Whether the oldest descriptor's place is free.
  bool has_room() const { return slots_[producer_ % entries()] == nullptr; }
  /// REQUIRES: has_room().
  void post(KernelBuffer* buffer, Bytes size);
  bool has_entry() const { return is_ours(peek().owner); }
  /// REQUIRES: has_entry(), as for what follows.
  abi::EthernetReceiveCompletion peek() const;
  /// Of the frame of the entry.
  PhysicalAddress first_byte(const abi::EthernetReceiveCompletion& entry) const {
    return slots_[entry.first % entries()]->page;
  }
  /// The buffers that the frame of the entry stands in.
  KernelBufferList take();
  PhysicalAddress next_entry() const { return completion(); }

 private:
  std::vector<KernelBuffer*> slots_;
  Bytes buffer_bytes_;  ///< of each
};

}  // namespace rnicsim

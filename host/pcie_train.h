// SPDX-License-Identifier: MIT
// What crosses one direction of a PCIe link: trains of TLPs. A train is all TLPs of one DMA request
// in this direction.
#pragma once

#include <cstdint>

#include "model/units.h"

namespace rnicsim {

enum class TlpClass : std::uint8_t { kPosted, kNonPosted, kCompletion };
inline constexpr unsigned kTlpClasses = 3;

/// When the bytes of a train left the sender.
struct TrainTimes {
  Time start;      ///< first byte
  Time first_end;  ///< last byte of the first TLP
  Time end;        ///< last byte of the last TLP
};

/// Who is told that a train arrived.
struct TrainReceiver {
  void (*function)(void* object, std::uint64_t cookie, const TrainTimes& times) = nullptr;
  void* object = nullptr;
};

template <auto Method, class T>
TrainReceiver deliver_to(T* object) {
  return {[](void* o, std::uint64_t cookie, const TrainTimes& times) {
            (static_cast<T*>(o)->*Method)(cookie, times);
          },
          object};
}

/// All TLPs but the last are of the largest size: a write across a 4 KiB boundary is two trains.
struct Train {
  TlpClass kind = TlpClass::kPosted;
  std::uint32_t tlps = 0;
  std::uint32_t bytes = 0;         ///< payload and overhead of all TLPs
  std::uint32_t data_credits = 0;  ///< of all TLPs
  std::uint32_t tlp_bytes = 0;     ///< of the largest TLP of the train
  std::uint32_t tlp_credits = 0;   ///< data credits of the largest TLP
  Time eligible;                   ///< not before this time; a past one means now
  TrainReceiver receiver;
  std::uint64_t cookie = 0;
};

}  // namespace rnicsim

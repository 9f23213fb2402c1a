// SPDX-License-Identifier: MIT
// What a DMA request carries besides address, length and data on a TLM-2.0 socket: who asked, with
// which ordering attributes, for what, and when its first and last byte passed. One generic payload
// is one DMA request, at most 4 KiB; the extension stays on its pooled payload.
#pragma once

#include <tlm>

#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

/// The NIC's DMA engines. Requests of one engine stay in order; engines take turns, TLP by TLP.
/// All writes share one engine, so that no completion entry ever passes its data.
enum class DmaEngineId : std::uint8_t { kPosted, kPayloadRead, kQueueRead, kTableRead };
inline constexpr unsigned kDmaEngines = 4;

/// What the bytes are for; memory and link count them by it.
enum class DmaPurpose : std::uint8_t {
  kPayload,
  kSendQueue,
  kCompletionQueue,
  kDoorbellRecord,
  kTranslationTable,
  kKeyTable,
  kQpContext,
  kCqContext,
  kCommand,
  kMmio,
  kReceiveQueue,
  kSrqContext,
  kEventQueue,
  kInterrupt,
  kAtomic,
  kFrame,       ///< of plain Ethernet: headers and payload
  kFrameQueue,  ///< its descriptors and completion entries
};
inline constexpr unsigned kDmaPurposes = 17;
const char* name_of(DmaPurpose purpose);

struct DmaExtension : tlm::tlm_extension<DmaExtension> {
  DmaEngineId engine = DmaEngineId::kPosted;
  DmaPurpose purpose = DmaPurpose::kPayload;
  std::uint16_t tag = 0;          ///< first of the tags that the request holds
  bool relaxed_ordering = false;  ///< TLP attribute RO; never set on queue entries
  bool no_snoop = false;
  bool elided = false;  ///< account the bytes, move none
  /// Set by a side that schedules through model/scheduler only: the other need not ask the kernel
  /// what a call to it may have scheduled there.
  bool scheduled_initiator = false;
  bool scheduled_target = false;
  WorkRequestId work_request;
  Time first_byte;  ///< set by the link: first byte at its receiver
  Time last_byte;   ///< set by the link: last byte at its receiver

  tlm::tlm_extension_base* clone() const override { return new DmaExtension(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override {
    *this = static_cast<const DmaExtension&>(other);
  }
};

}  // namespace rnicsim

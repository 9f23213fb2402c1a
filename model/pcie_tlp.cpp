// SPDX-License-Identifier: MIT
#include "model/pcie_tlp.h"

namespace rnicsim {

const char* name_of(DmaPurpose purpose) {
  switch (purpose) {
    case DmaPurpose::kPayload:
      return "payload";
    case DmaPurpose::kSendQueue:
      return "send_queue";
    case DmaPurpose::kCompletionQueue:
      return "completion_queue";
    case DmaPurpose::kDoorbellRecord:
      return "doorbell_record";
    case DmaPurpose::kTranslationTable:
      return "translation_table";
    case DmaPurpose::kKeyTable:
      return "key_table";
    case DmaPurpose::kQpContext:
      return "qp_context";
    case DmaPurpose::kCqContext:
      return "cq_context";
    case DmaPurpose::kCommand:
      return "command";
    case DmaPurpose::kMmio:
      return "mmio";
    case DmaPurpose::kReceiveQueue:
      return "receive_queue";
    case DmaPurpose::kSrqContext:
      return "srq_context";
    case DmaPurpose::kEventQueue:
      return "event_queue";
    case DmaPurpose::kInterrupt:
      return "interrupt";
    case DmaPurpose::kAtomic:
      return "atomic";
    case DmaPurpose::kFrame:
      return "frame";
    case DmaPurpose::kFrameQueue:
      return "frame_queue";
  }
  return "?";
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// A request packet between the responder's pipeline and its answer: what has been found out about
// it, what becomes of it, what is still to be done before it leaves. Made when it is its turn to be
// judged; the blocks of the responder hand it from one to the next.
#pragma once

#include "model/nic_abi.h"
#include "model/packet.h"
#include "nic/atomic_unit.h"
#include "nic/key_checker.h"
#include "nic/receive_pool.h"
#include "nic/reorder_buffer.h"

namespace rnicsim {

struct InboundRequest {
  enum class Verdict : std::uint8_t {
    kTake,         ///< its payload is written
    kAcknowledge,  ///< it came before, and is acknowledged again
    kNak,
    kRead,
    kAtomic,
    kAgain,  ///< an atomic that is answered from its saved result
    kKept,   ///< it came before others of smaller PSN: the reorder buffer has it
    kDrop
  };
  PacketRef packet;
  Time ready;  ///< when its present stage is done
  KeyCheck check;
  bool check_begun = false;
  bool part_begun = false;      ///< `check` is of the receive's part that begins at `looked_up`
  std::uint32_t looked_up = 0;  ///< bytes of a SEND whose pages have been looked up
  bool again = false;           ///< a READ that has been answered before
  bool refused_late = false;    ///< its key went, or its memory cannot be written
  bool cqe_due = false;
  bool executed = false;      ///< an atomic
  bool invalidates = false;   ///< takes a key away, and has not yet
  bool invalidating = false;  ///< the operation is under way
  bool class_j = false;       ///< it was refused
  Verdict verdict = Verdict::kTake;
  KeyFault fault = KeyFault::kNone;
  Aeth aeth;
  Psn ack_psn;
  Hole missing;  ///< selective repeat: PSNs that it shows to be missing, to be named by NAKs
  Time key_since;
  VirtualAddress address;  ///< where its payload goes
  ReceivePool::Handle receive = 0;
  std::uint64_t offset = 0;  ///< of a SEND's payload in its message
  abi::Cqe cqe;
  AtomicUnit::Ticket ticket = 0;
  std::uint64_t original = 0;

  Qpn qpn() const { return packet->bth.dest_qp; }
  void release() { packet = {}; }
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// What the NIC keeps of a queue pair beside its context (model/nic_abi, in the context cache):
// prefetched WQEs, the message being sent, messages sent and not acknowledged, the message being
// received.
//
// Approximates: this window is not part of the context that is evicted and fetched again; a real
// NIC re-reads WQEs of unacknowledged messages from the send queue when it must.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/nic_abi.h"
#include "model/ring.h"
#include "model/units.h"
#include "nic/host_table_cache.h"

namespace rnicsim {

using QpContextCache = HostTableCache<abi::QpContext>;

/// A WQE taken apart.
struct SendWqe {
  static constexpr std::size_t kMaxSegments = 16;
  std::uint16_t block = 0;  ///< index of its first basic block
  std::uint16_t blocks = 0;
  abi::WqeOpcode opcode = abi::WqeOpcode::kNop;
  bool signaled = false;
  bool malformed = false;
  abi::RemoteAddressSegment remote;
  std::uint8_t segment_count = 0;
  std::array<abi::DataSegment, kMaxSegments> segments;
  std::uint16_t inline_at = 0;  ///< byte offset in the WQE of inline data, if inline_bytes != 0
  std::uint16_t inline_bytes = 0;
  std::uint64_t length = 0;     ///< of the message
  std::uint16_t gathering = 0;  ///< its packets whose payload reads have not all been issued
  WorkRequestId id;
  Time decoded;  ///< may be sent from then on

  /// Takes the bytes of one whole WQE apart.
  static SendWqe decode(const std::uint8_t* wqe, const abi::ControlSegment& control);
};

/// A message that has been sent, wholly or not at all if it failed at home.
struct OutstandingMessage {
  Psn last_psn;
  std::uint16_t wqe_index = 0;
  abi::WqeOpcode opcode = abi::WqeOpcode::kNop;
  bool signaled = false;
  CompletionStatus local_error = CompletionStatus::kSuccess;
  std::uint32_t bytes = 0;
  WorkRequestId id;
};

struct NicQueuePair {
  /// Prefetched basic blocks, addressed by block index modulo their number.
  static constexpr std::uint32_t kPrefetchBlocks = 64;

  explicit NicQueuePair(Qpn number)
      : qpn(number), prefetch(kPrefetchBlocks * abi::kWqeBlockBytes) {}
  Qpn qpn;

  // WQE fetch
  std::vector<std::uint8_t> prefetch;
  std::uint16_t oldest_block = 0;   ///< first block still needed
  std::uint16_t decoded_block = 0;  ///< first block not yet part of a decoded WQE
  bool fetching = false;
  bool waits_for_fetch = false;

  // Requester
  Ring<SendWqe> to_send;        ///< decoded; the front leaves when cut up and gathered
  std::uint32_t first_wqe = 0;  ///< number of to_send.front(), counting decoded WQEs
  std::uint32_t sending = 0;    ///< number of the WQE being cut into packets
  std::uint64_t offset = 0;     ///< bytes of it already given to packets
  bool started = false;         ///< a packet of it has been made
  bool queued = false;          ///< stands in the transmit scheduler
  bool send_stopped = false;    ///< a message failed at home; nothing more is sent
  Time next_wqe_at;
  std::uint32_t since_ack_request = 0;
  std::uint32_t epoch = 0;  ///< packets in the transmit window of an earlier epoch are void

  // Completer
  Ring<OutstandingMessage> outstanding;
  bool flushing = false;
  Cqn flush_cqn;

  // Responder
  bool receiving = false;       ///< inside a message of several packets
  bool receive_failed = false;  ///< a request was refused: those behind it write nothing
  bool nak_sent = false;        ///< a sequence-error NAK is out; no other until it is mended
  MemoryKey receive_key;
  VirtualAddress receive_address;
  std::uint64_t receive_left = 0;

  // Receive queue
  std::uint32_t receive_queue = 0;  ///< place of its own ring in nic/receive_queue, 0: none yet
  std::uint64_t receive_asked = 0;  ///< doorbell record read that a packet waits for, 0: none
  std::uint64_t flush_asked = 0;    ///< and that the flushing of receives waits for

  SendWqe& wqe(std::uint32_t number) { return to_send.at(number - first_wqe); }
  bool has_wqe_to_send() const { return sending - first_wqe < to_send.size(); }
  /// Drops WQEs that are cut up and gathered, and with them their prefetched blocks.
  void retire_wqes();
  /// Makes void what stands in the transmit window.
  void void_window();
  /// Everything but the number and the buffers, as after creation.
  void reset(std::uint16_t first_block);
};

class QueuePairTable {
 public:
  /// The record of a queue pair number, made when first asked for.
  NicQueuePair& at(Qpn qpn) {
    if (qpn.value() >= table_.size()) table_.resize(qpn.value() + 1);
    auto& entry = table_[qpn.value()];
    if (entry == nullptr) entry = std::make_unique<NicQueuePair>(qpn);
    return *entry;
  }

 private:
  std::vector<std::unique_ptr<NicQueuePair>> table_;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// What the NIC keeps of a queue pair beside its context (model/nic_abi, in the context cache):
// prefetched WQEs, the message being sent, messages sent and not acknowledged, READs not answered,
// the message being received, responses owed. WQEs of messages that have to be sent again are
// fetched from the send queue again.
//
// Approximates: this state is not part of the context that is evicted and fetched again.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/headers.h"
#include "model/nic_abi.h"
#include "model/ring.h"
#include "model/units.h"
#include "nic/congestion/congestion_control.h"
#include "nic/host_table_cache.h"
#include "nic/reorder_buffer.h"

namespace rnicsim {

using QpContextCache = HostTableCache<abi::QpContext>;

/// A WQE taken apart.
struct SendWqe {
  static constexpr std::size_t kMaxSegments = 16;
  std::uint16_t block = 0;  ///< index of its first basic block
  std::uint16_t blocks = 0;
  abi::WqeOpcode opcode = abi::WqeOpcode::kNop;
  bool signaled = false;
  bool solicited = false;
  bool fence = false;
  bool malformed = false;
  std::uint32_t immediate = 0;  ///< or the key to invalidate
  abi::RemoteAddressSegment remote;
  abi::AtomicSegment atomic;
  abi::DatagramSegment datagram;
  abi::BindSegment bind;
  std::uint8_t segment_count = 0;
  std::array<abi::DataSegment, kMaxSegments> segments;
  std::uint16_t inline_at = 0;  ///< byte offset in the WQE of inline data, if inline_bytes != 0
  std::uint16_t inline_bytes = 0;
  std::uint64_t length = 0;     ///< of the message
  std::uint16_t gathering = 0;  ///< its packets whose payload reads have not all been issued
  WorkRequestId id;
  Time decoded;  ///< may be sent from then on

  /// Takes the bytes of one whole WQE apart. `datagram`: its queue pair is of that kind.
  static SendWqe decode(const std::uint8_t* wqe, const abi::ControlSegment& control, bool datagram);
};

/// Whether the operation is answered with data, and how.
constexpr bool is_read(abi::WqeOpcode opcode) { return opcode == abi::WqeOpcode::kRdmaRead; }
constexpr bool is_atomic(abi::WqeOpcode opcode) {
  return opcode == abi::WqeOpcode::kAtomicCompareSwap || opcode == abi::WqeOpcode::kAtomicFetchAdd;
}
/// Executed by the NIC alone: no packet.
constexpr bool is_local(abi::WqeOpcode opcode) {
  return opcode == abi::WqeOpcode::kNop || opcode == abi::WqeOpcode::kBindWindow ||
         opcode == abi::WqeOpcode::kLocalInvalidate;
}

/// A message that has been sent, wholly or not at all if it failed at home.
struct OutstandingMessage {
  Psn first_psn;
  Psn last_psn;  ///< of a READ, that of the last response
  std::uint16_t wqe_index = 0;
  std::uint16_t wqe_blocks = 0;
  abi::WqeOpcode opcode = abi::WqeOpcode::kNop;
  bool signaled = false;
  CompletionStatus local_error = CompletionStatus::kSuccess;
  std::uint32_t bytes = 0;
  WorkRequestId id;
  bool has_answer() const { return is_read(opcode) || is_atomic(opcode); }
};

/// A READ or atomic whose answer has not come whole.
struct OutstandingRead {
  Psn next_psn;  ///< of the response that is expected
  Psn last_psn;
  bool atomic = false;
  std::uint32_t length = 0;  ///< of the whole message
  std::uint32_t received = 0;
  std::uint32_t scattering = 0;  ///< responses that are on their way to host memory
  bool answered = false;         ///< the last response has come
  bool asked_again = false;      ///< since a response last came, because a later one came
  CompletionStatus local_error = CompletionStatus::kSuccess;  ///< of writing what has come
  std::uint8_t segment_count = 0;
  std::array<abi::DataSegment, SendWqe::kMaxSegments> segments;
  WorkRequestId id;
  bool done() const { return answered && scattering == 0; }
};

/// What the responder owes: an acknowledgement, or the data of a READ, a packet at a time.
struct OwedResponse {
  enum class Kind : std::uint8_t { kAcknowledge, kRead, kAtomic };
  Kind kind = Kind::kAcknowledge;
  bool again = false;  ///< it has been answered before
  Aeth aeth;
  Psn psn;  ///< of the next packet
  MemoryKey key;
  VirtualAddress address;
  std::uint32_t length = 0;  ///< of the READ
  std::uint32_t offset = 0;  ///< of it already given to packets
  std::uint64_t original = 0;
  WorkRequestId id;
};

/// The answer to an atomic, kept for a request that comes again.
struct SavedAtomic {
  Psn psn;
  std::uint64_t original = 0;
  bool known = false;
};

/// What is to be sent again alone (nic/repeater), and the WQE that it is cut from.
struct Repeats {
  struct Range {
    Psn psn;
    std::uint32_t count = 0;  ///< more than one only of a READ's responses
  };
  Ring<Range> wanted;
  SendWqe wqe;
  OutstandingMessage message;  ///< whose WQE it is, or is being fetched
  std::array<std::uint8_t, abi::kMaxWqeBytes> bytes{};
  std::uint8_t fetching = 0;  ///< DMA reads of it that are under way
  bool fetch_void = false;    ///< what they bring is not wanted any more
  bool here = false;
};

struct NicQueuePair {
  /// Prefetched basic blocks, addressed by block index modulo their number.
  static constexpr std::uint32_t kPrefetchBlocks = 64;

  explicit NicQueuePair(Qpn number)
      : qpn(number), prefetch(kPrefetchBlocks * abi::kWqeBlockBytes) {}
  Qpn qpn;

  std::unique_ptr<CongestionFlow> flow;  ///< congestion control's; null: it has nothing to say

  // WQE fetch
  std::vector<std::uint8_t> prefetch;
  std::uint16_t oldest_block = 0;   ///< first block still needed
  std::uint16_t decoded_block = 0;  ///< first block not yet part of a decoded WQE
  bool fetching = false;
  bool fetch_void = false;  ///< what the present fetch brings is not what is wanted any more
  bool waits_for_fetch = false;

  // Requester
  Ring<SendWqe> to_send;        ///< decoded; the front leaves when cut up and gathered
  std::uint32_t first_wqe = 0;  ///< number of to_send.front(), counting decoded WQEs
  std::uint32_t sending = 0;    ///< number of the WQE being cut into packets
  std::uint64_t offset = 0;     ///< bytes of it already given to packets
  Psn message_psn;              ///< its first
  bool started = false;         ///< a packet of it has been made
  bool resumed = false;         ///< `resumed_message` goes on at `offset` when it has been fetched
  OutstandingMessage resumed_message;
  Psn resumed_at;                 ///< its packets before have been sent
  bool queued = false;            ///< stands in the transmit scheduler
  Time turn_due = Time::never();  ///< when it may send, if that is still to come
  std::uint8_t priority = 0;      ///< at the port, of the last packet made
  bool send_stopped = false;      ///< a message failed at home; nothing more is sent
  bool paused = false;            ///< waits for the time that an RNR NAK asked for
  bool waits_for_page = false;    ///< of a region paged on demand, at home
  bool executing = false;         ///< an operation on keys; nothing more is sent until it is done
  WorkRequestId executing_id;     ///< which one, unless the queue pair was reset meanwhile
  WorkRequestId executed;         ///< the last one done: not done again when WQEs are fetched again
  Time next_wqe_at;
  std::uint32_t since_ack_request = 0;
  std::uint32_t epoch = 0;     ///< packets in the transmit window of an earlier epoch are void
  std::uint32_t begun = 0;     ///< work requests before this one have had their turn
  std::uint32_t ended = 0;     ///< work requests before this one are complete
  bool tells_drained = false;  ///< software waits for the event

  std::uint32_t port_epoch = 0;  ///< the same of packets that wait for the wire

  // Completer
  Ring<OutstandingMessage> outstanding;
  Ring<OutstandingRead> reads;
  ReorderWindow early_answers;
  PacketRef early_acknowledge;  ///< the last one that is for work behind answers that are missing
  std::uint32_t scatter_epoch = 0;  ///< answers from before a reset are not written any more
  Psn acked;  ///< everything before has been acknowledged (but for READs that `reads` still has)
  bool failed = false;  ///< in error: `failure` for the oldest message, flushed for the others
  CompletionStatus failure = CompletionStatus::kFlushed;
  bool flushing = false;    ///< a message has not succeeded: none behind it does
  bool completing = false;  ///< stands in the completer's queue
  Cqn send_cqn;
  Cqn receive_cqn;
  bool completes_at(Cqn cqn) const { return send_cqn == cqn || receive_cqn == cqn; }

  // Retransmission
  Time timeout = Time::never();   ///< local ACK timeout
  Time deadline = Time::never();  ///< of the oldest message's acknowledgement
  bool timer_armed = false;
  std::uint8_t retries = 0;  ///< since the last progress
  std::uint8_t rnr_retries = 0;
  std::uint32_t timer_generation = 0;
  std::unique_ptr<Repeats> repeats;  ///< made when first needed
  bool repeat_ready = false;         ///< the first of them can be cut
  std::uint32_t repeat_epoch = 0;    ///< packets sent again of an earlier epoch are void
  bool recovering = false;           ///< selective repeat, since a timeout: until `recover_until`
  Psn recover_until;

  // Responder
  bool receiving = false;               ///< inside a message of several packets
  bool receiving_send = false;          ///< it is a SEND
  bool receive_on_demand = false;       ///< its region is paged on demand
  bool receive_failed = false;          ///< a request was refused: those behind it write nothing
  std::uint64_t receive_failed_at = 0;  ///< the responder's number of it
  std::uint32_t failed_receive = 0;     ///< handle of the receive that the refused packet went to
  bool nak_sent = false;  ///< a sequence-error NAK is out; no other until it is mended
  Psn receive_first_psn;  ///< of the message that is being received
  MemoryKey receive_key;
  VirtualAddress receive_address;
  std::uint64_t receive_left = 0;
  std::uint32_t receive = 0;            ///< handle of the receive that a SEND goes to, 0: none
  std::uint64_t received = 0;           ///< bytes of the message so far
  Ring<OwedResponse> owed;              ///< in PSN order
  bool responding = false;              ///< stands in the read responder's turns
  Time turn_entered;                    ///< its last turn of the read responder
  Time answer_due = Time::never();      ///< when it may, if that is still to come
  std::uint32_t answers_under_way = 0;  ///< responses made from `owed` and not yet at the port
  std::uint32_t response_epoch = 0;     ///< answers being gathered of an earlier epoch are void
  std::uint32_t answer_epoch = 0;       ///< the same of those that wait for the wire
  Psn answering_first;                  ///< of the READ whose answers were begun last
  Psn answering_end;                    ///< first PSN behind them
  Ring<SavedAtomic> atomics;            ///< the last ones, oldest first
  ReorderWindow early_requests;
  bool flushing_receives = false;

  // Receive queue
  std::uint32_t receive_queue = 0;  ///< place of its own ring in nic/receive_queue, 0: none yet
  std::uint64_t receive_asked = 0;  ///< doorbell record read that a packet waits for, 0: none
  std::uint64_t flush_asked = 0;    ///< and that the flushing of receives waits for

  bool has_executed(WorkRequestId id) const { return executed && id.since(executed) <= 0; }
  /// A send queue that drains still sends work request `index`, for the first time or again.
  bool has_begun(std::uint32_t index) const { return static_cast<std::int32_t>(index - begun) < 0; }
  bool is_drained() const { return static_cast<std::int32_t>(ended - begun) >= 0; }
  SendWqe& wqe(std::uint32_t number) { return to_send.at(number - first_wqe); }
  /// Nothing holds up what has not been sent yet.
  bool may_send_new() const { return !send_stopped && !paused && !waits_for_page && !executing; }
  bool has_wqe_to_send() const { return sending - first_wqe < to_send.size(); }
  /// Null: it needs no answer, or has completed.
  OutstandingRead* find_read(WorkRequestId id);
  /// Drops WQEs that are cut up and gathered, and with them their prefetched blocks.
  void retire_wqes();
  /// Makes void what stands in the transmit window.
  void void_window();
  /// Forgets what was to be sent again alone.
  void void_repeats();
  /// The message that `psn` is of, if it has been sent (wholly or in part) and not completed.
  bool find_message(Psn psn, OutstandingMessage& message);
  /// The message that is being sent, or has been put back to be. False: there is none.
  bool partly_sent(OutstandingMessage& message);
  /// Forgets what has been fetched: block `block`, the work request `id`, is next.
  void refetch_from(std::uint16_t block);
  /// The send queue goes on after an error of its own (SQE to RTS).
  void restart_sending() {
    failed = flushing = send_stopped = false;
    failure = CompletionStatus::kFlushed;
  }
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

  std::size_t size() const { return table_.size(); }
  /// Null if it was never asked for.
  const NicQueuePair* find(Qpn qpn) const { return table_[qpn.value()].get(); }

 private:
  std::vector<std::unique_ptr<NicQueuePair>> table_;
};

}  // namespace rnicsim

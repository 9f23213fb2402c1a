// SPDX-License-Identifier: MIT
// The transmit side of the Ethernet port: owns the wire's rate and two queues, responses before
// requests (an acknowledgement never waits behind a message), computes the ICRC, and counts
// preamble, FCS and inter-packet gap as time on the wire.
//
// An idle port starts a packet at once; otherwise one event stands for the end of the present one.
// Approximates: the transmit buffer of a packet is free when its first bit leaves (one packet
// early).
#pragma once

#include <array>

#include "model/callback.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/packet.h"
#include "model/packet_tap.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "model/units.h"
#include "nic/epoch.h"

namespace rnicsim {

struct MacTxConfig {
  std::uint32_t response_queue = 64;
  void describe(Fields& fields);
};

class MacTx {
 public:
  enum class Queue : std::uint8_t { kResponse, kRequest };
  MacTx(Scheduler& scheduler, BitRate rate, const MacTxConfig& config)
      : scheduler_(scheduler),
        config_(config),
        wire_(rate),
        preamble_(wire_.byte_time().of(kPreambleBytes)),
        gap_(wire_.byte_time().of(kInterPacketGapBytes)) {}

  /// `request_started` runs when a request packet has begun to leave, with its payload's bytes as
  /// argument (whatever argument it was made with); `response_started` when a response has.
  void connect(PacketSink& link, Callback request_started, Callback response_started) {
    link_ = &link;
    request_started_ = request_started;
    response_started_ = response_started;
  }
  /// Whether one more packet may be queued. Requests are bounded by the requester's transmit
  /// buffer.
  bool has_room(Queue queue) const {
    return queue == Queue::kRequest ||
           queues_[static_cast<std::size_t>(queue)].size() < config_.response_queue;
  }
  /// Queues a packet that may leave from `ready` on (>= now). Within a queue order is kept. One
  /// whose epoch is over when its turn comes does not leave; its room is free as if it had.
  void enqueue(PacketRef packet, Time ready, Queue queue, Epoch epoch = {});
  bool idle() const { return queues_[0].empty() && queues_[1].empty(); }
  std::uint64_t sent() const { return packets_; }
  std::uint64_t sent_bytes() const { return bytes_.count(); }

  Probe probe;
  PacketTapPoint tap;
  void report(const MetricScope& scope) const;

 private:
  struct Waiting {
    PacketRef packet;
    Time ready;
    Epoch epoch;
  };
  void drop_void(Queue queue);
  void freed(Queue queue, Bytes payload);
  void arm();
  void start();
  void count_parts(const Packet& packet, Bytes frame);
  Ring<Waiting>* next_queue(Time at);

  Scheduler& scheduler_;
  MacTxConfig config_;
  PacketSink* link_ = nullptr;
  Callback request_started_;
  Callback response_started_;
  Serialiser wire_;
  Time preamble_;
  Time gap_;
  std::array<Ring<Waiting>, 2> queues_;
  Time armed_ = Time::never();
  std::uint64_t packets_ = 0;
  Bytes bytes_;
  Bytes wire_bytes_;
  Bytes payload_bytes_;
  Bytes padding_bytes_;
  Bytes network_bytes_;  ///< headers below BTH and above Ethernet
  Time busy_;
  std::uint64_t void_ = 0;
  Time waited_;  ///< ready packets waited for the wire
  std::size_t most_queued_ = 0;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The transmit side of the port, Ethernet's or InfiniBand's: owns the wire's rate and of each
// priority three queues: RDMA's responses before its requests (an acknowledgement never waits
// behind a message), and plain frames (TCP), which share a priority evenly with RDMA, byte by byte,
// as long as both have something ready. It computes the ICRC, and counts preamble, FCS and
// inter-packet gap as time on the wire. Pause frames that the receive side asks for go first;
// priorities that the other end has paused wait. On InfiniBand's links a priority is a virtual
// lane, and waits when its next packet has no credit; flow control packets go first.
//
// With `cut_through` a packet whose payload comes over PCIe begins to leave before it is whole: as
// early as the wire cannot overtake what PCIe brings even if the latter came without a gap at the
// end, so it never underruns. Before its payload is there nobody knows when it will be, so this is
// settled afterwards: a packet that finds the wire free gets the earlier time for its first bit,
// what left meanwhile went before it, and its last bit is never in the past.
//
// An idle port starts a packet at once; otherwise one event stands for the end of the present one.
// Approximates: the transmit buffer of a packet is free when its first bit leaves (one packet
// early). A response that comes while its virtual lane waits for credit goes when the packet that
// is waited for could, even if it is shorter. A packet that cuts through is known to the next
// device no sooner than its payload is whole here: if that cuts through too (a switch, mac_rx), it
// gains little or nothing on top. It does not see a pause that has ended since it may have begun.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "model/callback.h"
#include "model/config_reader.h"
#include "model/credit.h"
#include "model/flow_control.h"
#include "model/metrics.h"
#include "model/packet.h"
#include "model/packet_tap.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "model/units.h"
#include "nic/epoch.h"
#include "nic/port_config.h"

namespace rnicsim {

struct MacTxConfig {
  std::uint32_t response_queue = 64;
  bool cut_through = false;
  void describe(Fields& fields);
};

class MacTx {
 public:
  enum class Queue : std::uint8_t { kResponse, kRequest, kFrame };
  struct Wiring {
    Scheduler& scheduler;
    PacketPool& packets;
    BitRate rate;
    MacAddress mac;
    LinkLayer link_layer = LinkLayer::kRoceV2;
    /// Of InfiniBand: the room for what comes in.
    CreditConfig credit{};
    Bytes receive_buffer{};
    Bytes largest_packet{};
    std::string name{};
  };
  MacTx(const Wiring& wiring, const MacTxConfig& config, const PortConfig& port);

  /// What is told of a request packet that has begun to leave.
  struct Started {
    Bytes payload;  ///< of plain frames: IP packet
    std::uint8_t priority;
    std::uint64_t pack() const { return payload.count() | std::uint64_t{priority} << 32; }
    static Started unpack(std::uint64_t packed) {
      return {Bytes(packed & 0xffffffff), static_cast<std::uint8_t>(packed >> 32)};
    }
  };
  /// `request_started` runs when a request packet has begun to leave, with Started as argument
  /// (whatever argument it was made with); `response_started` when a response has.
  void connect(PacketSink& link, Callback request_started, Callback response_started) {
    link_ = &link;
    request_started_ = request_started;
    response_started_ = response_started;
  }
  /// `started` runs, as request_started for a request, when a plain frame has begun to leave.
  void connect_frames(Callback started) { frame_started_ = started; }
  /// Whether one more response of a priority may be queued; who has begun one all the same (READ
  /// data on their way from memory) may queue it. Requests and plain frames are bounded by the
  /// buffers of those who make them.
  bool has_room_for_response(std::uint8_t priority) const {
    return responses_[priority] < config_.response_queue;
  }
  /// Queues a packet that may leave from `ready` on (>= now). Within a queue order is kept. One
  /// whose epoch is over when its turn comes does not leave; its room is free as if it had. `lead`:
  /// the least time in which its payload has come over PCIe.
  void enqueue(PacketRef packet, Time ready, Queue queue, Epoch epoch = {}, Time lead = {});
  bool idle() const { return nonempty_ == 0 && !flow_control_.frame_is_due(); }
  /// Null on Ethernet.
  CreditLink* credit() { return credit_.get(); }
  /// Asks the other end's sender to stop or go on.
  PauseRequester& pause_requester() { return flow_control_.requester(); }
  /// What the other end asks for.
  PauseListener& pause_listener() { return flow_control_.listener(); }
  const PauseListener& pause_listener() const { return flow_control_.listener(); }
  /// How long the port has not been allowed to send that priority, since the run began.
  Time stopped(std::uint8_t priority) const { return flow_control_.stopped(priority); }
  std::uint8_t priority_of(const Packet& packet) const { return priorities_.of(packet); }
  std::uint8_t priority_of(const abi::QpContext& context) const { return priorities_.of(context); }
  std::uint8_t priority_of_dscp(std::uint8_t dscp) const { return priorities_.of_dscp(dscp); }
  const MacAddress& mac() const { return mac_; }
  std::uint64_t sent() const { return packets_; }
  std::uint64_t sent_bytes() const { return bytes_.count(); }

  Probe probe;
  PacketTapPoint tap;
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  struct Waiting {
    PacketRef packet;
    Time ready;
    Time begin;  ///< when its first bit may have left, if it need not wait: before `ready` at most
    Epoch epoch;
    Time stopped;  ///< how long its priority had been stopped before; only for observers
  };
  /// Of one priority.
  struct Queues {
    std::array<Ring<Waiting>, 3> of;
    /// By how much plain frames have sent more than RDMA since both have something ready.
    std::int64_t frames_ahead = 0;
    bool empty() const { return of[0].empty() && of[1].empty() && of[2].empty(); }
    Time ready() const;
    bool is_ready(Queue queue, Time by) const {
      return !at(queue).empty() && at(queue).front().ready <= by;
    }
    Queue next(Time at) const;
    void sent(Queue queue, Bytes frame, Time now);
    Ring<Waiting>& at(Queue queue) { return of[static_cast<std::size_t>(queue)]; }
    const Ring<Waiting>& at(Queue queue) const { return of[static_cast<std::size_t>(queue)]; }
  };
  PrioritySet may_send() const {
    return static_cast<PrioritySet>(nonempty_ & ~flow_control_.held_up());
  }
  std::unique_ptr<CreditLink> make_credit(const Wiring& wiring);
  void arm();
  void start();
  bool has_credit(std::uint8_t priority, Time at);
  PrioritySet ready_ones(Time at);
  void drop_void(std::uint8_t priority, Queue queue);
  void freed(Queue queue, Started started);
  static void tell(const Callback& callback, Started started) {
    if (callback) callback.function(callback.object, started.pack());
  }
  void send(std::uint8_t priority);
  void tell_start(const Waiting& waiting, std::uint8_t priority) const;
  void put_on_wire(PacketRef packet, Time from);
  std::uint64_t sent_by(Time at) const;
  void count_parts(const Packet& packet, Bytes frame);
  void note_empty(std::uint8_t priority);

  Scheduler& scheduler_;
  MacAddress mac_;
  LinkLayer link_layer_;
  MacTxConfig config_;
  PriorityMap priorities_;
  std::optional<std::uint16_t> vlan_;
  PacketSink* link_ = nullptr;
  Callback request_started_;
  Callback response_started_;
  Callback frame_started_;
  BitRate rate_;
  PrioritySet lossless_;
  Serialiser wire_;
  Time preamble_;
  Time gap_;
  PrioritySet nonempty_ = 0;
  PriorityArbiter arbiter_;
  std::unique_ptr<CreditLink> credit_;
  FlowControl flow_control_;
  std::array<Queues, kPriorities> queues_;
  std::array<std::size_t, kPriorities> responses_{};
  Time armed_ = Time::never();
  std::uint64_t packets_ = 0;
  std::uint64_t data_packets_ = 0;  ///< of these, without pause frames and flow control packets
  Bytes bytes_;
  Bytes wire_bytes_;
  Bytes last_frame_;  ///< of bytes_
  Bytes payload_bytes_;
  Bytes padding_bytes_;
  Bytes network_bytes_;  ///< headers below BTH and above Ethernet's, or LRH
  Time busy_;
  std::uint64_t void_ = 0;
  Time waited_;  ///< ready packets waited for the wire, or were paused, or had no credit
  std::size_t most_queued_ = 0;
  StateReport sending_;
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// One port of a switch towards its cable: a queue for each priority, the choice between them, the
// wire. Pause frames of our own, and flow control packets of InfiniBand, go first and are never
// paused; then strict priorities, the highest number first; then the others share what is left by
// deficit-weighted round robin (802.1Qaz ETS). A priority that the other end has paused, or that
// has no credit for its first packet on a link of InfiniBand, where it is a virtual lane, is passed
// over, and so is one whose first packet is still in the switch's pipeline while another's is not.
// ECN marks are set when a packet leaves, and then a request that collects telemetry gets this
// port's record, by which its frame grows.
//
// An idle port takes a packet at once, to start when it is `ready` (out of the switch's pipeline);
// one event stands for the end of each packet: there its memory is given back and the next chosen.
// Approximates: a packet that was taken so is past the scheduler: a pause that comes while it is in
// the pipeline does not hold it up, and a pause frame of our own waits for it (at most the
// pipeline's latency, which the headroom allows for).
#pragma once

#include <array>
#include <vector>

#include "fabric/ecn.h"
#include "model/flow_control.h"
#include "model/metrics.h"
#include "model/packet.h"
#include "model/packet_tap.h"
#include "model/priority_arbiter.h"
#include "model/probe.h"
#include "model/random.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "model/units.h"

namespace rnicsim {

struct EgressConfig {
  std::vector<PriorityWeight> weights;
  std::vector<EcnConfig> ecn;
  PauseConfig pause;
  void describe(Fields& fields);
};

class Egress {
 public:
  /// Whose memory the packets are in.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// The last bit of a packet has left this port.
    virtual void left(std::uint16_t port, std::uint16_t ingress, std::uint8_t priority,
                      Bytes frame) = 0;
    /// What waits for a queue of this port, the packet that is just leaving included.
    virtual Bytes waiting(std::uint16_t port, std::uint8_t priority) const = 0;
  };
  struct Wiring {
    Scheduler& scheduler;
    PacketPool& packets;
    Owner& owner;
    Random& random;  ///< the switch's, for marks
    std::uint16_t port;
    BitRate rate;
    abi::MacAddress mac;  ///< source of pause frames
    LinkLayer link_layer = LinkLayer::kRoceV2;
    CreditLink* credit = nullptr;  ///< of InfiniBand
  };
  Egress(const Wiring& wiring, const EgressConfig& config);
  Egress(const Egress&) = delete;
  Egress& operator=(const Egress&) = delete;
  void connect(PacketSink& link) { link_ = &link; }

  /// A packet of `packet->priority` that came by `packet->ingress`. It may start from `ready` on
  /// (>= now).
  void enqueue(PacketRef packet, Time ready);
  /// What waits in that priority does not leave; `gone` is told of each packet.
  template <class Function>
  void discard(std::uint8_t priority, Function gone) {
    while (!queues_[priority].empty()) gone(*queues_[priority].take());
    nonempty_ = static_cast<PrioritySet>(nonempty_ & ~priority_bit(priority));
    if (!sending_) go();
  }
  bool is_connected() const { return link_ != nullptr; }
  /// Asks the other end's sender to stop or go on.
  PauseRequester& requester() { return flow_control_.requester(); }
  PauseListener& listener() { return flow_control_.listener(); }
  const PauseListener& listener() const { return flow_control_.listener(); }

  bool idle() const { return nonempty_ == 0 && !sending_; }
  PrioritySet nonempty() const { return nonempty_; }
  /// Priorities that have packets and may not send.
  PrioritySet held_up() const {
    return static_cast<PrioritySet>(nonempty_ & flow_control_.held_up());
  }
  /// Whether such a packet waits here; looks at all.
  template <class Predicate>
  bool holds(std::uint8_t priority, Predicate predicate) const {
    return queues_[priority].any(predicate);
  }
  std::uint64_t sent_packets() const { return packets_; }
  Bytes sent_bytes() const { return bytes_; }
  std::uint64_t marked() const { return marked_; }
  Time response_time() const { return listener().response_time(); }
  ByteTime byte_time() const { return wire_.byte_time(); }

  /// Something may start.
  void go();

  Probe probe;
  PacketTapPoint tap;
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope, PrioritySet lossless);

 private:
  void sent();
  PrioritySet may_send();
  PrioritySet ready_of(PrioritySet eligible) const;
  void start(std::uint8_t priority);
  void put_on_wire(PacketRef packet, Time ready);
  std::uint64_t sent_by(Time at) const;
  void mark(Packet& packet, std::uint8_t priority);
  void add_telemetry(Packet& packet) const;
  void tell(const Packet& packet, Time ready, Time begin, Time last_bit) const;

  // What every packet touches.
  Scheduler& scheduler_;
  Owner& owner_;
  PacketSink* link_ = nullptr;
  std::uint16_t port_;
  bool sending_ = false;
  bool releases_ = false;  ///< the packet on the wire is of the switch's memory
  PrioritySet nonempty_ = 0;
  PrioritySet marking_ = 0;
  std::uint8_t leaving_priority_ = 0;
  std::uint16_t leaving_ingress_ = 0;
  Bytes leaving_bytes_;
  Serialiser wire_;
  Time preamble_;
  Time gap_;
  std::array<PacketQueue, kPriorities> queues_;
  std::uint64_t packets_ = 0;
  Bytes bytes_;
  Bytes last_frame_;  ///< of bytes_
  std::uint64_t marked_ = 0;
  Time busy_;

  PriorityArbiter arbiter_;
  std::array<EcnMarker, kPriorities> markers_;
  std::uint64_t ecn_looks_ = 0;
  Bytes ecn_waiting_;
  Bytes ecn_most_;
  Random& random_;
  FlowControl flow_control_;
  std::uint8_t rate_class_;
  StateReport on_wire_;
};

}  // namespace rnicsim

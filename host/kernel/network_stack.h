// SPDX-License-Identifier: MIT
// The kernel's network path of one NIC: Ethernet channels below, TCP sockets above.
//
//   program -> TcpSocket, TcpListener -> TcpConnection -> transmit: headers, bursts cut (TSO, GSO),
//     checksum, descriptors -> EthernetChannel -> NIC
//   NIC -> EthernetChannel -> receive: by addresses and ports to its connection -> TcpConnection ->
//     socket, which wakes its program
//
// Every call of the protocol machine runs in somebody's context (kernel_context): a program's
// system call, softirq, or, with none, a timer, which is softirq on the core of the connection's
// channel.
//
// The channel of a connection's frames is that of the core of the program that opened or accepted
// it (XPS); on which channel frames arrive is for the NIC to say, unless flow_steering
// tells it, once, when a connection is there, and takes that back when it is closed (Linux's aRFS
// sets rules whenever a program moves, and lets them expire).
// Bursts leave in frames of what a descriptor holds: two pieces of payload, so a zero-copy burst is
// cut every other page.
//
// Approximates: IP, routing and neighbour tables are part of the costs per segment; the queueing
// discipline takes what it gets and passes it on at once.
// Ignores: IPv6, fragments, UDP, namespaces, netfilter, pacing, TCP small queues.
// Likely error: without small queues a large window stands in the NIC's ring instead of the socket.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "host/cpu_core.h"
#include "host/driver.h"
#include "host/interrupt_controller.h"
#include "host/kernel/ethernet_channel.h"
#include "host/kernel/kernel_buffers.h"
#include "host/kernel/kernel_config.h"
#include "host/kernel/kernel_copy.h"
#include "host/kernel/tcp_listener.h"
#include "host/kernel/tcp_socket.h"
#include "host/mmio.h"
#include "host/tcp/tcp_config.h"
#include "model/metrics.h"
#include "model/probe.h"
#include "model/random.h"
#include "model/scheduler.h"

namespace rnicsim {

class NetworkStack : private SegmentReceiver {
 public:
  struct Parts {
    Scheduler& scheduler;
    Memory& memory;
    FrameAllocator& frames;
    MmioPort& mmio;
    InterruptController& interrupts;
    Driver& driver;
    std::vector<CpuCore*> cores;
  };
  NetworkStack(const KernelConfig& config, const TcpConfig& tcp, const Parts& parts,
               std::uint64_t seed);
  ~NetworkStack() override;
  NetworkStack(const NetworkStack&) = delete;
  NetworkStack& operator=(const NetworkStack&) = delete;

  /// Brings the interface up, after the driver is up. A call while it runs or after it does nothing
  /// but wait for its end.
  Errno open(CpuTask& task, const NetworkAddress& address);
  bool is_open() const { return opened_.has_value(); }

  /// Again on a port: the same as before.
  TcpListener& listen(CpuTask& task, std::uint16_t port, const SocketOptions& options = {},
                      std::uint32_t backlog = 128);
  /// Returns when the connection is established or has failed.
  TcpSocket& connect(CpuTask& task, const TcpPeer& peer, const SocketOptions& options = {});

  Probe& probe() { return probe_; }
  /// Under `scope` ("host.A.nic0.kernel"), if it is open: counts of frames, segments and bursts, of
  /// waking, of lines copied, and each connection's.
  void report(const MetricScope& scope) const;

 private:
  friend class TcpSocket;
  friend class TcpListener;
  /// Ports of programs that do not choose one, Linux's default.
  static constexpr std::uint16_t kFirstPort = 32768;
  static constexpr std::uint16_t kLastPort = 60999;
  struct Counts {
    std::uint64_t bursts_sent = 0;
    std::uint64_t acks_sent = 0;
    std::uint64_t acks_received = 0;
    std::uint64_t resets_sent = 0;
    std::uint64_t dropped = 0;
    std::uint64_t backlog_full = 0;
    std::uint64_t timers = 0;
    std::uint64_t wakeups = 0;
    std::uint64_t pages_pinned = 0;
    Bytes not_copied;
  };

  Errno open_channels(CpuTask& task);
  // Softirq
  Work work_of(const ReceivedSegment& segment) override;
  void receive(ReceivedSegment& segment, EthernetChannel& from, KernelContext& context) override;
  void drop(KernelBufferList& buffers) override;
  CpuPlane plane_of(abi::Ipv4Address source, const TcpHeader& tcp) const override;
  TcpSocket* find(abi::Ipv4Address source, const TcpHeader& tcp) const;
  TcpListener* listener_for(const TcpHeader& tcp) const;
  TcpSocket& answer(TcpListener& listener, const ReceivedSegment& segment, EthernetChannel& from);
  void refuse(const ReceivedSegment& segment, EthernetChannel& from, KernelContext& context);

  // To the network
  void transmit(TcpSocket& socket, const TcpSegment& segment);
  /// `socket` null: a reset of no connection.
  void transmit(KernelContext& context, EthernetChannel& channel, const NetworkAddress& to,
                const TcpSegment& segment, TcpSocket* socket);
  void count(const TcpSegment& segment);
  std::uint32_t fill(TransmitFrame& frame, const TcpSegment& segment, std::uint32_t at,
                     const SendStore* sends) const;
  void finish(TransmitFrame& frame, const NetworkAddress& to, const TcpSegment& segment,
              std::uint32_t at, std::uint32_t length);

  /// Calls use(context) in the context that runs, or else in that of a timer of the socket's
  /// connection, which is charged for once.
  template <class Use>
  void in_context(TcpSocket& socket, Use use) {
    if (context_ != nullptr) return use(*context_);
    KernelContext timer(socket.channel_->core());
    if (socket.last_timer_ != timer.now()) {
      socket.last_timer_ = timer.now();
      ++counts_.timers;
      timer.charge(socket.options_.plane, CpuCategory::kSoftirq, config_.timer);
    }
    use(timer);
  }
  /// Calls use() with `context` as that which runs.
  template <class Use>
  void run_in(KernelContext& context, Use use) {
    context_ = &context;
    use();
    context_ = nullptr;
  }
  void enter(CpuTask& task, CpuPlane plane);
  void let_softirq_pass(CpuTask& task);
  EthernetChannel& channel_of(const CpuCore& core) const;
  TcpSocket& make(const TcpPeer& peer, std::uint16_t port, const SocketOptions& options,
                  EthernetChannel& channel);
  /// For a connection to this peer; 0: none is left.
  std::uint16_t free_port(const TcpPeer& peer);
  /// With flow_steering: the connection's frames come to its channel from now on, or no longer.
  void steer(CpuTask& task, TcpSocket& socket);
  void unsteer(CpuTask& task, TcpSocket& socket);
  /// Of a full burst.
  std::uint32_t burst_of(std::uint32_t segment_size) const;
  const InterruptConfig& interrupt_config() const { return parts_.interrupts.config(); }

  KernelConfig config_;
  TcpConfig tcp_;
  Parts parts_;
  NetworkAddress address_;
  Probe probe_;
  Random random_;
  KernelBuffers buffers_;
  KernelCopy copy_;
  std::vector<std::unique_ptr<EthernetChannel>> channels_;
  std::optional<Errno> opened_;                      ///< with what result
  std::vector<CpuTask*> awaiting_;                   ///< programs that wait for it
  std::vector<std::unique_ptr<TcpSocket>> sockets_;  ///< for ever: their timers have entries
  std::unordered_map<std::uint64_t, TcpSocket*> connections_;
  std::unordered_map<std::uint16_t, std::unique_ptr<TcpListener>> listeners_;
  KernelContext* context_ = nullptr;
  std::uint16_t next_port_ = kFirstPort;
  std::uint32_t next_rule_ = 0;
  std::vector<std::uint32_t> free_rules_;  ///< below next_rule_
  std::uint16_t identification_ = 0;
  std::vector<std::uint8_t> scratch_;
  Counts counts_;
};

}  // namespace rnicsim

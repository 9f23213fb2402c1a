// SPDX-License-Identifier: MIT
// A connected TCP socket as programs use it: blocking calls, each a system call.
//
//   send:    copy user -> kernel memory (once), write to the connection, which segments and sends;
//            sleep while the send buffer is full. Zero-copy: pin the pages instead, and tell when
//            they may be changed
//   receive: sleep, or poll the NIC's ring, until there is something; copy kernel -> user memory
//            (once), tell the connection of the room
//
// Copies are charged in stretches (of 16 KiB, or 4 KiB if they take the memory's bandwidth) with
// the core free for softirq between them; their bytes move at the end of their stretch (of an
// elided socket: none move, time is the same). A send or receive counts as one copy however many
// stretches it takes.
//
// close() is that of a program that reads no more either: data that it has left unread, or that
// come afterwards, reset the connection (as Linux does), so that no peer probes a closed window for
// ever.
//
// One program at a time sends and one receives. Options as Linux has them: TCP_NODELAY,
// MSG_ZEROCOPY (SO_ZEROCOPY), SO_PREFER_BUSY_POLL. Sleeping senders wake when a third of the send
// buffer is free. Ignores: non-blocking calls, poll() and its kin, out-of-band data, tuning of
// buffer sizes.
#pragma once

#include <cstdint>
#include <optional>

#include "host/cpu_core.h"
#include "host/kernel/ethernet_channel.h"
#include "host/kernel/frame_bytes.h"
#include "host/kernel/receive_store.h"
#include "host/kernel/send_store.h"
#include "host/page_table.h"
#include "host/result.h"
#include "host/tcp/tcp_connection.h"
#include "host/wait_queue.h"

namespace rnicsim {

class NetworkStack;
class TcpListener;

struct SocketOptions {
  bool nodelay = false;
  bool zero_copy = false;
  bool busy_poll = false;
  bool elided = false;
  CpuPlane plane = CpuPlane::kData;  ///< whose work it is
};

struct TcpPeer {
  NetworkAddress address;  ///< the MAC address may be a router's
  std::uint16_t port = 0;
};

class TcpSocket : private TcpUser, private FrameOwner {
 public:
  enum class Amount : std::uint8_t { kSome, kAll };

  /// Returns when all is in the send buffer, or pinned; fewer bytes only if the connection failed.
  Result<Bytes> send(CpuTask& task, PageTable& pages, VirtualAddress from, Bytes bytes);
  /// kSome: what there is, at least a byte; kAll: sleeps until all is there. Fewer at the stream's
  /// end or if the connection failed.
  Result<Bytes> receive(CpuTask& task, PageTable& pages, VirtualAddress to, Bytes bytes,
                        Amount amount = Amount::kSome);
  /// Returns when no zero-copy send holds pages any more.
  void await_pages(CpuTask& task);
  /// Returns at once; what was sent arrives, unless something was left unread.
  void close(CpuTask& task);

  bool is_established() const { return established_; }
  bool at_end() const { return connection_.at_end() && connection_.available() == 0; }
  std::optional<TcpFailure> failure() const { return failure_; }
  const TcpConnection& connection() const { return connection_; }
  const SocketOptions& options() const { return options_; }
  const TcpPeer& peer() const { return peer_; }
  std::uint16_t port() const { return port_; }

 private:
  friend class NetworkStack;
  friend class TcpListener;
  void tell(Time time, ProbeKind kind, Time begin, std::uint64_t b, const TcpMark& mark) const;
  TcpSocket(NetworkStack& stack, const TcpConfig& config, const TcpConnection::Ends& ends,
            const TcpPeer& peer, const SocketOptions& options, EthernetChannel& channel);

  /// Where one program waits: asleep, or polling.
  struct Waiting {
    WaitQueue asleep;
    CpuTask* polls = nullptr;
  };
  enum class Poll : std::uint8_t { kIfAsked, kNever };

  // From the connection
  void transmit(const TcpSegment& segment) override;
  void place(const TcpSegment& segment, std::uint32_t skip, std::uint64_t offset,
             std::uint32_t length) override;
  void established() override;
  void readable() override;
  void writable() override;
  void closed() override;
  void failed(TcpFailure why) override;

  // From the transmit ring
  CpuPlane plane() const override { return options_.plane; }
  void left(std::uint64_t position, std::uint32_t length, KernelContext& context) override;

  /// From softirq.
  void take(ReceivedSegment& segment, EthernetChannel& from);
  void connect(CpuTask& task);

  void enter(CpuTask& task);
  Result<Bytes> send_in_call(CpuTask& task, PageTable& pages, VirtualAddress from, Bytes bytes);
  Result<Bytes> receive_in_call(CpuTask& task, PageTable& pages, VirtualAddress to, Bytes bytes,
                                Amount amount);
  std::uint64_t send_copied(CpuTask& task, PageTable& pages, VirtualAddress from,
                            std::uint64_t bytes);
  std::uint64_t write_all(CpuTask& task, std::uint64_t bytes);
  void copy_in(CpuTask& task, PageTable& pages, VirtualAddress from, std::uint64_t bytes);
  std::uint64_t copy_out(CpuTask& task, PageTable& pages, VirtualAddress to, std::uint64_t bytes);
  template <class Meet>
  void copy_stretch(CpuTask& task, std::uint64_t bytes, Meet meet);
  template <class Ready>
  void wait(CpuTask& task, Waiting& waiting, Ready ready, Poll poll = Poll::kIfAsked);
  void wake(Waiting& waiting);
  void wake(WaitQueue& queue);
  bool write_out(CpuTask& task, std::uint64_t bytes);
  void notify(unsigned sends);
  bool is_over() const { return closed_ || failure_; }

  NetworkStack& stack_;
  SocketOptions options_;
  TcpPeer peer_;
  std::uint16_t port_;
  EthernetChannel* channel_;  ///< frames leave there, and timers run on its core
  EthernetChannel* arrives_;  ///< frames came there the last time
  SendStore sends_;
  ReceiveStore receives_;
  TcpConnection connection_;
  TcpListener* listener_ = nullptr;  ///< until it is accepted
  ReceivedSegment* taking_ = nullptr;
  Time made_;   ///< when there was one
  Time woken_;  ///< a sleeper, the last time
  Waiting reader_;
  Waiting writer_;
  std::optional<std::uint32_t> flow_rule_;
  Time last_timer_ = Time::never();  ///< of this connection that ran out
  bool established_ = false;
  bool closed_ = false;
  std::optional<TcpFailure> failure_;
};

}  // namespace rnicsim

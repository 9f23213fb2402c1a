// SPDX-License-Identifier: MIT
// One TCP connection (RFC 9293), as a protocol machine and nothing else: no copy, no processor
// time, no ring, no addresses but ports. The stack around it puts costs on what it calls and is
// called for.
//
//   application: write, consume, close            user: place, readable, writable, ...
//                     |                                        ^
//                     v                                        |
//        tcp_sender --Piece--> segment --> user.transmit    tcp_reassembly, tcp_ack_policy
//             ^                                                ^
//             '------------ receive(segment) ------------------'
//
// Bytes live with the user, by offset in their stream: a segment to send names the offset and
// length of its data, a segment received is placed by offset, maybe before what precedes it.
// Segments to send may be bursts of several MSS (TSO, GSO cut them: model/tcp_segmentation);
// segments received may have been merged (LRO, GRO), and then say of how many.
//
// Takes no time; timers of the scheduler call back in the same way as receive(). The user may call
// write, consume and close when it is told of a change, but nothing while it transmits or places.
//
// Handshake with its retries, simultaneous open, close by either or both sides, TIME-WAIT, reset,
// challenge acknowledgements instead of resets within the window (RFC 5961); options MSS, window
// scale, SACK, which tells of whole segments that came twice too (RFC 2883), timestamps with PAWS
// (RFC 7323); ECN. Segments that carry data have no SACK blocks. Left out: what the stack does:
// listening for several peers, ports, resets to strangers, SYN cookies; keep-alives, fast open,
// buffers that tune themselves (their sizes are fixed, and the whole of the receive buffer is the
// window), urgent data.
#pragma once

#include <cstdint>

#include "host/tcp/tcp_ack_policy.h"
#include "host/tcp/tcp_config.h"
#include "host/tcp/tcp_reassembly.h"
#include "host/tcp/tcp_sender.h"
#include "host/tcp/tcp_timer.h"
#include "model/headers.h"
#include "model/metrics.h"
#include "model/scheduler.h"
#include "model/tcp_header.h"

namespace rnicsim {

/// To the network: `offset` of its data in the stream, `segment_size` into which a burst is cut.
/// From the network: `segments` that have become one.
struct TcpSegment {
  TcpHeader header;
  Ecn ecn = Ecn::kNotCapable;
  std::uint32_t length = 0;  ///< of data
  std::uint64_t offset = 0;
  std::uint32_t segment_size = 0;
  std::uint32_t segments = 1;
  bool again = false;  ///< sent before
};

enum class TcpState : std::uint8_t {
  kClosed,
  kListen,
  kSynSent,
  kSynReceived,
  kEstablished,
  kFinWait1,
  kFinWait2,
  kCloseWait,
  kClosing,
  kLastAck,
  kTimeWait,
};
const char* name_of(TcpState state);

enum class TcpFailure : std::uint8_t { kRefused, kReset, kTimedOut, kAborted, kNoPort };
const char* name_of(TcpFailure failure);

/// Why a segment is sent again.
enum class TcpAgain : std::uint8_t {
  kDuplicates,  ///< duplicate acknowledgements or SACK say that it is missing
  kTimeout,
  kTailProbe,  ///< nothing has come for a while
};
const char* name_of(TcpAgain why);

class TcpUser {
 public:
  virtual ~TcpUser() = default;
  /// To the network, at once.
  virtual void transmit(const TcpSegment& segment) = 0;
  /// Of the segment being received, `length` bytes from the `skip`-th belong at `offset` of the
  /// stream; some may have been there before.
  virtual void place(const TcpSegment& segment, std::uint32_t skip, std::uint64_t offset,
                     std::uint32_t length) = 0;
  virtual void established() {}
  /// More can be read, or the stream has ended.
  virtual void readable() {}
  /// Data have been acknowledged, so there is more room.
  virtual void writable() {}
  /// Both directions are done; TIME-WAIT may still answer the peer.
  virtual void closed() {}
  virtual void failed(TcpFailure /*why*/) {}
};

class TcpConnection : private TcpSender::Output {
 public:
  struct Ends {
    std::uint16_t local_port = 0;
    std::uint16_t remote_port = 0;
    TcpSeq initial;            ///< our sequence number
    std::uint32_t mss = 1460;  ///< what our packets hold behind headers without options
    std::uint32_t burst = 0;   ///< most that a segment to send may have; 0: no more than the MSS
  };
  TcpConnection(Scheduler& scheduler, const TcpConfig& config, const Ends& ends, TcpUser& user);
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  void connect();  ///< REQUIRES: closed
  void listen();   ///< REQUIRES: closed. Takes the first SYN that comes
  /// So many bytes follow those written so far. REQUIRES: <= room(), close() not called.
  void write(std::uint64_t bytes);
  std::uint64_t room() const;
  /// The application has taken so many more. REQUIRES: <= available().
  void consume(std::uint64_t bytes);
  std::uint64_t available() const { return received() - consumed_; }
  /// Nothing more will be written. What was, arrives.
  void close();
  /// The same, and nothing more will be consumed: data that have not been, or that come, reset the
  /// connection (RFC 2525, 2.17).
  void leave();
  /// Forgets everything, and tells the peer.
  void abort();
  void receive(const TcpSegment& segment);

  TcpState state() const { return state_; }
  std::uint64_t written() const { return sender_.end() - 1; }
  /// Of these, known to have arrived: their bytes are needed no longer.
  std::uint64_t acknowledged() const;
  std::uint64_t received() const;  ///< in order
  std::uint64_t consumed() const { return consumed_; }
  /// The peer has closed, and everything has been received.
  bool at_end() const { return peer_finished_; }
  std::uint32_t segment_size() const { return mss_; }
  /// REQUIRES: segment.again, and it is being transmitted.
  TcpAgain why_again(const TcpSegment& segment) const;
  /// Names a stretch of the stream that goes out, or of the one that comes, to observers.
  TcpMark mark_of_sent(std::uint64_t offset, std::uint64_t bytes) const {
    return {ends_.local_port, ends_.remote_port,
            ends_.initial + 1 + static_cast<std::uint32_t>(offset),
            static_cast<std::uint32_t>(bytes), 0};
  }
  TcpMark mark_of_received(std::uint64_t offset, std::uint64_t bytes) const {
    return {ends_.remote_port, ends_.local_port,
            peer_initial_ + 1 + static_cast<std::uint32_t>(offset),
            static_cast<std::uint32_t>(bytes), 0};
  }
  const TcpSender& sender() const { return sender_; }
  void report(const MetricScope& scope) const { sender_.report(scope.child("send")); }

 private:
  void send(const TcpSender::Piece& piece) override;
  void give_up() override { fail(TcpFailure::kTimedOut); }

  // Handshake
  void send_syn();
  void syn_due();
  void receive_syn(const TcpSegment& segment);
  void receive_in_syn_sent(const TcpSegment& segment);
  void take_offer(const TcpSegment& segment);
  void establish(const TcpSegment& segment);

  // What comes
  void receive_synchronized(const TcpSegment& segment);
  bool is_acceptable(std::uint64_t first, std::uint64_t behind) const;
  bool is_stale(const TcpSegment& segment) const;
  void receive_reset(std::uint64_t first);
  void take_acknowledgement(const TcpSegment& segment, std::uint64_t first, std::uint64_t position);
  void note_duplicate(std::uint64_t first, std::uint32_t length);
  void add_sack(TcpSegment& segment);
  bool is_unwanted(const TcpSegment& segment, std::uint64_t first) const;
  void take_data(const TcpSegment& segment, std::uint64_t first);
  void take_fin();
  void fin_acknowledged();
  void tell(std::uint64_t acked_before, std::uint64_t received_before, bool finished_before);

  // What leaves
  TcpSegment make(std::uint64_t position) const;
  void add_acknowledgement(TcpSegment& segment);
  void send_ack();
  void ack_due() { send_ack(); }
  void reset_peer(std::uint64_t position);
  std::uint64_t next_edge() const;
  std::uint16_t window_field(bool is_syn) const;
  std::uint32_t timestamp() const;

  void enter(TcpState state) { state_ = state; }
  void enter_time_wait();
  void fail(TcpFailure why);
  void forget();
  void time_wait_over() { state_ = TcpState::kClosed; }

  std::uint64_t peer_position(TcpSeq sequence) const;
  std::uint64_t own_position(TcpSeq acknowledgement) const;
  /// Next position that we expect; FIN counts.
  std::uint64_t expected() const { return reassembly_.next() + (peer_finished_ ? 1 : 0); }

  Scheduler& scheduler_;
  TcpConfig config_;
  Ends ends_;
  TcpUser& user_;
  TcpState state_ = TcpState::kClosed;
  TcpSender sender_;
  TcpReassembly reassembly_;
  TcpAckPolicy ack_policy_;
  TcpTimer syn_timer_;
  TcpTimer time_wait_;

  // What has been offered and agreed
  TcpSeq peer_initial_;
  std::uint32_t mss_;
  std::uint8_t own_scale_ = 0;
  std::uint8_t peer_scale_ = 0;
  bool scaling_;
  bool sack_;
  bool timestamps_;
  bool ecn_;
  Time syn_sent_;
  std::uint32_t syns_ = 0;
  Time syn_timeout_;

  std::uint32_t recent_timestamp_ = 0;  ///< the peer's, to echo
  std::uint64_t last_ack_sent_ = 0;     ///< position
  std::uint64_t consumed_ = 0;
  std::uint64_t window_edge_ = 1;     ///< position from which on we have promised nothing
  TcpReassembly::Range duplicate_{};  ///< came twice, and the peer has not been told; or empty
  std::uint64_t fin_position_ = 0;    ///< of the peer's FIN; 0: not seen
  bool peer_finished_ = false;
  bool reads_ = true;  ///< leave() was not called
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// The sending half of a TCP connection: which bytes of the stream may leave, when they leave again,
// and how many may be in flight.
//
//   application --append--> [una .. high | unsent] --Piece--> connection, which makes segments
//   acknowledgements ------> window, scoreboard, round trips, congestion control
//
// Positions are stream positions of 64 bits: the first byte is 1 (SYN is 0), FIN follows the last.
//
// New data: the peer's window without silly windows (RFC 9293, 3.8.6.2.1), the congestion window,
// Nagle's rule as Linux has it (one segment shorter than the MSS in flight; FIN overrides), up to a
// burst at a time. Lost data: with SACK, RFC 6675 (IsLost, pipe, NextSeg with its rescue); without,
// NewReno (RFC 6582), its inflated window written as a smaller pipe; limited transmit (RFC 3042)
// follows from that. After a timeout (RFC 6298) everything in flight counts as lost but for what
// SACK has told, and slow start repairs it. Window probes are empty segments of an old sequence
// number, as Linux sends them, at the retransmission timer's intervals.
//
// Silence (tail_loss_probe, with SACK): the probe leaves whatever the congestion window says. If
// SACK tells of it, everything before it was sent two round trips earlier and is lost (what RACK
// would say); if it repaired a loss itself, the window pays for that once it is known.
//
// ECN (RFC 3168): an echo cuts the window once a window; the next new data says so by CWR. What was
// in flight at the cut does not make the window grow again, as in Linux (its state CWR).
//
// Left out: RACK, proportional rate reduction, undoing a needless recovery,
// adapting to reordering, pacing.
// Likely error: a lost retransmission waits for a timeout where RACK finds it by its time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "host/tcp/rtt_estimator.h"
#include "host/tcp/sack_scoreboard.h"
#include "host/tcp/tail_loss_probe.h"
#include "host/tcp/tcp_config.h"
#include "host/tcp/tcp_congestion.h"
#include "host/tcp/tcp_timer.h"
#include "model/metrics.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "model/tcp_header.h"

namespace rnicsim {

class TcpSender {
 public:
  /// A piece of the stream to send, at once.
  struct Piece {
    std::uint64_t from = 0;
    std::uint32_t length = 0;  ///< bytes of data; 0 and no fin: a window probe
    bool fin = false;
    bool push = false;   ///< nothing behind it is ready
    bool again = false;  ///< not for the first time
    bool cwr = false;
  };
  class Output {
   public:
    virtual ~Output() = default;
    /// May not call the sender.
    virtual void send(const Piece& piece) = 0;
    /// Too many timeouts in a row.
    virtual void give_up() = 0;
  };
  /// What the handshake has settled.
  struct Terms {
    std::uint32_t mss = 536;    ///< payload of a full segment
    std::uint32_t burst = 536;  ///< most that a piece of new data has
    std::uint64_t window = 0;   ///< the peer's
    bool sack = false;
    bool ecn = false;
    bool timestamps = false;
    bool repeated = false;     ///< a SYN had to be sent again: one segment to begin with (RFC 5681)
    Time rtt = Time::never();  ///< of the handshake, if it may be used
  };
  /// What an acceptable segment says of what we have sent.
  struct Acknowledgement {
    std::uint64_t position = 0;  ///< everything before it has arrived
    std::uint64_t sequence = 0;  ///< the segment's own, in the peer's stream
    std::uint64_t window = 0;    ///< bytes
    bool has_data = false;       ///< or FIN
    bool ece = false;
    std::uint8_t sack_blocks = 0;
    std::array<SackScoreboard::Range, TcpHeader::kMaxSackBlocks> sack{};
  };

  TcpSender(Scheduler& scheduler, const TcpConfig& config, Output& output);

  void begin(const Terms& terms);
  /// So many bytes more may leave. push() sends what can.
  void append(std::uint64_t bytes) { end_ += bytes; }
  /// FIN follows what was appended.
  void finish() { finished_ = true; }
  /// REQUIRES: position <= high(). push() sends what it has allowed.
  void acknowledge(const Acknowledgement& news);
  void push();
  /// No timer runs any more, nothing is sent.
  void stop();

  std::uint64_t una() const { return una_; }
  std::uint64_t high() const { return high_; }  ///< behind all that was ever sent
  std::uint64_t end() const { return end_; }    ///< behind the last byte appended
  bool all_acknowledged() const { return una_ == limit(); }
  bool finished() const { return finished_; }
  /// Data, FIN or both wait to be sent.
  bool has_unsent() const { return high_ < limit(); }
  const TcpCongestion& congestion() const { return *congestion_; }
  const RttEstimator& rtt() const { return rtt_; }
  bool in_recovery() const { return state_ != State::kOpen; }
  /// What is sent again is so for a timeout.
  bool has_timed_out() const { return state_ == State::kLoss; }
  /// What is thought to be on the network, in bytes.
  std::uint64_t pipe() const;
  void report(const MetricScope& scope) const;

 private:
  enum class State : std::uint8_t { kOpen, kRecovery, kLoss };
  struct Sent {
    std::uint64_t behind;
    Time time;
    bool again;
    bool sacked;
  };

  std::uint64_t limit() const { return end_ + (finished_ ? 1 : 0); }
  std::uint64_t in_flight() const { return high_ - una_; }
  std::uint64_t lost_before() const;

  void take_window(const Acknowledgement& news);
  std::uint64_t take_sack(const Acknowledgement& news);
  void advance(const Acknowledgement& news);
  void sample(std::uint64_t position);
  void sample_sacked(const SackScoreboard::Range& block);
  void settle(std::uint64_t bytes, std::uint64_t flight);
  void duplicate();
  void recover();
  void react_to_mark();
  bool was_limited(std::uint64_t flight) const;

  bool send_one();
  bool send_missing(std::uint64_t from, std::uint64_t to);
  bool send_rest();
  std::uint64_t new_bytes(std::uint64_t room) const;
  void send_again(std::uint64_t from, std::uint64_t behind);
  void send_new(std::uint64_t bytes);
  Piece piece(std::uint64_t from, std::uint64_t behind) const;
  void arm();
  void expired();
  void time_out();
  void probe();
  bool may_probe_tail() const;
  void schedule_tail_probe();
  void tail_probe_due();
  bool tells_of_duplicate(const Acknowledgement& news) const;
  void take_tail_probe(const Acknowledgement& news, bool duplicate);
  std::uint64_t last_segment() const;

  Scheduler& scheduler_;
  const TcpConfig& config_;
  Output& output_;
  TcpTimer timer_;
  TailLossProbe tail_probe_;
  RttEstimator rtt_;
  std::unique_ptr<TcpCongestion> congestion_;
  SackScoreboard scoreboard_;
  Ring<Sent> sent_;
  Terms terms_;
  bool open_ = false;

  std::uint64_t una_ = 1;
  std::uint64_t high_ = 1;
  std::uint64_t end_ = 1;
  bool finished_ = false;
  std::uint64_t window_end_ = 1;  ///< the peer takes nothing from here on
  std::uint64_t largest_window_ = 0;
  std::uint64_t window_sequence_ = 0;  ///< of the segment that said so
  std::uint64_t window_position_ = 0;
  std::uint64_t small_end_ = 0;  ///< behind the last short segment
  Time last_sent_;

  State state_ = State::kOpen;
  std::uint32_t duplicates_ = 0;
  std::uint64_t recover_ = 0;     ///< recovery ends when all before it is acknowledged
  std::uint64_t again_high_ = 0;  ///< HighRxt: behind what has been sent again
  std::uint64_t lost_ = 0;        ///< not in kOpen: all missing before it is lost
  std::int64_t credit_ = 0;       ///< NewReno: bytes that duplicates say have left the network
  bool first_again_ = false;      ///< the oldest segment leaves again, whatever the window
  bool rescued_ = false;
  std::uint32_t timeouts_in_row_ = 0;
  std::uint64_t mark_end_ = 0;  ///< marks count again when this is acknowledged
  std::uint64_t cut_end_ = 0;   ///< and the window that a mark has cut may grow again
  bool cwr_ = false;

  std::uint64_t sent_bytes_ = 0;
  std::uint64_t again_bytes_ = 0;
  std::uint64_t timeouts_ = 0;
  std::uint64_t recoveries_ = 0;
  std::uint64_t marks_ = 0;
  std::uint64_t probes_ = 0;
};

}  // namespace rnicsim

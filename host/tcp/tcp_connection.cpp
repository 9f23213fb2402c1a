// SPDX-License-Identifier: MIT
#include "host/tcp/tcp_connection.h"

#include <algorithm>

namespace rnicsim {

namespace {

constexpr std::uint64_t kLargestField = 0xffff;
constexpr std::uint32_t kDefaultMss = 536;  // RFC 9293, 3.7.1
constexpr std::uint32_t kMinMss = 88;       // Linux's: options always fit

std::uint8_t scale_for(std::uint64_t window) {
  std::uint8_t scale = 0;
  while (scale < TcpHeader::kMaxWindowScale && window >> scale > kLargestField) ++scale;
  return scale;
}

/// The position of `sequence`, which is near `near`. Of one before the stream: huge.
std::uint64_t unwrap(TcpSeq sequence, TcpSeq initial, std::uint64_t near) {
  const std::int32_t off = sequence - (initial + static_cast<std::uint32_t>(near));
  return near + static_cast<std::uint64_t>(std::int64_t{off});
}

}  // namespace

const char* name_of(TcpState state) {
  switch (state) {
    case TcpState::kClosed:
      return "CLOSED";
    case TcpState::kListen:
      return "LISTEN";
    case TcpState::kSynSent:
      return "SYN-SENT";
    case TcpState::kSynReceived:
      return "SYN-RECEIVED";
    case TcpState::kEstablished:
      return "ESTABLISHED";
    case TcpState::kFinWait1:
      return "FIN-WAIT-1";
    case TcpState::kFinWait2:
      return "FIN-WAIT-2";
    case TcpState::kCloseWait:
      return "CLOSE-WAIT";
    case TcpState::kClosing:
      return "CLOSING";
    case TcpState::kLastAck:
      return "LAST-ACK";
    case TcpState::kTimeWait:
      break;
  }
  return "TIME-WAIT";
}

const char* name_of(TcpFailure failure) {
  switch (failure) {
    case TcpFailure::kRefused:
      return "refused";
    case TcpFailure::kReset:
      return "reset by the peer";
    case TcpFailure::kTimedOut:
      return "timed out";
    case TcpFailure::kAborted:
      return "closed with data that nobody reads";
    case TcpFailure::kNoPort:
      break;
  }
  return "no port left";
}

const char* name_of(TcpAgain why) {
  switch (why) {
    case TcpAgain::kDuplicates:
      return "after duplicates";
    case TcpAgain::kTimeout:
      return "after a timeout";
    case TcpAgain::kTailProbe:
      break;
  }
  return "to probe the tail";
}

TcpConnection::TcpConnection(Scheduler& scheduler, const TcpConfig& config, const Ends& ends,
                             TcpUser& user)
    : scheduler_(scheduler),
      config_(config),
      ends_(ends),
      user_(user),
      sender_(scheduler, config_, *this),
      ack_policy_(scheduler, config_, call<&TcpConnection::ack_due>(this)),
      syn_timer_(scheduler, call<&TcpConnection::syn_due>(this)),
      time_wait_(scheduler, call<&TcpConnection::time_wait_over>(this), TcpTimer::Keeps::kNothing),
      mss_(ends.mss),
      scaling_(config.window_scaling),
      sack_(config.sack),
      timestamps_(config.timestamps),
      ecn_(config.wants_ecn()),
      syn_timeout_(std::min(config.initial_rto, config.max_rto)) {
  if (scaling_) own_scale_ = scale_for(config.receive_buffer.count());
  window_edge_ = 1 + config.receive_buffer.count();
}

// ---- Handshake ---------------------------------------------------------------------------------

void TcpConnection::listen() { enter(TcpState::kListen); }

void TcpConnection::connect() {
  enter(TcpState::kSynSent);
  send_syn();
}

/// SYN, or SYN and ACK once the peer's SYN has come.
void TcpConnection::send_syn() {
  const bool answers = state_ == TcpState::kSynReceived;
  TcpSegment segment = make(0);
  TcpHeader& header = segment.header;
  header.syn = true;
  header.mss = static_cast<std::uint16_t>(ends_.mss);
  header.has_window_scale = scaling_;
  header.window_scale = own_scale_;
  header.sack_permitted = sack_;
  header.ece = ecn_;
  header.cwr = ecn_ && !answers;
  if (answers) add_acknowledgement(segment);
  header.window = window_field(true);
  segment.again = syns_++ != 0;
  syn_sent_ = scheduler_.now();
  syn_timer_.start(syn_timeout_);
  syn_timeout_ = std::min(syn_timeout_ * 2, config_.max_rto);
  user_.transmit(segment);
}

void TcpConnection::syn_due() {
  if (syns_ > config_.syn_retries) return fail(TcpFailure::kTimedOut);
  send_syn();
}

/// What the peer's SYN says, and what is left of our own offers by it.
void TcpConnection::take_offer(const TcpSegment& segment) {
  const TcpHeader& header = segment.header;
  peer_initial_ = header.sequence;
  const std::uint32_t peer_mss = header.mss != 0 ? header.mss : kDefaultMss;
  mss_ = std::max(std::min(ends_.mss, peer_mss), kMinMss);
  scaling_ = scaling_ && header.has_window_scale;
  peer_scale_ = scaling_ ? std::min(header.window_scale, TcpHeader::kMaxWindowScale) : 0;
  if (!scaling_) own_scale_ = 0;
  sack_ = sack_ && header.sack_permitted;
  timestamps_ = timestamps_ && header.has_timestamps;
  if (timestamps_) {
    mss_ -= TcpHeader::kTimestampBytes;
    recent_timestamp_ = header.timestamp;
  }
  ecn_ = ecn_ && header.ece && (header.ack || header.cwr);
}

void TcpConnection::receive_syn(const TcpSegment& segment) {
  if (!segment.header.syn || segment.header.ack || segment.header.rst) return;
  take_offer(segment);
  enter(TcpState::kSynReceived);
  send_syn();
}

void TcpConnection::receive_in_syn_sent(const TcpSegment& segment) {
  const TcpHeader& header = segment.header;
  const bool answers = header.ack && header.acknowledgement == ends_.initial + 1;
  if (header.ack && !answers) return;
  if (header.rst) {
    if (answers) fail(TcpFailure::kRefused);
    return;
  }
  if (!header.syn) return;
  take_offer(segment);
  if (!answers) {  // both sides open at once
    enter(TcpState::kSynReceived);
    syns_ = 0;
    syn_timeout_ = std::min(config_.initial_rto, config_.max_rto);
    return send_syn();
  }
  establish(segment);
  send_ack();
  user_.established();
  sender_.push();
}

/// `segment` acknowledges our SYN.
void TcpConnection::establish(const TcpSegment& segment) {
  enter(TcpState::kEstablished);
  syn_timer_.stop();
  TcpSender::Terms terms;
  terms.mss = mss_;
  terms.burst = std::max(ends_.burst, mss_);
  terms.window = std::uint64_t{segment.header.window} << (segment.header.syn ? 0 : peer_scale_);
  terms.sack = sack_;
  terms.ecn = ecn_;
  terms.timestamps = timestamps_;
  terms.repeated = syns_ > 1;
  if (syns_ == 1) terms.rtt = scheduler_.now() - syn_sent_;
  sender_.begin(terms);
  ack_policy_.begin(ecn_, ecn_ && sender_.congestion().wants_each_mark());
}

// ---- What the application wants ----------------------------------------------------------------

void TcpConnection::write(std::uint64_t bytes) {
  sender_.append(bytes);
  sender_.push();
}

std::uint64_t TcpConnection::room() const {
  return config_.send_buffer.count() - (written() - acknowledged());
}

void TcpConnection::consume(std::uint64_t bytes) {
  consumed_ += bytes;
  const std::uint64_t next = std::min(window_edge_, expected());
  // As Linux tells of room: once it is twice what the peer knows of.
  const std::uint64_t edge = next_edge();
  const bool tells = edge != window_edge_ && edge - next >= 2 * (window_edge_ - next);
  const bool has_peer = state_ == TcpState::kEstablished || state_ == TcpState::kFinWait1 ||
                        state_ == TcpState::kFinWait2;
  if (tells && has_peer) send_ack();
}

void TcpConnection::close() {
  switch (state_) {
    case TcpState::kListen:
    case TcpState::kSynSent:
      return forget();
    case TcpState::kSynReceived:
    case TcpState::kEstablished:
      enter(TcpState::kFinWait1);
      break;
    case TcpState::kCloseWait:
      enter(TcpState::kLastAck);
      break;
    default:
      return;
  }
  sender_.finish();
  sender_.push();
}

void TcpConnection::leave() {
  reads_ = false;
  if (available() == 0) return close();
  abort();
  user_.failed(TcpFailure::kAborted);
}

void TcpConnection::abort() {
  const bool has_peer = state_ != TcpState::kClosed && state_ != TcpState::kListen &&
                        state_ != TcpState::kSynSent && state_ != TcpState::kTimeWait;
  const std::uint64_t position = sender_.high();
  forget();
  if (has_peer) reset_peer(position);
}

std::uint64_t TcpConnection::acknowledged() const {
  return std::min(sender_.una(), sender_.end()) - 1;
}

std::uint64_t TcpConnection::received() const { return reassembly_.next() - 1; }

void TcpConnection::forget() {
  enter(TcpState::kClosed);
  sender_.stop();
  syn_timer_.stop();
  ack_policy_.acknowledged();
}

void TcpConnection::fail(TcpFailure why) {
  forget();
  user_.failed(why);
}

// ---- What comes --------------------------------------------------------------------------------

std::uint64_t TcpConnection::peer_position(TcpSeq sequence) const {
  return unwrap(sequence, peer_initial_, expected());
}

std::uint64_t TcpConnection::own_position(TcpSeq acknowledgement) const {
  return unwrap(acknowledgement, ends_.initial, sender_.una());
}

void TcpConnection::receive(const TcpSegment& segment) {
  switch (state_) {
    case TcpState::kClosed:
      return;
    case TcpState::kListen:
      return receive_syn(segment);
    case TcpState::kSynSent:
      return receive_in_syn_sent(segment);
    default:
      return receive_synchronized(segment);
  }
}

/// Both ends of the window are allowed: a full window's last acknowledgement is at its edge.
bool TcpConnection::is_acceptable(std::uint64_t first, std::uint64_t behind) const {
  const auto next = static_cast<std::int64_t>(expected());
  return static_cast<std::int64_t>(behind) >= next &&
         static_cast<std::int64_t>(first) <=
             std::max(next, static_cast<std::int64_t>(window_edge_));
}

/// Protection against wrapped sequence numbers (RFC 7323, 5).
bool TcpConnection::is_stale(const TcpSegment& segment) const {
  if (!timestamps_ || !segment.header.has_timestamps) return false;
  return static_cast<std::int32_t>(segment.header.timestamp - recent_timestamp_) < 0;
}

void TcpConnection::receive_synchronized(const TcpSegment& segment) {
  const TcpHeader& header = segment.header;
  const std::uint64_t first = peer_position(header.sequence);
  const std::uint64_t behind = first + segment.length + (header.syn ? 1 : 0) + (header.fin ? 1 : 0);
  if (!is_acceptable(first, behind) || (is_stale(segment) && !header.rst)) {
    if (header.rst) return;
    if (static_cast<std::int64_t>(behind) <= static_cast<std::int64_t>(expected()))
      note_duplicate(first, segment.length);
    return send_ack();
  }
  if (header.rst) return receive_reset(first);
  if (header.syn) {
    const bool repeats = state_ == TcpState::kSynReceived && first == 0;
    if (!repeats) return send_ack();
    if (!header.ack) return send_syn();
  }
  if (!header.ack) return;
  const std::uint64_t position = own_position(header.acknowledgement);
  // FIN may have been asked for before the handshake was over.
  const bool in_handshake = syn_timer_.is_running();
  if (in_handshake && position != 1) return reset_peer(position);
  if (static_cast<std::int64_t>(position) > static_cast<std::int64_t>(sender_.high()))
    return send_ack();
  if (timestamps_ && header.has_timestamps && first <= last_ack_sent_)
    recent_timestamp_ = header.timestamp;
  if (in_handshake) {
    const bool closes = state_ == TcpState::kFinWait1;
    establish(segment);
    if (closes) enter(TcpState::kFinWait1);
    user_.established();
  }
  const std::uint64_t acked = acknowledged();
  const std::uint64_t had = received();
  const bool finished = peer_finished_;
  take_acknowledgement(segment, first, position);
  if (is_unwanted(segment, first)) {
    abort();
    return user_.failed(TcpFailure::kAborted);
  }
  if (segment.length != 0 || header.fin) take_data(segment, first);
  // What is missing is told at once and alone: only so does it count as a duplicate.
  if (ack_policy_.is_due() && reassembly_.has_gaps()) send_ack();
  sender_.push();
  if (ack_policy_.is_due()) send_ack();
  tell(acked, had, finished);
}

void TcpConnection::receive_reset(std::uint64_t first) {
  if (first != expected()) return send_ack();
  if (state_ == TcpState::kTimeWait) return forget();
  fail(state_ == TcpState::kSynReceived ? TcpFailure::kRefused : TcpFailure::kReset);
}

void TcpConnection::take_acknowledgement(const TcpSegment& segment, std::uint64_t first,
                                         std::uint64_t position) {
  const TcpHeader& header = segment.header;
  TcpSender::Acknowledgement news;
  news.position = static_cast<std::int64_t>(position) < 0 ? 0 : position;
  news.sequence = first;
  news.window = std::uint64_t{header.window} << (header.syn ? 0 : peer_scale_);
  news.has_data = segment.length != 0 || header.fin;
  news.ece = header.ece && !header.syn;
  news.sack_blocks = header.sack_blocks;
  for (std::size_t i = 0; i < header.sack_blocks; ++i)
    news.sack[i] = {own_position(header.sack[i].first), own_position(header.sack[i].behind)};
  sender_.acknowledge(news);
  if (sender_.finished() && sender_.all_acknowledged()) fin_acknowledged();
}

void TcpConnection::fin_acknowledged() {
  if (state_ == TcpState::kFinWait1) {
    enter(TcpState::kFinWait2);
  } else if (state_ == TcpState::kClosing) {
    enter_time_wait();
    user_.closed();
  } else if (state_ == TcpState::kLastAck) {
    forget();
    user_.closed();
  }
}

void TcpConnection::note_duplicate(std::uint64_t first, std::uint32_t length) {
  duplicate_ = {first, first + length};
}

/// New data, but nobody reads them.
bool TcpConnection::is_unwanted(const TcpSegment& segment, std::uint64_t first) const {
  return !reads_ && state_ != TcpState::kClosed && segment.length != 0 &&
         static_cast<std::int64_t>(first + segment.length) >
             static_cast<std::int64_t>(reassembly_.next());
}

void TcpConnection::enter_time_wait() {
  enter(TcpState::kTimeWait);
  time_wait_.start(config_.time_wait);
}

void TcpConnection::take_data(const TcpSegment& segment, std::uint64_t first) {
  if (segment.header.fin && state_ == TcpState::kTimeWait) enter_time_wait();
  if (ack_policy_.marks_change(segment.ecn)) send_ack();
  const std::uint64_t end = first + segment.length;
  // What repeats old data may begin before the stream does, as a negative number.
  const auto later = [](std::uint64_t a, std::uint64_t b) {
    return std::max(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
  };
  const auto from = static_cast<std::uint64_t>(later(first, reassembly_.next()));
  const auto behind = std::min(static_cast<std::uint64_t>(later(end, from)), window_edge_);
  if (segment.header.fin && end <= window_edge_) fin_position_ = end;
  auto result = TcpReassembly::Result::kOld;
  bool is_repeated = static_cast<std::int64_t>(end) <= static_cast<std::int64_t>(from);
  if (from < behind && !peer_finished_) {
    const auto length = static_cast<std::uint32_t>(behind - from);
    user_.place(segment, static_cast<std::uint32_t>(from - first), from - 1, length);
    result = reassembly_.add(from, behind);
    is_repeated = result == TcpReassembly::Result::kOld;
  }
  ack_policy_.take(segment.length, segment.segments, segment.ecn, segment.header.cwr);
  if (is_repeated) note_duplicate(first, segment.length);
  if (result != TcpReassembly::Result::kInOrder) ack_policy_.hurry();
  if (fin_position_ != 0 && fin_position_ == reassembly_.next() && !peer_finished_) take_fin();
}

void TcpConnection::take_fin() {
  peer_finished_ = true;
  ack_policy_.hurry();
  switch (state_) {
    case TcpState::kEstablished:
      return enter(TcpState::kCloseWait);
    case TcpState::kFinWait1:
      return enter(TcpState::kClosing);
    case TcpState::kFinWait2:
      enter_time_wait();
      return user_.closed();
    default:
      return;
  }
}

void TcpConnection::tell(std::uint64_t acked_before, std::uint64_t received_before,
                         bool finished_before) {
  if (received() != received_before || peer_finished_ != finished_before) user_.readable();
  if (acknowledged() != acked_before) user_.writable();
}

// ---- What leaves -------------------------------------------------------------------------------

std::uint32_t TcpConnection::timestamp() const {
  return static_cast<std::uint32_t>(scheduler_.now() / Time::ms(1)) + ends_.initial.value();
}

/// The window that the header can tell. Our promise is never taken back, but for what its scale
/// cannot express.
std::uint16_t TcpConnection::window_field(bool is_syn) const {
  const std::uint64_t window = window_edge_ - std::min(window_edge_, expected());
  const std::uint64_t field = is_syn ? window : window >> own_scale_;
  return static_cast<std::uint16_t>(std::min(field, kLargestField));
}

/// As far as there is room, in steps of a segment or half of the buffer (RFC 9293, 3.8.6.2.2).
std::uint64_t TcpConnection::next_edge() const {
  const std::uint64_t capacity = config_.receive_buffer.count();
  const std::uint64_t edge = 1 + consumed_ + capacity;
  const bool moves = edge - window_edge_ >= std::min<std::uint64_t>(capacity / 2, mss_);
  return moves ? edge : window_edge_;
}

TcpSegment TcpConnection::make(std::uint64_t position) const {
  TcpSegment segment;
  TcpHeader& header = segment.header;
  header.source_port = ends_.local_port;
  header.destination_port = ends_.remote_port;
  header.sequence = ends_.initial + static_cast<std::uint32_t>(position);
  header.has_timestamps = timestamps_;
  header.timestamp = timestamps_ ? timestamp() : 0;
  segment.segment_size = mss_;
  if (ecn_ && sender_.congestion().wants_each_mark()) segment.ecn = Ecn::kCapable0;
  return segment;
}

void TcpConnection::add_acknowledgement(TcpSegment& segment) {
  window_edge_ = next_edge();
  TcpHeader& header = segment.header;
  last_ack_sent_ = expected();
  header.ack = true;
  header.acknowledgement = peer_initial_ + static_cast<std::uint32_t>(last_ack_sent_);
  header.window = window_field(header.syn);
  header.timestamp_echo = timestamps_ ? recent_timestamp_ : 0;
  if (!header.syn) header.ece = ack_policy_.echoes();
  ack_policy_.acknowledged();
}

TcpAgain TcpConnection::why_again(const TcpSegment& segment) const {
  if (segment.header.syn || sender_.has_timed_out()) return TcpAgain::kTimeout;
  return sender_.in_recovery() ? TcpAgain::kDuplicates : TcpAgain::kTailProbe;
}

void TcpConnection::send(const TcpSender::Piece& piece) {
  TcpSegment segment = make(piece.from);
  segment.header.fin = piece.fin;
  segment.header.psh = piece.push && piece.length != 0;
  segment.header.cwr = piece.cwr;
  segment.length = piece.length;
  segment.offset = piece.from - 1;
  segment.again = piece.again;
  if (ecn_ && piece.length != 0 && !piece.again) segment.ecn = Ecn::kCapable0;
  add_acknowledgement(segment);
  user_.transmit(segment);
}

void TcpConnection::send_ack() {
  TcpSegment segment = make(sender_.high());
  add_acknowledgement(segment);
  if (sack_) add_sack(segment);
  user_.transmit(segment);
}

/// What came twice first, once, then what came out of order.
void TcpConnection::add_sack(TcpSegment& segment) {
  std::array<TcpReassembly::Range, TcpHeader::kMaxSackBlocks> blocks{};
  const std::size_t room = TcpHeader::kMaxSackBlocks - (timestamps_ ? 1 : 0);
  std::size_t count = 0;
  if (duplicate_.first != duplicate_.behind) blocks[count++] = duplicate_;
  duplicate_ = {};
  if (reassembly_.has_gaps()) count += reassembly_.sack(blocks.data() + count, room - count);
  segment.header.sack_blocks = static_cast<std::uint8_t>(count);
  for (std::size_t i = 0; i < count; ++i)
    segment.header.sack[i] = {peer_initial_ + static_cast<std::uint32_t>(blocks[i].first),
                              peer_initial_ + static_cast<std::uint32_t>(blocks[i].behind)};
}

void TcpConnection::reset_peer(std::uint64_t position) {
  TcpSegment segment = make(position);
  segment.header.rst = true;
  segment.header.has_timestamps = false;
  segment.header.timestamp = 0;
  user_.transmit(segment);
}

}  // namespace rnicsim

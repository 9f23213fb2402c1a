// SPDX-License-Identifier: MIT
#include "host/tcp/tcp_sender.h"

#include <algorithm>

namespace rnicsim {

TcpSender::TcpSender(Scheduler& scheduler, const TcpConfig& config, Output& output)
    : scheduler_(scheduler),
      config_(config),
      output_(output),
      timer_(scheduler, call<&TcpSender::expired>(this)),
      tail_probe_(scheduler, config, call<&TcpSender::tail_probe_due>(this)),
      rtt_(config.initial_rto, config.min_rto, config.max_rto),
      congestion_(make_tcp_congestion(config)) {}

void TcpSender::begin(const Terms& terms) {
  terms_ = terms;
  terms_.burst = std::max(terms.burst - terms.burst % terms.mss, terms.mss);
  congestion_->begin(terms.mss, config_.initial_window);
  if (terms.repeated) congestion_->limit(terms.mss);
  if (terms.rtt != Time::never()) rtt_.sample(terms.rtt);
  window_end_ = una_ + terms.window;
  largest_window_ = terms.window;
  window_position_ = una_;
  last_sent_ = scheduler_.now();
  open_ = true;
}

void TcpSender::stop() {
  timer_.stop();
  tail_probe_.forget();
  open_ = false;
}

// ---- What acknowledgements tell ----------------------------------------------------------------

void TcpSender::acknowledge(const Acknowledgement& news) {
  if (news.position < una_) return;
  const std::uint64_t window_before = window_end_;
  take_window(news);
  const std::uint64_t sacked = take_sack(news);
  const bool advances = news.position > una_;
  const bool repeats = !advances && !news.has_data && window_end_ == window_before;
  if (advances) {
    advance(news);
  } else {
    if (news.ece) react_to_mark();
    if (terms_.sack ? sacked != 0 : repeats && in_flight() != 0) duplicate();
  }
  take_tail_probe(news, (repeats && sacked == 0) || tells_of_duplicate(news));
  if (advances) schedule_tail_probe();
}

/// A window is as old as the segment that tells it (RFC 9293, 3.10.7.4).
void TcpSender::take_window(const Acknowledgement& news) {
  const bool newer = news.sequence > window_sequence_ ||
                     (news.sequence == window_sequence_ && news.position >= window_position_);
  if (!newer) return;
  const bool was_closed = window_end_ <= high_;
  window_sequence_ = news.sequence;
  window_position_ = news.position;
  window_end_ = news.position + news.window;
  largest_window_ = std::max(largest_window_, news.window);
  if (in_flight() != 0) return;
  timeouts_in_row_ = 0;  // a probe was answered
  if (!was_closed || window_end_ <= high_) return;
  rtt_.forget_backoff();
  timer_.stop();
}

std::uint64_t TcpSender::take_sack(const Acknowledgement& news) {
  std::uint64_t sacked = 0;
  if (!terms_.sack) return 0;
  for (std::size_t i = 0; i < news.sack_blocks; ++i) {
    const SackScoreboard::Range& block = news.sack[i];
    const std::uint64_t floor = std::max(una_, news.position);
    if (block.behind > high_ || block.behind <= floor) continue;
    sacked += scoreboard_.add(std::max(block.first, floor), block.behind);
    sample_sacked(block);
  }
  return sacked;
}

void TcpSender::advance(const Acknowledgement& news) {
  const std::uint64_t bytes = news.position - una_;
  const std::uint64_t flight = in_flight();
  sample(news.position);
  una_ = news.position;
  scoreboard_.acknowledge(una_);
  timeouts_in_row_ = 0;
  congestion_->observe({scheduler_.now(), bytes, news.ece, rtt_.smoothed(), una_, high_});
  if (news.ece) react_to_mark();
  if (state_ != State::kOpen || !news.ece) settle(bytes, flight);
  duplicates_ = 0;
  if (in_flight() == 0) {
    timer_.stop();
    return tail_probe_.cancel();
  }
  timer_.start(rtt_.timeout());
}

void TcpSender::settle(std::uint64_t bytes, std::uint64_t flight) {
  const TcpCongestion::Acknowledged news{scheduler_.now(), bytes, false,
                                         rtt_.smoothed(),  una_,  high_};
  const bool over = una_ >= recover_;
  if (state_ == State::kRecovery) {
    if (over) {
      state_ = State::kOpen;
      if (!terms_.sack)
        congestion_->limit(std::max<std::uint64_t>(in_flight(), terms_.mss) + terms_.mss);
    } else if (!terms_.sack) {
      credit_ -= static_cast<std::int64_t>(bytes);
      if (bytes >= terms_.mss) credit_ += terms_.mss;
      first_again_ = true;
    }
    return;
  }
  if (state_ == State::kLoss && over) state_ = State::kOpen;
  if (was_limited(flight) && una_ > cut_end_) congestion_->grow(news);
}

/// The window, and nothing else, held data back before this acknowledgement.
bool TcpSender::was_limited(std::uint64_t flight) const {
  if (state_ != State::kOpen) return true;
  if (congestion_->in_slow_start()) return congestion_->window() < 2 * flight;
  return flight + terms_.mss > congestion_->window();
}

/// Of the last burst that has arrived just now. Where anything was sent again nobody knows what
/// has: what came behind a hole has waited for it. Timestamps, in ms, would at least say that it
/// was no longer than a timeout ago.
void TcpSender::sample(std::uint64_t position) {
  Time rtt = Time::never();
  bool again = false;
  for (; !sent_.empty() && sent_.front().behind <= position; sent_.pop()) {
    const Sent& front = sent_.front();
    again = again || front.again;
    if (!front.sacked) rtt = scheduler_.now() - front.time;
  }
  if (again && terms_.timestamps) rtt_.forget_backoff();
  if (!again && rtt != Time::never()) rtt_.sample(rtt);
}

/// SACK tells of a burst when it has arrived.
void TcpSender::sample_sacked(const SackScoreboard::Range& block) {
  Time rtt = Time::never();
  std::uint64_t first = una_;
  for (std::size_t i = 0, n = sent_.size(); i < n && first < block.behind; ++i) {
    Sent& sent = sent_.at(i);
    if (first >= block.first && sent.behind <= block.behind && !sent.sacked) {
      sent.sacked = true;
      if (!sent.again) rtt = scheduler_.now() - sent.time;
    }
    first = sent.behind;
  }
  if (rtt != Time::never()) rtt_.sample(rtt);
}

void TcpSender::duplicate() {
  ++duplicates_;
  if (state_ == State::kRecovery && !terms_.sack) credit_ += terms_.mss;
  if (state_ != State::kOpen) return;
  const bool lost = duplicates_ >= config_.duplicate_threshold || lost_before() > una_;
  // Without SACK, what a timeout has sent again may bring duplicates of its own.
  if (lost && (terms_.sack || una_ > recover_)) recover();
}

void TcpSender::recover() {
  ++recoveries_;
  state_ = State::kRecovery;
  recover_ = high_;
  again_high_ = una_;
  lost_ = 0;
  rescued_ = false;
  first_again_ = true;
  credit_ = static_cast<std::int64_t>(duplicates_) * terms_.mss;
  congestion_->cut(TcpCongestion::Cause::kLoss, in_flight(), scheduler_.now());
  mark_end_ = high_;
  cwr_ = terms_.ecn;
  timer_.start(rtt_.timeout());
  tail_probe_.forget();
}

void TcpSender::react_to_mark() {
  if (!terms_.ecn || state_ != State::kOpen || una_ <= mark_end_) return;
  ++marks_;
  congestion_->cut(TcpCongestion::Cause::kMark, in_flight(), scheduler_.now());
  mark_end_ = cut_end_ = high_;
  cwr_ = true;
}

// ---- What may leave ----------------------------------------------------------------------------

void TcpSender::push() {
  if (!open_) return;
  while (send_one()) {
  }
  arm();
}

std::uint64_t TcpSender::lost_before() const {
  const std::uint64_t told = scoreboard_.lost_before(config_.duplicate_threshold, terms_.mss);
  return std::max(una_, state_ != State::kOpen ? std::max(lost_, told) : told);
}

std::uint64_t TcpSender::pipe() const {
  if (state_ != State::kLoss && !terms_.sack) {
    const std::int64_t gone =
        state_ == State::kRecovery ? credit_ : std::int64_t{duplicates_} * terms_.mss;
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, static_cast<std::int64_t>(in_flight()) - gone));
  }
  if (state_ == State::kOpen && scoreboard_.empty()) return in_flight();
  const std::uint64_t again =
      state_ == State::kOpen ? 0 : scoreboard_.missing(una_, std::min(again_high_, high_));
  return scoreboard_.missing(lost_before(), high_) + again;
}

/// The next segment by RFC 6675's NextSeg; false if none may leave now.
bool TcpSender::send_one() {
  if (first_again_) {
    first_again_ = false;
    if (send_missing(una_, high_)) return true;
  }
  const std::uint64_t in_pipe = pipe();
  const std::uint64_t window = congestion_->window();
  const std::uint64_t room = window > in_pipe ? window - in_pipe : 0;
  const bool repairs = state_ == State::kLoss || (state_ == State::kRecovery && terms_.sack);
  const bool has_room = repairs && room >= terms_.mss;
  if (has_room && send_missing(std::max(una_, again_high_), lost_before())) return true;
  if (const std::uint64_t bytes = new_bytes(room)) {
    send_new(bytes);
    return true;
  }
  return has_room && send_rest();
}

bool TcpSender::send_missing(std::uint64_t from, std::uint64_t to) {
  const auto hole = scoreboard_.first_missing(from, std::min(to, high_));
  if (hole.first == hole.behind) return false;
  send_again(hole.first, std::min(hole.first + terms_.mss, hole.behind));
  return true;
}

/// Rules 3 and 4: what is missing though not yet lost, then, once, the last that may be lost.
bool TcpSender::send_rest() {
  if (send_missing(std::max(una_, again_high_), scoreboard_.highest())) return true;
  const bool all_have_left = std::max(scoreboard_.highest(), again_high_) >= high_;
  if (rescued_ || all_have_left || state_ != State::kRecovery) return false;
  rescued_ = true;
  const std::uint64_t kept = again_high_;
  const std::uint64_t least = std::max(scoreboard_.highest(), una_);
  send_again(std::max(least, high_ - std::min<std::uint64_t>(terms_.mss, high_ - least)), high_);
  again_high_ = kept;
  return true;
}

/// How many of the bytes that were never sent (FIN is one) may leave together.
std::uint64_t TcpSender::new_bytes(std::uint64_t room) const {
  const std::uint64_t ready = limit() - high_;
  const std::uint64_t usable = window_end_ > high_ ? window_end_ - high_ : 0;
  const std::uint64_t mss = terms_.mss;
  std::uint64_t bytes = std::min({ready, usable, room, std::uint64_t{terms_.burst}});
  if (bytes == ready) {
    const bool ends_short = bytes % mss != 0 && !finished_;
    const bool waits = config_.nagle && small_end_ > una_;
    return ends_short && waits ? bytes - bytes % mss : bytes;
  }
  if (bytes >= mss) return bytes - bytes % mss;
  // A small window (RFC 9293, 3.8.6.2.1): half of the largest ever is worth a segment.
  const bool by_window = bytes == usable;
  return by_window && bytes != 0 && bytes >= largest_window_ / 2 ? bytes : 0;
}

TcpSender::Piece TcpSender::piece(std::uint64_t from, std::uint64_t behind) const {
  Piece made;
  made.from = from;
  made.fin = behind > end_;
  made.length = static_cast<std::uint32_t>(behind - from - (made.fin ? 1 : 0));
  made.push = behind >= end_;
  return made;
}

void TcpSender::send_new(std::uint64_t bytes) {
  const Time now = scheduler_.now();
  if (in_flight() == 0) {
    timer_.stop();
    if (config_.slow_start_after_idle && now - last_sent_ > rtt_.timeout()) congestion_->restart();
  }
  Piece made = piece(high_, high_ + bytes);
  made.cwr = cwr_ && made.length != 0;
  if (made.cwr) cwr_ = false;
  high_ += bytes;
  if (made.length % terms_.mss != 0) small_end_ = high_;
  sent_.push() = {high_, now, false, false};
  last_sent_ = now;
  sent_bytes_ += made.length;
  schedule_tail_probe();
  output_.send(made);
}

void TcpSender::send_again(std::uint64_t from, std::uint64_t behind) {
  Piece made = piece(from, behind);
  made.again = true;
  again_high_ = std::max(again_high_, behind);
  // No round trip is taken from any burst that this is a part of.
  for (std::size_t i = 0, n = sent_.size(); i < n; ++i) {
    Sent& sent = sent_.at(i);
    if (sent.behind <= from) continue;
    sent.again = true;
    if (sent.behind >= behind) break;
  }
  last_sent_ = scheduler_.now();
  again_bytes_ += made.length;
  output_.send(made);
}

// ---- What happens when nothing comes -----------------------------------------------------------

/// While something is in flight the timer waits for its acknowledgement, else for a window.
void TcpSender::arm() {
  if (in_flight() == 0 && !has_unsent())
    timer_.stop();
  else if (!timer_.is_running())
    timer_.start(rtt_.timeout());
}

void TcpSender::expired() {
  if (tail_probe_.goes_now(scheduler_.now()) && may_probe_tail()) {
    tail_probe_.cancel();
    return tail_probe_due();
  }
  if (++timeouts_in_row_ > config_.retries) return output_.give_up();
  if (in_flight() != 0)
    time_out();
  else
    probe();
  push();
}

void TcpSender::time_out() {
  ++timeouts_;
  tail_probe_.forget();
  congestion_->time_out(in_flight(), scheduler_.now(), timeouts_in_row_ == 1);
  rtt_.back_off();
  state_ = State::kLoss;
  recover_ = lost_ = high_;
  again_high_ = una_;
  duplicates_ = 0;
  first_again_ = true;
  mark_end_ = high_;
  cwr_ = terms_.ecn;
  if (scoreboard_.contains(una_)) scoreboard_.clear();  // the receiver has thrown it away
}

void TcpSender::probe() {
  rtt_.back_off();
  const std::uint64_t usable = window_end_ > high_ ? window_end_ - high_ : 0;
  if (usable != 0) return send_new(std::min({limit() - high_, usable, std::uint64_t{terms_.mss}}));
  ++probes_;
  Piece made;
  made.from = una_ - 1;
  made.again = true;
  output_.send(made);
}

/// Only in calm weather: SACK and recovery know better what is missing.
bool TcpSender::may_probe_tail() const {
  return open_ && terms_.sack && state_ == State::kOpen && scoreboard_.empty() &&
         in_flight() != 0 && !tail_probe_.is_out();
}

void TcpSender::schedule_tail_probe() {
  if (!may_probe_tail()) return;
  const Time now = scheduler_.now();
  const Time timeout = timer_.is_running() ? timer_.deadline() : now + rtt_.timeout();
  tail_probe_.schedule(rtt_, in_flight() <= terms_.mss, now, timeout);
}

/// New data if there are and the peer takes them, else the last segment again.
void TcpSender::tail_probe_due() {
  if (!may_probe_tail()) return;
  const std::uint64_t usable = window_end_ > high_ ? window_end_ - high_ : 0;
  const std::uint64_t fresh = std::min({limit() - high_, usable, std::uint64_t{terms_.mss}});
  tail_probe_.sent(high_ + fresh, fresh == 0);
  if (fresh != 0)
    send_new(fresh);
  else
    send_again(high_ - last_segment(), high_);
  timer_.start(rtt_.timeout());
}

/// The length of the last that was sent, as it was on the wire.
std::uint64_t TcpSender::last_segment() const {
  const std::size_t bursts = sent_.size();
  const std::uint64_t begin = bursts > 1 ? std::max(una_, sent_.at(bursts - 2).behind) : una_;
  const std::uint64_t fin = high_ > end_ ? 1 : 0;
  const std::uint64_t data = high_ - begin - fin;
  const std::uint64_t rest = data % terms_.mss;
  return (rest != 0 || data == 0 ? rest : terms_.mss) + fin;
}

/// Its first block is of data that came twice (RFC 2883).
bool TcpSender::tells_of_duplicate(const Acknowledgement& news) const {
  return terms_.sack && news.sack_blocks != 0 && news.sack[0].behind <= news.position;
}

void TcpSender::take_tail_probe(const Acknowledgement& news, bool duplicate) {
  if (!tail_probe_.is_out()) return;
  if (const std::uint64_t end = tail_probe_.end(); scoreboard_.highest() >= end) {
    if (state_ == State::kOpen) recover();
    lost_ = std::max(lost_, end);
    return;
  }
  if (!tail_probe_.take(news.position, duplicate)) return;
  ++recoveries_;
  congestion_->cut(TcpCongestion::Cause::kLoss, in_flight(), scheduler_.now());
  mark_end_ = high_;
  cwr_ = terms_.ecn;
}

void TcpSender::report(const MetricScope& scope) const {
  scope.bytes("sent", Bytes(sent_bytes_), "payload, each byte once");
  scope.bytes("sent_again", Bytes(again_bytes_), "payload sent again");
  scope.count("timeouts", timeouts_, "retransmission timeouts");
  scope.count("recoveries", recoveries_, "losses told by duplicate or selective acknowledgements");
  scope.count("marks", marks_, "times that an echoed mark cut the window");
  scope.count("probes", probes_, "of a closed window");
  scope.count("tail_probes", tail_probe_.count(), "of the tail, when nothing came");
  scope.bytes("window", Bytes(congestion_->window()), "congestion window, at the end");
  scope.time("rtt", rtt_.smoothed(), "smoothed round trip time, at the end");
}

}  // namespace rnicsim

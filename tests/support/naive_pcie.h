// SPDX-License-Identifier: MIT
// A direction of a PCIe link as plainly as it can be written: one decision per TLP, credits per
// TLP, times as exact fractions. What host/pcie_direction must agree with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "host/pcie_direction.h"

namespace rnicsim::naive {

struct Tlp {
  std::uint32_t bytes = 0;
  std::uint32_t data_credits = 0;
};

struct Request {
  unsigned stream = 0;
  TlpClass kind = TlpClass::kPosted;
  Time arrival;
  std::vector<Tlp> tlps;
  Time end;  ///< result
};

class Link {
 public:
  explicit Link(const PcieDirectionConfig& config)
      : config_(config),
        byte_time_(config.rate),
        available_{config.posted, config.nonposted},
        queues_(config.delivery_delay.size()),
        turn_(static_cast<unsigned>(queues_.size()) - 1) {}

  /// `requests` in the order of their arrival.
  void run(std::vector<Request>& requests) {
    for (Request& request : requests) queues_[request.stream].push_back(&request);
    for (;;) {
      take_returns();
      if (const int stream = choose(); stream >= 0)
        send_tlp(static_cast<unsigned>(stream));
      else if (!wait())
        return;
    }
  }

 private:
  using Units = Uint128;  // of 1/denominator ps
  struct Return {
    Units time;
    unsigned kind;
    std::uint32_t data;
  };

  Units units(Time t) const { return static_cast<Units>(t.ps()) * byte_time_.denominator(); }
  bool arrived(const Request& r) const { return units(r.arrival) <= now_; }
  bool has_credits(const Request& r) const {
    if (r.kind == TlpClass::kCompletion) return true;
    const PcieCredits& a = available_[static_cast<unsigned>(r.kind)];
    return a.headers >= 1 && a.data >= r.tlps[sent_in(r)].data_credits;
  }
  std::size_t sent_in(const Request& r) const {
    return queues_[r.stream].front() == &r ? sent_[r.stream] : 0;
  }

  /// The stream whose TLP goes next, or -1.
  int choose() {
    const Request* blocked_posted = nullptr;
    for (const auto& queue : queues_) {
      if (queue.empty() || !arrived(*queue.front())) continue;
      const Request& r = *queue.front();
      if (r.kind == TlpClass::kPosted && !has_credits(r) &&
          (blocked_posted == nullptr || &r < blocked_posted))
        blocked_posted = &r;
    }
    if (blocked_posted != nullptr) owed_ = blocked_posted;
    const auto may_send = [&](unsigned s) {
      if (queues_[s].empty()) return false;
      const Request& r = *queues_[s].front();
      if (!arrived(r) || !has_credits(r)) return false;
      return blocked_posted == nullptr || r.kind == TlpClass::kPosted || &r < blocked_posted;
    };
    if (owed_ != nullptr && has_credits(*owed_)) {
      take_turn(owed_->stream);
      owed_ = nullptr;
      return static_cast<int>(turn_);
    }
    if (in_turn_ && may_send(turn_)) {
      const Request& r = *queues_[turn_].front();
      const bool fits = turn_bytes_ + r.tlps[sent_[turn_]].bytes <= config_.max_tlp.count();
      if (fits) return static_cast<int>(turn_);
    }
    for (unsigned i = 1; i <= queues_.size(); ++i) {
      const auto s = static_cast<unsigned>((turn_ + i) % queues_.size());
      if (!may_send(s)) continue;
      take_turn(s);
      return static_cast<int>(s);
    }
    return -1;
  }
  void take_turn(unsigned stream) {
    turn_ = stream;
    turn_bytes_ = 0;
    in_turn_ = true;
  }

  void send_tlp(unsigned stream) {
    Request& r = *queues_[stream].front();
    const Tlp& tlp = r.tlps[sent_[stream]];
    now_ += static_cast<Units>(tlp.bytes) * byte_time_.numerator();
    turn_bytes_ += tlp.bytes;
    if (r.kind != TlpClass::kCompletion) {
      const auto kind = static_cast<unsigned>(r.kind);
      available_[kind].headers -= 1;
      available_[kind].data -= tlp.data_credits;
      returns_.push_back({now_ + units(config_.credit_return), kind, tlp.data_credits});
    }
    if (++sent_[stream] < r.tlps.size()) return;
    const Units den = byte_time_.denominator();
    r.end = Time::ps(static_cast<std::int64_t>((now_ + den - 1) / den));
    queues_[stream].pop_front();
    sent_[stream] = 0;
    in_turn_ = false;
  }

  void take_returns() {
    while (!returns_.empty() && returns_.front().time <= now_) {
      available_[returns_.front().kind].headers += 1;
      available_[returns_.front().kind].data += returns_.front().data;
      returns_.pop_front();
    }
  }

  bool wait() {
    bool found = false;
    Units next = 0;
    const auto consider = [&](Units time) {
      if (time <= now_ || (found && time >= next)) return;
      next = time;
      found = true;
    };
    for (const auto& queue : queues_)
      if (!queue.empty()) consider(units(queue.front()->arrival));
    if (!returns_.empty()) consider(returns_.front().time);
    if (found) now_ = next;
    return found;
  }

  PcieDirectionConfig config_;
  ByteTime byte_time_;
  PcieCredits available_[2];
  std::vector<std::deque<Request*>> queues_;
  std::size_t sent_[PcieDirection::kMaxStreams] = {};
  std::deque<Return> returns_;
  Units now_ = 0;
  unsigned turn_;
  bool in_turn_ = false;
  const Request* owed_ = nullptr;  ///< a posted request that lacked credits goes first
  std::uint64_t turn_bytes_ = 0;
};

}  // namespace rnicsim::naive

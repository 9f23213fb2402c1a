// SPDX-License-Identifier: MIT
// Two TCP connections and the network between them, for tests: a fixed delay each way, a policy
// that may lose, delay, repeat or mark a segment, bursts cut on the way out and, if wanted, merged
// on the way in. Every byte that arrives is compared with what was sent.
//
// What passes is written down, a line a segment: when it was sent, by whom, flags, position of its
// first byte + length, position acknowledged, SACK blocks. Positions count from the SYN.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/tcp/stream_buffer.h"
#include "host/tcp/tcp_connection.h"
#include "model/scheduler.h"
#include "model/tcp_segmentation.h"

namespace rnicsim::test {

class TcpBench;

/// One side: an application that writes a pattern, and reads what comes at once unless told not to.
class TcpEnd : public TcpUser {
 public:
  TcpEnd(TcpBench& bench, Scheduler& scheduler, char name, const TcpConfig& config,
         const TcpConnection::Ends& ends)
      : connection(scheduler, config, ends, *this),
        name(name),
        initial(ends.initial),
        bench_(bench),
        sent_(config.send_buffer),
        came_(config.receive_buffer) {}

  static std::uint8_t pattern(char name, std::uint64_t offset) {
    return static_cast<std::uint8_t>((offset * 0x9e3779b97f4a7c15ULL) >> 56 ^
                                     static_cast<std::uint8_t>(name));
  }
  /// As much as there is room for at once, the rest when there is.
  void write(std::uint64_t bytes) {
    to_write += bytes;
    writable();
  }
  void close_behind_all() {
    closes = true;
    writable();
  }
  void read(std::uint64_t most) {
    const std::uint64_t bytes = std::min(most, connection.available());
    std::vector<std::uint8_t> data(bytes);
    const std::uint64_t offset = connection.consumed();
    came_.read(offset, data.data(), bytes);
    for (std::uint64_t i = 0; i < bytes; ++i)
      if (data[i] != pattern(peer->name, offset + i)) ++wrong_bytes;
    connection.consume(bytes);
  }

  void transmit(const TcpSegment& segment) override;
  void place(const TcpSegment&, std::uint32_t skip, std::uint64_t offset,
             std::uint32_t length) override {
    came_.write(offset, arriving->data() + skip, length);
  }
  void established() override { is_established = true; }
  void readable() override {
    if (reads) read(~std::uint64_t{0});
  }
  void writable() override {
    while (to_write != 0 && connection.room() != 0) {
      const std::uint64_t bytes = std::min(to_write, connection.room());
      std::vector<std::uint8_t> data(bytes);
      for (std::uint64_t i = 0; i < bytes; ++i) data[i] = pattern(name, connection.written() + i);
      sent_.write(connection.written(), data.data(), bytes);
      to_write -= bytes;
      connection.write(bytes);
    }
    if (closes && to_write == 0) {
      closes = false;
      connection.close();
    }
  }
  void closed() override { is_closed = true; }
  void failed(TcpFailure why) override { failure = name_of(why); }

  void receive(const TcpSegment& segment, std::vector<std::uint8_t>& data) {
    arriving = &data;
    connection.receive(segment);
    arriving = nullptr;
  }
  std::vector<std::uint8_t> bytes_of(std::uint64_t offset, std::uint32_t length) const {
    std::vector<std::uint8_t> data(length);
    sent_.read(offset, data.data(), length);
    return data;
  }

  TcpConnection connection;
  char name;
  TcpSeq initial;
  TcpEnd* peer = nullptr;
  std::vector<std::uint8_t>* arriving = nullptr;
  std::uint64_t to_write = 0;
  bool closes = false;
  bool reads = true;
  bool is_established = false;
  bool is_closed = false;
  std::string failure;
  std::uint64_t wrong_bytes = 0;

 private:
  TcpBench& bench_;
  StreamBuffer sent_;
  StreamBuffer came_;
};

/// What the network does to a segment.
struct TcpFate {
  bool lost = false;
  bool marked = false;
  Time delay{};  ///< more than usual
  unsigned copies = 1;
};

struct TcpBenchConfig {
  TcpConfig a;
  TcpConfig b;
  TcpConnection::Ends a_ends{40000, 5001, TcpSeq(1000), 1460, 0};
  TcpConnection::Ends b_ends{5001, 40000, TcpSeq(5000), 1460, 0};
  Time delay{Time::us(10)};  ///< each way
  bool merges = false;       ///< a burst arrives as one segment
};

class TcpBench {
 public:
  using Config = TcpBenchConfig;

  using Policy = std::function<TcpFate(const TcpEnd& from, const TcpSegment& segment)>;

  TcpBench(Scheduler& scheduler, const Config& config)
      : scheduler(scheduler),
        a(*this, scheduler, 'A', config.a, config.a_ends),
        b(*this, scheduler, 'B', config.b, config.b_ends),
        began(scheduler.now()),
        delay_(config.delay),
        merges_(config.merges) {
    a.peer = &b;
    b.peer = &a;
  }

  void open() {
    b.connection.listen();
    a.connection.connect();
  }
  /// Opens, runs until nothing happens any more, and forgets the lines.
  void establish() {
    open();
    run();
    log.clear();
    began = scheduler.now();
  }
  void run(Time length = Time::s(100'000)) { scheduler.run_until(scheduler.now() + length); }
  void carry(TcpEnd& from, const TcpSegment& segment) {
    if (merges_ || segment.length == 0) return pass(from, segment);
    for (std::uint32_t at = 0; at < segment.length; at += segment.segment_size) {
      TcpSegment slice = segment;
      slice.length = std::min(segment.segment_size, segment.length - at);
      slice.offset += at;
      slice.header = tcp_slice(segment.header, at, at + slice.length == segment.length);
      pass(from, slice);
    }
  }

  Scheduler& scheduler;
  TcpEnd a;
  TcpEnd b;
  Policy policy;
  /// Sees every segment when it leaves.
  std::function<void(const TcpEnd&, const TcpSegment&, const std::vector<std::uint8_t>&)> tap;
  std::vector<std::string> log;
  Time began;  ///< lines count time from here
  bool logs = true;

 private:
  struct Flying {
    TcpEnd* to = nullptr;
    TcpSegment segment;
    std::vector<std::uint8_t> data;
  };

  void pass(TcpEnd& from, TcpSegment segment) {
    const TcpFate fate = policy ? policy(from, segment) : TcpFate{};
    if (logs) log.push_back(line(from, segment) + (fate.lost ? " lost" : ""));
    std::vector<std::uint8_t> data = from.bytes_of(segment.offset, segment.length);
    if (tap) tap(from, segment, data);
    if (fate.lost) return;
    if (segment.length != 0)
      segment.segments = (segment.length + segment.segment_size - 1) / segment.segment_size;
    if (fate.marked) segment.ecn = Ecn::kCongestion;
    for (unsigned copy = 0; copy < fate.copies; ++copy) {
      const std::size_t slot = free_slot();
      *flying_[slot] = {from.peer, segment, data};
      scheduler.at(scheduler.now() + delay_ + fate.delay * (copy + 1),
                   call<&TcpBench::arrive>(this, slot));
    }
  }
  std::size_t free_slot() {
    if (free_.empty()) {
      flying_.push_back(std::make_unique<Flying>());
      return flying_.size() - 1;
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void arrive(std::uint64_t slot) {
    Flying arrived = std::move(*flying_[slot]);
    free_.push_back(slot);
    arrived.to->receive(arrived.segment, arrived.data);
  }

  std::string line(const TcpEnd& from, const TcpSegment& segment) const {
    const TcpHeader& h = segment.header;
    const auto own = [&](TcpSeq seq) { return std::to_string(seq - from.initial); };
    const auto other = [&](TcpSeq seq) { return std::to_string(seq - from.peer->initial); };
    std::string flags;
    for (const auto& [set, letter] : {std::pair{h.syn, 'S'},
                                      {h.fin, 'F'},
                                      {h.rst, 'R'},
                                      {h.psh, 'P'},
                                      {h.ece, 'E'},
                                      {h.cwr, 'C'},
                                      {h.ack, '.'}})
      if (set) flags += letter;
    std::string text = std::to_string((scheduler.now() - began) / Time::us(1)) + " " + from.name +
                       " " + flags + " " + own(h.sequence) + "+" + std::to_string(segment.length);
    if (h.ack) text += " ack " + other(h.acknowledgement);
    for (std::size_t i = 0; i < h.sack_blocks; ++i)
      text += " [" + other(h.sack[i].first) + ".." + other(h.sack[i].behind) + ")";
    return text;
  }

  Time delay_;
  bool merges_;
  std::deque<std::unique_ptr<Flying>> flying_;
  std::vector<std::size_t> free_;
};

inline void TcpEnd::transmit(const TcpSegment& segment) { bench_.carry(*this, segment); }

}  // namespace rnicsim::test

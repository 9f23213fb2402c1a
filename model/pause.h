// SPDX-License-Identifier: MIT
// Both ends of pausing a link (IEEE 802.1Qbb priority-based flow control, 802.3 annex 31B PAUSE),
// the same in a NIC's port and in a switch's.
//
// PauseRequester stands where packets are received: XOFF and XON of a class become frames, and as
// long as a class is XOFF the frame is repeated before its timer runs out at the other end.
// PauseListener stands where packets are sent: knows which classes the other end has paused and
// until when. A frame takes effect `response_time` after its last bit (802.3 31B.3.7 allows the
// values of pause_response_quanta); a packet that has begun by then is sent whole.
//
// Approximates: a class is paused and released at the whole picosecond, not on a quantum's grid
// (error below one quantum, 5 ns at 100 Gb/s).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/callback.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/packet.h"
#include "model/pause_frame.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "model/units.h"

namespace rnicsim {

enum class PauseMode : std::uint8_t { kNone, kPriority, kGlobal };

struct PauseConfig {
  PauseMode mode = PauseMode::kPriority;
  std::uint16_t quanta = 0xffff;
  std::optional<Time> response_time;
  void describe(Fields& fields);
};

/// Largest PAUSE response time in quanta for a link's rate (IEEE 802.3 31B.3.7): of the next listed
/// rate that is not slower; beyond 800 Gb/s that of 800.
std::uint32_t pause_response_quanta(BitRate rate);
/// The same in time, or what the configuration says instead.
Time pause_response_time(const PauseConfig& config, BitRate rate);

/// A time without a break in which a class was stopped.
struct PauseSpan {
  Time since;
  Time lasted;
};

/// A port that was paused for too long, for the report.
struct PauseStorm {
  std::string where;
  std::string what;  ///< "was paused by B for 5 ms"
  PauseSpan span;
  std::uint8_t priorities = 0;  ///< bit by bit
};

/// Priorities of a port whose spans are the same are one storm.
void add_storm(std::vector<PauseStorm>& storms, const PauseStorm& storm);

/// Told when a class of a port has stopped or goes on: of a listener, that the port obeys; of a
/// requester, that it asks for it.
class PauseObserver {
 public:
  struct Port {
    std::uint32_t node = 0;  ///< of the topology
    std::uint32_t port = 0;
  };
  virtual ~PauseObserver() = default;
  virtual void pause_changed(Port port, std::uint8_t priority, bool paused) = 0;
};

/// What arrives after a buffer has asked for a pause, at most.
struct HeadroomDemand {
  BitRate rate;
  Time propagation;     ///< of the cable, one way
  Time response_time;   ///< of the sender
  Bytes largest_frame;  ///< both that the pause frame waits for and that the sender has just begun
  Time latency{};       ///< of our pipeline, in which the packet may be that the pause waits for
  Bytes cell{1};        ///< bytes take whole cells of this size
};
/// A packet of our own that the pause frame waits for, the pause frame, the cable both ways and the
/// response time, all at the link's rate and in packets that fill the cells worst; the packet that
/// has just begun; and the one that asks for the pause, where the pool has no room left for it.
Bytes needed_headroom(const HeadroomDemand& demand);

class PauseRequester {
 public:
  /// `frame_due` runs whenever take_frame() has something to give.
  PauseRequester(Scheduler& scheduler, const PauseConfig& config, BitRate rate, Callback frame_due);

  /// The class must stop, or may go on. What it already is changes nothing.
  void xoff(std::uint8_t priority);
  void xon(std::uint8_t priority);
  /// A fault: the class stays XOFF whatever the buffer says, until it is let go.
  void jam(std::uint8_t priority);
  void let_go(std::uint8_t priority);
  /// The class is XON from now on, for good.
  void silence(std::uint8_t priority);
  /// The other end may have lost what it was told.
  void repeat() {
    if (xoff_ != 0) owe(xoff_);
  }
  bool is_xoff(std::uint8_t priority) const { return (xoff_ >> priority & 1) != 0; }
  bool any_xoff() const { return xoff_ != 0; }
  /// Since when the class has been XOFF. REQUIRES: is_xoff().
  Time xoff_since(std::uint8_t priority) const { return since_[priority]; }
  void observe(PauseObserver* observer) { observer_ = observer; }

  bool frame_is_due() const { return due_ != 0; }
  /// The frame that says what has changed or must be repeated. REQUIRES: frame_is_due().
  PauseFrame take_frame();

  /// `tx_prio3_pause`, named as ethtool -S does.
  void report(const MetricScope& scope) const;

 private:
  void settle(std::uint8_t priority);
  void owe(std::uint8_t classes);
  void refresh();

  Scheduler& scheduler_;
  PauseMode mode_;
  std::uint16_t quanta_;
  Time period_;  ///< half the time that a frame stops its receiver for
  Callback frame_due_;
  PauseObserver* observer_ = nullptr;
  std::uint8_t xoff_ = 0;      ///< bit p: class p is asked to stop
  std::uint8_t full_ = 0;      ///< so the buffer wants it
  std::uint8_t jammed_ = 0;    ///< a fault does
  std::uint8_t silenced_ = 0;  ///< and nobody is heard
  std::uint8_t due_ = 0;
  bool refreshing_ = false;
  std::array<std::uint64_t, kPriorities> frames_{};
  std::array<Time, kPriorities> since_{};
  std::array<Time, kPriorities> total_{};
};

class PauseListener {
 public:
  /// `resumed` runs when classes that were paused no longer are, once for all of an instant's.
  PauseListener(Scheduler& scheduler, const PauseConfig& config, BitRate rate, Callback resumed);

  /// A frame whose last bit has come. REQUIRES: called in order of arrival.
  void receive(const PauseFrame& frame);
  /// Which classes are paused now, bit by bit.
  std::uint8_t paused() const { return paused_; }
  bool is_paused(std::uint8_t priority) const { return (paused_ >> priority & 1) != 0; }
  /// Since when the class has been paused without a break; never() if it is not.
  Time paused_since(std::uint8_t priority) const { return since_[priority]; }
  /// How long the class has been paused altogether.
  Time total_paused(std::uint8_t priority) const;
  Time response_time() const { return response_; }
  /// The longest that the class has been paused without a break.
  PauseSpan longest(std::uint8_t priority) const;
  /// When the last frame came that stops the class; zero: none has.
  Time last_stop(std::uint8_t priority) const { return last_stop_[priority]; }
  /// Frames of that class count and stop nothing; what is paused goes on.
  void ignore(std::uint8_t priority, bool yes);
  /// Shows it to `observer` as that of `port`. REQUIRES: two observers at most.
  void observe(PauseObserver* observer, PauseObserver::Port port) {
    watchers_[watchers_[0].observer == nullptr ? 0 : 1] = {observer, port};
  }

  /// In which classes were paused up to `at` (>= now); over all of them.
  Time paused_time(Time at) const;
  void report(const MetricScope& scope) const;

 private:
  void take_effect();
  void pause(std::uint8_t priority);
  void release();
  void tell(std::uint8_t priority, bool paused) const;
  void expire(std::uint64_t priority);
  void arm(std::uint8_t priority);

  Scheduler& scheduler_;
  bool ignores_;
  Time response_;
  ByteTime byte_time_;
  Callback resumed_;
  struct Watcher {
    PauseObserver* observer = nullptr;
    PauseObserver::Port port;
  };
  std::array<Watcher, 2> watchers_;
  Ring<PauseFrame> coming_;  ///< have arrived and not taken effect
  std::uint8_t paused_ = 0;
  std::uint8_t ignored_ = 0;
  std::array<Time, kPriorities> until_{};
  std::array<Time, kPriorities> armed_;  ///< when its next timer runs out; never(): none does
  std::array<Time, kPriorities> since_;
  std::array<Time, kPriorities> last_stop_{};
  std::array<PauseSpan, kPriorities> longest_{};  ///< of those that are over
  std::array<std::uint64_t, kPriorities> frames_{};
  std::array<std::uint64_t, kPriorities> transitions_{};
  std::array<Time, kPriorities> total_{};
};

}  // namespace rnicsim

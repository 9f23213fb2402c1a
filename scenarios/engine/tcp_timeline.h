// SPDX-License-Identifier: MIT
// What the timeline shows of messages over TCP. A message is a stretch of a connection's stream;
// what belongs to it is told by ports and sequence number, which kernel and NIC read in the
// segment's header: two messages in one segment both have it in their rows.
//
//   4 system call, copy, segments, doorbell   5 DMA read   6 segments on the wire
//   7 DMA write, interrupt                    8 softirq, socket buffer, wake-up
//   9 copy, return
//
// A message of the control plane is part of step 3 instead, in fewer rows. So is the call that set
// up the connection of the first message that is shown of it.
//
// Approximates: an interrupt or a round of softirq is the message's if it is the NIC's and follows
// a frame of it; with several receive queues it may be another queue's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/probe.h"
#include "scenarios/engine/run_result.h"
#include "scenarios/engine/timeline_parts.h"

namespace rnicsim {

class TcpTimeline {
 public:
  /// Shows this stretch, which `from` is about to send.
  void track(const TcpMark& mark, const std::string& from, const std::string& to, bool control);
  /// `host`: where the record comes from.
  void record(const ProbeRecord& r, const std::string& host);
  void take(std::vector<TimelineRecord>& records);

 private:
  struct Message {
    TcpMark mark;
    std::string from;
    std::string to;
    bool control;
    std::uint64_t id;             ///< 0: of the control plane
    bool frame_came = false;      ///< and softirq has not taken its segment
    bool segment_taken = false;   ///< in the present round
    std::uint64_t interrupt = 0;  ///< data of the message sent for it
    TimelineParts parts;
  };
  struct Call {
    ProbeRecord record;
    std::string host;
  };
  void note(Message& m, const ProbeRecord& r, const std::string& host);
  static void at_sender(Message& m, const ProbeRecord& r);
  static void at_receiver(Message& m, const ProbeRecord& r);
  static void towards_softirq(Message& m, const ProbeRecord& r);
  static void grow(Message& m, const TimelineRow& row, const TimelineRow* of_control,
                   const ProbeRecord& r, std::uint64_t bytes);
  void add_call(const Message& m, std::vector<TimelineRecord>& records);

  std::vector<Message> messages_;
  std::vector<Call> calls_;  ///< to connect
};

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/tcp_timeline.h"

#include <algorithm>

namespace rnicsim {

namespace {

Time begin_of(const ProbeRecord& r) { return Time::ps(static_cast<std::int64_t>(r.a)); }

bool same_connection(const TcpMark& a, const TcpMark& b) {
  const bool same = a.source_port == b.source_port && a.destination_port == b.destination_port;
  const bool reverse = a.source_port == b.destination_port && a.destination_port == b.source_port;
  return same || reverse;
}

constexpr TimelineRow kSend{
    4, "system call", "cpu", "kernel.socket", "data", "a system call, until it returns"};
constexpr TimelineRow kCopyIn{
    4, "copy", "cpu", "kernel.socket", "data", "the CPU copies it into kernel memory"};
constexpr TimelineRow kMade{
    4, "segments", "cpu", "kernel.tcp", "data", "protocol, headers, descriptors into the ring"};
constexpr TimelineRow kRung{4, "doorbell", "cpu", "kernel.tcp", "data", "doorbell: one MMIO write"};
constexpr TimelineRow kRead{5,          "DMA read", "nic",
                            "ethernet", "data",     "headers and payload read from RAM by DMA"};
constexpr TimelineRow kWire{6, "segments", "wire", "port", "data", "segments [headers | data]"};
constexpr TimelineRow kWrite{7, "DMA write", "nic", "ethernet", "data", "into the kernel's memory"};
constexpr TimelineRow kMessage{7,          "interrupt sent", "nic",
                               "ethernet", "data",           "MSI-X message: one posted write"};
constexpr TimelineRow kInterrupt{
    7, "interrupt", "cpu", "interrupts", "data", "a core takes the interrupt"};
constexpr TimelineRow kSoftirq{
    8, "softirq", "cpu", "kernel.softirq", "data", "softirq polls the ring"};
constexpr TimelineRow kTaken{8,      "socket buffer",
                             "cpu",  "kernel.tcp",
                             "data", "protocol; the segment is put into the socket"};
constexpr TimelineRow kWoken{
    8, "woken", "cpu", "kernel.socket", "data", "the sleeping program is woken"};
constexpr TimelineRow kCopyOut{
    9, "copy", "cpu", "kernel.socket", "data", "the CPU copies it into the program's memory"};
constexpr TimelineRow kReturn{9, "return", "cpu", "kernel.socket", "data", "receive returns"};

constexpr TimelineRow kControlSend{
    3, "send", "cpu", "kernel.socket", "control", "send: system call, copy, segment, doorbell"};
constexpr TimelineRow kControlWire{3,      "segments", "wire",
                                   "port", "control",  "a segment of TCP [length | message]"};
constexpr TimelineRow kControlSoftirq{
    3, "softirq", "cpu", "kernel.softirq", "control", "interrupt, softirq, into the socket"};
constexpr TimelineRow kControlReceive{
    3, "receive", "cpu", "kernel.socket", "control", "receive: the program wakes, the CPU copies"};

}  // namespace

void TcpTimeline::track(const TcpMark& mark, const std::string& from, const std::string& to,
                        bool control) {
  const std::uint64_t id = std::uint64_t{mark.source_port} << 48 |
                           std::uint64_t{mark.destination_port} << 32 | mark.sequence.value();
  messages_.push_back({mark, from, to, control, control ? 0 : id, false, false, 0, {}});
}

void TcpTimeline::record(const ProbeRecord& r, const std::string& host) {
  if (r.kind == ProbeKind::kConnected && r.b != 0) calls_.push_back({r, host});
  for (Message& message : messages_) note(message, r, host);
}

void TcpTimeline::note(Message& m, const ProbeRecord& r, const std::string& host) {
  if (host == m.to) towards_softirq(m, r);
  if (!r.segment.overlaps(m.mark)) return;
  if (host == m.from) at_sender(m, r);
  if (host == m.to) at_receiver(m, r);
}

/// `of_control`: its row of a message of the control plane, if it has one.
void TcpTimeline::grow(Message& m, const TimelineRow& row, const TimelineRow* of_control,
                       const ProbeRecord& r, std::uint64_t bytes) {
  if (m.control && of_control == nullptr) return;
  const bool on_wire = row.step == kWire.step;
  const bool sends = row.step <= kRead.step;
  m.parts.grow(m.control ? *of_control : row,
               on_wire ? m.from + '-' + m.to : (sends ? m.from : m.to), begin_of(r), r.time, bytes,
               m.id);
}

void TcpTimeline::at_sender(Message& m, const ProbeRecord& r) {
  switch (r.kind) {
    case ProbeKind::kSocketSend:
      return grow(m, kSend, &kControlSend, r, r.b);
    case ProbeKind::kCopiedIn:
      return grow(m, kCopyIn, nullptr, r, r.b);
    case ProbeKind::kSegmentMade:
      return grow(m, kMade, nullptr, r, r.segment.payload);
    case ProbeKind::kSegmentRung:
      return grow(m, kRung, nullptr, r, 8);
    case ProbeKind::kFrameRead:
      return grow(m, kRead, nullptr, r, r.b);
    case ProbeKind::kPacketSent:
      return grow(m, kWire, &kControlWire, r, r.b);
    default:
      return;
  }
}

void TcpTimeline::at_receiver(Message& m, const ProbeRecord& r) {
  switch (r.kind) {
    case ProbeKind::kPacketReceived:
      m.parts.extend(m.control ? kControlWire : kWire, r.time);
      return;
    case ProbeKind::kFrameWritten:
      m.frame_came = true;
      return grow(m, kWrite, nullptr, r, r.b);
    case ProbeKind::kSegmentTaken:
      m.frame_came = false;
      m.segment_taken = true;
      return grow(m, kTaken, nullptr, r, r.segment.payload);
    case ProbeKind::kSocketWoken:
      return grow(m, kWoken, &kControlReceive, r, 0);
    case ProbeKind::kCopiedOut:
      return grow(m, kCopyOut, nullptr, r, r.b);
    case ProbeKind::kSocketReceive:
      if (m.control && m.parts.extend(kControlReceive, r.time)) return;
      return m.parts.grow(m.control ? kControlReceive : kReturn, m.to, r.time, r.time, r.b, m.id);
    default:
      return;
  }
}

/// Interrupts and rounds name no segment.
void TcpTimeline::towards_softirq(Message& m, const ProbeRecord& r) {
  switch (r.kind) {
    case ProbeKind::kFrameInterrupt:
      if (!m.frame_came) return;
      m.interrupt = r.b;
      if (!m.control) m.parts.grow(kMessage, m.to, r.time, r.time, sizeof(std::uint32_t), m.id);
      return;
    case ProbeKind::kInterruptTaken:
      if (m.interrupt == 0 || m.interrupt != r.b) return;
      m.interrupt = 0;
      return grow(m, kInterrupt, &kControlSoftirq, r, 0);
    case ProbeKind::kSoftirqRound:
      if (!m.segment_taken) return;
      m.segment_taken = false;
      if (m.control && m.parts.extend(kControlSoftirq, r.time)) return;
      return grow(m, kSoftirq, &kControlSoftirq, r, 0);
    default:
      return;
  }
}

void TcpTimeline::add_call(const Message& m, std::vector<TimelineRecord>& records) {
  const auto call = std::find_if(calls_.begin(), calls_.end(), [&](const Call& c) {
    return (c.host == m.from || c.host == m.to) && same_connection(c.record.segment, m.mark);
  });
  if (call == calls_.end()) return;
  static constexpr TimelineRow kConnect{
      3, "connect", "cpu", "kernel.tcp", "control", "connect: SYN, SYN and ACK, ACK"};
  TimelineParts parts;
  parts.grow(kConnect, call->host, begin_of(call->record), call->record.time, 0, 0);
  parts.take(records);
  calls_.erase(call);
}

void TcpTimeline::take(std::vector<TimelineRecord>& records) {
  for (Message& message : messages_) {
    add_call(message, records);
    message.parts.take(records);
  }
}

}  // namespace rnicsim

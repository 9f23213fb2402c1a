// SPDX-License-Identifier: MIT
// Probes: where observers (timeline, traces, logs) look into the model. A block owns a Probe and
// reports what happened; with no sink attached that costs one pointer test and builds nothing.
// Observing never changes a time.
#pragma once

#include <cstdint>

#include "model/tcp_header.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

/// What happened. The two values of a record are given beside each kind.
enum class ProbeKind : std::uint8_t {
  // Software (lane app and CPU)
  kAppStart,          ///< an application began
  kRegisterPin,       ///< a: begin ps, b: bytes pinned
  kRegisterTable,     ///< a: begin ps, b: bytes of translation table written
  kRegisterKey,       ///< a: begin ps, b: key
  kPagesBrought,      ///< for a page fault of the NIC. a: begin ps, b: pages
  kControlMessage,    ///< a: sent at ps, b: bytes; reported at delivery
  kPostSend,          ///< a: begin ps, b: bytes of payload
  kDoorbellRung,      ///< a: begin ps, b: CPU cycles of the whole post
  kCompletionPolled,  ///< a: status, b: bytes
  kInterruptTaken,    ///< a: message arrived at ps, b: its data; time: the handler begins
  kProgramWoken,      ///< a: event delivered at ps, b: number of the NIC << 32 | cqn
  // NIC, sending side
  kDoorbellArrived,   ///< a: qpn, b: producer index
  kWqeFetchStart,     ///< a: bytes asked for; the work request is the first expected
  kWqeFetched,        ///< a: bytes of the message, b: bytes of the WQE
  kTurn,              ///< a packet is cut. a: entered the pipeline ps, b: priority | kSentAgainBit
  kPayloadReadStart,  ///< a: message offset, b: bytes
  kPayloadReadEnd,    ///< a: begin ps, b: bytes
  kPacketStarts,      ///< takes the wire, of a NIC or switch. a: ready ps, b: of it stopped, ps
  kPacketSent,        ///< a: first bit ps, b: frame bytes; time: last bit has left
  // Switches
  kPacketForwarded,  ///< a: last bit came ps, b: frame bytes; time: last bit has left
  // NIC, receiving side
  kPacketReceived,     ///< a: first bit ps, b: frame bytes
  kKeyChecked,         ///< a: begin ps, b: KeyFault
  kTranslated,         ///< a: begin ps, b: 1 = missed the translation cache
  kTranslationMissed,  ///< where it is no kTranslated: of READs. a: begin ps, b: bytes
  kPayloadWriteStart,  ///< a: message offset, b: bytes
  kPayloadHanded,      ///< a: begin ps, b: bytes; handed to PCIe in order
  kPayloadLanded,      ///< a: begin ps, b: bytes; visible in host memory (reported by the host)
  kContextFetched,     ///< a queue pair's, that somebody missed. a: begin ps, b: qpn
  kAckSent,            ///< a: PSN, b: AETH syndrome
  kAckReceived,        ///< a: PSN, b: AETH syndrome
  kAnswerReceived,     ///< READ response or answer to an atomic. a: PSN, b: payload bytes
  kCqeWritten,         ///< a: begin ps, b: status
  kEventWritten,       ///< a: begin ps, b: type << 32 | object
  kInterruptSent,      ///< a: number of the event queue, b: data of the message
  kKeyChanged,         ///< a window bound or a key invalidated. a: begin ps, b: 1 = refused
  kQpError,            ///< a: qpn, b: cause (CompletionStatus)
  kSendQueueError,     ///< the same, of an unreliable service: the send queue alone stops
  kTimeout,            ///< a: qpn, b: PSN that was not acknowledged in time
  kGoBack,             ///< a: PSN from which on is sent again, b: PSNs
  kSentAgain,          ///< a: PSN that is sent again alone, b: PSNs (READ responses)
  // Plain Ethernet
  kFramesPosted,    ///< a doorbell. a: queue, b: producer index
  kFrameRead,       ///< headers and payload of a packet to send. a: begin ps, b: frame bytes
  kFrameWritten,    ///< handed to PCIe in order. a: begin ps, b: bytes
  kFrameInterrupt,  ///< a: queue, b: data of the message
  // The kernel's TCP; each names the segment, or the stretch of the stream, that it is about
  kConnected,         ///< a: begin ps (of the call, or of the peer's), b: 1 = this side called
  kConnectionClosed,  ///< both directions are done
  kConnectionFailed,  ///< b: TcpFailure
  kResetSent,         ///< to a stranger
  kSocketSend,        ///< a call returns. a: begin ps, b: bytes
  kSocketReceive,     ///< a call returns. a: begin ps, b: bytes
  kCopiedIn,          ///< from the application to the kernel. a: begin ps, b: bytes
  kCopiedOut,         ///< from the kernel to the application. a: begin ps, b: bytes
  kSegmentMade,       ///< down to its descriptors. a: begin ps, b: descriptors
  kAckMade,           ///< the same, of an acknowledgement without data
  kSegmentRung,       ///< the doorbell for it leaves. a: begin ps, b: descriptors
  kSegmentTaken,      ///< after merging. a: begin ps, b: frames merged by software and NIC
  kAckTaken,          ///< the same, of an acknowledgement without data
  kSegmentAgain,      ///< is being sent again. b: TcpAgain
  kSoftirqRound,      ///< of polling, ends. a: begin ps, b: frames taken
  kSocketWoken,       ///< its sleeper runs again. a: was woken ps
  // Faults injected on a link, reported for the sender. a: PSN, b: opcode (of TCP neither); time:
  // first bit
  kPacketLost,
  kPacketDamaged,
  kPacketDuplicated,
  kPacketDelayed,
  kPacketHeldBack,  ///< until others have overtaken it
};

inline constexpr unsigned kProbeKinds = static_cast<unsigned>(ProbeKind::kPacketHeldBack) + 1;

/// Of kTurn: the packet has been sent before.
inline constexpr std::uint64_t kSentAgainBit = 0x100;

struct ProbeRecord {
  Time time;
  std::uint32_t component = 0;  ///< index in the observers' table of names
  ProbeKind kind = ProbeKind::kAppStart;
  WorkRequestId work_request;
  std::uint64_t packet = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  TcpMark segment{};  ///< of TCP
};

class ProbeSink {
 public:
  virtual ~ProbeSink() = default;
  virtual void record(const ProbeRecord& record) = 0;
};

class Probe {
 public:
  /// Called once by whoever wires the system; `component` is the sink's number for this block.
  void attach(ProbeSink* sink, std::uint32_t component) {
    sink_ = sink;
    component_ = component;
  }
  bool on() const { return sink_ != nullptr; }
  void operator()(Time time, ProbeKind kind, WorkRequestId work_request, std::uint64_t packet,
                  std::uint64_t a, std::uint64_t b, const TcpMark& segment = {}) const {
    if (sink_ != nullptr)
      sink_->record({time, component_, kind, work_request, packet, a, b, segment});
  }
  /// Of the kernel's TCP.
  void operator()(Time time, ProbeKind kind, Time begin, std::uint64_t b,
                  const TcpMark& segment) const {
    (*this)(time, kind, {}, 0, static_cast<std::uint64_t>(begin.ps()), b, segment);
  }

 private:
  ProbeSink* sink_ = nullptr;
  std::uint32_t component_ = 0;
};

}  // namespace rnicsim

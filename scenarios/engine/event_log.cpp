// SPDX-License-Identifier: MIT
#include "scenarios/engine/event_log.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "host/tcp/tcp_connection.h"
#include "model/headers.h"
#include "model/nic_abi.h"

namespace rnicsim {

namespace {

constexpr LogLevel kFault = LogLevel::kFault;
constexpr LogLevel kMessage = LogLevel::kMessage;
constexpr LogLevel kPacket = LogLevel::kPacket;

struct Kind {
  const char* block;  ///< below the host, or below the NIC
  const char* event;
  LogLevel level;  ///< if all is well
};

Kind describe(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kAppStart:
      return {"cpu.application", "start", kMessage};
    case ProbeKind::kRegisterPin:
      return {"driver", "pages pinned", kMessage};
    case ProbeKind::kRegisterTable:
      return {"driver", "translation table built", kMessage};
    case ProbeKind::kRegisterKey:
      return {"driver", "key issued", kMessage};
    case ProbeKind::kPagesBrought:
      return {"driver", "pages brought in", kMessage};
    case ProbeKind::kControlMessage:
      return {"cpu.control_channel", "message delivered", kMessage};
    case ProbeKind::kPostSend:
      return {"cpu.verbs", "descriptor written", kMessage};
    case ProbeKind::kDoorbellRung:
      return {"cpu.verbs", "doorbell rung", kMessage};
    case ProbeKind::kCompletionPolled:
      return {"cpu.verbs", "completion polled", kMessage};
    case ProbeKind::kInterruptTaken:
      return {"interrupts", "interrupt taken", kMessage};
    case ProbeKind::kProgramWoken:
      return {"cpu.verbs", "event taken", kMessage};
    case ProbeKind::kDoorbellArrived:
      return {"doorbell", "doorbell arrived", kMessage};
    case ProbeKind::kWqeFetchStart:
      return {"wqe_fetch", "fetch begins", kMessage};
    case ProbeKind::kWqeFetched:
      return {"wqe_fetch", "descriptor fetched", kMessage};
    case ProbeKind::kTurn:
      return {"requester", "packet cut", kPacket};
    case ProbeKind::kPayloadReadStart:
      return {"requester", "payload read begins", kPacket};
    case ProbeKind::kPayloadReadEnd:
      return {"requester", "payload read ends", kPacket};
    case ProbeKind::kPacketStarts:
      return {"port", "packet takes the wire", kPacket};
    case ProbeKind::kPacketForwarded:
      return {"port", "packet forwarded", kPacket};
    case ProbeKind::kPacketSent:
      return {"port", "packet sent", kPacket};
    case ProbeKind::kPacketReceived:
      return {"port", "packet received", kPacket};
    case ProbeKind::kKeyChecked:
      return {"key_checker", "key checked", kPacket};
    case ProbeKind::kTranslated:
      return {"translation_cache", "address translated", kPacket};
    case ProbeKind::kTranslationMissed:
      return {"translation_cache", "translation fetched", kPacket};
    case ProbeKind::kContextFetched:
      return {"qp_context_cache", "context fetched", kPacket};
    case ProbeKind::kPayloadWriteStart:
      return {"responder", "payload write begins", kPacket};
    case ProbeKind::kPayloadHanded:
      return {"responder", "payload handed to PCIe", kPacket};
    case ProbeKind::kPayloadLanded:
      return {"pcie", "payload visible in memory", kPacket};
    case ProbeKind::kAckSent:
      return {"responder", "acknowledgement sent", kPacket};
    case ProbeKind::kAckReceived:
      return {"completer", "acknowledgement received", kPacket};
    case ProbeKind::kAnswerReceived:
      return {"completer", "answer received", kPacket};
    case ProbeKind::kCqeWritten:
      return {"cqe_writer", "completion entry written", kMessage};
    case ProbeKind::kEventWritten:
      return {"event_queue", "event entry written", kMessage};
    case ProbeKind::kInterruptSent:
      return {"event_queue", "interrupt sent", kMessage};
    case ProbeKind::kKeyChanged:
      return {"key_operations", "key changed", kMessage};
    case ProbeKind::kQpError:
      return {"completer", "queue pair in error", kFault};
    case ProbeKind::kSendQueueError:
      return {"completer", "send queue in error", kFault};
    case ProbeKind::kTimeout:
      return {"retransmitter", "no answer in time", kFault};
    case ProbeKind::kGoBack:
    case ProbeKind::kSentAgain:
      return {"retransmitter", "sent again", kFault};
    case ProbeKind::kFramesPosted:
      return {"ethernet", "frames posted", kMessage};
    case ProbeKind::kFrameRead:
      return {"ethernet", "frame read", kPacket};
    case ProbeKind::kFrameWritten:
      return {"ethernet", "frame handed to PCIe", kPacket};
    case ProbeKind::kFrameInterrupt:
      return {"ethernet", "interrupt sent", kMessage};
    case ProbeKind::kConnected:
      return {"kernel.tcp", "connection established", kMessage};
    case ProbeKind::kConnectionClosed:
      return {"kernel.tcp", "connection closed", kMessage};
    case ProbeKind::kConnectionFailed:
      return {"kernel.tcp", "connection failed", kFault};
    case ProbeKind::kResetSent:
      return {"kernel.tcp", "reset to a stranger", kFault};
    case ProbeKind::kSocketSend:
      return {"kernel.socket", "send returns", kMessage};
    case ProbeKind::kSocketReceive:
      return {"kernel.socket", "receive returns", kMessage};
    case ProbeKind::kSocketWoken:
      return {"kernel.socket", "program woken", kMessage};
    case ProbeKind::kCopiedIn:
      return {"kernel.socket", "copied to the kernel", kPacket};
    case ProbeKind::kCopiedOut:
      return {"kernel.socket", "copied to the program", kPacket};
    case ProbeKind::kSegmentMade:
      return {"kernel.tcp", "segment made", kPacket};
    case ProbeKind::kAckMade:
      return {"kernel.tcp", "acknowledgement made", kPacket};
    case ProbeKind::kSegmentRung:
      return {"kernel.tcp", "doorbell rung", kPacket};
    case ProbeKind::kSegmentTaken:
      return {"kernel.tcp", "segment received", kPacket};
    case ProbeKind::kAckTaken:
      return {"kernel.tcp", "acknowledgement received", kPacket};
    case ProbeKind::kSegmentAgain:
      return {"kernel.tcp", "sent again", kFault};
    case ProbeKind::kSoftirqRound:
      return {"kernel.softirq", "round of polling", kPacket};
    case ProbeKind::kPacketLost:
      return {"link", "packet lost", kFault};
    case ProbeKind::kPacketDamaged:
      return {"link", "packet damaged", kFault};
    case ProbeKind::kPacketDuplicated:
      return {"link", "packet duplicated", kFault};
    case ProbeKind::kPacketDelayed:
      return {"link", "packet delayed", kFault};
    case ProbeKind::kPacketHeldBack:
      return {"link", "packet held back", kFault};
  }
  return {"?", "?", kFault};
}

std::string since(const ProbeRecord& r) {
  return fmt::format("took {:.3f} ns", (r.time - Time::ps(static_cast<std::int64_t>(r.a))).as_ns());
}

std::string acknowledgement(const ProbeRecord& r) {
  const Aeth aeth{static_cast<std::uint8_t>(r.b), 0};
  return fmt::format("psn {} {}", r.a, aeth.is_ack() ? "ACK" : name_of(aeth.nak_code()));
}

/// What the kernel's TCP says besides which segment it is.
std::string details_of_tcp(const ProbeRecord& r) {
  switch (r.kind) {
    case ProbeKind::kConnected:
      return fmt::format("{}, {}", r.b != 0 ? "called" : "accepted", since(r));
    case ProbeKind::kConnectionFailed:
      return name_of(static_cast<TcpFailure>(r.b));
    case ProbeKind::kSegmentAgain:
      return name_of(static_cast<TcpAgain>(r.b));
    case ProbeKind::kSegmentMade:
    case ProbeKind::kAckMade:
    case ProbeKind::kSegmentRung:
      return fmt::format("{} descriptors, {}", r.b, since(r));
    case ProbeKind::kSegmentTaken:
    case ProbeKind::kAckTaken:
      return fmt::format("{} frames, {}", r.b, since(r));
    case ProbeKind::kSoftirqRound:
      return fmt::format("{} frames, {}", r.b, since(r));
    case ProbeKind::kSocketSend:
    case ProbeKind::kSocketReceive:
    case ProbeKind::kSocketWoken:
    case ProbeKind::kCopiedIn:
    case ProbeKind::kCopiedOut:
      return since(r);
    default:
      return {};
  }
}

std::string details_of_block(const ProbeRecord& r) {
  switch (r.kind) {
    case ProbeKind::kRegisterPin:
    case ProbeKind::kRegisterTable:
    case ProbeKind::kControlMessage:
    case ProbeKind::kPostSend:
    case ProbeKind::kPacketSent:
    case ProbeKind::kPacketReceived:
    case ProbeKind::kPacketForwarded:
    case ProbeKind::kTranslationMissed:
    case ProbeKind::kPayloadReadEnd:
    case ProbeKind::kPayloadHanded:
    case ProbeKind::kPayloadLanded:
    case ProbeKind::kFrameRead:
    case ProbeKind::kFrameWritten:
      return fmt::format("{} B, {}", r.b, since(r));
    case ProbeKind::kTurn:
      return fmt::format("priority {}{}", r.b & (kSentAgainBit - 1),
                         (r.b & kSentAgainBit) != 0 ? ", sent again" : "");
    case ProbeKind::kPacketStarts:
      return fmt::format("waited {:.3f} ns, {:.3f} of it stopped",
                         (r.time - Time::ps(static_cast<std::int64_t>(r.a))).as_ns(),
                         Time::ps(static_cast<std::int64_t>(r.b)).as_ns());
    case ProbeKind::kContextFetched:
      return fmt::format("qp {}, {}", r.b, since(r));
    case ProbeKind::kPagesBrought:
      return fmt::format("{} pages, {}", r.b, since(r));
    case ProbeKind::kRegisterKey:
      return fmt::format("key 0x{:08x}, {}", r.b, since(r));
    case ProbeKind::kDoorbellRung:
      return fmt::format("{} cycles for the whole post", r.b);
    case ProbeKind::kCompletionPolled:
      return fmt::format("{}, {} B", name_of(static_cast<CompletionStatus>(r.a)), r.b);
    case ProbeKind::kDoorbellArrived:
      return fmt::format("qp {}, producer {}", r.a, r.b);
    case ProbeKind::kWqeFetchStart:
      return fmt::format("{} B asked for", r.a);
    case ProbeKind::kWqeFetched:
      return fmt::format("message of {} B, entry of {} B", r.a, r.b);
    case ProbeKind::kPayloadReadStart:
      return fmt::format("{} B at offset {}", r.b, r.a);
    case ProbeKind::kPayloadWriteStart:
      return fmt::format("{} B to address 0x{:x}", r.b, r.a);
    case ProbeKind::kKeyChecked:
      return fmt::format("{}, {}", r.b == 0 ? "allowed" : name_of(static_cast<KeyFault>(r.b)),
                         since(r));
    case ProbeKind::kTranslated:
      return fmt::format("{}, {}", r.b == 0 ? "hit" : "miss", since(r));
    case ProbeKind::kAckSent:
    case ProbeKind::kAckReceived:
      return acknowledgement(r);
    case ProbeKind::kAnswerReceived:
      return fmt::format("psn {}, {} B", r.a, r.b);
    case ProbeKind::kCqeWritten:
      return name_of(static_cast<CompletionStatus>(r.b));
    case ProbeKind::kInterruptTaken:
      return fmt::format("vector {}, {}", r.b, since(r));
    case ProbeKind::kProgramWoken:
      return fmt::format("cq {}, {}", static_cast<std::uint32_t>(r.b), since(r));
    case ProbeKind::kEventWritten:
      return fmt::format("{} {}", name_of(static_cast<abi::EventType>(r.b >> 32)),
                         static_cast<std::uint32_t>(r.b));
    case ProbeKind::kInterruptSent:
      return fmt::format("eq {}, vector {}", r.a, r.b);
    case ProbeKind::kKeyChanged:
      return fmt::format("{}, {}", r.b == 0 ? "done" : "refused", since(r));
    case ProbeKind::kFramesPosted:
      return fmt::format("queue {}, producer {}", r.a, r.b);
    case ProbeKind::kFrameInterrupt:
      return fmt::format("queue {}, vector {}", r.a, r.b);
    case ProbeKind::kTimeout:
      return fmt::format("qp {}, psn {}", r.a, r.b);
    case ProbeKind::kGoBack:
      return fmt::format("from psn {} on, {} packets", r.a, r.b);
    case ProbeKind::kSentAgain:
      return fmt::format("psn {} alone, {} packets", r.a, r.b);
    case ProbeKind::kQpError:
    case ProbeKind::kSendQueueError:
      return fmt::format("qp {}: {}", r.a, name_of(static_cast<CompletionStatus>(r.b)));
    case ProbeKind::kPacketLost:
    case ProbeKind::kPacketDamaged:
    case ProbeKind::kPacketDuplicated:
    case ProbeKind::kPacketDelayed:
    case ProbeKind::kPacketHeldBack:
      return r.segment ? std::string()
                       : fmt::format("psn {} {}", r.a, name_of(static_cast<Opcode>(r.b)));
    default:
      return details_of_tcp(r);
  }
}

std::string details(const ProbeRecord& r) {
  std::string text = details_of_block(r);
  if (!r.segment) return text;
  return text.empty() ? text_of(r.segment) : fmt::format("{}; {}", text_of(r.segment), text);
}

/// Whether the event is that something was refused or failed.
bool failed(const ProbeRecord& r) {
  const auto success = static_cast<std::uint64_t>(CompletionStatus::kSuccess);
  switch (r.kind) {
    case ProbeKind::kKeyChecked:
    case ProbeKind::kKeyChanged:
      return r.b != 0;
    case ProbeKind::kAckSent:
    case ProbeKind::kAckReceived:
      return !Aeth{static_cast<std::uint8_t>(r.b), 0}.is_ack();
    case ProbeKind::kCqeWritten:
      return r.b != success;
    case ProbeKind::kCompletionPolled:
      return r.a != success;
    default:
      return false;
  }
}

}  // namespace

std::optional<LogLevel> log_level_of_name(std::string_view name) {
  if (name == "fault") return kFault;
  if (name == "message") return kMessage;
  if (name == "packet") return kPacket;
  return std::nullopt;
}

LogLevel log_level_of(const ProbeRecord& record) {
  return failed(record) ? kFault : describe(record.kind).level;
}

EventLog::EventLog(const EventLogOptions& options, const ProbeComponents& components,
                   std::function<Time()> now, std::ostream& out)
    : options_(options), components_(components), now_(std::move(now)), out_(out) {
  for (const ProbeComponent& component : components_) {
    std::array<bool, kProbeKinds>& shown = shown_.emplace_back();
    for (unsigned kind = 0; kind < kProbeKinds; ++kind) {
      const std::string path = component.path + "." + describe(static_cast<ProbeKind>(kind)).block;
      shown[kind] = fnmatch(options_.glob.c_str(), path.c_str(), 0) == 0;
    }
    if (!component.nic) continue;
    if (nics_.size() <= *component.nic) nics_.resize(*component.nic + 1U);
    nics_[*component.nic] = component.path.substr(std::string_view("host.").size());
  }
}

EventLog::~EventLog() { print_until(Time::never()); }

void EventLog::record(const ProbeRecord& r) {
  if (!shown_[r.component][static_cast<unsigned>(r.kind)]) return;
  if (log_level_of(r) > options_.level) return;
  const Time now = now_();
  const Time time = std::max(r.time, now);
  if (time < options_.from || time > options_.until) return;
  pending_.push({time, records_++, r});
  print_until(now);
}

void EventLog::print_until(Time time) {
  while (!pending_.empty() && pending_.top().time <= time) {
    print(pending_.top());
    pending_.pop();
  }
}

void EventLog::print(const Pending& pending) {
  const ProbeRecord& r = pending.record;
  const Kind kind = describe(r.kind);
  std::string work_request;
  if (r.work_request)
    work_request = fmt::format("{} qp {} #{}", nics_.at(r.work_request.nic()),
                               r.work_request.qpn().value(), r.work_request.index());
  std::string text = details(r);
  if (r.time < pending.time) text += fmt::format(" (at {:.3f} ns)", r.time.as_ns());
  out_ << fmt::format("{:>14.3f} ns  {:<32} {:<26} {:<18} {}\n", pending.time.as_ns(),
                      components_[r.component].path + "." + kind.block, kind.event, work_request,
                      text);
}

}  // namespace rnicsim

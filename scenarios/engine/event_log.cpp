// SPDX-License-Identifier: MIT
#include "scenarios/engine/event_log.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include "model/headers.h"

namespace rnicsim {

namespace {

struct Kind {
  const char* block;  ///< below the host
  const char* event;
};

Kind describe(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kAppStart:
      return {"cpu.application", "start"};
    case ProbeKind::kRegisterPin:
      return {"cpu.driver", "pages pinned"};
    case ProbeKind::kRegisterTable:
      return {"cpu.driver", "translation table built"};
    case ProbeKind::kRegisterKey:
      return {"cpu.driver", "key issued"};
    case ProbeKind::kControlMessage:
      return {"cpu.control_channel", "message delivered"};
    case ProbeKind::kPostSend:
      return {"cpu.verbs", "descriptor written"};
    case ProbeKind::kDoorbellRung:
      return {"cpu.verbs", "doorbell rung"};
    case ProbeKind::kCompletionPolled:
      return {"cpu.verbs", "completion polled"};
    case ProbeKind::kDoorbellArrived:
      return {"nic0.doorbell", "doorbell arrived"};
    case ProbeKind::kWqeFetchStart:
      return {"nic0.wqe_fetch", "fetch begins"};
    case ProbeKind::kWqeFetched:
      return {"nic0.wqe_fetch", "descriptor fetched"};
    case ProbeKind::kPayloadReadStart:
      return {"nic0.requester", "payload read begins"};
    case ProbeKind::kPayloadReadEnd:
      return {"nic0.requester", "payload read ends"};
    case ProbeKind::kPacketSent:
      return {"nic0.port", "packet sent"};
    case ProbeKind::kPacketReceived:
      return {"nic0.port", "packet received"};
    case ProbeKind::kKeyChecked:
      return {"nic0.key_checker", "key checked"};
    case ProbeKind::kTranslated:
      return {"nic0.translation_cache", "address translated"};
    case ProbeKind::kPayloadWriteStart:
      return {"nic0.responder", "payload write begins"};
    case ProbeKind::kPayloadHanded:
      return {"nic0.responder", "payload handed to PCIe"};
    case ProbeKind::kPayloadLanded:
      return {"pcie", "payload visible in memory"};
    case ProbeKind::kAckSent:
      return {"nic0.responder", "acknowledgement sent"};
    case ProbeKind::kAckReceived:
      return {"nic0.completer", "acknowledgement received"};
    case ProbeKind::kCqeWritten:
      return {"nic0.cqe_writer", "completion entry written"};
    case ProbeKind::kQpError:
      return {"nic0.completer", "queue pair in error"};
    case ProbeKind::kPacketLost:
      return {"link", "packet lost"};
    case ProbeKind::kPacketDamaged:
      return {"link", "packet damaged"};
    case ProbeKind::kPacketDuplicated:
      return {"link", "packet duplicated"};
    case ProbeKind::kPacketDelayed:
      return {"link", "packet delayed"};
    case ProbeKind::kPacketHeldBack:
      return {"link", "packet held back"};
  }
  return {"?", "?"};
}

std::string since(const ProbeRecord& r) {
  return fmt::format("took {:.3f} ns", (r.time - Time::ps(static_cast<std::int64_t>(r.a))).as_ns());
}

std::string acknowledgement(const ProbeRecord& r) {
  const Aeth aeth{static_cast<std::uint8_t>(r.b), 0};
  return fmt::format("psn {} {}", r.a, aeth.is_ack() ? "ACK" : name_of(aeth.nak_code()));
}

std::string details(const ProbeRecord& r) {
  switch (r.kind) {
    case ProbeKind::kRegisterPin:
    case ProbeKind::kRegisterTable:
    case ProbeKind::kControlMessage:
    case ProbeKind::kPostSend:
    case ProbeKind::kPacketSent:
    case ProbeKind::kPacketReceived:
    case ProbeKind::kPayloadReadEnd:
    case ProbeKind::kPayloadHanded:
    case ProbeKind::kPayloadLanded:
      return fmt::format("{} B, {}", r.b, since(r));
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
    case ProbeKind::kCqeWritten:
      return name_of(static_cast<CompletionStatus>(r.b));
    case ProbeKind::kQpError:
      return fmt::format("qp {}: {}", r.a, name_of(static_cast<CompletionStatus>(r.b)));
    case ProbeKind::kPacketLost:
    case ProbeKind::kPacketDamaged:
    case ProbeKind::kPacketDuplicated:
    case ProbeKind::kPacketDelayed:
    case ProbeKind::kPacketHeldBack:
      return fmt::format("psn {} {}", r.a, name_of(static_cast<RcOpcode>(r.b)));
    case ProbeKind::kAppStart:
      break;
  }
  return {};
}

}  // namespace

void EventLog::record(const ProbeRecord& r) {
  if (r.time < options_.from || r.time > options_.until) return;
  const Kind kind = describe(r.kind);
  const std::string path = "host." + hosts_[r.component / 2] + "." + kind.block;
  if (fnmatch(options_.glob.c_str(), path.c_str(), 0) != 0) return;
  std::string work_request;
  if (r.work_request)
    work_request = fmt::format("wr qp {} #{}", r.work_request.value() >> 32 & 0xffffff,
                               r.work_request.index());
  out_ << fmt::format("{:>14.3f} ns  {:<32} {:<26} {:<14} {}\n", r.time.as_ns(), path, kind.event,
                      work_request, details(r));
}

}  // namespace rnicsim

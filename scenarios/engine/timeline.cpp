// SPDX-License-Identifier: MIT
#include "scenarios/engine/timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/tcp/tcp_connection.h"
#include "model/headers.h"
#include "model/nic_abi.h"
#include "scenarios/engine/workload.h"

namespace rnicsim {

namespace {

using Detail = RecordDetail::Kind;

Time time_in(std::uint64_t ps) { return Time::ps(static_cast<std::int64_t>(ps)); }

struct Fate {
  RecordDetail::Kind kind;
  const char* text;
};

/// What an injected fault does to a packet; nothing for records of anything else.
std::optional<Fate> fate_on_link(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kPacketLost:
      return Fate{Detail::kPacketLost, "is lost"};
    case ProbeKind::kPacketDamaged:
      return Fate{Detail::kPacketDamaged, "is damaged"};
    case ProbeKind::kPacketDuplicated:
      return Fate{Detail::kPacketDuplicated, "arrives twice"};
    case ProbeKind::kPacketDelayed:
      return Fate{Detail::kPacketDelayed, "is delayed"};
    case ProbeKind::kPacketHeldBack:
      return Fate{Detail::kPacketHeldBack, "is held back for others to overtake"};
    default:
      return std::nullopt;
  }
}

/// What stands in the packets that carry a request.
const char* packets_of(Operation operation) {
  switch (operation) {
    case Operation::kWrite:
    case Operation::kBindWindow:
      break;
    case Operation::kWriteImm:
      return "packets [address + rkey | data | immediate]";
    case Operation::kRead:
      return "request [address + rkey + length]";
    case Operation::kSend:
      return "packets [data]";
    case Operation::kSendImm:
      return "packets [data | immediate]";
    case Operation::kSendInvalidate:
      return "packets [data | rkey to invalidate]";
    case Operation::kCompareSwap:
    case Operation::kFetchAdd:
      return "request [address + rkey + operands]";
  }
  return "packets [address + rkey | data]";
}

}  // namespace

/// The record comes from the NIC that the work request was posted to.
bool Timeline::at_home(const ProbeRecord& r) const {
  const std::optional<std::uint16_t> nic = components_[r.component].nic;
  return nic && r.work_request.nic() == *nic;
}

/// The same of records of the host, which are of no NIC.
bool Timeline::of_home_host(const ProbeRecord& r) const {
  return std::any_of(components_.begin(), components_.end(), [&](const ProbeComponent& component) {
    return component.nic && *component.nic == r.work_request.nic() && component.host == host(r);
  });
}

/// A program that wakes knows only whose event it has got.
WorkRequestId Timeline::work_request_of(const ProbeRecord& r) {
  if (r.kind == ProbeKind::kEventWritten &&
      static_cast<abi::EventType>(r.b >> 32) == abi::EventType::kCompletion) {
    const std::uint64_t nic = components_[r.component].nic.value_or(0);
    events_for_[nic << 32 | (r.b & 0xffffffff)] = r.work_request;
  }
  if (r.kind != ProbeKind::kProgramWoken) return r.work_request;
  const auto event = events_for_.find(r.b);
  return event == events_for_.end() ? WorkRequestId() : event->second;
}

/// "A-B"; of what a switch sends, the switch.
std::string Timeline::sent_on(const ProbeRecord& r) const {
  const std::string& from = host(r);
  if (from.empty()) {
    const std::string& path = components_[r.component].path;
    return path.substr(path.find('.') + 1);
  }
  for (const ProbeComponent& other : components_)
    if (other.host != from) return from + "-" + other.host;
  return from;
}

void Timeline::record(const ProbeRecord& r) {
  if (r.kind == ProbeKind::kPayloadLanded)
    for (Workload* workload : workloads_) workload->landed(r.work_request, r.time);
  control_plane(r);
  tcp_.record(r, host(r));
  fault(r);
  ProbeRecord named = r;
  named.work_request = work_request_of(r);
  if (!named.work_request) return;
  const auto tracked = tracked_.find(named.work_request.value());
  if (tracked == tracked_.end()) return;
  data_plane(named, tracked->second);
  events(named, tracked->second);
}

void Timeline::control_plane(const ProbeRecord& r) {
  const auto add = [&](int step, const char* part, const char* lane, const char* block, Time begin,
                       std::uint64_t bytes, const char* text, const char* what = "") {
    once_.push_back({step,
                     part,
                     begin,
                     r.time,
                     1,
                     r.time,
                     begin,
                     host(r),
                     lane,
                     block,
                     "control",
                     bytes,
                     0,
                     text,
                     {Detail::kNone, what}});
  };
  switch (r.kind) {
    case ProbeKind::kAppStart:
      add(1, "start", "app", "application", r.time, 0, "the application starts");
      break;
    case ProbeKind::kRegisterPin:
      add(2, "pin", "cpu", "driver", time_in(r.a), r.b, "the kernel pins every page");
      break;
    case ProbeKind::kRegisterTable:
      add(2, "table", "cpu", "driver", time_in(r.a), r.b,
          "builds the virtual-to-physical table in host RAM");
      break;
    case ProbeKind::kRegisterKey:
      add(2, "key", "cpu", "driver", time_in(r.a), 0, "issues lkey and rkey, tells the NIC");
      break;
    case ProbeKind::kControlMessage:
      add(3, "hand over", "app", "control_channel", time_in(r.a), r.b,
          r.segment ? "over a TCP connection of the same hosts"
                    : "over a control channel of configured latency",
          r.segment ? "TCP" : "");
      break;
    default:
      break;
  }
}

/// Packets of the request and, where they bring data, of the answer.
void Timeline::on_wire(const ProbeRecord& r, Tracked& tracked) {
  const Row request{6,
                    "packets",
                    "wire",
                    "port",
                    "data",
                    packets_of(tracked.operation),
                    name_of(tracked.operation)};
  static constexpr Row kAnswer{6, "answers", "wire", "port", "data", "responses [data]"};
  const bool sent = r.kind == ProbeKind::kPacketSent;
  const bool of_request = at_home(r) == sent;
  if (!of_request && !brings_data(tracked.operation)) return;
  const Row& row = of_request ? request : kAnswer;
  if (sent)
    tracked.parts.grow(row, of_request ? tracked.wire : tracked.way_back, time_in(r.a), r.time, r.b,
                       r.work_request.value());
  else
    tracked.parts.extend(row, r.time);
}

void Timeline::data_plane(const ProbeRecord& r, Tracked& tracked) {
  TimelineParts& parts = tracked.parts;
  const auto add = [&](const Row& row, Time begin, std::uint64_t bytes) {
    parts.grow(row, host(r), begin, r.time, bytes, r.work_request.value());
  };
  static constexpr Row kPost{4,       "descriptor", "cpu",
                             "verbs", "data",       "descriptor into the send queue"};
  static constexpr Row kRing{4,       "doorbell", "cpu",
                             "verbs", "data",     "doorbell: one MMIO write, no kernel"};
  static constexpr Row kFetch{4,           "fetch", "nic",
                              "wqe_fetch", "data",  "NIC reads the descriptor by DMA"};
  static constexpr Row kRead{5,           "payload read", "nic",
                             "requester", "data",         "payload read from RAM by DMA"};
  static constexpr Row kKey{
      7, "rkey check", "nic", "key_checker", "data", "rkey: valid, domain, bounds, rights"};
  static constexpr Row kPage{
      7, "translation", "nic", "translation_cache", "data", "virtual to physical address"};
  static constexpr Row kOwnKey{
      7, "key operation", "nic", "key_operations", "data", "window bound or key invalidated"};
  static constexpr Row kTheirKey{
      7, "key operation", "nic", "key_operations", "data", "key invalidated by the SEND", "SEND"};
  static constexpr Row kWrite{8,           "DMA write", "nic",
                              "responder", "data",      "into the application's memory"};
  static constexpr Row kAck{9, "ACK", "wire", "responder", "data", "acknowledgement travels back"};
  static constexpr Row kCqe{
      9, "CQE", "nic", "cqe_writer", "data", "completion entry into host RAM"};
  static constexpr Row kReceiveCqe{
      9, "receive CQE", "nic", "cqe_writer", "data", "completion entry of the receive"};
  static constexpr Row kPoll{9, "polled", "cpu", "verbs", "data", "the polling CPU finds it"};
  static constexpr Row kHomePage{
      5, "lkey and address", "nic", "key_checker", "data", "lkey checked, address translated"};
  switch (r.kind) {
    case ProbeKind::kPostSend:
      add(kPost, time_in(r.a), 0);
      break;
    case ProbeKind::kDoorbellRung:
      add(kRing, time_in(r.a), 8);
      break;
    case ProbeKind::kWqeFetchStart:
      add(kFetch, r.time, r.a);
      break;
    case ProbeKind::kWqeFetched:
      parts.extend(kFetch, r.time);
      break;
    case ProbeKind::kPayloadReadEnd:
      add(kRead, time_in(r.a), r.b);
      break;
    case ProbeKind::kPacketSent:
    case ProbeKind::kPacketReceived:
      on_wire(r, tracked);
      break;
    case ProbeKind::kKeyChecked:
      add(kKey, time_in(r.a), 0);
      break;
    case ProbeKind::kTranslated: {
      const Row& row = at_home(r) ? kHomePage : kPage;
      add(row, time_in(r.a), 0);
      if (r.b != 0) parts.miss(row);
      break;
    }
    case ProbeKind::kKeyChanged:
      add(at_home(r) ? kOwnKey : kTheirKey, time_in(r.a), 0);
      break;
    case ProbeKind::kPayloadWriteStart:
      add(kWrite, r.time, r.b);
      break;
    case ProbeKind::kPayloadLanded:
      parts.extend(kWrite, r.time);
      break;
    case ProbeKind::kAckSent:
      parts.grow(kAck, tracked.wire, r.time, r.time, 0, r.work_request.value());
      break;
    case ProbeKind::kAckReceived:
      parts.extend(kAck, r.time);
      break;
    case ProbeKind::kCqeWritten:
      add(at_home(r) ? kCqe : kReceiveCqe, time_in(r.a), 64);
      break;
    case ProbeKind::kCompletionPolled:
      add(kPoll, r.time, 0);
      break;
    default:
      break;
  }
}

/// From the completion entry to the program that slept until it came, on either side.
void Timeline::events(const ProbeRecord& r, Tracked& tracked) {
  const auto add = [&](bool home, const Row& row, const Row& of_receive, Time begin,
                       std::uint64_t bytes) {
    tracked.parts.grow(home ? row : of_receive, host(r), begin, r.time, bytes,
                       r.work_request.value());
  };
  static constexpr Row kEntry{
      9, "event", "nic", "event_queue", "data", "event entry into host RAM"};
  static constexpr Row kReceiveEntry{
      9, "receive event", "nic", "event_queue", "data", "event entry of the receive"};
  static constexpr Row kMessage{
      9, "interrupt sent", "nic", "event_queue", "data", "MSI-X message: one posted write"};
  static constexpr Row kReceiveMessage{
      9, "receive interrupt sent", "nic", "event_queue", "data", "MSI-X message: one posted write"};
  static constexpr Row kHandler{
      9, "interrupt", "cpu", "interrupts", "data", "a core takes the interrupt"};
  static constexpr Row kReceiveHandler{9,      "receive interrupt",         "cpu", "interrupts",
                                       "data", "a core takes the interrupt"};
  static constexpr Row kWoken{9, "woken", "cpu", "verbs", "data", "the sleeping program is woken"};
  static constexpr Row kReceiveWoken{9,       "receive woken", "cpu",
                                     "verbs", "data",          "the sleeping receiver is woken"};
  switch (r.kind) {
    case ProbeKind::kEventWritten:
      add(at_home(r), kEntry, kReceiveEntry, time_in(r.a), abi::Eqe::kBytes);
      break;
    case ProbeKind::kInterruptSent:
      add(at_home(r), kMessage, kReceiveMessage, r.time, sizeof(std::uint32_t));
      break;
    case ProbeKind::kInterruptTaken:
      add(of_home_host(r), kHandler, kReceiveHandler, time_in(r.a), 0);
      break;
    case ProbeKind::kProgramWoken:
      add(of_home_host(r), kWoken, kReceiveWoken, time_in(r.a), 0);
      break;
    default:
      break;
  }
}

void Timeline::add_fault(const ProbeRecord& r, const std::string& where, const char* lane,
                         const char* block, const std::string& text, RecordDetail detail) {
  if (++faults_seen_ > kMaxFaults) return;
  faults_.push_back({0, "fault", r.time, r.time, 1, r.time, r.time, where, lane, block, "data", 0,
                     r.work_request.value(), text, std::move(detail)});
}

void Timeline::fault_of_tcp(const ProbeRecord& r) {
  const auto add = [&](const std::string& text, RecordDetail detail) {
    add_fault(r, host(r), "cpu", "kernel.tcp", text, std::move(detail));
  };
  switch (r.kind) {
    case ProbeKind::kSegmentAgain: {
      const char* const why = name_of(static_cast<TcpAgain>(r.b));
      const std::string segment = text_of(r.segment);
      return add(fmt::format("sends again {}: {}", why, segment),
                 {Detail::kSegmentAgain, segment, why});
    }
    case ProbeKind::kConnectionFailed: {
      const char* const why = name_of(static_cast<TcpFailure>(r.b));
      const std::string connection =
          fmt::format("{} > {}", r.segment.source_port, r.segment.destination_port);
      return add(fmt::format("the connection {} failed: {}", connection, why),
                 {Detail::kConnectionFailed, connection, why});
    }
    case ProbeKind::kResetSent: {
      const std::string segment = text_of(r.segment);
      return add(fmt::format("resets a stranger: {}", segment), {Detail::kResetSent, segment});
    }
    default:
      return;
  }
}

void Timeline::fault_on_link(const ProbeRecord& r) {
  const std::optional<Fate> fate = fate_on_link(r.kind);
  if (!fate) return;
  const std::string what = r.segment
                               ? fmt::format("TCP {}", text_of(r.segment))
                               : fmt::format("{}, PSN {}", name_of(static_cast<Opcode>(r.b)), r.a);
  add_fault(r, sent_on(r), "wire", "link", fmt::format("{}, {}", what, fate->text),
            {fate->kind, what});
}

void Timeline::fault(const ProbeRecord& r) {
  const auto add = [&](const char* lane, const char* block, const std::string& text,
                       RecordDetail detail) {
    add_fault(r, host(r), lane, block, text, std::move(detail));
  };
  fault_on_link(r);
  fault_of_tcp(r);
  switch (r.kind) {
    case ProbeKind::kKeyChecked:
      if (r.b != 0) {
        const char* const why = name_of(static_cast<KeyFault>(r.b));
        add("nic", "key_checker", std::string("access refused: ") + why,
            {Detail::kAccessRefused, "", why});
      }
      break;
    case ProbeKind::kAckSent: {
      const Aeth aeth{static_cast<std::uint8_t>(r.b), 0};
      if (!aeth.is_nak()) break;
      const char* const why = name_of(aeth.nak_code());
      add("nic", "responder", std::string("sends NAK: ") + why, {Detail::kNakSent, "", why});
      break;
    }
    case ProbeKind::kEventWritten:
      if (static_cast<abi::EventType>(r.b >> 32) == abi::EventType::kPageFault)
        add("nic", "page_faults", "tells the driver of an absent page", {Detail::kPageAbsent});
      break;
    case ProbeKind::kPagesBrought:
      add("cpu", "driver", fmt::format("brings {} pages in", r.b),
          {Detail::kPagesBrought, "", "", r.b});
      break;
    case ProbeKind::kKeyChanged:
      if (r.b != 0)
        add("nic", "key_operations", "operation on a key refused", {Detail::kKeyOperationRefused});
      break;
    case ProbeKind::kQpError:
    case ProbeKind::kSendQueueError: {
      const char* const state =
          name_of(r.kind == ProbeKind::kQpError ? QpState::kErr : QpState::kSqe);
      const char* const why = name_of(static_cast<CompletionStatus>(r.b));
      add("nic", "completer", fmt::format("queue pair {} goes to {}: {}", r.a, state, why),
          {Detail::kQueuePairFailed, state, why, r.a});
      break;
    }
    case ProbeKind::kCompletionPolled: {
      const auto polled = static_cast<CompletionStatus>(r.a);
      if (polled != CompletionStatus::kSuccess)
        add("cpu", "verbs", std::string("completion in error: ") + name_of(polled),
            {Detail::kErrorPolled, "", name_of(polled)});
      break;
    }
    default:
      break;
  }
}

std::vector<TimelineRecord> Timeline::take() {
  std::vector<TimelineRecord> all = once_;
  for (auto& work_request : tracked_) work_request.second.parts.take(all);
  tcp_.take(all);
  all.insert(all.end(), faults_.begin(), faults_.end());
  if (faults_seen_ > kMaxFaults) {
    TimelineRecord more = faults_.back();
    more.text = std::to_string(faults_seen_ - kMaxFaults) + " more faults are not shown";
    more.detail = {Detail::kMoreFaults, "", "", faults_seen_ - kMaxFaults};
    all.push_back(more);
  }
  const auto rank = [](const TimelineRecord& r) { return r.step == 0 ? 10 : r.step; };
  std::stable_sort(all.begin(), all.end(), [&](const TimelineRecord& a, const TimelineRecord& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  return all;
}

}  // namespace rnicsim

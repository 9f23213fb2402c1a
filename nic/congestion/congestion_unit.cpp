// SPDX-License-Identifier: MIT
#include "nic/congestion/congestion_unit.h"

#include "nic/read_responder.h"
#include "nic/requester.h"

namespace rnicsim {

namespace {

/// The table of algorithms.
std::unique_ptr<CongestionControl> make_algorithm(const CongestionUnit::Wiring& w,
                                                  const CongestionControlConfig& config,
                                                  Callback raised) {
  const std::uint64_t line = whole_rate(w.rate);
  switch (config.algorithm) {
    case CongestionAlgorithm::kDcqcn:
      return std::make_unique<Dcqcn>(w.scheduler, w.qps, line, config.dcqcn, raised);
    case CongestionAlgorithm::kTimely:
      return std::make_unique<Timely>(line, config.timely);
    case CongestionAlgorithm::kSwift:
      return std::make_unique<Swift>(line, config.swift);
    case CongestionAlgorithm::kHpcc:
      return std::make_unique<Hpcc>(line, config.hpcc);
    case CongestionAlgorithm::kNone:
      break;
  }
  return nullptr;
}

/// Rounded up: never faster than the rate.
Time time_on_wire(Bytes wire, std::uint64_t rate) {
  return Time::ps(static_cast<std::int64_t>(divide_up(wire.count() * 8'000'000'000'000, rate)));
}

}  // namespace

CongestionUnit::CongestionUnit(const Wiring& wiring, const CongestionControlConfig& config)
    : w_(wiring),
      cycle_(wiring.clock.after(Time(), Cycles(1))),
      algorithm_(make_algorithm(wiring, config, call<&CongestionUnit::raised>(this))),
      notification_point_(wiring.scheduler, wiring.port, wiring.mac_tx, config.notification) {
  if (algorithm_ == nullptr) return;
  needs_ = algorithm_->needs();
  if (needs_.ecn) w_.port.make_ecn_capable();
}

void CongestionUnit::count(NicQueuePair& qp, Packet& packet, Time turn, bool again) {
  CongestionFlow& flow = record_of(qp);
  pace(flow, packet, turn);
  if (packet.bth.transport != WireTransport::kRc || packet.payload_length == Bytes()) return;
  if (needs_.telemetry) packet.begin_telemetry();
  if (again) return;
  flow.sent += packet.payload_length.count();
  if (packet.bth.ack_req) flow.marks.push({packet.bth.psn, flow.sent});
}

void CongestionUnit::pace(CongestionFlow& flow, const Packet& packet, Time turn) {
  if (flow.rate == 0) return;
  const Bytes wire = packet.wire_bytes();
  // A turn that was late by the clock's grid alone is on time.
  const Time from = turn - flow.next_send < cycle_ ? flow.next_send : turn;
  flow.paced_from = from;
  flow.paced_bytes = wire;
  flow.next_send = from + time_on_wire(wire, flow.rate);
  algorithm_->sent(flow, wire);
}

void CongestionUnit::settle(NicQueuePair& qp, Psn limit, const Packet* packet, Time ready) {
  CongestionFlow& flow = *qp.flow;
  const std::uint64_t before = flow.acked;
  while (!flow.marks.empty() && flow.marks.front().psn - limit < 0)
    flow.acked = flow.marks.take().sent;
  if (flow.acked == before) return;
  CongestionControl::Acknowledged news;
  news.now = w_.scheduler.now();
  news.bytes = flow.acked - before;
  news.packet = packet;
  if (packet != nullptr && packet->departed != Time::never())
    news.rtt = packet->tail - packet->departed;
  const std::uint64_t rate = flow.rate;
  algorithm_->acknowledged(flow, news);
  if (flow.rate - 1 > rate - 1) raised(qp.qpn.value());  // 0 is line rate
  if (!flow.closed || !flow.window_is_open()) return;
  flow.closed = false;
  ++window_closed_;
  flow.next_send = std::max(flow.next_send, ready);
  requester_->ready(qp);
}

void CongestionUnit::raised(std::uint64_t number) {
  NicQueuePair& qp = w_.qps.at(Qpn(static_cast<std::uint32_t>(number)));
  CongestionFlow& flow = *qp.flow;
  const Time now = w_.scheduler.now();
  if (flow.next_send <= now) return;
  flow.next_send =
      flow.rate == 0
          ? now
          : std::min(flow.next_send, flow.paced_from + time_on_wire(flow.paced_bytes, flow.rate));
  requester_->hurry(qp, flow.next_send);
  read_responder_->hurry(qp, flow.next_send);
}

void CongestionUnit::went_back(NicQueuePair& qp) {
  if (qp.flow == nullptr) return;
  qp.flow->sent = qp.flow->acked;
  qp.flow->marks.clear();
  algorithm_->lost(*qp.flow);
}

void CongestionUnit::took_back(NicQueuePair& qp, Psn psn, Bytes payload) {
  if (qp.flow == nullptr) return;
  CongestionFlow& flow = *qp.flow;
  flow.sent -= std::min(payload.count(), flow.in_flight());
  std::size_t before = flow.marks.size();
  while (before != 0 && flow.marks.at(before - 1).psn - psn >= 0) --before;
  flow.marks.truncate(before);
}

void CongestionUnit::forget(NicQueuePair& qp) {
  if (qp.flow == nullptr) return;
  CongestionFlow& flow = *qp.flow;
  flow.next_send = flow.next_cnp = Time();
  flow.sent = flow.acked = 0;
  flow.marks.clear();
  flow.closed = false;
  algorithm_->begin(flow);
}

void CongestionUnit::marked(const Packet& packet, Time ready) {
  const Qpn qpn = packet.bth.dest_qp;
  if (!needs_.ecn || packet.bth.transport == WireTransport::kUd ||
      !w_.contexts.in_range(qpn.value()))
    return;
  const abi::QpContext* context = w_.contexts.peek(qpn.value());
  if (context == nullptr) return;
  notification_point_.marked(record_of(w_.qps.at(qpn)), *context, packet, ready);
}

void CongestionUnit::receive(PacketRef packet, Time ready) {
  w_.scheduler.at(ready, call<&CongestionUnit::notified>(this, packet->bth.dest_qp.value()));
}

void CongestionUnit::notified(std::uint64_t number) {
  const auto qpn = static_cast<std::uint32_t>(number);
  CongestionFlow* flow = w_.contexts.in_range(qpn) ? w_.qps.at(Qpn(qpn)).flow.get() : nullptr;
  ++(flow != nullptr && algorithm_->notified(*flow) ? handled_ : ignored_);
}

std::uint64_t CongestionUnit::lowest_rate() const {
  std::uint64_t lowest = whole_rate(w_.rate);
  for (std::uint32_t qpn = 0; qpn < w_.qps.size(); ++qpn) {
    const NicQueuePair* const qp = w_.qps.find(Qpn(qpn));
    if (qp != nullptr && qp->flow != nullptr && qp->flow->rate != 0)
      lowest = std::min(lowest, qp->flow->rate);
  }
  return lowest;
}

/// 0: nobody has one.
std::uint64_t CongestionUnit::smallest_window() const {
  std::uint64_t smallest = CongestionFlow::kUnlimited;
  for (std::uint32_t qpn = 0; qpn < w_.qps.size(); ++qpn) {
    const NicQueuePair* const qp = w_.qps.find(Qpn(qpn));
    if (qp != nullptr && qp->flow != nullptr) smallest = std::min(smallest, qp->flow->window);
  }
  return smallest == CongestionFlow::kUnlimited ? 0 : smallest;
}

void CongestionUnit::signals(const SignalScope& scope) const {
  if (algorithm_ == nullptr) return;
  scope.lowest(
      "lowest_rate", Unit::kBitsPerSecond, "the lowest rate at which a queue pair may send",
      [this] { return lowest_rate(); }, whole_rate(w_.rate));
  scope.lowest("smallest_window", Unit::kBytes,
               "the least that a queue pair may have under way; 0: no limit",
               [this] { return smallest_window(); });
}

void CongestionUnit::report(const MetricScope& scope) const {
  notification_point_.report(scope);
  scope.count("rp_cnp_handled", handled_, "CNPs received that lowered a rate");
  scope.count("rp_cnp_ignored", ignored_, "CNPs received that did not");
  if (algorithm_ == nullptr) return;
  scope.count("window_closed", window_closed_, "times that a queue pair waited for its window");
  algorithm_->report(scope);
}

}  // namespace rnicsim

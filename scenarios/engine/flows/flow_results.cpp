// SPDX-License-Identifier: MIT
#include "scenarios/engine/flows/flow_results.h"

#include <algorithm>

#include "model/headers.h"

namespace rnicsim {
namespace {

constexpr double kPercentiles[] = {50, 95, 99, 99.9};
constexpr const char* kPercentileNames[] = {"p50", "p95", "p99", "p999"};

/// REQUIRES: sorted and not empty.
template <class T>
const T& nearest_rank(const std::vector<T>& sorted, double percent) {
  const auto n = static_cast<double>(sorted.size());
  const auto rank = static_cast<std::size_t>(n * percent / 100.0 + 0.999999);
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

void report_slowdowns(MetricSink& sink, const std::string& path, std::vector<double> slowdowns) {
  std::sort(slowdowns.begin(), slowdowns.end());
  for (std::size_t i = 0; i < std::size(kPercentiles); ++i)
    sink.add_real(path + '.' + kPercentileNames[i], nearest_rank(slowdowns, kPercentiles[i]),
                  Unit::kRatio, "flow completion time by that alone on the path");
  sink.add_real(path + ".max", slowdowns.back(), Unit::kRatio,
                "flow completion time by that alone on the path");
}

/// Jain's index: 1 if all have the same, 1/n if one has everything.
double fairness(const std::vector<double>& rates) {
  double sum = 0;
  double squares = 0;
  for (const double rate : rates) {
    sum += rate;
    squares += rate * rate;
  }
  return sum * sum / (static_cast<double>(rates.size()) * squares);
}

}  // namespace

Bytes FlowPackets::on_wire(Bytes payload, bool extended) const {
  const std::size_t extension = operation == Operation::kWrite  ? Reth::kBytes
                                : operation == Operation::kRead ? Aeth::kBytes
                                                                : 0;
  const std::uint64_t pad = -payload.count() & 3;
  const Bytes frame = link_header_bytes(link_layer) +
                      Bytes(network_header_bytes(link_layer, ip_version) + Bth::kBytes +
                            (extended ? extension : 0) + pad) +
                      payload + tag + kIcrcBytes;
  return std::max(frame, min_frame_bytes(link_layer)) + preamble_bytes(link_layer) +
         gap_bytes(link_layer);
}

Bytes FlowPackets::on_wire(Bytes flow) const {
  const auto of_message = [this](Bytes bytes) {
    const std::uint64_t whole = (bytes.count() - 1) / path_mtu.count();
    const Bytes rest = bytes - path_mtu * whole;
    if (whole == 0) return on_wire(rest, true);
    return on_wire(path_mtu, true) + on_wire(path_mtu, false) * (whole - 1) +
           on_wire(rest, operation == Operation::kRead);
  };
  const std::uint64_t whole = (flow.count() - 1) / message_size.count();
  const Bytes rest = flow - message_size * whole;
  return (whole == 0 ? Bytes(0) : of_message(message_size) * whole) + of_message(rest);
}

Time ideal_time(const std::vector<Fabric::Hop>& hops, const FlowPackets& packets, Bytes flow) {
  const Bytes first =
      packets.on_wire(std::min({flow, packets.message_size, packets.path_mtu}), true) -
      gap_bytes(packets.link_layer);
  const Bytes all = packets.on_wire(flow) - gap_bytes(packets.link_layer);
  std::size_t slowest = 0;
  for (std::size_t i = 1; i < hops.size(); ++i)
    if (ByteTime(hops[i].rate).of(all) > ByteTime(hops[slowest].rate).of(all)) slowest = i;
  Time time;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    time += hops[i].propagation + hops[i].latency;
    // Which switch waits for the packet: that behind the cable, or behind the slowest that before.
    const bool cut = i < slowest ? hops[i].cut_through : i > slowest && hops[i - 1].cut_through;
    const Bytes waited =
        cut ? std::min(first, preamble_bytes(packets.link_layer) + kMinFrameBytes) : first;
    time += ByteTime(hops[i].rate).of(i == slowest ? all : waited);
  }
  return time;
}

FlowStatistics::FlowStatistics(const std::vector<FlowRecord>& flows) : count_(flows.size()) {
  for (const FlowRecord& flow : flows) {
    if (flow.finish == Time::never()) continue;
    const Time time = flow.finish - flow.start;
    const auto ideal = static_cast<double>(std::max<std::int64_t>(1, flow.ideal.ps()));
    flows_.push_back({flow.bytes, time, static_cast<double>(time.ps()) / ideal});
    bytes_ += Bytes(flow.bytes);
    begin_ = std::min(begin_, flow.start);
    end_ = std::max(end_, flow.finish);
  }
}

void FlowStatistics::report(const MetricScope& scope, MetricSink& sink, const std::string& path,
                            const std::vector<FlowSizes::Point>& sizes) const {
  scope.count("count", count_, "flows of this workload");
  scope.count("finished", flows_.size(), "of these, whose last completion was polled");
  scope.bytes("bytes", bytes_, "payload of finished flows");
  if (flows_.empty()) return;
  std::vector<Time> times;
  std::vector<double> slowdowns;
  std::vector<double> rates;
  for (const One& flow : flows_) {
    times.push_back(flow.time);
    slowdowns.push_back(flow.slowdown);
    rates.push_back(static_cast<double>(flow.bytes) / flow.time.as_s());
  }
  std::sort(times.begin(), times.end());
  const MetricScope fct = scope.child("fct");
  fct.time("min", times.front(), "shortest flow completion time");
  for (std::size_t i = 0; i < std::size(kPercentiles); ++i)
    fct.time(kPercentileNames[i], nearest_rank(times, kPercentiles[i]), "flow completion time");
  fct.time("max", times.back(), "longest flow completion time");
  report_slowdowns(sink, path + ".slowdown", slowdowns);
  sink.add_real(path + ".goodput", static_cast<double>(bytes_.count()) * 8 / (end_ - begin_).as_s(),
                Unit::kBitsPerSecond, "payload bits from the first begin to the last end");
  sink.add_real(path + ".fairness", fairness(rates), Unit::kRatio,
                "Jain's index of the flows' rates: 1 if all are alike");
  for (std::size_t bin = 1; bin < sizes.size(); ++bin) {
    std::vector<double> of_bin;
    for (const One& flow : flows_)
      if (flow.bytes <= sizes[bin].bytes && (bin == 1 || flow.bytes > sizes[bin - 1].bytes))
        of_bin.push_back(flow.slowdown);
    if (of_bin.empty()) continue;
    const std::string name = path + ".up_to_" + std::to_string(sizes[bin].bytes) + "_B";
    sink.add(name + ".count", of_bin.size(), Unit::kCount, "finished flows of this size");
    report_slowdowns(sink, name + ".slowdown", std::move(of_bin));
  }
}

}  // namespace rnicsim

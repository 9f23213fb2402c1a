// SPDX-License-Identifier: MIT
#include "scenarios/engine/tcp_workload.h"

#include <algorithm>

#include "model/random.h"
#include "scenarios/engine/distribution.h"

namespace rnicsim {

namespace {

constexpr Bytes kZeroCopyBuffer{1 << 20};

}  // namespace

TcpWorkload::TcpWorkload(System& system, const WorkloadSpec& spec, const Scenario& scenario,
                         const std::function<unsigned(const std::string&)>& core,
                         Timeline* timeline)
    : system_(system), spec_(spec), plan_(spec) {
  for (std::uint32_t i = 0; i < spec.queue_pairs; ++i) {
    TcpExchange::Setting setting;
    setting.name = spec.name + "_" + std::to_string(i);
    setting.port = static_cast<std::uint16_t>(*spec.tcp->port + i);
    setting.seed = seed_for(scenario.seed, setting.name);
    setting.client_core = core(spec.from);
    setting.server_core = core(spec.to);
    setting.elided = scenario.engine.payload == PayloadMode::kElided;
    setting.timeline = timeline;
    for (std::uint64_t n = 0; n < scenario.timeline.work_requests; ++n)
      setting.tracked += spec.queue_pair_of(n) == i ? 1 : 0;
    exchanges_.push_back(std::make_unique<TcpExchange>(system, spec_, setting, rounds_of(i),
                                                       [this] { note_activity(); }));
  }
}

/// Pages that are sent themselves carry no numbers of messages: neighbours differ by their places.
std::uint64_t TcpWorkload::least_places(Bytes size) const {
  return spec_.tcp->zero_copy ? std::max<std::uint64_t>(kZeroCopyBuffer / size, 2) : 1;
}

std::vector<TcpExchange::Round> TcpWorkload::rounds_of(std::uint32_t connection) const {
  std::vector<TcpExchange::Round> rounds;
  if (!is_perftest()) {
    const std::uint64_t places = spec_.region_size() / spec_.size / spec_.queue_pairs;
    rounds.push_back({spec_.size, spec_.count_of(connection),
                      std::max(places, least_places(spec_.size)), spec_.tcp->response});
  } else {
    for (const Bytes size : plan_.sizes)
      rounds.push_back(
          {size, plan_.iterations, least_places(size), plan_.latency ? size : Bytes(0)});
  }
  return rounds;
}

bool TcpWorkload::finished() const {
  return std::all_of(exchanges_.begin(), exchanges_.end(),
                     [](const auto& exchange) { return exchange->finished(); });
}

std::vector<std::string> TcpWorkload::waiting_for() const {
  std::vector<std::string> lines;
  for (const auto& exchange : exchanges_)
    for (std::string& line : exchange->waiting_for()) lines.push_back(std::move(line));
  return lines;
}

std::uint64_t TcpWorkload::sum_of(std::uint64_t (TcpExchange::*count)() const) const {
  std::uint64_t sum = 0;
  for (const auto& exchange : exchanges_) sum += ((*exchange).*count)();
  return sum;
}

std::uint64_t TcpWorkload::messages() const {
  return is_perftest() ? plan_.messages(spec_.queue_pairs) : spec_.count;
}

void TcpWorkload::check_completions(std::vector<Violation>& violations) const {
  const std::uint64_t done = sum_of(&TcpExchange::completed);
  if (done != messages())
    violations.push_back(
        {"completion", "workload." + spec_.name, system_.scheduler().now(),
         std::to_string(done) + " of " + std::to_string(messages()) + " messages have arrived"});
}

void TcpWorkload::verify(std::vector<Violation>& violations) {
  if (const std::uint64_t bytes = sum_of(&TcpExchange::mismatched); bytes != 0)
    violations.push_back({"data_mismatch", "workload." + spec_.name, system_.scheduler().now(),
                          std::to_string(bytes) + " bytes of the streams differ from what was "
                                                  "sent"});
}

WorkSpan TcpWorkload::span() const {
  WorkSpan span;
  for (const auto& exchange : exchanges_)
    for (const TcpExchange::Round& round : exchange->rounds())
      if (!round.done.empty()) span.include(round.sent.front(), round.done.back());
  return span;
}

void TcpWorkload::report(MetricSink& sink) const {
  const std::string path = "workload." + spec_.name;
  if (is_perftest())
    report_perftest(sink, path);
  else
    report_pairs(sink, path);
  const MetricScope scope(sink, path);
  scope.count("messages", messages(), "messages that the workload has to send");
  scope.count("completed", sum_of(&TcpExchange::completed),
              "messages that the receiver has, or whose response the sender has");
  scope.bytes("transferred", Bytes(sum_of(&TcpExchange::transferred)),
              "payload that it moved in all, warm-up and responses too");
  scope.bytes(
      "mismatched_bytes", Bytes(sum_of(&TcpExchange::mismatched)),
      "bytes of the streams that differ from what was sent; elided payload is not compared");
}

void TcpWorkload::report_pairs(MetricSink& sink, const std::string& path) const {
  std::vector<Time> latency;
  WorkSpan measured;
  for (std::uint32_t i = 0; i < spec_.queue_pairs; ++i) {
    const TcpExchange::Round& round = exchanges_[i]->rounds().front();
    for (std::uint64_t nth = 0; nth < round.done.size(); ++nth) {
      if (spec_.number_of(i, nth) < spec_.warm_up) continue;
      latency.push_back(round.done[nth] - round.sent[nth]);
      measured.include(round.sent[nth], round.done[nth]);
    }
  }
  const std::uint64_t count = latency.size();
  const MetricScope scope(sink, path);
  report_distribution(scope.child("latency"), latency,
                      spec_.tcp->response == Bytes(0)
                          ? "call to send to last byte with the receiving program"
                          : "call to send to last byte of the response with the sender");
  scope.bytes("bytes", spec_.size * count, "payload bytes of the messages measured");
  if (!measured.is_known()) return;
  const double seconds = (measured.end - measured.begin).as_s();
  sink.add_real(path + ".goodput", static_cast<double>((spec_.size * count).count()) * 8 / seconds,
                Unit::kBitsPerSecond, "payload bits between first call and last arrival");
  sink.add_real(path + ".message_rate", static_cast<double>(count) / seconds, Unit::kPerSecond,
                "messages between first call and last arrival");
}

/// Of all connections, in the order of time.
PerftestTimes TcpWorkload::times_of(std::size_t round) const {
  PerftestTimes times;
  for (const auto& exchange : exchanges_) {
    const TcpExchange::Round& of = exchange->rounds()[round];
    times.posted.insert(times.posted.end(), of.sent.begin(), of.sent.end());
    times.completed.insert(times.completed.end(), of.done.begin(), of.done.end());
  }
  std::sort(times.posted.begin(), times.posted.end());
  std::sort(times.completed.begin(), times.completed.end());
  return times;
}

void TcpWorkload::report_perftest(MetricSink& sink, const std::string& path) const {
  for (std::size_t i = 0; i < plan_.sizes.size(); ++i) {
    const PerftestTimes times = times_of(i);
    if (times.completed.size() != plan_.iterations * spec_.queue_pairs) continue;
    const std::string size = path + ".size_" + std::to_string(plan_.sizes[i].count());
    if (plan_.latency)
      latency_of(times, plan_.trips()).report(sink, size);
    else
      bandwidth_of(times, plan_.sizes[i]).report(sink, size);
  }
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/message_ledger.h"

#include <algorithm>

#include "scenarios/engine/distribution.h"

namespace rnicsim {

namespace {

// An in-flight list is cut off at the front when so much of it is history.
constexpr std::size_t kLongHistory = 1024;

}  // namespace

void MessageLedger::post(const Message& message) {
  streams_[queue_pair()].in_flight.push_back(posted_);
  messages_[posted_++] = message;
}

void MessageLedger::settle(std::uint64_t number, CompletionStatus status, Time now) {
  messages_[number].completed = now;
  messages_[number].status = status;
  ++settled_;
  if (status == CompletionStatus::kFlushed)
    ++flushed_;
  else if (status != CompletionStatus::kSuccess)
    ++failed_;
}

void MessageLedger::trim(Stream& stream) {
  if (stream.first <= kLongHistory || stream.first * 2 <= stream.in_flight.size()) return;
  stream.in_flight.erase(stream.in_flight.begin(),
                         stream.in_flight.begin() + static_cast<std::ptrdiff_t>(stream.first));
  stream.first = 0;
}

void MessageLedger::landed(std::uint64_t number, Time time) {
  if (number < messages_.size()) messages_[number].landed = time;
}

std::string MessageLedger::fault() const {
  const auto without = static_cast<std::uint64_t>(
      std::count_if(messages_.begin(), messages_.end(),
                    [](const Message& m) { return m.completed == Time::never(); }));
  if (without == 0 && posted_ == spec_.count && settled_ == posted_) return {};
  return std::to_string(posted_) + " messages posted, " + std::to_string(settled_) +
         " completed, " + std::to_string(without) + " without completion";
}

void MessageLedger::report_counts(const MetricScope& scope) const {
  scope.count("messages", spec_.count, "messages that the workload has to send");
  scope.count("completed", succeeded(), "messages completed with success");
  scope.count("failed", failed_, "messages completed in error");
  scope.bytes("transferred", delivered(), "payload that it moved in all, warm-up too");
  scope.count("flushed", flushed_, "messages flushed because their queue pair was in error");
  for (const auto& [status, count] : by_status_) {
    std::string name = status;
    std::replace(name.begin(), name.end(), ' ', '_');
    scope.count("completions." + name, count, "completions polled with this status");
  }
}

void MessageLedger::report(MetricSink& sink) const {
  const std::string path = "workload." + spec_.name;
  const MetricScope scope(sink, path);
  report_counts(scope);
  std::vector<Time> latency;
  std::vector<Time> landing;
  Time first = Time::never();
  Time last;
  std::uint64_t measured = 0;
  for (std::uint64_t i = spec_.warm_up; i < messages_.size(); ++i) {
    const Message& m = messages_[i];
    if (m.completed == Time::never() || m.status != CompletionStatus::kSuccess) continue;
    ++measured;
    first = std::min(first, m.posted);
    last = std::max(last, m.completed);
    if (m.signaled) latency.push_back(m.completed - m.posted);
    if (m.landed != Time()) landing.push_back(m.landed - m.posted);
  }
  report_distribution(scope.child("latency"), latency, "entry of post_send to completion polled");
  report_distribution(scope.child("landing"), landing,
                      "entry of post_send to last byte visible in the target's memory");
  scope.bytes("bytes", spec_.payload() * measured, "payload bytes of the messages measured");
  if (measured == 0 || last <= first) return;
  const double seconds = (last - first).as_s();
  sink.add_real(path + ".goodput",
                static_cast<double>(measured * spec_.payload().count()) * 8 / seconds,
                Unit::kBitsPerSecond, "payload bits between first post and last completion");
  sink.add_real(path + ".message_rate", static_cast<double>(measured) / seconds, Unit::kPerSecond,
                "messages between first post and last completion");
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/flows/flow_patterns.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <string>

#include "model/random.h"

namespace rnicsim {
namespace {

constexpr double kBitsPerByte = 8;

class FlowMaker {
 public:
  explicit FlowMaker(const FlowRequest& request) : request_(request) {}

  FlowPlan run() {
    switch (request_.pattern) {
      case WorkloadPattern::kPermutation:
        permutation();
        break;
      case WorkloadPattern::kAllToAll:
        all_to_all();
        break;
      case WorkloadPattern::kPoisson:
        poisson();
        break;
      case WorkloadPattern::kClosedLoop:
        closed_loop();
        break;
      default:
        incast();
    }
    return std::move(plan_);
  }

 private:
  void add_pair(std::uint32_t source, std::uint32_t destination) {
    Random sizes(seed_for(request_.seed,
                          "sizes." + std::to_string(source) + '.' + std::to_string(destination)));
    const std::size_t first = plan_.flows.size();
    for (std::uint64_t i = 0; i < request_.count; ++i) {
      Flow flow;
      flow.source = source;
      flow.destination = destination;
      flow.bytes = request_.sizes.draw(sizes);
      add_behind(flow, first, i);
    }
  }

  /// The `i`-th of a row whose first flow is `first`.
  void add_behind(Flow flow, std::size_t first, std::uint64_t i) {
    if (i >= request_.in_flight) {
      flow.trigger = static_cast<std::uint32_t>(plan_.triggers.size());
      flow.start = request_.think;
      plan_.triggers.emplace_back();
      plan_.flows[first + i - request_.in_flight].on_sent = flow.trigger;
    }
    plan_.flows.push_back(flow);
  }

  void closed_loop() {
    for (const std::uint32_t source : request_.from) {
      Random random(seed_for(request_.seed, "closed_loop." + std::to_string(source)));
      const std::size_t first = plan_.flows.size();
      for (std::uint64_t i = 0; i < request_.count; ++i) {
        Flow flow;
        flow.source = source;
        flow.destination = destination_of(source, random);
        flow.bytes = request_.sizes.draw(random);
        add_behind(flow, first, i);
      }
    }
  }

  void incast() {
    for (const std::uint32_t source : request_.from)
      if (source != request_.to[0]) add_pair(source, request_.to[0]);
  }

  /// Shuffled until nobody sends to itself, which takes e tries: each such order is as likely.
  void permutation() {
    Random random(seed_for(request_.seed, "permutation"));
    std::vector<std::uint32_t> to = request_.to;
    const auto has_own = [&] {
      for (std::size_t i = 0; i < to.size(); ++i)
        if (to[i] == request_.from[i]) return true;
      return false;
    };
    do {
      for (std::size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[random.below(i)]);
    } while (has_own());
    for (std::size_t i = 0; i < to.size(); ++i) add_pair(request_.from[i], to[i]);
  }

  /// Begun one after the other's neighbour, the receivers are not all overrun in the same order.
  void all_to_all() {
    const std::size_t n = request_.to.size();
    for (const std::uint32_t source : request_.from) {
      const auto after = std::upper_bound(request_.to.begin(), request_.to.end(), source);
      const auto first = static_cast<std::size_t>(after - request_.to.begin());
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t destination = request_.to[(first + i) % n];
        if (destination != source) add_pair(source, destination);
      }
    }
  }

  struct Arrival {
    double at = 0;  ///< ps
    std::size_t sender = 0;
    bool operator>(const Arrival& other) const {
      return at != other.at ? at > other.at : sender > other.sender;
    }
  };

  /// Exponentially distributed, so that the sender offers `load` of its link on average.
  double gap(std::size_t sender, Random& random) const {
    const BitRate rate = request_.rates[request_.from[sender]];
    const double mean =
        request_.sizes.mean() * kBitsPerByte * 1e3 / (rate.as_gbps() * request_.load);
    constexpr unsigned kMantissa = 53;
    const double u = static_cast<double>((random.next() >> (64 - kMantissa)) + 1) /
                     static_cast<double>(std::uint64_t{1} << kMantissa);
    return -std::log(u) * mean;
  }

  void poisson() {
    std::vector<Random> random;
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> next;
    for (std::size_t i = 0; i < request_.from.size(); ++i) {
      random.emplace_back(seed_for(request_.seed, "poisson." + std::to_string(request_.from[i])));
      next.push({gap(i, random[i]), i});
    }
    const double end = request_.duration ? static_cast<double>(request_.duration->ps()) : 0;
    while (plan_.flows.size() < kMaxFlows) {
      const Arrival arrival = next.top();
      if (request_.duration ? arrival.at >= end : plan_.flows.size() >= request_.count) return;
      next.pop();
      Random& own = random[arrival.sender];
      next.push({arrival.at + gap(arrival.sender, own), arrival.sender});
      Flow flow;
      flow.source = request_.from[arrival.sender];
      flow.destination = destination_of(flow.source, own);
      flow.bytes = request_.sizes.draw(own);
      flow.start = Time::ps(static_cast<std::int64_t>(arrival.at));
      plan_.flows.push_back(flow);
    }
  }

  std::uint32_t destination_of(std::uint32_t source, Random& random) const {
    const auto& to = request_.to;
    const auto own = std::lower_bound(to.begin(), to.end(), source);
    if (own == to.end() || *own != source) return to[random.below(to.size())];
    const std::uint64_t drawn = random.below(to.size() - 1);
    return to[drawn + (drawn >= static_cast<std::uint64_t>(own - to.begin()) ? 1 : 0)];
  }

  const FlowRequest& request_;
  FlowPlan plan_;
};

std::string too_many(double flows) {
  if (flows <= static_cast<double>(kMaxFlows)) return {};
  return "makes about " + std::to_string(static_cast<std::uint64_t>(flows)) + " flows; at most " +
         std::to_string(kMaxFlows) + " are possible";
}

double flows_of(const FlowRequest& request) {
  const auto from = static_cast<double>(request.from.size());
  const auto count = static_cast<double>(request.count);
  if (request.pattern == WorkloadPattern::kAllToAll)
    return from * static_cast<double>(request.to.size()) * count;
  if (request.pattern != WorkloadPattern::kPoisson) return from * count;
  if (!request.duration) return count;
  double bits_per_second = 0;
  for (const std::uint32_t each : request.from)
    bits_per_second += request.rates[each].as_gbps() * 1e9 * request.load;
  return bits_per_second * request.duration->as_s() / (request.sizes.mean() * kBitsPerByte);
}

}  // namespace

std::string flow_problem(const FlowRequest& request) {
  const bool alone = request.from.size() == 1 && request.to == request.from;
  if (alone) return "there is nobody to send to";
  if (request.pattern == WorkloadPattern::kIncast && request.to.size() != 1)
    return "an incast has one receiver; this names " + std::to_string(request.to.size());
  if (request.pattern == WorkloadPattern::kPermutation && request.from.size() != request.to.size())
    return "a permutation needs as many receivers as senders: " +
           std::to_string(request.from.size()) + " send, " + std::to_string(request.to.size()) +
           " receive";
  return too_many(flows_of(request));
}

FlowPlan make_flows(const FlowRequest& request) { return FlowMaker(request).run(); }

}  // namespace rnicsim

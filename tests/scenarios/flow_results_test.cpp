// SPDX-License-Identifier: MIT
// Ideal times of flows, and what the statistics say.
#include "scenarios/engine/flows/flow_results.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

constexpr BitRate k100 = BitRate::gbps(100);

class Metrics : public MetricSink {
 public:
  void add(const std::string& path, std::uint64_t value, Unit, const char*) override {
    values[path] = static_cast<double>(value);
  }
  void add_real(const std::string& path, double value, Unit, const char*) override {
    values[path] = value;
  }
  std::map<std::string, double> values;
};

FlowRecord flow(std::uint64_t bytes, Time start, Time finish, Time ideal) {
  FlowRecord record;
  record.bytes = bytes;
  record.start = start;
  record.finish = finish;
  record.ideal = ideal;
  return record;
}

}  // namespace

TEST_CASE("a flow's bytes on the wire: every packet's headers, the RETH once a message") {
  FlowPackets packets;
  packets.message_size = Bytes(8192);
  CHECK(packets.on_wire(4096_B, true) == Bytes(4096 + 78 + 20));
  CHECK(packets.on_wire(4096_B, false) == Bytes(4096 + 62 + 20));
  CHECK(packets.on_wire(1_B, true) == Bytes(4 + 78 + 20));
  CHECK(packets.on_wire(1_B) == Bytes(102));
  CHECK(packets.on_wire(4096_B) == Bytes(4194));
  CHECK(packets.on_wire(4097_B) == Bytes(4194 + 4 + 62 + 20));
  CHECK(packets.on_wire(8192_B) == Bytes(4194 + 4178));
  CHECK(packets.on_wire(Bytes(3 * 8192 + 5)) == Bytes(3 * (4194 + 4178) + 8 + 78 + 20));
  packets.link_layer = LinkLayer::kRoceV1;
  CHECK(packets.on_wire(4096_B, false) == Bytes(4096 + 14 + 40 + 12 + 8 + 20));
  packets.link_layer = LinkLayer::kInfiniBand;
  CHECK(packets.on_wire(4096_B, false) == Bytes(4096 + 26));
  CHECK(packets.on_wire(1_B, true) == Bytes(4 + 16 + 26));
}

TEST_CASE("the ideal time of a flow through one switch is the sum of its parts") {
  const std::vector<Fabric::Hop> hops = {{k100, 15_ns, 250_ns, false}, {k100, 15_ns, {}, false}};
  // 8192 B: 4194 and 4178 B on the wire, the last gap not waited for; the first packet once more.
  CHECK(ideal_time(hops, {}, 8192_B) == Time::ps(8360 * 80) + Time::ps(4182 * 80) + 30_ns + 250_ns);
  CHECK(ideal_time(hops, {}, 64_B) == Time::ps(150 * 80) * 2 + 280_ns);
  const std::vector<Fabric::Hop> wire = {{k100, 15_ns, {}, false}};
  CHECK(ideal_time(wire, {}, 8192_B) == Time::ps(8360 * 80) + 15_ns);
}

TEST_CASE("all bytes pass the slowest cable, the first packet the others") {
  const std::vector<Fabric::Hop> hops = {{k100, 10_ns, 250_ns, false},
                                         {BitRate::gbps(25), 10_ns, 250_ns, false},
                                         {k100, 10_ns, {}, false}};
  CHECK(ideal_time(hops, {}, 8192_B) ==
        Time::ps(8360 * 320) + Time::ps(4182 * 80) * 2 + 30_ns + 500_ns);
}

TEST_CASE("a switch that cuts through waits for the first 64 B") {
  const std::vector<Fabric::Hop> hops = {{k100, 15_ns, 250_ns, true}, {k100, 15_ns, {}, false}};
  CHECK(ideal_time(hops, {}, 8192_B) == Time::ps(8360 * 80) + Time::ps(72 * 80) + 280_ns);
}

TEST_CASE("statistics count finished flows only, percentiles by nearest rank, bins by size") {
  std::vector<FlowRecord> flows;
  for (int i = 1; i <= 4; ++i) flows.push_back(flow(1000, 10_us, 10_us + Time::us(i), 1_us));
  flows.push_back(flow(5000, 12_us, 18_us, 2_us));
  flows.push_back(flow(5000, 12_us, Time::never(), 2_us));
  Metrics metrics;
  FlowStatistics(flows).report(MetricScope(metrics, "f"), metrics, "f",
                               {{0, 0}, {1000, 0.5}, {4000, 0.75}, {9000, 1}});
  CHECK(metrics.values["f.count"] == 6);
  CHECK(metrics.values["f.finished"] == 5);
  CHECK(metrics.values["f.bytes"] == 9000);
  CHECK(metrics.values["f.fct.min"] == 1e6);
  CHECK(metrics.values["f.fct.p50"] == 3e6);
  CHECK(metrics.values["f.fct.p95"] == 6e6);
  CHECK(metrics.values["f.fct.max"] == 6e6);
  CHECK(metrics.values["f.slowdown.p50"] == 3);
  CHECK(metrics.values["f.slowdown.max"] == 4);
  CHECK(metrics.values["f.goodput"] == Approx(9000 * 8 / 8e-6));
  CHECK(metrics.values["f.up_to_1000_B.count"] == 4);
  CHECK(metrics.values["f.up_to_1000_B.slowdown.p50"] == 2);
  CHECK(metrics.values["f.up_to_9000_B.slowdown.p99"] == 3);
  CHECK(metrics.values.count("f.up_to_4000_B.count") == 0);
  // Rates 1, 1/2, 1/3, 1/4 and 5/6.
  const double sum = 1 + 0.5 + 1 / 3.0 + 0.25 + 5 / 6.0;
  CHECK(metrics.values["f.fairness"] ==
        Approx(sum * sum / (5 * (1 + 0.25 + 1 / 9.0 + 1 / 16.0 + 25 / 36.0))));
}

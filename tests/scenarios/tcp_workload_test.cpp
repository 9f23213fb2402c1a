// SPDX-License-Identifier: MIT
// Programs over TCP on two whole hosts: what arrives, what it is counted as, and what each offload
// takes off the CPU, by counts that follow from its mechanism.
#include "scenarios/engine/tcp_workload.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "model/json_document.h"
#include "scenarios/engine/runner.h"
#include "scenarios/engine/scenario_reader.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

constexpr double kHandshake = 2;  ///< SYN, or its answer, and FIN: of one side
constexpr double kAcks = 2;       ///< of the client: of SYN-ACK and of FIN
/// What a burst of 45 segments of 1448 B carries; a burst of 46 would not fit an IP packet.
constexpr double kSegments = 45;
/// The most that an acknowledgement held back for 40 ms adds to a smoothed round trip time, in ps.
constexpr double kOneDelayedAck = 6e9;

/// What a scenario gives, simulated in a process of its own, as several are compared.
struct Run {
  double value(const std::string& path) const {
    REQUIRE(result.metrics.count(path) == 1);
    return result.metrics.at(path).as_real();
  }
  RunResult result;
};

/// `host`: further members of both hosts, with a comma before each.
Run over_tcp(const std::string& members, const std::string& host = "",
             const std::string& more = "") {
  PresetDirectories presets({"scenarios/presets"});
  const Scenario scenario =
      read_scenario(parse_json(R"({"hosts": [{"name": "A")" + host + R"(}, {"name": "B")" + host +
                                   R"(}], "workload": [{"name": "w", "from": "A", "to": "B",
                         "transport": "tcp", )" +
                                   members + "}]" + more + "}",
                               "x.json"),
                    {}, presets);
  RunnerOptions options;
  options.simulate = simulate;
  return {run_simulations({{"x", &scenario}}, options).front()};
}

/// Messages of one full burst, each answered with a byte; the initial window is no limit.
Run bursts(const std::string& kernel) {
  return over_tcp(R"("size": "65160 B", "count": 20, "tcp": {"response": "1 B"})",
                  R"(, "tcp": {"initial_window": 1000}, "kernel": {)" + kernel + "}");
}

/// Messages of one segment each, as fast as a program sends them.
Run segments(const std::string& kernel) {
  return over_tcp(R"("size": "1448 B", "count": 320, "tcp": {"nodelay": true})",
                  R"(, "tcp": {"initial_window": 1000}, "kernel": {)" + kernel + "}");
}

}  // namespace

TEST_CASE("a stream over TCP is one CPU copy of each byte on either side, and system calls") {
  const Run run = over_tcp(R"("size": "64 KiB", "count": 32)");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w.completed") == 32);
  CHECK(run.value("workload.w.bytes") == 32 * 65536);
  CHECK(run.value("host.A.cpu.copied_bytes") == 32 * 65536);
  CHECK(run.value("host.B.cpu.copied_bytes") == 32 * 65536);
  CHECK(run.value("host.A.cpu.copies") == 32);
  CHECK(run.value("host.A.cpu.data.system_calls") == 32 + 1);  // and close
  CHECK(run.value("host.B.nic0.ethernet.rx_payload") == 32 * 65536);
}

TEST_CASE("messages go round robin over the connections, each with programs of its own") {
  const Run run = over_tcp(R"("size": "4 KiB", "count": 10, "queue_pairs": 4)");
  CHECK(run.value("workload.w.completed") == 10);
  const auto sent = [&](int i) {
    return run.value("host.A.nic0.kernel.connection" + std::to_string(i) + ".send.sent");
  };
  CHECK(sent(0) + sent(1) + sent(2) + sent(3) == 40960);
  CHECK(std::max({sent(0), sent(1), sent(2), sent(3)}) == 3 * 4096);
  for (const char* core : {"core0", "core1", "core2", "core3"})
    CHECK(run.value(std::string("host.A.cpu.") + core + ".busy") > 0);
}

TEST_CASE("a response makes the next message wait, and tcp_lat halves the round trip") {
  const Run pairs = over_tcp(R"("size": "64 B", "count": 20, "tcp": {"response": "64 B"})");
  const Run program =
      over_tcp(R"("pattern": "perftest", "test": "tcp_lat", "sizes": "64 B", "iterations": 20)");
  CHECK(program.value("workload.w.size_64.latency.typical") * 2 ==
        Approx(pairs.value("workload.w.latency.p50")).epsilon(1e-3));
  CHECK(pairs.value("host.B.cpu.copied_bytes") == 2 * 20 * 64);
}

TEST_CASE("tcp_bw measures each size for itself, and no size's bytes count for another") {
  const Run run = over_tcp(
      R"("pattern": "perftest", "test": "tcp_bw", "sizes": ["1 KiB", "64 KiB"], "iterations": 50)");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w.completed") == 100);
  CHECK(run.value("workload.w.size_65536.bandwidth.average") >
        3 * run.value("workload.w.size_1024.bandwidth.average"));
  CHECK(run.value("workload.w.size_1024.bandwidth.peak") >
        run.value("workload.w.size_1024.bandwidth.average"));
}

TEST_CASE(
    "segmentation by the NIC takes a burst as one frame, by the stack as 45, alone as 45 of TCP") {
  const Run nic = bursts("");
  const Run stack = bursts(R"("tso": false)");
  const Run none = bursts(R"("tso": false, "gso": false)");
  for (const Run* run : {&nic, &stack, &none})
    CHECK(run->value("host.A.nic0.port.tx_packets") == 20 * kSegments + kHandshake + kAcks);
  CHECK(nic.value("host.A.nic0.kernel.frames_sent") == 20 + kHandshake + kAcks);
  CHECK(stack.value("host.A.nic0.kernel.frames_sent") == 20 * kSegments + kHandshake + kAcks);
  CHECK(nic.value("host.A.nic0.kernel.bursts_sent") == 20 + kHandshake);
  CHECK(stack.value("host.A.nic0.kernel.bursts_sent") == 20 + kHandshake);
  CHECK(none.value("host.A.nic0.kernel.bursts_sent") == 20 * kSegments + kHandshake);
  const char* const busy = "host.A.cpu.data.busy";
  CHECK(nic.value(busy) < stack.value(busy));
  CHECK(stack.value(busy) < none.value(busy));
}

TEST_CASE("merging by softirq or by the NIC makes one segment of 45, and one ACK of 23") {
  const Run softirq = bursts("");
  const Run nic = bursts(R"("gro": false, "lro": true)");
  const Run none = bursts(R"("gro": false)");
  const char* const frames = "host.B.nic0.kernel.frames_received";
  const char* const merged = "host.B.nic0.kernel.segments_received";
  CHECK(softirq.value(frames) == 20 * kSegments + kHandshake + kAcks);
  CHECK(softirq.value(merged) == 20 + kHandshake + kAcks);
  CHECK(nic.value(frames) == 20 + kHandshake + kAcks);
  CHECK(nic.value(merged) == 20 + kHandshake + kAcks);
  CHECK(none.value(merged) == 20 * kSegments + kHandshake + kAcks);
  // Without merging every second segment is acknowledged; the last goes with the response.
  const char* const acks = "host.B.nic0.kernel.acks_sent";
  CHECK(softirq.value(acks) == 20 + 1);
  CHECK(none.value(acks) == 20 * (kSegments - 1) / 2 + 1);
}

TEST_CASE("interrupt moderation adds its period to each way, and divides interrupts") {
  const std::string off = R"("receive_frames": 1, "receive_period": "0 us")";
  // An interrupt for what has been sent would find what has come meanwhile.
  const auto latency = [](const std::string& kernel) {
    return over_tcp(R"("size": "64 B", "count": 20, "tcp": {"response": "64 B"})",
                    R"(, "kernel": {"transmit_frames": 1024, "transmit_period": "1 ms", )" +
                        kernel + "}")
        .value("workload.w.latency.p50");
  };
  const double without = latency(off);
  for (const int us : {8, 16}) {
    const double with = latency(R"("receive_period": ")" + std::to_string(us) + R"( us")");
    CHECK(with - without == Approx(2 * us * 1e6).epsilon(0.05));
  }

  const Run each = segments(off);
  const Run few = segments(R"("receive_period": "16 us")");
  const char* const polls = "host.B.nic0.kernel.polls";
  // The sender rings a doorbell a message: without moderation nearly every frame comes alone.
  CHECK(each.value(polls) >= 320 / 2);
  // With it a poll takes what has come in a period, at least.
  const double periods = 320 / few.value("workload.w.message_rate") / Time::us(16).as_s();
  CHECK(few.value(polls) <= periods);
  CHECK(few.value(polls) * 5 <= each.value(polls));
  CHECK(few.value("host.B.nic0.kernel.frames_received") ==
        each.value("host.B.nic0.kernel.frames_received"));
}

TEST_CASE("zero-copy send copies nothing at the sender, and everything at the receiver") {
  const Run run = over_tcp(R"("size": "64 KiB", "count": 32, "tcp": {"zero_copy": true})");
  CHECK(run.result.violations.empty());
  CHECK(run.value("host.A.cpu.copied_bytes") == 0);
  CHECK(run.value("host.A.nic0.kernel.not_copied") == 32 * 65536);
  CHECK(run.value("host.B.cpu.copied_bytes") == 32 * 65536);
}

TEST_CASE("busy polling waits without interrupts and without waking") {
  const std::string request = R"("size": "64 B", "count": 50, "tcp": {"response": "64 B")";
  const Run asleep = over_tcp(request + "}");
  const Run polling = over_tcp(request + R"(, "busy_poll": true})");
  CHECK(asleep.value("host.B.nic0.kernel.wakeups") >= 50);
  CHECK(polling.value("host.B.nic0.kernel.wakeups") <= 2);
  CHECK(polling.value("host.B.interrupts.messages") <= 6);
  CHECK(polling.value("workload.w.latency.p50") * 3 < asleep.value("workload.w.latency.p50"));
}

TEST_CASE("under one percent of loss, both ways, every byte arrives in order") {
  const Run run =
      over_tcp(R"("size": "64 KiB", "count": 128)", "",
               R"(, "fabric": {"link": {"faults": [{"kind": "drop", "probability": 0.01}]}},
                  "stop_at": "10 s")");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w.completed") == 128);
  CHECK(run.value("workload.w.mismatched_bytes") == 0);
  CHECK(run.value("host.A.nic0.kernel.connection0.send.sent_again") > 0);
  CHECK(run.value("host.A.nic0.kernel.connection0.send.recoveries") > 0);
}

TEST_CASE("a client whose server never answers fails, and the run says where") {
  const Run run =
      over_tcp(R"("size": "64 KiB")", R"(, "tcp": {"syn_retries": 1})",
               R"(, "fabric": {"link": {"faults": [{"kind": "drop", "probability": 1}]}},
                  "stop_at": "10 s")");
  REQUIRE(run.result.violations.size() == 1);
  CHECK(run.result.violations[0].kind == "unfinished_flow");
  CHECK(run.result.violations[0].text.find("timed out while connecting, 0 of 1 messages done") !=
        std::string::npos);
}

TEST_CASE("elided payload takes the same time as payload that moves") {
  const auto end = [](const char* payload) {
    const Run run = over_tcp(R"("size": "64 KiB", "count": 16, "tcp": {"response": "8 KiB"})", "",
                             std::string(R"(, "engine": {"payload": ")") + payload + "\"}");
    return std::pair(run.result.end, run.value("workload.w.latency.p99"));
  };
  CHECK(end("elided") == end("carried"));
}

TEST_CASE("under loss the round trip time stays that of the path") {
  for (const char* seed : {"1", "2", "3", "4"}) {
    const Run run = over_tcp(R"("size": "16 KiB", "count": 20)", "",
                             R"(, "fabric": {"link": {"faults": [{"kind": "drop",
                                "probability": 0.05}]}}, "stop_at": "20 s", "seed": )" +
                                 std::string(seed));
    CHECK(run.value("workload.w.completed") == 20);
    CHECK(run.value("host.A.nic0.kernel.connection0.send.rtt") < kOneDelayedAck);
  }
}

TEST_CASE("a run may end while pages of a zero-copy send are pinned") {
  const Run run = over_tcp(R"("size": "300 kB", "count": 20, "tcp": {"zero_copy": true})", "",
                           R"(, "stop_at": "150 us")");
  REQUIRE(run.result.violations.size() == 1);
  CHECK(run.result.violations[0].kind == "unfinished_flow");
  CHECK(run.value("host.A.nic0.kernel.pages_pinned") > 0);
}

TEST_CASE("what a workload has transferred has warm-up and responses in it") {
  const Run run =
      over_tcp(R"("size": "1000 B", "count": 10, "warm_up": 4, "tcp": {"response": "50 B"})");
  CHECK(run.value("workload.w.bytes") == 6 * 1000);
  CHECK(run.value("workload.w.transferred") == 10 * (1000 + 50));
}

TEST_CASE("what each category of a CPU's time says adds up to what its cores were busy") {
  const Run run = over_tcp(R"("size": "64 KiB", "count": 64, "queue_pairs": 2)",
                           R"(, "kernel": {"queues": 2})");
  const double cycle = 1e6 / 3500;  // ps
  for (const std::string host : {"host.A.cpu.", "host.B.cpu."}) {
    double cores = 0;
    double planes = 0;
    double categories = 0;
    unsigned counted = 0;
    for (const auto& [path, metric] : run.result.metrics) {
      if (path.compare(0, host.size(), host) != 0 || metric.unit != Unit::kPicoseconds) continue;
      const std::string rest = path.substr(host.size());
      const bool of_core = rest.compare(0, 4, "core") == 0;
      const bool busy = rest.size() > 5 && rest.compare(rest.size() - 5, 5, ".busy") == 0;
      if (of_core && busy) cores += metric.as_real();
      if (of_core) continue;
      (busy ? planes : categories) += metric.as_real();
      counted += !busy && metric.value != 0 ? 1 : 0;
    }
    CHECK(counted >= 12);
    CHECK(std::abs(cores - planes) <= cycle);
    CHECK(std::abs(cores - categories) <= cycle);
  }
}

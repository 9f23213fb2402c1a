// SPDX-License-Identifier: MIT
#include "scenarios/engine/bottleneck.h"

#include <catch2/catch.hpp>

using namespace rnicsim;

namespace {

/// One workload from A to B that took 100 us, and what was measured meanwhile.
struct Measured {
  std::map<std::string, Metric> metrics;
  CoreWork cores{{"A", {Time()}}, {"B", {Time()}}};
  std::set<std::string> ports{"fabric.s0.port1"};
  WorkloadSpec workload;

  Measured() {
    workload.name = "w0";
    workload.from = "A";
    workload.to = "B";
    workload.queue_depth = 16;
  }
  Measured& time(const std::string& path, std::uint64_t us, const char* description = "") {
    metrics[path] = {true, us * 1'000'000, 0, Unit::kPicoseconds, description};
    return *this;
  }
  Measured& count(const std::string& path, std::uint64_t n) {
    metrics[path] = {true, n, 0, Unit::kCount, ""};
    return *this;
  }
  /// Messages a second, and how long one takes.
  Measured& messages(double rate, double latency_us) {
    metrics["workload.w0.message_rate"] = {false, 0, rate, Unit::kPerSecond, ""};
    metrics["workload.w0.latency.mean"] = {false, 0, latency_us * 1e6, Unit::kPicoseconds, ""};
    metrics["workload.w0.messages"] = {true, 100, 0, Unit::kCount, ""};
    return *this;
  }
  Bottleneck verdict() const {
    WorkSpan span;
    span.include(Time::us(10), Time::us(110));
    return find_bottleneck(workload, span, {metrics, cores, ports});
  }
};

}  // namespace

TEST_CASE("the resource that was busy the longest is the limit, the next one is named") {
  const Bottleneck verdict = Measured()
                                 .time("host.A.nic0.port.tx.busy", 99)
                                 .time("host.B.nic0.pcie.upstream.busy", 93)
                                 .time("host.B.memory.busy", 20)
                                 .verdict();
  CHECK(verdict.workload == "w0");
  CHECK(verdict.kind == "busy");
  CHECK(verdict.resource == "host.A.nic0.port.tx.busy");
  CHECK(verdict.part == Approx(0.99));
  CHECK(verdict.span == Time::us(100));
  CHECK(verdict.next == "host.B.nic0.pcie.upstream.busy");
  CHECK(verdict.next_part == Approx(0.93));
  CHECK(verdict.text ==
        "the wire out of A: busy 99.0 % of 100 us (host.A.nic0.port.tx.busy); next: PCIe from the "
        "NIC of B to its memory, 93.0 %");
}

TEST_CASE("a wire behind the NIC's link is named for what it is") {
  const auto limit = [](const std::string& path) {
    const std::string text = Measured().time(path, 95).verdict().text;
    return text.substr(0, text.find(':'));
  };
  CHECK(limit("host.A.pcie_switch.upstream.busy") ==
        "the upstream link of the PCIe switch of A towards its memory");
  CHECK(limit("host.B.root_complex.peer_reads.busy") ==
        "the root complex of B that passes completions from port to port");
  CHECK(limit("host.A.gpu1.link_in.busy") == "PCIe to gpu1 of A");
  CHECK(limit("host.A.gpu0.bar_reads.busy") == "the BAR of gpu0 of A that answers reads");
}

TEST_CASE("hosts and switches that a workload does not use cannot limit it") {
  const Bottleneck verdict = Measured()
                                 .time("host.C.nic0.port.tx.busy", 99)
                                 .time("fabric.s0.port2.tx.busy", 99)
                                 .time("fabric.s0.port1.tx.busy", 85)
                                 .verdict();
  CHECK(verdict.resource == "fabric.s0.port1.tx.busy");
  CHECK(verdict.text.find("the wire out of s0.port1: busy 85.0 %") == 0);
}

TEST_CASE("having something under way uses a block up only if it is one thing at a time") {
  Measured walks;
  walks.time("host.A.nic0.translation_cache.busy", 100, "time with at least one walk under way")
      .count("host.A.nic0.translation_cache.occupancy.max", 2)
      .time("host.A.nic0.port.tx.busy", 40);
  CHECK(walks.verdict().kind == "none");
  walks.time("host.A.nic0.translation_cache.stalled.miss_registers", 90);
  CHECK(walks.verdict().kind == "full");
  CHECK(walks.verdict().text.find("walks of the translation table of A's NIC") == 0);

  Measured fetches;
  fetches.time("host.A.nic0.wqe_fetch.busy", 96, "time with at least one fetch outstanding")
      .count("host.A.nic0.wqe_fetch.occupancy.max", 1);
  CHECK(fetches.verdict().kind == "one_at_a_time");
  CHECK(fetches.verdict().resource == "host.A.nic0.wqe_fetch.busy");
  fetches.time("host.A.nic0.pcie.upstream.busy", 81);
  CHECK(fetches.verdict().kind == "busy");
}

TEST_CASE("writes that pile up at a NIC are the limit only where no link is") {
  Measured measured;
  measured.time("host.B.nic0.responder.stalled.window", 99)
      .time("host.B.nic0.pcie.upstream.busy", 60);
  CHECK(measured.verdict().resource == "host.B.nic0.responder.stalled.window");
  CHECK(measured.verdict().text ==
        "writes into the memory of B, as many being under way as its NIC allows: full 99.0 % of "
        "100 us (host.B.nic0.responder.stalled.window); next: PCIe from the NIC of B to its "
        "memory, 60.0 %");
  measured.time("host.B.nic0.pcie.upstream.busy", 90);
  CHECK(measured.verdict().resource == "host.B.nic0.pcie.upstream.busy");
}

TEST_CASE("a core that works on data is a limit, one that polls in vain is not") {
  Measured measured;
  measured.time("host.A.cpu.core0.busy", 100, "time in which the core did work, polling included");
  CHECK(measured.verdict().kind == "none");
  measured.cores["A"] = {Time(), Time::us(95)};
  CHECK(measured.verdict().resource == "host.A.cpu.core1.busy");
  CHECK(measured.verdict().text.find("the CPU core of A that works on data: busy 95.0 %") == 0);
}

TEST_CASE("where nothing is used up, the window tells whether messages waited for themselves") {
  Measured measured;
  measured.time("host.A.nic0.port.tx.busy", 30).messages(1e6, 15);
  CHECK(measured.verdict().kind == "window");
  CHECK(measured.verdict().limit == 16);
  CHECK(measured.verdict().count == 15);
  CHECK(measured.verdict().each == Time::us(15));
  CHECK(measured.verdict().text ==
        "the window: 15 of the 16 messages that may be under way were, 15 us each; nothing "
        "busy above 30.0 % (the wire out of A)");
  measured.messages(1e6, 5);
  CHECK(measured.verdict().kind == "none");
  measured.workload.queue_depth = 1;
  measured.messages(4e5, 2.5);
  CHECK(measured.verdict().kind == "latency");
  CHECK(measured.verdict().text ==
        "latency: one message at a time, 2.5 us each; nothing busy above 30.0 % (the wire "
        "out of A)");
}

TEST_CASE("what held messages back by rule is named where the NIC counted it") {
  Measured measured;
  measured.time("host.A.nic0.port.tx.busy", 30).messages(1e6, 15);
  measured.workload.max_rd_atomic = 4;
  measured.count("host.A.nic0.requester.read_limited", 7);
  CHECK(measured.verdict().kind == "window");  // WRITEs: they were another workload's
  measured.workload.operation = Operation::kRead;
  CHECK(measured.verdict().kind == "max_rd_atomic");
  CHECK(measured.verdict().limit == 4);
  CHECK(measured.verdict().count == 7);
  CHECK(measured.verdict().text.find("at most 4 READs or atomics") != std::string::npos);
  measured.count("host.A.nic0.requester.read_limited", 0);
  measured.count("host.A.nic0.congestion_control.rp_cnp_handled", 12);
  CHECK(measured.verdict().kind == "congestion_control");
}

TEST_CASE("pauses limit the host that was told to make them") {
  const Bottleneck verdict =
      Measured().time("host.A.nic0.port.rx_prio3_pause_duration", 97).verdict();
  CHECK(verdict.kind == "stopped");
  CHECK(verdict.text.find("pauses that A was told to make: stopped 97.0 % of 100 us") == 0);
}

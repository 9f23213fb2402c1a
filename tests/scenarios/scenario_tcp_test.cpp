// SPDX-License-Identifier: MIT
// The fields of workloads over TCP, and what they refuse.
#include <catch2/catch.hpp>

#include "tests/support/scenario_text.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

namespace {

std::string tcp_failure(const std::string& members, const std::string& more = "") {
  return workload_failure(R"("transport": "tcp", )" + members, more);
}

constexpr const char* kTwo =
    R"([{"name": "w0", "from": "A", "to": "B", "transport": "tcp", "queue_pairs": 3%s},
        {"name": "w1", "from": "A", "to": "B", "transport": "tcp"%s}])";

std::string two(const std::string& first, const std::string& second) {
  std::string text = kTwo;
  text.replace(text.find("%s"), 2, first);
  return text.replace(text.find("%s"), 2, second);
}

}  // namespace

TEST_CASE("workloads over TCP take ports of their own, from 5001 on, around those asked for") {
  const auto ports = [](const std::string& first, const std::string& second) {
    const Scenario scenario = read(text_of(kHosts, two(first, second)));
    return std::pair(*scenario.workload[0].tcp->port, *scenario.workload[1].tcp->port);
  };
  CHECK(ports("", "") == std::pair<std::uint16_t, std::uint16_t>(5001, 5004));
  CHECK(ports("", R"(, "tcp": {"port": 5002})") ==
        std::pair<std::uint16_t, std::uint16_t>(5003, 5002));
  CHECK(ports(R"(, "tcp": {"port": 80})", "") == std::pair<std::uint16_t, std::uint16_t>(80, 5001));
}

TEST_CASE("ports that clash or do not suffice are refused") {
  CHECK(failure(text_of(kHosts, two(R"(, "tcp": {"port": 80})", R"(, "tcp": {"port": 82})"))) ==
        "x.json:2: workload.1.tcp.port: port 82 of host \"B\" is that of workload.0");
  CHECK(failure(text_of(kHosts, two(R"(, "tcp": {"port": 32766})", ""))) ==
        "x.json:1: workload.0.tcp.port: 3 connections from port 32766 on do not fit below 32768");
}

TEST_CASE("a workload over TCP refuses what belongs to verbs, and those what is its own") {
  CHECK(tcp_failure(R"("operation": "write")") ==
        "x.json:1: workload.0.operation: does not belong to the pattern \"pairs\" over TCP");
  CHECK(tcp_failure(R"("queue_depth": 4)") ==
        "x.json:1: workload.0.queue_depth: does not belong to the pattern \"pairs\" over TCP");
  CHECK(tcp_failure(R"("pattern": "perftest", "test": "tcp_bw", "tx_depth": 4)") ==
        "x.json:1: workload.0.tx_depth: does not belong to the pattern \"perftest\" over TCP");
  CHECK(workload_failure(R"("tcp": {"nodelay": true})") ==
        "x.json:1: workload.0.tcp: belongs to transport \"tcp\"");
  CHECK(workload_failure(R"("pattern": "perftest", "test": "tcp_lat")") ==
        "x.json:1: workload.0.test: \"tcp_lat\" runs over transport \"tcp\"");
  CHECK(tcp_failure(R"("pattern": "perftest", "test": "ib_write_bw")") ==
        "x.json:1: workload.0.test: over TCP it is \"tcp_bw\" or \"tcp_lat\"");
  CHECK(tcp_failure(R"("pattern": "incast")") ==
        "x.json:1: workload.0.transport: \"tcp\" belongs to the patterns \"pairs\" and "
        "\"perftest\"");
}

TEST_CASE("a workload over TCP refuses what cannot be") {
  CHECK(tcp_failure(R"("size": "0 B")") ==
        "x.json:1: workload.0.size: a message over TCP has at least one byte");
  CHECK(tcp_failure(R"("tcp": {"response": "1 B", "receive_size": "1 B"})") ==
        "x.json:1: workload.0.tcp.receive_size: belongs to streams: a message that is answered is "
        "received whole");
  CHECK(tcp_failure(R"("pattern": "perftest", "test": "tcp_lat", "queue_pairs": 2)") ==
        "x.json:1: workload.0.queue_pairs: a program that measures latency has one connection");
  CHECK(tcp_failure(R"("pattern": "perftest", "test": "tcp_bw", "tcp": {"response": "1 B"})") ==
        "x.json:1: workload.0.tcp.response: belongs to the pattern \"pairs\"");
  CHECK(tcp_failure(R"("size": "1 B")", R"(, "fabric": {"link_layer": "infiniband"})") ==
        "x.json:1: workload.0.transport: \"tcp\" needs Ethernet, and fabric.link_layer is "
        "\"infiniband\"");
}

TEST_CASE("a kernel asks of its NIC only what it has") {
  const auto kernel_failure = [](const std::string& members) {
    return failure(text_of(R"([{"name": "A", )" + members + R"(}, {"name": "B"}])",
                           R"([{"name": "w0", "from": "A", "to": "B", "transport": "tcp"}])"));
  };
  CHECK(kernel_failure(R"("kernel": {"queues": 4}, "nic": {"ethernet": {"queues": 2}})") ==
        "x.json:1: hosts.0.kernel.queues: 4 queues, and the NIC keeps 2 (nics.0.ethernet.queues)");
  CHECK(kernel_failure(
            R"("kernel": {"flow_steering": true}, "nic": {"ethernet": {"flow_rules": 0}})") ==
        "x.json:1: hosts.0.kernel.flow_steering: the NIC keeps no rules for flows "
        "(nics.0.ethernet.flow_rules)");
}

// SPDX-License-Identifier: MIT
// The fields of a workload, and what they refuse.
#include <catch2/catch.hpp>

#include "tests/support/scenario_text.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

TEST_CASE("every field of a workload is read") {
  const Scenario scenario = read(text_of(kHosts, R"([{
      "name": "w", "pattern": "pairs", "operation": "write", "transport": "rc", "from": "B",
      "to": "A", "size": "64 B", "count": 1000, "warm_up": 10, "queue_pairs": 4,
      "queue_depth": 16, "signal_every": 8, "path_mtu": "256 B", "inline": true, "start": "1 us",
      "control_latency": "5 us", "remote_offset": "random", "local_offset": "sequential",
      "region": "64 MiB", "remote_write": false, "fault": "beyond_by_one", "max_rd_atomic": 4,
      "max_dest_rd_atomic": 8, "ack_timeout": 10, "retry_count": 3, "rnr_retry": 2,
      "min_rnr_timer": 1, "fence": true, "completion": "events"}])",
                                         R"(, "engine": {"payload": "elided", "run_ahead": false},
      "timeline": {"work_requests": 3}, "seed": 7, "stop_at": "10 ms", "title": "t",
      "$schema": "s")"));
  const WorkloadSpec& workload = scenario.workload.at(0);
  CHECK(workload.from == "B");
  CHECK(workload.size == 64_B);
  CHECK(workload.count == 1000);
  CHECK(workload.warm_up == 10);
  CHECK(workload.queue_pairs == 4);
  CHECK(workload.queue_depth == 16);
  CHECK(workload.signal_every == 8);
  CHECK(workload.path_mtu == 256_B);
  CHECK(workload.inline_up_to == 988_B);
  CHECK(workload.start == 1_us);
  CHECK(workload.control_latency == 5_us);
  CHECK(workload.remote_offset == OffsetPattern::kRandom);
  CHECK(workload.local_offset == OffsetPattern::kSequential);
  CHECK(workload.region_size() == 64_MiB);
  CHECK_FALSE(workload.remote_write);
  CHECK(workload.fault == AccessFault::kBeyondByOne);
  CHECK(workload.max_rd_atomic == 4);
  CHECK(workload.max_dest_rd_atomic == 8);
  CHECK(workload.ack_timeout == 10);
  CHECK(workload.retry_count == 3);
  CHECK(workload.rnr_retry == 2);
  CHECK(workload.min_rnr_timer == 1);
  CHECK(workload.fence);
  CHECK(workload.completion == CompletionMode::kEvents);
  CHECK(scenario.engine.payload == PayloadMode::kElided);
  CHECK_FALSE(scenario.engine.run_ahead);
  CHECK(scenario.timeline.work_requests == 3);
  CHECK(scenario.seed == 7);
  CHECK(scenario.stop_at == 10_ms);
}

TEST_CASE("a workload's values must be possible") {
  CHECK(workload_failure(R"("size": "-1 B")").find("which has a sign") != std::string::npos);
  CHECK(workload_failure(R"("size": "3 GiB")") ==
        "x.json:1: workload.0.size: expected 0 B to 2 GiB, found \"3 GiB\"");
  CHECK(workload_failure(R"("size": "0 B")") == "no error");
  CHECK(workload_failure(R"("count": 0)") ==
        "x.json:1: workload.0.count: expected 1 to 10000000, found 0");
  CHECK(workload_failure(R"("path_mtu": "1500 B")") ==
        "x.json:1: workload.0.path_mtu: expected 256 B, 512 B, 1 KiB, 2 KiB or 4 KiB, found "
        "\"1500 B\"");
  const auto needs = [](const char* link_layer, const char* mtu) {
    return workload_failure(
        R"("path_mtu": "4096 B")",
        std::string(R"(, "fabric": {)") + link_layer + R"("link": {"mtu": ")" + mtu + "\"}}");
  };
  CHECK(needs(R"("link_layer": "rocev1", )", "4186 B") == "no error");
  CHECK(needs(R"("link_layer": "rocev1", )", "4185 B") ==
        "x.json:1: workload.0.path_mtu: 4 KiB of payload and 90 B of headers do not fit "
        "fabric.link.mtu, 4185 B");
  CHECK(needs(R"("link_layer": "infiniband", )", "4138 B") == "no error");
  CHECK(needs(R"("link_layer": "infiniband", )", "4137 B") ==
        "x.json:1: workload.0.path_mtu: 4 KiB of payload and 42 B of headers do not fit "
        "fabric.link.mtu, 4137 B");
  CHECK(needs(R"("ip_version": "ipv6", )", "4194 B") == "no error");
  CHECK(needs(R"("ip_version": "ipv6", )", "4193 B") ==
        "x.json:1: workload.0.path_mtu: 4 KiB of payload and 98 B of headers do not fit "
        "fabric.link.mtu, 4193 B");
  CHECK(workload_failure(R"("path_mtu": "4096 B")", R"(, "fabric": {"link": {"mtu": "4173 B"}})") ==
        "x.json:1: workload.0.path_mtu: 4 KiB of payload and 78 B of headers do not fit "
        "fabric.link.mtu, 4173 B");
  CHECK(workload_failure(R"("path_mtu": "4096 B")", R"(, "fabric": {"link": {"mtu": "4174 B"}})") ==
        "no error");
  CHECK(workload_failure(R"("pattern": "pears")") ==
        "x.json:1: workload.0.pattern: expected \"pairs\", \"perftest\", \"rkey_guessing\", "
        "\"registration\", \"pcie_bench\", \"incast\", \"permutation\", \"all_to_all\", "
        "\"poisson\", \"closed_loop\", "
        "\"flow_file\" or \"flow_list\", found "
        "\"pears\", did you mean \"pairs\"?");
  CHECK(workload_failure(R"("operation": "reed")").find("did you mean \"read\"?") !=
        std::string::npos);
  CHECK(workload_failure(R"("warm_up": 1)") ==
        "x.json:1: workload.0.warm_up: must be less than count");
  CHECK(workload_failure(R"("queue_depth": 4, "signal_every": 5)") ==
        "x.json:1: workload.0.signal_every: must not exceed queue_depth, or the send queue fills "
        "without a completion");
  CHECK(workload_failure(R"("region": "1 KiB")") ==
        "x.json:1: workload.0.region: must hold at least one message of `size`");
  CHECK(workload_failure(R"("inline": true)") ==
        "x.json:1: workload.0.inline: a message of 64 KiB does not fit into a WQE, which holds at "
        "most 988 B");
  CHECK(workload_failure(R"("inline": "1 KiB")") ==
        "x.json:1: workload.0.inline: expected 0 B to 988 B, found \"1 KiB\"");
  CHECK(workload_failure(R"("inline": 5)") ==
        "x.json:1: workload.0.inline: expected a value of type boolean or string, found 5");
  CHECK(read(text_of(kHosts, R"([{"name": "w0", "from": "A", "to": "B", "inline": "64 B"}])"))
            .workload[0]
            .inline_up_to == 64_B);
  CHECK(workload_failure(R"("fault": "stale")") ==
        "x.json:1: workload.0.fault: expected \"none\", \"wrong_key\", \"stale_key\", \"below\", "
        "\"below_by_one\", \"beyond\", \"beyond_by_one\", \"wrap\", \"no_right\", \"wrong_pd\" or "
        "\"silent\", "
        "found \"stale\"");
}

TEST_CASE("an operation must be one of its transport") {
  CHECK(workload_failure(R"("operation": "read", "transport": "uc")") ==
        "x.json:1: workload.0.operation: \"read\" is no operation of transport \"uc\"");
  CHECK(workload_failure(R"("operation": "fetch_add", "size": "8 B", "transport": "uc")") ==
        "x.json:1: workload.0.operation: \"fetch_add\" is no operation of transport \"uc\"");
  CHECK(workload_failure(R"("operation": "write", "size": "8 B", "transport": "ud")") ==
        "x.json:1: workload.0.operation: \"write\" is no operation of transport \"ud\"");
  for (const char* transport : {"uc", "ud"})
    CHECK(workload_failure(R"("operation": "send_invalidate", "size": "8 B", "transport": ")" +
                           std::string(transport) + '"') ==
          "x.json:1: workload.0.operation: \"send_invalidate\" is no operation of transport \"" +
              std::string(transport) + '"');
  for (const char* operation : {"write", "write_imm", "send", "send_imm"})
    CHECK(workload_failure(R"("transport": "uc", "operation": ")" + std::string(operation) + '"') ==
          "no error");
  for (const char* operation : {"send", "send_imm"})
    CHECK(workload_failure(R"("transport": "ud", "size": "4 KiB", "operation": ")" +
                           std::string(operation) + '"') == "no error");
}

TEST_CASE("an operation's keys must be its own") {
  CHECK(workload_failure(R"("operation": "send_invalidate", "receiver_polls": false)") ==
        "x.json:1: workload.0.receiver_polls: send_invalidate: the receiver binds windows for what "
        "comes next");
  CHECK(
      workload_failure(R"("operation": "send_invalidate", "target_fault": "qp_error")") ==
      "x.json:1: workload.0.target_fault: send_invalidate: the target's queue pairs bind windows");
  CHECK(workload_failure(R"("operation": "compare_swap")") ==
        "x.json:1: workload.0.size: an atomic operates on 8 B, found 64 KiB");
  CHECK(workload_failure(R"("operation": "fetch_add", "size": "8 B", "local_offset": "random")") ==
        "x.json:1: workload.0.local_offset: what atomics bring goes to places in turn; leave it "
        "out");
  CHECK(workload_failure(R"("operation": "send", "transport": "ud", "size": "4097 B")") ==
        "x.json:1: workload.0.size: a datagram is one packet: 4097 B do not fit path_mtu, 4 KiB");
  CHECK(workload_failure(
            R"("operation": "send", "transport": "ud", "size": "64 B", "region": "100 B")") ==
        "x.json:1: workload.0.region: must hold at least one message and the 40 B before it");
  CHECK(workload_failure(R"("receive_depth": 4)") ==
        "x.json:1: workload.0.receive_depth: belongs to operations that take receives");
  CHECK(workload_failure(R"("operation": "read", "receiver_delay": "1 us")") ==
        "x.json:1: workload.0.receiver_delay: belongs to operations that take receives");
  CHECK(workload_failure(R"("operation": "send", "remote_offset": "random")") ==
        "x.json:1: workload.0.remote_offset: receives are taken in order: fixed or sequential");
  CHECK(workload_failure(R"("operation": "read", "remote_write": false)") ==
        "x.json:1: workload.0.remote_write: belongs to WRITEs");
  CHECK(workload_failure(R"("operation": "send", "fault": "below")") ==
        "x.json:1: workload.0.fault: \"send\" names no memory that could be falsified; only "
        "\"silent\" is possible");
  CHECK(workload_failure(R"("operation": "read", "size": "64 B", "inline": true)") ==
        "x.json:1: workload.0.inline: \"read\" has no data to send");
  CHECK(workload_failure(R"("operation": "bind_window", "size": "64 B", "inline": true)") ==
        "x.json:1: workload.0.inline: \"bind_window\" has no data to send");
  CHECK(workload_failure(R"("operation": "bind_window", "transport": "ud", "size": "64 B")") ==
        "x.json:1: workload.0.operation: \"bind_window\" is no operation of transport \"ud\"");
  CHECK(workload_failure(R"("operation": "send", "size": "1004 B", "inline": true)") == "no error");
  CHECK(workload_failure(R"("operation": "write_imm")",
                         R"(, "fabric": {"link": {"mtu": "4177 B"}})") ==
        "x.json:1: workload.0.path_mtu: 4 KiB of payload and 82 B of headers do not fit "
        "fabric.link.mtu, 4177 B");
  const auto with_telemetry = [](const std::string& mtu) {
    return failure(text_of(
        R"([{"name": "A", "nic": {"congestion_control": {"algorithm": "hpcc"}}},
                               {"name": "B"}])",
        kWorkload, R"(, "fabric": {"topology": "star", "link": {"mtu": ")" + mtu + R"("}})"));
  };
  CHECK(with_telemetry("4188 B") == "no error");
  CHECK(with_telemetry("4183 B") ==
        "x.json:2: workload.0.path_mtu: 4 KiB of payload and 88 B of headers do not fit "
        "fabric.link.mtu, 4183 B");
  CHECK(workload_failure(R"("receive_fault": "short")") ==
        "x.json:1: workload.0.receive_fault: belongs to SENDs: nothing else comes into the buffer "
        "of a receive");
  CHECK(workload_failure(R"("operation": "send", "target_fault": "qp_reset")") ==
        "x.json:1: workload.0.target_fault: a queue pair with receives must be emptied first: "
        "\"qp_error\"");
  CHECK(workload_failure(R"("ack_timeout": 32)") ==
        "x.json:1: workload.0.ack_timeout: expected 0 to 31, found 32");
  CHECK(workload_failure(R"("max_rd_atomic": 17)") ==
        "x.json:1: workload.0.max_rd_atomic: expected 0 to 16, found 17");
}

TEST_CASE("a region of atomics has a place for every answer that may come") {
  const Scenario scenario = read(text_of(kHosts, R"([{"name": "w0", "from": "A", "to": "B",
      "operation": "fetch_add", "size": "8 B", "queue_pairs": 2, "queue_depth": 4}])"));
  CHECK(scenario.workload[0].region_size() == 64_B);
}

TEST_CASE("where regions stand is checked against the GPUs that hosts have") {
  const auto with_gpu = [](const std::string& more) {
    return failure(text_of(R"([{"name": "A", "gpus": [{}]}, {"name": "B", "gpus": [{}]}])",
                           R"([{"name": "w0", "from": "A", "to": "B", )" + more + "}]"));
  };
  CHECK(with_gpu(R"("memory": "gpu0")") == "no error");
  CHECK(with_gpu(R"("memory": "gpu0", "to_memory": "host")") == "no error");
  CHECK(with_gpu(R"("memory": "gpu1")") ==
        "x.json:1: workload.0.memory: host \"A\" has no memory \"gpu1\"; known: host or gpu0");
  CHECK(workload_failure(R"("to_memory": "gpu0")") ==
        "x.json:1: workload.0.to_memory: host \"B\" has no memory \"gpu0\"; known: host");
  CHECK(with_gpu(R"("memory": "gpu0", "path": "staged")") ==
        "x.json:1: workload.0.path: `to` can copy into its GPU only what it is told of: "
        "\"write_imm\", \"send\" or \"send_imm\"");
  CHECK(with_gpu(R"("memory": "gpu0", "path": "staged", "operation": "send")") == "no error");
  CHECK(with_gpu(R"("path": "staged")") ==
        "x.json:1: workload.0.path: needs a GPU's memory; without one leave it out");
  CHECK(with_gpu(R"("memory": "gpu0", "size": "64 B", "inline": true)") ==
        "x.json:1: workload.0.inline: the CPU would have to read what stands in a GPU's memory; "
        "leave it out");
  CHECK(with_gpu(R"("pattern": "perftest", "test": "ib_write_bw", "memory": "gpu0")") ==
        "no error");
  CHECK(with_gpu(R"("pattern": "perftest", "test": "ib_write_lat", "to_memory": "gpu0")") ==
        "x.json:1: workload.0.test: the CPU would have to read what stands in a GPU's memory; "
        "programs that can do without measure bandwidth, or the latency of READs and atomics");
  CHECK(with_gpu(R"("pattern": "incast", "memory": "gpu0")") ==
        "x.json:1: workload.0.memory: belongs to the patterns \"pairs\" and \"perftest\"");
  CHECK(with_gpu(R"("pattern": "rkey_guessing", "memory": "gpu0")") ==
        "x.json:1: workload.0.memory: belongs to the patterns \"pairs\" and \"perftest\"");
}

TEST_CASE("a device under a PCIe switch must be one of its host") {
  const auto with_devices = [](const std::string& devices) {
    return failure(
        text_of(R"([{"name": "A", "pcie_switch": {"devices": )" + devices + R"(}}, {"name": "B"}])",
                kWorkload));
  };
  CHECK(with_devices(R"(["nic0"])") == "no error");
  CHECK(with_devices(R"(["nic0", "gpu0"])") ==
        "x.json:1: hosts.0.pcie_switch.devices.1: unknown device \"gpu0\"; known: nic0");
}

TEST_CASE("a link cannot be trained above what it is") {
  const auto trained = [](const std::string& how) {
    return failure(text_of(R"([{"name": "A", "pcie": {"trained": )" + how + R"(}}, {"name": "B"}])",
                           kWorkload));
  };
  CHECK(trained(R"({"generation": 3, "lanes": 4})") == "no error");
  CHECK(trained(R"({"generation": 4, "lanes": 4})") ==
        "x.json:1: hosts.0.pcie.trained: must not be above generation and lanes");
}

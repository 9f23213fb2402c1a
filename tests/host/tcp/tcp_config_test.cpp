// SPDX-License-Identifier: MIT
#include "host/tcp/tcp_config.h"

#include <catch2/catch.hpp>
#include <string>

#include "model/json_document.h"
#include "tests/host/tcp/tcp_lines.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

namespace {

std::string problem(const std::string& text) {
  TcpConfig config;
  try {
    read_config(parse_json(text, "tcp.json"), config);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("TCP's settings are read, and DCTCP asks for ECN by itself") {
  TcpConfig config;
  CHECK(config.algorithm == TcpAlgorithm::kCubic);
  CHECK_FALSE(config.wants_ecn());
  read_config(parse_json(R"({"algorithm": "dctcp", "dctcp": {"gain": 0.125}, "min_rto": "5 ms",
                             "receive_buffer": "1 MiB", "nagle": false, "ack_every": 4})",
                         "tcp.json"),
              config);
  CHECK(config.algorithm == TcpAlgorithm::kDctcp);
  CHECK(config.wants_ecn());
  CHECK(config.dctcp.gain == 0.125);
  CHECK(config.min_rto == 5_ms);
  CHECK(config.receive_buffer == 1_MiB);
  CHECK_FALSE(config.nagle);
  CHECK(config.ack_every == 4);
}

TEST_CASE("Settings of TCP that cannot be are refused by name") {
  CHECK(problem(R"({"algorithm": "vegas"})").find("algorithm") != std::string::npos);
  CHECK(problem(R"({"min_rto": "2 s", "max_rto": "1 s"})").find("min_rto") != std::string::npos);
  CHECK(problem(R"({"cubic": {"beta": 1}})").find("cubic.beta") != std::string::npos);
  CHECK(problem(R"({"send_buffer": "0 B"})").find("send_buffer") != std::string::npos);
}

TEST_CASE("A connection counts what it sent, what it sent again and why") {
  Scheduler scheduler("scheduler");
  TcpBench bench(scheduler, plain_tcp());
  bench.establish();
  bench.policy = lose_once('A', {1001, 9001});
  bench.a.write(10'000);
  bench.run();
  auto values = metrics_of(bench.a.connection);
  CHECK(values.at("send.sent") == 10'000);
  // The hole, and the last, which SACK could tell nothing of, by the rescue.
  CHECK(values.at("send.sent_again") == 2000);
  CHECK(values.at("send.recoveries") == 1);
  CHECK(values.at("send.timeouts") == 0);
  CHECK(values.at("send.marks") == 0);
  CHECK(values.at("send.probes") == 0);
  CHECK(values.at("send.window") == bench.a.connection.sender().congestion().window());
}

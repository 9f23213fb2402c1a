// SPDX-License-Identifier: MIT
#include "host/host_config.h"

#include <catch2/catch.hpp>
#include <string>

#include "model/clock.h"
#include "model/json_document.h"

using namespace rnicsim;

namespace {

std::string problem(const std::string& text) {
  HostConfig config;
  try {
    read_config(parse_json(text, "host.json"), config);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A host's page size stands beside its memory's other settings") {
  HostConfig config;
  REQUIRE(config.memory.buffer_pages() == PageSize::k4KiB);
  read_config(parse_json(R"({"memory": {"page_size": "2 MiB", "size": "32 GiB"},
                             "cpu": {"frequency": "2.6 GHz"},
                             "driver": {"pin_per_page": "1 cycles"},
                             "pcie": {"generation": 4}})",
                         "host.json"),
              config);
  REQUIRE(config.memory.buffer_pages() == PageSize::k2MiB);
  REQUIRE(config.memory.size == Bytes(32ULL << 30));
  REQUIRE(config.cpu.frequency == Frequency::mhz(2600));
  REQUIRE(config.driver.pin_per_page == Cycles(1));
  REQUIRE(config.pcie.generation == 4);
  read_config(parse_json(R"({"memory": {"page_size": "1 GiB"}})", "host.json"), config);
  REQUIRE(config.memory.buffer_pages() == PageSize::k1GiB);
}

TEST_CASE("A page size that no CPU has is refused") {
  REQUIRE(problem(R"({"memory": {"page_size": "8 KiB"}})").find("memory.page_size") !=
          std::string::npos);
  REQUIRE(problem(R"({"memory": {"pagesize": "4 KiB"}})").find("page_size") != std::string::npos);
  REQUIRE(problem(R"({"verbs": {"poll": "0 cycles"}})").find("verbs.poll") != std::string::npos);
}

TEST_CASE("The preset of 2015 registers memory as its source says, and costs no more per message") {
  const JsonNode preset = read_json_file("scenarios/presets/host/xeon_2015.json");
  HostConfig config;
  read_config(*preset.find("values"), config);
  const Clock clock(config.cpu.frequency);
  const DriverConfig& d = config.driver;
  // 16 us less 2.0 us for the command's way through the NIC; 0.06 ns/B, 4 KiB pages.
  REQUIRE(clock.duration(d.syscall + d.pin_per_region + d.table_per_region + d.key_per_region +
                         d.command) == Time::ns(14000));
  const Time page = clock.duration(d.pin_per_page + d.table_per_page);
  REQUIRE(page > Time::ps(245000));
  REQUIRE(page < Time::ps(246500));
  // 7.0 M messages/s leave 142 ns of one core for each.
  const VerbsConfig& v = config.verbs;
  REQUIRE(clock.duration(v.post + v.post_per_segment + v.doorbell + v.poll + v.completion) <
          Time::ns(142));
  REQUIRE(config.pcie.lanes == 16);
}

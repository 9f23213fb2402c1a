// SPDX-License-Identifier: MIT
// A NIC that is made to write elsewhere: while B's region is registered, its translation table in
// host RAM is falsified behind everybody's back. The key check passes, and only the guard at the
// root complex can tell.
#include <catch2/catch.hpp>
#include <memory>
#include <sstream>
#include <string>

#include "model/json_document.h"
#include "scenarios/engine/expectations.h"
#include "scenarios/engine/scenario_reader.h"
#include "scenarios/engine/simulation.h"
#include "scenarios/engine/system.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

constexpr const char* kScenario = R"({
  "title": "a few messages",
  "hosts": [ { "name": "A" }, { "name": "B" } ],
  "fabric": { "topology": "back_to_back", "link_layer": "rocev2", "link": { "length": "3 m" } },
  "workload": [
    { "name": "w0", "pattern": "pairs", "operation": "write", "transport": "rc",
      "from": "A", "to": "B", "size": "8 KiB", "count": 4, "path_mtu": "4096 B" }
  ]
})";

/// Looks every microsecond whether the host's first region stands in its key table, and then lets
/// the second entry of its translation table point to a frame beside the region.
class Falsifier {
 public:
  Falsifier(System& system, const char* host)
      : scheduler_(system.scheduler()), host_(*system.server(host).host) {
    look();
  }
  PhysicalAddress wrong_frame() const { return wrong_frame_; }

 private:
  void look() {
    const PhysicalAddress keys = host_.driver(0).tables().key_entries;
    abi::KeyEntry entry;
    if (keys != PhysicalAddress()) {
      std::uint8_t image[abi::KeyEntry::kBytes];
      host_.memory().load(PhysicalAddress(keys.value() + sizeof image), image, sizeof image);
      entry = abi::KeyEntry::read(image);
    }
    if (!entry.valid) {
      scheduler_.at(scheduler_.now() + 1_us, call<&Falsifier::look>(this));
      return;
    }
    wrong_frame_ = *host_.frames().allocate_frame(PageSize::k4KiB);
    std::uint8_t image[abi::kTableEntryBytes];
    abi::TableEntry{true, wrong_frame_}.write(image);
    host_.memory().store(PhysicalAddress(entry.table.value() + sizeof image), image, sizeof image);
  }

  Scheduler& scheduler_;
  Host& host_;
  PhysicalAddress wrong_frame_;
};

struct Outcome {
  JudgedRun run;
  PhysicalAddress wrong_frame;
};

Outcome run_with_falsified(const char* host) {
  PresetDirectories presets({});
  ScenarioFile file;
  file.name = "stray";
  file.document = parse_json(kScenario, "stray.json");
  file.base = read_scenario(file.document, {"", {}}, presets);
  file.runs = {file.base};
  std::unique_ptr<Falsifier> falsifier;
  SimulationHooks hooks;
  hooks.built = [&](System& system) { falsifier = std::make_unique<Falsifier>(system, host); };
  std::vector<RunResult> results;
  results.push_back(simulate(file.base, hooks));
  return {judge(file, std::move(results)).front(), falsifier->wrong_frame()};
}

}  // namespace

TEST_CASE("A NIC that writes beside the region ends the run with a violation, and the run fails") {
  const Outcome outcome = run_with_falsified("B");
  REQUIRE(outcome.run.result.violations.size() == 1);
  const Violation& violation = outcome.run.result.violations.front();
  CHECK(violation.kind == "stray_write");
  CHECK(violation.where == "host.B.nic0.pcie");
  std::ostringstream address;
  address << std::hex << outcome.wrong_frame.value();
  CHECK(violation.text == "4096 B of payload written to physical address 0x" + address.str() +
                              ", outside every region (work request #0 of qp 2 of NIC 0)");
  CHECK_FALSE(outcome.run.passed());  // exit status 1
}

TEST_CASE("A NIC that reads payload beside the region does so too") {
  const Outcome outcome = run_with_falsified("A");
  REQUIRE(outcome.run.result.violations.size() == 1);
  CHECK(outcome.run.result.violations.front().kind == "stray_read");
  CHECK(outcome.run.result.violations.front().where == "host.A.nic0.pcie");
  CHECK_FALSE(outcome.run.passed());
}

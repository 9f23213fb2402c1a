// SPDX-License-Identifier: MIT
#include "scenarios/engine/live_look.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "tools/rnicsim/live_display.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

struct Bench {
  Bench() {
    const SignalScope nic = SignalScope(signals, "host.A.nic0").child("port");
    nic.total(
        "tx_bytes", Unit::kBytes, "", [this] { return sent; }, 100'000'000'000);
    nic.total("paused", Unit::kPicoseconds, "", [this] { return paused; });
    nic.level("tx_queued", Unit::kCount, "", [] { return 3; });
    const SignalScope port = SignalScope(signals, "fabric.switch0").child("port1");
    port.level("queued", Unit::kBytes, "", [this] { return waiting; });
    port.total(
        "tx_bytes", Unit::kBytes, "", [] { return 0; }, 100'000'000'000);
    SignalScope(signals, "host.A.cpu").total("work", Unit::kPicoseconds, "", [] { return 9; });
  }
  Signals signals;
  std::uint64_t sent = 1000;
  std::uint64_t paused = 0;
  std::uint64_t waiting = 0;
};

}  // namespace

TEST_CASE("a look has what each port did since the look before") {
  Bench bench;
  LiveView view(bench.signals);
  const LiveLook first = view.look(1_us);
  REQUIRE(first.ports.size() == 2);
  CHECK(first.since == Time());
  CHECK(first.ports[0].path == "host.A.nic0.port");
  CHECK(first.ports[0].rate == 8e9);
  bench.sent += 500;
  bench.paused = 1'000'000;
  bench.waiting = 2048;
  const LiveLook second = view.look(3_us);
  CHECK(second.since == 1_us);
  CHECK(second.ports[0].rate == 2e9);
  CHECK(second.ports[0].limit == 1e11);
  CHECK(second.ports[0].paused == 0.5);
  CHECK(second.ports[0].queued == 3);
  CHECK_FALSE(second.ports[0].queued_bytes);
  CHECK(second.ports[1].queued == 2048);
  CHECK(second.ports[1].queued_bytes);
  CHECK(live_look_to_text(live_look_from_text(live_look_to_text(second))) ==
        live_look_to_text(second));
}

TEST_CASE("ports that were paused stand first, those that did nothing are left out") {
  LiveLook look;
  look.now = 3_us;
  look.since = 1_us;
  look.ports = {{"host.A.nic0.port", 50e9, 100e9, 0, 2, false},
                {"host.B.nic0.port", 0, 100e9, 0, 0, false},
                {"fabric.switch0.port1", 1e9, 100e9, 0.25, 4096, true}};
  CHECK(live_text("incast", look, 8) ==
        "incast: 3 us simulated, the last 2 us\n"
        "  fabric.switch0.port1      1 Gb/s  ....................    1 %  queued        4 KiB  "
        "paused   25 %\n"
        "  host.A.nic0.port         50 Gb/s  ##########..........   50 %  queued    2 packets  "
        "paused    0 %\n");
  const std::string one = live_text("incast", look, 1);
  CHECK(one.find("host.A") == std::string::npos);
  CHECK(one.find("  and 1 other ports\n") != std::string::npos);
}

TEST_CASE(
    "on a terminal the blocks of several runs are rewritten together, and the last one stays") {
  std::ostringstream out;
  LiveDisplay display(out, 40);
  LiveLook look;
  look.now = 3_us;
  look.ports = {{"host.A.nic0.port", 50e9, 100e9, 0, 2, false}};
  const std::string line = "  host.A.nic0.port     50 Gb/s  #######\n";
  const std::string a = "a: 3 us simulated, the last 3 us\n" + line;
  const std::string b = "b: 3 us simulated, the last 3 us\n" + line;
  display.show("b", look);
  CHECK(out.str() == b);
  out.str("");
  display.show("a", look);
  CHECK(out.str() == "\033[2A\033[J" + a + b);
  out.str("");
  look.ports.clear();  // nothing has happened since
  look.last = true;
  display.show("b", look);
  CHECK(out.str() == "\033[4A\033[J" + b + a);
  out.str("");
  display.show("a", look);
  CHECK(out.str() == "\033[2A\033[J" + a);
}

TEST_CASE("elsewhere looks follow each other, whole") {
  std::ostringstream out;
  LiveDisplay display(out, 0);
  LiveLook look;
  look.now = 3_us;
  look.ports = {{"host.A.nic0.port", 50e9, 100e9, 0, 2, false}};
  display.show("a", look);
  display.show("a", look);
  CHECK(out.str() == live_text("a", look, 12) + live_text("a", look, 12));
}

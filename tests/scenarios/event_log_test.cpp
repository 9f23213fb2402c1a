// SPDX-License-Identifier: MIT
#include "scenarios/engine/event_log.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "model/headers.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

const WorkRequestId kRequest(0, Qpn(5), 7);

std::string log_of(const EventLogOptions& options) {
  std::ostringstream out;
  EventLog log(options, {"A", "B"}, out);
  log.record({100_ns, 0, ProbeKind::kDoorbellRung, kRequest, 0, 60'000, 252});
  log.record({1500_ps, 1, ProbeKind::kDoorbellArrived, {}, 0, 5, 3});
  log.record({900_ns, 3, ProbeKind::kKeyChecked, kRequest, 1, 880'000,
              static_cast<std::uint64_t>(KeyFault::kOutOfBounds)});
  return out.str();
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("a line says when, which block, what, for which work request, and the details") {
  EventLogOptions options;
  options.glob = "host.A.cpu.verbs";
  REQUIRE(log_of(options) ==
          "       100.000 ns  host.A.cpu.verbs                 doorbell rung              "
          "wr qp 5 #7     252 cycles for the whole post\n");
}

TEST_CASE("an injected fault is the link's, seen from the packet's sender") {
  std::ostringstream out;
  EventLog log({}, {"A", "B"}, out);
  log.record({100_ns, 3, ProbeKind::kPacketLost, kRequest, 1, 77,
              static_cast<std::uint64_t>(RcOpcode::kAcknowledge)});
  REQUIRE(out.str() ==
          "       100.000 ns  host.B.link                      packet lost                "
          "wr qp 5 #7     psn 77 RC Acknowledge\n");
}

TEST_CASE("a glob chooses blocks, times choose events, and nothing else is printed") {
  CHECK(lines(log_of({})) == 3);
  CHECK(lines(log_of({"host.*.nic0.*", Time(), Time::never()})) == 2);
  CHECK(log_of({"host.B.*", Time(), Time::never()}).find("address range outside the region") !=
        std::string::npos);
  CHECK(lines(log_of({"*", 2_ns, 500_ns})) == 1);
  CHECK(log_of({"no such block", Time(), Time::never()}).empty());
}

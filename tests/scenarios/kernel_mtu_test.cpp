// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <string>

#include "tests/support/scenario_text.h"

using namespace rnicsim;
using test::failure;
using test::text_of;

namespace {

/// What is said of hosts A and B with a link of so many bytes, `a` being members of A.
std::string said(const std::string& a, const std::string& link_mtu, const std::string& transport) {
  const std::string path_mtu = transport == "rc" ? R"(, "path_mtu": "256 B")" : "";
  return failure(text_of(R"([{"name": "A")" + a + R"(}, {"name": "B"}])",
                         R"([{"name": "w0", "from": "A", "to": "B", "transport": ")" + transport +
                             "\"" + path_mtu + "}]",
                         R"(, "fabric": {"link": {"mtu": ")" + link_mtu + "\"}}"));
}

}  // namespace

TEST_CASE("the kernel's packets must fit the link where TCP is used") {
  CHECK(said("", "1518 B", "tcp") == "no error");
  CHECK(said("", "1517 B", "tcp") ==
        "x.json:1: hosts.0.kernel.mtu: packets of 1500 B and 18 B around them do not fit "
        "fabric.link.mtu, 1517 B; expected at most 1499 B");
  CHECK(said("", "1517 B", "rc") == "no error");
  CHECK(said(R"(, "kernel": {"mtu": "9000 B"})", "9018 B", "tcp") == "no error");
  CHECK(said(R"(, "kernel": {"mtu": "9001 B"})", "9018 B", "tcp").find("hosts.0.kernel.mtu") !=
        std::string::npos);
  CHECK(said(R"(, "nic": {"port": {"vlan": 5}})", "1518 B", "tcp")
            .find("packets of 1500 B and 22 B around them") != std::string::npos);
}

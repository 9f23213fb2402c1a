// SPDX-License-Identifier: MIT
// Results as HPCC's scripts read them.
#include "tools/export/hpcc_output.h"

#include <catch2/catch.hpp>

using namespace rnicsim;
using namespace rnicsim::literals;

TEST_CASE("fct.txt has the flows that ended, in that order, with HPCC's addresses") {
  std::vector<FlowRecord> flows(3);
  flows[0].bytes = 200000;
  flows[0].start = Time::ps(1999);
  flows[0].finish = 30_us;
  flows[0].ideal = 17_us;
  flows[0].from_node = 1;
  flows[0].to_node = 300;
  flows[0].source_port = 10000;
  flows[0].destination_port = 100;
  flows[1] = flows[0];
  flows[1].finish = 20_us;
  flows[1].source_port = 10001;
  flows[2].start = 1_us;
  CHECK(fct_text(flows) ==
        "0b000101 0b012c01 10001 100 200000 1 19998 17000\n"
        "0b000101 0b012c01 10000 100 200000 1 29998 17000\n");
  CHECK(fct_text({}).empty());
}

TEST_CASE("pfc.txt has who was stopped where, interfaces counted from one") {
  CHECK(pfc_text(
            {{Time::ps(1500999), 3, false, 0, 3, true, ""}, {2_us, 20, true, 4, 3, false, ""}}) ==
        "1500 3 0 1 1\n"
        "2000 20 1 5 0\n");
}

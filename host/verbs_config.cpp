// SPDX-License-Identifier: MIT
#include "host/verbs_config.h"

#include "model/config_reader.h"

namespace rnicsim {

void VerbsConfig::describe(Fields& f) {
  const auto cycles = range(Cycles(0), Cycles(1000000));
  f.field("post", post, cycles, "posting one work request, without its data segments");
  f.field("post_per_segment", post_per_segment, cycles, "writing one data segment");
  f.field("inline_per_segment", inline_per_segment, cycles, "writing 16 B of inline data");
  f.field("doorbell", doorbell, cycles, "doorbell record and MMIO store");
  f.field("post_receive", post_receive, cycles, "posting one receive, without its data segments");
  f.field("receive_record", receive_record, cycles, "doorbell record of posted receives");
  f.field("poll", poll, range(Cycles(1), Cycles(1000000)), "one look at a completion queue");
  f.field("completion", completion, cycles, "taking one completion entry");
  f.field(
      "blue_flame", blue_flame,
      "write a single WQE of up to 256 B to the doorbell register whole, in lines of 64 B, so that "
      "it need not be fetched");
}

}  // namespace rnicsim

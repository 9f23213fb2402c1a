// SPDX-License-Identifier: MIT
// What the verbs library costs, in cycles of the core that calls.
#pragma once

#include "model/units.h"

namespace rnicsim {

class Fields;

struct VerbsConfig {
  Cycles post{105};              ///< one work request: checks, control and address segments
  Cycles post_per_segment{7};    ///< one data segment
  Cycles inline_per_segment{4};  ///< 16 B of inline data, besides the copy itself
  Cycles doorbell{140};          ///< barrier, doorbell record, MMIO store
  Cycles post_receive{70};       ///< one receive, without its data segments
  Cycles receive_record{35};     ///< barrier and doorbell record of posted receives
  Cycles poll{35};               ///< one look at a completion queue
  Cycles completion{35};         ///< taking one entry out
  /// A single WQE of up to 256 B goes to the doorbell register whole (write-combined lines of 64
  /// B), so that the NIC need not fetch it: what mlx5's library does.
  bool blue_flame = false;
  void describe(Fields& fields);
};

}  // namespace rnicsim

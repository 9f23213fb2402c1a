// SPDX-License-Identifier: MIT
#include "host/driver_config.h"

#include "model/config_reader.h"

namespace rnicsim {

void DriverConfig::describe(Fields& f) {
  const auto cycles = range(Cycles(0), Cycles(100000000));
  f.field("log_qps", log_qps, range(1, 24), "log2 of the number of queue pair contexts");
  f.field("log_cqs", log_cqs, range(1, 24), "log2 of the number of completion queue contexts");
  f.field("log_keys", log_keys, range(1, 24), "log2 of the number of memory keys");
  f.field("log_srqs", log_srqs, range(1, 24),
          "log2 of the number of shared receive queue contexts");
  f.choice("key_allocation", key_allocation,
           {{"sequential", KeyAllocation::kSequential}, {"random", KeyAllocation::kRandom}},
           "how keys of regions are chosen: one after the other, or at random");
  f.field("key_seed", key_seed, range(std::uint64_t{0}, ~std::uint64_t{0}),
          "seed of random key allocation");
  f.field("syscall", syscall, cycles, "a system call, in and out");
  f.field("command", command, cycles, "writing a command entry and ringing its doorbell");
  f.field("command_poll", command_poll, range(Cycles(1), Cycles(1000000)),
          "one look at a command's owner byte");
  f.field("pin_per_region", pin_per_region, cycles, "pinning, fixed part of a registration");
  f.field("pin_per_page", pin_per_page, cycles, "pinning one page");
  f.field("unpin_per_page", unpin_per_page, cycles, "unpinning one page");
  f.field("table_per_region", table_per_region, cycles,
          "translation table, fixed part of a registration");
  f.field("table_per_page", table_per_page, cycles, "writing one page's translation entry");
  f.field("key_per_region", key_per_region, cycles, "key entry, fixed part of a registration");
  f.field("create_object", create_object, cycles,
          "creating or destroying a queue pair or completion queue");
  f.field("event", event, cycles, "handling one entry of the event queue");
  f.field("fault", fault, cycles, "handling a page fault of the NIC, without its pages");
  f.field("fault_ahead", fault_ahead, range(Bytes(0), Bytes(std::uint64_t{1} << 40)),
          "bytes of a message that a page fault of the other side's request brings in beyond what "
          "was asked for");
  f.field("event_arm", event_arm, cycles, "arming the event queue at the end of an interrupt");
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
// What the kernel driver costs and how large its tables are. Cycles of the core that calls.
//
// Registration: published cost models are linear, fixed + per page. Here the fixed part is syscall
// + the three per_region values + the command's round trip through the NIC, which the model finds
// by itself; the part per page is pin_per_page + table_per_page.
// A page fault of the NIC (host/demand_paging) costs `fault` and as much per page. `fault` is an
// assumption, 3 us at 3.5 GHz for waking a kernel thread and looking the region up; `fault_ahead`,
// of faults of the other side's requests, is MAX_PREFETCH_LEN of Linux' mlx5 driver
// (drivers/infiniband/hw/mlx5/odp.c).
#pragma once

#include <cstdint>

#include "model/units.h"

namespace rnicsim {

class Fields;

/// How the driver chooses the key of a region or window.
enum class KeyAllocation : std::uint8_t {
  kSequential,  ///< an index that became free, latest first, else the next; variants from 1 on
  kRandom,      ///< any free index, and a variant of any value to begin with
};

struct DriverConfig {
  std::uint8_t log_qps = 16;
  std::uint8_t log_cqs = 16;
  std::uint8_t log_keys = 18;
  std::uint8_t log_srqs = 10;
  KeyAllocation key_allocation = KeyAllocation::kSequential;
  std::uint64_t key_seed = 1;  ///< of random allocation

  Cycles syscall{700};           ///< into the kernel and back, with the verbs' own dispatch
  Cycles command{350};           ///< write a command entry and its doorbell
  Cycles command_poll{70};       ///< one look at the command entry's owner byte
  Cycles pin_per_region{22000};  ///< checks, locks, accounting of pinned memory
  Cycles pin_per_page{700};
  Cycles unpin_per_page{350};
  Cycles table_per_region{12000};  ///< allocating and mapping table pages for DMA
  Cycles table_per_page{160};
  Cycles key_per_region{13950};  ///< the key entry and the bookkeeping of the region
  Cycles create_object{5000};    ///< a queue pair or completion queue: rings and contexts
  Cycles event{350};             ///< the interrupt handler: one entry, waking whom it concerns
  Cycles fault{10500};           ///< a page fault of the NIC: a worker wakes, takes the locks
  Bytes fault_ahead{4 * 1024 * 1024};  ///< of a message, that one page fault brings in at most
  Cycles event_arm{210};  ///< the interrupt handler: last look, consumer index, MMIO store

  void describe(Fields& fields);
};

}  // namespace rnicsim

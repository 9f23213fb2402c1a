// SPDX-License-Identifier: MIT
// A copy between a GPU's memory and a buffer in the host's that a program makes and waits for: by
// the GPU's copy engine (the core is free meanwhile) or by the core itself through the GPU's BAR.
//
// Connects to: the program (CpuTask), the Gpu, whose rates these are, and, with
// MemoryConfig::shared_with_copies, the host's memory, which each page of the buffer is asked for
// when the copy comes to it, as DMA asks; otherwise the memory only counts it. Moves no bytes: who
// stages fills the buffer.
// Approximates: a page takes the longer of its time at the copy's own rate and what the memory's
// bandwidth needs; the latency of memory is hidden by what is under way; a copy by a core meets
// the cache as DMA does. Ignores: the PCIe wires between GPU and root complex (BAR and copy rates
// stand for them).
#pragma once

#include <cstdint>

#include "host/cpu_core.h"
#include "host/gpu.h"
#include "host/page_table.h"
#include "model/units.h"

namespace rnicsim {

enum class CopyDirection : std::uint8_t { kOutOfGpu, kIntoGpu };

struct GpuCopy {
  Gpu& gpu;
  const PageTable& pages;
  VirtualAddress buffer;  ///< in host memory
  Bytes bytes;
  CopyDirection direction;
};

/// Both return when the copy has ended. REQUIRES: the buffer is mapped.
void copy_by_engine(CpuTask& task, const GpuCopy& copy);
void copy_by_core(CpuTask& task, const GpuCopy& copy);

}  // namespace rnicsim

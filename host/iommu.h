// SPDX-License-Identifier: MIT
// The IOMMU in the root complex: a TLB of I/O page translations and a few page-table walkers.
//
// A request is asked for once for each page that it touches. A page in the TLB costs nothing; a
// walk takes its latency from when a walker is free; a page that a walk is already under way for
// waits for that one. The request goes on when all its pages are known.
//
// Connects to: PcieLink, which holds a request back between its arrival and memory. Models:
// entries, ways, replacement, concurrent walks, page sizes. Approximates: a walk takes always the
// same time (really less if upper levels are cached, more if a table's line has fallen out of the
// CPU's cache); device addresses equal physical ones, so a page is a page of memory. Ignores:
// faults, invalidation, interrupt remapping, address translation services. Likely error: within 15
// % over windows of 1 to 64 MiB on the machine that it is calibrated on.
#pragma once

#include <cstdint>
#include <vector>

#include "model/cache_directory.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

enum class IommuMode : std::uint8_t { kPassthrough, kTranslate };

struct IommuConfig {
  IommuMode mode = IommuMode::kPassthrough;
  CacheGeometry geometry{64, 64, Replacement::kLru};
  Time walk_latency = Time::ns(314);
  std::uint32_t walks = 6;
  Bytes page_size{4096};
  void describe(Fields& fields);
};

class Iommu {
 public:
  explicit Iommu(const IommuConfig& config, std::uint64_t seed = 0);

  /// When a request that arrives at `arrival` may go on to memory.
  Time translate(Time arrival, PhysicalAddress address, Bytes bytes);
  void report(const MetricScope& scope) const;

 private:
  Time look_up(Time arrival, std::uint64_t page);
  Time walk(Time arrival);

  IommuConfig config_;
  CacheDirectory directory_;   ///< of pages
  std::vector<Time> known_;    ///< of each slot: the end of the walk that brought its page
  std::vector<Time> walkers_;  ///< when each is free
  std::uint64_t hits_ = 0;
  std::uint64_t merged_ = 0;
  std::uint64_t walks_ = 0;
  Time waited_;
  Time stalled_;
};

}  // namespace rnicsim

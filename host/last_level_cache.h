// SPDX-License-Identifier: MIT
// The cache between DMA and DRAM (Intel: LLC with Data Direct I/O). Sets, ways, least recently
// used; of each line whether it is there and whether it has been modified.
//
//   DMA read   hits where the line is; a miss leaves the cache as it was
//   DMA write  updates a line that is there, in whatever way; another one takes a place in one of
//              the DDIO ways and displaces what stood there, which goes to DRAM if it was modified.
//              Without DDIO ways it goes to DRAM, and the cache forgets the line.
//   CPU store  brings the line in, in any way, modified
//   CPU load   of what the kernel copies: brings the line in, in any way
//              Both displace what stood there, which goes to DRAM if it was modified.
//
// Connects to: Memory, which asks for each line of a request and turns the answers into time.
// Approximates: the set is the line's number modulo the sets (real ones hash over slices); lines of
// CPU cores' own caches count as in here (an inclusive cache, or a snoop that costs as much). Other
// CPU loads bring nothing in. Likely error: knees over window sizes are sharper than on the
// machine. Cost: 8 B a line, one vector; nothing at all where there is no cache.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/units.h"

namespace rnicsim {

struct LastLevelCacheConfig {
  Bytes size;  ///< 0: there is none, every DMA request meets DRAM
  std::uint32_t ways = 20;
  std::uint32_t ddio_ways = 2;
  Time read_latency = Time::ns(125);     ///< as MemoryConfig's, of a hit
  Time write_latency = Time::ns(110);    ///< of a write that stays in the cache
  Time eviction_latency = Time::ns(80);  ///< more, if a modified line has to leave first
  void describe(Fields& fields);
  std::uint64_t sets() const;
};

class LastLevelCache {
 public:
  static constexpr std::uint64_t kLineBytes = 64;
  explicit LastLevelCache(const LastLevelCacheConfig& config);

  /// A DMA read of a line (its address / 64); whether it hits.
  bool read(std::uint64_t line);

  enum class Landing : std::uint8_t {
    kUpdated,    ///< the line was there
    kAllocated,  ///< it has a place now; nothing that had to be kept stood there
    kDisplaced,  ///< likewise, and a modified line goes to DRAM
    kPassed,     ///< the write itself goes to DRAM
  };
  struct Write {
    Landing landing;
    std::uint64_t displaced;  ///< that line
  };
  Write write(std::uint64_t line);

  struct Fill {
    bool hit;                                ///< the line was there
    std::optional<std::uint64_t> displaced;  ///< a modified line that goes to DRAM
  };
  Fill store(std::uint64_t line) { return fill(line, kModified); }
  Fill load(std::uint64_t line) { return fill(line, 0); }
  /// As after a program that has read more than the cache holds: all else is gone.
  void flush();

  const LastLevelCacheConfig& config() const { return config_; }
  void report(const MetricScope& scope) const;

 private:
  static constexpr std::uint32_t kEmpty = ~std::uint32_t{0};
  static constexpr std::uint32_t kModified = 1;

  std::size_t begin_of(std::uint64_t line) const { return line % sets_ * config_.ways; }
  std::size_t find(std::uint64_t line) const;
  std::size_t oldest(std::size_t begin, std::uint32_t ways) const;
  void touch(std::size_t at, std::uint32_t modified);
  /// The modified line that stands in a place where `line` may stand, if any.
  std::optional<std::uint64_t> modified_at(std::size_t place, std::uint64_t line) const;
  Fill fill(std::uint64_t line, std::uint32_t modified);

  LastLevelCacheConfig config_;
  std::uint64_t sets_;
  std::vector<std::uint32_t> tags_;  ///< line / sets, set by set
  std::vector<std::uint32_t> used_;  ///< when it was last touched, and in the lowest bit kModified
  std::uint32_t clock_ = 0;
  std::uint64_t read_hits_ = 0;
  std::uint64_t read_misses_ = 0;
  std::uint64_t updates_ = 0;
  std::uint64_t allocations_ = 0;
  std::uint64_t write_backs_ = 0;
  std::uint64_t passed_ = 0;
};

}  // namespace rnicsim

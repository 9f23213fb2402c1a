// SPDX-License-Identifier: MIT
// The always-on check that a NIC's DMA stays within registered memory: no write outside a
// registered region with a write right, no read of payload outside a registered region. Likewise of
// plain frames: none is written or read but in kernel memory that the NIC has been lent for it.
//
// It is no part of the machine and trusts nothing that the NIC reads: the driver
// (host/memory_registration) tells it which frames of the page table a region has, the root complex
// (host/pcie_link) asks it for every request that targets applications' memory. It knows nothing of
// keys, translation tables or what the NIC has checked. A request that it does not permit ends the
// run as InvariantBroken "stray_write" or "stray_read".
//
// A region counts from the instant its key entry is valid in RAM until the driver has seen the
// NIC's answer that it forgot the key. That answer is a posted write, so every permitted write is
// ahead of it in the root complex. A request is judged as of the instant its last byte reaches the
// root complex; for that `before_change` runs before each change, and the root complex then asks
// for what has entered so far.
//
// Memory for frames is lent from the instant its descriptor is in a ring until the kernel has taken
// the entry that says that the NIC has done with it (host/kernel/ethernet_queues); that entry too
// is behind everything that the NIC wrote there.
//
// Cost: one look-up in a hash table of pages per request; 11 to 22 B a page, 8 B more for each
// further region over the same page (a list, walked until one permits), never given back.
// Approximates: the first bytes of a request are judged with its last (up to 0.6 us later at Gen3
// x8). Cannot see: on whose behalf a request is (key, queue pair, protection domain, local or
// remote), so a write into a wrong region, or to a wrong place in the right one, passes, as does
// one that uses another right than it should (remote write where only local write was granted);
// which bytes are written (the comparison at the end of a run does); writes to queues, contexts,
// tables and doorbell records, and payload that the NIC declares as one of these; requests without
// DmaExtension, whose purpose nobody knows; accesses of the debug transport.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/callback.h"
#include "model/pcie_tlp.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

/// Which regions cover a page, for pages of one size: a hash table with open addressing.
class CoveredPages {
 public:
  void add(std::uint64_t page, std::uint32_t region);
  /// REQUIRES: added before.
  void remove(std::uint64_t page, std::uint32_t region);
  void reserve(std::uint64_t more);
  bool empty() const { return used_ == 0; }
  /// Bytes that it holds in memory.
  std::uint64_t bytes() const;

  /// Whether `accepts(region)` for a region that covers the page; asks them until one does.
  template <class Accepts>
  bool any(std::uint64_t page, Accepts accepts) const {
    if (used_ == 0 || page > kLargestPage) return false;
    const std::uint64_t slot = slots_[find(page)];
    if ((slot & kListed) == 0) return slot != 0 && accepts(low(slot));
    for (std::uint32_t at = low(slot); at != 0; at = more_[at].next)
      if (accepts(more_[at].region)) return true;
    return false;
  }

 private:
  // A slot holds the page (32 bits), whether the rest is the head of a list (1), and the region or
  // that head (31, never 0): an empty slot is 0.
  static constexpr std::uint64_t kLargestPage = 0xffffffff;
  static constexpr std::uint64_t kListed = 0x80000000;
  struct Listed {
    std::uint32_t region;
    std::uint32_t next;
  };

  static std::uint32_t low(std::uint64_t slot) { return slot & 0x7fffffff; }
  std::uint64_t home(std::uint64_t page) const { return page * 0x9e3779b97f4a7c15 >> shift_; }
  /// The page's slot, or the empty one where it would stand.
  std::uint64_t find(std::uint64_t page) const {
    std::uint64_t at = home(page);
    while (slots_[at] != 0 && slots_[at] >> 32 != page) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  std::uint32_t list(std::uint32_t region, std::uint32_t next);
  void unlist(std::uint32_t at);
  void erase(std::uint64_t hole);

  std::vector<std::uint64_t> slots_;
  unsigned shift_ = 0;
  std::uint64_t used_ = 0;
  std::vector<Listed> more_{{0, 0}};  ///< 0 ends a list
  std::uint32_t free_ = 0;            ///< list of those not in use
};

class DmaGuard {
 public:
  /// `where` names the root complex in what it says, e.g. "host.A.nic0.pcie".
  explicit DmaGuard(std::string where) : where_(std::move(where)) {}
  DmaGuard(const DmaGuard&) = delete;
  DmaGuard& operator=(const DmaGuard&) = delete;

  /// The frames of a region, all different, of 4 KiB, 2 MiB or 1 GiB.
  struct Frames {
    const PhysicalAddress* first;
    std::size_t count;
    unsigned log_size;
  };
  /// `region`: 1 to 2^31 - 1, not in use. Its first byte is at `offset` in the first frame.
  void add(std::uint32_t region, AccessFlags access, const Frames& frames, std::uint64_t offset,
           std::uint64_t length);
  /// `frames`: those that it was added with.
  void remove(std::uint32_t region, const Frames& frames);
  /// The NIC may read frames there, or write them; what overlaps may be lent several times.
  void lend(PhysicalAddress first, Bytes bytes, bool writable);
  /// REQUIRES: it was lent so.
  void take_back(PhysicalAddress first, Bytes bytes, bool writable);
  void before_change(Callback callback) { before_change_ = callback; }

  /// Whether a request of this purpose targets applications' memory or frames.
  static bool concerns(DmaPurpose purpose) {
    return purpose == DmaPurpose::kPayload || purpose == DmaPurpose::kAtomic ||
           purpose == DmaPurpose::kFrame;
  }

  struct Request {
    bool write;
    PhysicalAddress address;
    Bytes bytes;  ///< 1 to 4096
    DmaPurpose purpose;
    WorkRequestId work_request;
  };
  /// Throws InvariantBroken unless each of the request's pages has a region that holds all that the
  /// request touches of it, with a write right if it writes; for frames so of what is lent.
  /// `entered`: at the root complex.
  void check(const Request& request, Time entered) const {
    if (!permits(request, request.write)) refuse(request, entered);
  }
  /// Bytes that it holds for its pages.
  std::uint64_t bytes() const;

 private:
  static constexpr unsigned kSizes[] = {12, 21, 30};
  struct Region {
    std::uint64_t first = 0;  ///< physical address of its first byte
    std::uint64_t last = 0;   ///< and of its last
    std::uint8_t log_size = 0;
    bool writable = false;
    /// REQUIRES: a range within one of its pages.
    bool holds(std::uint64_t begin, std::uint64_t end) const {
      const std::uint64_t page = begin >> log_size;
      return (page != first >> log_size || begin >= first) &&
             (page != last >> log_size || end <= last);
    }
  };

  bool permits(const Request& request, bool write) const;
  bool in_one_region(std::uint64_t begin, std::uint64_t end, bool write) const;
  bool in_one_lent(std::uint64_t begin, std::uint64_t end, bool write) const;
  [[noreturn]] void refuse(const Request& request, Time entered) const;
  CoveredPages& pages(unsigned log_size) { return pages_[(log_size - kSizes[0]) / 9]; }

  std::string where_;
  CoveredPages pages_[3];
  std::vector<Region> regions_;  ///< by number
  CoveredPages lent_pages_;
  std::vector<Region> lent_{1};             ///< by number, from 1
  std::vector<std::uint32_t> lent_unused_;  ///< numbers
  Callback before_change_;
};

}  // namespace rnicsim

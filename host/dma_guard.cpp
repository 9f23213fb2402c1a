// SPDX-License-Identifier: MIT
#include "host/dma_guard.h"

#include <fmt/format.h>

#include <utility>

#include "model/invariant.h"

namespace rnicsim {

namespace {

constexpr unsigned kFewestSlotsLog = 4;
constexpr std::uint64_t kSmallestPage = 4096;

std::string name_of(WorkRequestId id) {
  if (!id) return "no work request";
  return fmt::format("work request #{} of qp {} of NIC {}", id.index(), id.qpn().value(), id.nic());
}

}  // namespace

void CoveredPages::reserve(std::uint64_t more) {
  std::uint64_t slots = slots_.empty() ? 1U << kFewestSlotsLog : slots_.size();
  while ((used_ + more) * 4 > slots * 3) slots *= 2;
  if (slots == slots_.size()) return;
  const std::vector<std::uint64_t> before =
      std::exchange(slots_, std::vector<std::uint64_t>(slots));
  shift_ = 64 - static_cast<unsigned>(__builtin_ctzll(slots));
  for (const std::uint64_t slot : before)
    if (slot != 0) slots_[find(slot >> 32)] = slot;
}

void CoveredPages::add(std::uint64_t page, std::uint32_t region) {
  reserve(1);
  std::uint64_t& slot = slots_[find(page)];
  if (slot == 0) {
    ++used_;
    slot = page << 32 | region;
    return;
  }
  if ((slot & kListed) == 0) slot = page << 32 | kListed | list(low(slot), 0);
  slot = page << 32 | kListed | list(region, low(slot));
}

void CoveredPages::remove(std::uint64_t page, std::uint32_t region) {
  const std::uint64_t at = find(page);
  std::uint64_t& slot = slots_[at];
  if ((slot & kListed) == 0) {
    erase(at);
    return;
  }
  const std::uint32_t head = low(slot);
  std::uint32_t before = 0;
  std::uint32_t gone = head;
  while (more_[gone].region != region) {
    before = gone;
    gone = more_[gone].next;
  }
  if (gone == head)
    slot = page << 32 | kListed | more_[gone].next;
  else
    more_[before].next = more_[gone].next;
  unlist(gone);
  const std::uint32_t first = low(slot);
  if (more_[first].next != 0) return;
  slot = page << 32 | more_[first].region;
  unlist(first);
}

std::uint32_t CoveredPages::list(std::uint32_t region, std::uint32_t next) {
  if (free_ == 0) {
    more_.push_back({region, next});
    return static_cast<std::uint32_t>(more_.size() - 1);
  }
  const std::uint32_t at = std::exchange(free_, more_[free_].next);
  more_[at] = {region, next};
  return at;
}

void CoveredPages::unlist(std::uint32_t at) {
  more_[at] = {0, free_};
  free_ = at;
}

/// Moves up what stands behind the hole and would no longer be found.
void CoveredPages::erase(std::uint64_t hole) {
  const std::uint64_t mask = slots_.size() - 1;
  for (std::uint64_t at = (hole + 1) & mask; slots_[at] != 0; at = (at + 1) & mask) {
    const std::uint64_t from = home(slots_[at] >> 32);
    if (((at - from) & mask) < ((at - hole) & mask)) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole] = 0;
  --used_;
}

std::uint64_t CoveredPages::bytes() const {
  return slots_.capacity() * sizeof slots_[0] + more_.capacity() * sizeof more_[0];
}

void DmaGuard::add(std::uint32_t region, AccessFlags access, const Frames& frames,
                   std::uint64_t offset, std::uint64_t length) {
  if (before_change_) before_change_();
  if (regions_.size() <= region) regions_.resize(region + 1);
  const std::uint64_t in_last = (offset + length - 1) & ((1ULL << frames.log_size) - 1);
  Region& added = regions_[region];
  added.first = frames.first[0].value() + offset;
  added.last = frames.first[frames.count - 1].value() + in_last;
  added.log_size = static_cast<std::uint8_t>(frames.log_size);
  added.writable = access.allows(AccessFlags::kLocalWrite) ||
                   access.allows(AccessFlags::kRemoteWrite) ||
                   access.allows(AccessFlags::kRemoteAtomic);
  CoveredPages& covered = pages(frames.log_size);
  covered.reserve(frames.count);
  for (std::size_t i = 0; i < frames.count; ++i)
    covered.add(frames.first[i].value() >> frames.log_size, region);
}

void DmaGuard::remove(std::uint32_t region, const Frames& frames) {
  if (before_change_) before_change_();
  for (std::size_t i = 0; i < frames.count; ++i)
    pages(frames.log_size).remove(frames.first[i].value() >> frames.log_size, region);
}

void DmaGuard::lend(PhysicalAddress first, Bytes bytes, bool writable) {
  if (before_change_) before_change_();
  if (lent_unused_.empty()) {
    lent_unused_.push_back(static_cast<std::uint32_t>(lent_.size()));
    lent_.emplace_back();
  }
  const std::uint32_t number = lent_unused_.back();
  lent_unused_.pop_back();
  Region& lent = lent_[number];
  lent = {first.value(), first.value() + bytes.count() - 1, kSizes[0], writable};
  for (std::uint64_t page = lent.first >> kSizes[0]; page <= lent.last >> kSizes[0]; ++page)
    lent_pages_.add(page, number);
}

void DmaGuard::take_back(PhysicalAddress first, Bytes bytes, bool writable) {
  if (before_change_) before_change_();
  const std::uint64_t last = first.value() + bytes.count() - 1;
  std::uint32_t number = 0;
  const bool found = lent_pages_.any(first.value() >> kSizes[0], [&](std::uint32_t candidate) {
    const Region& lent = lent_[candidate];
    number = candidate;
    return lent.first == first.value() && lent.last == last && lent.writable == writable;
  });
  if (!found)
    throw InvariantBroken(
        where_, Time(),
        fmt::format("{} B at physical address 0x{:x} come back that were not lent", bytes.count(),
                    first.value()));
  for (std::uint64_t page = first.value() >> kSizes[0]; page <= last >> kSizes[0]; ++page)
    lent_pages_.remove(page, number);
  lent_unused_.push_back(number);
}

bool DmaGuard::permits(const Request& request, bool write) const {
  const auto holds =
      request.purpose == DmaPurpose::kFrame ? &DmaGuard::in_one_lent : &DmaGuard::in_one_region;
  const std::uint64_t begin = request.address.value();
  const std::uint64_t end = begin + request.bytes.count() - 1;
  if ((this->*holds)(begin, end, write)) return true;
  const std::uint64_t boundary = end & ~(kSmallestPage - 1);
  return boundary > begin && (this->*holds)(begin, boundary - 1, write) &&
         (this->*holds)(boundary, end, write);
}

/// One piece that is lent holds [begin, end].
bool DmaGuard::in_one_lent(std::uint64_t begin, std::uint64_t end, bool write) const {
  return lent_pages_.any(begin >> kSizes[0], [&](std::uint32_t number) {
    const Region& lent = lent_[number];
    return begin >= lent.first && end <= lent.last && (lent.writable || !write);
  });
}

/// One page, of whatever size, and one region over it hold [begin, end].
bool DmaGuard::in_one_region(std::uint64_t begin, std::uint64_t end, bool write) const {
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    if (begin >> kSizes[i] != end >> kSizes[i]) continue;
    const bool found = pages_[i].any(begin >> kSizes[i], [&](std::uint32_t number) {
      const Region& region = regions_[number];
      return region.holds(begin, end) && (region.writable || !write);
    });
    if (found) return true;
  }
  return false;
}

void DmaGuard::refuse(const Request& request, Time entered) const {
  const char* why = request.purpose == DmaPurpose::kFrame ? "which the NIC has not been lent for it"
                    : request.write && permits(request, false) ? "without a write right"
                                                               : "outside every region";
  throw InvariantBroken(
      where_, entered,
      fmt::format("{} B of {} {} physical address 0x{:x}, {} ({})", request.bytes.count(),
                  rnicsim::name_of(request.purpose), request.write ? "written to" : "read from",
                  request.address.value(), why, name_of(request.work_request)),
      request.write ? "stray_write" : "stray_read");
}

std::uint64_t DmaGuard::bytes() const {
  std::uint64_t sum = lent_pages_.bytes();
  for (const CoveredPages& pages : pages_) sum += pages.bytes();
  return sum;
}

}  // namespace rnicsim

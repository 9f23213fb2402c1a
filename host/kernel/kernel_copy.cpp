// SPDX-License-Identifier: MIT
#include "host/kernel/kernel_copy.h"

#include <algorithm>

namespace rnicsim {

namespace {

constexpr std::uint64_t kLine = LastLevelCache::kLineBytes;
constexpr std::uint64_t kPage = 4096;

/// Calls visit(physical, bytes) for each piece of a mapped range that lies in one page.
template <class Visit>
void for_each_piece(const PageTable& pages, VirtualAddress address, std::uint64_t bytes,
                    Visit visit) {
  while (bytes != 0) {
    const std::uint64_t n = std::min(bytes, kPage - address.value() % kPage);
    if (const auto at = pages.translate(address)) visit(*at, n);
    address = VirtualAddress(address.value() + n);
    bytes -= n;
  }
}

}  // namespace

Cycles KernelCopy::read(PhysicalAddress from, std::uint64_t bytes) {
  if (bytes == 0) return Cycles(0);
  const std::uint64_t first = from.value() / kLine;
  const std::uint64_t last = (from.value() + bytes - 1) / kLine;
  std::uint64_t missed = last - first + 1;
  lines_ += missed;
  if (LastLevelCache* const cache = memory_.cache(); cache != nullptr)
    for (std::uint64_t line = first; line <= last; ++line) missed -= cache->load(line) ? 1 : 0;
  missed_ += missed;
  return config_.copy_miss * missed;
}

Cycles KernelCopy::read(const PageTable& pages, VirtualAddress from, std::uint64_t bytes) {
  Cycles sum(0);
  for_each_piece(pages, from, bytes,
                 [&](PhysicalAddress at, std::uint64_t n) { sum += read(at, n); });
  return sum;
}

void KernelCopy::write(PhysicalAddress to, std::uint64_t bytes) {
  LastLevelCache* const cache = memory_.cache();
  if (cache == nullptr || bytes == 0) return;
  const std::uint64_t last = (to.value() + bytes - 1) / kLine;
  for (std::uint64_t line = to.value() / kLine; line <= last; ++line) cache->store(line);
}

void KernelCopy::write(const PageTable& pages, VirtualAddress to, std::uint64_t bytes) {
  if (memory_.cache() == nullptr) return;
  for_each_piece(pages, to, bytes, [&](PhysicalAddress at, std::uint64_t n) { write(at, n); });
}

}  // namespace rnicsim

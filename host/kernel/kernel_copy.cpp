// SPDX-License-Identifier: MIT
#include "host/kernel/kernel_copy.h"

#include <algorithm>

namespace rnicsim {

namespace {

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

void KernelCopy::Stretch::read(PhysicalAddress from, std::uint64_t bytes) {
  const Memory::CpuAccess access = copy_.memory_.cpu_read(begin_, from, Bytes(bytes));
  copy_.lines_ += access.lines;
  copy_.missed_ += access.missed;
  missed_ += access.missed;
  through_ = std::max(through_, access.through);
}

void KernelCopy::Stretch::read(const PageTable& pages, VirtualAddress from, std::uint64_t bytes) {
  for_each_piece(pages, from, bytes, [&](PhysicalAddress at, std::uint64_t n) { read(at, n); });
}

void KernelCopy::Stretch::write(PhysicalAddress to, std::uint64_t bytes) {
  through_ = std::max(through_, copy_.memory_.cpu_write(begin_, to, Bytes(bytes)).through);
}

void KernelCopy::Stretch::write(const PageTable& pages, VirtualAddress to, std::uint64_t bytes) {
  for_each_piece(pages, to, bytes, [&](PhysicalAddress at, std::uint64_t n) { write(at, n); });
}

Cycles KernelCopy::Stretch::cycles(const CpuCore& core, std::uint64_t bytes) const {
  const Cycles copying(divide_up(bytes, core.config().copy_bytes_per_cycle));
  const Cycles through(core.clock().index_at_or_after(through_ - begin_));
  return std::max(copying + copy_.config_.copy_miss * missed_, through);
}

}  // namespace rnicsim

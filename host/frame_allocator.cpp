// SPDX-License-Identifier: MIT
#include "host/frame_allocator.h"

#include <algorithm>

#include "model/random.h"

namespace rnicsim {

namespace {

/// A hash: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) { return Random(x).next(); }

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return divide_up(value, alignment) * alignment;
}

}  // namespace

Permutation::Permutation(std::uint64_t count, std::uint64_t seed) : count_(count) {
  while (half_bits_ < 31 && (1ULL << (2 * half_bits_)) < count) ++half_bits_;
  for (unsigned i = 0; i < kRounds; ++i) keys_[i] = mix(seed * kRounds + i);
}

std::uint64_t Permutation::once(std::uint64_t value) const {
  const std::uint64_t mask = (1ULL << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (const std::uint64_t key : keys_) {
    const std::uint64_t next = left ^ (mix(right ^ key) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  // The network permutes a power of four; a value beyond the zone walks on along its cycle until it
  // is inside. At most four steps on average.
  do index = once(index);
  while (index >= count_);
  return index;
}

BuddyAllocator::BuddyAllocator(std::uint64_t begin, std::uint64_t end) {
  begin = align_up(begin, 1ULL << kMinOrder);
  while (begin < end && end - begin >= 1ULL << kMinOrder) {
    unsigned order = kMinOrder;
    while (order + 1 < kOrders && begin % (2ULL << order) == 0 && (2ULL << order) <= end - begin)
      ++order;
    free_[order].insert(begin);
    begin += 1ULL << order;
  }
}

unsigned BuddyAllocator::order_for(Bytes size) {
  unsigned order = kMinOrder;
  while (order < kOrders && 1ULL << order < size.count()) ++order;
  return order;
}

std::optional<std::uint64_t> BuddyAllocator::allocate(Bytes size) {
  const unsigned wanted = order_for(size);
  unsigned order = wanted;
  while (order < kOrders && free_[order].empty()) ++order;
  if (order >= kOrders) return std::nullopt;
  const std::uint64_t address = *free_[order].begin();
  free_[order].erase(free_[order].begin());
  while (order > wanted) {
    --order;
    free_[order].insert(address + (1ULL << order));
  }
  in_use_ += Bytes(1ULL << wanted);
  return address;
}

void BuddyAllocator::release(std::uint64_t address, Bytes size) {
  unsigned order = order_for(size);
  in_use_ -= Bytes(1ULL << order);
  while (order + 1 < kOrders) {
    const auto buddy = free_[order].find(address ^ (1ULL << order));
    if (buddy == free_[order].end()) break;
    address = std::min(address, *buddy);
    free_[order].erase(buddy);
    ++order;
  }
  free_[order].insert(address);
}

FrameAllocator::FrameAllocator(Bytes memory_size, std::uint64_t seed) {
  // Shares of the whole: 1/8 kernel, 1/4 for 4 KiB, 1/4 for 2 MiB, the rest for 1 GiB pages. The
  // first megabyte stays unused, so that a null pointer in a descriptor meets nobody's data.
  const std::uint64_t size = memory_size.count();
  const std::uint64_t kernel_end = size / 8 / 4096 * 4096;
  kernel_ = BuddyAllocator(std::min<std::uint64_t>(1 << 20, kernel_end), kernel_end);
  std::uint64_t begin = kernel_end;
  for (const PageSize page : {PageSize::k4KiB, PageSize::k2MiB, PageSize::k1GiB}) {
    Zone& z = zone(page);
    const std::uint64_t end = page == PageSize::k1GiB ? size : begin + size / 4;
    z.begin = align_up(begin, bytes_of(page).count());
    z.count = z.begin < end ? (end - z.begin) >> log_of(page) : 0;
    z.order = Permutation(z.count, mix(seed) + log_of(page));
    begin = end;
  }
}

std::optional<PhysicalAddress> FrameAllocator::allocate_kernel(Bytes size) {
  const auto address = kernel_.allocate(size);
  if (!address) return std::nullopt;
  return PhysicalAddress(*address);
}

void FrameAllocator::release_kernel(PhysicalAddress address, Bytes size) {
  kernel_.release(address.value(), size);
}

std::optional<PhysicalAddress> FrameAllocator::allocate_frame(PageSize size) {
  Zone& z = zone(size);
  std::uint64_t frame = 0;
  if (!z.released.empty()) {
    frame = z.released.back();
    z.released.pop_back();
  } else if (z.fresh < z.count) {
    frame = z.order(z.fresh++);
  } else {
    return std::nullopt;
  }
  ++z.used;
  return PhysicalAddress(z.begin + (frame << log_of(size)));
}

void FrameAllocator::release_frame(PageSize size, PhysicalAddress address) {
  Zone& z = zone(size);
  z.released.push_back((address.value() - z.begin) >> log_of(size));
  --z.used;
}

}  // namespace rnicsim

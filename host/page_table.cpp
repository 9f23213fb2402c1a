// SPDX-License-Identifier: MIT
#include "host/page_table.h"

#include <algorithm>

namespace rnicsim {

std::optional<VirtualAddress> PageTable::map(Bytes length, PageSize page_size) {
  return map(length, page_size, nullptr);
}

std::optional<VirtualAddress> PageTable::map(Bytes length, Gpu& gpu) {
  static_assert(bytes_of(PageSize::k2MiB) == Gpu::kPageBytes);
  return map(length, PageSize::k2MiB, &gpu);
}

std::optional<PhysicalAddress> PageTable::allocate(PageSize page_size, Gpu* gpu) {
  return gpu != nullptr ? gpu->allocate_page() : allocator_.allocate_frame(page_size);
}

void PageTable::release(const Mapping& mapping) {
  for (const PhysicalAddress frame : mapping.frames) {
    if (mapping.gpu != nullptr)
      mapping.gpu->release_page(frame);
    else
      allocator_.release_frame(mapping.page_size, frame);
  }
}

std::optional<VirtualAddress> PageTable::map(Bytes length, PageSize page_size, Gpu* gpu) {
  const std::uint64_t page = bytes_of(page_size).count();
  const std::uint64_t pages = divide_up(length.count(), page);
  if (pages == 0) return std::nullopt;
  Mapping mapping;
  mapping.start = VirtualAddress(divide_up(next_, page) * page);
  mapping.length = Bytes(pages * page);
  mapping.page_size = page_size;
  mapping.gpu = gpu;
  mapping.frames.reserve(std::min(pages, allocator_.frames_of(page_size)));
  for (std::uint64_t i = 0; i < pages; ++i) {
    const auto frame = allocate(page_size, gpu);
    if (!frame) {
      release(mapping);
      return std::nullopt;
    }
    mapping.frames.push_back(*frame);
  }
  next_ = mapping.start.value() + mapping.length.count() + page;
  const VirtualAddress start = mapping.start;
  mappings_.emplace(start.value(), std::move(mapping));
  return start;
}

bool PageTable::unmap(VirtualAddress start) {
  const auto at = mappings_.find(start.value());
  if (at == mappings_.end() || at->second.pins != 0) return false;
  release(at->second);
  mappings_.erase(at);
  return true;
}

const PageTable::Mapping* PageTable::find(VirtualAddress address, Bytes length) const {
  const auto next = mappings_.upper_bound(address.value());
  if (next == mappings_.begin()) return nullptr;
  const Mapping& mapping = std::prev(next)->second;
  const std::uint64_t offset = address.value() - mapping.start.value();
  const std::uint64_t size = mapping.length.count();
  return offset < size && length.count() <= size - offset ? &mapping : nullptr;
}

const PageTable::Mapping* PageTable::pin(VirtualAddress address, Bytes length) {
  auto* mapping = const_cast<Mapping*>(find(address, length));
  if (mapping != nullptr) ++mapping->pins;
  return mapping;
}

void PageTable::unpin(VirtualAddress address) {
  auto* mapping = const_cast<Mapping*>(find(address, Bytes(1)));
  if (mapping != nullptr && mapping->pins > 0) --mapping->pins;
}

std::optional<PhysicalAddress> PageTable::translate(VirtualAddress address) const {
  const Mapping* mapping = find(address, Bytes(1));
  if (mapping == nullptr) return std::nullopt;
  const std::uint64_t offset = address.value() & (bytes_of(mapping->page_size).count() - 1);
  return PhysicalAddress(mapping->frames[mapping->page_of(address)].value() + offset);
}

template <class Move>
bool PageTable::for_each_piece(VirtualAddress address, std::size_t bytes, Move move) const {
  // Ranges never touch (map leaves a page between), so an access lies in one of them or nowhere.
  const Mapping* mapping = find(address, Bytes(bytes));
  if (mapping == nullptr) return false;
  const std::uint64_t page = bytes_of(mapping->page_size).count();
  for (std::size_t done = 0; done < bytes;) {
    const VirtualAddress here(address.value() + done);
    const std::uint64_t offset = here.value() & (page - 1);
    const std::size_t piece = std::min<std::size_t>(bytes - done, page - offset);
    const PhysicalAddress at(mapping->frames[mapping->page_of(here)].value() + offset);
    if (mapping->gpu != nullptr)
      move(*mapping->gpu, at, done, piece);
    else
      move(memory_, at, done, piece);
    done += piece;
  }
  return true;
}

bool PageTable::load(VirtualAddress from, std::uint8_t* to, std::size_t bytes) const {
  return for_each_piece(
      from, bytes, [&](const auto& owner, PhysicalAddress at, std::size_t done, std::size_t piece) {
        owner.load(at, to + done, piece);
      });
}

bool PageTable::store(VirtualAddress to, const std::uint8_t* from, std::size_t bytes) {
  return for_each_piece(to, bytes,
                        [&](auto& owner, PhysicalAddress at, std::size_t done, std::size_t piece) {
                          owner.poke(at, from + done, piece);
                        });
}

}  // namespace rnicsim

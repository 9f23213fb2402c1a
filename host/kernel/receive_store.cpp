// SPDX-License-Identifier: MIT
#include "host/kernel/receive_store.h"

namespace rnicsim {

void ReceiveStore::place(KernelBufferList& from, std::uint32_t skip, std::uint64_t position,
                         std::uint32_t length) {
  while (!from.empty()) {
    KernelBuffer* const buffer = from.pop();
    const std::uint32_t dropped = std::min(skip, buffer->length);
    skip -= dropped;
    buffer->offset += dropped;
    buffer->length = std::min(buffer->length - dropped, length);
    length -= buffer->length;
    if (buffer->length == 0) {
      pool_.give(buffer);
      continue;
    }
    buffer->position = position;
    position += buffer->length;
    insert(buffer);
  }
}

/// Nearly always at the end.
void ReceiveStore::insert(KernelBuffer* buffer) {
  if (list_.empty() || list_.last->position <= buffer->position) return list_.push(buffer);
  KernelBuffer** at = &list_.first;
  while ((*at)->position <= buffer->position) at = &(*at)->next;
  buffer->next = *at;
  *at = buffer;
}

void ReceiveStore::release_before(std::uint64_t position) {
  while (!list_.empty() && list_.first->behind() <= position) pool_.give(list_.pop());
}

}  // namespace rnicsim

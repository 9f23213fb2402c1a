// SPDX-License-Identifier: MIT
#include "host/kernel/kernel_buffers.h"

namespace rnicsim {

KernelBuffer* KernelBuffers::take() {
  if (free_.empty()) {
    const auto page = frames_.allocate_kernel(size_);
    if (!page) return nullptr;
    all_.emplace_back().page = *page;
    return &all_.back();
  }
  KernelBuffer* const buffer = free_.back();
  free_.pop_back();
  *buffer = KernelBuffer{buffer->page};
  return buffer;
}

}  // namespace rnicsim

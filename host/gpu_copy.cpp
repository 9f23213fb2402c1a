// SPDX-License-Identifier: MIT
#include "host/gpu_copy.h"

#include <algorithm>

namespace rnicsim {

namespace {

constexpr std::uint64_t kPieceBytes = 4096;

bool shares_bandwidth(const GpuCopy& copy) {
  return copy.pages.memory().config().shared_with_copies;
}

/// Calls visit(done, address, bytes) for what of the buffer lies in each page.
template <class Visit>
void for_each_page(const GpuCopy& copy, Visit visit) {
  for (std::uint64_t done = 0; done < copy.bytes.count();) {
    const VirtualAddress here(copy.buffer.value() + done);
    const std::uint64_t piece =
        std::min(copy.bytes.count() - done, kPieceBytes - here.value() % kPieceBytes);
    visit(Bytes(done), *copy.pages.translate(here), Bytes(piece));
    done += piece;
  }
}

bool writes_memory(const GpuCopy& copy) { return copy.direction == CopyDirection::kOutOfGpu; }

/// Of one that takes none of the memory's bandwidth.
void count_on_bus(const GpuCopy& copy) {
  copy.pages.memory().count_copy(writes_memory(copy), copy.bytes);
}

/// When the memory's bandwidth has taken or given a piece that is asked for at `at`.
Time through_memory(const GpuCopy& copy, Time at, PhysicalAddress address, Bytes bytes) {
  const Memory::Access access =
      copy.pages.memory().time_copy(writes_memory(copy), at, address, bytes);
  return access.last - access.latency;
}

Time time_of_core(const GpuCopy& copy, Bytes bytes) {
  return copy.direction == CopyDirection::kOutOfGpu ? copy.gpu.cpu_load(bytes)
                                                    : copy.gpu.cpu_store(bytes);
}

void work(CpuTask& task, Time time) {
  task.run(CpuPlane::kData, CpuCategory::kCopying,
           Cycles(task.core().clock().index_at_or_after(time)));
}

}  // namespace

void copy_by_engine(CpuTask& task, const GpuCopy& copy) {
  task.settle();
  Gpu::Copy planned = copy.gpu.copy(task.now(), copy.bytes);
  if (!shares_bandwidth(copy)) {
    count_on_bus(copy);
    return task.sleep_until(planned.end);
  }
  // Copies ahead of it may have been delayed meanwhile.
  for (; task.now() < planned.begin; planned = copy.gpu.planned(planned.number))
    task.sleep_until(planned.begin);
  Time late;
  for_each_page(copy, [&](Bytes done, PhysicalAddress address, Bytes bytes) {
    const Time start = planned.begin + copy.gpu.copy_time(done) + late;
    task.sleep_until(start);
    const Time through = through_memory(copy, start, address, bytes);
    const Time by = std::max(Time(), through - (start + copy.gpu.copy_time(bytes)));
    if (by != Time()) copy.gpu.delay_copy(planned.number, by);
    late += by;
  });
  task.sleep_until(planned.end + late);
}

void copy_by_core(CpuTask& task, const GpuCopy& copy) {
  task.core().usage().add_copy(copy.bytes);
  if (!shares_bandwidth(copy)) {
    count_on_bus(copy);
    return work(task, time_of_core(copy, copy.bytes));
  }
  task.settle();
  for_each_page(copy, [&](Bytes, PhysicalAddress address, Bytes bytes) {
    const Time start = task.now();
    const Time through = through_memory(copy, start, address, bytes);
    work(task, std::max(time_of_core(copy, bytes), through - start));
  });
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "nic/ring_exerciser.h"

#include <algorithm>
#include <utility>

#include "model/config_reader.h"

namespace rnicsim {

namespace {

/// Descriptors that are asked for ahead of their packets, at least.
constexpr std::uint64_t kAhead = 256;
/// By so many packets one ring may be ahead of the other.
constexpr std::uint64_t kLead = 64;
constexpr std::uint64_t kMeasuredFrom = 5;  ///< the first fifth is left out

constexpr unsigned kDirectionBits = 1;

}  // namespace

void DescriptorRingStyle::describe(Fields& fields) {
  fields.field("entries", entries, range(64, 65536), "descriptors, of 16 B");
  fields.field("tail_every", tail_every, range(1, 1024),
               "packets that the host posts with one store to the tail");
  fields.field("fetch_every", fetch_every, range(1, 256), "descriptors that one DMA read brings");
  fields.field("write_back_every", write_back_every, range(0, 256),
               "descriptors that are written back at once; 0: none are");
  fields.field("interrupt_every", interrupt_every, range(0, 1024),
               "packets between two interrupts; 0: there are none");
  fields.field("head_every", head_every, range(0, 1024),
               "packets between two loads of the head; 0: there are none");
  const std::uint32_t longest =
      std::max({tail_every, fetch_every, write_back_every, interrupt_every, head_every});
  fields.check(entries >= 2 * longest, "entries", "must be at least twice the longest batch");
}

std::uint64_t RingExerciser::Ring::returned() const {
  std::uint64_t count = finished;
  if (style.write_back_every != 0) count = std::min(count, written_back);
  if (style.interrupt_every != 0) count = std::min(count, interrupted);
  if (style.head_every != 0) count = std::min(count, head_read);
  return count;
}

void RingExerciser::run(Job job, Callback done) {
  job_ = std::move(job);
  done_ = done;
  outcome_ = {};
  begun_ = scheduler_.now();
  all_finished_ = telling_ = 0;
  for (const Direction direction : {kTransmit, kReceive}) {
    rings_[direction].reset();
    if (!job_.rings[direction]) continue;
    rings_[direction] = Ring{};
    Ring& ring = *rings_[direction];
    ring.style = *job_.rings[direction];
    ring.memory = PhysicalAddress(job_.memory.value() + direction * kRingBytes);
  }
  for (const Direction direction : {kTransmit, kReceive})
    if (rings_[direction]) go(direction);
}

void RingExerciser::go(std::uint64_t argument) {
  const auto direction = static_cast<Direction>(argument);
  Ring& ring = *rings_[direction];
  announce(ring, direction);
  fetch(ring, direction);
  start(ring, direction);
}

void RingExerciser::announce(Ring& ring, Direction direction) {
  while (ring.announced != job_.count) {
    const std::uint64_t batch =
        std::min<std::uint64_t>(ring.style.tail_every, job_.count - ring.announced);
    if (ring.announced + batch > ring.returned() + ring.style.entries) return;
    ring.announced += batch;
    job_.host->store_tail(direction);
  }
}

void RingExerciser::tail_stored(Direction direction) {
  if (!is_running() || !rings_[direction]) return;
  Ring& ring = *rings_[direction];
  ring.posted = std::min(ring.posted + ring.style.tail_every, job_.count);
  go(direction);
}

void RingExerciser::fetch(Ring& ring, Direction direction) {
  const std::uint64_t ahead =
      std::max<std::uint64_t>(kAhead, std::uint64_t{2} * ring.style.fetch_every);
  while (ring.asked != ring.posted) {
    const std::uint64_t place = ring.asked % ring.style.entries;
    const std::uint64_t whole =
        std::min<std::uint64_t>(ring.style.fetch_every, ring.style.entries - place);
    const std::uint64_t count = std::min(whole, ring.posted - ring.asked);
    if (count != whole && ring.asked != ring.started) return;
    if (ring.asked + count > ring.started + ahead) return;
    ring.asked += count;
    submit(false, DmaPurpose::kFrameQueue,
           PhysicalAddress(ring.memory.value() + place * kDescriptorBytes),
           static_cast<std::uint32_t>(count) * kDescriptorBytes,
           call<&RingExerciser::fetched>(this, count << kDirectionBits | direction));
  }
}

void RingExerciser::fetched(std::uint64_t count_and_direction) {
  const std::uint64_t direction = count_and_direction & 1;
  rings_[direction]->here += count_and_direction >> kDirectionBits;
  go(direction);
}

bool RingExerciser::may_start(const Ring& ring, Direction direction) const {
  if (ring.started == ring.here || ring.started - ring.finished >= tags_) return false;
  const std::optional<Ring>& other = rings_[1 - direction];
  return !other || ring.started < other->started + kLead;
}

void RingExerciser::start(Ring& ring, Direction direction) {
  bool any = false;
  while (may_start(ring, direction)) {
    ++ring.started;
    any = true;
    submit(direction == kReceive, DmaPurpose::kFrame, job_.next(), job_.bytes,
           call<&RingExerciser::finished>(this, direction));
  }
  if (!any) return;
  fetch(ring, direction);
  if (rings_[1 - direction]) start(*rings_[1 - direction], static_cast<Direction>(1 - direction));
}

void RingExerciser::finished(std::uint64_t argument) {
  const auto direction = static_cast<Direction>(argument);
  Ring& ring = *rings_[direction];
  ++ring.finished;
  ++all_finished_;
  const std::uint64_t rings = rings_[0] && rings_[1] ? 2 : 1;
  const std::uint64_t first = job_.count / kMeasuredFrom;
  if (all_finished_ == first * rings) begun_ = scheduler_.now();
  if (all_finished_ == job_.count * rings)
    outcome_ = {scheduler_.now() - begun_, job_.count - first};
  ++telling_;
  tell(ring, direction);
  told(direction);
}

/// What the host is due to learn of, now that one more packet is finished.
void RingExerciser::tell(Ring& ring, Direction direction) {
  const auto is_due = [&](std::uint32_t every) { return every != 0 && ring.finished % every == 0; };
  if (is_due(ring.style.write_back_every)) {
    ++telling_;
    submit(true, DmaPurpose::kFrameQueue, ring.memory,
           ring.style.write_back_every * kDescriptorBytes,
           call<&RingExerciser::written_back>(this, direction));
  }
  if (is_due(ring.style.interrupt_every)) {
    ++telling_;
    submit(true, DmaPurpose::kInterrupt, ring.memory, kPointerBytes,
           call<&RingExerciser::interrupted>(this, direction));
  }
  if (is_due(ring.style.head_every)) {
    ++telling_;
    job_.host->load_head(direction, call<&RingExerciser::head_read>(this, direction));
  }
}

void RingExerciser::written_back(std::uint64_t direction) {
  rings_[direction]->written_back += rings_[direction]->style.write_back_every;
  told(direction);
}

void RingExerciser::interrupted(std::uint64_t direction) {
  rings_[direction]->interrupted += rings_[direction]->style.interrupt_every;
  told(direction);
}

void RingExerciser::head_read(std::uint64_t direction) {
  rings_[direction]->head_read += rings_[direction]->style.head_every;
  told(direction);
}

void RingExerciser::told(std::uint64_t direction) {
  --telling_;
  const std::uint64_t rings = rings_[0] && rings_[1] ? 2 : 1;
  if (all_finished_ == job_.count * rings && telling_ == 0)
    std::exchange(done_, {})();
  else
    go(direction);
}

void RingExerciser::submit(bool write, DmaPurpose purpose, PhysicalAddress address,
                           std::uint32_t bytes, Callback done) {
  DmaRequest request;
  request.write = write;
  request.engine = write                           ? DmaEngineId::kPosted
                   : purpose == DmaPurpose::kFrame ? DmaEngineId::kPayloadRead
                                                   : DmaEngineId::kQueueRead;
  request.purpose = purpose;
  request.address = address;
  request.bytes = bytes;
  request.done = done;
  pcie_.submit(std::move(request));
}

}  // namespace rnicsim

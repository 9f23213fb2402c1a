// SPDX-License-Identifier: MIT
#include "nic/dma_engine.h"

#include <algorithm>

namespace rnicsim {

std::uint32_t DmaEngine::aim(KeyCheck& check, const abi::DataSegment* segments,
                             std::uint64_t offset, std::uint32_t left) {
  while (offset >= segments->byte_count) offset -= segments++->byte_count;
  const auto within = static_cast<std::uint32_t>(offset);
  check.key = segments->lkey;
  check.own = true;
  check.region_address = segments->address;
  check.region_length = segments->byte_count;
  check.address = VirtualAddress(segments->address.value() + within);
  check.length = std::min(left, segments->byte_count - within);
  return within;
}

std::uint64_t DmaEngine::add(Job&& job) {
  const std::uint64_t sequence = next();
  Slot& slot = slots_.push();
  slot.job = std::move(job);
  slot.moved = 0;
  slot.pending = 0;
  slot.stage = Stage::kNew;
  advance(sequence);
  return sequence;
}

/// Moves a job on: checks and translates the next part; its DMA follows in order.
void DmaEngine::advance(std::uint64_t sequence) {
  Slot& slot = this->slot(sequence);
  Job& job = slot.job;
  if (job.is_void() || job.failed != CompletionStatus::kSuccess || slot.moved == job.bytes) {
    if (slot.stage == Stage::kNew && std::max(job.ready, whole(job)) > w_.scheduler.now())
      wait_until_ready(slot);
    else
      set_issued(slot);
    return;
  }
  if (slot.stage != Stage::kChecking) {
    if (!job.check_set) {
      const PdNumber pd = job.check.pd;
      job.check = KeyCheck{};
      job.check.pd = pd;
      job.check.work_request = job.id;
      job.check.not_before = w_.key_checker.enter(std::max(job.ready, w_.scheduler.now()));
      client_.begin_part(job, slot.moved, job.check);
    }
    job.check_set = false;
    slot.stage = Stage::kChecking;
  }
  if (!w_.key_checker.run(job.check, KeyCheck::State::kPass,
                          call<&DmaEngine::advance>(this, sequence)))
    return;
  slot.ready = w_.clock.after(std::max(job.check.not_before, w_.scheduler.now()), job.check.cycles);
  if (whole(job) > slot.ready)
    slot.ready =
        std::max(slot.ready, whole(job) - w_.pcie.least_time(Bytes(job.bytes - slot.moved)));
  slot.stage = Stage::kChecked;
  issue_in_order();
}

/// When the last bit of what is to be scattered has come; zero if nothing is still on its way.
Time DmaEngine::whole(const Job& job) const {
  return direction_ == Direction::kScatter && job.packet ? job.packet->tail : Time();
}

/// A job without anything to move is through when it is ready, not before.
void DmaEngine::wait_until_ready(Slot& slot) {
  slot.ready = std::max(slot.job.ready, whole(slot.job));
  slot.stage = Stage::kChecked;
  issue_in_order();
}

/// Arms the DMA of the oldest job that has any to issue, once its look-ups are done.
void DmaEngine::issue_in_order() {
  issuing_ = std::max(issuing_, first_);
  while (issuing_ < next() && slot(issuing_).stage == Stage::kIssued) ++issuing_;
  if (issuing_ == next()) return;
  Slot& oldest = slot(issuing_);
  if (oldest.stage != Stage::kChecked) return;
  oldest.stage = Stage::kIssuing;
  last_issue_ = std::max({last_issue_, oldest.ready, w_.scheduler.now()});
  w_.scheduler.at(last_issue_, call<&DmaEngine::issue>(this, issuing_));
}

void DmaEngine::issue(std::uint64_t sequence) {
  Slot& slot = this->slot(sequence);
  Job& job = slot.job;
  if (!job.is_void() && job.bytes != 0) {
    if (slot.moved == 0 && !client_.may_move(sequence, job)) {
      job.bytes = 0;
    } else if (job.check.absent && w_.key_checker.is_stale(job.check)) {
      slot.stage = Stage::kChecking;
    } else if (job.check.absent) {
      job.absent = client_.take_back(job);
      if (!job.absent) {
        slot.stage = Stage::kChecking;
        job.check.cycles = Cycles(0);
        w_.key_checker.wait_for_page(job.check, job.check.behind(),
                                     call<&DmaEngine::advance>(this, sequence));
        return;
      }
      job.bytes = slot.moved;
    } else if (job.check.state == KeyCheck::State::kNak) {
      client_.refused(sequence, job, job.check.fault);
      job.bytes = slot.moved;
    } else if (slot.moved == 0 && client_.take_over(sequence, job)) {
      slot.moved = job.bytes;
      ++slot.pending;
    } else {
      move_part(slot, sequence);
    }
  }
  advance(sequence);
}

/// A memory without latency answers within submit; the slot stays, as it is not kIssued yet.
void DmaEngine::move_part(Slot& slot, std::uint64_t sequence) {
  const Job& job = slot.job;
  if (slot.moved == 0) slot.since = w_.scheduler.now();
  client_.part(job, slot.moved, job.check);
  std::uint8_t prefix[kMaxPrefix];
  if (slot.moved < job.prefix) client_.prefix(job, prefix);
  const bool scatter = direction_ == Direction::kScatter;
  for (std::size_t i = 0; i < job.check.piece_count; ++i) {
    const std::uint32_t end = slot.moved + job.check.pieces[i].bytes;
    std::uint64_t address = job.check.pieces[i].address.value();
    while (slot.moved != end) {
      DmaRequest request;
      request.write = scatter;
      request.engine = scatter ? DmaEngineId::kPosted : DmaEngineId::kPayloadRead;
      request.purpose = DmaPurpose::kPayload;
      request.address = PhysicalAddress(address);
      request.bytes = end - slot.moved;
      if (slot.moved < job.prefix) {
        request.bytes = std::min(request.bytes, job.prefix - slot.moved);
        request.data = prefix + slot.moved;
      } else if (!w_.elided) {
        request.data = job.packet->payload() + (slot.moved - job.prefix);
      }
      request.keep = job.packet;
      request.work_request = job.id;
      request.done = call<&DmaEngine::dma_done>(this, sequence);
      address += request.bytes;
      slot.moved += request.bytes;
      ++slot.pending;
      w_.pcie.submit(std::move(request));
    }
  }
}

/// All DMA of a job has been issued (or it needs none, failed, or is void).
void DmaEngine::set_issued(Slot& slot) {
  slot.stage = Stage::kIssued;
  client_.issued(slot.job);
  issue_in_order();
  drain();
}

void DmaEngine::dma_done(std::uint64_t sequence) {
  Slot& slot = this->slot(sequence);
  if (--slot.pending != 0) return;
  if (slot.moved == slot.job.bytes && !slot.job.absent) client_.done(slot.job, slot.since);
  drain();
}

void DmaEngine::drain() {
  if (draining_) return;
  draining_ = true;
  const std::uint64_t before = first_;
  while (!slots_.empty() && slots_.front().through()) {
    if (!client_.leave(first_, slots_.front().job)) break;
    slots_.pop();
    ++first_;
  }
  draining_ = false;
  if (first_ != before) client_.left();
}

}  // namespace rnicsim

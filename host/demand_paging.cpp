// SPDX-License-Identifier: MIT
#include "host/demand_paging.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim {

namespace {
constexpr CpuPlane kPlane = CpuPlane::kData;

/// Bytes that are brought in before the NIC is told.
std::uint64_t at_first(const abi::PageFault& fault) {
  return fault.bytes + (fault.own ? std::uint64_t{fault.ahead} : 0);
}

}  // namespace

void DemandPaging::add(const abi::Eqe& event) {
  ++faults_;
  waiting_.push(event);
  most_ = std::max(most_, waiting_.size());
}

void DemandPaging::run(CpuCore& core) {
  core_ = &core;
  if (!running_ && !waiting_.empty()) begin();
}

void DemandPaging::begin() {
  running_ = true;
  const abi::PageFault& fault = waiting_.front().fault;
  since_ = core_->scheduler().now();
  const Time woken = core_->occupy(since_, kPlane, CpuCategory::kPinning, config_.fault);
  work(fault.address, at_first(fault), woken, call<&DemandPaging::asked_for_is_here>(this));
}

/// Charges for the pages of the range that are absent; `then` runs when they have been found and
/// their entries are about to be written.
void DemandPaging::work(VirtualAddress address, std::uint64_t bytes, Time from, Callback then) {
  const std::uint64_t pages = regions_.absent(waiting_.front().fault.key, address, bytes);
  const Time found =
      core_->occupy(from, kPlane, CpuCategory::kPinning, config_.pin_per_page * pages);
  const Time written =
      core_->occupy(found, kPlane, CpuCategory::kTableBuilding, config_.table_per_page * pages);
  core_->scheduler().at_software(written, then);
}

std::uint64_t DemandPaging::bring_in(VirtualAddress address, std::uint64_t bytes) {
  const Time now = core_->scheduler().now();
  const std::uint64_t pages = regions_.bring_in(waiting_.front().fault.key, address, bytes);
  probe_(now, ProbeKind::kPagesBrought, {}, 0, static_cast<std::uint64_t>(since_.ps()), pages);
  since_ = now;
  return pages;
}

void DemandPaging::asked_for_is_here() {
  const abi::Eqe& event = waiting_.front();
  const abi::PageFault& fault = event.fault;
  pages_ += bring_in(fault.address, at_first(fault));
  const Time rung = core_->occupy(since_, kPlane, CpuCategory::kDoorbell, config_.event_arm);
  std::uint8_t value[4];
  store_be32(value, event.object);
  mmio_.mmio_write(rung, abi::kPageFaultResume, value, sizeof value);
  const std::uint64_t ahead = std::min<std::uint64_t>(fault.ahead, config_.fault_ahead.count());
  if (fault.own || ahead == 0)
    end();
  else
    work(VirtualAddress(fault.address.value() + fault.bytes), ahead, rung,
         call<&DemandPaging::ahead_is_here>(this));
}

void DemandPaging::ahead_is_here() {
  const abi::PageFault& fault = waiting_.front().fault;
  const std::uint64_t ahead = std::min<std::uint64_t>(fault.ahead, config_.fault_ahead.count());
  pages_ahead_ += bring_in(VirtualAddress(fault.address.value() + fault.bytes), ahead);
  end();
}

void DemandPaging::end() {
  waiting_.pop();
  running_ = false;
  run(*core_);
}

void DemandPaging::report(const MetricScope& scope) const {
  scope.count("page_faults", faults_, "page faults of the NIC handled");
  scope.count("pages_faulted", pages_, "pages brought in because an access found them absent");
  scope.count("pages_ahead", pages_ahead_, "pages brought in because a message will want them");
  scope.count("page_faults.max", most_, "most page faults waiting or handled at once");
}

}  // namespace rnicsim

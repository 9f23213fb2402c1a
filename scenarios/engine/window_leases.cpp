// SPDX-License-Identifier: MIT
#include "scenarios/engine/window_leases.h"

#include <algorithm>

namespace rnicsim {

WindowLeases::WindowLeases(Endpoint& target, Endpoint& initiator, ControlChannel& to_initiator)
    : target_(target),
      initiator_(initiator),
      to_initiator_(to_initiator),
      leases_(target.spec.queue_pairs) {
  const WorkloadSpec& spec = target.spec;
  for (std::uint32_t qp = 0; qp < spec.queue_pairs; ++qp)
    leases_[qp].wanted =
        spec.count / spec.queue_pairs + (qp < spec.count % spec.queue_pairs ? 1 : 0);
}

void WindowLeases::bind_all(CpuTask& task) {
  for (std::uint32_t qp = 0; qp < leases_.size(); ++qp) {
    const std::uint64_t windows =
        std::min<std::uint64_t>(target_.spec.queue_depth, leases_[qp].wanted);
    for (std::uint64_t i = 0; i < windows; ++i) {
      const auto window = target_.process.verbs.alloc_mw(task, target_.pd);
      require(window.error, "alloc_mw");
      leases_[qp].windows.push_back(window.value.rkey);
    }
    for (std::uint64_t i = 0; i < windows; ++i) bind(task, qp);
  }
}

/// The next window of the queue pair, with the key after its present one.
void WindowLeases::bind(CpuTask& task, std::uint32_t qp) {
  Lease& lease = leases_[qp];
  MemoryKey& key = lease.windows[lease.bound % lease.windows.size()];
  key = MemoryKey(key.index(), static_cast<std::uint8_t>(key.variant() + 1));
  SendRequest request;
  request.opcode = abi::WqeOpcode::kBindWindow;
  request.bind.window = key;
  request.bind.region = target_.region.lkey;
  request.bind.address = target_.region.address;
  request.bind.length = target_.region.length;
  request.bind.access = AccessFlags(AccessFlags::kRemoteWrite);
  require(target_.process.verbs.post_send(task, target_.qps[qp], request), "post_send of a bind");
  WorkCompletion completion;
  target_.wait(task, target_.cq, &completion, 1);
  if (completion.status != CompletionStatus::kSuccess) return;
  ++lease.bound;
  ++bound_;
  to_initiator_.send(task, number_message(std::uint64_t{qp} << 32 | key.value()));
}

void WindowLeases::taken(CpuTask& task, std::uint32_t qp, MemoryKey key) {
  Lease& lease = leases_[qp];
  ++taken_;
  if (key != lease.windows[lease.given_back++ % lease.windows.size()]) ++wrong_;
  if (lease.bound < lease.wanted) bind(task, qp);
}

void WindowLeases::receive(CpuTask& task) {
  const std::uint64_t number = number_in(to_initiator_.receive(task));
  leases_[number >> 32].keys.push(MemoryKey(static_cast<std::uint32_t>(number)));
}

MemoryKey WindowLeases::next_key(std::uint32_t qp) {
  Lease& lease = leases_[qp];
  if (!lease.keys.empty()) lease.last = lease.keys.take();
  return lease.last;
}

void WindowLeases::try_last_keys(CpuTask& task, VirtualAddress address) {
  initiator_.doing = "trying keys that it has given back";
  for (std::uint32_t qp = 0; qp < leases_.size(); ++qp) {
    if (leases_[qp].wanted == 0) continue;
    const ScatterGather piece = initiator_.piece(0, Bytes(1));
    SendRequest request;
    request.list = &piece;
    request.list_length = 1;
    request.remote_address = address;
    request.rkey = leases_[qp].last;
    require(initiator_.process.verbs.post_send(task, initiator_.qps[qp], request), "post_send");
    WorkCompletion completion;
    initiator_.wait(task, initiator_.cq, &completion, 1);
    if (completion.status == CompletionStatus::kRemoteAccessError) ++refused_;
    if (completion.status == CompletionStatus::kSuccess) ++wrong_;
  }
}

void WindowLeases::report(const MetricScope& scope) const {
  scope.count("bound", bound_, "keys that the target bound to a window and handed out");
  scope.count("taken", taken_, "of these, that a SEND with invalidate has taken away");
  scope.count("refused", refused_, "WRITEs with a key that had been taken away, and were refused");
}

}  // namespace rnicsim

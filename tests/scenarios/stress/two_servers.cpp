// SPDX-License-Identifier: MIT
#include "tests/scenarios/stress/two_servers.h"

#include <algorithm>

#include "tests/scenarios/stress/mismatch.h"

namespace rnicsim::stress {

using namespace rnicsim::literals;

namespace {

template <class T>
T good(const Result<T>& result, const char* what) {
  if (result.error != Errno::kOk) mismatch("set-up: ", what);
  return result.value;
}

void good(Errno error, const char* what) {
  if (error != Errno::kOk) mismatch("set-up: ", what, ": ", static_cast<int>(error));
}

}  // namespace

Data Side::load(VirtualAddress address, std::size_t bytes) {
  Data data(bytes);
  if (bytes != 0 && !process.pages.load(address, data.data(), bytes)) mismatch("not mapped");
  return data;
}

void Side::store(VirtualAddress address, const Data& data) {
  if (!data.empty() && !process.pages.store(address, data.data(), data.size()))
    mismatch("not mapped");
}

End& Side::end_of(Qpn qpn) {
  for (End& end : ends)
    if (end.qp->qpn() == qpn) return end;
  mismatch("completion of queue pair ", qpn.value());
}

VirtualAddress at(const MemoryRegion& region, std::uint64_t offset) {
  return VirtualAddress(region.address.value() + offset);
}

TwoServers::TwoServers(const Settings& settings, Draws& draws)
    : system("system", settings.scenario),
      a(system.server("A")),
      b(system.server("B")),
      s_(settings),
      draws_(draws) {}

void TwoServers::start(Side& side, std::function<void(CpuTask&)> body) {
  auto& slot = threads_.emplace_back();
  CpuCore& core = side.server.host->core(0);
  slot = std::make_unique<SoftwareThread>(scheduler(), "program" + std::to_string(threads_.size()),
                                          [this, &slot, &core, body = std::move(body)] {
                                            try {
                                              CpuTask task(core, *slot);
                                              body(task);
                                              task.settle();
                                            } catch (const std::exception& exception) {
                                              if (failure_.empty()) failure_ = exception.what();
                                            }
                                          });
}

bool TwoServers::finished() const {
  return std::all_of(threads_.begin(), threads_.end(), [](auto& t) { return t->finished(); });
}

void TwoServers::start_and_end(Side& side, std::function<void(CpuTask&)> body) {
  start(side, std::move(body));
  run_for(100_ms);
  if (!failure_.empty()) throw Mismatch(failure_);
  if (!finished()) mismatch("set-up did not end");
}

void TwoServers::open() {
  start_and_end(a, [this](CpuTask& task) { create(task, a); });
  start_and_end(b, [this](CpuTask& task) { create(task, b); });
  for (unsigned i = 0; i < s_.queue_pairs; ++i) {
    a.ends[i].peer = &b.ends[i];
    b.ends[i].peer = &a.ends[i];
  }
  for (Side* side : {&a, &b})
    start_and_end(*side, [this, side](CpuTask& task) {
      for (End& end : side->ends) connect(task, end);
    });
}

MemoryRegion TwoServers::region(CpuTask& task, Side& side, std::uint32_t bytes) {
  const VirtualAddress address = *side.process.pages.map(Bytes(bytes), PageSize::k4KiB);
  const AccessFlags all(AccessFlags::kLocalWrite | AccessFlags::kRemoteWrite |
                        AccessFlags::kRemoteRead | AccessFlags::kRemoteAtomic |
                        (s_.on_demand ? AccessFlags::kOnDemand : 0));
  return good(side.process.verbs.reg_mr(task, side.pd, address, bytes, all), "reg_mr");
}

Receives& TwoServers::receive_queue(CpuTask& task, Side& side) {
  Receives& queue = side.queues.emplace_back();
  queue.side = &side;
  queue.region = region(task, side, s_.receives * kReceiveSlot);
  queue.pieces = 1 + draws_.below(s_.pieces);
  for (std::uint32_t i = 0; i < s_.receives; ++i) queue.free.push_back(i);
  return queue;
}

void TwoServers::create(CpuTask& task, Side& side) {
  Verbs& verbs = side.process.verbs;
  good(side.server.host->driver(0).bring_up(task), "bring_up");
  side.pd = verbs.alloc_pd(task);
  const std::uint32_t cqs = 1 + draws_.below(s_.queue_pairs + 1);
  for (std::uint32_t i = 0; i < cqs; ++i)
    side.cqs.push_back(good(verbs.create_cq(task, 4096), "create_cq"));
  Receives* shared = nullptr;
  if (s_.shared_receives) {
    shared = &receive_queue(task, side);
    shared->srq = good(verbs.create_srq(task, side.pd, s_.receives, shared->pieces), "create_srq");
  }
  for (unsigned i = 0; i < s_.queue_pairs; ++i) create_end(task, side, i, shared);
}

void TwoServers::create_end(CpuTask& task, Side& side, unsigned index, Receives* shared) {
  End& end = side.ends.emplace_back();
  end.side = &side;
  end.index = index;
  end.region = region(task, side, kRegion);
  side.store(end.region.address, draws_.data(kRegion));
  if (index == 0) side.store(at(end.region, kShared), Data(8));
  end.send_cq = side.cqs[draws_.below(side.cqs.size())];
  end.receive_cq = side.cqs[draws_.below(side.cqs.size())];
  end.receives = shared != nullptr ? shared : &receive_queue(task, side);
  QueuePairInit init;
  init.pd = side.pd;
  init.send_cq = end.send_cq;
  init.receive_cq = end.receive_cq;
  init.transport = s_.transport;
  init.max_send_requests = s_.depth;
  init.inline_receive = s_.inline_receive;
  if (shared != nullptr) {
    init.srq = shared->srq;
  } else {
    init.max_recv_requests = s_.receives;
    init.max_recv_segments = end.receives->pieces;
  }
  end.qp = good(side.process.verbs.create_qp(task, init), "create_qp");
  if (shared == nullptr) end.receives->qp = end.qp;
}

void TwoServers::connect(CpuTask& task, End& end) {
  Verbs& verbs = end.side->process.verbs;
  const System::Server& peer = end.peer->side->server;
  QpAttributes attributes;
  attributes.state = QpState::kInit;
  if (s_.transport == Transport::kUd)
    attributes.qkey = kQkey;
  else
    attributes.access = AccessFlags(AccessFlags::kRemoteWrite | AccessFlags::kRemoteRead |
                                    AccessFlags::kRemoteAtomic);
  good(verbs.modify_qp(task, end.qp, attributes), "INIT");
  attributes = {};
  attributes.state = QpState::kRtr;
  if (s_.transport != Transport::kUd) {
    attributes.path_mtu = s_.mtu;
    attributes.remote_qpn = end.peer->qp->qpn();
    attributes.remote_ip = peer.ports[0].ip;
    attributes.remote_mac = peer.ports[0].mac;
    attributes.remote_lid = peer.ports[0].lid;
    attributes.receive_psn = first_psn(*end.peer);
  }
  if (s_.transport == Transport::kRc) {
    attributes.min_rnr_timer = s_.rnr_timer;
    attributes.max_dest_rd_atomic = s_.max_reads;
  }
  good(verbs.modify_qp(task, end.qp, attributes), "RTR");
  attributes = {};
  attributes.state = QpState::kRts;
  attributes.send_psn = first_psn(end);
  if (s_.transport == Transport::kRc) {
    attributes.ack_timeout = s_.ack_timeout;
    attributes.retry_count = s_.retry_count;
    attributes.rnr_retry = s_.rnr_retry;
    attributes.max_rd_atomic = s_.max_reads;
  }
  good(verbs.modify_qp(task, end.qp, attributes), "RTS");
}

Psn TwoServers::first_psn(const End& end) {
  return Psn(end.index % 2 == 0 ? 1 + end.index * 977 : 0xfffff0 - end.index);
}

}  // namespace rnicsim::stress

// SPDX-License-Identifier: MIT
#include "scenarios/engine/endpoint.h"

#include <algorithm>
#include <stdexcept>

#include "model/config_error.h"
#include "model/quantity.h"

namespace rnicsim {

namespace {

constexpr std::uint32_t kMinCompletions = 16;
constexpr std::uint32_t kQkey = 0x11111111;

/// First PSNs are the queue pair's number, times a prime, so that sides differ.
Psn first_psn(std::uint32_t qpn) { return Psn(qpn * 7919u); }

/// One UDP source port a queue pair, in the range that annex A17 leaves for entropy.
std::uint16_t source_port(const QueuePair& qp) {
  return static_cast<std::uint16_t>(0xc000 | (qp.qpn().value() & 0x3fff));
}

/// Blocks of the largest work queue entry that the workload posts.
std::uint32_t blocks_of_request(const WorkloadSpec& spec, Bytes inline_up_to) {
  const std::uint32_t address =
      spec.transport == WorkloadTransport::kUd ? abi::DatagramSegment::kBytes : abi::kSegmentBytes;
  const std::uint64_t inlined = inline_up_to.count() + abi::InlineSegment::kHeaderBytes;
  const std::uint64_t data =
      inline_up_to == Bytes(0) ? abi::kSegmentBytes : std::max<std::uint64_t>(inlined, 16);
  return static_cast<std::uint32_t>(
      divide_up(abi::kSegmentBytes + address + data, abi::kWqeBlockBytes));
}

}  // namespace

void require(Errno error, const char* call) {
  if (error != Errno::kOk)
    throw std::runtime_error(std::string(call) + " failed: " + name_of(error));
}

Endpoint::Endpoint(System& system, const WorkloadSpec& workload, const std::string& host_name,
                   unsigned core, ProbeSink* observer, unsigned nic)
    : spec(workload),
      host(host_name),
      process(*system.server(host_name).host, nic),
      port(system.server(host_name).ports[nic]),
      machine_(*system.server(host_name).host),
      nic_(nic),
      core_(machine_.core(core)),
      programs_(system.scheduler(), workload.name) {
  const std::uint32_t component = system.server(host_name).component;
  process.verbs.probe().attach(observer, component);
  probe_.attach(observer, component);
}

/// The scenario gave a host too little memory: what only the run can find out is bad input all the
/// same.
void Endpoint::out_of_memory(const std::string& what) const {
  ConfigError::Detail detail;
  const auto gpu = spec.gpu_of(host);
  const bool direct = gpu && spec.path == GpuPath::kDirect;
  detail.path =
      "hosts." + host +
      (direct ? ".gpus." + std::to_string(*gpu) + ".memory" : std::string(".memory.size"));
  detail.expected = "memory for workload " + spec.name;
  detail.found =
      to_text(direct ? machine_.config().gpus[*gpu].memory : machine_.config().memory.size) +
      ", where " + what;
  throw ConfigError(std::move(detail));
}

void Endpoint::prepare(CpuTask& task, Bytes length, AccessFlags access) {
  task.sleep_until(spec.start);
  probe_(task.now(), ProbeKind::kAppStart, {}, 0, 0, 0);
  doing = "registering memory";
  const Errno opened = machine_.driver(nic_).bring_up(task);
  if (opened == Errno::kNoMemory) out_of_memory("the driver's tables fit nowhere");
  require(opened, "opening the device");
  const VirtualAddress address = map(length);
  pd = process.verbs.alloc_pd(task);
  if (spec.regions == 1)
    region = register_memory(task, address, length, access);
  else
    register_pieces(task, address, length, access);
}

void Endpoint::register_pieces(CpuTask& task, VirtualAddress address, Bytes length,
                               AccessFlags access) {
  const Bytes piece = spec.region_length();
  region = register_memory(task, address, piece, access);
  region.length = length.count();
  for (std::uint32_t i = 1; i < spec.regions; ++i) {
    const VirtualAddress begin(address.value() + i * piece.count());
    const Bytes rest = length - piece * i;
    const bool last = i + 1 == spec.regions;
    more_keys.push_back(register_memory(task, begin, last ? rest : piece, access).lkey);
  }
}

MemoryRegion Endpoint::add_region(CpuTask& task, Bytes length, AccessFlags access) {
  return register_memory(task, map(length), length, access);
}

VirtualAddress Endpoint::map(Bytes length) {
  const auto gpu = spec.gpu_of(host);
  const bool direct = gpu && spec.path == GpuPath::kDirect;
  const auto address = direct ? process.pages.map(length, machine_.gpu(*gpu))
                              : process.pages.map(length, machine_.config().memory.buffer_pages());
  if (!address) out_of_memory("a buffer of " + to_text(length) + " fits nowhere");
  return *address;
}

MemoryRegion Endpoint::register_memory(CpuTask& task, VirtualAddress address, Bytes length,
                                       AccessFlags access) {
  if (spec.pages_on_demand(host)) access = AccessFlags(access.bits() | AccessFlags::kOnDemand);
  const auto registered = process.verbs.reg_mr(task, pd, address, length.count(), access);
  if (registered.error == Errno::kNoMemory)
    out_of_memory("a translation table or a key is not to be had");
  require(registered.error, "reg_mr");
  return registered.value;
}

void Endpoint::stage(CpuTask& task, std::uint64_t offset, Bytes bytes, CopyDirection direction) {
  const auto number = spec.gpu_of(host);
  if (!number || spec.path == GpuPath::kDirect) return;
  const GpuCopy copy{machine_.gpu(*number), process.pages,
                     VirtualAddress(region.address.value() + offset), bytes, direction};
  if (spec.path == GpuPath::kCpuCopy)
    copy_by_core(task, copy);
  else
    copy_by_engine(task, copy);
}

CompletionQueue* Endpoint::create_cq(CpuTask& task, std::uint32_t entries) {
  CompletionChannel* channel = nullptr;
  if (spec.completion == CompletionMode::kEvents) {
    const auto created = process.verbs.create_comp_channel(task);
    require(created.error, "create_comp_channel");
    channel = created.value;
  }
  const std::uint32_t places = spec.cq_entries.value_or(std::max(kMinCompletions, entries));
  const auto created = process.verbs.create_cq(task, places, channel);
  require(created.error, "create_cq");
  return created.value;
}

void Endpoint::create_queue_pairs(CpuTask& task, const Plan& plan) {
  doing = "creating queue pairs";
  const std::uint32_t shared = plan.own_receive_cq ? 0 : plan.receives;
  cq = create_cq(task, (plan.sends + shared) * spec.queue_pairs);
  receive_cq = plan.own_receive_cq ? create_cq(task, plan.receives * spec.queue_pairs) : cq;
  for (std::uint32_t i = 0; i < spec.queue_pairs; ++i) add_queue_pair(task, plan);
}

QueuePair* Endpoint::add_queue_pair(CpuTask& task, const Plan& plan) {
  QueuePairInit init;
  init.pd = pd;
  init.transport = spec.service();
  init.send_cq = cq;
  init.receive_cq = receive_cq;
  init.max_send_requests = plan.sends * blocks_of_request(spec, plan.inline_up_to);
  init.max_inline = static_cast<std::uint32_t>(plan.inline_up_to.count());
  init.max_recv_requests = plan.receives;
  init.inline_receive = spec.inline_receive;
  access_ = plan.access;
  const auto qp = process.verbs.create_qp(task, init);
  require(qp.error, "create_qp");
  to_init(task, qp.value, plan.access);
  by_number_[qp.value->qpn().value()] = qps.size();
  qps.push_back(qp.value);
  return qp.value;
}

void Endpoint::to_init(CpuTask& task, QueuePair* qp, AccessFlags access) {
  QpAttributes init;
  init.state = QpState::kInit;
  if (spec.transport == WorkloadTransport::kUd)
    init.qkey = kQkey;
  else
    init.access = access;
  require(process.verbs.modify_qp(task, qp, init), "modify_qp to INIT");
}

Introduction Endpoint::introduce() const {
  Introduction introduction;
  introduction.port = port;
  for (const QueuePair* qp : qps) introduction.qpns.push_back(qp->qpn().value());
  return introduction;
}

QpAttributes Endpoint::ready_to_receive(const QueuePair& qp, const Peer& peer) const {
  QpAttributes rtr;
  rtr.state = QpState::kRtr;
  rtr.path_mtu = static_cast<std::uint32_t>(spec.path_mtu.count());
  if (spec.transport == WorkloadTransport::kUd) return rtr;
  rtr.remote_qpn = Qpn(peer.qpn);
  if (port.link_layer == LinkLayer::kInfiniBand) {
    rtr.remote_lid = peer.port.lid;
    rtr.service_level = service_level_of(peer.dscp);
  } else {
    rtr.remote_ip = peer.port.ip;
    rtr.remote_mac = peer.port.mac;
    rtr.udp_source_port = source_port(qp);
    rtr.dscp = peer.dscp;
  }
  rtr.receive_psn = first_psn(peer.qpn);
  if (spec.transport != WorkloadTransport::kRc) return rtr;
  rtr.max_dest_rd_atomic = spec.max_dest_rd_atomic;
  rtr.min_rnr_timer = spec.min_rnr_timer;
  return rtr;
}

QpAttributes Endpoint::ready_to_send(const QueuePair& qp) const {
  QpAttributes rts;
  rts.state = QpState::kRts;
  rts.send_psn = first_psn(qp.qpn().value());
  if (spec.transport != WorkloadTransport::kRc) return rts;
  rts.ack_timeout = spec.ack_timeout;
  rts.retry_count = spec.retry_count;
  rts.rnr_retry = spec.rnr_retry;
  rts.max_rd_atomic = spec.max_rd_atomic;
  return rts;
}

void Endpoint::connect(CpuTask& task, const Introduction& peer) {
  doing = "connecting queue pairs";
  peer_ = peer;
  for (std::size_t i = 0; i < qps.size(); ++i)
    connect(task, qps[i], {peer.port, peer.qpns[i], spec.dscp});
}

void Endpoint::connect(CpuTask& task, QueuePair* qp, const Peer& peer) {
  require(process.verbs.modify_qp(task, qp, ready_to_receive(*qp, peer)), "modify_qp to RTR");
  require(process.verbs.modify_qp(task, qp, ready_to_send(*qp)), "modify_qp to RTS");
}

void Endpoint::reset(CpuTask& task) {
  QpAttributes attributes;
  attributes.state = QpState::kReset;
  for (QueuePair* qp : qps) {
    require(process.verbs.modify_qp(task, qp, attributes), "modify_qp to RESET");
    to_init(task, qp, access_);
  }
}

void Endpoint::move_all(CpuTask& task, QpState state) {
  for (QueuePair* qp : qps) {
    QpAttributes change;
    change.state = state;
    require(process.verbs.modify_qp(task, qp, change), "modify_qp");
  }
}

void Endpoint::destroy_all(CpuTask& task) {
  for (QueuePair* qp : qps) require(process.verbs.destroy_qp(task, qp), "destroy_qp");
  qps.clear();
  by_number_.clear();
}

std::size_t Endpoint::index_of(Qpn qpn) const {
  const auto found = by_number_.find(qpn.value());
  return found != by_number_.end() ? found->second : qps.size();
}

std::uint64_t Endpoint::count_in_error(CpuTask& task) {
  std::uint64_t count = 0;
  for (QueuePair* qp : qps) {
    const auto state = process.verbs.query_qp_state(task, qp);
    require(state.error, "query_qp_state");
    if (state.value == QpState::kErr) ++count;
  }
  return count;
}

std::uint32_t Endpoint::wait(CpuTask& task, CompletionQueue* queue, WorkCompletion* out,
                             std::uint32_t capacity) {
  Verbs& verbs = process.verbs;
  if (spec.completion == CompletionMode::kPolling) return verbs.wait_cq(task, queue, out, capacity);
  // An entry may come between the look and the request for an event, so it looks again.
  for (;;) {
    std::uint32_t n = verbs.poll_cq(task, queue, out, capacity);
    if (n != 0) return n;
    require(verbs.req_notify_cq(task, queue), "req_notify_cq");
    n = verbs.poll_cq(task, queue, out, capacity);
    if (n != 0) return n;
    verbs.ack_cq_events(verbs.get_cq_event(task, queue->channel()), 1);
  }
}

void Endpoint::address(SendRequest& request, std::size_t qp) const {
  if (spec.transport != WorkloadTransport::kUd) return;
  request.to.lid = peer_->port.lid;
  request.to.service_level = service_level_of(spec.dscp);
  request.to.ip = peer_->port.ip;
  request.to.mac = peer_->port.mac;
  request.to.udp_source_port = source_port(*qps[qp]);
  request.to.dscp = spec.dscp;
  request.remote_qpn = Qpn(peer_->qpns[qp]);
  request.remote_qkey = kQkey;
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/pair_workload.h"

#include <algorithm>
#include <stdexcept>

#include "model/byte_order.h"
#include "model/config_error.h"
#include "model/quantity.h"

namespace rnicsim {

namespace {

constexpr std::uint32_t kPollBatch = 16;
constexpr std::size_t kCompareBytes = 64 * 1024;

/// Byte at `offset` of a region filled from `seed`.
void fill_pattern(std::uint64_t seed, std::uint64_t offset, std::uint8_t* to, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::uint64_t x = (offset + i) * 0x9e3779b97f4a7c15ULL + seed;
    to[i] = static_cast<std::uint8_t>(x >> 56 ^ x >> 24);
  }
}

void put64(ControlMessage& message, std::uint64_t value) {
  const std::size_t at = message.size();
  message.resize(at + 8);
  store_be64(message.data() + at, value);
}

}  // namespace

ControlMessage PairWorkload::Introduction::encode() const {
  ControlMessage message;
  put64(message, port.ip.value());
  std::uint64_t mac = 0;
  for (const std::uint8_t byte : port.mac) mac = mac << 8 | byte;
  put64(message, mac);
  put64(message, address.value());
  put64(message, length);
  put64(message, rkey.value());
  for (const std::uint32_t qpn : qpns) put64(message, qpn);
  return message;
}

PairWorkload::Introduction PairWorkload::Introduction::decode(const ControlMessage& message) {
  const auto get = [&](std::size_t i) { return load_be64(message.data() + 8 * i); };
  Introduction out;
  out.port.ip = abi::Ipv4Address(static_cast<std::uint32_t>(get(0)));
  for (std::size_t i = 0; i < out.port.mac.size(); ++i)
    out.port.mac[i] = static_cast<std::uint8_t>(get(1) >> (8 * (5 - i)));
  out.address = VirtualAddress(get(2));
  out.length = get(3);
  out.rkey = MemoryKey(static_cast<std::uint32_t>(get(4)));
  for (std::size_t i = 5; i < message.size() / 8; ++i)
    out.qpns.push_back(static_cast<std::uint32_t>(get(i)));
  return out;
}

PairWorkload::PairWorkload(System& system, const WorkloadSpec& spec, const Scenario& scenario,
                           unsigned initiator_core, unsigned target_core, ProbeSink* observer,
                           Timeline* timeline)
    : system_(system),
      spec_(spec),
      elided_(scenario.engine.payload == PayloadMode::kElided),
      initiator_seed_(seed_for(scenario.seed, spec.name + ".initiator")),
      target_seed_(seed_for(scenario.seed, spec.name + ".target")),
      timeline_(timeline),
      tracked_(scenario.timeline.work_requests),
      to_target_(system.scheduler(), spec.control_latency),
      to_initiator_(system.scheduler(), spec.control_latency),
      local_random_(seed_for(scenario.seed, spec.name + ".local_offset")),
      remote_random_(seed_for(scenario.seed, spec.name + ".remote_offset")),
      ledger_(spec_) {
  System::Server& a = system.server(spec.from);
  System::Server& b = system.server(spec.to);
  initiator_pages_ = a.host->config().memory.buffer_pages();
  target_pages_ = b.host->config().memory.buffer_pages();
  initiator_.host = spec.from;
  initiator_.port = a.ports[0];
  initiator_.process = std::make_unique<Process>(*a.host);
  target_.host = spec.to;
  target_.port = b.ports[0];
  target_.process = std::make_unique<Process>(*b.host);
  to_initiator_.probe().attach(observer, b.component);
  start(target_, b.host->core(target_core), "target", &PairWorkload::target, observer, b.component);
  start(initiator_, a.host->core(initiator_core), "initiator", &PairWorkload::initiator, observer,
        a.component);
}

void PairWorkload::start(Side& side, CpuCore& core, const char* role,
                         void (PairWorkload::*body)(CpuTask&), ProbeSink* observer,
                         std::uint32_t component) {
  side.process->verbs.probe().attach(observer, component);
  side.probe.attach(observer, component);
  side.thread = std::make_unique<SoftwareThread>(system_.scheduler(), spec_.name + "_" + role,
                                                 [this, &side, &core, body] {
                                                   CpuTask task(core, *side.thread);
                                                   (this->*body)(task);
                                                   task.settle();
                                                   side.doing = "finished";
                                                 });
}

void PairWorkload::require(Errno error, const char* call) {
  if (error != Errno::kOk)
    throw std::runtime_error(std::string(call) + " failed: " + name_of(error));
}

/// The scenario gave a host too little memory: what only the run can find out is bad input all the
/// same.
void PairWorkload::out_of_memory(const Side& side, const std::string& what) const {
  ConfigError::Detail detail;
  detail.path = "hosts." + side.host + ".memory.size";
  detail.expected = "memory for workload " + spec_.name;
  detail.found = to_text(system_.server(side.host).host->config().memory.size) + ", where " + what;
  throw ConfigError(std::move(detail));
}

std::uint64_t PairWorkload::chunks_per_qp() const {
  return spec_.region_size() / std::max(spec_.size, Bytes(1)) / spec_.queue_pairs;
}

/// Step 1 and 2 of either side: a buffer in the process's memory, registered.
void PairWorkload::prepare(Side& side, CpuTask& task, std::uint64_t fill_seed, AccessFlags access) {
  task.sleep_until(spec_.start);
  side.probe(task.now(), ProbeKind::kAppStart, {}, 0, 0, 0);
  side.doing = "registering memory";
  Verbs& verbs = side.process->verbs;
  const bool initiator = &side == &initiator_;
  const Errno opened = system_.server(side.host).host->driver(0).bring_up(task);
  if (opened == Errno::kNoMemory) out_of_memory(side, "the driver's tables fit nowhere");
  require(opened, "opening the device");
  const Bytes length = spec_.region_size();
  const auto address =
      side.process->pages.map(length, initiator ? initiator_pages_ : target_pages_);
  if (!address) out_of_memory(side, "a buffer of " + to_text(length) + " fits nowhere");
  if (!elided_) {
    std::vector<std::uint8_t> bytes(kCompareBytes);
    for (std::uint64_t at = 0; at < length.count(); at += bytes.size()) {
      const std::size_t n = std::min<std::uint64_t>(bytes.size(), length.count() - at);
      fill_pattern(fill_seed, at, bytes.data(), n);
      side.process->pages.store(VirtualAddress(address->value() + at), bytes.data(), n);
    }
  }
  side.pd = verbs.alloc_pd(task);
  const auto region = verbs.reg_mr(task, side.pd, *address, length.count(), access);
  if (region.error == Errno::kNoMemory) out_of_memory(side, "a translation table fits nowhere");
  require(region.error, "reg_mr");
  side.region = region.value;
}

void PairWorkload::create_queue_pairs(Side& side, CpuTask& task, AccessFlags access) {
  side.doing = "creating queue pairs";
  Verbs& verbs = side.process->verbs;
  const auto cq = verbs.create_cq(task, std::max(16u, spec_.queue_depth * spec_.queue_pairs));
  require(cq.error, "create_cq");
  side.cq = cq.value;
  QueuePairInit init;
  init.pd = side.pd;
  init.send_cq = init.receive_cq = side.cq;
  init.max_send_requests =
      spec_.queue_depth * std::max<std::uint32_t>(1, static_cast<std::uint32_t>(divide_up(
                                                         spec_.inline_up_to.count() + 36, 64)));
  init.max_inline = static_cast<std::uint32_t>(spec_.inline_up_to.count());
  for (std::uint32_t i = 0; i < spec_.queue_pairs; ++i) {
    const auto qp = verbs.create_qp(task, init);
    require(qp.error, "create_qp");
    QpAttributes attributes;
    attributes.state = QpState::kInit;
    attributes.access = access;
    require(verbs.modify_qp(task, qp.value, attributes), "modify_qp to INIT");
    side.qps.push_back(qp.value);
  }
}

/// INIT -> RTR -> RTS. First PSNs are the queue pair's number, times a prime, so that sides differ.
void PairWorkload::connect(Side& side, CpuTask& task, const Introduction& peer) {
  side.doing = "connecting queue pairs";
  const auto first_psn = [](std::uint32_t qpn) { return Psn(qpn * 7919u); };
  for (std::uint32_t i = 0; i < spec_.queue_pairs; ++i) {
    QpAttributes rtr;
    rtr.state = QpState::kRtr;
    rtr.path_mtu = static_cast<std::uint32_t>(spec_.path_mtu.count());
    rtr.remote_qpn = Qpn(peer.qpns[i]);
    rtr.remote_ip = peer.port.ip;
    rtr.remote_mac = peer.port.mac;
    // One UDP source port a queue pair, in the range that annex A17 leaves for entropy.
    rtr.udp_source_port =
        static_cast<std::uint16_t>(0xc000 | (side.qps[i]->qpn().value() & 0x3fff));
    rtr.receive_psn = first_psn(peer.qpns[i]);
    require(side.process->verbs.modify_qp(task, side.qps[i], rtr), "modify_qp to RTR");
    QpAttributes rts;
    rts.state = QpState::kRts;
    rts.send_psn = first_psn(side.qps[i]->qpn().value());
    require(side.process->verbs.modify_qp(task, side.qps[i], rts), "modify_qp to RTS");
  }
}

void PairWorkload::target(CpuTask& task) {
  const bool right = spec_.fault != AccessFault::kNoRight;
  prepare(target_, task, target_seed_,
          AccessFlags(AccessFlags::kLocalWrite | (right ? AccessFlags::kRemoteWrite : 0)));
  create_queue_pairs(target_, task,
                     AccessFlags(spec_.remote_write ? AccessFlags::kRemoteWrite : 0));
  target_.doing = "waiting for the initiator to introduce itself";
  const Introduction peer = Introduction::decode(to_target_.receive(task));
  connect(target_, task, peer);
  Introduction introduction;
  introduction.port = target_.port;
  for (const QueuePair* qp : target_.qps) introduction.qpns.push_back(qp->qpn().value());
  introduction.address = target_.region.address;
  introduction.length = target_.region.length;
  introduction.rkey = target_.region.rkey;
  falsify(task, introduction);
  if (spec_.fault == AccessFault::kSilent) return;
  to_initiator_.send(task, introduction.encode());
  target_.doing = "asleep until the initiator has finished";
  const ControlMessage finished = to_target_.receive(task);
  if (load_be64(finished.data()) != 0) post_after_failure(task);
}

/// Makes what is handed over wrong in the way that the scenario asks for.
void PairWorkload::falsify(CpuTask& task, Introduction& introduction) {
  const std::uint64_t address = introduction.address.value();
  const std::uint64_t length = introduction.length;
  const std::uint64_t size = spec_.size.count();
  Verbs& verbs = target_.process->verbs;
  switch (spec_.fault) {
    case AccessFault::kNone:
    case AccessFault::kSilent:
    case AccessFault::kNoRight:
      break;
    case AccessFault::kWrongKey:
      introduction.rkey = MemoryKey(introduction.rkey.index() + 1000, 0x5a);
      break;
    case AccessFault::kStaleKey:
      require(verbs.dereg_mr(task, target_.region), "dereg_mr");
      break;
    case AccessFault::kBelow:
      introduction.address = VirtualAddress(address - size);
      break;
    case AccessFault::kBelowByOne:
      introduction.address = VirtualAddress(address - 1);
      break;
    case AccessFault::kBeyond:
      introduction.address = VirtualAddress(address + length);
      break;
    case AccessFault::kBeyondByOne:
      introduction.address = VirtualAddress(address + length - size + 1);
      break;
    case AccessFault::kWrap:
      introduction.address = VirtualAddress(0 - size / 2);
      break;
    case AccessFault::kWrongPd: {
      const auto other =
          verbs.reg_mr(task, verbs.alloc_pd(task), target_.region.address, length,
                       AccessFlags(AccessFlags::kLocalWrite | AccessFlags::kRemoteWrite));
      require(other.error, "reg_mr");
      introduction.rkey = other.value.rkey;
      break;
    }
  }
}

/// The target's queue pairs should be in error: what it posts now must come back flushed.
void PairWorkload::post_after_failure(CpuTask& task) {
  target_.doing = "polling for its own work after the failure";
  Verbs& verbs = target_.process->verbs;
  for (QueuePair* qp : target_.qps) {
    const auto state = verbs.query_qp_state(task, qp);
    require(state.error, "query_qp_state");
    if (state.value != QpState::kErr) continue;
    ++target_in_error_;
    const ScatterGather element{target_.region.address, 8, target_.region.lkey};
    SendRequest request;
    request.list = &element;
    request.list_length = 1;
    request.remote_address = target_.region.address;
    require(verbs.post_send(task, qp, request), "post_send");
    WorkCompletion completion;
    verbs.wait_cq(task, target_.cq, &completion, 1);
    if (completion.status == CompletionStatus::kFlushed) ++target_flushed_;
  }
}

void PairWorkload::initiator(CpuTask& task) {
  prepare(initiator_, task, initiator_seed_, AccessFlags(AccessFlags::kLocalWrite));
  create_queue_pairs(initiator_, task, AccessFlags());
  Introduction introduction;
  introduction.port = initiator_.port;
  for (const QueuePair* qp : initiator_.qps) introduction.qpns.push_back(qp->qpn().value());
  to_target_.send(task, introduction.encode());
  initiator_.doing = "waiting for address, length and rkey";
  const Introduction peer = Introduction::decode(to_initiator_.receive(task));
  connect(initiator_, task, peer);
  initiator_.doing = "posting and polling";
  stream(task, peer);
  if (ledger_.unsuccessful() != 0) {
    for (QueuePair* qp : initiator_.qps) {
      const auto state = initiator_.process->verbs.query_qp_state(task, qp);
      if (state.error == Errno::kOk && state.value == QpState::kErr) ++initiator_in_error_;
    }
  }
  ControlMessage finished;
  put64(finished, ledger_.unsuccessful());
  to_target_.send(task, finished);
}

/// Keeps every queue pair as full as its depth allows, and polls when all are full.
void PairWorkload::stream(CpuTask& task, const Introduction& peer) {
  WorkCompletion completions[kPollBatch];
  while (ledger_.settled() < spec_.count) {
    while (post_next(task, peer)) {
    }
    const std::uint32_t n =
        initiator_.process->verbs.wait_cq(task, initiator_.cq, completions, kPollBatch);
    for (std::uint32_t i = 0; i < n; ++i) ledger_.complete(completions[i], task.now());
  }
}

std::uint64_t PairWorkload::next_offset(OffsetPattern pattern, std::uint64_t nth, std::uint32_t qp,
                                        Random& random) const {
  const std::uint64_t chunks = chunks_per_qp();
  std::uint64_t chunk = 0;
  if (pattern == OffsetPattern::kSequential) chunk = nth % chunks;
  if (pattern == OffsetPattern::kRandom) chunk = random.below(chunks);
  return (chunk * spec_.queue_pairs + qp) * spec_.size.count();
}

/// Posts the next message if its queue pair has room.
bool PairWorkload::post_next(CpuTask& task, const Introduction& peer) {
  if (!ledger_.may_post()) return false;
  const std::uint64_t number = ledger_.next();
  const std::uint32_t index = ledger_.queue_pair();
  MessageLedger::Message message;
  message.local_offset = next_offset(spec_.local_offset, ledger_.nth(), index, local_random_);
  message.remote_offset = next_offset(spec_.remote_offset, ledger_.nth(), index, remote_random_);
  message.signaled = ledger_.asks_for_completion();
  message.posted = task.now();
  QueuePair* qp = initiator_.qps[index];
  const ScatterGather element{
      VirtualAddress(initiator_.region.address.value() + message.local_offset),
      static_cast<std::uint32_t>(spec_.size.count()), initiator_.region.lkey};
  SendRequest request;
  request.id = number;
  request.list = &element;
  request.list_length = 1;
  request.remote_address = VirtualAddress(peer.address.value() + message.remote_offset);
  request.rkey = peer.rkey;
  request.signaled = message.signaled;
  request.inline_data = spec_.inline_up_to != Bytes(0) && spec_.size <= spec_.inline_up_to;
  if (timeline_ != nullptr && number < tracked_)
    timeline_->track(WorkRequestId(static_cast<std::uint8_t>(initiator_.port.number), qp->qpn(),
                                   qp->next_request()),
                     spec_.from + "-" + spec_.to);
  require(initiator_.process->verbs.post_send(task, qp, request), "post_send");
  ledger_.post(message);
  return true;
}

void PairWorkload::landed(WorkRequestId id, Time time) {
  if (!id || id.nic() != initiator_.port.number) return;
  for (std::uint32_t i = 0; i < initiator_.qps.size(); ++i) {
    if (initiator_.qps[i]->qpn() != id.qpn()) continue;
    ledger_.landed(std::uint64_t{id.index()} * spec_.queue_pairs + i, time);
  }
}

std::vector<std::string> PairWorkload::waiting_for() const {
  std::vector<std::string> lines;
  const auto add = [&](const Side& side, const std::string& more) {
    if (!side.thread->finished())
      lines.push_back("workload " + spec_.name + " on host " + side.host + ": " + side.doing +
                      more);
  };
  add(initiator_, ", " + std::to_string(ledger_.settled()) + " of " + std::to_string(spec_.count) +
                      " messages completed");
  add(target_, "");
  return lines;
}

void PairWorkload::check_completions(std::vector<Violation>& violations) const {
  const std::string fault = ledger_.fault();
  if (!fault.empty())
    violations.push_back(
        {"completion", "workload." + spec_.name, system_.scheduler().now(), fault});
}

void PairWorkload::verify(std::vector<Violation>& violations) {
  if (elided_ || target_.region.length == 0 || spec_.size == Bytes(0)) return;
  std::uint64_t first = 0;
  std::vector<std::uint8_t> found(kCompareBytes);
  std::vector<std::uint8_t> wanted(kCompareBytes);
  const auto compare = [&](std::uint64_t at, std::uint64_t end, std::uint64_t seed,
                           std::uint64_t source) {
    for (; at < end; at += found.size()) {
      const std::size_t n = std::min<std::uint64_t>(found.size(), end - at);
      target_.process->pages.load(VirtualAddress(target_.region.address.value() + at), found.data(),
                                  n);
      fill_pattern(seed, source, wanted.data(), n);
      source += n;
      for (std::size_t i = 0; i < n; ++i)
        if (found[i] != wanted[i] && mismatched_++ == 0) first = at + i;
    }
  };
  std::uint64_t at = 0;
  for (const auto& [remote, local] : ledger_.written()) {
    compare(at, remote, target_seed_, at);
    compare(remote, remote + spec_.size.count(), initiator_seed_, local);
    at = remote + spec_.size.count();
  }
  compare(at, target_.region.length, target_seed_, at);
  if (mismatched_ == 0) return;
  violations.push_back({"data_mismatch", "workload." + spec_.name, system_.scheduler().now(),
                        std::to_string(mismatched_) + " bytes of host " + target_.host +
                            "'s memory differ, the first at offset " + std::to_string(first) +
                            " of its region"});
}

void PairWorkload::report(MetricSink& sink) const {
  ledger_.report(sink);
  const MetricScope scope(sink, "workload." + spec_.name);
  const MetricScope channel = scope.child("control_channel");
  to_target_.report(channel.child("to_target"));
  to_initiator_.report(channel.child("to_initiator"));
  scope.count("initiator_qps_in_error", initiator_in_error_,
              "queue pairs of the initiator that ended in ERR");
  scope.count("target_qps_in_error", target_in_error_,
              "queue pairs of the target that ended in ERR");
  scope.count("target_flushed", target_flushed_,
              "work that the target posted after a failure and that was flushed");
  scope.bytes("mismatched_bytes", Bytes(mismatched_),
              "bytes of the target's region that differ from what they must be");
}

}  // namespace rnicsim

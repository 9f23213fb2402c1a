// SPDX-License-Identifier: MIT
#include "scenarios/engine/flows/flow_workload.h"

#include <algorithm>

#include "model/quantity.h"
#include "model/random.h"
#include "scenarios/engine/endpoint.h"
#include "scenarios/engine/flows/flow_checks.h"

namespace rnicsim {
namespace {

constexpr std::size_t kFlowsShown = 8;
/// HPCC numbers the ports of a pair's flows from here.
constexpr std::uint32_t kFirstSourcePort = 10000;

FlowPackets packets_of(const WorkloadSpec& spec, const FlowRun& run, const Scenario& scenario) {
  return {spec.path_mtu,
          run.message_size(),
          scenario.fabric.link_layer,
          scenario.fabric.ip_version,
          scenario.tag_bytes(),
          spec.operation};
}

bool holds(const Ring<std::uint32_t>& flows, std::uint32_t flow) {
  for (std::size_t i = 0; i < flows.size(); ++i)
    if (flows.at(i) == flow) return true;
  return false;
}

}  // namespace

FlowWorkload::FlowWorkload(System& system, const WorkloadSpec& spec, const Scenario& scenario,
                           const std::function<unsigned(const std::string&)>& core,
                           ProbeSink* observer, Timeline* timeline)
    : system_(system),
      spec_(spec),
      elided_(scenario.engine.payload == PayloadMode::kElided),
      timeline_(timeline),
      tracked_(timeline == nullptr ? 0 : scenario.timeline.work_requests),
      run_(spec_, plan_flows(spec_, scenario)),
      packets_(packets_of(spec_, run_, scenario)),
      node_ids_(node_ids(scenario)),
      names_(end_point_names(scenario.machines())) {
  if (const auto sizes = distribution_of(spec_)) bins_ = sizes->points();
  make_programs(core, scenario.seed, observer);
}

/// One for each NIC that has flows, in their order.
void FlowWorkload::make_programs(const std::function<unsigned(const std::string&)>& core,
                                 std::uint64_t seed, ProbeSink* observer) {
  std::vector<unsigned> nic;
  for (const System::Server& server : system_.servers()) {
    for (unsigned i = 0; i < server.ports.size(); ++i) {
      hosts_.push_back(server.name);
      nic.push_back(i);
    }
  }
  std::vector<bool> used(hosts_.size());
  for (const FlowPair& pair : run_.pairs()) used[pair.source] = used[pair.destination] = true;
  program_of_.resize(hosts_.size(), Flow::kNone);
  for (std::uint32_t end = 0; end < hosts_.size(); ++end) {
    if (!used[end]) continue;
    program_of_[end] = static_cast<std::uint32_t>(programs_.size());
    const FlowProgram::Setting setting{
        system_, spec_, run_, *this, elided_, seed_for(seed, spec_.name + '.' + names_[end])};
    const FlowProgram::Place place{hosts_[end], nic[end], end, core(hosts_[end])};
    programs_.push_back(std::make_unique<FlowProgram>(setting, place, observer));
    mailboxes_.push_back(
        std::make_unique<FixedControlChannel>(system_.scheduler(), spec_.control_latency));
    mailboxes_.back()->probe().attach(observer, system_.server(hosts_[end]).component);
  }
  for (std::uint32_t i = 0; i < run_.pairs().size(); ++i) {
    program_at(run_.pairs()[i].source).add_outgoing(i);
    program_at(run_.pairs()[i].destination).add_incoming(i);
  }
  for (std::uint32_t i = 0; i < run_.flows().size(); ++i)
    program_at(run_.flow(i).source).add_flow(i);
  for (const auto& program : programs_) program->start();
}

ControlChannel& FlowWorkload::mailbox(std::uint32_t end_point) {
  return *mailboxes_[program_of_[end_point]];
}

void FlowWorkload::connected(CpuTask& task) {
  task.settle();
  if (++connected_ != programs_.size()) return;
  note_activity();
  origin_ = task.now() + spec_.control_latency;
  for (const auto& program : programs_) program->wake(origin_);
}

/// At the host that has ended the flow before at once, at another when it has been told; and as
/// much later as it says.
void FlowWorkload::start(std::uint32_t flow, std::uint32_t by, Time time) {
  const std::uint32_t source = run_.flow(flow).source;
  const Time told = source == by ? time : time + spec_.control_latency;
  program_at(source).begin_at(flow, told + run_.flow(flow).start);
}

void FlowWorkload::posting(const FlowPair& pair, const QueuePair& qp) {
  if (tracked_ == 0) return;
  --tracked_;
  timeline_->track(
      WorkRequestId(static_cast<std::uint16_t>(pair.source), qp.qpn(), qp.next_request()),
      spec_.operation, hosts_[pair.source], hosts_[pair.destination]);
}

void FlowWorkload::flow_ended() {
  if (++ended_ == run_.flows().size()) note_activity();
}

bool FlowWorkload::finished() const {
  return std::all_of(programs_.begin(), programs_.end(),
                     [](const auto& program) { return program->finished(); });
}

std::string FlowWorkload::unfinished_flow(std::uint32_t index) const {
  const Flow& flow = run_.flow(index);
  const FlowPair& pair = run_.pairs()[run_.pair_index(index)];
  std::string text = "flow " + std::to_string(index) + " of " + spec_.name + ", " +
                     to_text(flow.bytes) + " from " + name_of(flow.source) + " to " +
                     name_of(flow.destination) + ": ";
  if (!run_.has_begun(index)) return text + not_begun(index);
  const bool first = !pair.begun.empty() && pair.begun.front() == index;
  const bool behind = !first && holds(pair.begun, index);
  const Bytes posted = first ? pair.posted_of_first : behind ? Bytes(0) : flow.bytes;
  text += to_text(posted) + " posted, waiting for completions, " + std::to_string(pair.completed) +
          " of " + std::to_string(pair.posted) + " messages on its queue pair completed";
  if (pair.waits_for_room) text += ", its send queue is full";
  const std::string why = obstacle(pair);
  return why.empty() ? text : text + "; " + why;
}

std::string FlowWorkload::not_begun(std::uint32_t index) const {
  const std::vector<std::uint32_t> awaited = run_.awaited_by(index);
  if (awaited.empty()) return "not due yet";
  std::string text = awaited.size() == 1 ? "waiting for flow " : "waiting for flows ";
  for (std::size_t i = 0; i < awaited.size() && i < kFlowsShown; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(awaited[i]);
  if (awaited.size() > kFlowsShown)
    text += " and " + std::to_string(awaited.size() - kFlowsShown) + " more";
  return text;
}

const Nic& FlowWorkload::nic_of(std::uint32_t end_point) const {
  const std::uint32_t first = static_cast<std::uint32_t>(
      std::find(hosts_.begin(), hosts_.end(), hosts_[end_point]) - hosts_.begin());
  return *system_.server(hosts_[end_point]).nics[end_point - first];
}

/// What holds up its packets, or else the answers.
std::string FlowWorkload::obstacle(const FlowPair& pair) const {
  for (const auto& [from, to] :
       {std::pair{pair.source, pair.destination}, std::pair{pair.destination, pair.source}}) {
    const Nic& nic = nic_of(from);
    abi::QpContext context;
    context.dscp = pair.dscp;
    context.service_level = service_level_of(pair.dscp);
    const std::uint8_t priority = nic.priority_of(context);
    if (nic.paused_since(priority) != Time::never())
      return "the port of " + name_of(from) + " is paused in priority " + std::to_string(priority) +
             " since " + to_text(nic.paused_since(priority));
    std::string why = system_.fabric().obstacle(from, to, priority);
    if (!why.empty()) return why;
  }
  return {};
}

/// Flows that have not ended, those that have begun first; or, before any has, the programs.
std::vector<std::string> FlowWorkload::waiting_for() const {
  std::vector<std::string> lines;
  if (finished()) return lines;
  if (origin_ == Time::never()) {
    for (const auto& program : programs_)
      if (!program->finished() && lines.size() < kFlowsShown)
        lines.push_back("workload " + spec_.name + " on host " + program->host() + ": " +
                        program->doing());
    return lines;
  }
  std::size_t more = 0;
  for (const bool begun : {true, false}) {
    for (std::uint32_t i = 0; i < run_.flows().size(); ++i) {
      const bool lost = run_.pairs()[run_.pair_index(i)].broken;
      if (run_.has_finished(i) || lost || run_.has_begun(i) != begun) continue;
      if (lines.size() < kFlowsShown)
        lines.push_back(unfinished_flow(i));
      else
        ++more;
    }
  }
  if (more > 0) lines.push_back(std::to_string(more) + " more flows of " + spec_.name);
  return lines;
}

void FlowWorkload::check_completions(std::vector<Violation>& violations) const {
  for (const FlowPair& pair : run_.pairs())
    if (!pair.broken && (pair.completed != pair.posted || pair.settled != pair.flows))
      violations.push_back({"completion", "workload." + spec_.name, system_.scheduler().now(),
                            std::to_string(pair.completed) + " of " + std::to_string(pair.posted) +
                                " messages from " + name_of(pair.source) + " to " +
                                name_of(pair.destination) + " completed"});
}

Workload::Landed FlowWorkload::landed_at(const std::string& host) const {
  Landed landed;
  landed.exact = run_.failed() == 0;
  for (std::uint32_t end = 0; end < hosts_.size(); ++end)
    if (hosts_[end] == host && program_of_[end] != Flow::kNone)
      landed.least += programs_[program_of_[end]]->received();
  return landed;
}

/// Every slot must hold what stands in the other end's, as far as anything was written.
void FlowWorkload::verify(std::vector<Violation>& violations) {
  if (elided_) return;
  const bool reads = spec_.operation == Operation::kRead;
  for (const FlowPair& pair : run_.pairs()) {
    if (pair.broken) continue;
    const std::uint32_t writer = reads ? pair.destination : pair.source;
    const std::uint32_t written = reads ? pair.source : pair.destination;
    const std::uint64_t origin = reads ? pair.remote_offset : pair.local_offset;
    const std::uint64_t place = reads ? pair.local_offset : pair.remote_offset;
    RegionImage image = program_at(written).image();
    image.expect(place, place + pair.written.count(), program_at(writer).seed(), origin);
    if (image.mismatched() == 0) continue;
    mismatched_ += image.mismatched();
    violations.push_back({"data_mismatch", "workload." + spec_.name, system_.scheduler().now(),
                          std::to_string(image.mismatched()) + " B that came from " +
                              name_of(writer) + " to " + name_of(written) +
                              " are wrong, the first at offset " +
                              std::to_string(image.first_mismatch() - place)});
  }
}

void FlowWorkload::add_flows(std::vector<FlowRecord>& flows) const {
  std::vector<std::vector<Fabric::Hop>> paths(run_.pairs().size());
  std::vector<std::uint32_t> before(run_.pairs().size());
  const bool reads = spec_.operation == Operation::kRead;
  for (std::uint32_t i = 0; i < run_.flows().size(); ++i) {
    const Flow& flow = run_.flow(i);
    auto& path = paths[run_.pair_index(i)];
    if (path.empty())
      path = reads ? system_.fabric().first_path(flow.destination, flow.source)
                   : system_.fabric().first_path(flow.source, flow.destination);
    FlowRecord record;
    record.workload = spec_.name;
    record.from = name_of(flow.source);
    record.to = name_of(flow.destination);
    record.bytes = flow.bytes.count();
    record.start = run_.start_of(i);
    record.finish = run_.finish_of(i);
    if (!path.empty()) record.ideal = ideal_time(path, packets_, flow.bytes);
    record.from_node = node_ids_[flow.source];
    record.to_node = node_ids_[flow.destination];
    record.source_port = kFirstSourcePort + before[run_.pair_index(i)]++;
    record.destination_port = flow.port;
    flows.push_back(std::move(record));
  }
}

WorkSpan FlowWorkload::span() const {
  WorkSpan span;
  for (std::uint32_t i = 0; i < run_.flows().size(); ++i)
    if (run_.has_finished(i)) span.include(run_.start_of(i), run_.finish_of(i));
  return span;
}

void FlowWorkload::report(MetricSink& sink) const {
  std::vector<FlowRecord> flows;
  add_flows(flows);
  const std::string path = "workload." + spec_.name + ".flows";
  const MetricScope scope(sink, path);
  FlowStatistics(flows).report(scope, sink, path, bins_);
  scope.count("failed", run_.failed(), "flows of a queue pair on which a work request failed");
  scope.bytes("mismatched_bytes", Bytes(mismatched_), "bytes that arrived wrong");
  scope.count("queue_pairs", run_.pairs().size(), "connections: one for each pair of NICs");
}

}  // namespace rnicsim

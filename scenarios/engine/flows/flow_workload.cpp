// SPDX-License-Identifier: MIT
#include "scenarios/engine/flows/flow_workload.h"

#include <algorithm>

#include "model/quantity.h"
#include "model/random.h"
#include "scenarios/engine/flows/flow_checks.h"

namespace rnicsim {
namespace {

constexpr std::size_t kFlowsShown = 8;
/// HPCC numbers the ports of a pair's flows from here.
constexpr std::uint32_t kFirstSourcePort = 10000;

FlowPackets packets_of(const WorkloadSpec& spec, const FlowRun& run, const FabricSpec& fabric) {
  return {spec.path_mtu, run.message_size(), fabric.link_layer, fabric.ip_version};
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
      packets_(packets_of(spec_, run_, scenario.fabric)),
      node_ids_(node_ids(scenario)) {
  if (const auto sizes = distribution_of(spec_)) bins_ = sizes->points();
  make_programs(core, scenario.seed, observer);
}

/// One for each host that has flows, in the order of the hosts.
void FlowWorkload::make_programs(const std::function<unsigned(const std::string&)>& core,
                                 std::uint64_t seed, ProbeSink* observer) {
  for (const System::Server& server : system_.servers())
    hosts_.resize(hosts_.size() + server.ports.size(), server.name);
  std::vector<bool> used(hosts_.size());
  for (const FlowPair& pair : run_.pairs()) used[pair.source] = used[pair.destination] = true;
  program_of_.resize(hosts_.size(), Flow::kNone);
  for (std::uint32_t end = 0; end < hosts_.size(); ++end) {
    if (!used[end]) continue;
    program_of_[end] = static_cast<std::uint32_t>(programs_.size());
    const FlowProgram::Setting setting{
        system_, spec_, run_, *this, elided_, seed_for(seed, spec_.name + '.' + hosts_[end])};
    programs_.push_back(
        std::make_unique<FlowProgram>(setting, hosts_[end], end, core(hosts_[end]), observer));
    mailboxes_.push_back(
        std::make_unique<ControlChannel>(system_.scheduler(), spec_.control_latency));
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
  origin_ = task.now() + spec_.control_latency;
  for (const auto& program : programs_) program->wake(origin_);
}

/// At the host that has ended the flow before at once, at another when it has been told.
void FlowWorkload::start(std::uint32_t flow, std::uint32_t by, Time time) {
  const std::uint32_t source = run_.flow(flow).source;
  program_at(source).begin_at(flow, source == by ? time : time + spec_.control_latency);
}

void FlowWorkload::posting(const FlowPair& pair, const QueuePair& qp) {
  if (tracked_ == 0) return;
  --tracked_;
  timeline_->track(
      WorkRequestId(static_cast<std::uint16_t>(pair.source), qp.qpn(), qp.next_request()),
      Operation::kWrite, host_of(pair.source), host_of(pair.destination));
}

bool FlowWorkload::finished() const {
  return std::all_of(programs_.begin(), programs_.end(),
                     [](const auto& program) { return program->finished(); });
}

std::string FlowWorkload::unfinished_flow(std::uint32_t index) const {
  const Flow& flow = run_.flow(index);
  const FlowPair& pair = run_.pairs()[run_.pair_index(index)];
  std::string text = "flow " + std::to_string(index) + " of " + spec_.name + ", " +
                     to_text(flow.bytes) + " from " + host_of(flow.source) + " to " +
                     host_of(flow.destination) + ": ";
  if (!run_.has_begun(index))
    return text + (flow.trigger == Flow::kNone ? "not due yet" : "waiting for other flows");
  return text + "waiting for completions, " + std::to_string(pair.completed) + " of " +
         std::to_string(pair.posted) + " messages on its queue pair completed";
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
                                " messages from " + host_of(pair.source) + " to " +
                                host_of(pair.destination) + " completed"});
}

Workload::Landed FlowWorkload::landed_at(const std::string& host) const {
  Landed landed;
  landed.exact = run_.failed() == 0;
  const auto end =
      static_cast<std::uint32_t>(std::find(hosts_.begin(), hosts_.end(), host) - hosts_.begin());
  if (end == hosts_.size() || program_of_[end] == Flow::kNone) return landed;
  landed.least = programs_[program_of_[end]]->received();
  return landed;
}

/// Every slot must hold what stands in the sender's, as far as anything was written.
void FlowWorkload::verify(std::vector<Violation>& violations) {
  if (elided_) return;
  for (const FlowPair& pair : run_.pairs()) {
    if (pair.broken) continue;
    RegionImage image = program_at(pair.destination).image();
    image.expect(pair.remote_offset, pair.remote_offset + pair.written.count(),
                 program_at(pair.source).seed(), pair.local_offset);
    if (image.mismatched() == 0) continue;
    mismatched_ += image.mismatched();
    violations.push_back({"data_mismatch", "workload." + spec_.name, system_.scheduler().now(),
                          std::to_string(image.mismatched()) + " B that " + host_of(pair.source) +
                              " wrote to " + host_of(pair.destination) +
                              " are wrong, the first at offset " +
                              std::to_string(image.first_mismatch() - pair.remote_offset)});
  }
}

void FlowWorkload::add_flows(std::vector<FlowRecord>& flows) const {
  std::vector<std::vector<Fabric::Hop>> paths(run_.pairs().size());
  std::vector<std::uint32_t> before(run_.pairs().size());
  for (std::uint32_t i = 0; i < run_.flows().size(); ++i) {
    const Flow& flow = run_.flow(i);
    auto& path = paths[run_.pair_index(i)];
    if (path.empty()) path = system_.fabric().first_path(flow.source, flow.destination);
    FlowRecord record;
    record.workload = spec_.name;
    record.from = host_of(flow.source);
    record.to = host_of(flow.destination);
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

void FlowWorkload::report(MetricSink& sink) const {
  std::vector<FlowRecord> flows;
  add_flows(flows);
  const std::string path = "workload." + spec_.name + ".flows";
  const MetricScope scope(sink, path);
  FlowStatistics(flows).report(scope, sink, path, bins_);
  scope.count("failed", run_.failed(), "flows of a queue pair on which a work request failed");
  scope.bytes("mismatched_bytes", Bytes(mismatched_), "bytes that arrived wrong");
  scope.count("queue_pairs", run_.pairs().size(), "connections: one for each pair of hosts");
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/simulation.h"

#include <deque>
#include <iostream>
#include <memory>
#include <set>

#include "model/invariant.h"
#include "model/priority_arbiter.h"
#include "model/quantity.h"
#include "scenarios/engine/activity_log.h"
#include "scenarios/engine/bottleneck.h"
#include "scenarios/engine/flows/flow_workload.h"
#include "scenarios/engine/latency_breakdown.h"
#include "scenarios/engine/pair_workload.h"
#include "scenarios/engine/pause_log.h"
#include "scenarios/engine/pcie_bench_workload.h"
#include "scenarios/engine/perftest_workload.h"
#include "scenarios/engine/registration_workload.h"
#include "scenarios/engine/rkey_guessing.h"
#include "scenarios/engine/system.h"
#include "scenarios/engine/tcp_workload.h"
#include "scenarios/engine/time_observers.h"
#include "scenarios/engine/timeline.h"

namespace rnicsim {

namespace {

/// A switch is system.fabric_NAME among SystemC's modules and fabric.NAME among metrics.
std::string path_of_module(const std::string& module) {
  const std::string prefix = "system.fabric_";
  if (module.compare(0, prefix.size(), prefix) != 0) return module;
  return "fabric." + module.substr(prefix.size());
}

class Simulation {
 public:
  Simulation(const Scenario& scenario, const SimulationHooks& hooks)
      : scenario_(scenario),
        hooks_(hooks),
        system_("system", scenario),
        activity_(system_, scenario.workload.size()) {
    attach_observers();
    attach_capture();
    attach_pause_log();
    attach_signal_observers();
    make_workloads();
    if (hooks_.built) hooks_.built(system_);
  }

  RunResult run() {
    Scheduler& scheduler = system_.scheduler();
    if (hooks_.poll || hooks_.live)
      scheduler.set_poll([](void* self) { return static_cast<Simulation*>(self)->poll(); }, this);
    try {
      end_ = scheduler.run_until(scenario_.stop_at);
    } catch (const InvariantBroken& broken) {
      if (broken.kind().empty()) throw;
      broken_ = true;
      result_.violations.push_back(
          {broken.kind(), path_of_module(broken.where()), broken.when(), broken.text()});
    }
    if (capture_) capture_->close();
    if (waveform_) waveform_->close();
    if (hooks_.live) hooks_.live(*live_, scheduler.now(), true);
    check();
    collect();
    return std::move(result_);
  }

 private:
  void attach_observers() {
    if (hooks_.log) {
      log_ = std::make_unique<EventLog>(
          *hooks_.log, system_.components(), [this] { return system_.scheduler().now(); },
          std::cerr);
      observers_.add(*log_);
    }
    if (hooks_.timeline) {
      timeline_ = std::make_unique<Timeline>(system_.components());
      observers_.add(*timeline_);
    }
    if (hooks_.latency) attach_latency();
    if (!hooks_.log && !hooks_.timeline && !hooks_.latency) return;
    const bool timeline_only = hooks_.timeline && !hooks_.log && !hooks_.latency;
    observer_ = timeline_only ? static_cast<ProbeSink*>(timeline_.get()) : &observers_;
    system_.attach(observer_);
    if (!timeline_only) system_.attach_switches(observer_);
  }

  void attach_latency() {
    LatencyBreakdown::Wiring wiring;
    wiring.components = system_.components();
    for (const WorkloadSpec& spec : scenario_.workload) wiring.workloads.push_back(spec.name);
    std::vector<const Nic*> nics;
    for (const System::Server& server : system_.servers())
      for (const auto& nic : server.nics) nics.push_back(nic.get());
    wiring.stopped = [nics](std::uint16_t nic, std::uint8_t priority) {
      return nics[nic]->stopped(priority);
    };
    wiring.receive_time = [nics](std::uint16_t nic, ProbeKind until) {
      return nics[nic]->receive_time(until);
    };
    wiring.is_shown = [this](WorkRequestId id) { return timeline_ && timeline_->tracks(id); };
    latency_ = std::make_unique<LatencyBreakdown>(std::move(wiring));
    observers_.add(*latency_);
    for (std::size_t i = 0; i < scenario_.workload.size(); ++i)
      posting_observers_.emplace_back(*latency_, i, observers_);
  }

  /// What the next workload's programs report to.
  ProbeSink* observer_of_next() {
    if (!latency_) return observer_;
    return &posting_observers_[workloads_.size()];
  }

  void attach_capture() {
    if (!hooks_.capture) return;
    capture_ = std::make_unique<PacketCapture>(system_.scheduler(), scenario_, *hooks_.capture);
    system_.attach_tap(capture_.get(), capture_->has_switches());
  }

  void attach_pause_log() {
    if (!hooks_.pauses) return;
    pauses_ =
        std::make_unique<PauseLog>(system_.scheduler(), scenario_, system_.fabric().topology());
    system_.observe_pauses(pauses_.get());
  }

  void attach_signal_observers() {
    if (!hooks_.series && !hooks_.waveform && !hooks_.live) return;
    const Signals signals = system_.signals();
    if (hooks_.series) {
      series_ = std::make_unique<SeriesRecorder>(signals, *hooks_.series);
      time_observers_.add(*series_, series_->next_look());
    }
    if (hooks_.waveform) {
      waveform_ = std::make_unique<Waveform>(system_.scheduler(), signals, *hooks_.waveform);
      time_observers_.add(*waveform_, Time());
    }
    if (hooks_.live) live_ = std::make_unique<LiveView>(signals);
    if (!time_observers_.empty())
      system_.scheduler().observe(time_observers_, time_observers_.first());
  }

  bool poll() {
    const Time now = system_.scheduler().now();
    if (hooks_.live) hooks_.live(*live_, now, false);
    return hooks_.poll && hooks_.poll(now);
  }

  std::unique_ptr<Workload> make_workload(const WorkloadSpec& spec, unsigned from, unsigned to) {
    ProbeSink* const observer = observer_of_next();
    if (spec.pattern == WorkloadPattern::kPerftest)
      return std::make_unique<PerftestWorkload>(system_, spec, scenario_, from, to, observer,
                                                timeline_.get());
    if (spec.pattern == WorkloadPattern::kRkeyGuessing)
      return std::make_unique<RkeyGuessing>(system_, spec, scenario_, from, to, observer,
                                            timeline_.get());
    if (spec.pattern == WorkloadPattern::kRegistration)
      return std::make_unique<RegistrationWorkload>(system_, spec, from, observer);
    return std::make_unique<PairWorkload>(system_, spec, scenario_, from, to, observer,
                                          timeline_.get());
  }

  /// Programs take a host's cores in turn.
  void make_workloads() {
    std::map<std::string, unsigned> next;
    const auto core = [&](const std::string& host) {
      return next[host]++ % system_.server(host).host->cores();
    };
    for (const WorkloadSpec& spec : scenario_.workload) {
      if (spec.pattern == WorkloadPattern::kPcieBench) {
        workloads_.push_back(std::make_unique<PcieBenchWorkload>(system_, spec, scenario_));
      } else if (is_of_flows(spec.pattern)) {
        workloads_.push_back(std::make_unique<FlowWorkload>(system_, spec, scenario_, core,
                                                            observer_of_next(), timeline_.get()));
      } else if (spec.is_over_tcp()) {
        workloads_.push_back(
            std::make_unique<TcpWorkload>(system_, spec, scenario_, core, timeline_.get()));
      } else {
        const unsigned from = core(spec.from);
        const unsigned to = spec.to == spec.from ? from : core(spec.to);
        workloads_.push_back(make_workload(spec, from, to));
      }
      if (activity_.is_needed())
        workloads_.back()->on_activity(
            [this, nth = workloads_.size() - 1] { activity_.sample(nth); });
      if (timeline_) timeline_->add_workload(*workloads_.back());
    }
  }

  void violation(const char* kind, const std::string& where, const std::string& text) {
    result_.violations.push_back({kind, where, system_.scheduler().now(), text});
  }

  /// What must hold at the end of every run.
  void check() {
    if (broken_) return;
    for (const std::string& fault : system_.conservation_faults())
      violation("conservation", "fabric", fault);
    const std::string deadlock = system_.fabric().deadlock();
    if (!deadlock.empty()) violation("deadlock", "fabric", deadlock);
    report_storms();
    for (const System::Finding& finding : system_.findings())
      violation(finding.kind, finding.where, finding.text);
    if (!all_finished()) return;
    // At stop_at packets may wait for a port that is still paused.
    if (!system_.idle() && end_ != Scheduler::End::kReached)
      violation("conservation", "system", "work is left inside at the end");
    for (const auto& workload : workloads_) {
      workload->check_completions(result_.violations);
      workload->verify(result_.violations);
    }
    for (System::Server& server : system_.servers()) check_landed(server);
  }

  void report_storms() {
    for (const PauseStorm& storm : system_.pause_storms()) {
      violation("pause_storm", storm.where,
                "priority " + text_of(storm.priorities) + ' ' + storm.what + " for " +
                    to_text(storm.span.lasted) + " without a break, from " +
                    to_text(storm.span.since) + " on");
    }
  }

  /// If not, one violation says what each program waits for.
  bool all_finished() {
    std::string waits;
    for (const auto& workload : workloads_)
      for (const std::string& line : workload->waiting_for())
        waits += (waits.empty() ? "" : "; ") + line;
    if (waits.empty()) return true;
    if (end_ == Scheduler::End::kIdle)
      violation("deadlock", "workload", "nothing is pending any more, but " + waits);
    else
      violation("unfinished_flow", "workload", "stopped before the end: " + waits);
    return false;
  }

  /// The memory's own count of payload written to it, against what was completed: a refused message
  /// writes nothing, wherever it was aimed at.
  void check_landed(System::Server& server) {
    Workload::Landed landed;
    for (const auto& workload : workloads_) {
      const Workload::Landed part = workload->landed_at(server.name);
      landed.least += part.least;
      landed.exact = landed.exact && part.exact;
    }
    const Bytes written = server.host->written(DmaPurpose::kPayload);
    if (landed.exact ? written != landed.least : written < landed.least)
      violation("conservation", "host." + server.name + ".memory",
                std::to_string(written.count()) + " B of payload were written, " +
                    std::to_string(landed.least.count()) + " B completed");
  }

  /// Links lose nothing and send nothing twice by themselves: unless faults did so on purpose,
  /// packets of a flow take different ways, or a receiver was not ready or silent or a page absent
  /// and everything was sent again, packet sequence numbers must be contiguous.
  void check_sequences() {
    if (system_.disturbed_packets() != 0 || system_.fabric().may_reorder() ||
        total_of(".responder.rnr_naks") != 0 || total_of(".page_faults.faults") != 0 ||
        total_of(".retransmitter.local_ack_timeout_err") != 0)
      return;
    for (const auto& [path, metric] : result_.metrics)
      if (metric.value != 0 && (ends_with(path, ".responder.out_of_sequence") ||
                                ends_with(path, ".responder.duplicate_request")))
        violation("psn_sequence", path,
                  std::to_string(metric.value) + " requests came out of sequence");
  }

  static bool ends_with(const std::string& path, const std::string& leaf) {
    return path.size() > leaf.size() &&
           path.compare(path.size() - leaf.size(), leaf.size(), leaf) == 0;
  }
  std::uint64_t total_of(const std::string& leaf) const {
    std::uint64_t total = 0;
    for (const auto& [path, metric] : result_.metrics)
      if (ends_with(path, leaf)) total += metric.value;
    return total;
  }

  void find_bottlenecks() {
    for (std::size_t i = 0; i < workloads_.size(); ++i) {
      const WorkloadSpec& spec = scenario_.workload[i];
      const WorkSpan span = workloads_[i]->span();
      if (!workloads_[i]->finished() || !span.is_known()) continue;
      const std::set<std::string> ports = ports_of(spec);
      const auto judge = [&](const std::map<std::string, Metric>& metrics, const CoreWork& cores) {
        result_.bottlenecks.push_back(find_bottleneck(spec, span, {metrics, cores, ports}));
      };
      if (activity_.has_seen(i)) {
        const ActivityLog::Activity activity = activity_.of(i, result_.metrics);
        judge(activity.metrics, activity.cores);
      } else {
        judge(result_.metrics, activity_.core_work());
      }
    }
  }

  /// Ports of switches that its packets can take; of flows all.
  std::set<std::string> ports_of(const WorkloadSpec& spec) {
    if (is_of_flows(spec.pattern)) return system_.fabric().switch_ports();
    const std::uint32_t from = system_.server(spec.from).ports.front().number;
    const std::uint32_t to = system_.server(spec.to).ports.front().number;
    std::set<std::string> ports = system_.fabric().switch_ports_between(from, to);
    ports.merge(system_.fabric().switch_ports_between(to, from));
    return ports;
  }

  void collect() {
    result_.end = system_.scheduler().now();
    MetricCollector collector(result_.metrics);
    system_.report(collector);
    for (const auto& workload : workloads_) {
      workload->report(collector);
      workload->add_flows(result_.flows);
    }
    result_.notes = system_.notes();
    if (pauses_) result_.pauses = pauses_->take();
    if (series_) result_.series = series_->finish(result_.end);
    find_bottlenecks();
    check_sequences();
    collector.add("run.end", static_cast<std::uint64_t>(result_.end.ps()), Unit::kPicoseconds,
                  "simulated time at which the run ended");
    if (timeline_) result_.timeline = timeline_->take();
    if (latency_) result_.latency = latency_->take();
    result_.callbacks = system_.scheduler().callbacks();
    result_.packet_hops = system_.packet_hops();
  }

  const Scenario& scenario_;
  const SimulationHooks& hooks_;
  RunResult result_;
  // Before the system: its probes and taps point here to the end.
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<Timeline> timeline_;
  std::unique_ptr<LatencyBreakdown> latency_;
  std::deque<PostingObserver> posting_observers_;  ///< by workload
  std::unique_ptr<PacketCapture> capture_;
  std::unique_ptr<PauseLog> pauses_;
  ProbeFanOut observers_;
  ProbeSink* observer_ = nullptr;
  System system_;
  ActivityLog activity_;
  // After it: they read it, and its states report to the waveform.
  std::unique_ptr<SeriesRecorder> series_;
  std::unique_ptr<Waveform> waveform_;
  std::unique_ptr<LiveView> live_;
  TimeObservers time_observers_;
  std::vector<std::unique_ptr<Workload>> workloads_;
  Scheduler::End end_ = Scheduler::End::kIdle;
  bool broken_ = false;
};

}  // namespace

RunResult simulate(const Scenario& scenario, const SimulationHooks& hooks) {
  return Simulation(scenario, hooks).run();
}

}  // namespace rnicsim

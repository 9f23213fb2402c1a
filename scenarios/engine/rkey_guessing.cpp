// SPDX-License-Identifier: MIT
#include "scenarios/engine/rkey_guessing.h"

#include "model/random.h"

namespace rnicsim {

namespace {

constexpr Bytes kRegion{4096};
constexpr std::uint64_t kVariants = 256;
constexpr std::uint8_t kFirstVariant = 1;
constexpr std::size_t kNumberBytes = 8;  ///< a control message of this length says: done

std::uint8_t log_keys_of(const Scenario& scenario, const std::string& host) {
  for (const HostSpec& spec : scenario.machines())
    if (spec.name == host) return spec.config.driver.log_keys;
  return 0;
}

double tries_of(std::uint64_t keys) { return (static_cast<double>(keys) + 1) / 2; }

}  // namespace

RkeyGuessing::RkeyGuessing(System& system, const WorkloadSpec& spec, const Scenario& scenario,
                           unsigned attacker_core, unsigned service_core, ProbeSink* observer,
                           Timeline* timeline)
    : system_(system),
      spec_(spec),
      elided_(scenario.engine.payload == PayloadMode::kElided),
      log_keys_(log_keys_of(scenario, spec.to)),
      seed_(seed_for(scenario.seed, spec.name + ".service")),
      timeline_(timeline),
      to_track_(timeline != nullptr ? scenario.timeline.work_requests : 0),
      control_(ControlPath::make(system, spec_,
                                 {attacker_core, service_core, elided_, observer, timeline})),
      to_service_(control_->forth()),
      to_attacker_(control_->back()),
      attacker_(system, spec_, spec.from, attacker_core, observer),
      service_(system, spec_, spec.to, service_core, observer) {
  service_.start("service", [this](CpuTask& task) {
    serve(task);
    control_->leave(task, spec_.to);
  });
  attacker_.start("attacker", [this](CpuTask& task) {
    attack(task);
    control_->leave(task, spec_.from);
  });
}

void RkeyGuessing::set_up(Endpoint& endpoint, CpuTask& task) {
  endpoint.prepare(task, kRegion, AccessFlags(AccessFlags::kLocalWrite | AccessFlags::kRemoteRead));
  Endpoint::Plan plan;
  plan.access = AccessFlags(AccessFlags::kRemoteRead);
  endpoint.create_queue_pairs(task, plan);
}

/// The service's other regions, and the secret in the last of them.
void RkeyGuessing::register_secret(CpuTask& task) {
  secret_ = service_.region;
  for (std::uint32_t i = 1; i < spec_.target_regions.value(); ++i)
    secret_ = service_.add_region(task, kRegion, AccessFlags(AccessFlags::kRemoteRead));
  if (!elided_) RegionImage(service_.process.pages, secret_.address, secret_.length).fill(seed_);
}

void RkeyGuessing::serve(CpuTask& task) {
  set_up(service_, task);
  register_secret(task);
  control_->accept(task);
  for (bool again = false;; again = true) {
    service_.doing = "asleep until somebody connects";
    const ControlMessage message = to_service_.receive(task);
    if (message.size() == kNumberBytes) return;
    if (again) service_.reset(task);
    service_.connect(task, Introduction::decode(message));
    Introduction introduction = service_.introduce();
    introduction.address = secret_.address;
    to_attacker_.send(task, introduction.encode());
  }
}

Introduction RkeyGuessing::reconnect(CpuTask& task) {
  to_service_.send(task, attacker_.introduce().encode());
  attacker_.doing = "waiting for the service";
  Introduction service = Introduction::decode(to_attacker_.receive(task));
  attacker_.connect(task, service);
  return service;
}

void RkeyGuessing::attack(CpuTask& task) {
  set_up(attacker_, task);
  control_->connect(task);
  Introduction service = reconnect(task);
  while (hits_ == 0 && tries_ < spec_.tries.value()) {
    const Time begin = task.now();
    const CompletionStatus status = attempt(task, service);
    if (status == CompletionStatus::kSuccess) {
      ++hits_;
      found_ = guess(tries_ - 1);
      break;
    }
    ++(status == CompletionStatus::kRemoteAccessError ? naks_ : others_);
    const Time failed = task.now();
    attacker_.reset(task);
    service = reconnect(task);
    reconnecting_ += task.now() - failed;
    missing_ += task.now() - begin;
  }
  attacker_.doing = "done";
  to_service_.send(task, number_message(hits_));
}

CompletionStatus RkeyGuessing::attempt(CpuTask& task, const Introduction& service) {
  attacker_.doing = "waiting for its READ to be answered";
  QueuePair& qp = *attacker_.qps[0];
  const ScatterGather place = attacker_.piece(0, kRead);
  SendRequest request;
  request.id = tries_;
  request.opcode = abi::WqeOpcode::kRdmaRead;
  request.list = &place;
  request.list_length = 1;
  request.remote_address = service.address;
  request.rkey = guess(tries_++);
  if (to_track_ != 0) {
    --to_track_;
    timeline_->track(WorkRequestId(static_cast<std::uint16_t>(attacker_.port.number), qp.qpn(),
                                   qp.next_request()),
                     Operation::kRead, spec_.from, spec_.to);
  }
  require(attacker_.process.verbs.post_send(task, &qp, request), "post_send");
  WorkCompletion completion;
  attacker_.wait(task, attacker_.cq, &completion, 1);
  return completion.status;
}

MemoryKey RkeyGuessing::guess(std::uint64_t nth) const {
  return MemoryKey(static_cast<std::uint32_t>(1 + nth % indices()),
                   static_cast<std::uint8_t>(kFirstVariant + nth / indices()));
}

bool RkeyGuessing::finished() const { return attacker_.finished() && service_.finished(); }

std::vector<std::string> RkeyGuessing::waiting_for() const {
  std::vector<std::string> lines;
  for (const Endpoint* side : {&attacker_, &service_})
    if (!side->finished())
      lines.push_back("workload " + spec_.name + " on host " + side->host + ": " + side->doing +
                      " after " + std::to_string(tries_) + " tries");
  control_->explain(lines);
  return lines;
}

/// A key that fits is the secret's, and no other failure than a refusal may occur.
void RkeyGuessing::check_completions(std::vector<Violation>& violations) const {
  if (others_ == 0 && (!found_ || *found_ == secret_.rkey)) return;
  violations.push_back({"completion", "workload." + spec_.name, system_.scheduler().now(),
                        found_ ? "a key opened the region that is not its own"
                               : std::to_string(others_) + " tries failed otherwise than refused"});
}

Workload::Landed RkeyGuessing::landed_at(const std::string& host) const {
  Landed landed;
  if (host == spec_.from) landed.least = kRead * hits_;
  landed.exact = system_.disturbed_packets() == 0;
  return landed;
}

void RkeyGuessing::verify(std::vector<Violation>& violations) {
  if (elided_ || hits_ == 0) return;
  RegionImage image = attacker_.image();
  image.expect(0, kRead.count(), seed_, 0);
  if (image.mismatched() != 0)
    violations.push_back({"data_mismatch", "workload." + spec_.name, system_.scheduler().now(),
                          "what was read is not the secret"});
}

void RkeyGuessing::report_expectations(MetricSink& sink, const std::string& path) const {
  const std::uint64_t in_use = spec_.target_regions.value();
  const std::uint64_t space = indices() * kVariants;
  const MetricScope scope(sink, path);
  scope.count("keys_in_use", in_use, "keys that the service has issued");
  scope.count("key_space", space, "keys that a random driver draws from");
  sink.add_real(path + ".expected_tries.sequential", tries_of(in_use), Unit::kCount,
                "tries to be expected until a hit if keys are issued in sequence");
  sink.add_real(path + ".expected_tries.random", tries_of(space), Unit::kCount,
                "the same if keys are issued at random");
  if (tries_ == hits_) return;
  const double per_try = static_cast<double>(missing_.ps()) / static_cast<double>(tries_ - hits_);
  sink.add_real(path + ".time_per_try", per_try, Unit::kPicoseconds,
                "mean time of a try that missed, with connecting again");
  sink.add_real(path + ".expected_time.sequential", tries_of(in_use) * per_try, Unit::kPicoseconds,
                "time to be expected until a hit if keys are issued in sequence");
  sink.add_real(path + ".expected_time.random", tries_of(space) * per_try, Unit::kPicoseconds,
                "the same if keys are issued at random");
}

void RkeyGuessing::report(MetricSink& sink) const {
  const std::string path = "workload." + spec_.name;
  const MetricScope scope(sink, path);
  scope.count("messages", tries_, "keys tried");
  scope.count("tries", tries_, "keys tried");
  scope.count("completed", hits_, "tries that succeeded");
  scope.count("hits", hits_, "tries that succeeded");
  scope.count("naks", naks_, "tries that were refused; each puts both queue pairs in error");
  scope.time("reconnecting", reconnecting_, "time from failures until the queue pairs were back");
  report_expectations(sink, path);
  const MetricScope channel = scope.child("control_channel");
  if (spec_.control == ControlKind::kTcp)
    control_->report(channel.child("to_service"), channel.child("to_attacker"));
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/perftest_workload.h"

#include "model/quantity.h"
#include "model/random.h"

namespace rnicsim {

namespace {

/// After the client has seen the last completion of a size: longer than what was acknowledged takes
/// to be in memory.
constexpr Time kSettle = Time::us(20);

Bytes header_of(const WorkloadSpec& spec) {
  return spec.transport == WorkloadTransport::kUd ? kGrhBytes : Bytes(0);
}

}  // namespace

PerftestWorkload::PerftestWorkload(System& system, const WorkloadSpec& spec,
                                   const Scenario& scenario, unsigned client_core,
                                   unsigned server_core, ProbeSink* observer, Timeline* timeline)
    : system_(system),
      spec_(spec),
      plan_(spec),
      buffer_(plan_, header_of(spec)),
      elided_(scenario.engine.payload == PayloadMode::kElided),
      timeline_(timeline),
      to_track_(timeline != nullptr ? scenario.timeline.work_requests : 0),
      control_(ControlPath::make(system, spec_,
                                 {client_core, server_core, elided_, observer, timeline})),
      to_server_(control_->forth()),
      to_client_(control_->back()),
      client_{{system, spec_, spec.from, client_core, observer},
              seed_for(scenario.seed, spec.name + ".client"),
              {},
              {},
              {}},
      server_{{system, spec_, spec.to, server_core, observer},
              seed_for(scenario.seed, spec.name + ".server"),
              {},
              {},
              {}} {
  server_.endpoint.start(
      "server", [this](CpuTask& task) { program(server_, task, &PerftestWorkload::server); });
  client_.endpoint.start(
      "client", [this](CpuTask& task) { program(client_, task, &PerftestWorkload::client); });
}

void PerftestWorkload::program(Side& side, CpuTask& task,
                               void (PerftestWorkload::*body)(CpuTask&)) {
  try {
    (this->*body)(task);
  } catch (const PerftestFailure& failure) {
    side.failure = failure.text;
  }
  control_->leave(task, side.endpoint.host);
}

void PerftestWorkload::set_up(Side& side, CpuTask& task) {
  const std::uint8_t needed = plan_.operation == Operation::kRead ? AccessFlags::kRemoteRead
                              : is_atomic(plan_.operation)        ? AccessFlags::kRemoteAtomic
                              : is_send(plan_.operation)          ? 0
                                                                  : AccessFlags::kRemoteWrite;
  Endpoint& endpoint = side.endpoint;
  endpoint.prepare(task, buffer_.region_size(spec_.queue_pairs),
                   AccessFlags(AccessFlags::kLocalWrite | needed));
  Endpoint::Plan plan;
  plan.sends = plan_.tx_depth;
  plan.receives = plan_.rx_depth;
  plan.own_receive_cq = is_send(plan_.operation) && !plan_.bidirectional;
  plan.inline_up_to = plan_.inline_size;
  plan.access = AccessFlags(needed);
  endpoint.create_queue_pairs(task, plan);
}

Introduction PerftestWorkload::introduce(const Side& side) const {
  Introduction introduction = side.endpoint.introduce();
  introduction.address = side.endpoint.region.address;
  introduction.length = side.endpoint.region.length;
  introduction.rkey = side.endpoint.region.rkey;
  return introduction;
}

void PerftestWorkload::start_size(Side& side, CpuTask& task, const Introduction& peer, Bytes size) {
  const bool client = &side == &client_;
  side.run = std::make_unique<PerftestRun>(
      plan_, buffer_, side.endpoint, peer, size, elided_, [this, client](QueuePair& qp) {
        if (!client || to_track_ == 0) return;
        --to_track_;
        timeline_->track(WorkRequestId(static_cast<std::uint16_t>(client_.endpoint.port.number),
                                       qp.qpn(), qp.next_request()),
                         plan_.operation, spec_.from, spec_.to);
      });
  if (!client || plan_.both_send()) side.run->prepare(task);
}

void PerftestWorkload::server(CpuTask& task) {
  set_up(server_, task);
  Endpoint& endpoint = server_.endpoint;
  endpoint.doing = "waiting for the client to introduce itself";
  control_->accept(task);
  const Introduction peer = Introduction::decode(to_server_.receive(task));
  endpoint.connect(task, peer);
  to_client_.send(task, introduce(server_).encode());
  for (const Bytes size : plan_.sizes) {
    fill_memory(size);
    start_size(server_, task, peer, size);
    to_client_.send(task, number_message(size.count()));
    endpoint.doing = "asleep until the client is done";
    if (plan_.bidirectional) to_server_.receive(task);
    if (plan_.both_send())
      server_.run->send(task, false);
    else if (is_send(plan_.operation))
      server_.run->receive(task);
    to_server_.receive(task);
    task.sleep_until(task.now() + kSettle);
    finish_size(size);
  }
}

void PerftestWorkload::client(CpuTask& task) {
  set_up(client_, task);
  Endpoint& endpoint = client_.endpoint;
  endpoint.doing = "connecting to the server's control channel";
  control_->connect(task);
  to_server_.send(task, introduce(client_).encode());
  endpoint.doing = "waiting for the server to introduce itself";
  const Introduction peer = Introduction::decode(to_client_.receive(task));
  endpoint.connect(task, peer);
  note_activity();
  for (const Bytes size : plan_.sizes) {
    endpoint.doing = "waiting for the server to be ready";
    to_client_.receive(task);
    start_size(client_, task, peer, size);
    if (plan_.bidirectional) {
      to_server_.send(task, number_message(0));
      if (spec_.control == ControlKind::kFixed)
        task.sleep_until(task.now() + spec_.control_latency);  // so that both begin at once
    }
    client_.run->send(task, true);
    endpoint.doing = "done with a size";
    to_server_.send(task, number_message(size.count()));
  }
  note_activity();
}

/// Both sides are done, so both sides' times are there.
void PerftestWorkload::record(Bytes size) {
  Result result;
  result.size = size;
  if (plan_.latency) {
    result.latency = latency_of(client_.run->times(), plan_.trips());
  } else {
    result.bandwidth = bandwidth_of(client_.run->times(), size);
    if (plan_.bidirectional)
      result.bandwidth = *result.bandwidth + bandwidth_of(server_.run->times(), size);
  }
  results_.push_back(result);
  span_.include(client_.run->times().posted.front(), system_.scheduler().now());
}

/// Outside of simulated time: each side's areas with other bytes, and none that look like an
/// answer.
void PerftestWorkload::fill_memory(Bytes size) {
  if (elided_) return;
  for (Side* side : {&client_, &server_}) {
    RegionImage image = side->endpoint.image();
    for (std::uint32_t qp = 0; qp < spec_.queue_pairs; ++qp) {
      for (const std::uint64_t area : {buffer_.send_area(qp), buffer_.receive_area(qp)})
        image.fill(area, area + buffer_.used(size), seed_of(*side, size));
      if (plan_.latency && plan_.operation == Operation::kWrite)
        image.set_byte(buffer_.receive_area(qp) + size.count() - 1, 0);
    }
  }
}

void PerftestWorkload::finish_size(Bytes size) {
  record(size);
  const Bytes all = size * (plan_.iterations * spec_.queue_pairs);
  const Bytes headers = Bytes(buffer_.header()) * (plan_.iterations * spec_.queue_pairs);
  if (brings_data(plan_.operation)) {
    client_.landed += all;
    if (plan_.bidirectional) server_.landed += all;
  } else {
    server_.landed += all + headers;
    if (plan_.both_send()) client_.landed += all + headers;
  }
  if (elided_) return;
  if (is_atomic(plan_.operation)) {
    check_atomics(server_, size);
    if (plan_.bidirectional) check_atomics(client_, size);
  } else if (plan_.operation == Operation::kRead) {
    check_received(server_, client_, size);
    if (plan_.bidirectional) check_received(client_, server_, size);
  } else {
    check_received(client_, server_, size);
    if (plan_.both_send()) check_received(server_, client_, size);
  }
}

void PerftestWorkload::check_received(Side& sender, Side& receiver, Bytes size) {
  const bool numbered = plan_.latency && plan_.operation == Operation::kWrite;
  const std::uint64_t compared = size.count() - (numbered ? 1 : 0);
  const std::uint64_t places = std::min(buffer_.places(size), plan_.iterations);
  RegionImage image = receiver.endpoint.image();
  for (std::uint32_t qp = 0; qp < spec_.queue_pairs; ++qp) {
    for (std::uint64_t nth = 0; nth < places; ++nth) {
      const std::uint64_t place = buffer_.place(size, nth);
      const std::uint64_t to = buffer_.receive_area(qp) + place + buffer_.header();
      image.expect(to, to + compared, seed_of(sender, size), buffer_.send_area(qp) + place);
      if (numbered) image.expect_byte(to + compared, static_cast<std::uint8_t>(plan_.iterations));
    }
  }
  if (image.mismatched() != 0 && mismatch_.empty())
    mismatch_ = "messages of " + to_text(size) + " on host " + receiver.endpoint.host +
                ", the first byte that differs at offset " +
                std::to_string(image.first_mismatch()) + " of its region";
  mismatched_ += image.mismatched();
}

/// Every place counts the messages that went there.
void PerftestWorkload::check_atomics(Side& target, Bytes size) {
  RegionImage image = target.endpoint.image();
  const std::uint64_t places = buffer_.places(size);
  for (std::uint32_t qp = 0; qp < spec_.queue_pairs; ++qp) {
    for (std::uint64_t nth = 0; nth < places; ++nth) {
      const std::uint64_t at = buffer_.send_area(qp) + buffer_.place(size, nth);
      const std::uint64_t count =
          plan_.iterations / places + (nth < plan_.iterations % places ? 1 : 0);
      image.expect_number(at, pattern_number(seed_of(target, size), at) + count);
    }
  }
  if (image.mismatched() != 0 && mismatch_.empty())
    mismatch_ = "counters on host " + target.endpoint.host;
  mismatched_ += image.mismatched();
}

bool PerftestWorkload::finished() const {
  return client_.endpoint.finished() && server_.endpoint.finished();
}

std::vector<std::string> PerftestWorkload::waiting_for() const {
  std::vector<std::string> lines;
  for (const Side* side : {&client_, &server_}) {
    const std::string who = "workload " + spec_.name + " on host " + side->endpoint.host + ": ";
    if (!side->failure.empty())
      lines.push_back(who + side->failure);
    else if (!side->endpoint.finished())
      lines.push_back(who + (side->run ? side->run->doing() : side->endpoint.doing) + ", " +
                      std::to_string(results_.size()) + " of " +
                      std::to_string(plan_.sizes.size()) + " sizes done");
  }
  control_->explain(lines);
  return lines;
}

Workload::Landed PerftestWorkload::landed_at(const std::string& host) const {
  Landed landed;
  if (host == spec_.from) landed.least = client_.landed;
  if (host == spec_.to) landed.least = server_.landed;
  landed.exact = system_.disturbed_packets() == 0;
  return landed;
}

void PerftestWorkload::verify(std::vector<Violation>& violations) {
  if (mismatch_.empty()) return;
  violations.push_back({"data_mismatch", "workload." + spec_.name, system_.scheduler().now(),
                        std::to_string(mismatched_) + " bytes differ: " + mismatch_});
}

void PerftestWorkload::report(MetricSink& sink) const {
  const std::string path = "workload." + spec_.name;
  for (const Result& result : results_) {
    const std::string size = path + ".size_" + std::to_string(result.size.count());
    if (result.bandwidth) result.bandwidth->report(sink, size);
    if (result.latency) result.latency->report(sink, size);
  }
  const MetricScope scope(sink, path);
  scope.count("messages", plan_.messages(spec_.queue_pairs),
              "messages that the client has to send");
  scope.count("completed", plan_.iterations * spec_.queue_pairs * results_.size(),
              "of these, in the sizes that are done");
  Bytes transferred;
  for (const Result& result : results_)
    transferred +=
        result.size * (plan_.iterations * spec_.queue_pairs * (plan_.both_send() ? 2 : 1));
  scope.bytes("transferred", transferred, "payload that it moved in all, both ways");
  scope.bytes("mismatched_bytes", Bytes(mismatched_),
              "bytes of a region that differ from what they must be");
  const MetricScope channel = scope.child("control_channel");
  if (spec_.control == ControlKind::kTcp)
    control_->report(channel.child("to_server"), channel.child("to_client"));
}

}  // namespace rnicsim

// SPDX-License-Identifier: MIT
#include "scenarios/engine/pcie_bench_workload.h"

#include <algorithm>

#include "model/invariant.h"

namespace rnicsim {

namespace {

constexpr std::uint64_t kLineBytes = LastLevelCache::kLineBytes;

DmaExerciser::Kind kind_of(PcieBenchOperation operation) {
  switch (operation) {
    case PcieBenchOperation::kRead:
      return DmaExerciser::Kind::kRead;
    case PcieBenchOperation::kWrite:
      return DmaExerciser::Kind::kWrite;
    case PcieBenchOperation::kReadWrite:
      return DmaExerciser::Kind::kReadWrite;
    case PcieBenchOperation::kLatencyRead:
      return DmaExerciser::Kind::kReadLatency;
    case PcieBenchOperation::kLatencyWriteRead:
    case PcieBenchOperation::kLatencyStore:  // no job of the exerciser's
    case PcieBenchOperation::kNicTx:
    case PcieBenchOperation::kNicRx:
    case PcieBenchOperation::kNicBidirectional:
      break;
  }
  return DmaExerciser::Kind::kWriteReadLatency;
}

bool writes(PcieBenchOperation operation) {
  return operation == PcieBenchOperation::kWrite || operation == PcieBenchOperation::kReadWrite ||
         operation == PcieBenchOperation::kLatencyWriteRead;
}

}  // namespace

Bytes PcieBenchPlaces::unit(Bytes size, Bytes offset) {
  return Bytes(divide_up((size + offset).count(), kLineBytes) * kLineBytes);
}

PcieBenchPlaces::PcieBenchPlaces(const std::vector<PhysicalAddress>& frames, Bytes size,
                                 Bytes window, Bytes offset, bool random, std::uint64_t seed)
    : frames_(frames),
      unit_(unit(size, offset).count()),
      offset_(offset.count()),
      in_frame_(kFrameBytes / unit_),
      places_(window.count() / kFrameBytes * in_frame_ + window.count() % kFrameBytes / unit_),
      at_random_(random),
      random_(seed) {}

PhysicalAddress PcieBenchPlaces::next() {
  const std::uint64_t place = at_random_ ? random_.below(places_) : nth_++ % places_;
  return PhysicalAddress(frames_[place / in_frame_].value() + place % in_frame_ * unit_ + offset_);
}

PcieBenchWorkload::PcieBenchWorkload(System& system, const WorkloadSpec& spec,
                                     const Scenario& scenario)
    : server_(system.server(spec.from)),
      name_(spec.name),
      spec_(*spec.pcie_bench),
      seed_(seed_for(scenario.seed, spec.name + ".places")) {
  for (const PcieBenchOperation operation : spec_.operations)
    for (const Bytes size : spec_.sizes)
      for (const Bytes window : spec_.windows) plan_.push_back({operation, size, window});
  allocate_window();
  system.scheduler().at(spec.start, call<&PcieBenchWorkload::begin>(this));
}

Bytes PcieBenchWorkload::place_of(PcieBenchOperation operation, Bytes size) {
  Bytes place = size;
  if (is_of_rings(operation))
    for (place = Bytes(2048); place < size;) place = place * 2;
  return place;
}

void PcieBenchWorkload::allocate_window() {
  const Bytes largest = *std::max_element(spec_.windows.begin(), spec_.windows.end());
  for (std::uint64_t at = 0; at < largest.count(); at += PcieBenchPlaces::kFrameBytes) {
    const auto frame = server_.host->frames().allocate_frame(PageSize::k2MiB);
    if (!frame)
      throw InvariantBroken("workload." + name_, Time(), "the host has no memory for the window");
    frames_.push_back(*frame);
  }
  if (!spec_.rings) return;
  const auto frame = server_.host->frames().allocate_frame(PageSize::k2MiB);
  if (!frame)
    throw InvariantBroken("workload." + name_, Time(), "the host has no memory for the rings");
  rings_ = *frame;
}

void PcieBenchWorkload::begin() {
  const Measurement& next = plan_[results_.size()];
  if (next.operation == PcieBenchOperation::kLatencyStore) {
    server_.exerciser->on_store(call<&PcieBenchWorkload::stored>(this));
    store_latencies_.clear();
    return store();
  }
  prepare_cache(next.window);
  if (is_of_rings(next.operation)) return begin_rings(next);
  places_ = std::make_unique<PcieBenchPlaces>(frames_, next.size, next.window, spec_.offset,
                                              spec_.random, seed_);
  DmaExerciser::Job job;
  job.kind = kind_of(next.operation);
  job.engine = spec_.engine;
  job.bytes = static_cast<std::uint32_t>(next.size.count());
  job.count = spec_.count;
  job.next = [this] { return places_->next(); };
  server_.exerciser->run(std::move(job), call<&PcieBenchWorkload::ended>(this));
}

void PcieBenchWorkload::begin_rings(const Measurement& measurement) {
  places_ =
      std::make_unique<PcieBenchPlaces>(frames_, place_of(measurement.operation, measurement.size),
                                        measurement.window, spec_.offset, spec_.random, seed_);
  RingExerciser::Job job;
  if (measurement.operation != PcieBenchOperation::kNicRx)
    job.rings[RingExerciser::kTransmit] = spec_.rings->transmit;
  if (measurement.operation != PcieBenchOperation::kNicTx)
    job.rings[RingExerciser::kReceive] = spec_.rings->receive;
  job.memory = rings_;
  job.bytes = static_cast<std::uint32_t>(measurement.size.count());
  job.count = spec_.count;
  job.next = [this] { return places_->next(); };
  job.host = this;
  server_.exerciser->run_rings(std::move(job), call<&PcieBenchWorkload::rings_ended>(this));
}

void PcieBenchWorkload::rings_ended() {
  const RingExerciser::Outcome& outcome = server_.exerciser->rings().outcome();
  keep({outcome.lasted, {}, outcome.packets});
}

void PcieBenchWorkload::store_tail(RingExerciser::Direction ring) {
  constexpr std::uint8_t kZeros[RingExerciser::kPointerBytes] = {};
  server_.host->exerciser_pcie().mmio().mmio_write(server_.host->scheduler().now(),
                                                   DmaExerciser::tail_register(ring), kZeros,
                                                   RingExerciser::kPointerBytes);
}

void PcieBenchWorkload::load_head(RingExerciser::Direction ring, Callback done) {
  server_.host->exerciser_pcie().mmio().mmio_read(server_.host->scheduler().now(),
                                                  DmaExerciser::head_register(ring), head_,
                                                  RingExerciser::kPointerBytes, done);
}

void PcieBenchWorkload::prepare_cache(Bytes window) {
  LastLevelCache* cache = server_.host->memory().cache();
  if (cache == nullptr) return;
  cache->flush();
  if (spec_.cache == PcieBenchCache::kCold) return;
  for (std::uint64_t at = 0; at < window.count(); at += kLineBytes)
    cache->store(
        (frames_[at / PcieBenchPlaces::kFrameBytes].value() + at % PcieBenchPlaces::kFrameBytes) /
        kLineBytes);
}

/// One at a time, to the first register.
void PcieBenchWorkload::store() {
  constexpr std::uint8_t kZeros[MmioBridge::kMaxBytes] = {};
  store_left_ = server_.host->scheduler().now();
  server_.host->exerciser_pcie().mmio().mmio_write(
      store_left_, 0, kZeros, static_cast<unsigned>(plan_[results_.size()].size.count()));
}

void PcieBenchWorkload::stored() {
  store_latencies_.push_back(server_.host->scheduler().now() - store_left_);
  if (store_latencies_.size() < spec_.count) return store();
  server_.exerciser->on_store({});
  Time sum;
  for (const Time time : store_latencies_) sum += time;
  keep({sum, std::move(store_latencies_), spec_.count});
}

void PcieBenchWorkload::ended() {
  const DmaExerciser::Outcome& outcome = server_.exerciser->outcome();
  keep({outcome.lasted, outcome.latencies, spec_.count});
}

void PcieBenchWorkload::keep(Result result) {
  const Measurement& measured = plan_[results_.size()];
  std::sort(result.latencies.begin(), result.latencies.end());
  results_.push_back(std::move(result));
  if (writes(measured.operation)) written_ += measured.size * spec_.count;
  if (!finished()) begin();
}

std::vector<std::string> PcieBenchWorkload::waiting_for() const {
  if (finished()) return {};
  return {"workload " + name_ + ": " + name_of_measurement(plan_[results_.size()]) + ", " +
          std::to_string(results_.size()) + " of " + std::to_string(plan_.size()) +
          " measurements done"};
}

Workload::Landed PcieBenchWorkload::landed_at(const std::string& host) const {
  Landed landed;
  if (host == server_.name) landed.least = written_;
  return landed;
}

std::string PcieBenchWorkload::name_of_measurement(const Measurement& m) const {
  return std::string(name_of(m.operation)) + ".size_" + std::to_string(m.size.count()) +
         ".window_" + std::to_string(m.window.count());
}

void PcieBenchWorkload::report(MetricSink& sink) const {
  for (std::size_t i = 0; i < results_.size(); ++i) report_one(sink, plan_[i], results_[i]);
  const MetricScope scope(sink, "workload." + name_);
  scope.count("measurements", plan_.size(), "measurements that were asked for");
  scope.count("completed", results_.size(), "of these, that are done");
}

void PcieBenchWorkload::report_one(MetricSink& sink, const Measurement& measurement,
                                   const Result& result) const {
  const std::string path = "workload." + name_ + '.' + name_of_measurement(measurement);
  const std::vector<Time>& times = result.latencies;
  if (times.empty()) {
    const double rate = static_cast<double>(result.count) / result.lasted.as_s();
    sink.add_real(path + ".bandwidth", rate * static_cast<double>(measurement.size.count()) * 8,
                  Unit::kBitsPerSecond, "payload bits, of both ways at a time each way");
    sink.add_real(path + ".transfer_rate", rate, Unit::kPerSecond,
                  "transfers, of both ways at a time each way");
    return;
  }
  const MetricScope scope(sink, path + ".latency");
  const std::size_t n = times.size();
  scope.time("min", times.front(), "shortest");
  scope.time("typical", times[n / 2], "median");
  scope.time("p99", times[std::min(n - 1, divide_up(n * 99, 100))], "99% percentile");
  scope.time("p999", times[std::min(n - 1, divide_up(n * 999, 1000))], "99.9% percentile");
  scope.time("max", times.back(), "longest");
  sink.add_real(path + ".latency.average",
                static_cast<double>(result.lasted.ps()) / static_cast<double>(n),
                Unit::kPicoseconds, "mean");
}

}  // namespace rnicsim

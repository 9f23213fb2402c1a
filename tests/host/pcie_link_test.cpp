// SPDX-License-Identifier: MIT
#include "host/pcie_link.h"

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <random>

#include "model/invariant.h"
#include "model/scheduler.h"

namespace {

using namespace rnicsim;
using namespace rnicsim::literals;

/// A device as plain as the base protocol allows, with a choice of answers.
class FakeDevice : public sc_core::sc_module,
                   public tlm::tlm_bw_transport_if<>,
                   public tlm::tlm_fw_transport_if<>,
                   public tlm::tlm_mm_interface {
 public:
  struct Dma : tlm::tlm_generic_payload {
    std::vector<std::uint8_t> data;
    Time done;
    bool finished = false;
  };
  struct Mmio {
    Time time;
    std::uint64_t offset;
    std::vector<std::uint8_t> data;
  };
  enum class Answer { kComplete, kUpdate, kAccept };

  FakeDevice(const sc_core::sc_module_name& name, Scheduler& scheduler)
      : sc_module(name), dma("dma"), bar("bar"), scheduler_(scheduler) {
    dma.bind(*this);
    bar.bind(*this);
  }

  tlm::tlm_initiator_socket<64> dma;
  tlm::tlm_target_socket<64> bar;
  Answer response_answer = Answer::kComplete;
  Answer request_answer = Answer::kComplete;
  std::vector<Mmio> mmio;
  std::vector<const Dma*> finished;

  /// Makes a request that `start` puts on the link.
  Dma& request(bool write, std::uint64_t address, std::vector<std::uint8_t> data,
               DmaEngineId engine, DmaPurpose purpose = DmaPurpose::kPayload, bool elided = false) {
    Dma& dma = requests_.emplace_back();
    dma.data = std::move(data);
    dma.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    dma.set_address(address);
    dma.set_data_ptr(dma.data.data());
    dma.set_data_length(static_cast<unsigned>(dma.data.size()));
    dma.set_streaming_width(dma.get_data_length());
    dma.set_mm(this);
    dma.acquire();
    auto* extension = new DmaExtension;
    extension->engine = engine;
    extension->purpose = purpose;
    extension->elided = elided;
    dma.set_extension(extension);
    return dma;
  }
  Dma& write(std::uint64_t address, std::vector<std::uint8_t> data) {
    return request(true, address, std::move(data), DmaEngineId::kPosted);
  }
  Dma& read(std::uint64_t address, std::size_t bytes,
            DmaEngineId engine = DmaEngineId::kPayloadRead) {
    return request(false, address, std::vector<std::uint8_t>(bytes, 0xee), engine);
  }
  void start_at(Time time, Dma& dma) {
    started_.push_back(&dma);
    scheduler_.at(time, call<&FakeDevice::start>(this, started_.size() - 1));
  }

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    CHECK(phase == tlm::BEGIN_RESP);
    auto& dma = static_cast<Dma&>(payload);
    CHECK_FALSE(dma.finished);
    CHECK(responding_ == nullptr);
    dma.finished = true;
    dma.done = scheduler_.enter_foreign(delay);
    finished.push_back(&dma);
    switch (response_answer) {
      case Answer::kComplete:
        return tlm::TLM_COMPLETED;
      case Answer::kUpdate:
        phase = tlm::END_RESP;
        return tlm::TLM_UPDATED;
      case Answer::kAccept:
        break;
    }
    responding_ = &dma;
    scheduler_.at(dma.done + 50_ns, call<&FakeDevice::end_response>(this));
    return tlm::TLM_ACCEPTED;
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
  void free(tlm::tlm_generic_payload*) override {}

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
    CHECK(in_request_ == nullptr);
    const std::uint8_t* data = payload.get_data_ptr();
    mmio.push_back({scheduler_.enter_foreign(delay),
                    payload.get_address(),
                    {data, data + payload.get_data_length()}});
    if (payload.is_read()) std::fill_n(payload.get_data_ptr(), payload.get_data_length(), 0x5a);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    if (request_answer == Answer::kComplete) return tlm::TLM_COMPLETED;
    if (request_answer == Answer::kUpdate) {
      phase = tlm::BEGIN_RESP;
      return tlm::TLM_UPDATED;
    }
    in_request_ = &payload;
    scheduler_.at(scheduler_.now() + 100_ns, call<&FakeDevice::end_request>(this));
    return tlm::TLM_ACCEPTED;
  }
  void b_transport(tlm::tlm_generic_payload&, sc_core::sc_time&) override {
    FAIL("the link must not call b_transport");
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
  unsigned transport_dbg(tlm::tlm_generic_payload&) override { return 0; }

 private:
  void start(std::uint64_t i) {
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = scheduler_.annotation();
    const auto answer = dma->nb_transport_fw(*started_[i], phase, delay);
    if (answer == tlm::TLM_COMPLETED) {
      started_[i]->finished = true;
      finished.push_back(started_[i]);
      return;
    }
    CHECK(answer == tlm::TLM_UPDATED);
    CHECK(phase == tlm::END_REQ);
  }
  void end_response() {
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay = scheduler_.annotation();
    tlm::tlm_generic_payload& payload = *responding_;
    responding_ = nullptr;
    dma->nb_transport_fw(payload, phase, delay);
  }
  void end_request() {
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = scheduler_.annotation();
    tlm::tlm_generic_payload& payload = *in_request_;
    in_request_ = nullptr;
    bar->nb_transport_bw(payload, phase, delay);
  }

  Scheduler& scheduler_;
  std::deque<Dma> requests_;
  std::vector<Dma*> started_;
  tlm::tlm_generic_payload* responding_ = nullptr;
  tlm::tlm_generic_payload* in_request_ = nullptr;
};

struct Landings : ProbeSink {
  void record(const ProbeRecord& record) override { records.push_back(record); }
  std::vector<ProbeRecord> records;
};

struct Collected : MetricSink {
  void add(const std::string& path, std::uint64_t value, Unit, const char*) override {
    values[path] = value;
  }
  void add_real(const std::string&, double, Unit, const char*) override {}
  std::map<std::string, std::uint64_t> values;
};

struct Bench {
  explicit Bench(const PcieConfig& config = {}, const MemoryConfig& memory_config = {},
                 DmaGuard* guard = nullptr)
      : memory(memory_config),
        link("link", scheduler, config, memory, guard),
        device("device", scheduler) {
    device.dma.bind(link.dma_socket);
    link.mmio().socket.bind(device.bar);
    link.probe().attach(&landings, 1);
  }
  void run() {
    scheduler.run_until(1_ms);
    CHECK(link.idle());
  }
  std::map<std::string, std::uint64_t> metrics() const {
    Collected collected;
    link.report(MetricScope(collected, "pcie"));
    memory.report(MetricScope(collected, "memory"));
    return collected.values;
  }

  Scheduler scheduler{"scheduler"};
  Memory memory;
  PcieLink link;
  FakeDevice device;
  Landings landings;
};

std::vector<std::uint8_t> pattern(std::size_t bytes, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> data(bytes);
  for (auto& byte : data) byte = static_cast<std::uint8_t>(random());
  return data;
}

const ByteTime kByte(pcie_tlp_rate(3, 8, Bytes(256)));

}  // namespace

TEST_CASE("A 64 B read takes the published 520 ns") {
  Bench bench;
  const auto data = pattern(64);
  bench.memory.store(PhysicalAddress(0x1000), data.data(), 64);
  auto& read = bench.device.read(0x1000, 64);
  bench.device.start_at(1_us, read);
  bench.run();
  CHECK(read.is_response_ok());
  CHECK(read.data == data);
  // Up, root complex, memory, root complex; the completion runs without a gap.
  const Time memory_at = 1_us + kByte.of(24_B) + 125_ns + 25_ns;
  const Time line = ByteTime(BitRate::gbps(480)).of(64_B);
  const Time data_at = memory_at + 205_ns + (line > kByte.of(84_B) ? line : Time()) + 25_ns;
  CHECK(read.done.ps() == (data_at + kByte.of(84_B) + 125_ns).ps());
  CHECK((read.done - 1_us).as_ns() == Approx(520).margin(1));
  CHECK(read.get_extension<DmaExtension>()->last_byte == read.done);
  CHECK(read.get_extension<DmaExtension>()->first_byte.ps() ==
        (data_at + kByte.of(20_B) + 125_ns).ps());
}

TEST_CASE("A 4 KiB write is handed when sent and visible 260 ns later") {
  Bench bench;
  const auto data = pattern(4096);
  auto& write = bench.device.write(0x2000, data);
  bench.device.start_at(1_us, write);
  const Time handed = 1_us + kByte.of(Bytes(4096 + 16 * 24));
  bench.scheduler.run_until(handed + 259_ns);
  CHECK(write.finished);
  CHECK(write.done.ps() == handed.ps());
  std::vector<std::uint8_t> back(4096);
  bench.memory.load(PhysicalAddress(0x2000), back.data(), back.size());
  CHECK(back == std::vector<std::uint8_t>(4096, 0));
  bench.run();
  bench.memory.load(PhysicalAddress(0x2000), back.data(), back.size());
  CHECK(back == data);
  REQUIRE(bench.landings.records.size() == 1);
  const Time last = handed + 125_ns + 25_ns + 110_ns;
  CHECK(bench.landings.records[0].time.ps() == last.ps());
  CHECK(bench.landings.records[0].a ==
        static_cast<std::uint64_t>((1_us + kByte.of(24_B) + 150_ns).ps()));
  CHECK(bench.landings.records[0].b == 4096);
}

TEST_CASE("A completion entry is never visible before the payload that was sent before it") {
  Bench bench;
  struct Poller {
    Bench& bench;
    std::vector<std::uint8_t> payload;
    Time seen;
    void see() {
      seen = bench.scheduler.now();
      bench.memory.load(PhysicalAddress(0x4000), payload.data(), payload.size());
    }
  };
  Poller poller{bench, std::vector<std::uint8_t>(4096), {}};
  bench.memory.watch(PhysicalAddress(0x9000), call<&Poller::see>(&poller));
  const auto data = pattern(4096);
  bench.device.start_at(1_us, bench.device.write(0x4000, data));
  bench.device.start_at(1_us, bench.device.request(true, 0x9000, pattern(64), DmaEngineId::kPosted,
                                                   DmaPurpose::kCompletionQueue));
  bench.run();
  CHECK(poller.payload == data);
  CHECK(poller.seen > bench.landings.records.at(0).time);
}

TEST_CASE("A read sees the write that the device sent before it") {
  MemoryConfig memory;
  memory.write_latency = 2_us;  // much slower than the read's way
  Bench bench({}, memory);
  const auto data = pattern(256);
  bench.device.start_at(1_us, bench.device.write(0x4000, data));
  auto& read = bench.device.read(0x4000, 256);
  bench.device.start_at(1_us, read);
  bench.run();
  CHECK(read.data == data);
}

TEST_CASE("A store reaches the device's register 150 ns after it left the CPU") {
  Bench bench;
  const std::uint8_t doorbell[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  bench.link.mmio().mmio_write(1_us, 0x1800, doorbell, 8);
  bench.link.mmio().mmio_write(1_us, 0x1808, doorbell, 4);
  bench.run();
  REQUIRE(bench.device.mmio.size() == 2);
  CHECK(bench.device.mmio[0].offset == 0x1800);
  CHECK(bench.device.mmio[0].data == std::vector<std::uint8_t>(doorbell, doorbell + 8));
  CHECK(bench.device.mmio[0].time.ps() == (1_us + 25_ns + kByte.of(32_B) + 125_ns).ps());
  CHECK(bench.device.mmio[1].time.ps() == (1_us + 25_ns + kByte.of(Bytes(32 + 28)) + 125_ns).ps());
}

TEST_CASE("A load stays behind the store before it and brings the register's value") {
  Bench bench;
  struct Loaded {
    Bench& bench;
    Time at;
    void note() { at = bench.scheduler.now(); }
  };
  Loaded loaded{bench, {}};
  std::uint8_t into[4] = {};
  const std::uint8_t store[8] = {};
  bench.link.mmio().mmio_write(1_us, 0, store, 8);
  bench.link.mmio().mmio_read(1_us, 8, into, 4, call<&Loaded::note>(&loaded));
  bench.run();
  REQUIRE(bench.device.mmio.size() == 2);
  CHECK(bench.device.mmio[0].offset == 0);
  const Time at_device = 1_us + 25_ns + kByte.of(Bytes(32 + 24)) + 125_ns;
  CHECK(bench.device.mmio[1].time.ps() == at_device.ps());
  CHECK(into[3] == 0x5a);
  CHECK(loaded.at.ps() == (at_device + kByte.of(24_B) + 125_ns + 25_ns).ps());
}

TEST_CASE("Stores wait while the device has not ended the request before") {
  Bench bench;
  bench.device.request_answer = FakeDevice::Answer::kAccept;
  const std::uint8_t store[8] = {};
  for (unsigned i = 0; i < 3; ++i) bench.link.mmio().mmio_write(1_us, i * 8, store, 8);
  bench.run();
  REQUIRE(bench.device.mmio.size() == 3);
  CHECK(bench.device.mmio[1].time - bench.device.mmio[0].time == 100_ns);
  CHECK(bench.device.mmio[2].time - bench.device.mmio[1].time == 100_ns);
}

TEST_CASE("A device that responds at once on the forward path is taken at its word") {
  Bench bench;
  bench.device.request_answer = FakeDevice::Answer::kUpdate;
  const std::uint8_t store[8] = {};
  for (unsigned i = 0; i < 3; ++i) bench.link.mmio().mmio_write(1_us, i * 8, store, 8);
  bench.run();
  CHECK(bench.device.mmio.size() == 3);
}

TEST_CASE("Responses wait while the device has not ended the one before") {
  Bench bench;
  bench.device.response_answer = FakeDevice::Answer::kAccept;
  for (unsigned i = 0; i < 4; ++i) bench.device.start_at(1_us, bench.device.read(i * 64, 64));
  bench.run();
  REQUIRE(bench.device.finished.size() == 4);
  CHECK(bench.device.finished[1]->done - bench.device.finished[0]->done == 50_ns);
  CHECK(bench.device.finished[3]->done - bench.device.finished[2]->done == 50_ns);
}

TEST_CASE("A device may end the response in its answer") {
  Bench bench;
  bench.device.response_answer = FakeDevice::Answer::kUpdate;
  for (unsigned i = 0; i < 4; ++i) bench.device.start_at(1_us, bench.device.read(i * 64, 64));
  bench.run();
  CHECK(bench.device.finished.size() == 4);
}

TEST_CASE("Requests at odd addresses across a 4 KiB boundary are split and arrive whole") {
  Bench bench;
  const auto data = pattern(4096, 2);
  bench.device.start_at(1_us, bench.device.write(0x1f03, data));
  auto& read = bench.device.read(0x1f03, 4096);
  bench.device.start_at(3_us, read);
  bench.run();
  CHECK(read.data == data);
  CHECK(bench.landings.records.size() == 1);
  const auto metrics = bench.metrics();
  CHECK(metrics.at("pcie.upstream.tlps_posted") == 1 + 16);
  CHECK(metrics.at("pcie.upstream.tlps_nonposted") == 1 + 8);
  CHECK(metrics.at("pcie.upstream.bytes") == 4096 + 17 * 24 + 9 * 24);
}

TEST_CASE("Addresses outside memory: a read is answered with an error, a write is counted") {
  MemoryConfig memory;
  memory.size = 8_MiB;
  Bench bench({}, memory);
  auto& read = bench.device.read((8 << 20) - 32, 64);
  auto& write = bench.device.write(std::uint64_t{1} << 50, pattern(64));
  bench.device.start_at(1_us, read);
  bench.device.start_at(1_us, write);
  bench.run();
  CHECK(read.get_response_status() == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(read.data == std::vector<std::uint8_t>(64, 0xee));
  CHECK(write.is_response_ok());  // posted: nobody can tell the device
  CHECK(bench.metrics().at("pcie.unsupported_reads") == 1);
  CHECK(bench.metrics().at("pcie.unsupported_writes") == 1);
  CHECK(bench.landings.records.empty());
}

TEST_CASE("Requests that are no DMA requests are refused at once") {
  Bench bench;
  auto& empty = bench.device.read(0, 64);
  empty.set_data_length(0);
  auto& enabled = bench.device.write(0, pattern(64));
  enabled.set_byte_enable_ptr(enabled.data.data());
  auto& large = bench.device.read(0, 4097);
  for (auto* dma : {&empty, &enabled, &large}) bench.device.start_at(1_us, *dma);
  bench.run();
  CHECK(empty.get_response_status() == tlm::TLM_BURST_ERROR_RESPONSE);
  CHECK(enabled.get_response_status() == tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  CHECK(large.get_response_status() == tlm::TLM_BURST_ERROR_RESPONSE);
}

TEST_CASE("Elided transfers take the same time, move no bytes and touch no frame") {
  Bench bench;
  std::vector<FakeDevice::Dma*> carried;
  std::vector<FakeDevice::Dma*> elided;
  for (const bool elide : {false, true}) {
    const Time base = elide ? 500_us : 100_us;
    for (unsigned i = 0; i < 20; ++i) {
      const std::uint64_t address = (elide ? 1 << 24 : 0) + i * 4096;
      auto& write = bench.device.request(true, address, pattern(4096), DmaEngineId::kPosted,
                                         DmaPurpose::kPayload, elide);
      auto& read = bench.device.request(false, address, std::vector<std::uint8_t>(1024),
                                        DmaEngineId::kPayloadRead, DmaPurpose::kPayload, elide);
      bench.device.start_at(base + 300_ns * i, write);
      bench.device.start_at(base + 50_ns + 200_ns * i, read);
      (elide ? elided : carried).insert((elide ? elided : carried).end(), {&write, &read});
    }
  }
  bench.run();
  for (std::size_t i = 0; i < carried.size(); ++i)
    CHECK((elided[i]->done - carried[i]->done).ps() == (400_us).ps());
  CHECK(bench.metrics().at("memory.frames") == 20);
}

TEST_CASE("A foreign initiator that knows no extension reads and writes as well") {
  Bench bench;
  const auto data = pattern(512);
  auto& write = bench.device.write(0x3000, data);
  auto& read = bench.device.read(0x3000, 512);
  write.clear_extension(write.get_extension<DmaExtension>());
  read.clear_extension(read.get_extension<DmaExtension>());
  bench.device.start_at(1_us, write);
  bench.device.start_at(2_us, read);
  bench.run();
  CHECK(read.data == data);
}

TEST_CASE("Debug access moves bytes without time") {
  Bench bench;
  auto& write = bench.device.write(0x3000, pattern(100));
  CHECK(bench.device.dma->transport_dbg(write) == 100);
  auto& read = bench.device.read(0x3000, 100);
  CHECK(bench.device.dma->transport_dbg(read) == 100);
  CHECK(read.data == write.data);
}

TEST_CASE("Back-to-back 4 KiB reads and writes reach the published ceilings") {
  Bench bench;
  constexpr unsigned kCount = 400;
  for (unsigned i = 0; i < kCount; ++i) {
    for (const bool write : {true, false}) {
      auto& dma = bench.device.request(write, i * 4096, std::vector<std::uint8_t>(4096),
                                       write ? DmaEngineId::kPosted : DmaEngineId::kPayloadRead,
                                       DmaPurpose::kPayload, true);
      bench.device.start_at(write ? 1_us : 500_us, dma);
    }
  }
  bench.run();
  Time last_write;
  Time last_read;
  for (const auto* dma : bench.device.finished)
    (dma->is_write() ? last_write : last_read) = dma->done;
  const double bits = kCount * 4096.0 * 8;
  CHECK(bits / (last_write - 1_us).as_ns() == Approx(52.92).epsilon(0.001));
  // Less the way there and back before the first byte.
  CHECK(bits / (last_read - 500_us - 510_ns).as_ns() == Approx(53.69).epsilon(0.001));
}

TEST_CASE("A memory slower than the link slows writes through their credits") {
  MemoryConfig memory;
  memory.bandwidth = BitRate::gbps(16);
  Bench bench({}, memory);
  constexpr unsigned kCount = 200;
  for (unsigned i = 0; i < kCount; ++i)
    bench.device.start_at(1_us,
                          bench.device.request(true, i * 4096, std::vector<std::uint8_t>(4096),
                                               DmaEngineId::kPosted, DmaPurpose::kPayload, true));
  bench.run();
  const Time handed = bench.device.finished.back()->done;
  const Time landed = bench.landings.records.back().time;
  CHECK(kCount * 4096.0 * 8 / (landed - 1_us).as_ns() == Approx(16).epsilon(0.02));
  // What was handed but has not landed fits the receiver's 16 KiB and what the link holds.
  CHECK((landed - handed).as_ns() < 32768 * 8 / 16.0);
  CHECK(bench.metrics().at("pcie.upstream.stalled.posted_credits") > 0);
}

TEST_CASE("At most two callbacks of the scheduler for a read and two for a write") {
  Bench bench;
  constexpr unsigned kCount = 100;
  for (unsigned i = 0; i < kCount; ++i)
    bench.device.start_at(1_us * (1 + i), bench.device.read(i * 4096, 4096));
  bench.scheduler.run_until(200_us);
  const std::uint64_t reads = bench.scheduler.callbacks();
  CHECK(reads <= 3 * kCount);  // one of them is the device's own start
  for (unsigned i = 0; i < kCount; ++i)
    bench.device.start_at(200_us + 1_us * (1 + i), bench.device.write(i * 4096, pattern(4096)));
  bench.run();
  CHECK(bench.scheduler.callbacks() - reads <= 3 * kCount);
}

namespace {

const Time kWriteEntered = 1_us + kByte.of(64_B + 24_B) + 125_ns;
const Time kReadEntered = 1_us + kByte.of(24_B) + 125_ns;

/// A link whose guard has one region of one page, and what came of one request at 1 us.
struct GuardedBench {
  DmaGuard guard{"host.B.nic0.pcie"};
  Bench bench{{}, {}, &guard};
  PhysicalAddress frame{0x3000};
  DmaGuard::Frames frames{&frame, 1, 12};
  std::string broken;
  Time broken_at;

  void add() { guard.add(1, AccessFlags(AccessFlags::kRemoteWrite), frames, 0, 4096); }
  void remove() { guard.remove(1, frames); }
  FakeDevice::Dma& request(bool write, std::uint64_t address,
                           DmaPurpose purpose = DmaPurpose::kPayload) {
    auto& dma =
        bench.device.request(write, address, pattern(64),
                             write ? DmaEngineId::kPosted : DmaEngineId::kPayloadRead, purpose);
    bench.device.start_at(1_us, dma);
    return dma;
  }
  void run() {
    try {
      bench.run();
    } catch (const InvariantBroken& error) {
      broken = error.kind();
      broken_at = error.when();
    }
  }
};

}  // namespace

TEST_CASE("Payload that the guard permits lands and is read as without one") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(true, 0x3fc0);
  guarded.request(false, 0x3000);
  guarded.run();
  CHECK(guarded.broken.empty());
  CHECK(guarded.bench.landings.records.size() == 1);
}

TEST_CASE("A stray write ends the run as of its entry to the root complex, before it lands") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(true, 0x4000);
  guarded.run();
  CHECK(guarded.broken == "stray_write");
  CHECK(guarded.broken_at == kWriteEntered);
  CHECK(guarded.bench.landings.records.empty());
  std::uint8_t byte = 0xff;
  guarded.bench.memory.load(PhysicalAddress(0x4000), &byte, 1);
  CHECK(byte == 0);
}

TEST_CASE("A stray read ends the run at its entry to the root complex") {
  GuardedBench guarded;
  guarded.add();
  auto& read = guarded.request(false, 0x2fc0);
  guarded.run();
  CHECK(guarded.broken == "stray_read");
  CHECK(guarded.broken_at == kReadEntered);
  CHECK_FALSE(read.finished);
}

TEST_CASE("A region that goes still counts for a write that has entered and not landed") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(true, 0x3000);
  guarded.bench.scheduler.at(kWriteEntered, call<&GuardedBench::remove>(&guarded));
  guarded.run();
  CHECK(guarded.broken.empty());
  CHECK(guarded.bench.landings.records.size() == 1);
}

TEST_CASE("A region that goes a picosecond before a write enters makes it a stray write") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(true, 0x3000);
  guarded.bench.scheduler.at(kWriteEntered - Time::ps(1), call<&GuardedBench::remove>(&guarded));
  guarded.run();
  CHECK(guarded.broken == "stray_write");
  CHECK(guarded.broken_at == kWriteEntered);
}

TEST_CASE("A region that comes does not count for a write that has entered and not landed") {
  GuardedBench guarded;
  guarded.request(true, 0x3000);
  guarded.bench.scheduler.at(kWriteEntered, call<&GuardedBench::add>(&guarded));
  guarded.run();
  CHECK(guarded.broken == "stray_write");
  CHECK(guarded.broken_at == kWriteEntered);
}

TEST_CASE("A region that comes a picosecond before a write enters counts for it") {
  GuardedBench guarded;
  guarded.request(true, 0x3000);
  guarded.bench.scheduler.at(kWriteEntered - Time::ps(1), call<&GuardedBench::add>(&guarded));
  guarded.run();
  CHECK(guarded.broken.empty());
}

TEST_CASE("A read of another engine settles earlier writes only once the guard has been asked") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(true, 0x4000);
  guarded.bench.device.start_at(
      1_us, guarded.bench.device.request(false, 0x9000, std::vector<std::uint8_t>(64),
                                         DmaEngineId::kQueueRead, DmaPurpose::kSendQueue));
  guarded.run();
  CHECK(guarded.broken == "stray_write");
  CHECK(guarded.broken_at == kWriteEntered);
}

TEST_CASE("A region that goes before a read enters makes it a stray read") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(false, 0x3000);
  guarded.bench.scheduler.at(kReadEntered - Time::ps(1), call<&GuardedBench::remove>(&guarded));
  guarded.run();
  CHECK(guarded.broken == "stray_read");
  CHECK(guarded.broken_at == kReadEntered);
}

TEST_CASE("A region that goes after a read entered still counts for it") {
  GuardedBench guarded;
  guarded.add();
  guarded.request(false, 0x3000);
  guarded.bench.scheduler.at(kReadEntered + Time::ps(1), call<&GuardedBench::remove>(&guarded));
  guarded.run();
  CHECK(guarded.broken.empty());
}

TEST_CASE("The guard is not asked for queues and tables, nor for what says no purpose") {
  GuardedBench guarded;
  for (const DmaPurpose purpose : {DmaPurpose::kCompletionQueue, DmaPurpose::kQpContext})
    guarded.request(true, 0x9000, purpose);
  guarded.request(false, 0x9000, DmaPurpose::kTranslationTable);
  auto& foreign = guarded.request(true, 0x9000);
  foreign.clear_extension(foreign.get_extension<DmaExtension>());
  guarded.run();
  CHECK(guarded.broken.empty());
}

TEST_CASE("A blocking access is asked for as well") {
  GuardedBench guarded;
  guarded.add();
  sc_core::sc_time delay;
  auto& inside = guarded.bench.device.write(0x3000, pattern(64));
  guarded.bench.device.dma->b_transport(inside, delay);
  CHECK(inside.is_response_ok());
  auto& outside = guarded.bench.device.write(0x4000, pattern(64));
  CHECK_THROWS_AS(guarded.bench.device.dma->b_transport(outside, delay), InvariantBroken);
  auto& read = guarded.bench.device.read(0x4000, 64);
  CHECK_THROWS_AS(guarded.bench.device.dma->b_transport(read, delay), InvariantBroken);
}

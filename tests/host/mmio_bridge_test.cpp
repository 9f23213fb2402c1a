// SPDX-License-Identifier: MIT
#include "host/mmio_bridge.h"

#include <catch2/catch.hpp>
#include <vector>

#include "model/invariant.h"
#include "model/scheduler.h"
#include "tests/support/metric_recorder.h"

namespace {

using namespace rnicsim;
using namespace rnicsim::literals;

/// The registers of a device; every load reads 0x5a.
class Registers : public sc_core::sc_module, private tlm::tlm_fw_transport_if<> {
 public:
  struct Access {
    Time time;
    bool write;
    std::uint64_t offset;
    std::vector<std::uint8_t> data;
    Time first_byte;
    Time last_byte;
    bool operator==(const Access& o) const {
      return time == o.time && write == o.write && offset == o.offset && data == o.data &&
             first_byte == o.first_byte && last_byte == o.last_byte;
    }
  };
  enum class Answer {
    kComplete,     ///< at once, `delay` later
    kRespond,      ///< BEGIN_RESP at once
    kEndRequest,   ///< END_REQ at once, BEGIN_RESP 100 ns later
    kRespondLate,  ///< BEGIN_RESP alone, 100 ns later
    kBothLate,     ///< END_REQ 60 ns later, BEGIN_RESP 100 ns later
  };

  Registers(const sc_core::sc_module_name& name, Scheduler& scheduler)
      : sc_module(name), socket("socket"), scheduler_(scheduler) {
    socket.bind(*this);
  }

  tlm::tlm_target_socket<64> socket;
  Answer answer = Answer::kComplete;
  Time delay;
  tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
  std::vector<Access> accesses;
  unsigned ended = 0;  ///< END_RESP phases

  std::vector<Time> times() const {
    std::vector<Time> all;
    for (const Access& access : accesses) all.push_back(access.time);
    return all;
  }

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& annotated) override {
    if (phase == tlm::END_RESP) {
      ++ended;
      return tlm::TLM_COMPLETED;
    }
    note(payload, scheduler_.enter_foreign(annotated));
    switch (answer) {
      case Answer::kComplete:
        annotated += sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(delay.ps()));
        return tlm::TLM_COMPLETED;
      case Answer::kRespond:
        phase = tlm::BEGIN_RESP;
        return tlm::TLM_UPDATED;
      case Answer::kBothLate:
        later(60_ns, tlm::END_REQ, payload);
        break;
      default:
        break;
    }
    later(100_ns, tlm::BEGIN_RESP, payload);
    if (answer != Answer::kEndRequest) return tlm::TLM_ACCEPTED;
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }
  void note(tlm::tlm_generic_payload& payload, Time time) {
    const auto* extension = payload.get_extension<DmaExtension>();
    CHECK(extension->purpose == DmaPurpose::kMmio);
    std::uint8_t* data = payload.get_data_ptr();
    if (payload.is_read()) std::fill_n(data, payload.get_data_length(), 0x5a);
    payload.set_response_status(status);
    accesses.push_back({time,
                        payload.is_write(),
                        payload.get_address(),
                        {data, data + payload.get_data_length()},
                        extension->first_byte,
                        extension->last_byte});
  }
  void later(Time after, tlm::tlm_phase_enum phase, tlm::tlm_generic_payload& payload) {
    due_.push_back({phase, &payload});
    scheduler_.at(scheduler_.now() + after, call<&Registers::send>(this, due_.size() - 1));
  }
  void send(std::uint64_t index) {
    tlm::tlm_phase phase = due_[index].phase;
    sc_core::sc_time annotated = scheduler_.annotation();
    socket->nb_transport_bw(*due_[index].payload, phase, annotated);
  }
  void b_transport(tlm::tlm_generic_payload&, sc_core::sc_time&) override {
    FAIL("the bridge must not call b_transport");
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
  unsigned transport_dbg(tlm::tlm_generic_payload&) override { return 0; }

  struct Due {
    tlm::tlm_phase_enum phase;
    tlm::tlm_generic_payload* payload;
  };
  Scheduler& scheduler_;
  std::vector<Due> due_;
};

/// Gen1 x8 at its raw rate: 500 ps a byte; 26 B a request, 22 B a completion; 125 ns each way,
/// 25 ns through the root complex.
PcieConfig half_nanosecond_a_byte() {
  PcieConfig config;
  config.generation = 1;
  config.accounting = PcieAccounting::kAtc16;
  return config;
}

PcieDirectionConfig direction(Time delivery) {
  PcieDirectionConfig direction = half_nanosecond_a_byte().direction(125_ns);
  direction.delivery_delay = {delivery};
  return direction;
}

/// The bridge between both directions of a link; its socket must stand in a module.
struct Root : sc_core::sc_module {
  Root(const sc_core::sc_module_name& name, Scheduler& scheduler)
      : sc_module(name),
        down(scheduler, direction(125_ns)),
        up(scheduler, direction(Time())),  // the stream of writes: delivered when sent
        bridge(scheduler, half_nanosecond_a_byte(), down, 0, up, 0) {}
  PcieDirection down;
  PcieDirection up;
  MmioBridge bridge;
};

struct Bench {
  Bench() { bridge.socket.bind(device.socket); }
  void store(Time at, std::uint64_t offset, unsigned bytes) {
    bridge.mmio_write(at, offset, data, bytes);
  }
  void store_64() { store(1_us, 0, 64); }
  void load(Time at, std::uint64_t offset, unsigned bytes) {
    bridge.mmio_read(at, offset, into, bytes, call<&Bench::note>(this));
  }
  void note() { loaded.push_back(scheduler.now()); }
  void run() {
    scheduler.run_until(1_ms);
    CHECK(bridge.idle());
  }
  std::uint64_t metric(const char* name) const {
    test::MetricRecorder recorder;
    bridge.report(MetricScope(recorder, "mmio"));
    return recorder.values.at(std::string("mmio.") + name);
  }

  Scheduler scheduler{"scheduler"};
  Root root{"root", scheduler};
  MmioBridge& bridge = root.bridge;
  Registers device{"device", scheduler};
  const std::uint8_t data[64] = {1, 2, 3, 4, 5, 6, 7, 8};
  std::uint8_t into[64] = {};
  std::vector<Time> loaded;
};

using Times = std::vector<Time>;

}  // namespace

TEST_CASE("Stores arrive in the order of the calls, each behind the bytes of the one before") {
  Bench bench;
  bench.store(1_us, 0x1800, 8);
  bench.store(1_us, 0x1808, 4);
  bench.run();
  // 34 B are 17 ns, 30 B are 15 ns, from 1025 ns on.
  CHECK(bench.device.accesses ==
        std::vector<Registers::Access>{
            {1167_ns, true, 0x1800, {1, 2, 3, 4, 5, 6, 7, 8}, 1150_ns, 1167_ns},
            {1182_ns, true, 0x1808, {1, 2, 3, 4}, 1167_ns, 1182_ns}});
  CHECK(bench.metric("writes") == 2);
  CHECK(bench.metric("reads") == 0);
  CHECK(bench.metric("errors") == 0);
}

TEST_CASE("A store that left its core in the past leaves the root complex from now") {
  Bench bench;
  bench.scheduler.at(3_us, call<&Bench::store_64>(&bench));
  bench.run();
  CHECK(bench.device.times() == Times{3_us + 25_ns + 45_ns + 125_ns});  // 90 B
}

TEST_CASE("A load waits behind the store before it, and its value comes back at its own time") {
  Bench bench;
  bench.store(1_us, 0, 8);
  bench.load(1_us, 8, 4);
  bench.scheduler.run_until(1342_ns);
  CHECK(bench.loaded.empty());
  CHECK_FALSE(bench.bridge.idle());
  CHECK(bench.into[0] == 0);
  bench.run();
  // A request of 26 B behind the store, a completion of 26 B.
  CHECK(bench.device.times() == Times{1167_ns, 1180_ns});
  CHECK(bench.loaded == Times{1180_ns + 13_ns + 125_ns + 25_ns});
  CHECK(std::vector<std::uint8_t>(bench.into, bench.into + 5) ==
        std::vector<std::uint8_t>{0x5a, 0x5a, 0x5a, 0x5a, 0});
  CHECK(bench.metric("reads") == 1);
}

TEST_CASE("A load's completion does not pass the writes that the device sent before") {
  Bench bench;
  struct Sent {
    void at(std::uint64_t, const TrainTimes& times) { end = times.end; }
    Time end;
  } sent;
  // 1000 B take the wire from 1100 ns to 1600 ns.
  bench.root.up.send(
      0, {TlpClass::kPosted, 4, 1000, 64, 280, 16, 1100_ns, deliver_to<&Sent::at>(&sent), 0});
  bench.load(1_us, 0, 8);
  bench.run();
  CHECK(sent.end == 1600_ns);
  CHECK(bench.device.times() == Times{1163_ns});
  CHECK(bench.loaded == Times{1600_ns + 15_ns + 125_ns + 25_ns});  // 30 B
}

TEST_CASE("A delay that the device annotates on its answer comes before the completion") {
  Bench bench;
  bench.device.delay = 40_ns;
  bench.load(1_us, 0, 4);
  bench.store(1_us, 8, 8);
  bench.run();
  CHECK(bench.loaded == Times{1163_ns + 40_ns + 13_ns + 150_ns});
  // The request phase has ended all the same.
  CHECK(bench.device.times() == Times{1163_ns, 1180_ns});
}

TEST_CASE("A response in the answer ends the request and is ended in turn") {
  Bench bench;
  bench.device.answer = Registers::Answer::kRespond;
  bench.load(1_us, 0, 4);
  bench.store(1_us, 8, 8);
  bench.run();
  CHECK(bench.device.ended == 2);
  CHECK(bench.device.times() == Times{1163_ns, 1180_ns});
  CHECK(bench.loaded == Times{1163_ns + 13_ns + 150_ns});
}

TEST_CASE("The next access is shown when the device has ended the request before") {
  Bench bench;
  const auto three = [&](Registers::Answer answer) {
    bench.device.answer = answer;
    bench.device.accesses.clear();
    bench.loaded.clear();
    const Time start = bench.scheduler.now() + 1_us;
    bench.load(start, 0, 4);
    bench.load(start, 0, 4);
    bench.store(start, 8, 8);
    bench.run();
    Times all = bench.device.times();
    all.insert(all.end(), bench.loaded.begin(), bench.loaded.end());
    for (Time& time : all) time -= start;
    return all;
  };
  // On the link the three arrive 13 and 17 ns after one another, the first at 163 ns.
  CHECK(three(Registers::Answer::kEndRequest) == Times{163_ns, 176_ns, 193_ns, 426_ns, 439_ns});
  CHECK(three(Registers::Answer::kBothLate) == Times{163_ns, 223_ns, 283_ns, 426_ns, 486_ns});
  CHECK(three(Registers::Answer::kRespondLate) == Times{163_ns, 263_ns, 363_ns, 426_ns, 526_ns});
}

TEST_CASE("A load that the device refuses reads ones and completes without data") {
  Bench bench;
  bench.device.status = tlm::TLM_ADDRESS_ERROR_RESPONSE;
  bench.load(1_us, 0, 4);
  bench.store(1_us, 8, 8);
  bench.run();
  CHECK(bench.loaded == Times{1163_ns + 11_ns + 150_ns});  // 22 B
  CHECK(std::vector<std::uint8_t>(bench.into, bench.into + 5) ==
        std::vector<std::uint8_t>{0xff, 0xff, 0xff, 0xff, 0});
  CHECK(bench.metric("errors") == 2);
}

TEST_CASE("A store or load of no byte or of more than 64 is a broken invariant") {
  Bench bench;
  CHECK_THROWS_AS(bench.store(1_us, 0, 0), InvariantBroken);
  CHECK_THROWS_AS(bench.store(1_us, 0, 65), InvariantBroken);
  CHECK_THROWS_AS(bench.load(1_us, 0, 65), InvariantBroken);
  bench.run();
  CHECK(bench.device.accesses.empty());
}

// SPDX-License-Identifier: MIT
#include "nic/pcie_endpoint.h"

#include <catch2/catch.hpp>

#include "model/invariant.h"
#include "tests/support/endpoint_bench.h"
#include "tests/support/own_process.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::EndpointBench;
using test::Noted;

namespace {

constexpr Time kRead = EndpointBench::kRead;
constexpr Time kWrite = EndpointBench::kWrite;

struct Bench : EndpointBench {
  using EndpointBench::EndpointBench;
  DmaRequest read(std::uint64_t address, std::uint32_t bytes, std::uint64_t note,
                  DmaEngineId engine = DmaEngineId::kPayloadRead) {
    DmaRequest request;
    request.engine = engine;
    request.address = PhysicalAddress(address);
    request.bytes = bytes;
    request.data = buffers.emplace_back(bytes).data();
    request.done = notes.noting(note);
    return request;
  }
  DmaRequest write(std::uint64_t address, std::vector<std::uint8_t> bytes, std::uint64_t note) {
    DmaRequest request;
    request.write = true;
    request.address = PhysicalAddress(address);
    request.bytes = static_cast<std::uint32_t>(bytes.size());
    buffers.push_back(std::move(bytes));
    request.data = buffers.back().data();
    request.done = notes.noting(note);
    return request;
  }
  /// A write whose bytes are others right behind submit().
  void write_and_overwrite(std::uint64_t address) {
    std::uint8_t bytes[4] = {1, 2, 3, 4};
    DmaRequest request;
    request.write = true;
    request.address = PhysicalAddress(address);
    request.bytes = 4;
    request.data = bytes;
    pcie.submit(request);
    bytes[0] = 99;
  }
  void submit_at(Time time, DmaRequest request) {
    at(time, [this, request] { pcie.submit(request); });
  }
  std::deque<std::vector<std::uint8_t>> buffers;
};

PcieEndpointConfig with_tags(std::uint32_t tags) {
  PcieEndpointConfig config;
  config.tags = tags;
  return config;
}

}  // namespace

TEST_CASE("a read brings its bytes and a write delivers them, each after its latency") {
  Bench bench;
  bench.memory.at(0x2000)[5] = 0xab;
  bench.submit_at(10_ns, bench.read(0x2000, 64, 1));
  bench.submit_at(20_ns, bench.write(0x3000, {1, 2, 3}, 2));
  bench.run();
  CHECK(bench.notes.list == Noted{{2, 20_ns + kWrite}, {1, 10_ns + kRead}});
  CHECK(bench.buffers[0][5] == 0xab);
  CHECK(bench.memory.at(0x3000)[2] == 3);
  CHECK(bench.pcie.idle());
}

TEST_CASE("a read that crosses a 4 KiB boundary needs one tag more than its length says") {
  Bench bench(with_tags(2));  // Max_Read_Request 512 B
  bench.submit_at(10_ns, bench.read(0x2000 - 256, 512, 1));
  bench.submit_at(10_ns, bench.read(0x4000, 512, 2));
  bench.run();
  CHECK(bench.notes.list == Noted{{1, 10_ns + kRead}, {2, 10_ns + kRead * 2}});
}

TEST_CASE("a short write is copied when it is submitted") {
  Bench bench;
  bench.at(10_ns, [&] { bench.write_and_overwrite(0x3000); });
  bench.run();
  CHECK(bench.memory.at(0x3000)[0] == 1);
}

TEST_CASE("a short write that waits behind a read of its engine was copied when it was submitted") {
  Bench bench(with_tags(8));
  bench.submit_at(10_ns, bench.read(0x0, 4096, 1));  // takes all eight
  bench.submit_at(10_ns, bench.read(0x1000, 8, 2, DmaEngineId::kPosted));
  bench.at(10_ns, [&] { bench.write_and_overwrite(0x3000); });
  bench.run();
  CHECK(bench.memory.at(0x3000)[0] == 1);
}

TEST_CASE("a read waits until all its tags are free") {
  Bench bench(with_tags(8));                            // of 512 B each
  bench.submit_at(10_ns, bench.read(0x0, 4096, 1));     // takes all eight
  bench.submit_at(20_ns, bench.read(0x1000, 513, 2));   // needs two
  bench.submit_at(30_ns, bench.write(0x2000, {1}, 3));  // writes need none
  bench.run();
  CHECK(bench.notes.list == Noted{{3, 30_ns + kWrite}, {1, 10_ns + kRead}, {2, 10_ns + kRead * 2}});
}

TEST_CASE("a read waits until its read buffer is free, which completions cannot overrun") {
  PcieEndpointConfig config;
  config.read_buffer = Bytes(4096);
  Bench bench(config);
  bench.submit_at(10_ns, bench.read(0x0, 2048, 1));
  bench.submit_at(10_ns, bench.read(0x0, 2048, 2));
  bench.submit_at(20_ns, bench.read(0x0, 1, 3));
  bench.run();
  CHECK(bench.notes.list == Noted{{1, 10_ns + kRead}, {2, 10_ns + kRead}, {3, 10_ns + kRead * 2}});
}

TEST_CASE("requests of one engine stay in order; engines take turns") {
  PcieEndpointConfig config = with_tags(1);  // one read at a time
  Bench bench(config);
  const auto payload = DmaEngineId::kPayloadRead;
  const auto queue = DmaEngineId::kQueueRead;
  const auto table = DmaEngineId::kTableRead;
  bench.at(10_ns, [&] {
    for (std::uint64_t i = 1; i <= 3; ++i) bench.pcie.submit(bench.read(0x0, 64, i, payload));
    bench.pcie.submit(bench.read(0x0, 64, 4, queue));
    bench.pcie.submit(bench.read(0x0, 64, 5, table));
    bench.pcie.submit(bench.read(0x0, 64, 6, table));
  });
  bench.run();
  Noted expected;
  std::int64_t n = 0;
  for (const std::uint64_t what : {1, 4, 5, 2, 6, 3})
    expected.emplace_back(what, 10_ns + kRead * ++n);
  CHECK(bench.notes.list == expected);
}

TEST_CASE("a request that no tags can ever serve, or of no bytes, breaks an invariant") {
  Bench bench(with_tags(2));
  bench.at(10_ns, [&] {
    CHECK_THROWS_AS(bench.pcie.submit(bench.read(0x0, 1025, 1)), InvariantBroken);
    CHECK_THROWS_AS(bench.pcie.submit(bench.read(0x0, 0, 1)), InvariantBroken);
    CHECK_THROWS_AS(bench.pcie.submit(bench.read(0x0, 4097, 1)), InvariantBroken);
  });
  bench.run();
}

TEST_CASE("an error response ends the run and names address and purpose") {
  Bench bench;
  bench.submit_at(10_ns, bench.read(1 << 30, 64, 1));
  try {
    bench.run();
    FAIL("no error");
  } catch (const InvariantBroken& broken) {
    CHECK(broken.kind() == "dma_error");
    CHECK(broken.when() == 10_ns + kRead);
    CHECK(std::string(broken.what()).find("1073741824 for payload") != std::string::npos);
  }
}

TEST_CASE("payloads are pooled and keep their extension") {
  Bench bench;
  for (int i = 0; i < 100; ++i)
    bench.submit_at(Time::us(i + 1), bench.read(0x40, 64, static_cast<std::uint64_t>(i)));
  bench.run();
  CHECK(bench.notes.list.size() == 100);
  for (const auto& access : bench.memory.log) {
    REQUIRE(access.engine == DmaEngineId::kPayloadRead);
    REQUIRE_FALSE(access.relaxed_ordering);
  }
}

// ---- Every answer of the base protocol ---------------------------------------------------------

namespace {

/// Answers in one of the ways that the base protocol allows, after 100 ns.
class AnsweringTarget : public sc_core::sc_module, public tlm::tlm_fw_transport_if<> {
 public:
  enum class Kind {
    kAcceptedThenBoth,  ///< ACCEPTED; END_REQ after 40 ns; BEGIN_RESP
    kAcceptedBare,      ///< ACCEPTED; BEGIN_RESP, no END_REQ
    kEndRequest,        ///< UPDATED END_REQ; BEGIN_RESP
    kEndRequestLater,   ///< UPDATED END_REQ annotated with 40 ns; BEGIN_RESP
    kBeginResponse,     ///< UPDATED BEGIN_RESP annotated with 100 ns; wants END_RESP
    kCompleted,         ///< COMPLETED annotated with 100 ns
    kWithinCall,        ///< BEGIN_RESP on the backward path before the forward call returns
    kAtOnce,            ///< COMPLETED without any delay
  };
  static constexpr Time kLatency = Time::ns(100);
  static constexpr Time kRequestTime = Time::ns(40);

  AnsweringTarget(const sc_core::sc_module_name& name, Scheduler& scheduler, Kind kind)
      : sc_module(name), kind_(kind), scheduler_(scheduler) {
    socket.bind(*this);
  }
  tlm::tlm_target_socket<64> socket{"socket"};
  std::vector<Time> begins;
  int open_requests = 0;
  int end_responses = 0;

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    if (phase == tlm::END_RESP) {
      ++end_responses;
      return tlm::TLM_COMPLETED;
    }
    REQUIRE(open_requests == 0);
    const Time now = scheduler_.at_delay(delay);
    begins.push_back(now);
    payload_.push_back(&payload);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    const std::uint64_t index = payload_.size() - 1;
    const auto respond = call<&AnsweringTarget::respond>(this, index);
    const auto later = sc_core::sc_time::from_value;
    switch (kind_) {
      case Kind::kAcceptedThenBoth:
        ++open_requests;
        scheduler_.at(now + kRequestTime, call<&AnsweringTarget::end_request>(this, index));
        scheduler_.at(now + kLatency, respond);
        return tlm::TLM_ACCEPTED;
      case Kind::kAcceptedBare:
        ++open_requests;
        scheduler_.at(now + kLatency, respond);
        return tlm::TLM_ACCEPTED;
      case Kind::kEndRequest:
        scheduler_.at(now + kLatency, respond);
        phase = tlm::END_REQ;
        return tlm::TLM_UPDATED;
      case Kind::kEndRequestLater:
        scheduler_.at(now + kLatency, respond);
        phase = tlm::END_REQ;
        delay += later(static_cast<sc_dt::uint64>(kRequestTime.ps()));
        return tlm::TLM_UPDATED;
      case Kind::kBeginResponse:
        phase = tlm::BEGIN_RESP;
        delay += later(static_cast<sc_dt::uint64>(kLatency.ps()));
        return tlm::TLM_UPDATED;
      case Kind::kCompleted:
        delay += later(static_cast<sc_dt::uint64>(kLatency.ps()));
        return tlm::TLM_COMPLETED;
      case Kind::kWithinCall:
        back(index, tlm::BEGIN_RESP);
        return tlm::TLM_ACCEPTED;
      case Kind::kAtOnce:
        return tlm::TLM_COMPLETED;
    }
    return tlm::TLM_ACCEPTED;
  }
  void b_transport(tlm::tlm_generic_payload&, sc_core::sc_time&) override {
    FAIL("b_transport was called");
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
  unsigned transport_dbg(tlm::tlm_generic_payload&) override { return 0; }

 private:
  void end_request(std::uint64_t index) {
    --open_requests;
    back(index, tlm::END_REQ);
  }
  void respond(std::uint64_t index) {
    if (kind_ == Kind::kAcceptedBare) --open_requests;
    back(index, tlm::BEGIN_RESP);
  }
  void back(std::uint64_t index, tlm::tlm_phase phase) {
    sc_core::sc_time delay = scheduler_.annotation();
    socket->nb_transport_bw(*payload_[index], phase, delay);
  }
  Kind kind_;
  Scheduler& scheduler_;
  std::vector<tlm::tlm_generic_payload*> payload_;
};

using Kind = AnsweringTarget::Kind;

/// Three reads at 10 ns: "begin+done" of each in ns.
std::string times_with(Kind kind) {
  return test::in_own_process([kind] {
    Scheduler scheduler("scheduler");
    AnsweringTarget target("target", scheduler, kind);
    test::EndpointModule device("device", scheduler, PcieEndpointConfig{}, target.socket);
    PcieEndpoint& pcie = device.pcie;
    test::Notes notes(scheduler);
    std::uint8_t bytes[64];
    struct Submit {
      PcieEndpoint& pcie;
      test::Notes& notes;
      std::uint8_t* bytes;
      bool within = false;
      void run() {
        for (std::uint64_t i = 0; i < 3; ++i) {
          DmaRequest request;
          request.engine = DmaEngineId::kPayloadRead;
          request.bytes = 64;
          request.data = bytes;
          request.done = notes.noting(i);
          const std::size_t before = notes.list.size();
          pcie.submit(request);
          within |= notes.list.size() != before;
        }
      }
    } submit{pcie, notes, bytes};
    scheduler.at(10_ns, call<&Submit::run>(&submit));
    scheduler.run_until(1_us);
    std::string text = submit.within ? "done within submit! " : "";
    for (std::size_t i = 0; i < target.begins.size() && i < notes.list.size(); ++i)
      text += std::to_string(target.begins[i].ps() / 1000) + "-" +
              std::to_string(notes.list[i].second.ps() / 1000) + " ";
    return text + (pcie.idle() ? "idle " : "busy ") + std::to_string(target.end_responses);
  });
}

}  // namespace

TEST_CASE("the endpoint accepts every answer of the base protocol and obeys request exclusion") {
  CHECK(times_with(Kind::kAcceptedThenBoth) == "10-110 50-150 90-190 idle 0");
  CHECK(times_with(Kind::kAcceptedBare) == "10-110 110-210 210-310 idle 0");
  CHECK(times_with(Kind::kEndRequest) == "10-110 10-110 10-110 idle 0");
  CHECK(times_with(Kind::kEndRequestLater) == "10-110 50-150 90-190 idle 0");
  CHECK(times_with(Kind::kBeginResponse) == "10-110 110-210 210-310 idle 3");
  CHECK(times_with(Kind::kCompleted) == "10-110 110-210 210-310 idle 0");
  CHECK(times_with(Kind::kWithinCall) == "10-10 10-10 10-10 idle 0");
  CHECK(times_with(Kind::kAtOnce) == "10-10 10-10 10-10 idle 0");
}

// SPDX-License-Identifier: MIT
// A block that others can use: the NIC between a memory and a processor written with plain
// tlm_utils sockets completes a WRITE, at the same times as between our own fakes of equal constant
// latency, with run-ahead on and off, whichever answer of the base protocol the memory gives.
#include <catch2/catch.hpp>
#include <string>

#include "tests/support/nic_bench.h"
#include "tests/support/own_process.h"
#include "tests/support/stranger.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using stranger::Answer;
using test::kReadLatency;
using test::kWriteLatency;
using test::MiniDriver;
using test::Region;

namespace {

constexpr Time kPosted = Time::ms(1);
constexpr Time kEnd = Time::ms(2);

enum class Mode { kRunAhead, kNoRunAhead, kPlainStart };

sc_core::sc_time kernel_time(Time time) {
  return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(time.ps()));
}

/// What both kinds of software do before and at kPosted.
struct Setup {
  static Region of(MiniDriver& driver, std::uint8_t seed) {
    test::QpOptions qp;
    qp.mtu_code = 5;
    driver.add_qp(Qpn(1), qp);
    const Region region = driver.add_region(3);
    fill(driver, region, seed);
    return region;
  }
  static void post(MiniDriver& driver, const Region& region, std::uint32_t bytes) {
    MiniDriver::Write write;
    write.remote = region.start + 100;
    write.rkey = region.key;
    write.gather = {{region.start + 40, bytes, region.key}};
    driver.post(Qpn(1), write);
    driver.ring(Qpn(1));
  }
  /// Whether the bytes of the message are A's at B, and only they.
  static bool arrived(MiniDriver& a, MiniDriver& b, const Region& region, std::uint32_t bytes) {
    for (std::uint64_t i = 0; i < region.length; ++i) {
      const bool inside = i >= 100 && i < 100 + std::uint64_t{bytes};
      const std::uint8_t expected = inside ? *a.at(region.physical(region.start + i - 60))
                                           : static_cast<std::uint8_t>(77 + i * 13 + i / 251);
      if (*b.at(region.physical(region.start + i)) != expected) return false;
    }
    return true;
  }
};

std::string result(bool arrived, std::int64_t landed_ps, std::int64_t cqe_ps, int cqes) {
  return std::string(arrived ? "" : "wrong bytes, ") + "landed " + std::to_string(landed_ps) +
         ", entry " + std::to_string(cqe_ps) + ", entries " + std::to_string(cqes);
}

/// Between our own fakes.
std::string with_fakes(std::uint32_t bytes, bool one_at_a_time) {
  return test::in_own_process([=] {
    test::TwoNics bench;
    bench.a.memory.one_at_a_time = bench.b.memory.one_at_a_time = one_at_a_time;
    const Region region = Setup::of(bench.a.driver, 1);
    Setup::of(bench.b.driver, 77);
    struct Post {
      test::TwoNics& bench;
      const Region& region;
      std::uint32_t bytes;
      void run() { Setup::post(bench.a.driver, region, bytes); }
    } post{bench, region, bytes};
    bench.scheduler.at_software(kPosted, call<&Post::run>(&post));
    bench.scheduler.run_until(kEnd);
    Time landed;
    for (const auto& access : bench.b.memory.of(DmaPurpose::kPayload)) landed = access.end;
    Time entry;
    for (const auto& access : bench.a.memory.of(DmaPurpose::kCompletionQueue)) entry = access.end;
    const bool arrived = Setup::arrived(bench.a.driver, bench.b.driver, region, bytes);
    return result(arrived, landed.ps(), entry.ps(),
                  static_cast<int>(bench.a.driver.poll(Cqn(1)).size()));
  });
}

/// A stranger's machine.
struct Machine {
  Machine(const std::string& name, Scheduler& scheduler, PacketPool& pool, std::uint8_t index,
          Answer answer)
      : memory((name + "_memory").c_str(), answer, kernel_time(kReadLatency),
               kernel_time(kWriteLatency)),
        processor((name + "_processor").c_str()),
        nic(name.c_str(),
            {scheduler, pool, test::BenchNic::identity(index), index, BitRate::gbps(100),
             Bytes(512), false, 1},
            NicConfig{}),
        driver(
            memory.bytes.data(), memory.bytes.size(),
            [this](std::uint64_t offset, const std::uint8_t* data, unsigned length) {
              processor.store(offset, data, length);
            },
            [this] { await_command(); }) {
    nic.dma.bind(memory.socket);
    processor.socket.bind(nic.bar);
  }
  Region set_up(std::uint8_t seed) {
    driver.init();
    driver.add_cq(Cqn(1));
    return Setup::of(driver, seed);
  }
  void await_command() {
    do {
      sc_core::wait(1, sc_core::SC_US);
    } while (abi::CommandEntry::read(driver.at(driver.command_queue)).hardware_owned);
  }
  stranger::Memory memory;
  stranger::Processor processor;
  Nic nic;
  MiniDriver driver;
};

std::string with_strangers(std::uint32_t bytes, Answer answer, Mode mode) {
  return test::in_own_process([=] {
    PacketPool pool;
    Scheduler scheduler("scheduler", mode != Mode::kNoRunAhead);
    Machine a("a", scheduler, pool, 0, answer);
    Machine b("b", scheduler, pool, 1, answer);
    LinkDirection a_to_b(scheduler, LinkConfig{}, 1);
    LinkDirection b_to_a(scheduler, LinkConfig{}, 2);
    a.nic.connect(a_to_b);
    b.nic.connect(b_to_a);
    a_to_b.connect(b.nic.port());
    b_to_a.connect(a.nic.port());
    Region region;
    Region target;
    int cqes = 0;
    b.processor.program = [&] { target = b.set_up(77); };
    a.processor.program = [&] {
      region = a.set_up(1);
      sc_core::wait(kernel_time(kPosted) - sc_core::sc_time_stamp());
      Setup::post(a.driver, region, bytes);
      while (cqes == 0) {
        sc_core::wait(50, sc_core::SC_NS);
        cqes = static_cast<int>(a.driver.poll(Cqn(1)).size());
      }
    };
    if (mode == Mode::kPlainStart)
      sc_core::sc_start(kernel_time(kEnd));
    else
      scheduler.run_until(kEnd);
    sc_core::sc_time landed;
    for (const auto& write : b.memory.writes)
      for (const std::uint64_t start : target.pages)
        if (write.address >= start && write.address < start + 4096) landed = write.time;
    sc_core::sc_time entry;
    const std::uint64_t ring = a.driver.cq_ring(Cqn(1));
    for (const auto& write : a.memory.writes)
      if (write.address >= ring && write.address < ring + 16 * 64) entry = write.time;
    return result(Setup::arrived(a.driver, b.driver, region, bytes),
                  static_cast<std::int64_t>(landed.value()),
                  static_cast<std::int64_t>(entry.value()), cqes);
  });
}

/// A memory that answers so gets one request at a time.
bool is_exclusive(Answer answer) {
  return answer != Answer::kAcceptedThenPhases && answer != Answer::kUpdatedEndRequest;
}

void check(Answer answer) {
  for (const std::uint32_t bytes : {64U, 20000U}) {
    const std::string expected = with_fakes(bytes, is_exclusive(answer));
    CAPTURE(bytes);
    CHECK(expected.find("wrong") == std::string::npos);
    CHECK(expected.find("entries 1") != std::string::npos);
    CHECK(with_strangers(bytes, answer, Mode::kRunAhead) == expected);
    CHECK(with_strangers(bytes, answer, Mode::kNoRunAhead) == expected);
    CHECK(with_strangers(bytes, answer, Mode::kPlainStart) == expected);
  }
}

}  // namespace

TEST_CASE("a NIC works with a stranger's memory that has b_transport only") {
  check(Answer::kBlockingOnly);
}

TEST_CASE("a NIC works with a stranger's memory that accepts, ends requests and responds") {
  check(Answer::kAcceptedThenPhases);
}

TEST_CASE("a NIC works with a stranger's memory that accepts and responds without END_REQ") {
  check(Answer::kAcceptedThenResponse);
}

TEST_CASE("a NIC works with a stranger's memory that ends requests at once") {
  check(Answer::kUpdatedEndRequest);
}

TEST_CASE("a NIC works with a stranger's memory that responds at once") {
  check(Answer::kUpdatedResponse);
}

TEST_CASE("a NIC works with a stranger's memory that completes at once") {
  check(Answer::kCompleted);
}

TEST_CASE("a message of one packet takes the same time whichever answer the memory gives") {
  const std::string expected = with_fakes(64, false);
  CHECK(with_fakes(64, true) == expected);
  for (const Answer answer :
       {Answer::kBlockingOnly, Answer::kAcceptedThenPhases, Answer::kAcceptedThenResponse,
        Answer::kUpdatedEndRequest, Answer::kUpdatedResponse, Answer::kCompleted})
    CHECK(with_strangers(64, answer, Mode::kRunAhead) == expected);
}

// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "tests/support/nic_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using abi::CommandOpcode;
using abi::CommandStatus;
using test::BenchOptions;
using test::OneNic;

namespace {

const Clock kClock{Frequency::mhz(400)};

/// A NIC that has been told nothing yet.
struct Fresh {
  Fresh() { host.nic.connect(wire); }
  PacketPool pool;
  test::PacketRecorder wire;
  Scheduler scheduler{"scheduler"};
  test::BenchNic host{"host", scheduler, pool, 0, {}};
};

}  // namespace

TEST_CASE("a command costs its doorbell, two reads, the firmware and one write") {
  OneNic bench;
  const Time start = bench.scheduler.now();
  bench.host.memory.log.clear();
  abi::QpContext context;
  context.state = QpState::kInit;
  context.write(bench.driver().at(bench.driver().mailbox));
  REQUIRE(bench.driver().command(CommandOpcode::kModifyQp, 1) == CommandStatus::kOk);
  const auto log = bench.host.memory.of(DmaPurpose::kCommand);
  REQUIRE(log.size() == 3);
  const Time read = kClock.after(start, Cycles(8));
  CHECK(log[0].begin == read);
  CHECK(log[0].bytes == 64);
  CHECK(log[1].begin == read + test::kReadLatency);
  CHECK(log[1].bytes == abi::QpContext::kBytes);
  // The context came from its host-resident table when the firmware had worked.
  const Time worked = read + test::kReadLatency * 2 + 1_us;
  const auto contexts = bench.host.memory.of(DmaPurpose::kQpContext);
  REQUIRE(contexts.size() == 1);
  CHECK(contexts[0].begin == worked);
  CHECK(log[2].begin == worked + test::kReadLatency);
  CHECK(log[2].write);
  CHECK(log[2].address == bench.driver().command_queue + abi::CommandEntry::kStatusOffset);
  CHECK(log[2].bytes == 2);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("commands before the tables are known are refused") {
  Fresh fresh;
  fresh.host.driver.set_command_queue();
  CHECK(fresh.host.driver.command(CommandOpcode::kEnableKey, 1) == CommandStatus::kNotInitialised);
  CHECK(fresh.host.driver.command(CommandOpcode::kModifyQp, 1) == CommandStatus::kNotInitialised);
}

TEST_CASE("commands on objects that do not exist, or of no known kind, are refused") {
  OneNic bench;
  auto& driver = bench.driver();
  const std::uint32_t beyond = 1U << test::MiniDriver::kLogObjects;
  for (const CommandOpcode opcode :
       {CommandOpcode::kCreateCq, CommandOpcode::kDestroyCq, CommandOpcode::kEnableKey,
        CommandOpcode::kDisableKey, CommandOpcode::kModifyQp, CommandOpcode::kQueryQp,
        CommandOpcode::kCreateSrq, CommandOpcode::kDestroySrq, CommandOpcode::kArmSrq,
        CommandOpcode::kModifyCq, CommandOpcode::kDestroyEq})
    CHECK(driver.command(opcode, beyond) == CommandStatus::kBadObject);
  CHECK(driver.command(CommandOpcode::kQueryQp, 0) == CommandStatus::kBadObject);
  CHECK(driver.command(CommandOpcode::kCreateSrq, 0) == CommandStatus::kBadObject);
  CHECK(driver.command(CommandOpcode::kModifyCq, 2) == CommandStatus::kBadObject);
  CHECK(driver.command(CommandOpcode::kDestroyEq, 1) == CommandStatus::kBadObject);
  CHECK(driver.command(CommandOpcode::kCreateEq, EventQueueConfig().queues + 1) ==
        CommandStatus::kBadObject);
  CHECK(driver.command(static_cast<CommandOpcode>(99)) == CommandStatus::kBadOpcode);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("the limit of a shared receive queue is in force when its command ends") {
  OneNic bench;
  auto& driver = bench.driver();
  abi::SrqContext context;
  context.valid = true;
  context.log_entries = 4;
  context.doorbell_record = PhysicalAddress(driver.mailbox);
  context.write(driver.at(driver.tables.srq_contexts.value() + abi::SrqContext::kBytes));
  REQUIRE(driver.command(CommandOpcode::kCreateSrq, 1) == CommandStatus::kOk);
  bench.host.memory.log.clear();
  REQUIRE(driver.command(CommandOpcode::kArmSrq, 1) == CommandStatus::kOk);
  // The context for what has been taken, then the limit as it stands in host RAM.
  const auto reads = bench.host.memory.of(DmaPurpose::kSrqContext);
  REQUIRE(reads.size() == 2);
  CHECK(reads[1].begin == reads[0].end);
  const auto log = bench.host.memory.of(DmaPurpose::kCommand);
  REQUIRE(log.size() == 2);
  CHECK(reads[0].begin == log[0].end + 1_us);
  CHECK(log[1].begin == reads[1].end);
  CHECK(driver.command(CommandOpcode::kDestroySrq, 1) == CommandStatus::kOk);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a queue pair goes only where its state lets it") {
  OneNic bench;
  auto& driver = bench.driver();
  test::QpOptions options;
  options.last_state = QpState::kInit;
  driver.add_qp(Qpn(1), options);
  CHECK(driver.modify_qp(Qpn(1), QpState::kRts) == CommandStatus::kBadState);
  CHECK(driver.query_qp(Qpn(1)).state == QpState::kInit);
  CHECK(driver.modify_qp(Qpn(1), QpState::kRtr) == CommandStatus::kOk);
  CHECK(driver.modify_qp(Qpn(1), QpState::kInit) == CommandStatus::kBadState);
  CHECK(driver.modify_qp(Qpn(1), static_cast<QpState>(77)) == CommandStatus::kBadState);
  CHECK(driver.modify_qp(Qpn(1), QpState::kErr) == CommandStatus::kOk);
  CHECK(driver.modify_qp(Qpn(1), QpState::kRtr) == CommandStatus::kBadState);
  CHECK(driver.modify_qp(Qpn(1), QpState::kReset) == CommandStatus::kOk);
  CHECK(driver.query_qp(Qpn(1)).state == QpState::kReset);
}

TEST_CASE("a context that the NIC could not work with is refused") {
  OneNic bench;
  auto& driver = bench.driver();
  for (const std::uint8_t mtu_code : {std::uint8_t{0}, std::uint8_t{6}, std::uint8_t{255}}) {
    abi::QpContext context;
    context.state = QpState::kInit;
    context.mtu_code = mtu_code;
    context.write(driver.at(driver.mailbox));
    CHECK(driver.command(CommandOpcode::kModifyQp, 1) == CommandStatus::kBadObject);
  }
}

TEST_CASE("a query tells the start values that each state took") {
  OneNic bench;
  auto& driver = bench.driver();
  test::QpOptions options;
  options.send_psn = Psn(0xfffffe);
  options.expected_psn = Psn(77);
  options.remote = Qpn(9);
  driver.add_qp(Qpn(2), options);
  const abi::QpContext context = driver.query_qp(Qpn(2));
  CHECK(context.state == QpState::kRts);
  CHECK(context.next_send_psn == Psn(0xfffffe));
  CHECK(context.expected_psn == Psn(77));
  CHECK(context.remote_qpn == Qpn(9));
  CHECK(context.send_producer == 0);
}

TEST_CASE("a doorbell that comes while an entry is read makes the NIC read again") {
  OneNic bench;
  auto& driver = bench.driver();
  struct Software {
    test::MiniDriver& driver;
    void ring() { driver.ring_command(); }
    void hand_over() { driver.write_command(CommandOpcode::kDisableKey, 3); }
  } software{driver};
  const Time start = bench.scheduler.now();
  const Time read = kClock.after(start, Cycles(8)) + test::kReadLatency;
  driver.ring_command();  // the entry is still software's
  bench.scheduler.at_software(read - 50_ns, call<&Software::ring>(&software));
  bench.scheduler.at_software(read + 1_ns, call<&Software::hand_over>(&software));
  bench.run();
  CHECK_FALSE(abi::CommandEntry::read(driver.at(driver.command_queue)).hardware_owned);
  CHECK(bench.host.metric("command_unit.commands") == 3);  // after kInitHca and kCreateCq
  CHECK(bench.host.nic.idle());
}

TEST_CASE("tables of more objects than numbers have bits are refused") {
  Fresh fresh;
  auto& driver = fresh.host.driver;
  driver.set_command_queue();
  driver.tables.log_keys = 25;
  driver.tables.write(driver.at(driver.mailbox));
  CHECK(driver.command(CommandOpcode::kInitHca) == CommandStatus::kBadObject);
}

TEST_CASE("a command register written again before it took effect holds the last value") {
  OneNic bench;
  const std::uint8_t nowhere[8] = {};
  bench.host.memory.log.clear();
  bench.host.mmio(abi::kCommandQueueAddress, nowhere, 8);
  bench.driver().set_command_queue();
  bench.run();
  REQUIRE(bench.driver().command(CommandOpcode::kDisableKey, 1) == CommandStatus::kOk);
  CHECK(bench.host.memory.of(DmaPurpose::kCommand)[0].address == bench.driver().command_queue);
}

TEST_CASE("a key is reported gone when what it had allowed has been handed to memory") {
  OneNic bench;
  test::QpOptions qp;
  bench.driver().add_qp(Qpn(1), qp);
  const test::Region region = bench.driver().add_region(3);
  // The packet is judged while the firmware works on the command, and waits for its translation.
  const Time start = bench.scheduler.now();
  bench.arrive_at(start + 900_ns,
                  bench.write_request(Opcode::kWriteOnly, Psn(100), 64, region, 0, 64));
  bench.host.memory.log.clear();
  REQUIRE(bench.driver().command(CommandOpcode::kDisableKey, 3) == CommandStatus::kOk);
  const auto status = bench.host.memory.of(DmaPurpose::kCommand).back();
  const auto payload = bench.host.memory.of(DmaPurpose::kPayload);
  REQUIRE(payload.size() == 1);
  CHECK(status.begin > payload[0].begin);
  CHECK(bench.host.metric("command_unit.stalled.quiesce") > 0);
}

TEST_CASE("an event queue is made from its mailbox, once, and is free again when destroyed") {
  OneNic bench;
  auto& driver = bench.driver();
  bench.host.memory.log.clear();
  driver.add_eq(7);
  const auto log = bench.host.memory.of(DmaPurpose::kCommand);
  REQUIRE(log.size() == 3);
  CHECK(log[1].address == driver.mailbox);
  CHECK(log[1].bytes == abi::EqContext::kBytes);
  CHECK(driver.command(CommandOpcode::kCreateEq, 7) == CommandStatus::kBadObject);
  CHECK(driver.command(CommandOpcode::kDestroyEq, 7) == CommandStatus::kOk);
  CHECK(driver.command(CommandOpcode::kDestroyEq, 7) == CommandStatus::kBadObject);
  driver.add_eq(7);
  driver.init();  // the NIC forgets all that it knew
  driver.add_eq(7);
}

TEST_CASE("modifying a completion queue changes its moderation and nothing else") {
  BenchOptions options;
  options.nic.cq_context_cache.geometry = {1, 1, Replacement::kLru};
  OneNic bench(options);
  auto& driver = bench.driver();
  abi::CqContext with_events;
  with_events.eqn = 1;
  with_events.producer_index = 5;
  driver.add_cq(Cqn(2), 4, with_events);
  bench.host.memory.log.clear();
  REQUIRE(driver.modify_cq(Cqn(2), 16, 100) == CommandStatus::kOk);
  // The context came from its host-resident table when the firmware had worked.
  const auto contexts = bench.host.memory.of(DmaPurpose::kCqContext);
  REQUIRE(contexts.size() == 1);
  const auto log = bench.host.memory.of(DmaPurpose::kCommand);
  CHECK(contexts[0].begin == log[1].end + 1_us);
  CHECK(log[2].begin == contexts[0].end);
  // Another queue takes its place in the cache: the changed context goes back to host RAM.
  REQUIRE(driver.modify_cq(Cqn(1), 0, 0) == CommandStatus::kOk);
  const auto context = abi::CqContext::read(
      driver.at(driver.tables.cq_contexts.value() + 2 * abi::CqContext::kBytes));
  CHECK(context.moderation_count == 16);
  CHECK(context.moderation_period_us == 100);
  CHECK(context.producer_index == 5);
  CHECK(context.eqn == 1);
  CHECK(context.ring == driver.cq(Cqn(2)).ring);
}

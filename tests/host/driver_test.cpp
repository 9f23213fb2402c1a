// SPDX-License-Identifier: MIT
#include "host/driver.h"

#include <catch2/catch.hpp>

#include "tests/support/software_host.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::SoftwareHost;

TEST_CASE("Bring-up hands the NIC the tables: 8 B queue address, 4 B doorbell, kInitHca") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) { REQUIRE(host.driver.bring_up(task) == Errno::kOk); }));
  REQUIRE(host.nic.mmio.size() == 2);
  REQUIRE(host.nic.mmio[0].offset == abi::kCommandQueueAddress);
  REQUIRE(host.nic.mmio[0].data.size() == 8);
  REQUIRE(host.nic.mmio[1].offset == abi::kCommandDoorbell);
  REQUIRE(host.nic.mmio[1].data == std::vector<std::uint8_t>{0, 0, 0, 1});
  REQUIRE(host.nic.commands.size() == 1);
  REQUIRE(host.nic.commands[0].opcode == abi::CommandOpcode::kInitHca);
  REQUIRE(host.nic.tables.log_qps == 16);
  REQUIRE(host.nic.tables.log_keys == 18);
  REQUIRE(host.nic.tables.qp_contexts.value() % 4096 == 0);
}

TEST_CASE("A NIC that refuses to start is an I/O error") {
  SoftwareHost host;
  host.nic.next_command = abi::CommandStatus::kBadOpcode;
  REQUIRE(host.run([&](CpuTask& task) { REQUIRE(host.driver.bring_up(task) == Errno::kIo); }));
}

TEST_CASE("A new completion queue has only invalid entries and a context in the table") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    const CqRings rings = host.driver.create_cq(task, 3).value;
    const abi::CqContext context = host.nic.cq_context(rings.cqn);
    REQUIRE(context.valid);
    REQUIRE(context.log_size == 3);
    REQUIRE(context.ring == rings.ring);
    REQUIRE(context.doorbell_record == rings.doorbell_record);
    for (std::uint64_t i = 0; i < 8; ++i) {
      std::uint8_t image[64];
      host.memory.load(PhysicalAddress(rings.ring.value() + i * 64), image, 64);
      REQUIRE(image[63] == 0xf0);
    }
    REQUIRE(host.driver.create_cq(task, 23).error == Errno::kInvalid);
    REQUIRE(host.driver.destroy_cq(task, Cqn(99)) == Errno::kInvalid);
  }));
}

TEST_CASE("A queue pair goes through its states by command, and by no other way") {
  using S = QpState;
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    const Cqn cq = host.driver.create_cq(task, 4).value.cqn;
    QpInit init;
    init.pd = PdNumber(9);
    init.send_cq = cq;
    init.receive_cq = cq;
    const Qpn qpn = host.driver.create_qp(task, init).value.qpn;
    const auto modify = [&](S state) {
      QpAttributes attributes;
      attributes.state = state;
      return host.driver.modify_qp(task, qpn, attributes);
    };
    REQUIRE(host.driver.query_qp(task, qpn).value.state == S::kReset);
    REQUIRE(modify(S::kRtr) == Errno::kInvalid);
    REQUIRE(modify(S::kRts) == Errno::kInvalid);
    REQUIRE(modify(S::kInit) == Errno::kOk);

    QpAttributes rtr;
    rtr.state = S::kRtr;
    rtr.path_mtu = 1024;
    rtr.remote_qpn = Qpn(0x1234);
    rtr.remote_ip = abi::Ipv4Address(0x0a000002);
    rtr.remote_mac = abi::MacAddress{2, 0, 0, 0, 0, 2};
    rtr.receive_psn = Psn(77);
    rtr.access = AccessFlags(AccessFlags::kRemoteWrite);
    REQUIRE(host.driver.modify_qp(task, qpn, rtr) == Errno::kOk);
    QpAttributes rts;
    rts.state = S::kRts;
    rts.send_psn = Psn(88);
    rts.ack_timeout = 14;
    rts.retry_count = 7;
    REQUIRE(host.driver.modify_qp(task, qpn, rts) == Errno::kOk);

    const abi::QpContext& context = host.nic.qp(qpn);
    REQUIRE(context.state == S::kRts);
    REQUIRE(context.pd == PdNumber(9));
    REQUIRE(context.send_cqn == cq);
    REQUIRE(context.path_mtu() == 1024);
    REQUIRE(context.remote_qpn == Qpn(0x1234));
    REQUIRE(context.expected_psn == Psn(77));
    REQUIRE(context.next_send_psn == Psn(88));
    REQUIRE(context.retry_count == 7);

    QpAttributes reads;
    reads.max_rd_atomic = 16;
    reads.max_dest_rd_atomic = 4;
    reads.min_rnr_timer = 31;
    REQUIRE(host.driver.modify_qp(task, qpn, reads) == Errno::kOk);
    REQUIRE(context.max_rd_atomic == 16);
    REQUIRE(context.max_dest_rd_atomic == 4);
    REQUIRE(context.min_rnr_timer == 31);
    const auto refused = [&](auto QpAttributes::*field, std::uint8_t value) {
      QpAttributes attributes;
      attributes.*field = value;
      return host.driver.modify_qp(task, qpn, attributes) == Errno::kInvalid;
    };
    REQUIRE(refused(&QpAttributes::max_rd_atomic, 17));
    REQUIRE(refused(&QpAttributes::max_dest_rd_atomic, 17));
    REQUIRE(refused(&QpAttributes::min_rnr_timer, 32));
    REQUIRE(refused(&QpAttributes::retry_count, 8));

    rts.path_mtu = 1000;
    REQUIRE(host.driver.modify_qp(task, qpn, rts) == Errno::kInvalid);
    // The wish for an event goes with the one command.
    QpAttributes drain;
    drain.state = S::kSqd;
    drain.notify_drained = true;
    REQUIRE(host.driver.modify_qp(task, qpn, drain) == Errno::kOk);
    REQUIRE((context.flags & abi::QpContext::kNotifyDrained) != 0);
    REQUIRE(modify(S::kRts) == Errno::kOk);
    REQUIRE(modify(S::kSqd) == Errno::kOk);
    REQUIRE((context.flags & abi::QpContext::kNotifyDrained) == 0);
    REQUIRE(modify(S::kRts) == Errno::kOk);
    // The NIC moved it by itself: its word counts.
    host.nic.qp(qpn).state = S::kErr;
    REQUIRE(modify(S::kSqd) == Errno::kInvalid);
    REQUIRE(host.driver.query_qp(task, qpn).value.state == S::kErr);
    REQUIRE(modify(S::kRts) == Errno::kInvalid);
    REQUIRE(modify(S::kReset) == Errno::kOk);
    REQUIRE(modify(S::kErr) == Errno::kOk);
    REQUIRE(host.driver.query_qp(task, Qpn(77)).error == Errno::kInvalid);
  }));
}

TEST_CASE("Destroying objects gives all their memory back, in the order that their uses allow") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    const Bytes before = host.frames.kernel_in_use();
    const Cqn cq = host.driver.create_cq(task, 4).value.cqn;
    QpInit init;
    init.send_cq = cq;
    init.receive_cq = Cqn(999);
    REQUIRE(host.driver.create_qp(task, init).error == Errno::kInvalid);
    init.receive_cq = cq;
    init.has_receive_queue = true;
    init.log_receive_segments = 6;
    REQUIRE(host.driver.create_qp(task, init).error == Errno::kInvalid);
    init.log_receive_segments = 2;
    init.log_receive_entries = 16;
    REQUIRE(host.driver.create_qp(task, init).error == Errno::kInvalid);
    init.log_receive_entries = 5;
    const Qpn qpn = host.driver.create_qp(task, init).value.qpn;
    QpAttributes attributes;
    attributes.state = QpState::kInit;
    REQUIRE(host.driver.modify_qp(task, qpn, attributes) == Errno::kOk);
    REQUIRE(host.driver.destroy_cq(task, cq) == Errno::kBusy);
    REQUIRE(host.driver.destroy_qp(task, qpn) == Errno::kOk);
    REQUIRE(host.nic.qp(qpn).state == QpState::kReset);
    REQUIRE(host.driver.destroy_qp(task, qpn) == Errno::kInvalid);
    REQUIRE(host.driver.destroy_cq(task, cq) == Errno::kOk);
    REQUIRE_FALSE(host.nic.cq_context(cq).valid);
    REQUIRE(host.frames.kernel_in_use() == before);
  }));
}

TEST_CASE("A transport takes the attributes that it has, and no others") {
  SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    QpInit init;
    init.send_cq = init.receive_cq = host.driver.create_cq(task, 4).value.cqn;
    const auto accepted = [&](Transport transport, const QpAttributes& attributes) {
      init.transport = transport;
      const Qpn qpn = host.driver.create_qp(task, init).value.qpn;
      QpAttributes wanted = attributes;
      wanted.state = QpState::kInit;
      const Errno result = host.driver.modify_qp(task, qpn, wanted);
      REQUIRE((result == Errno::kOk || result == Errno::kInvalid));
      if (result == Errno::kOk) REQUIRE(host.nic.qp(qpn).transport == transport);
      REQUIRE(host.driver.destroy_qp(task, qpn) == Errno::kOk);
      return result == Errno::kOk;
    };
    QpAttributes reliability;
    reliability.ack_timeout = 14;
    QpAttributes connection;
    connection.remote_qpn = Qpn(5);
    QpAttributes qkey;
    qkey.qkey = 0x80010000;
    QpAttributes mtu;
    mtu.path_mtu = 2048;
    struct Row {
      const QpAttributes& attributes;
      bool rc;
      bool uc;
      bool ud;
    };
    for (const Row& row : {Row{reliability, true, false, false}, Row{connection, true, true, false},
                           Row{qkey, false, false, true}, Row{mtu, true, true, true}}) {
      REQUIRE(accepted(Transport::kRc, row.attributes) == row.rc);
      REQUIRE(accepted(Transport::kUc, row.attributes) == row.uc);
      REQUIRE(accepted(Transport::kUd, row.attributes) == row.ud);
    }
  }));
}
